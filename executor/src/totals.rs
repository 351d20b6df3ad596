use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// What this process has done since its start.
#[derive(Debug, Default)]
pub struct Totals {
    running: AtomicU64,
    serving: AtomicU64,
    succeeded: AtomicU64,
    failed: AtomicU64,
    found: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
}

impl Totals {
    /// Counts a task as running until the guard is dropped.
    pub(crate) fn task(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running(self)
    }

    /// Counts a result as being sent until the guard is dropped.
    pub(crate) fn serve(self: &Arc<Self>) -> Serving {
        self.serving.fetch_add(1, Ordering::Relaxed);
        Serving(Arc::clone(self))
    }

    pub(crate) fn succeeded(&self, rows: u64, bytes: u64) {
        self.succeeded.fetch_add(1, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A task whose output an earlier attempt had committed: nothing ran.
    pub(crate) fn found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// As `comet.health` reports them.
    pub(crate) fn to_json(&self) -> Value {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        json!({
            "tasks_running": get(&self.running),
            "results_open": get(&self.serving),
            "tasks_succeeded": get(&self.succeeded),
            "tasks_failed": get(&self.failed),
            "tasks_found": get(&self.found),
            "rows_produced": get(&self.rows),
            "bytes_produced": get(&self.bytes),
        })
    }
}

pub(crate) struct Running<'a>(&'a Totals);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) struct Serving(Arc<Totals>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.serving.fetch_sub(1, Ordering::Relaxed);
    }
}
