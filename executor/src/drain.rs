//! The end of an executor: no new task, running tasks finish or are handed back, the last ends are reported, readers finish.

use std::time::Duration;

use cne_storage::ShuffleStore;
use tokio::time::{Instant, timeout, timeout_at};

use crate::link::Link;
use crate::service::TaskService;

/// Tasks that the scheduler sent before it heard of the drain arrive within this time.
const SETTLE: Duration = Duration::from_millis(200);
/// The drain does not wait longer for the scheduler to confirm that it has heard of it; heartbeats repeat it.
const ANNOUNCE: Duration = Duration::from_millis(500);
/// Nor for the confirmation of the farewell: the scheduler notices without it that the heartbeats have ended.
const FAREWELL: Duration = Duration::from_secs(1);
/// The longest part of the grace period that is kept for what follows the tasks.
const LONGEST_RESERVE: Duration = Duration::from_secs(10);
/// How long readers may finish results that they have begun, once the tasks have ended.
const READERS: Duration = Duration::from_secs(20);

/// How the grace period of a drain is spent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Tasks that still run then are handed back.
    hand_back: Instant,
    /// The process ends then whatever is open.
    end: Instant,
}

impl Times {
    /// Of a drain that begins now. A quarter of the grace, at most ten seconds, is for what follows the tasks.
    pub(crate) fn new(grace: Duration) -> Self {
        let now = Instant::now();
        Self {
            hand_back: now + grace - (grace / 4).min(LONGEST_RESERVE),
            end: now + grace,
        }
    }
}

/// Waits until no task runs and every end is reported. What has no time to finish is stopped, so that it starts elsewhere at once.
pub(crate) async fn tasks(link: &Link, service: &TaskService, times: Times) {
    let announcing = link.clone();
    // Not cancelled by the limit: it may only be slow.
    let announced = tokio::spawn(async move { announcing.announce_drain().await });
    let _ = timeout(ANNOUNCE, announced).await;
    let finished = async {
        tokio::time::sleep(SETTLE).await;
        service.idle().await;
    };
    if timeout_at(times.hand_back, finished).await.is_ok() {
        return;
    }
    let tasks = service.hand_back();
    tracing::warn!(
        tasks,
        "the grace period is too short for running tasks: they are handed back"
    );
    if timeout_at(times.end, service.idle()).await.is_err() {
        tracing::warn!("the scheduler has not confirmed the ends of all tasks; it will start them elsewhere");
    }
}

/// Waits until what is stored on this executor alone is in the store, where other executors or a successor find it.
pub(crate) async fn flush(store: &ShuffleStore, times: Times) {
    if timeout_at(times.end, store.flush()).await.is_err() {
        let left = store.waiting();
        tracing::warn!(left, "the grace period is too short for what was to be stored");
    }
}

/// Leaves the pool.
pub(crate) async fn farewell(link: &Link) {
    let _ = timeout(FAREWELL, link.farewell()).await;
}

/// Waits for the server of results, which has been asked to end with its last reader.
pub(crate) async fn readers<T>(server: tokio::task::JoinHandle<T>, times: Times) {
    let limit = times.end.min(Instant::now() + READERS);
    if timeout_at(limit, server).await.is_err() {
        tracing::warn!("results are still read; their readers turn to other executors");
    }
}

/// Waits until it is reported what was read; that ends with the server of results.
pub(crate) async fn reads(reports: tokio::task::JoinHandle<()>) {
    let _ = timeout(FAREWELL, reports).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_grace_leaves_a_quarter_for_the_farewell_and_a_long_one_ten_seconds() {
        let now = Instant::now();
        let short = Times::new(Duration::from_secs(4));
        assert_eq!((short.hand_back - now).as_secs(), 3);
        let long = Times::new(Duration::from_secs(110));
        assert_eq!((long.hand_back - now).as_secs(), 100);
        assert_eq!((long.end - now).as_secs(), 110);
    }
}
