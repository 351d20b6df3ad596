use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use bytes::Bytes;
use cne_proto::v1::{BucketRange, CommitInput, CommitRecord};
use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};

use crate::checksum::BlockHasher;
use crate::encode::{StreamEncoder, schema_message};
use crate::gather::Gather;
use crate::output::Output;
use crate::spill::{Spill, SpillReader};
use crate::{Committed, Compression, Durability, MapOutputId, ShuffleStore, StoreError, TaskAttempt};

/// Bytes handed to an upload at once.
const CHUNK: usize = 1 << 20;

/// How a writer trades memory for larger messages.
#[derive(Clone, Copy, Debug)]
pub struct WriterOptions {
    /// Compression of the rows.
    pub compression: Compression,
    /// Most rows per IPC message.
    pub batch_size: usize,
    /// Bytes of input gathered before rows are copied to their buckets.
    pub gather_bytes: usize,
    /// Encoded bytes held before they are spilled, even if the pool has room for more.
    pub encoded_bytes: usize,
    /// When the output counts as committed.
    pub durability: Durability,
    /// An earlier attempt may have committed: which of them counts is settled in the store when the writer ends, also where an output
    /// is written behind.
    pub settles: bool,
    /// An output of at most so many bytes goes into its commit record: one request in the place of two.
    pub inline_bytes: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            batch_size: 8192,
            gather_bytes: 32 << 20,
            encoded_bytes: 256 << 20,
            durability: Durability::default(),
            settles: false,
            inline_bytes: 0,
        }
    }
}

/// Writes the rows of one task attempt, one data object with a range per bucket.
///
/// With several buckets, rows are gathered, encoded per bucket in memory, spilled when the task's memory pool has no more, and merged by
/// [`Self::finish`]. With one bucket they are uploaded while they come. Dropped unfinished, nothing is published.
pub struct ShuffleWriter {
    id: MapOutputId,
    attempt: TaskAttempt,
    schema: SchemaRef,
    options: WriterOptions,
    data_key: String,
    output: Output,
    gather: Gather,
    encoders: Vec<StreamEncoder>,
    ranges: Vec<BucketRange>,
    spills: Vec<Spill>,
    spilled_bytes: u64,
    disk: Arc<DiskManager>,
    reservation: MemoryReservation,
    /// Of the one bucket that is uploaded while it is written.
    hasher: BlockHasher,
}

impl ShuffleWriter {
    pub(crate) fn try_new(
        store: ShuffleStore,
        id: MapOutputId,
        attempt: TaskAttempt,
        schema: SchemaRef,
        num_buckets: usize,
        context: &TaskContext,
        options: WriterOptions,
    ) -> Result<Self, StoreError> {
        let data_key = id.data_key(&attempt)?;
        let output = Output::new(&store, &options, &id.namespace, &data_key);
        let runtime = context.runtime_env();
        let consumer = MemoryConsumer::new(format!("ShuffleWriter[{}]", id.map_partition))
            .with_can_spill(num_buckets > 1);
        Ok(Self {
            gather: Gather::new(num_buckets),
            encoders: (0..num_buckets)
                .map(|_| StreamEncoder::new(Arc::clone(&schema), options.compression))
                .collect(),
            ranges: vec![BucketRange::default(); num_buckets],
            spills: vec![],
            spilled_bytes: 0,
            disk: Arc::clone(&runtime.disk_manager),
            reservation: consumer.register(&runtime.memory_pool),
            hasher: BlockHasher::default(),
            id,
            attempt,
            schema,
            options,
            data_key,
            output,
        })
    }

    /// Number of buckets.
    pub fn num_buckets(&self) -> usize {
        self.encoders.len()
    }

    /// Bytes that went to spill files so far.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes
    }

    /// Number of spill files so far.
    pub fn spill_count(&self) -> usize {
        self.spills.len()
    }

    /// Appends rows to one bucket.
    pub async fn write(&mut self, bucket: u32, batch: RecordBatch) -> Result<(), StoreError> {
        let num_buckets = self.num_buckets();
        if bucket as usize >= num_buckets {
            return Err(StoreError::NoSuchBucket { bucket, num_buckets });
        }
        if num_buckets == 1 {
            self.write_through(&batch).await
        } else {
            self.write_rows(batch.clone(), &vec![bucket; batch.num_rows()])
                .await
        }
    }

    /// Appends each row to its bucket; `bucket_of_row` has one entry per row. Faster than one [`Self::write`] per bucket.
    pub async fn write_rows(&mut self, batch: RecordBatch, bucket_of_row: &[u32]) -> Result<(), StoreError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.check(&batch)?;
        let pushed = self.gather.push(batch, bucket_of_row);
        pushed.map_err(|source| self.codec(source))?;
        if self.gather.bytes() >= self.options.gather_bytes {
            self.flush()?;
        }
        if self.encoded() <= self.options.encoded_bytes && self.reserve() {
            return Ok(());
        }
        // Encoded rows are compressed and without other rows around them: that alone may be enough.
        self.flush()?;
        if self.encoded() <= self.options.encoded_bytes && self.reserve() {
            return Ok(());
        }
        self.spill().await
    }

    async fn write_through(&mut self, batch: &RecordBatch) -> Result<(), StoreError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.check(batch)?;
        let (range, encoder) = (&mut self.ranges[0], &mut self.encoders[0]);
        encoder.push(batch).map_err(|source| StoreError::Codec {
            key: self.data_key.clone(),
            source,
        })?;
        range.rows += batch.num_rows() as u64;
        range.batches += 1;
        if encoder.len() >= CHUNK {
            let bytes = Bytes::from(encoder.drain());
            self.hasher.update(&bytes);
            self.output.push(bytes).await?;
        }
        // What is in flight is bounded; it is counted, but an upload cannot be spilled, so it is not refused.
        self.reservation
            .resize(self.output.memory() + self.encoders[0].capacity());
        Ok(())
    }

    /// The encoder trusts the batch: other types under the declared schema would be unreadable.
    fn check(&self, batch: &RecordBatch) -> Result<(), StoreError> {
        let declared = self.schema.fields().iter().map(|field| field.data_type());
        if declared.eq(batch.columns().iter().map(|column| column.data_type())) {
            return Ok(());
        }
        let what = format!(
            "rows of {} where {} was declared",
            batch.schema_ref(),
            self.schema
        );
        Err(self.codec(ArrowError::SchemaError(what)))
    }

    fn codec(&self, source: ArrowError) -> StoreError {
        StoreError::Codec {
            key: self.data_key.clone(),
            source,
        }
    }

    fn encoded(&self) -> usize {
        self.encoders.iter().map(StreamEncoder::capacity).sum()
    }

    fn reserve(&self) -> bool {
        self.reservation
            .try_resize(self.gather.bytes() + self.encoded())
            .is_ok()
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let ranges = &mut self.ranges;
        let flushed = self
            .gather
            .flush(self.options.batch_size, &mut self.encoders, |bucket, rows| {
                ranges[bucket].rows += rows as u64;
                ranges[bucket].batches += 1;
            });
        flushed.map_err(|source| self.codec(source))
    }

    async fn spill(&mut self) -> Result<(), StoreError> {
        let mut buckets = Vec::with_capacity(self.encoders.len());
        for encoder in &mut self.encoders {
            buckets.push(encoder.take().map_err(|source| StoreError::Codec {
                key: self.data_key.clone(),
                source,
            })?);
        }
        let bytes: usize = buckets.iter().map(Vec::len).sum();
        self.spills.push(Spill::write(&self.disk, buckets).await?);
        self.spilled_bytes += bytes as u64;
        self.reservation.free();
        tracing::debug!(bytes, namespace = %self.id.namespace, stage = self.id.stage_id, partition = self.id.map_partition, "map output spilled");
        Ok(())
    }

    /// Uploads what is left and publishes the output. `inputs` is what the task read.
    ///
    /// An attempt that lost has its data removed and gets the winner's record: its task has succeeded all the same.
    pub async fn finish(mut self, inputs: Vec<CommitInput>) -> Result<Committed, StoreError> {
        self.flush()?;
        let mut readers = Vec::with_capacity(self.spills.len());
        for spill in std::mem::take(&mut self.spills) {
            readers.push(spill.read()?);
        }
        for bucket in 0..self.num_buckets() {
            self.finish_bucket(bucket, &mut readers).await?;
        }
        let bytes = self.output.written();
        let record = CommitRecord {
            namespace: self.id.namespace,
            stage_id: self.id.stage_id,
            map_partition: self.id.map_partition,
            generation: self.attempt.version.generation,
            attempt: self.attempt.version.attempt,
            executor_id: self.attempt.executor_id,
            data_key: if bytes == 0 {
                String::new()
            } else {
                self.data_key.clone()
            },
            schema: schema_message(&self.schema).map_err(|source| StoreError::Codec {
                key: self.data_key.clone(),
                source,
            })?,
            rows: self.ranges.iter().map(|range| range.rows).sum(),
            buckets: self.ranges,
            inputs,
            bytes,
            data: Bytes::new(),
        };
        self.output.commit(record).await
    }

    /// Appends one bucket: its part of each spill, oldest first, then what is in memory.
    async fn finish_bucket(&mut self, bucket: usize, spills: &mut [SpillReader]) -> Result<(), StoreError> {
        let mut hasher = std::mem::take(&mut self.hasher);
        let start = if self.num_buckets() == 1 {
            0
        } else {
            self.output.written()
        };
        for spill in spills {
            let mut rest = spill.next_bucket();
            while rest > 0 {
                let bytes = spill.next_bytes(rest.min(CHUNK)).await?;
                rest -= bytes.len();
                hasher.update(&bytes);
                self.output.push(bytes).await?;
            }
        }
        let bytes = Bytes::from(self.encoders[bucket].take().map_err(|source| StoreError::Codec {
            key: self.data_key.clone(),
            source,
        })?);
        hasher.update(&bytes);
        self.output.push(bytes).await?;
        let length = self.output.written() - start;
        let range = &mut self.ranges[bucket];
        (range.offset, range.length) = (start, length);
        (range.checksum, range.block_checksums) = hasher.finish();
        Ok(())
    }
}
