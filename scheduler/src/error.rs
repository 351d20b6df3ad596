//! Failures of queries, and how they travel: a gRPC status with the typed detail in a binary trailer.

use cne_proto::v1::{ErrorDetail, OutputName, Rejection, TaskFailure};
use cne_task::{
    codes::{self, Code},
    failure,
};
use prost::Message;
use tonic::{Status, metadata::MetadataValue};

/// Name of the trailer that carries the serialized [`ErrorDetail`].
pub const ERROR_TRAILER: &str = "cne-error-bin";

// gRPC clients accept 8 KiB of headers by default; base64 adds a third.
const MAX_DETAIL_BYTES: usize = 4600;
const MAX_STATUS_TEXT: usize = 900;

/// Why a query was refused or failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {}", detail.code, detail.message)]
pub struct Failure {
    /// What the client gets.
    pub detail: Box<ErrorDetail>,
    /// The stored output without which the query cannot go on.
    pub lost: Option<OutputName>,
}

impl Failure {
    /// A failure with one of the pool's codes.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let detail = ErrorDetail {
            code: code.code.into(),
            message: message.into(),
            retryable: code.retryable,
            ..Default::default()
        };
        Self {
            detail: Box::new(detail),
            lost: None,
        }
    }

    /// A refused plan with everything in it that is not executed.
    pub fn rejected(code: Code, rejections: Vec<Rejection>) -> Self {
        let named: Vec<_> = rejections
            .iter()
            .map(|r| format!("{} ({})", r.what, r.reason))
            .collect();
        let mut failure = Self::new(code, format!("{} {}", code.summary, named.join("; ")));
        failure.detail.rejections = rejections;
        failure
    }

    /// A failure that a task reported.
    pub fn from_task(task: TaskFailure) -> Self {
        let mut failure = Self::new(codes::TASK_FAILED, task.message);
        failure.detail.code = task.code;
        failure.detail.retryable = task.retryable;
        failure.detail.spark_error_json = task.spark_error_json;
        failure.lost = task.lost;
        failure
    }

    /// The failure behind the text of a failed Ballista job.
    pub fn from_job(text: &str) -> Self {
        match failure::decode(text) {
            Some(task) => Self::from_task(task),
            None => Self::new(codes::TASK_FAILED, shortened(text, 2000)),
        }
    }

    /// The same failure with the id of its query.
    pub fn of_query(mut self, query_id: &str) -> Self {
        self.detail.query_id = query_id.into();
        self
    }

    /// The answer to a call.
    pub fn to_status(&self) -> Status {
        let mut status = Status::new(
            grpc_code(&self.detail.code),
            shortened(&self.to_string(), MAX_STATUS_TEXT),
        );
        let value = MetadataValue::from_bytes(&self.fitted().encode_to_vec());
        status.metadata_mut().insert_bin(ERROR_TRAILER, value);
        status
    }

    // As much of the detail as fits into a trailer; what was left out is counted.
    fn fitted(&self) -> ErrorDetail {
        let mut detail = self.detail.as_ref().clone();
        if detail.encoded_len() <= MAX_DETAIL_BYTES {
            return detail;
        }
        detail.message = shortened(&detail.message, 600);
        if detail.spark_error_json.len() > MAX_DETAIL_BYTES - 1000 {
            // A cut JSON is of no use.
            detail.spark_error_json.clear();
        }
        let all = std::mem::take(&mut detail.rejections);
        for (at, rejection) in all.iter().enumerate() {
            detail.rejections.push(Rejection {
                path: shortened(&rejection.path, 200),
                what: shortened(&rejection.what, 200),
                reason: shortened(&rejection.reason, 300),
                hint: shortened(&rejection.hint, 300),
                stage: rejection.stage,
            });
            if detail.encoded_len() > MAX_DETAIL_BYTES - 200 {
                detail.rejections.pop();
                let left = all.len() - at;
                detail.rejections.push(Rejection {
                    stage: rejection.stage,
                    what: format!("{left} more"),
                    reason: "they did not fit into this answer; the scheduler's log has all".into(),
                    ..Default::default()
                });
                break;
            }
        }
        detail
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        failure.to_status()
    }
}

fn grpc_code(code: &str) -> tonic::Code {
    match code {
        c if c == codes::NOT_SERVED.code => tonic::Code::Unimplemented,
        c if c == codes::UNKNOWN_QUERY.code => tonic::Code::NotFound,
        c if c == codes::QUERY_ID_TAKEN.code => tonic::Code::AlreadyExists,
        c if c == codes::BUSY.code => tonic::Code::ResourceExhausted,
        c if c == codes::CANCELLED.code || c == codes::CLIENT_GONE.code => tonic::Code::Cancelled,
        c if c == codes::DEADLINE.code => tonic::Code::DeadlineExceeded,
        c if c == codes::NO_EXECUTORS.code || c == codes::SHUTTING_DOWN.code => tonic::Code::Unavailable,
        c if c == codes::NO_TENANT.code => tonic::Code::Unauthenticated,
        c if c.starts_with("CNE-1") => tonic::Code::InvalidArgument,
        c if c.starts_with("CNE-4") => tonic::Code::PermissionDenied,
        _ => tonic::Code::Internal,
    }
}

/// At most `limit` bytes of `text`, cut between characters.
pub fn shortened(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let mut end = limit.saturating_sub(3);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}...", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailer(status: &Status) -> ErrorDetail {
        let bytes = status
            .metadata()
            .get_bin(ERROR_TRAILER)
            .unwrap()
            .to_bytes()
            .unwrap();
        ErrorDetail::decode(bytes).unwrap()
    }

    #[test]
    fn a_refusal_fits_into_a_trailer_and_counts_what_does_not() {
        let rejections: Vec<_> = (0..500)
            .map(|stage| Rejection {
                stage,
                what: "Cast".into(),
                reason: "ä".repeat(400),
                ..Default::default()
            })
            .collect();
        let status = Failure::rejected(codes::NOT_EXECUTED, rejections).to_status();
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        let detail = trailer(&status);
        assert!(detail.encoded_len() <= MAX_DETAIL_BYTES);
        let shown = detail.rejections.len() - 1;
        assert!(shown > 5);
        assert_eq!(detail.rejections[shown].what, format!("{} more", 500 - shown));
    }

    #[test]
    fn a_tasks_failure_comes_back_whole() {
        let task = TaskFailure {
            code: "CNE-2001".into(),
            message: "division by zero".into(),
            spark_error_json: "{\"a\":1}".into(),
            ..Default::default()
        };
        let text = format!("Job failed: {:?}", failure::encode(&task));
        let detail = trailer(&Failure::from_job(&text).of_query("q").to_status());
        assert_eq!(
            (detail.code.as_str(), detail.query_id.as_str()),
            ("CNE-2001", "q")
        );
        assert_eq!(detail.spark_error_json, task.spark_error_json);
    }
}
