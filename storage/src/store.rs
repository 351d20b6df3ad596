use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use cne_proto::v1::CommitRecord;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use prost::Message;

use crate::cache::RecordCache;
use crate::encode::schema_from_message;
use crate::key::{FAN_OUT, check_namespace, locate};
use crate::local::{LocalParts, LocalUsage};
use crate::retry::refused;
use crate::windows::Flights;
use crate::{MapOutput, MapOutputId, RetryPolicy, ShuffleWriter, StoreError, TaskAttempt, WriterOptions, reader};

/// Commit records kept in memory per process.
const CACHED_RECORDS: usize = 16_384;
/// Map outputs opened at the same time by one reader; bounds its memory together with the reader's block.
const OPENED_AHEAD: usize = 4;
/// Deletions and listings at the same time.
const CONCURRENT_DELETES: usize = 8;

/// The committed outputs of tasks below one prefix of an object store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ShuffleStore {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    retry: RetryPolicy,
    cache: Arc<RecordCache>,
    local: Option<Arc<LocalParts>>,
    window: u64,
    flights: Arc<Flights>,
}

/// A commit record as it lies in the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRecord {
    /// The winning attempt's record.
    pub record: CommitRecord,
    /// CRC-32 of the stored bytes: what a consumer notes as `MapOutputInput.commit_checksum`.
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
            cache: Arc::new(RecordCache::new(CACHED_RECORDS)),
            local: None,
            window: 0,
            flights: Arc::default(),
        }
    }

    /// Replaces how transient answers are retried.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Keeps what is written and fetched here in `local`, too. Of an output with several buckets, neighbouring ones that together have about
    /// `window` bytes are fetched by one request; 0: each by its own.
    pub fn with_local(mut self, local: Arc<LocalParts>, window: u64) -> Self {
        (self.local, self.window) = (Some(local), window);
        self
    }

    /// What is kept on this executor's disk.
    pub fn local_usage(&self) -> Option<LocalUsage> {
        self.local.as_ref().map(|local| local.usage())
    }

    pub(crate) fn local(&self) -> Option<&Arc<LocalParts>> {
        self.local.as_ref()
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
        let payload = PutPayload::from(record.encode_to_vec());
        let create = || {
            self.store
                .put_opts(&path, payload.clone(), PutMode::Create.into())
        };
        match self.retry.run("commit", &path, create).await {
            Ok(Ok(_)) => {
                let stored = Arc::new(decode_record(&id, generation, &path, &record.encode_to_vec())?);
                self.cache.insert((id, generation), Arc::clone(&stored));
                Ok(Committed { won: true, stored })
            }
            // The create of our own first try may have arrived although its answer did not: who won is in the record, not in the answer.
            Ok(Err(Error::AlreadyExists { .. } | Error::Precondition { .. })) => {
                self.settle(&id, record).await
            }
            Ok(Err(source)) => Err(refused("commit", &path, source)),
            Err(unanswered) => match self.published(&id, generation).await {
                Ok(Some(_)) => self.settle(&id, record).await,
                _ => Err(unanswered),
            },
        }
    }

    async fn settle(&self, id: &MapOutputId, ours: CommitRecord) -> Result<Committed, StoreError> {
        let published = self.published(id, ours.generation).await?;
        let stored = published.ok_or_else(|| lost(id, "no commit record"))?;
        let won = stored.record == ours;
        if !won && !ours.data_key.is_empty() {
            self.delete_data(&ours.data_key).await;
        }
        Ok(Committed { won, stored })
    }

    /// Removes data that no record refers to. A failure costs space only, until the namespace is deleted.
    pub(crate) async fn delete_data(&self, data_key: &str) {
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
    async fn published(
        &self,
        id: &MapOutputId,
        generation: u32,
    ) -> Result<Option<Arc<StoredRecord>>, StoreError> {
        let path = self.locate(&id.commit_key(generation)?);
        let key = (id.clone(), generation);
        if let Some(stored) = self.cache.get(&key) {
            return Ok(Some(stored));
        }
        let read = || async { self.store.get(&path).await?.bytes().await };
        let bytes = match self.retry.run("read commit", &path, read).await? {
            Ok(bytes) => bytes,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(source) => return Err(refused("read commit", &path, source)),
        };
        let stored = Arc::new(decode_record(id, generation, &path, &bytes)?);
        self.cache.insert(key, Arc::clone(&stored));
        Ok(Some(stored))
    }

    /// The record of what one attempt wrote; [`StoreError::LostOutput`] when it is not the published one.
    pub async fn record(&self, output: &MapOutput) -> Result<Arc<StoredRecord>, StoreError> {
        let published = self.published(&output.id, output.version.generation).await?;
        let stored = published.ok_or_else(|| lost(&output.id, "no commit record"))?;
        if stored.record.attempt != output.version.attempt {
            return Err(lost(&output.id, "another attempt's output is there"));
        }
        Ok(stored)
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
    pub async fn read(&self, output: &MapOutput, bucket: u32) -> Result<SendableRecordBatchStream, StoreError> {
        let stored = self.record(output).await?;
        reader::read_bucket(self, &output.id, &stored, bucket).await
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

    /// Removes all outputs of a query and says how many objects that were. What is already gone is no error.
    pub async fn delete_namespace(&self, namespace: &str) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        self.cache.forget(|id| id.namespace == namespace);
        self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/"));
        self.delete_below(|fan_out| format!("{fan_out:x}/{namespace}"))
            .await
    }

    /// Removes the outputs of one stage of a query.
    pub async fn delete_stage(&self, namespace: &str, stage_id: u32) -> Result<u64, StoreError> {
        check_namespace(namespace)?;
        self.cache
            .forget(|id| id.namespace == namespace && id.stage_id == stage_id);
        self.forget_local(|fan_out| format!("{fan_out:x}/{namespace}/{stage_id}/"));
        self.delete_below(|fan_out| format!("{fan_out:x}/{namespace}/{stage_id}"))
            .await
    }

    fn forget_local(&self, directory: impl Fn(u32) -> String) {
        if let Some(local) = &self.local {
            let directories: Vec<String> = (0..FAN_OUT).map(directory).collect();
            local.forget(|key| directories.iter().any(|directory| key.starts_with(directory)));
        }
    }

    async fn delete_below(&self, directory: impl Fn(u32) -> String) -> Result<u64, StoreError> {
        let directories: Vec<Path> = (0..FAN_OUT)
            .map(|fan_out| self.locate(&directory(fan_out)))
            .collect();
        futures::stream::iter(directories)
            .map(|directory| async move {
                let answer = self
                    .retry
                    .run("delete", &directory, || self.delete_directory(&directory))
                    .await?;
                answer.map_err(|source| refused("delete", &directory, source))
            })
            .buffer_unordered(CONCURRENT_DELETES)
            .try_fold(0, |sum, deleted| async move { Ok(sum + deleted) })
            .await
    }

    async fn delete_directory(&self, directory: &Path) -> object_store::Result<u64> {
        let found = self
            .store
            .list(Some(directory))
            .map_ok(|meta| meta.location)
            .boxed();
        self.store
            .delete_stream(found)
            .map(|answer| match answer {
                Ok(_) => Ok(1),
                Err(Error::NotFound { .. }) => Ok(0),
                Err(error) => Err(error),
            })
            .try_fold(0, |sum, one| async move { Ok(sum + one) })
            .await
    }
}

pub(crate) fn lost(id: &MapOutputId, what: &'static str) -> StoreError {
    StoreError::LostOutput {
        namespace: id.namespace.clone(),
        stage_id: id.stage_id,
        map_partition: id.map_partition,
        what,
    }
}

/// Decodes a record and checks that it is the one of `id`, and that its data is where only this map output's data can be.
fn decode_record(
    id: &MapOutputId,
    generation: u32,
    path: &Path,
    bytes: &[u8],
) -> Result<StoredRecord, StoreError> {
    let corrupt = |what: &str| StoreError::Corrupt {
        key: path.to_string(),
        what: what.to_string(),
    };
    let record = CommitRecord::decode(bytes).map_err(|_| corrupt("not a commit record"))?;
    let named = (
        record.namespace.as_str(),
        record.stage_id,
        record.map_partition,
        record.generation,
    );
    if named != (id.namespace.as_str(), id.stage_id, id.map_partition, generation) {
        return Err(corrupt("the record names another map output"));
    }
    if !record.data_key.is_empty() && !id.owns_data_key(&record.data_key)? {
        return Err(corrupt("the record names data of another map output"));
    }
    let schema = schema_from_message(&record.schema).map_err(|_| corrupt("the schema cannot be read"))?;
    Ok(StoredRecord {
        checksum: crc32fast::hash(bytes),
        schema,
        record,
    })
}
