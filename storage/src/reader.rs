use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::root_as_message;
use bytes::{Bytes, BytesMut};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::source::Source;
use crate::{MapOutput, ShuffleStore, StoreError, StoredRecord};

/// Opens one bucket of a committed output. No row is handed out before the checksum of its bytes was compared.
pub(crate) async fn read_bucket(
    store: &ShuffleStore,
    output: &MapOutput,
    stored: &Arc<StoredRecord>,
    bucket: u32,
) -> Result<SendableRecordBatchStream, StoreError> {
    let record = &stored.record;
    let num_buckets = record.buckets.len();
    let range = record
        .buckets
        .get(bucket as usize)
        .cloned()
        .ok_or(StoreError::NoSuchBucket { bucket, num_buckets })?;
    let schema = Arc::clone(&stored.schema);
    if range.length == 0 {
        return Ok(adapt(Arc::clone(&schema), futures::stream::empty().boxed()));
    }
    let source = Source::new(store, output, stored);
    let decode = Decode::new(record.data_key.clone(), Arc::clone(&schema), range.rows);
    let mut blocks = source.blocks(&range)?;
    if blocks.len() == 1 {
        // Small: whoever opens several of them ahead has their bytes then.
        let block = source.bucket(bucket as usize, blocks.remove(0)).await?;
        return Ok(adapt(
            schema,
            decode.run(futures::stream::once(async { Ok(block) }).boxed()),
        ));
    }
    let blocks = futures::stream::iter(blocks).map(move |block| {
        let source = source.clone();
        async move { source.checked(block).await }
    });
    // One block is fetched while the one before is decoded.
    Ok(adapt(schema, decode.run(blocks.buffered(2).boxed())))
}

fn adapt(
    schema: SchemaRef,
    batches: BoxStream<'static, Result<RecordBatch, StoreError>>,
) -> SendableRecordBatchStream {
    Box::pin(RecordBatchStreamAdapter::new(schema, batches.map_err(Into::into)))
}

/// Turns the checked bytes of a bucket into batches, one message at a time, and compares the number of rows at the end.
struct Decode {
    key: String,
    schema: SchemaRef,
    rows: u64,
    decoder: StreamDecoder,
    ready: VecDeque<RecordBatch>,
    /// Bytes not yet decoded: less than a message when the next block is asked for.
    pending: Bytes,
    blocks: BoxStream<'static, Result<Bytes, StoreError>>,
}

impl Decode {
    fn new(key: String, schema: SchemaRef, rows: u64) -> Self {
        Self {
            key,
            schema,
            rows,
            decoder: StreamDecoder::new(),
            ready: VecDeque::new(),
            pending: Bytes::new(),
            blocks: futures::stream::empty().boxed(),
        }
    }

    fn run(
        mut self,
        blocks: BoxStream<'static, Result<Bytes, StoreError>>,
    ) -> BoxStream<'static, Result<RecordBatch, StoreError>> {
        self.blocks = blocks;
        futures::stream::try_unfold(self, |mut decode| async move {
            Ok(decode.next().await?.map(|batch| (batch, decode)))
        })
        .boxed()
    }

    fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt {
            key: self.key.clone(),
            what: what.to_string(),
        }
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>, StoreError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return self.check(batch).map(Some);
            }
            let framed = frame(&self.pending).map_err(|source| self.codec(source))?;
            if let Some(frame) = framed {
                let bytes = self.pending.split_to(frame.length);
                self.decode(bytes).map_err(|source| self.codec(source))?;
                if frame.end_of_stream {
                    // Spilled parts of a bucket are streams of their own, one behind the other.
                    self.decoder = StreamDecoder::new();
                }
                continue;
            }
            match self.blocks.try_next().await? {
                Some(block) => self.pending = join(std::mem::take(&mut self.pending), block),
                None => return self.end().map(|()| None),
            }
        }
    }

    fn decode(&mut self, bytes: Bytes) -> Result<(), ArrowError> {
        let mut buffer = Buffer::from(bytes);
        // A message without a body (no columns) comes out with the bytes that follow it.
        while !buffer.is_empty() {
            self.ready.extend(self.decoder.decode(&mut buffer)?);
        }
        Ok(())
    }

    fn check(&mut self, batch: RecordBatch) -> Result<RecordBatch, StoreError> {
        if batch.schema_ref().fields() != self.schema.fields() {
            return Err(self.corrupt("the schema of the rows differs from the record's"));
        }
        match self.rows.checked_sub(batch.num_rows() as u64) {
            Some(rest) => self.rows = rest,
            None => return Err(self.corrupt("there are more rows than the record says")),
        }
        Ok(batch)
    }

    fn end(&self) -> Result<(), StoreError> {
        if !self.pending.is_empty() || self.rows != 0 {
            return Err(self.corrupt("there are fewer rows than the record says"));
        }
        Ok(())
    }

    fn codec(&self, source: ArrowError) -> StoreError {
        StoreError::Codec {
            key: self.key.clone(),
            source,
        }
    }
}

fn join(pending: Bytes, block: Bytes) -> Bytes {
    if pending.is_empty() {
        return block;
    }
    let mut joined = BytesMut::with_capacity(pending.len() + block.len());
    joined.extend_from_slice(&pending);
    joined.extend_from_slice(&block);
    joined.freeze()
}

struct Frame {
    length: usize,
    end_of_stream: bool,
}

/// The first whole message at the start of `bytes`; `None` when more bytes are needed. The decoder cannot be asked where a stream ends.
fn frame(bytes: &[u8]) -> Result<Option<Frame>, ArrowError> {
    let Some((header, rest)) = bytes.split_first_chunk::<8>() else {
        return Ok(None);
    };
    let [c0, c1, c2, c3, s0, s1, s2, s3] = *header;
    if [c0, c1, c2, c3] != [0xff; 4] {
        return Err(ArrowError::IpcError(
            "a message does not start with the continuation marker".to_string(),
        ));
    }
    let metadata_length = u32::from_le_bytes([s0, s1, s2, s3]) as usize;
    if metadata_length == 0 {
        return Ok(Some(Frame {
            length: 8,
            end_of_stream: true,
        }));
    }
    let Some(metadata) = rest.get(..metadata_length) else {
        return Ok(None);
    };
    let message = root_as_message(metadata)
        .map_err(|error| ArrowError::IpcError(format!("a message has no readable header: {error}")))?;
    let body = usize::try_from(message.bodyLength())
        .map_err(|_| ArrowError::IpcError("a message has a negative length".to_string()))?;
    let length = 8 + metadata_length + body;
    Ok((bytes.len() >= length).then_some(Frame {
        length,
        end_of_stream: false,
    }))
}
