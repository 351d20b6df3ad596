use std::io::Write;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use datafusion::error::DataFusionError;
use datafusion::execution::SpillFile;
use datafusion::execution::disk_manager::DiskManager;
use futures::{Stream, StreamExt};

use crate::StoreError;

/// Encoded buckets that did not fit in memory: one file with the buckets one after the other.
pub(crate) struct Spill {
    file: Arc<dyn SpillFile>,
    lengths: Vec<usize>,
}

fn spill_error(source: DataFusionError) -> StoreError {
    StoreError::Spill { source }
}

impl Spill {
    /// Writes the buckets, in order, on a blocking thread.
    pub(crate) async fn write(disk: &Arc<DiskManager>, buckets: Vec<Vec<u8>>) -> Result<Self, StoreError> {
        let file = disk.create_tmp_file("map output").map_err(spill_error)?;
        let lengths = buckets.iter().map(Vec::len).collect();
        let mut writer = file.open_writer().map_err(spill_error)?;
        let written = tokio::task::spawn_blocking(move || {
            for bucket in &buckets {
                writer.write_all(bucket)?;
            }
            writer.finish()
        });
        match written.await {
            Ok(result) => result.map_err(spill_error)?,
            Err(error) => return Err(spill_error(DataFusionError::External(Box::new(error)))),
        }
        Ok(Self { file, lengths })
    }

    /// Reads the buckets back, in order.
    pub(crate) fn read(self) -> Result<SpillReader, StoreError> {
        let stream = self.file.read_stream().map_err(spill_error)?;
        Ok(SpillReader {
            _file: self.file,
            stream,
            rest: Bytes::new(),
            lengths: self.lengths.into_iter(),
        })
    }
}

/// The next bucket of a spill, chunk by chunk.
pub(crate) struct SpillReader {
    _file: Arc<dyn SpillFile>,
    stream: Pin<Box<dyn Stream<Item = Result<Bytes, DataFusionError>> + Send>>,
    rest: Bytes,
    lengths: std::vec::IntoIter<usize>,
}

impl SpillReader {
    /// Starts the next bucket and says how many bytes it has.
    pub(crate) fn next_bucket(&mut self) -> usize {
        self.lengths.next().unwrap_or(0)
    }

    /// Up to `limit` bytes of the current bucket, at least one; small chunks of the file are put together.
    pub(crate) async fn next_bytes(&mut self, limit: usize) -> Result<Bytes, StoreError> {
        let mut bytes = BytesMut::new();
        while bytes.len() < limit {
            if self.rest.is_empty() {
                match self.stream.next().await {
                    Some(chunk) => self.rest = chunk.map_err(spill_error)?,
                    None => break,
                }
            }
            let taken = self.rest.split_to(self.rest.len().min(limit - bytes.len()));
            bytes.extend_from_slice(&taken);
        }
        if bytes.is_empty() {
            let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
            return Err(spill_error(DataFusionError::IoError(cut)));
        }
        Ok(bytes.freeze())
    }
}
