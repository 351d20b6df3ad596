//! A typed failure of a task inside the only thing that Ballista carries: text.
//!
//! Ballista formats an error with `{:?}` and puts words before and after it, so the message travels as one token of letters and digits that
//! no quoting changes: `cne-failure-v1:<length>:<hex of the protobuf>:`.

use cne_proto::v1::TaskFailure;
use datafusion::error::DataFusionError;
use prost::Message;

const PREFIX: &str = "cne-failure-v1:";

/// The text that carries `failure`.
pub fn encode(failure: &TaskFailure) -> String {
    let bytes = failure.encode_to_vec();
    format!("{PREFIX}{}:{}:", bytes.len(), hex::encode(bytes))
}

/// The last failure that `text` carries; `None` when it carries none or a damaged one.
pub fn decode(text: &str) -> Option<TaskFailure> {
    text.rmatch_indices(PREFIX).find_map(|(at, _)| {
        let (length, rest) = text[at + PREFIX.len()..].split_once(':')?;
        let length: usize = length.parse().ok()?;
        let bytes = hex::decode(rest.get(..length.checked_mul(2)?)?).ok()?;
        TaskFailure::decode(bytes.as_slice()).ok()
    })
}

/// The error by which a task reports `failure`: an I/O error when it is retryable, the one class that Ballista tries again (four times).
pub fn to_error(failure: &TaskFailure) -> DataFusionError {
    let text = encode(failure);
    if failure.retryable {
        DataFusionError::IoError(std::io::Error::other(text))
    } else {
        DataFusionError::Execution(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cne_proto::v1::OutputName;

    fn failure(message: &str, retryable: bool) -> TaskFailure {
        TaskFailure {
            code: crate::codes::SPARK_ERROR.code.into(),
            message: message.into(),
            retryable,
            spark_error_json: r#"{"errorType":"DivideByZero","params":{"a":"\"\\é:"}}"#.into(),
            stage: 3,
            partition: 7,
            lost: Some(OutputName {
                stage: 1,
                map_partition: 2,
                published: true,
            }),
        }
    }

    #[test]
    fn survives_what_ballista_does_to_errors() {
        use ballista_core::{
            error::BallistaError,
            serde::protobuf::{FailedTask, failed_task::FailedReason},
        };
        for retryable in [false, true] {
            let sent = failure("a \"quoted\"\nline", retryable);
            let wrapped = DataFusionError::Shared(to_error(&sent).into()).context("while joining");
            let task = FailedTask::from(BallistaError::DataFusionError(Box::new(wrapped)));
            assert_eq!(
                matches!(task.failed_reason, Some(FailedReason::IoError(_))),
                retryable
            );
            let job = format!("Job failed due to stage 4 failed: {:?} ", task.error);
            assert_eq!(decode(&job), Some(sent));
        }
    }

    #[test]
    fn the_last_whole_one_counts() {
        let (first, second) = (encode(&failure("1", true)), encode(&failure("2", true)));
        let text = format!("{first} then {second}");
        assert_eq!(decode(&text).map(|f| f.message), Some("2".into()));
        assert_eq!(
            decode(&text[..text.len() - 4]).map(|f| f.message),
            Some("1".into())
        );
        assert_eq!(decode("cne-failure-v1:9:é"), None);
        assert_eq!(decode("no failure"), None);
    }
}
