use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::take_record_batch;
use arrow::error::ArrowError;

/// The rows of a batch in the order of their buckets: bucket b is the rows `offsets[b]..offsets[b + 1]`. Within a bucket the rows keep
/// their order.
#[derive(Debug)]
pub struct PartitionedBatch {
    batch: RecordBatch,
    offsets: Vec<u32>,
}

/// Distributes rows by one counting sort and one `take`. `bucket_of_row` has one entry per row, each below `num_buckets`.
pub fn partition_batch(
    batch: &RecordBatch,
    bucket_of_row: &[u32],
    num_buckets: usize,
) -> Result<PartitionedBatch, ArrowError> {
    let offsets = offsets(batch.num_rows(), bucket_of_row, num_buckets)?;
    let mut next = offsets.clone();
    let mut order = vec![0_u32; bucket_of_row.len()];
    for (row, bucket) in bucket_of_row.iter().enumerate() {
        let slot = &mut next[*bucket as usize];
        order[*slot as usize] = row as u32;
        *slot += 1;
    }
    let batch = if batch.num_columns() == 0 {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(batch.schema(), vec![], &options)?
    } else {
        take_record_batch(batch, &UInt32Array::from(order))?
    };
    Ok(PartitionedBatch { batch, offsets })
}

/// Start of each bucket and the end of the last; refuses a bucket out of range, or not one entry per row.
fn offsets(num_rows: usize, bucket_of_row: &[u32], num_buckets: usize) -> Result<Vec<u32>, ArrowError> {
    if bucket_of_row.len() != num_rows || u32::try_from(num_rows).is_err() {
        return Err(ArrowError::InvalidArgumentError(format!(
            "{} bucket numbers for {num_rows} rows",
            bucket_of_row.len()
        )));
    }
    let mut offsets = vec![0_u32; num_buckets + 1];
    for bucket in bucket_of_row {
        match offsets.get_mut(*bucket as usize + 1) {
            Some(count) => *count += 1,
            None => {
                return Err(ArrowError::InvalidArgumentError(format!(
                    "bucket {bucket} of {num_buckets}"
                )));
            }
        }
    }
    for bucket in 0..num_buckets {
        offsets[bucket + 1] += offsets[bucket];
    }
    Ok(offsets)
}

impl PartitionedBatch {
    /// The rows of one bucket, without copying; empty for a bucket that is out of range.
    pub fn bucket(&self, bucket: usize) -> RecordBatch {
        let start = self.offsets.get(bucket).copied().unwrap_or(0) as usize;
        let end = self.offsets.get(bucket + 1).map_or(start, |end| *end as usize);
        self.batch.slice(start, end - start)
    }

    /// The buckets that have rows, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u32, RecordBatch)> + '_ {
        (0..self.offsets.len().saturating_sub(1))
            .filter(|bucket| self.offsets[*bucket] < self.offsets[bucket + 1])
            .map(|bucket| (bucket as u32, self.bucket(bucket)))
    }
}
