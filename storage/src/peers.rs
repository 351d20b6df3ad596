//! Outputs that other executors keep on their disks.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::MapOutput;
use crate::cache::RecordCache;
use crate::kept::{Kept, Publication};

/// An executor that did not answer is not asked again for this time.
const SILENCE: Duration = Duration::from_secs(10);
/// Outputs that are uploaded behind their tasks at the same time.
const UPLOADS: usize = 4;
/// Records of other executors' outputs kept in memory.
const CACHED_RECORDS: usize = 16_384;
/// Bytes of rows in them: what executors keep for each other has an object.
const CACHED_ROW_BYTES: usize = 0;

/// Why another executor did not answer. Whatever it is, the store is asked in its place.
pub type PeerError = Box<dyn std::error::Error + Send + Sync>;

/// How executors ask each other. `holder` is host and port of the one that is asked.
#[async_trait]
pub trait Peers: fmt::Debug + Send + Sync {
    /// The record of an output that is kept there; `None` when it is not.
    async fn record(&self, holder: &str, output: &MapOutput) -> Result<Option<Bytes>, PeerError>;

    /// Bytes of a data object that is kept there; `None` when it is not.
    async fn range(&self, holder: &str, key: &str, range: Range<u64>) -> Result<Option<Bytes>, PeerError>;

    /// How far outputs are, which are wanted in the store; `None` for those that are not kept there.
    async fn publications(
        &self,
        holder: &str,
        outputs: &[MapOutput],
    ) -> Result<Vec<Option<Publication>>, PeerError>;
}

/// This executor's part in what executors keep for each other.
#[derive(Debug)]
pub(crate) struct Sharing {
    pub(crate) kept: Kept,
    pub(crate) peers: Arc<dyn Peers>,
    pub(crate) runtime: Handle,
    pub(crate) uploads: Semaphore,
    /// Records that others keep.
    pub(crate) records: RecordCache<MapOutput>,
    holders: Mutex<HashMap<MapOutput, Arc<str>>>,
    published: Mutex<HashSet<MapOutput>>,
    silent: Mutex<HashMap<Arc<str>, Instant>>,
}

impl Sharing {
    pub(crate) fn new(peers: Arc<dyn Peers>, runtime: Handle) -> Self {
        Self {
            kept: Kept::default(),
            peers,
            runtime,
            uploads: Semaphore::new(UPLOADS),
            records: RecordCache::new(CACHED_RECORDS, CACHED_ROW_BYTES),
            holders: Mutex::default(),
            published: Mutex::default(),
            silent: Mutex::default(),
        }
    }

    pub(crate) fn note(&self, output: MapOutput, holder: &Arc<str>) {
        self.holders.lock().insert(output, Arc::clone(holder));
    }

    /// Who is said to keep an output, unless it did not answer lately.
    pub(crate) fn holder(&self, output: &MapOutput) -> Option<Arc<str>> {
        let holder = Arc::clone(self.holders.lock().get(output)?);
        let mut silent = self.silent.lock();
        match silent.get(&holder) {
            Some(since) if since.elapsed() < SILENCE => None,
            Some(_) => {
                silent.remove(&holder);
                Some(holder)
            }
            None => Some(holder),
        }
    }

    /// Who is said to keep an output and did not answer lately.
    pub(crate) fn silent_holder(&self, output: &MapOutput) -> Option<Arc<str>> {
        let holder = Arc::clone(self.holders.lock().get(output)?);
        self.silent.lock().contains_key(&holder).then_some(holder)
    }

    /// What an executor answers; `None` when it does not keep what it was asked for, or does not answer. Notes whether it did.
    pub(crate) async fn ask<T>(
        &self,
        holder: &Arc<str>,
        answer: impl Future<Output = Result<Option<T>, PeerError>>,
    ) -> Option<T> {
        match answer.await {
            Ok(answer) => {
                self.silent.lock().remove(holder);
                answer
            }
            Err(error) => {
                tracing::warn!(%holder, %error, "another executor does not answer");
                self.silent.lock().insert(Arc::clone(holder), Instant::now());
                None
            }
        }
    }

    /// Notes that the record of an output is the published one.
    pub(crate) fn note_published(&self, output: &MapOutput) {
        self.published.lock().insert(output.clone());
    }

    pub(crate) fn is_published(&self, output: &MapOutput) -> bool {
        self.published.lock().contains(output)
    }

    pub(crate) fn forget(&self, gone: impl Fn(&MapOutput) -> bool) {
        self.kept.forget(&gone);
        self.records.forget(&gone);
        self.holders.lock().retain(|output, _| !gone(output));
        self.published.lock().retain(|output| !gone(output));
    }
}
