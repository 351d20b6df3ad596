//! Who this process is in the pool, and whether the pool still counts on it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// A launch is acted on only when the scheduler has answered a heartbeat within this time: below its shortest timeout, so that it has
/// not taken this process for lost.
const FRESH: Duration = Duration::from_millis(1500);

/// The membership of a process. Taken for lost (it was paused, or cut off), it goes on as another executor, with a new id: its tasks were given to
/// others, and nothing that it says about them counts.
#[derive(Debug)]
pub(crate) struct Membership {
    id: Mutex<Arc<str>>,
    heard: watch::Sender<Instant>,
}

impl Membership {
    /// Of a process that has just started. The id is fresh: the scheduler must not take it for its predecessor.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            id: Mutex::new(new_id()),
            heard: watch::Sender::new(Instant::now()),
        })
    }

    #[cfg(test)]
    pub(crate) fn of(id: &str) -> Arc<Self> {
        let membership = Self::new();
        *membership.id.lock() = id.into();
        membership
    }

    /// The id under which the process is registered, or will be.
    pub(crate) fn id(&self) -> Arc<str> {
        Arc::clone(&self.id.lock())
    }

    /// Takes another id if `lost` is the present one; says whether it was.
    pub(crate) fn renew(&self, lost: &str) -> bool {
        let mut id = self.id.lock();
        let present = **id == *lost;
        if present {
            *id = new_id();
        }
        present
    }

    /// The scheduler has answered.
    pub(crate) fn heard(&self) {
        self.heard.send_replace(Instant::now());
    }

    /// Waits until the scheduler has answered lately. What was sent to a process that was paused is read when it goes on, before it can know
    /// that it was taken for lost.
    pub(crate) async fn fresh(&self) {
        let lately = |heard: &Instant| heard.elapsed() < FRESH;
        // The sender lives as long as `self`.
        let _ = self.heard.subscribe().wait_for(lately).await;
    }
}

fn new_id() -> Arc<str> {
    uuid::Uuid::new_v4().to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_that_was_paused_waits_for_an_answer_before_it_acts() {
        let membership = Membership::new();
        membership.fresh().await;
        tokio::time::sleep(FRESH).await;
        let waiting = tokio::time::timeout(Duration::from_millis(50), membership.fresh()).await;
        assert!(waiting.is_err());
        membership.heard();
        membership.fresh().await;
    }

    #[test]
    fn an_id_is_lost_once() {
        let membership = Membership::new();
        let first = membership.id();
        assert!(membership.renew(&first));
        assert!(!membership.renew(&first), "told twice");
        assert_ne!(membership.id(), first);
    }
}
