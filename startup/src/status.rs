use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio::sync::watch;

/// Why a process is not ready, in one line.
pub type Reason = Cow<'static, str>;

/// What a process says of itself to those who watch it: whether it is alive, whether it is ready, and its numbers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Status(Arc<Inner>);

struct Inner {
    started: Instant,
    ready: watch::Sender<Option<Reason>>,
    loops: Mutex<Vec<Loop>>,
    metrics: Mutex<Registry>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Status")
            .field("ready", &*self.ready.borrow())
            .finish_non_exhaustive()
    }
}

struct Loop {
    name: &'static str,
    longest: Duration,
    // Milliseconds from the start of the process to its last turn.
    turned: Arc<AtomicU64>,
}

/// A loop of the process says by it that it turns.
#[derive(Clone, Debug)]
pub struct Pulse {
    started: Instant,
    turned: Arc<AtomicU64>,
}

impl Pulse {
    /// The loop turns.
    pub fn beat(&self) {
        self.turned.store(millis(self.started), Ordering::Relaxed);
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Default for Status {
    fn default() -> Self {
        Self::new()
    }
}

impl Status {
    /// Not ready yet, no loop, no number.
    pub fn new() -> Self {
        Self(Arc::new(Inner {
            started: Instant::now(),
            ready: watch::Sender::new(Some("starting".into())),
            loops: Mutex::default(),
            metrics: Mutex::new(Registry::with_prefix("comet")),
        }))
    }

    /// The process is ready for work.
    pub fn set_ready(&self) {
        self.set(None);
    }

    /// The process is not ready for work.
    pub fn set_unready(&self, reason: impl Into<Reason>) {
        self.set(Some(reason.into()));
    }

    fn set(&self, reason: Option<Reason>) {
        self.0.ready.send_if_modified(|now| {
            let changed = *now != reason;
            *now = reason;
            changed
        });
    }

    /// Follows why the process is not ready; `None`: it is.
    pub fn readiness(&self) -> watch::Receiver<Option<Reason>> {
        self.0.ready.subscribe()
    }

    /// Watches a loop: the process counts as dead when it has not turned for `longest`.
    pub fn watch_loop(&self, name: &'static str, longest: Duration) -> Pulse {
        let turned = Arc::new(AtomicU64::new(millis(self.0.started)));
        self.0.loops.lock().push(Loop {
            name,
            longest,
            turned: Arc::clone(&turned),
        });
        Pulse {
            started: self.0.started,
            turned,
        }
    }

    /// The first loop that stands still.
    pub fn stuck(&self) -> Option<Reason> {
        let now = millis(self.0.started);
        self.0.loops.lock().iter().find_map(|watched| {
            let still = Duration::from_millis(now.saturating_sub(watched.turned.load(Ordering::Relaxed)));
            (still > watched.longest)
                .then(|| format!("the loop {:?} has not turned for {still:?}", watched.name).into())
        })
    }

    /// Adds to the metrics of the process. Names get the prefix `comet_`; no label may have a value per query, stage or partition.
    pub fn metrics<T>(&self, add: impl FnOnce(&mut Registry) -> T) -> T {
        add(&mut self.0.metrics.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_stands_still_is_named() {
        let status = Status::new();
        let pulse = status.watch_loop("heartbeats", Duration::from_millis(40));
        let _idle = status.watch_loop("sampler", Duration::from_secs(60));
        assert_eq!(status.stuck(), None);
        std::thread::sleep(Duration::from_millis(60));
        assert!(status.stuck().unwrap().contains("heartbeats"));
        pulse.beat();
        assert_eq!(status.stuck(), None);
    }
}
