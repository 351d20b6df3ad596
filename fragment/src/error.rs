use cne_proto::decode::DecodeError;
use cne_proto::v1::Rejection;
use datafusion::common::DataFusionError;

/// Why a fragment cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FragmentError {
    /// The block has parts that are not executed. The scheduler refuses such a block, so a task never sees this unless versions differ.
    #[error("the block is refused: {}", summary(.0))]
    Rejected(Vec<Rejection>),
    /// A message inside the block is malformed.
    #[error("malformed message")]
    Decode(#[from] DecodeError),
    /// The node does not fit its children.
    #[error("malformed fragment: {0}")]
    Malformed(String),
    /// The task was cancelled.
    #[error("the task was cancelled")]
    Cancelled,
    /// DataFusion refuses what was planned.
    #[error("planning failed")]
    Plan(#[from] DataFusionError),
}

impl From<FragmentError> for DataFusionError {
    fn from(error: FragmentError) -> Self {
        match error {
            FragmentError::Plan(inner) => inner,
            other => DataFusionError::External(Box::new(other)),
        }
    }
}

fn summary(rejections: &[Rejection]) -> String {
    let one = |r: &Rejection| format!("{} at {}: {}", r.what, r.path, r.reason);
    rejections.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// One part that is not executed, before its place in the block is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) what: String,
    pub(crate) reason: String,
    pub(crate) hint: String,
}

impl Issue {
    pub(crate) fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            reason: reason.into(),
            hint: String::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: &str) -> Self {
        self.hint = hint.to_string();
        self
    }
}

/// Why a node was not planned.
#[derive(Debug)]
pub(crate) enum Fail {
    /// A part of it was not, and that is recorded.
    Recorded,
    /// To be recorded.
    Issue(Issue),
}

impl From<Issue> for Fail {
    fn from(issue: Issue) -> Self {
        Self::Issue(issue)
    }
}

impl From<cne_spark_functions::Unsupported> for Fail {
    fn from(error: cne_spark_functions::Unsupported) -> Self {
        Self::Issue(Issue::new(error.what, error.reason))
    }
}

impl From<DataFusionError> for Fail {
    fn from(error: DataFusionError) -> Self {
        Self::Issue(Issue::new("plan", error.strip_backtrace()))
    }
}
