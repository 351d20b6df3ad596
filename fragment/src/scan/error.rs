use std::error::Error;

use cne_spark_functions::{SparkError, SparkErrorKind};
use datafusion::error::DataFusionError;

/// Kinds of types that are not read as each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MismatchKind {
    /// Spark's own mismatch of two types without parts.
    Types,
    /// One has parts, the other has not, or has others.
    Parts,
    /// An unsigned number, which Spark reads in some pages and not in others.
    Unsigned,
}

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
        /// What Spark says to it.
        kind: MismatchKind,
    },
    /// More than one column of the file matches.
    #[error(
        "column [{column}] of file {file} is ambiguous: {candidates}; set spark.sql.caseSensitive=true or rename the columns"
    )]
    Ambiguous {
        /// URL as the driver sent it.
        file: String,
        /// Name of the column in the table.
        column: String,
        /// The field id by which it was looked for, if it was by one.
        id: Option<i32>,
        /// The matching columns.
        candidates: String,
    },
    /// Bytes of a STRING that are no UTF-8. Spark keeps them, Arrow's strings cannot.
    #[error(
        "a STRING in one of the columns [{columns}] of file {files} is no valid UTF-8, which executors cannot hold; read the column as \
         BINARY or run the query without native executors"
    )]
    NotText {
        /// URLs as the driver sent them, of all files that the task reads.
        files: String,
        /// The columns with text that are read.
        columns: String,
    },
    /// Field ids are required, the file has none.
    #[error(
        "file {file} has no field ids, which the read schema requires; set spark.sql.parquet.fieldId.read.ignoreMissing=true"
    )]
    NoFieldIds {
        /// URL as the driver sent it.
        file: String,
    },
    /// A timestamp of the hybrid calendar whose zone had other offsets then.
    #[error(
        "column [{column}] of file {file} has a timestamp from before 1900, written in the hybrid Julian calendar in the time zone {}, \
         whose old offsets are not known here; rewrite the file with spark.sql.parquet.datetimeRebaseModeInWrite=CORRECTED or run the \
         query without native executors", zone.as_deref().unwrap_or("of its writer")
    )]
    Rebase {
        /// URL as the driver sent it.
        file: String,
        /// Column of the table.
        column: String,
        /// As Spark wrote it into the file.
        zone: Option<String>,
    },
    /// A date or timestamp from before the calendar switch, and the session says that it may be of either calendar.
    #[error(
        "column [{column}] of file {file} has a date before 1582-10-15 or a timestamp before 1900-01-01, which may be of either calendar; \
         set spark.sql.parquet.datetimeRebaseModeInRead (for INT96: spark.sql.parquet.int96RebaseModeInRead) to CORRECTED or LEGACY"
    )]
    Ancient {
        /// URL as the driver sent it.
        file: String,
        /// Column of the table.
        column: String,
        /// Whether it is an INT96 timestamp.
        int96: bool,
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

    /// The error that Spark raises for the same file, where it raises one.
    pub fn spark_error(&self) -> Option<SparkError> {
        let unreadable = |file: &String| SparkErrorKind::CannotReadFile {
            file_path: file.clone(),
            message: self.to_string(),
        };
        Some(SparkError::from(match self {
            Self::TypeMismatch {
                kind: MismatchKind::Parts,
                file,
                ..
            } => unreadable(file),
            // It depends on the encoding of each page.
            Self::TypeMismatch {
                kind: MismatchKind::Unsigned,
                ..
            } => return None,
            Self::TypeMismatch {
                file,
                column,
                physical,
                expected,
                ..
            } => SparkErrorKind::ParquetSchemaConvert {
                file_path: file.clone(),
                column: format!("[{column}]"),
                physical_type: physical.clone(),
                spark_type: expected.clone(),
            },
            Self::Ancient { int96, .. } => SparkErrorKind::ReadAncientDatetime { int96: *int96 },
            Self::Ambiguous { file, .. } | Self::NoFieldIds { file } | Self::Value { file, .. } => {
                unreadable(file)
            }
            _ => return None,
        }))
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
