use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::{MapOutput, StoredRecord};

/// How far an output that is kept on its executor is on its way into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Publication {
    /// It is kept here only.
    Local,
    /// It waits, or is being uploaded.
    Waiting,
    /// Its record is the published one of its generation.
    Published,
    /// It will never be: another attempt's record is, or something that it was made from is lost.
    Refused,
}

/// The outputs that this executor keeps for others to read, until their namespace is removed.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    outputs: Mutex<HashMap<MapOutput, Entry>>,
    /// Number of those that wait.
    waiting: watch::Sender<usize>,
}

#[derive(Debug)]
struct Entry {
    stored: Arc<StoredRecord>,
    record: Bytes,
    publication: Publication,
    since: Instant,
}

impl Kept {
    /// `record` is what `stored` was decoded from.
    pub(crate) fn insert(
        &self,
        output: MapOutput,
        stored: Arc<StoredRecord>,
        record: Bytes,
        publication: Publication,
    ) {
        let entry = Entry {
            stored,
            record,
            publication,
            since: Instant::now(),
        };
        let mut outputs = self.outputs.lock();
        let old = outputs.insert(output, entry);
        self.waits(old.map(|old| old.publication), Some(publication));
    }

    /// Called under the lock of the outputs.
    fn waits(&self, before: Option<Publication>, after: Option<Publication>) {
        let waits = |publication: Option<Publication>| usize::from(publication == Some(Publication::Waiting));
        if waits(before) != waits(after) {
            self.waiting
                .send_modify(|waiting| *waiting = *waiting + waits(after) - waits(before));
        }
    }

    pub(crate) fn stored(&self, output: &MapOutput) -> Option<Arc<StoredRecord>> {
        self.outputs
            .lock()
            .get(output)
            .map(|entry| Arc::clone(&entry.stored))
    }

    pub(crate) fn record(&self, output: &MapOutput) -> Option<Bytes> {
        self.outputs.lock().get(output).map(|entry| entry.record.clone())
    }

    pub(crate) fn publication(&self, output: &MapOutput) -> Option<Publication> {
        self.outputs.lock().get(output).map(|entry| entry.publication)
    }

    /// `false` when the output is not kept any more.
    pub(crate) fn set(&self, output: &MapOutput, publication: Publication) -> bool {
        let mut outputs = self.outputs.lock();
        let Some(entry) = outputs.get_mut(output) else {
            return false;
        };
        let before = std::mem::replace(&mut entry.publication, publication);
        self.waits(Some(before), Some(publication));
        true
    }

    /// Marks one that is kept here only as waiting; `false` when it is not (any more).
    pub(crate) fn start(&self, output: &MapOutput) -> bool {
        let mut outputs = self.outputs.lock();
        match outputs.get_mut(output) {
            Some(entry) if entry.publication == Publication::Local => {
                entry.publication = Publication::Waiting;
                self.waits(None, Some(Publication::Waiting));
                true
            }
            _ => false,
        }
    }

    /// Marks those that are kept here only as waiting, and gives them.
    pub(crate) fn take_local(&self) -> Vec<MapOutput> {
        let mut outputs = self.outputs.lock();
        let mut taken = vec![];
        for (output, entry) in outputs.iter_mut() {
            if entry.publication == Publication::Local {
                entry.publication = Publication::Waiting;
                self.waits(None, Some(Publication::Waiting));
                taken.push(output.clone());
            }
        }
        taken
    }

    pub(crate) fn forget(&self, gone: impl Fn(&MapOutput) -> bool) {
        let mut outputs = self.outputs.lock();
        outputs.retain(|output, entry| {
            let gone = gone(output);
            if gone {
                self.waits(Some(entry.publication), None);
            }
            !gone
        });
    }

    /// The namespaces of which nothing was kept for `age`.
    pub(crate) fn older_than(&self, age: Duration) -> Vec<String> {
        let outputs = self.outputs.lock();
        let mut newest = HashMap::<&str, Duration>::new();
        for (output, entry) in outputs.iter() {
            let elapsed = entry.since.elapsed();
            let seen = newest.entry(&output.id.namespace).or_insert(elapsed);
            *seen = elapsed.min(*seen);
        }
        let old = newest.into_iter().filter(|(_, newest)| *newest >= age);
        old.map(|(namespace, _)| namespace.to_string()).collect()
    }

    /// Waits until nothing waits.
    pub(crate) async fn settled(&self) {
        // The sender lives as long as `self`.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting == 0).await;
    }

    pub(crate) fn waiting(&self) -> usize {
        *self.waiting.borrow()
    }
}
