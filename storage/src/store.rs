use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use cne_proto::v1::CommitRecord;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use parking_lot::Mutex;
use prost::Message;
use tokio::runtime::Handle;

use crate::cache::RecordCache;
use crate::encode::schema_from_message;
use crate::key::locate;
use crate::local::{LocalParts, LocalUsage};
use crate::peers::{Peers, Sharing};
use crate::retry::refused;
use crate::windows::Flights;
use crate::{
    MapOutput, MapOutputId, RetryPolicy, ShuffleWriter, StoreError, TaskAttempt, WriterOptions, reader,
};

/// Commit records kept in memory per process.
const CACHED_RECORDS: usize = 16_384;
/// Bytes of rows in them.
const CACHED_ROW_BYTES: usize = 32 << 20;
/// Map outputs opened at the same time by one reader; bounds its memory together with the reader's block.
const OPENED_AHEAD: usize = 4;
/// Times that a store may refuse a create although there is no record.
const REFUSED_CREATES: u32 = 5;

/// The committed outputs of tasks below one prefix of an object store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ShuffleStore {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    retry: RetryPolicy,
    pub(crate) cache: Arc<RecordCache<(MapOutputId, u32)>>,
    local: Option<Arc<LocalParts>>,
    window: u64,
    copies: bool,
    flights: Arc<Flights>,
    sharing: Option<Arc<Sharing>>,
    /// By namespace: keys that this process has put, or may have.
    pub(crate) put: Arc<Mutex<HashMap<String, HashSet<String>>>>,
}

/// A commit record as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The winning attempt's record.
    pub record: CommitRecord,
    /// CRC-32 of the record's bytes: what a consumer notes as `MapOutputInput.commit_checksum`.
    pub checksum: u32,
    /// Schema of the rows.
    pub schema: SchemaRef,
}

/// The outcome of a commit: either way the output of the map partition is now known.
#[derive(Clone, Debug)]
pub struct Committed {
    /// Whether this attempt's record is the published one.
    pub won: bool,
    /// The published record: another attempt's when `won` is false.
    pub stored: Arc<StoredRecord>,
}

impl ShuffleStore {
    /// Uses `prefix` of `store`; see [`crate::open_store`].
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path) -> Self {
        Self {
            store,
            prefix,
            retry: RetryPolicy::default(),
            cache: Arc::new(RecordCache::new(CACHED_RECORDS, CACHED_ROW_BYTES)),
            local: None,
            window: 0,
            copies: false,
            flights: Arc::default(),
            sharing: None,
            put: Arc::default(),
        }
    }

    /// Replaces how transient answers are retried.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Has room for outputs on this executor's disk. Of one with several buckets, neighbouring ones that together have about `window` bytes are
    /// fetched by one request, and stay; 0: each by its own.
    pub fn with_local(mut self, local: Arc<LocalParts>, window: u64) -> Self {
        (self.local, self.window, self.copies) = (Some(local), window, true);
        self
    }

    /// What is in the store is not copied to this executor's disk: it is as near where it is.
    pub fn without_copies(mut self) -> Self {
        self.copies = false;
        self
    }

    /// Takes part in what executors keep for each other (needs [`Self::with_local`]): outputs that are not in the store, or not yet. Those go
    /// there on `runtime`.
    pub fn with_peers(mut self, peers: Arc<dyn Peers>, runtime: Handle) -> Self {
        self.sharing = Some(Arc::new(Sharing::new(peers, runtime)));
        self
    }

    pub(crate) fn sharing(&self) -> Option<&Arc<Sharing>> {
        self.sharing.as_ref()
    }

    /// Notes which executor (host:port) is said to keep an output.
    pub fn note_holder(&self, output: MapOutput, holder: &Arc<str>) {
        if let Some(sharing) = &self.sharing {
            sharing.note(output, holder);
        }
    }

    /// What is kept on this executor's disk.
    pub fn local_usage(&self) -> Option<LocalUsage> {
        self.local.as_ref().map(|local| local.usage())
    }

    pub(crate) fn local(&self) -> Option<&Arc<LocalParts>> {
        self.local.as_ref()
    }

    /// Where copies of what is in the store go.
    pub(crate) fn copies(&self) -> Option<&Arc<LocalParts>> {
        self.local.as_ref().filter(|_| self.copies)
    }

    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    pub(crate) fn flights(&self) -> &Flights {
        &self.flights
    }

    pub(crate) fn object_store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        self.retry
    }

    pub(crate) fn locate(&self, key: &str) -> Path {
        locate(&self.prefix, key)
    }

    /// Starts the output of one task attempt. Memory comes from the task's pool, spill files from its disk manager.
    pub fn writer(
        &self,
        id: MapOutputId,
        attempt: TaskAttempt,
        schema: SchemaRef,
        num_buckets: usize,
        context: &TaskContext,
        options: WriterOptions,
    ) -> Result<ShuffleWriter, StoreError> {
        ShuffleWriter::try_new(self.clone(), id, attempt, schema, num_buckets, context, options)
    }

    /// Publishes a record by one conditional create. The first wins; for a later one the winner's record comes back, and the caller's data
    /// object is deleted.
    pub async fn commit(&self, record: CommitRecord) -> Result<Committed, StoreError> {
        let id = MapOutputId::new(&record.namespace, record.stage_id, record.map_partition);
        let generation = record.generation;
        let path = self.locate(&id.commit_key(generation)?);
        self.note_put(&record.namespace, id.commit_key(generation)?);
        let bytes = encode_record(&record);
        let payload = PutPayload::from(bytes.clone());
        let create = || {
            self.store
                .put_opts(&path, payload.clone(), PutMode::Create.into())
        };
        let mut refusals = 0;
        loop {
            let refusal = match self.retry.run("commit", &path, create).await {
                Ok(Ok(_)) => {
                    let stored = Arc::new(decode_record(&id, generation, &path, &bytes)?);
                    self.cache.insert((id, generation), Arc::clone(&stored));
                    return Ok(Committed { won: true, stored });
                }
                // The create of our own first try may have arrived although its answer did not: who won is in the record, not in the answer.
                Ok(Err(refusal @ (Error::AlreadyExists { .. } | Error::Precondition { .. }))) => refusal,
                Ok(Err(source)) => return Err(refused("commit", &path, source)),
                Err(unanswered) => return self.settle(&id, &record).await?.ok_or(unanswered),
            };
            if let Some(committed) = self.settle(&id, &record).await? {
                return Ok(committed);
            }
            // S3 also refuses while another create is under way (409), which may fail yet.
            refusals += 1;
            if refusals >= REFUSED_CREATES {
                return Err(StoreError::Transient {
                    operation: "commit",
                    key: path.to_string(),
                    attempts: refusals,
                    source: refusal,
                });
            }
            tokio::time::sleep(self.retry.pause(refusals)).await;
        }
    }

    /// Who won; `None` when there is no record.
    async fn settle(&self, id: &MapOutputId, ours: &CommitRecord) -> Result<Option<Committed>, StoreError> {
        let Some(stored) = self.published(id, ours.generation).await? else {
            return Ok(None);
        };
        let won = stored.record == *ours;
        if !won {
            self.delete_data(&ours.data_key).await;
        }
        Ok(Some(Committed { won, stored }))
    }

    /// Removes data that no record refers to; an empty key is no data. A failure costs space only, until the namespace is deleted.
    pub(crate) async fn delete_data(&self, data_key: &str) {
        if data_key.is_empty() {
            return;
        }
        let path = self.locate(data_key);
        match self.retry.run("delete", &path, || self.store.delete(&path)).await {
            Ok(Ok(()) | Err(Error::NotFound { .. })) => {}
            Ok(Err(error)) => {
                tracing::warn!(key = %path, %error, "data of an attempt that lost is not deleted")
            }
            Err(error) => tracing::warn!(key = %path, %error, "data of an attempt that lost is not deleted"),
        }
    }

    /// The published record of a map output in one generation, if there is one.
    pub(crate) async fn published(
        &self,
        id: &MapOutputId,
        generation: u32,
    ) -> Result<Option<Arc<StoredRecord>>, StoreError> {
        let path = self.locate(&id.commit_key(generation)?);
        let key = (id.clone(), generation);
        if let Some(stored) = self.cache.get(&key) {
            return Ok(Some(stored));
        }
        let mut damaged = false;
        loop {
            let read = || async { self.store.get(&path).await?.bytes().await };
            let bytes = match self.retry.run("read commit", &path, read).await? {
                Ok(bytes) => bytes,
                Err(Error::NotFound { .. }) => return Ok(None),
                Err(source) => return Err(refused("read commit", &path, source)),
            };
            match decode_record(id, generation, &path, &bytes) {
                Ok(stored) => {
                    let stored = Arc::new(stored);
                    self.cache.insert(key, Arc::clone(&stored));
                    return Ok(Some(stored));
                }
                // Once more: it may have been damaged on the way.
                Err(error) if !std::mem::replace(&mut damaged, true) => {
                    tracing::warn!(key = %path, %error, "a damaged commit record is read again");
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the record of this very output was seen in the store.
    pub(crate) fn is_cached(&self, output: &MapOutput) -> bool {
        let key = (output.id.clone(), output.version.generation);
        let found = self.cache.get(&key);
        found.is_some_and(|found| found.record.attempt == output.version.attempt)
    }

    /// The record of what one attempt wrote: kept here, by the executor that is said to keep it, or published; [`StoreError::LostOutput`] when it
    /// is nowhere.
    pub async fn record(&self, output: &MapOutput) -> Result<Arc<StoredRecord>, StoreError> {
        if let Some(kept) = self.record_of_executor(output).await? {
            return Ok(kept);
        }
        let mut published = self.published_by(output).await?;
        if let Err(what) = published
            && let Some(holder) = self.sharing().and_then(|sharing| sharing.silent_holder(output))
        {
            // It is the only one that has it, and may have been paused, or busy.
            if let Some(kept) = self.ask_record(output, &holder).await? {
                return Ok(kept);
            }
            published = self.published_by(output).await?.map_err(|_| what);
        }
        published.map_err(|what| lost(&output.id, what, false))
    }

    /// The published record of what one attempt wrote, or why there is none.
    pub(crate) async fn published_by(
        &self,
        output: &MapOutput,
    ) -> Result<Result<Arc<StoredRecord>, &'static str>, StoreError> {
        let published = self.published(&output.id, output.version.generation).await?;
        Ok(match published {
            None => Err("no commit record"),
            Some(found) if found.record.attempt == output.version.attempt => Ok(found),
            Some(_) => Err("another attempt's output is there"),
        })
    }

    async fn record_of_executor(&self, output: &MapOutput) -> Result<Option<Arc<StoredRecord>>, StoreError> {
        let Some(sharing) = &self.sharing else {
            return Ok(None);
        };
        if let Some(kept) = sharing.kept.stored(output) {
            return Ok(Some(kept));
        }
        if let Some(seen) = sharing.records.get(output) {
            return Ok(Some(seen));
        }
        match sharing.holder(output) {
            Some(holder) => self.ask_record(output, &holder).await,
            None => Ok(None),
        }
    }

    /// The record of an output that another executor keeps; `None` when it does not, or does not answer.
    async fn ask_record(
        &self,
        output: &MapOutput,
        holder: &Arc<str>,
    ) -> Result<Option<Arc<StoredRecord>>, StoreError> {
        let Some(sharing) = &self.sharing else {
            return Ok(None);
        };
        match sharing.ask(holder, sharing.peers.record(holder, output)).await {
            None => Ok(None),
            Some(bytes) => {
                let generation = output.version.generation;
                let path = self.locate(&output.id.commit_key(generation)?);
                let stored = decode_record(&output.id, generation, &path, &bytes);
                let Ok(stored) = stored.map(Arc::new) else {
                    tracing::warn!(%holder, ?output, "another executor sends no record of an output");
                    return Ok(None);
                };
                if stored.record.attempt != output.version.attempt {
                    return Ok(None);
                }
                sharing.records.insert(output.clone(), Arc::clone(&stored));
                Ok(Some(stored))
            }
        }
    }

    /// The newest record of a map output up to `generation`, whichever attempt wrote it. What it was made from is for the caller to check.
    pub async fn find(
        &self,
        id: &MapOutputId,
        generation: u32,
    ) -> Result<Option<Arc<StoredRecord>>, StoreError> {
        for generation in (0..=generation).rev() {
            let published = self.published(id, generation).await?;
            if published.is_some() {
                return Ok(published);
            }
        }
        Ok(None)
    }

    /// Whether the data that a record names is there, whole.
    pub async fn has_data(&self, record: &CommitRecord) -> Result<bool, StoreError> {
        if record.data_key.is_empty() {
            return Ok(true);
        }
        let path = self.locate(&record.data_key);
        match self
            .retry
            .run("look for", &path, || self.store.head(&path))
            .await?
        {
            Ok(meta) => Ok(meta.size == record.bytes),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(source) => Err(refused("look for", &path, source)),
        }
    }

    /// The rows of one bucket. No row is handed out before the checksum of its bytes was compared; a large bucket is streamed, block by block.
    /// The stream's errors are [`StoreError`]s, see [`StoreError::find`].
    pub async fn read(
        &self,
        output: &MapOutput,
        bucket: u32,
    ) -> Result<SendableRecordBatchStream, StoreError> {
        let stored = self.record(output).await?;
        reader::read_bucket(self, output, &stored, bucket).await
    }

    /// The rows of one bucket of many map outputs, one after the other in the order of `outputs`. The next few are opened (their record read,
    /// and their bytes when there are few) while one is consumed. `schema` is what the rows have.
    pub fn read_ordered(
        &self,
        outputs: Vec<MapOutput>,
        bucket: u32,
        schema: SchemaRef,
    ) -> SendableRecordBatchStream {
        let store = self.clone();
        let opened = futures::stream::iter(outputs).map(move |output| {
            let store = store.clone();
            async move { store.read(&output, bucket).await.map_err(DataFusionError::from) }
        });
        let rows = opened.buffered(OPENED_AHEAD).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }

    /// The key is not put after all.
    pub(crate) fn forget_put(&self, namespace: &str, key: &str) {
        if let Some(put) = self.put.lock().get_mut(namespace) {
            put.remove(key);
        }
    }

    /// Notes a key that is put for a query, so that it is removed with it.
    pub(crate) fn note_put(&self, namespace: &str, key: String) {
        let mut put = self.put.lock();
        put.entry(namespace.to_string()).or_default().insert(key);
    }
}

pub(crate) fn lost(id: &MapOutputId, what: &'static str, published: bool) -> StoreError {
    StoreError::LostOutput {
        namespace: id.namespace.clone(),
        stage_id: id.stage_id,
        map_partition: id.map_partition,
        what,
        published,
    }
}

/// The bytes of a record as they are stored: the message, and its CRC-32 in four bytes, little endian.
pub(crate) fn encode_record(record: &CommitRecord) -> Bytes {
    let mut bytes = record.encode_to_vec();
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    bytes.into()
}

/// Decodes a record and checks that it is the one of `id`, and that its data is where only this map output's data can be.
pub(crate) fn decode_record(
    id: &MapOutputId,
    generation: u32,
    path: &Path,
    bytes: &[u8],
) -> Result<StoredRecord, StoreError> {
    let corrupt = |what: &str| StoreError::Corrupt {
        key: path.to_string(),
        what: what.to_string(),
    };
    let (message, checksum) = bytes
        .split_last_chunk::<4>()
        .ok_or_else(|| corrupt("not a commit record"))?;
    let checksum = u32::from_le_bytes(*checksum);
    if crc32fast::hash(message) != checksum {
        return Err(corrupt("the checksum of the commit record is wrong"));
    }
    let record = CommitRecord::decode(message).map_err(|_| corrupt("not a commit record"))?;
    let named = (
        record.namespace.as_str(),
        record.stage_id,
        record.map_partition,
        record.generation,
    );
    if named != (id.namespace.as_str(), id.stage_id, id.map_partition, generation) {
        return Err(corrupt("the record names another map output"));
    }
    if record.data_key.is_empty() {
        if record.data.len() as u64 != record.bytes {
            return Err(corrupt("the record does not have the data that it says"));
        }
    } else if !record.data.is_empty() || !id.owns_data_key(&record.data_key)? {
        return Err(corrupt("the record names data of another map output"));
    }
    let schema = schema_from_message(&record.schema).map_err(|_| corrupt("the schema cannot be read"))?;
    Ok(StoredRecord {
        checksum,
        schema,
        record,
    })
}
