use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{ByteViewType, DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};

/// Compression of the buffers inside the Arrow IPC messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// As they are.
    None,
    /// LZ4 frames: cheap, the default.
    #[default]
    Lz4,
    /// Zstandard: smaller, for slow or expensive stores.
    Zstd,
}

impl Compression {
    fn options(self) -> Result<IpcWriteOptions, ArrowError> {
        IpcWriteOptions::default().try_with_compression(match self {
            Self::None => None,
            Self::Lz4 => Some(CompressionType::LZ4_FRAME),
            Self::Zstd => Some(CompressionType::ZSTD),
        })
    }
}

/// Rows of one bucket as a growing Arrow IPC stream.
pub(crate) struct StreamEncoder {
    schema: SchemaRef,
    compression: Compression,
    writer: Option<StreamWriter<Vec<u8>>>,
}

impl StreamEncoder {
    pub(crate) fn new(schema: SchemaRef, compression: Compression) -> Self {
        Self {
            schema,
            compression,
            writer: None,
        }
    }

    /// Appends one message. An empty batch is nothing.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let batch = compact_views(batch)?;
        match &mut self.writer {
            Some(writer) => writer.write(&batch),
            None => {
                let mut writer = StreamWriter::try_new_with_options(
                    Vec::new(),
                    &self.schema,
                    self.compression.options()?,
                )?;
                writer.write(&batch)?;
                self.writer = Some(writer);
                Ok(())
            }
        }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.writer.as_ref().map_or(0, |writer| writer.get_ref().len())
    }

    /// Memory held.
    pub(crate) fn capacity(&self) -> usize {
        self.writer
            .as_ref()
            .map_or(0, |writer| writer.get_ref().capacity())
    }

    /// Takes the encoded bytes and leaves the stream open: for a bucket that is uploaded while it is written.
    pub(crate) fn drain(&mut self) -> Vec<u8> {
        self.writer
            .as_mut()
            .map(|writer| std::mem::take(writer.get_mut()))
            .unwrap_or_default()
    }

    /// Closes the stream and takes its bytes (none, if there were no rows). The next row opens a new stream.
    pub(crate) fn take(&mut self) -> Result<Vec<u8>, ArrowError> {
        match self.writer.take() {
            Some(mut writer) => {
                writer.finish()?;
                writer.into_inner()
            }
            None => Ok(Vec::new()),
        }
    }
}

/// The schema as an encapsulated IPC message, for the commit record.
pub(crate) fn schema_message(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), schema)?;
    Ok(std::mem::take(writer.get_mut()))
}

/// The inverse of [`schema_message`].
pub(crate) fn schema_from_message(message: &[u8]) -> Result<SchemaRef, ArrowError> {
    try_schema_from_ipc_buffer(message).map(Arc::new)
}

/// IPC writes every buffer that a view array refers to; after a selection of rows that is mostly other rows' data.
fn compact_views(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let is_view = |array: &ArrayRef| matches!(array.data_type(), DataType::Utf8View | DataType::BinaryView);
    if !batch.columns().iter().any(is_view) {
        return Ok(batch.clone());
    }
    let columns = batch
        .columns()
        .iter()
        .map(|array| match array.data_type() {
            DataType::Utf8View => compact(array.as_string_view()),
            DataType::BinaryView => compact(array.as_binary_view()),
            _ => Arc::clone(array),
        })
        .collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

fn compact<T: ByteViewType>(array: &arrow::array::GenericByteViewArray<T>) -> ArrayRef {
    let held: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
    if held > 2 * array.total_buffer_bytes_used() {
        Arc::new(array.gc())
    } else {
        Arc::new(array.clone())
    }
}
