//! What went wrong in a task, as one of the pool's codes.

use std::any::Any;
use std::error::Error;
use std::io::ErrorKind;

use arrow::error::ArrowError;
use cne_fragment::FragmentError;
use cne_fragment::scan::ScanError;
use cne_proto::v1::{OutputName, TaskFailure};
use cne_spark_functions::SparkError;
use cne_storage::{AccessError, IdentityError, StoreError};
use cne_task::codes::{self, Code};
use cne_task::{TaskIdentity, UnknownBlock, failure};
use datafusion::error::DataFusionError;

/// Longest message that travels.
const MESSAGE_BYTES: usize = 2000;

/// A code, and whether the same task may end better when it is started again.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Class {
    code: Code,
    again: bool,
}

fn class(code: Code, again: bool) -> Option<Class> {
    Some(Class { code, again })
}

/// The error by which the task reports `error`: only what is worth another try is of the class that Ballista tries again.
pub(crate) fn to_ballista(error: &DataFusionError, task: &TaskIdentity, partition: u32) -> DataFusionError {
    let mut class = classify(error);
    if class.code == codes::OUT_OF_MEMORY {
        // Once: beside other tasks it may have more room, but not much more.
        class.again = task.task_attempt == 0;
    }
    let spark = chain(error).find_map(|cause| match cause.downcast_ref::<ScanError>() {
        Some(scan) => scan.spark_error(),
        None => cause.downcast_ref::<SparkError>().cloned(),
    });
    report(
        TaskFailure {
            code: class.code.code.into(),
            message: message(error),
            // For the client: whether the query may be sent again.
            retryable: class.code.retryable,
            spark_error_json: spark.as_ref().map(SparkError::to_comet_json).unwrap_or_default(),
            stage: task.stage_id,
            partition,
            lost: chain(error).find_map(lost_output),
        },
        class.again,
    )
}

/// The error by which a task reports that it panicked.
pub(crate) fn of_panic(panic: &(dyn Any + Send), task: &TaskIdentity, partition: u32) -> DataFusionError {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let failure = TaskFailure {
        code: codes::TASK_FAILED.code.into(),
        message: shortened(format!(
            "a task panicked: {}",
            text.unwrap_or("without a message")
        )),
        stage: task.stage_id,
        partition,
        ..Default::default()
    };
    report(failure, false)
}

/// The error of a task whose plan cannot be decoded here. It is worth another try if only a block is missing: the scheduler sends it then.
pub(crate) fn undecodable(error: &(dyn Error + 'static), stage: u32) -> DataFusionError {
    let again = chain(error).any(|cause| cause.is::<UnknownBlock>());
    let code = match again {
        true => codes::UNKNOWN_BLOCK,
        false => codes::PLANNING_DIFFERS,
    };
    let failure = TaskFailure {
        code: code.code.into(),
        message: message(error),
        retryable: code.retryable,
        stage,
        ..Default::default()
    };
    report(failure, again)
}

fn lost_output(cause: &(dyn Error + 'static)) -> Option<OutputName> {
    match cause.downcast_ref::<StoreError>()? {
        StoreError::LostOutput {
            stage_id,
            map_partition,
            published,
            ..
        } => Some(OutputName {
            stage: *stage_id,
            map_partition: *map_partition,
            published: *published,
        }),
        _ => None,
    }
}

fn report(failure: TaskFailure, again: bool) -> DataFusionError {
    let text = failure::encode(&failure);
    match again {
        true => DataFusionError::IoError(std::io::Error::other(text)),
        false => DataFusionError::Execution(text),
    }
}

fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(
        Some(error),
        |cause: &&'e (dyn Error + 'static)| -> Option<&'e (dyn Error + 'static)> { (*cause).source() },
    )
}

/// The innermost cause that has a code decides, except that our own types decide over what they wrap.
fn classify(error: &DataFusionError) -> Class {
    // Whatever wraps it: a store or a file is only where it came to light.
    if let Some(identity) = IdentityError::find(error) {
        return identity_class(identity);
    }
    let own = chain(error).find_map(own_class);
    own.or_else(|| chain(error).filter_map(foreign_class).last())
        .unwrap_or(Class {
            code: codes::TASK_FAILED,
            again: false,
        })
}

fn identity_class(error: &IdentityError) -> Class {
    match error.retryable() {
        true => Class {
            code: codes::IDENTITY,
            again: true,
        },
        false => Class {
            code: codes::IDENTITY_REFUSED,
            again: false,
        },
    }
}

fn own_class(cause: &(dyn Error + 'static)) -> Option<Class> {
    if cause.is::<SparkError>() {
        return class(codes::SPARK_ERROR, false);
    }
    if let Some(error) = cause.downcast_ref::<AccessError>() {
        let outside = matches!(error, AccessError::OutsideRoots { .. });
        return class(
            if outside {
                codes::FILE_ROOT
            } else {
                codes::ACCESS_DENIED
            },
            false,
        );
    }
    if let Some(error) = cause.downcast_ref::<ScanError>() {
        return scan_class(error);
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return store_class(error);
    }
    match cause.downcast_ref::<FragmentError>()? {
        FragmentError::Cancelled => class(codes::TASK_CANCELLED, true),
        FragmentError::Rejected(_) | FragmentError::Decode(_) | FragmentError::Malformed(_) => {
            class(codes::PLANNING_DIFFERS, false)
        }
        _ => None,
    }
}

fn scan_class(error: &ScanError) -> Option<Class> {
    // A store's refusal of a path outside the roots lies below a `Read`.
    if let Some(access) = AccessError::find(error) {
        return own_class(access);
    }
    match error {
        ScanError::Missing { .. } => class(codes::FILE_MISSING, false),
        ScanError::TooShort { .. } | ScanError::Changed { .. } => class(codes::FILE_CORRUPT, false),
        // The bytes may not have come at all.
        ScanError::Footer { source, .. } => match chain(source.as_ref()).filter_map(foreign_class).last() {
            Some(found) if found.code != codes::FILE_CORRUPT => Some(found),
            _ => class(codes::FILE_CORRUPT, false),
        },
        ScanError::Read { source, .. } => object_store_class(source),
        ScanError::TypeMismatch { .. }
        | ScanError::Ambiguous { .. }
        | ScanError::NoFieldIds { .. }
        | ScanError::Rebase { .. }
        | ScanError::Ancient { .. }
        | ScanError::NotText { .. }
        | ScanError::Value { .. } => class(codes::FILE_CONTENT, false),
        ScanError::Unsupported { .. } => class(codes::PLANNING_DIFFERS, false),
    }
}

fn store_class(error: &StoreError) -> Option<Class> {
    match error {
        StoreError::LostOutput { .. } => class(codes::OUTPUT_LOST, false),
        StoreError::Transient { source, .. } => match object_store_class(source) {
            // A full disk below the store is one.
            Some(found) if found.code == codes::DISK_FULL => Some(found),
            _ => class(codes::STORAGE, true),
        },
        StoreError::Refused { source, .. } => match object_store_class(source) {
            Some(found) if found.code == codes::DISK_FULL => Some(found),
            _ => class(codes::STORAGE, false),
        },
        StoreError::Spill { source } => chain(source)
            .filter_map(foreign_class)
            .last()
            .or(class(codes::DISK_FULL, true)),
        // Tried again, it may go to the store at once, or to another executor.
        StoreError::LocalDisk { .. } => class(codes::DISK_FULL, true),
        _ => class(codes::STORAGE, false),
    }
}

fn object_store_class(error: &object_store::Error) -> Option<Class> {
    if let Some(io) = chain(error)
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .last()
        && let Some(found) = io_class(io)
    {
        return Some(found);
    }
    match error {
        object_store::Error::NotFound { .. } => class(codes::FILE_MISSING, false),
        object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
            class(codes::ACCESS_DENIED, false)
        }
        object_store::Error::Generic { .. } | object_store::Error::JoinError { .. } => {
            class(codes::STORAGE, true)
        }
        _ => class(codes::STORAGE, false),
    }
}

/// The disk manager's quota has no type of its own.
const SPILL_QUOTA_TEXT: &str = "disk space during the spilling process has exceeded";

fn io_class(error: &std::io::Error) -> Option<Class> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => class(codes::DISK_FULL, true),
        ErrorKind::NotFound => class(codes::FILE_MISSING, false),
        ErrorKind::PermissionDenied => class(codes::ACCESS_DENIED, false),
        // So says DataFusion's disk manager where a spill goes beyond its quota.
        ErrorKind::Other if error.to_string().contains(SPILL_QUOTA_TEXT) => class(codes::DISK_FULL, true),
        _ => None,
    }
}

fn foreign_class(cause: &(dyn Error + 'static)) -> Option<Class> {
    if let Some(error) = cause.downcast_ref::<DataFusionError>() {
        return match error {
            DataFusionError::ResourcesExhausted(text) if text.contains(SPILL_QUOTA_TEXT) => {
                class(codes::DISK_FULL, true)
            }
            DataFusionError::ResourcesExhausted(_) => class(codes::OUT_OF_MEMORY, true),
            DataFusionError::ParquetError(_) => class(codes::FILE_CORRUPT, false),
            DataFusionError::IoError(_) => class(codes::STORAGE, true),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<object_store::Error>() {
        return object_store_class(error);
    }
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        return io_class(error);
    }
    match cause.downcast_ref::<ArrowError>()? {
        ArrowError::ParquetError(_) => class(codes::FILE_CORRUPT, false),
        _ => None,
    }
}

/// The texts of the error and its causes, those left out that another one repeats.
fn message(error: &(dyn Error + 'static)) -> String {
    let mut message = String::new();
    for cause in chain(error) {
        let text = match cause.downcast_ref::<DataFusionError>() {
            Some(error) => error.strip_backtrace(),
            None => cause.to_string(),
        };
        if message.is_empty() {
            message = text;
        } else if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
    }
    shortened(message)
}

fn shortened(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES {
        let end = (0..=MESSAGE_BYTES)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use cne_spark_functions::SparkErrorKind;

    use super::*;

    fn found(error: DataFusionError) -> (Code, bool) {
        let Class { code, again } = classify(&error);
        (code, again)
    }

    fn external(error: impl Error + Send + Sync + 'static) -> DataFusionError {
        DataFusionError::External(Box::new(error)).context("while reading")
    }

    #[test]
    fn causes_decide_whatever_wraps_them() {
        let divide = DataFusionError::ArrowError(
            Box::new(ArrowError::ExternalError(Box::new(SparkError::from(
                SparkErrorKind::DivideByZero,
            )))),
            None,
        );
        assert_eq!(
            found(DataFusionError::Shared(divide.into())),
            (codes::SPARK_ERROR, false)
        );
        let lost = StoreError::LostOutput {
            namespace: "n".into(),
            stage_id: 1,
            map_partition: 2,
            what: "no commit record",
            published: false,
        };
        assert_eq!(found(external(lost)), (codes::OUTPUT_LOST, false));
        let unkept = StoreError::LocalDisk {
            source: ErrorKind::StorageFull.into(),
        };
        assert_eq!(found(external(unkept)), (codes::DISK_FULL, true));
        let slow = object_store::Error::Generic {
            store: "S3",
            source: "503".into(),
        };
        assert_eq!(
            found(DataFusionError::ObjectStore(Box::new(slow)).context("x")),
            (codes::STORAGE, true)
        );
        let full = std::io::Error::from(ErrorKind::StorageFull);
        assert_eq!(found(DataFusionError::IoError(full)), (codes::DISK_FULL, true));
        // A full disk and a full quota, as they come out of DataFusion's writer of spill files.
        let full = DataFusionError::IoError(ErrorKind::StorageFull.into());
        let quota = format!("The used {SPILL_QUOTA_TEXT} the allowable limit of 1 B");
        for error in [std::io::Error::from(full), std::io::Error::other(quota)] {
            let arrow = ArrowError::IoError(error.to_string(), error);
            let error = DataFusionError::ArrowError(Box::new(arrow), None);
            assert_eq!(found(error), (codes::DISK_FULL, true));
        }
        assert_eq!(
            found(external(FragmentError::Cancelled)),
            (codes::TASK_CANCELLED, true)
        );
        // Wherever it came to light, and whatever the store's client made of it.
        for (code, expected) in [
            ("ExpiredTokenException", (codes::IDENTITY, true)),
            ("AccessDenied", (codes::IDENTITY_REFUSED, false)),
        ] {
            let refused = IdentityError::Refused {
                identity: "web identity".into(),
                code: code.into(),
                reason: "no".into(),
            };
            let scan = ScanError::Read {
                file: "s3://b/f".into(),
                source: refused.clone().into(),
            };
            assert_eq!(found(external(scan)), expected);
            let stored = StoreError::Refused {
                operation: "put",
                key: "k".into(),
                source: refused.into(),
            };
            assert_eq!(stored.retryable(), expected.1);
            assert_eq!(found(external(stored)), expected);
        }
        let outside = AccessError::OutsideRoots {
            path: "/etc/passwd".into(),
        };
        let denied = object_store::Error::PermissionDenied {
            path: "x".into(),
            source: Box::new(outside),
        };
        let scan = ScanError::Read {
            file: "file:///etc/passwd".into(),
            source: denied,
        };
        assert_eq!(found(external(scan)), (codes::FILE_ROOT, false));
        let parquet = ArrowError::ParquetError("bad page".into());
        assert_eq!(
            found(DataFusionError::ArrowError(Box::new(parquet), None)),
            (codes::FILE_CORRUPT, false)
        );
        assert_eq!(
            found(DataFusionError::Internal("?".into())),
            (codes::TASK_FAILED, false)
        );
    }

    #[test]
    fn memory_is_tried_twice_and_spark_errors_travel_whole() {
        let attempt = |task_attempt| TaskIdentity {
            job_id: "j".into(),
            stage_id: 3,
            stage_attempt: 0,
            task_id: 0,
            task_attempt,
        };
        let memory = DataFusionError::ResourcesExhausted("pool".into());
        assert!(matches!(
            to_ballista(&memory, &attempt(0), 0),
            DataFusionError::IoError(_)
        ));
        assert!(matches!(
            to_ballista(&memory, &attempt(1), 0),
            DataFusionError::Execution(_)
        ));
        let error = external(SparkError::from(SparkErrorKind::DivideByZero));
        let text = to_ballista(&error, &attempt(0), 7).to_string();
        let failure = failure::decode(&text).unwrap();
        assert_eq!(
            (failure.code.as_str(), failure.stage, failure.partition),
            ("CNE-2001", 3, 7)
        );
        assert!(failure.spark_error_json.contains("DivideByZero"), "{failure:?}");
    }
}
