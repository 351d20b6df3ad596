use std::fmt;
use std::sync::Arc;

use arrow::record_batch::RecordBatch;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{FutureExt, StreamExt, TryFutureExt, TryStreamExt, stream};

use super::super::input::read_whole;
use super::Once;

/// The rows of an input, once somebody wants them.
pub(super) struct Rows {
    /// `None`: they do not fit.
    load: Once<Option<Arc<Held>>>,
}

struct Held {
    batches: Vec<RecordBatch>,
    _memory: MemoryReservation,
}

impl Rows {
    pub(super) fn of(input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Self {
        let load = load(input, context).map_err(Arc::new).boxed().shared();
        Self { load }
    }

    /// Whether reading them has failed.
    pub(super) fn failed(&self) -> bool {
        matches!(self.load.peek(), Some(Err(_)))
    }

    /// Whether they were loaded and do not fit.
    pub(super) fn too_large(&self) -> bool {
        matches!(self.load.peek(), Some(Ok(None)))
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").finish_non_exhaustive()
    }
}

async fn load(input: Arc<dyn ExecutionPlan>, context: Arc<TaskContext>) -> Result<Option<Arc<Held>>> {
    let memory = MemoryConsumer::new("SharedInput").register(context.memory_pool());
    let mut counter = RecordBatchMemoryCounter::new();
    let mut batches = vec![];
    let mut rows = make_cooperative(read_whole(&input, &context)?);
    while let Some(batch) = rows.next().await {
        let batch = batch?;
        if memory.try_grow(counter.count_batch(&batch)).is_err() {
            tracing::debug!(
                bytes = counter.memory_usage(),
                "an input is too large to be shared"
            );
            return Ok(None);
        }
        batches.push(batch);
    }
    Ok(Some(Arc::new(Held {
        batches,
        _memory: memory,
    })))
}

/// The rows as a task reads them; the task holds them until it drops the stream.
pub(super) fn stream(
    rows: Arc<Rows>,
    input: Arc<dyn ExecutionPlan>,
    own: Arc<TaskContext>,
) -> SendableRecordBatchStream {
    let schema = input.schema();
    let loaded = async move {
        match rows.load.clone().await {
            Ok(Some(held)) => {
                let all = stream::iter(0..held.batches.len()).map(move |i| {
                    // It keeps the entry from being dropped for want of memory.
                    let _ = &rows;
                    Ok(held.batches[i].clone())
                });
                Ok(all.boxed())
            }
            Ok(None) => Ok(read_whole(&input, &own)?.boxed()),
            Err(error) => Err(DataFusionError::Shared(error)),
        }
    };
    let rows = stream::once(loaded).try_flatten();
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}
