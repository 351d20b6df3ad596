use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};

use super::{leaf, ordered, properties};

/// One partition of a fragment's input, or all of them one after the other, as a plan with one partition. It hides the input from the
/// rules that run inside a fragment, all but the order of its rows.
#[derive(Debug)]
pub(crate) struct InputExec {
    input: Arc<dyn ExecutionPlan>,
    /// `None`: all.
    partition: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl InputExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, partition: Option<usize>) -> Self {
        let one = partition.is_some() || input.output_partitioning().partition_count() == 1;
        let properties = match input.output_ordering().filter(|_| one) {
            // What merges sorted runs says so, and a sort above has nothing to do.
            Some(ordering) => ordered(input.schema(), ordering),
            None => properties(input.schema(), 1),
        };
        Self {
            input,
            partition,
            properties,
        }
    }
}

impl DisplayAs for InputExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.partition {
            Some(partition) => write!(f, "InputExec: partition={partition}"),
            None => write!(f, "InputExec: whole"),
        }
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for InputExec {
    fn name(&self) -> &'static str {
        "InputExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    leaf!();

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let args = StatisticsArgs::new().with_partition(self.partition);
        StatisticsContext::new().compute(self.input.as_ref(), &args)
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if let Some(partition) = self.partition {
            return self.input.execute(partition, context);
        }
        let partitions = self.input.output_partitioning().partition_count();
        if partitions == 1 {
            return self.input.execute(0, context);
        }
        let input = Arc::clone(&self.input);
        let streams = stream::iter(0..partitions)
            .map(move |partition| input.execute(partition, Arc::clone(&context)))
            .try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), streams)))
    }
}
