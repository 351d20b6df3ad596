use std::fmt;
use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use cne_spark_functions::random::XorShiftRandom;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;

use super::unary;
use crate::properties::unordered_properties;

/// Which rows are drawn: those whose number of `[0, 1)` lies in `[lower, upper)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Draw {
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// Of this partition.
    pub(crate) seed: i64,
}

impl Draw {
    /// Whether each of the next rows is drawn. No number is drawn for an empty range.
    fn mask(self, random: &mut XorShiftRandom, rows: usize) -> BooleanArray {
        let mut draw = || {
            let number = random.next_f64();
            number >= self.lower && number < self.upper
        };
        match self.upper - self.lower <= 0.0 {
            true => BooleanArray::from(vec![false; rows]),
            false => (0..rows).map(|_| Some(draw())).collect(),
        }
    }
}

/// Spark's `Sample` without replacement: the rows are numbered as they come, so the child has to give them in the same order always.
#[derive(Debug)]
pub(crate) struct SampleExec {
    draw: Draw,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SampleExec {
    pub(crate) fn new(draw: Draw, child: Arc<dyn ExecutionPlan>) -> Self {
        Self {
            draw,
            properties: unordered_properties(child.schema(), 1),
            child,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn above(&self, child: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(self.draw, child)
    }

    #[allow(clippy::unused_self)] // as every node says it
    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![]
    }
}

impl DisplayAs for SampleExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SampleExec: range={}..{}", self.draw.lower, self.draw.upper)
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for SampleExec {
    unary!("SampleExec");

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (draw, mut random) = (self.draw, XorShiftRandom::new(self.draw.seed));
        let drawn = self.child.execute(partition, context)?.map(move |batch| {
            let batch = batch?;
            let drawn = filter_record_batch(&batch, &draw.mask(&mut random, batch.num_rows()))?;
            metrics.record_output(drawn.num_rows());
            Ok(drawn)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), drawn)))
    }
}
