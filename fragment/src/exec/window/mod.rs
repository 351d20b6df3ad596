//! Spark's `Window`: each row with what functions say of the rows around it.
//!
//! The input is sorted by PARTITION BY and ORDER BY. One PARTITION BY group at a time is held; small ones are computed together.

mod aggregate;
mod chunk;
mod frame;
mod function;
mod values;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::keys::Keys;
use crate::exec::unary;
use crate::properties::unordered_properties;
pub(crate) use aggregate::WindowAggregate;
use chunk::{Chunk, Cutter};
pub(crate) use frame::{Bound, Frame, Unit};
pub(crate) use function::{NthValue, Shift, WindowFunction};
pub(crate) use values::ValueBound;

/// A column that the operator adds.
#[derive(Debug, Clone)]
pub(crate) struct WindowColumn {
    pub(crate) field: FieldRef,
    pub(crate) function: WindowFunction,
}

/// The columns of the child, then those of the functions. Rows keep their order.
#[derive(Debug)]
pub(crate) struct WindowExec {
    partition_by: Vec<Arc<dyn PhysicalExpr>>,
    order_by: Vec<Arc<dyn PhysicalExpr>>,
    columns: Arc<[WindowColumn]>,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl WindowExec {
    pub(crate) fn new(
        partition_by: Vec<Arc<dyn PhysicalExpr>>,
        order_by: Vec<Arc<dyn PhysicalExpr>>,
        columns: Vec<WindowColumn>,
        child: Arc<dyn ExecutionPlan>,
    ) -> Self {
        let input = child.schema();
        let added = columns.iter().map(|column| Arc::clone(&column.field));
        let fields: Vec<FieldRef> = input.fields().iter().cloned().chain(added).collect();
        Self {
            partition_by,
            order_by,
            columns: columns.into(),
            child,
            properties: unordered_properties(Arc::new(Schema::new(fields)), 1),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn above(&self, child: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            partition_by: self.partition_by.clone(),
            order_by: self.order_by.clone(),
            columns: Arc::clone(&self.columns),
            child,
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        let of_functions = self.columns.iter().flat_map(|column| column.function.args());
        self.partition_by
            .iter()
            .chain(&self.order_by)
            .chain(of_functions)
            .collect()
    }
}

impl DisplayAs for WindowExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WindowExec: functions={}", self.columns.len())
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for WindowExec {
    unary!("WindowExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let input = self.child.execute(partition, Arc::clone(&context))?;
        let input_schema = self.child.schema();
        let groups = Keys::try_new(self.partition_by.clone(), &input_schema)?;
        let all = self.partition_by.iter().chain(&self.order_by).cloned().collect();
        let work = Work {
            groups: groups.clone(),
            peers: Keys::try_new(all, &input_schema)?,
            columns: Arc::clone(&self.columns),
            schema: self.schema(),
            batch_size: context.session_config().batch_size().max(1),
        };
        let consumer = MemoryConsumer::new(format!("Window[{partition}]"));
        let cutter = Cutter::new(groups, input_schema, consumer.register(context.memory_pool()));
        let chunks = stream::try_unfold((input, Some(cutter)), |(mut input, cutter)| async move {
            let Some(mut cutter) = cutter else {
                return Ok(None);
            };
            while let Some(batch) = input.next().await {
                if let Some(chunk) = cutter.push(batch?)? {
                    return Ok(Some((chunk, (input, Some(cutter)))));
                }
            }
            Ok(cutter.finish()?.map(|chunk| (chunk, (input, None))))
        });
        let rows = chunks
            .and_then(move |chunk| std::future::ready(work.run(chunk)))
            .map_ok(|batches| stream::iter(batches.into_iter().map(Ok)))
            .try_flatten()
            .inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// What is done with the rows of whole groups.
struct Work {
    groups: Keys,
    peers: Keys,
    columns: Arc<[WindowColumn]>,
    schema: SchemaRef,
    batch_size: usize,
}

impl Work {
    fn run(&self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let chunk = Chunk {
            groups: self.groups.runs(&batch)?,
            peers: self.peers.runs(&batch)?,
            batch,
        };
        let mut arrays = chunk.batch.columns().to_vec();
        for column in self.columns.iter() {
            arrays.push(column.function.evaluate(&chunk, column.field.data_type())?);
        }
        let whole = RecordBatch::try_new(Arc::clone(&self.schema), arrays)?;
        let starts = (0..whole.num_rows()).step_by(self.batch_size);
        Ok(starts
            .map(|from| whole.slice(from, self.batch_size.min(whole.num_rows() - from)))
            .collect())
    }
}
