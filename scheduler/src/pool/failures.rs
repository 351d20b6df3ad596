//! When a task has failed often enough. Ballista's own count goes up with each task that was handed back or cancelled too, so that a query
//! whose executors are often drained would fail at its first real failure: it is told that there is no limit.

use std::collections::HashMap;

use ballista_core::serde::protobuf::{ExecutionError, FailedTask, failed_task::FailedReason};
use parking_lot::Mutex;

// By stage and partition.
type Counts = HashMap<(u32, usize), usize>;

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
