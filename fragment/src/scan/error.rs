use std::error::Error;

use datafusion::error::DataFusionError;

/// Why a file cannot be read as the plan asks. Each names the file.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// Listed by the driver, gone since.
    #[error("file {file} does not exist; if the table was rewritten, run REFRESH TABLE and the query again")]
    Missing {
        /// URL as the driver sent it.
        file: String,
    },
    /// Another size than the driver listed: it was replaced since.
    #[error(
        "file {file} has {actual} bytes, but had {listed} when it was listed; run REFRESH TABLE and the query again"
    )]
    Changed {
        /// URL as the driver sent it.
        file: String,
        /// Size then.
        listed: u64,
        /// Size now.
        actual: u64,
    },
    /// Too short for a Parquet file.
    #[error("file {file} has {size} bytes, which is no Parquet file; remove it from the table's directory")]
    TooShort {
        /// URL as the driver sent it.
        file: String,
        /// Its size.
        size: u64,
    },
    /// The footer cannot be read.
    #[error("file {file} is not a readable Parquet file (damaged, encrypted or of another format)")]
    Footer {
        /// URL as the driver sent it.
        file: String,
        /// The cause.
        #[source]
        source: Box<DataFusionError>,
    },
    /// The store did not give the bytes.
    #[error("reading file {file} failed")]
    Read {
        /// URL as the driver sent it.
        file: String,
        /// The cause.
        #[source]
        source: object_store::Error,
    },
    /// A column's type in the file cannot be read as the table's type.
    #[error(
        "column [{column}] of file {file} is {physical}, which is not read as {expected}; correct the table's schema or rewrite the file"
    )]
    TypeMismatch {
        /// URL as the driver sent it.
        file: String,
        /// Path of the column.
        column: String,
        /// Type in the file.
        physical: String,
        /// Type in the table.
        expected: String,
    },
    /// More than one column of the file matches.
    #[error(
        "column [{column}] of file {file} is ambiguous: {candidates}; set spark.sql.caseSensitive=true or rename the columns"
    )]
    Ambiguous {
        /// URL as the driver sent it.
        file: String,
        /// Path of the column.
        column: String,
        /// The matching columns.
        candidates: String,
    },
    /// Field ids are required, the file has none.
    #[error(
        "file {file} has no field ids, which the read schema requires; set spark.sql.parquet.fieldId.read.ignoreMissing=true"
    )]
    NoFieldIds {
        /// URL as the driver sent it.
        file: String,
    },
    /// A value of the hybrid Julian calendar, which Spark would rebase.
    #[error(
        "column [{column}] of file {file} has a date or timestamp from before the calendar switch, written in the hybrid Julian calendar; \
         rewrite the file with spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED or run the query without native executors"
    )]
    Rebase {
        /// URL as the driver sent it.
        file: String,
        /// Path of the column.
        column: String,
    },
    /// A value that the table's type cannot hold.
    #[error("a value in column [{column}] of file {file} cannot be read as the type of the table")]
    Value {
        /// URL as the driver sent it.
        file: String,
        /// Path of the column.
        column: String,
        /// The cause.
        #[source]
        source: datafusion::arrow::error::ArrowError,
    },
    /// The scan itself is malformed or asks for what is not supported; [`crate::scan::check_scan`] tells this at submission.
    #[error("{what}: {reason}")]
    Unsupported {
        /// Which part of the scan.
        what: String,
        /// Why.
        reason: String,
    },
}

impl ScanError {
    /// Whether the same task, tried again, may succeed.
    pub fn retryable(&self) -> bool {
        matches!(
            self,
            Self::Read {
                source: object_store::Error::Generic { .. } | object_store::Error::JoinError { .. },
                ..
            }
        )
    }

    /// The scan error inside an error of a plan, if there is one.
    pub fn find(error: &DataFusionError) -> Option<&ScanError> {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(current) = cause {
            if let Some(found) = current.downcast_ref::<ScanError>() {
                return Some(found);
            }
            cause = current.source();
        }
        None
    }

    pub(crate) fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported {
            what: what.into(),
            reason: reason.into(),
        }
    }
}

impl From<ScanError> for DataFusionError {
    fn from(error: ScanError) -> Self {
        DataFusionError::External(Box::new(error))
    }
}
