use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::interleave_record_batch;
use arrow::error::ArrowError;

use crate::encode::StreamEncoder;

/// Whole input batches with the rows of each bucket noted. Copying rows out only when many have come together makes few large messages
/// instead of a handful of rows per bucket and batch.
pub(crate) struct Gather {
    batches: Vec<RecordBatch>,
    rows: Vec<Vec<(usize, usize)>>,
    bytes: usize,
}

impl Gather {
    pub(crate) fn new(num_buckets: usize) -> Self {
        Self {
            batches: vec![],
            rows: vec![vec![]; num_buckets],
            bytes: 0,
        }
    }

    /// Notes the rows of a batch; one bucket number per row.
    pub(crate) fn push(&mut self, batch: RecordBatch, bucket_of_row: &[u32]) -> Result<(), ArrowError> {
        let num_buckets = self.rows.len();
        if bucket_of_row.len() != batch.num_rows() {
            return Err(ArrowError::InvalidArgumentError(format!(
                "{} bucket numbers for {} rows",
                bucket_of_row.len(),
                batch.num_rows()
            )));
        }
        if let Some(bucket) = bucket_of_row
            .iter()
            .find(|bucket| **bucket as usize >= num_buckets)
        {
            return Err(ArrowError::InvalidArgumentError(format!(
                "bucket {bucket} of {num_buckets}"
            )));
        }
        let position = self.batches.len();
        for (row, bucket) in bucket_of_row.iter().enumerate() {
            self.rows[*bucket as usize].push((position, row));
        }
        self.bytes += batch.get_array_memory_size()
            + std::mem::size_of_val(bucket_of_row) / size_of::<u32>() * size_of::<(usize, usize)>();
        self.batches.push(batch);
        Ok(())
    }

    /// Memory held, the batches counted whole.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Moves all rows to the encoders, at most `batch_size` per message; `done(bucket, rows, messages)` is told.
    pub(crate) fn flush(
        &mut self,
        batch_size: usize,
        encoders: &mut [StreamEncoder],
        mut done: impl FnMut(usize, usize),
    ) -> Result<(), ArrowError> {
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        for (bucket, (rows, encoder)) in self.rows.iter_mut().zip(encoders).enumerate() {
            for chunk in rows.chunks(batch_size.max(1)) {
                encoder.push(&pick(&batches, chunk)?)?;
                done(bucket, chunk.len());
            }
            // Keeps a bucket's usual capacity, gives back what a burst took.
            rows.clear();
            rows.shrink_to(batch_size);
        }
        self.batches.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn pick(batches: &[&RecordBatch], rows: &[(usize, usize)]) -> Result<RecordBatch, ArrowError> {
    match batches.first() {
        // `interleave` takes the number of rows from the first column.
        Some(first) if first.num_columns() == 0 => {
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            RecordBatch::try_new_with_options(first.schema(), vec![], &options)
        }
        _ => interleave_record_batch(batches, rows),
    }
}
