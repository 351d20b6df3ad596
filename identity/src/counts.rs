use std::sync::atomic::{AtomicU64, Ordering};

/// Requests for credentials since the start of the process, all of its identities together.
#[derive(Debug, Default)]
pub struct IdentityCounts {
    pub(crate) issued: AtomicU64,
    pub(crate) unavailable: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) renewed: AtomicU64,
}

impl IdentityCounts {
    pub(crate) fn add(count: &AtomicU64) {
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends of requests by name: `issued` (a credential came), `unavailable` (throttled, 5xx, no answer; repeated), `refused`.
    pub fn snapshot(&self) -> [(&'static str, u64); 3] {
        [
            ("issued", &self.issued),
            ("unavailable", &self.unavailable),
            ("refused", &self.refused),
        ]
        .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }

    /// How often a store refused a credential that had not expired, and another one took its place.
    pub fn renewed(&self) -> u64 {
        self.renewed.load(Ordering::Relaxed)
    }
}
