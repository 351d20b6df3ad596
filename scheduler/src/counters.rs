//! What has happened since the start of the scheduler, as counters.

use cne_task::codes::Code;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

/// How a query or an attempt of a task ended: `ok`, or the code of its failure.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct End {
    end: String,
}

/// The counters. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    queries: Family<End, Counter>,
    query_restarts: Counter,
    queries_resumed: Counter,
    launches: Counter,
    relaunches: Counter,
    attempts: Family<End, Counter>,
    late_ends: Counter,
    executors_lost: Counter,
}

impl Counters {
    /// Adds them to the metrics of the process.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("queries", "Queries that have ended, by how", self.queries.clone());
        for (name, help, counter) in [
            (
                "query_restarts",
                "How often a query started again because a stored output was lost",
                &self.query_restarts,
            ),
            (
                "queries_resumed",
                "Queries that a scheduler before this one had accepted",
                &self.queries_resumed,
            ),
            (
                "task_launches",
                "Attempts of tasks that were given to an executor",
                &self.launches,
            ),
            (
                "task_relaunches",
                "Attempts of tasks of which another attempt was started before",
                &self.relaunches,
            ),
            (
                "task_late_ends",
                "Ends of tasks that did not count: told twice, or by an executor that had lost the task",
                &self.late_ends,
            ),
            (
                "executors_lost",
                "Executors that went away without a farewell",
                &self.executors_lost,
            ),
        ] {
            registry.register(name, help, counter.clone());
        }
        registry.register(
            "task_attempts",
            "Attempts of tasks that have ended, by how",
            self.attempts.clone(),
        );
    }

    pub(crate) fn query_succeeded(&self) {
        self.queries.get_or_create(&ok()).inc();
    }

    /// A stuck query is one that failed with the code for that.
    pub(crate) fn query_failed(&self, code: &str) {
        self.queries.get_or_create(&end(code)).inc();
    }

    pub(crate) fn query_restarted(&self) {
        self.query_restarts.inc();
    }

    pub(crate) fn query_resumed(&self) {
        self.queries_resumed.inc();
    }

    pub(crate) fn launched(&self, again: bool) {
        self.launches.inc();
        self.relaunches.inc_by(u64::from(again));
    }

    pub(crate) fn attempts_succeeded(&self, attempts: usize) {
        self.attempts.get_or_create(&ok()).inc_by(attempts as u64);
    }

    /// `code` is empty for an end that carries none: the task was cancelled, or handed back.
    pub(crate) fn attempt_failed(&self, code: &str) {
        let code = if code.is_empty() { "cancelled" } else { code };
        self.attempts.get_or_create(&end(code)).inc();
    }

    pub(crate) fn late_ends(&self, ends: usize) {
        self.late_ends.inc_by(ends as u64);
    }

    pub(crate) fn executor_lost(&self) {
        self.executors_lost.inc();
    }

    /// How many queries failed with `code`.
    pub fn queries_failed(&self, code: Code) -> u64 {
        self.queries.get_or_create(&end(code.code)).get()
    }

    /// Attempts of tasks of which another attempt was started before.
    pub fn relaunches(&self) -> u64 {
        self.relaunches.get()
    }
}

fn ok() -> End {
    end("ok")
}

fn end(text: &str) -> End {
    End {
        end: text.to_string(),
    }
}
