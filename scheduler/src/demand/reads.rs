use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use parking_lot::Mutex;

// A reader without an executor asks again within this time. Whoever only renews a lease does not.
const READER_WAITS: Duration = Duration::from_secs(10);

/// Which partitions of results were read, as executors report it, and who waits for an executor to read from.
#[derive(Debug, Default)]
pub struct Reads {
    by_namespace: Mutex<HashMap<String, HashSet<u32>>>,
    // By namespace and partition: when it was last asked for, and whether that was not the first time.
    waiting: Mutex<HashMap<(String, u32), (Instant, bool)>>,
}

impl Reads {
    /// A reader has taken this partition of a query's result to its end.
    pub fn read(&self, namespace: String, partition: u32) {
        self.by_namespace
            .lock()
            .entry(namespace)
            .or_default()
            .insert(partition);
    }

    /// Somebody asked for an executor that serves this partition of a query's result, and there was none.
    pub fn no_executor(&self, namespace: String, partition: u32) {
        let mut waiting = self.waiting.lock();
        let again = waiting
            .get(&(namespace.clone(), partition))
            .is_some_and(|(at, _)| at.elapsed() < READER_WAITS);
        waiting.insert((namespace, partition), (Instant::now(), again));
    }

    /// Whether somebody has read every one of the `partitions` of a query's result.
    pub(super) fn complete(&self, namespace: &str, partitions: u32) -> bool {
        let by_namespace = self.by_namespace.lock();
        let read = by_namespace.get(namespace).map_or(0, HashSet::len);
        u32::try_from(read).is_ok_and(|read| read >= partitions)
    }

    /// How many readers got no executor lately.
    pub(super) fn waiting(&self) -> u32 {
        let mut waiting = self.waiting.lock();
        waiting.retain(|_, (at, _)| at.elapsed() < READER_WAITS);
        let readers = waiting.values().filter(|(_, again)| *again).count();
        u32::try_from(readers).unwrap_or(u32::MAX)
    }

    /// Forgets the queries whose results are not kept.
    pub(super) fn retain(&self, kept: &HashSet<String>) {
        self.by_namespace
            .lock()
            .retain(|namespace, _| kept.contains(namespace));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_when_each_of_its_partitions_is() {
        let reads = Reads::default();
        assert!(
            reads.complete("a", 0),
            "without partitions there is nothing to read"
        );
        assert!(!reads.complete("a", 2));
        for partition in [1, 1] {
            reads.read("a".into(), partition);
            assert!(!reads.complete("a", 2), "one of them was read twice");
        }
        reads.read("a".into(), 0);
        assert!(reads.complete("a", 2) && !reads.complete("b", 2));
        reads.retain(&HashSet::from(["b".to_string()]));
        assert!(!reads.complete("a", 2));
    }

    #[test]
    fn who_asks_again_soon_is_a_reader_and_a_lease_that_is_renewed_is_none() {
        let reads = Reads::default();
        for partition in 0..3 {
            reads.no_executor("a".into(), partition);
        }
        assert_eq!(reads.waiting(), 0);
        reads.no_executor("a".into(), 1);
        assert_eq!(reads.waiting(), 1);
    }
}
