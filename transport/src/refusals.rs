//! What was refused, in the log once a minute for each peer and reason, and counted.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;

/// Between two lines about the same.
const QUIET: Duration = Duration::from_secs(60);
/// Addresses and reasons that are remembered; whoever has more addresses than that may fill the log.
const REMEMBERED: usize = 4096;

/// Says what was refused, without letting those who are refused fill the log. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Refusals(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    connections: Counter,
    calls: Counter,
    said: Mutex<HashMap<(IpAddr, String), Said>>,
}

#[derive(Debug)]
struct Said {
    at: Instant,
    since: u64,
}

impl Refusals {
    /// A connection to `port` was refused.
    pub(crate) fn connection(&self, port: &'static str, peer: IpAddr, reason: &str) {
        self.0.connections.inc();
        if let Some(since) = self.due(peer, format!("{port}: {reason}")) {
            tracing::warn!(port, %peer, reason, repeated = since, "connection refused");
        }
    }

    /// A call was refused; `reason` has nothing of a token in it.
    pub fn call(&self, peer: Option<IpAddr>, reason: &str) {
        self.0.calls.inc();
        let peer = peer.unwrap_or(IpAddr::from([0; 4]));
        if let Some(since) = self.due(peer, reason.to_owned()) {
            tracing::warn!(%peer, reason, repeated = since, "call refused");
        }
    }

    /// How often it happened since it was last said, when it is to be said now.
    fn due(&self, peer: IpAddr, reason: String) -> Option<u64> {
        let now = Instant::now();
        let mut all = self.0.said.lock();
        if let Some(said) = all.get_mut(&(peer, reason.clone())) {
            if now - said.at < QUIET {
                said.since += 1;
                return None;
            }
            let since = std::mem::take(&mut said.since);
            said.at = now;
            return Some(since);
        }
        if all.len() >= REMEMBERED {
            all.retain(|_, said| now - said.at < QUIET);
            if all.len() >= REMEMBERED {
                all.clear();
            }
        }
        all.insert((peer, reason), Said { at: now, since: 0 });
        Some(0)
    }

    /// Refused connections and calls since the start.
    pub(crate) fn counters(&self) -> (Counter, Counter) {
        (self.0.connections.clone(), self.0.calls.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once_and_another_reason_or_peer_again() {
        let refusals = Refusals::default();
        let (a, b) = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 2]));
        assert_eq!(refusals.due(a, "x".into()), Some(0));
        assert_eq!(refusals.due(a, "x".into()), None);
        assert_eq!(refusals.due(a, "y".into()), Some(0));
        assert_eq!(refusals.due(b, "x".into()), Some(0));
        for at in 0..2 * REMEMBERED {
            refusals.due(a, at.to_string());
        }
        assert!(refusals.0.said.lock().len() <= REMEMBERED);
    }
}
