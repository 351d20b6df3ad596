use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use cne_proto::spark_operator::RangeScan;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream;

use super::leaf;
use crate::properties::unordered_properties;

/// A slice of Spark's `Range(start, step, num_elements)`: elements `i*n/slices` up to `(i+1)*n/slices`.
#[derive(Debug)]
pub(crate) struct RangeExec {
    start: i64,
    step: i64,
    first: i128,
    end: i128,
    properties: Arc<PlanProperties>,
}

impl RangeExec {
    pub(crate) fn new(schema: SchemaRef, range: &RangeScan, partition: i32) -> Self {
        let slice = |i: i128| i * i128::from(range.num_elements) / i128::from(range.num_slices);
        let partition = i128::from(partition.clamp(0, range.num_slices - 1));
        Self {
            start: range.start,
            step: range.step,
            first: slice(partition),
            end: slice(partition + 1),
            properties: unordered_properties(schema, 1),
        }
    }
}

impl DisplayAs for RangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RangeExec: elements={}..{}", self.first, self.end)
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for RangeExec {
    fn name(&self) -> &'static str {
        "RangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    leaf!();

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (start, step, end) = (i128::from(self.start), i128::from(self.step), self.end);
        let rows = context.session_config().batch_size().max(1) as i128;
        let schema = self.schema();
        let batches = stream::iter(
            std::iter::successors(Some(self.first), move |at| Some(at + rows))
                .take_while(move |at| *at < end)
                .map({
                    let schema = Arc::clone(&schema);
                    move |at| {
                        // Every element of a valid range fits; Spark's own arithmetic wraps.
                        let value = |i: i128| (start + i * step) as i64;
                        let values: Int64Array = (at..(at + rows).min(end)).map(|i| Some(value(i))).collect();
                        Ok(RecordBatch::try_new(
                            Arc::clone(&schema),
                            vec![Arc::new(values) as ArrayRef],
                        )?)
                    }
                }),
        );
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
