//! When a task has failed often enough. Ballista's own count goes up with each task that was handed back or cancelled too, so that a query
//! whose executors are often drained would fail at its first real failure: it is told that there is no limit.

use std::collections::HashMap;

use ballista_core::serde::protobuf::{ExecutionError, FailedTask, failed_task::FailedReason};
use parking_lot::Mutex;

// By stage and partition.
type Counts = HashMap<(u32, usize), usize>;

/// How often a task is started at most, whatever ended its attempts. One that takes its executors along with it would go on for ever.
const MOST_LAUNCHES: usize = 16;

/// Tasks of running jobs that were started too often.
#[derive(Debug, Default)]
pub(super) struct WornTasks(Mutex<HashMap<String, (u32, u32)>>);

impl WornTasks {
    /// Notes an attempt of a task of which `before` attempts were started; `false` when it must not be started again.
    pub(super) fn start(&self, job: &str, stage: u32, partitions: &[usize], before: usize) -> bool {
        if before < MOST_LAUNCHES {
            return true;
        }
        let partition = partitions.first().map_or(0, |partition| *partition as u32);
        self.0.lock().insert(job.to_string(), (stage, partition));
        false
    }

    pub(super) fn of(&self, job: &str) -> Option<(u32, u32)> {
        self.0.lock().get(job).copied()
    }

    /// Forgets the jobs that do not run any more.
    pub(super) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.0.lock().retain(|job, _| runs(job));
    }
}

/// Real failures of the running jobs' tasks.
#[derive(Debug)]
pub(super) struct Failures {
    limit: usize,
    by_job: Mutex<HashMap<String, Counts>>,
}

impl Failures {
    /// A task is started `limit` times in all, those not counted after which it was handed back or its executor was lost.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            by_job: Mutex::default(),
        }
    }

    /// Counts a failure; the one that reaches the limit becomes a failure of the query.
    pub(super) fn count(&self, job: &str, stage: u32, partitions: &[usize], failed: &mut FailedTask) {
        if !(failed.retryable && failed.count_to_failures) {
            return;
        }
        let mut by_job = self.by_job.lock();
        let counts = by_job.entry(job.to_string()).or_default();
        let mut most = 0;
        for partition in partitions {
            let count = counts.entry((stage, *partition)).or_default();
            *count += 1;
            most = most.max(*count);
        }
        if most >= self.limit {
            tracing::warn!(
                job,
                stage,
                ?partitions,
                failures = most,
                "a task has failed too often"
            );
            failed.retryable = false;
            failed.count_to_failures = false;
            failed.failed_reason = Some(FailedReason::ExecutionError(ExecutionError {}));
        }
    }

    /// Forgets the jobs that do not run any more.
    pub(super) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.by_job.lock().retain(|job, _| runs(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_started_again_and_again_is_named() {
        let worn = WornTasks::default();
        assert!(worn.start("a", 2, &[5], MOST_LAUNCHES - 1));
        assert_eq!(worn.of("a"), None);
        assert!(!worn.start("a", 2, &[5], MOST_LAUNCHES));
        assert_eq!((worn.of("a"), worn.of("b")), (Some((2, 5)), None));
        worn.retain(|job| job == "b");
        assert_eq!(worn.of("a"), None);
    }
}
