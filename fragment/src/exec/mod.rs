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
mod sample;
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
pub(crate) use sample::{Draw, SampleExec};
pub(crate) use window::{
    Bound, Frame, NthValue, Shift, Unit, ValueBound, WindowAggregate, WindowColumn, WindowExec,
    WindowFunction,
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

/// What every node with one child answers: it has `child`, `properties`, `metrics`, and says by `above` what it is over another child, and by
/// `expressions` what it evaluates.
macro_rules! unary {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn properties(&self) -> &Arc<PlanProperties> {
            &self.properties
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            vec![&self.child]
        }

        fn with_new_children(
            self: Arc<Self>,
            mut children: Vec<Arc<dyn ExecutionPlan>>,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            let child = children.pop().unwrap_or_else(|| Arc::clone(&self.child));
            Ok(Arc::new(self.above(child)))
        }

        fn apply_expressions(
            &self,
            f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
        ) -> Result<TreeNodeRecursion> {
            for expr in self.expressions() {
                if f(expr)? == TreeNodeRecursion::Stop {
                    return Ok(TreeNodeRecursion::Stop);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        }

        fn metrics(&self) -> Option<MetricsSet> {
            Some(self.metrics.clone_inner())
        }
    };
}
use unary;
