use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::StoredRecord;

/// Commit records that were read lately: every bucket of a map output is read by another task, often on the same executor.
#[derive(Debug)]
pub(crate) struct RecordCache<K> {
    capacity: usize,
    /// Most bytes of rows in all records together.
    row_bytes: usize,
    state: Mutex<State<K>>,
}

#[derive(Debug)]
struct State<K> {
    entries: HashMap<K, (u64, Arc<StoredRecord>)>,
    by_age: BTreeMap<u64, K>,
    clock: u64,
    row_bytes: usize,
}

impl<K: Clone + Eq + Hash> RecordCache<K> {
    pub(crate) fn new(capacity: usize, row_bytes: usize) -> Self {
        Self {
            capacity,
            row_bytes,
            state: Mutex::new(State {
                entries: HashMap::new(),
                by_age: BTreeMap::new(),
                clock: 0,
                row_bytes: 0,
            }),
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<Arc<StoredRecord>> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let (age, record) = state.entries.get_mut(key)?;
        state.clock += 1;
        state.by_age.remove(age);
        *age = state.clock;
        state.by_age.insert(state.clock, key.clone());
        Some(Arc::clone(record))
    }

    pub(crate) fn insert(&self, key: K, record: Arc<StoredRecord>) {
        let mut state = self.state.lock();
        let state = &mut *state;
        state.clock += 1;
        let age = state.clock;
        state.row_bytes += record.record.data.len();
        if let Some((old, before)) = state.entries.insert(key.clone(), (age, record)) {
            state.by_age.remove(&old);
            state.row_bytes -= before.record.data.len();
        }
        state.by_age.insert(age, key);
        while state.entries.len() > self.capacity || state.row_bytes > self.row_bytes {
            let Some((_, oldest)) = state.by_age.pop_first() else {
                break;
            };
            if let Some((_, gone)) = state.entries.remove(&oldest) {
                state.row_bytes -= gone.record.data.len();
            }
        }
    }

    /// Forgets what a deletion made untrue.
    pub(crate) fn forget(&self, gone: impl Fn(&K) -> bool) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let row_bytes = &mut state.row_bytes;
        state.entries.retain(|key, (_, record)| {
            let gone = gone(key);
            if gone {
                *row_bytes -= record.record.data.len();
            }
            !gone
        });
        state.by_age.retain(|_, key| !gone(key));
    }
}
