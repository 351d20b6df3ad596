//! Execution plan nodes of our own.

mod cancel;
mod expand;
mod fragment;
mod input;
mod range;
mod run;
pub(crate) mod shared;

pub use cancel::{Cancellable, TaskCancellation};
pub use fragment::CometFragmentExec;
pub use shared::{JobInputs, SharedInputs};

pub(crate) use expand::ExpandExec;
pub(crate) use input::InputExec;
pub(crate) use range::RangeExec;

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{Partitioning, PlanProperties};

fn properties(schema: SchemaRef, partitions: usize) -> Arc<PlanProperties> {
    with(EquivalenceProperties::new(schema), partitions)
}

/// Of one partition whose rows come in `ordering`.
fn ordered(schema: SchemaRef, ordering: &LexOrdering) -> Arc<PlanProperties> {
    with(
        EquivalenceProperties::new_with_orderings(schema, [ordering.clone()]),
        1,
    )
}

fn with(equivalence: EquivalenceProperties, partitions: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        equivalence,
        Partitioning::UnknownPartitioning(partitions),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// What every leaf of one partition answers.
macro_rules! leaf {
    () => {
        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![]
        }

        fn with_new_children(
            self: Arc<Self>,
            _: Vec<Arc<dyn ExecutionPlan>>,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            Ok(TreeNodeRecursion::Continue)
        }
    };
}
use leaf;
