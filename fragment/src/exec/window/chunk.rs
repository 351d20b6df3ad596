use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use arrow::row::OwnedRow;
use datafusion::common::Result;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::execution::memory_pool::MemoryReservation;

use crate::exec::keys::Keys;

/// The rows of whole PARTITION BY groups.
pub(super) struct Chunk {
    pub(super) batch: RecordBatch,
    /// The groups.
    pub(super) groups: Vec<Range<usize>>,
    /// Within them, rows with equal ORDER BY keys.
    pub(super) peers: Vec<Range<usize>>,
}

/// Cuts sorted batches where a group ends.
pub(super) struct Cutter {
    keys: Keys,
    schema: SchemaRef,
    /// Rows of groups that may go on.
    pending: Vec<RecordBatch>,
    last: Option<OwnedRow>,
    reservation: MemoryReservation,
}

impl Cutter {
    pub(super) fn new(keys: Keys, schema: SchemaRef, reservation: MemoryReservation) -> Self {
        Self {
            keys,
            schema,
            pending: vec![],
            last: None,
            reservation,
        }
    }

    /// Takes rows; gives those of the groups that are complete.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let count = batch.num_rows();
        if count == 0 {
            return Ok(None);
        }
        let Some(rows) = self.keys.rows(&batch)? else {
            self.hold(batch)?;
            return Ok(None);
        };
        let last = rows.row(count - 1);
        // The last group of the batch may go on in the next one.
        let end = (0..count)
            .rev()
            .find(|row| rows.row(*row) != last)
            .map_or(0, |row| row + 1);
        let goes_on = self
            .last
            .as_ref()
            .is_some_and(|before| before.row() == rows.row(0));
        self.last = Some(last.owned());
        if end == 0 && goes_on {
            self.hold(batch)?;
            return Ok(None);
        }
        if end > 0 {
            self.hold(batch.slice(0, end))?;
        }
        let complete = self.take()?;
        self.hold(batch.slice(end, count - end))?;
        Ok(complete)
    }

    /// The rows of the last groups.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        self.take()
    }

    fn hold(&mut self, batch: RecordBatch) -> Result<()> {
        // Once as it came, once more when the pieces of its group are put together.
        self.reservation
            .try_grow(2 * get_record_batch_memory_size(&batch))?;
        self.pending.push(batch);
        Ok(())
    }

    fn take(&mut self) -> Result<Option<RecordBatch>> {
        let pending = std::mem::take(&mut self.pending);
        let whole = match pending.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            many => Some(concat_batches(&self.schema, many)?),
        };
        self.reservation.free();
        Ok(whole)
    }
}
