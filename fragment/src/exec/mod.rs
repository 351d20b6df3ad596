//! Execution plan nodes of our own.

mod cancel;
mod expand;
mod explode;
mod fragment;
mod group_limit;
mod input;
mod keys;
mod range;
mod run;
pub(crate) mod shared;
mod window;

pub use cancel::{Cancellable, TaskCancellation};
pub use fragment::CometFragmentExec;
pub use shared::{JobInputs, SharedInputs};

pub(crate) use expand::ExpandExec;
pub(crate) use explode::{ExplodeExec, Work as Explosion};
pub(crate) use group_limit::{GroupLimitExec, RankKind};
pub(crate) use input::InputExec;
pub(crate) use range::RangeExec;
pub(crate) use window::{
    Bound, Frame, NthValue, Shift, Unit, WindowAggregate, WindowColumn, WindowExec, WindowFunction,
};

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
