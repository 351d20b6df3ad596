//! Who a task is, and the hand by which it is stopped.

use std::sync::Arc;

use datafusion::{execution::TaskContext, prelude::SessionConfig};
use tokio_util::sync::CancellationToken;

/// One attempt of one task, as Ballista names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskIdentity {
    /// Ballista's job.
    pub job_id: String,
    /// Ballista's stage within the job.
    pub stage_id: u32,
    /// How often the stage was started before.
    pub stage_attempt: u32,
    /// Number of the task within the stage attempt. Not the partition.
    pub task_id: u32,
    /// How often the task was started before.
    pub task_attempt: u32,
}

impl TaskIdentity {
    /// Reads Ballista's `TID {job}/{stage}.{stage_attempt}/{task}.{task_attempt}`; `None` for any other text.
    pub fn parse(task_id: &str) -> Option<Self> {
        let mut parts = task_id.strip_prefix("TID ")?.rsplitn(3, '/');
        let (task_id, task_attempt) = pair(parts.next()?)?;
        let (stage_id, stage_attempt) = pair(parts.next()?)?;
        let job_id = parts.next().filter(|job| !job.is_empty())?.to_owned();
        Some(Self {
            job_id,
            stage_id,
            stage_attempt,
            task_id,
            task_attempt,
        })
    }

    /// The identity of the task that `context` belongs to; `None` outside a task.
    pub fn of(context: &TaskContext) -> Option<Self> {
        Self::parse(&context.task_id()?)
    }
}

fn pair(text: &str) -> Option<(u32, u32)> {
    let (number, attempt) = text.split_once('.')?;
    Some((number.parse().ok()?, attempt.parse().ok()?))
}

/// Session extension of a task: what its launch says beside the plan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchedTask {
    /// Number of the attempt, see `TaskLaunch` on the wire.
    pub attempt: u32,
    /// Whether an attempt before this one may have committed.
    pub look_first: bool,
}

/// Session extension that every operator of a task can reach.
#[derive(Debug)]
pub struct TaskScope {
    /// Cancelled when the task is aborted. Ballista drops only the outer future; whatever was spawned has to watch this.
    pub cancel: CancellationToken,
    /// The attempt.
    pub identity: TaskIdentity,
    /// The global partition that the task computes.
    pub partition: u32,
}

impl TaskScope {
    /// The scope of the session, if a task set one.
    pub fn of(config: &SessionConfig) -> Option<Arc<Self>> {
        config.get_extension::<Self>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballistas_task_name() {
        let identity = TaskIdentity::parse("TID 7f/a-1/12.3/40.1");
        let expected = TaskIdentity {
            job_id: "7f/a-1".into(),
            stage_id: 12,
            stage_attempt: 3,
            task_id: 40,
            task_attempt: 1,
        };
        assert_eq!(identity, Some(expected));
        for bad in [
            "",
            "TID ",
            "TID job/1/2",
            "job/1.0/2.0",
            "TID /1.0/2.0",
            "TID job/1.0/x.0",
        ] {
            assert_eq!(TaskIdentity::parse(bad), None, "{bad}");
        }
    }
}
