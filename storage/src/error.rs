use arrow::error::ArrowError;
use cne_identity::IdentityError;
use datafusion::error::DataFusionError;

/// Why an output could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A namespace from outside holds characters that could leave the storage prefix.
    #[error("namespace {namespace:?} is not 1 to 128 letters, digits, '-' or '_'")]
    InvalidNamespace {
        /// As received.
        namespace: String,
    },
    /// No commit record, or its data object is gone: the producer has to run again.
    #[error(
        "output {namespace}, stage {stage_id}, map partition {map_partition} is not in the store ({what})"
    )]
    LostOutput {
        /// Where the outputs of the query are.
        namespace: String,
        /// Stage of the producer.
        stage_id: u32,
        /// Map partition of the producer.
        map_partition: u32,
        /// What is missing.
        what: &'static str,
        /// Whether the commit record of the very attempt is in the store: no other attempt can take its place in the same generation.
        published: bool,
    },
    /// The bytes are there, but are not what was committed.
    #[error("object {key} is corrupt: {what}")]
    Corrupt {
        /// Key below the storage prefix.
        key: String,
        /// What does not fit.
        what: String,
    },
    /// Rows that cannot be encoded, or committed bytes that cannot be decoded.
    #[error("rows of object {key} cannot be encoded or decoded")]
    Codec {
        /// Key below the storage prefix.
        key: String,
        /// The cause.
        #[source]
        source: ArrowError,
    },
    /// The store did not answer, after the retries.
    #[error("{operation} of object {key} failed after {attempts} attempts")]
    Transient {
        /// Name of the request.
        operation: &'static str,
        /// Key as the store sees it.
        key: String,
        /// How often it was tried.
        attempts: u32,
        /// The last answer.
        #[source]
        source: object_store::Error,
    },
    /// The store refused: permissions, an unsupported operation, a malformed path.
    #[error("{operation} of object {key} was refused")]
    Refused {
        /// Name of the request.
        operation: &'static str,
        /// Key as the store sees it.
        key: String,
        /// The answer.
        #[source]
        source: object_store::Error,
    },
    /// Rows that did not fit in memory could not be put on disk, or not be read back.
    #[error("spilling the rows of a map output failed")]
    Spill {
        /// The cause; `ResourcesExhausted` when the disk quota is used up.
        #[source]
        source: DataFusionError,
    },
    /// An output cannot be kept on this executor's disk.
    #[error("an output cannot be kept on the executor's disk")]
    LocalDisk {
        /// The cause; `QuotaExceeded` when CNE_LOCAL_QUOTA is used up by what has to be kept.
        #[source]
        source: std::io::Error,
    },
    /// A bucket number outside the record.
    #[error("bucket {bucket} of {num_buckets} was asked for")]
    NoSuchBucket {
        /// As asked for.
        bucket: u32,
        /// How many there are.
        num_buckets: usize,
    },
    /// The process has no usable identity.
    #[error("the object store cannot be asked without credentials")]
    Identity(#[from] IdentityError),
    /// A storage URL that cannot be used.
    #[error("storage URL {url:?} cannot be used: {reason}; expected file:///directory or s3://bucket/prefix")]
    InvalidUrl {
        /// As configured.
        url: String,
        /// Why.
        reason: String,
    },
    /// A directory for the store cannot be created.
    #[error("storage directory {path:?} cannot be created")]
    Directory {
        /// The directory.
        path: std::path::PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl StoreError {
    /// Whether the same task, tried again, may succeed. A lost output is not: its producer has to run first.
    pub fn retryable(&self) -> bool {
        match IdentityError::find(self) {
            Some(error) => error.retryable(),
            None => matches!(self, Self::Transient { .. } | Self::LocalDisk { .. }),
        }
    }

    /// Whether the output of a producer is gone, so that the query has to be restarted.
    pub fn is_lost_output(&self) -> bool {
        matches!(self, Self::LostOutput { .. })
    }

    /// The store error inside an error of a record batch stream, if there is one.
    pub fn find(error: &DataFusionError) -> Option<&StoreError> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(current) = cause {
            if let Some(found) = current.downcast_ref::<StoreError>() {
                return Some(found);
            }
            cause = current.source();
        }
        None
    }
}

impl From<StoreError> for DataFusionError {
    fn from(error: StoreError) -> Self {
        DataFusionError::External(Box::new(error))
    }
}
