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

use super::leaf;
use super::shared::{Place, SharedInputs};
use crate::properties::{sorted_properties, unordered_properties};

/// One partition of a fragment's input, or all of them one after the other, as a plan with one partition. It hides the input from the
/// rules that run inside a fragment, all but the order of its rows.
#[derive(Debug)]
pub(crate) struct InputExec {
    input: Arc<dyn ExecutionPlan>,
    part: Part,
    properties: Arc<PlanProperties>,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    One(usize),
    Whole(Place),
}

impl InputExec {
    /// Partition `partition` of `input`.
    pub(crate) fn one(input: Arc<dyn ExecutionPlan>, partition: usize) -> Self {
        Self::of(input, Part::One(partition))
    }

    /// All partitions of `input`, which is the same for every task at `place`.
    pub(crate) fn whole(input: Arc<dyn ExecutionPlan>, place: Place) -> Self {
        Self::of(input, Part::Whole(place))
    }

    fn of(input: Arc<dyn ExecutionPlan>, part: Part) -> Self {
        let one = matches!(part, Part::One(_)) || input.output_partitioning().partition_count() == 1;
        let properties = match input.output_ordering().filter(|_| one) {
            // What merges sorted runs says so, and a sort above has nothing to do.
            Some(ordering) => sorted_properties(input.schema(), ordering, 1),
            None => unordered_properties(input.schema(), 1),
        };
        Self {
            input,
            part,
            properties,
        }
    }

    /// Where the input is, if it is read whole.
    pub(crate) fn place(&self) -> Option<Place> {
        match self.part {
            Part::One(_) => None,
            Part::Whole(place) => Some(place),
        }
    }
}

impl DisplayAs for InputExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::One(partition) => write!(f, "InputExec: partition={partition}"),
            Part::Whole(_) => write!(f, "InputExec: whole"),
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
        let partition = match self.part {
            Part::One(partition) => Some(partition),
            Part::Whole(_) => None,
        };
        let args = StatisticsArgs::new().with_partition(partition);
        StatisticsContext::new().compute(self.input.as_ref(), &args)
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let place = match self.part {
            Part::One(partition) => return self.input.execute(partition, context),
            Part::Whole(place) => place,
        };
        match context.session_config().get_extension::<SharedInputs>() {
            Some(shared) => Ok(shared.rows(place, &self.input, context)),
            None => read_whole(&self.input, &context),
        }
    }
}

/// All partitions of `input`, one after the other.
pub(super) fn read_whole(
    input: &Arc<dyn ExecutionPlan>,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let partitions = input.output_partitioning().partition_count();
    if partitions == 1 {
        return input.execute(0, Arc::clone(context));
    }
    let (schema, input, context) = (input.schema(), Arc::clone(input), Arc::clone(context));
    let streams = stream::iter(0..partitions)
        .map(move |partition| input.execute(partition, Arc::clone(&context)))
        .try_flatten();
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, streams)))
}
