use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use cne_fragment::sorted_properties;
use cne_proto::v1::BucketRange;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};

use crate::reader::MapOutputsExec;

/// Most runs that are merged at once.
const MAX_RUNS: usize = 512;
/// Bytes as stored that the reader of one run holds: two blocks ahead and what is left of one before.
const READ_AHEAD: u64 = 12 << 20;
/// Decoded bytes per stored byte, generously.
const UNPACKED: u64 = 6;

/// Sorted runs as one sorted partition. All runs are read at the same time where the task's memory allows it; else the rows are sorted
/// again, which spills.
#[derive(Debug)]
pub(crate) struct MergeExec {
    ordering: LexOrdering,
    /// A partition per run.
    runs: Arc<MapOutputsExec>,
    /// The runs, for those who look at children.
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl MergeExec {
    pub(crate) fn new(ordering: LexOrdering, reader: &MapOutputsExec) -> Self {
        let runs = Arc::new(reader.runs(&ordering));
        let partitions = reader.properties().partitioning.partition_count();
        Self {
            properties: sorted_properties(reader.schema(), &ordering, partitions),
            child: Arc::clone(&runs) as Arc<dyn ExecutionPlan>,
            ordering,
            runs,
        }
    }

    /// All rows of all runs.
    pub(crate) async fn rows(&self) -> Result<u64> {
        let ranges = self.runs.ranges().await?;
        Ok(ranges.iter().map(|range| range.rows).sum())
    }
}

/// Memory that a merge of the runs needs: what is read ahead, and a batch of each.
fn needed(runs: &[BucketRange], batch_size: usize) -> u64 {
    let of = |run: &BucketRange| {
        let batch = run.length.saturating_mul(batch_size as u64) / run.rows.max(1);
        run.length.min(READ_AHEAD) + UNPACKED * batch.min(run.length)
    };
    runs.iter().map(of).fold(0, u64::saturating_add)
}

/// The memory of a merge, if half of what the task may use is enough for it.
fn reserve(runs: &[BucketRange], context: &TaskContext) -> Option<MemoryReservation> {
    let pool = &context.runtime_env().memory_pool;
    let needed = usize::try_from(needed(runs, context.session_config().batch_size())).ok()?;
    let fits = match pool.memory_limit() {
        MemoryLimit::Finite(limit) => needed <= limit / 2,
        _ => true,
    };
    // What the merge itself holds of it, it registers on its own.
    let read_ahead: u64 = runs.iter().map(|run| run.length.min(READ_AHEAD)).sum();
    let reservation = MemoryConsumer::new("SortedRuns").register(pool);
    (fits && runs.len() <= MAX_RUNS && reservation.try_grow(read_ahead as usize).is_ok())
        .then_some(reservation)
}

impl DisplayAs for MergeExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MergeExec: [{}]", self.ordering)
    }
}

impl ExecutionPlan for MergeExec {
    fn name(&self) -> &str {
        "MergeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.child]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (runs, ordering, schema) = (Arc::clone(&self.runs), self.ordering.clone(), self.schema());
        let rows = futures::stream::once(merged(runs, ordering, context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

async fn merged(
    runs: Arc<MapOutputsExec>,
    ordering: LexOrdering,
    context: Arc<TaskContext>,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let count = runs.properties().partitioning.partition_count();
    if count <= 1 {
        return Ok(runs.joined().execute(0, context)?.boxed());
    }
    let ranges = runs.ranges().await?;
    let reserved = reserve(&ranges, &context);
    let bytes: u64 = ranges.iter().map(|range| range.length).sum();
    tracing::debug!(runs = count, bytes, merged = reserved.is_some(), "sorted runs");
    let Some(reserved) = reserved else {
        let sort = SortExec::new(ordering, Arc::new(runs.joined()));
        return Ok(sort.execute(0, context)?.boxed());
    };
    // Of equal rows, those of the lower map partition come first, however fast each run arrives.
    let merge = SortPreservingMergeExec::new(ordering, runs).with_round_robin_repartition(false);
    let rows = merge.execute(0, context)?.inspect_ok(move |_| {
        // Held as long as the runs are read.
        let _ = &reserved;
    });
    Ok(rows.boxed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_merge_needs_grows_with_runs_not_with_rows() {
        let run = |length, rows| BucketRange {
            length,
            rows,
            ..Default::default()
        };
        let small = needed(&[run(1000, 10)], 8192);
        assert_eq!(small, 7000);
        let (long, longer) = ([run(1 << 30, 10_000_000)], [run(1 << 33, 80_000_000)]);
        assert_eq!(needed(&long, 8192), needed(&longer, 8192));
        assert_eq!(
            needed(&[long.clone(), long.clone()].concat(), 8192),
            2 * needed(&long, 8192)
        );
    }
}
