//! The node at the top of each stage that says how a map task distributes its rows.

use std::{fmt, sync::Arc};

use cne_proto::v1::{ExchangeNode, Whole, exchange_node::Distribution};
use datafusion::{
    common::{Result, tree_node::TreeNodeRecursion},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::PhysicalExpr,
    physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties},
};

/// A transparent node: partition `p` of the child is partition `p` of this node, with the same schema, order and partitioning.
///
/// Ballista cuts a stage above it; the executor's engine takes it off and hands [`ExchangeExec::node`] to the shuffle writer, so that
/// [`ExecutionPlan::execute`] is only reached in plans that run in one process.
#[derive(Debug)]
pub struct ExchangeExec {
    node: ExchangeNode,
    child: Arc<dyn ExecutionPlan>,
}

impl ExchangeExec {
    /// Wraps `child`, whose output columns a `partitioning` inside `node` is bound to.
    pub fn new(node: ExchangeNode, child: Arc<dyn ExecutionPlan>) -> Self {
        Self { node, child }
    }

    /// One bucket holding all rows of each map partition.
    pub fn whole(child: Arc<dyn ExecutionPlan>) -> Self {
        let distribution = Some(Distribution::Whole(Whole {}));
        Self::new(
            ExchangeNode {
                num_buckets: 1,
                distribution,
            },
            child,
        )
    }

    /// How the rows are distributed.
    pub fn node(&self) -> &ExchangeNode {
        &self.node
    }

    /// The plan whose rows are distributed.
    pub fn child(&self) -> &Arc<dyn ExecutionPlan> {
        &self.child
    }
}

impl DisplayAs for ExchangeExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.node.distribution {
            Some(Distribution::Partitioning(_)) => "partitioning",
            Some(Distribution::Coalesce(_)) => "coalesce",
            Some(Distribution::Whole(_)) => "whole",
            Some(Distribution::SortedRun(_)) => "sorted run",
            Some(Distribution::SortedParts(_)) => "sorted parts",
            None => "unset",
        };
        write!(f, "ExchangeExec: {kind}, buckets={}", self.node.num_buckets)
    }
}

impl ExecutionPlan for ExchangeExec {
    fn name(&self) -> &str {
        "ExchangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.child.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.child]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        // The default lets DataFusion insert a round-robin below us.
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
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [child]: [Arc<dyn ExecutionPlan>; 1] = children.try_into().map_err(|given: Vec<_>| {
            datafusion::error::DataFusionError::Internal(format!(
                "ExchangeExec has one child, got {}",
                given.len()
            ))
        })?;
        Ok(Arc::new(Self::new(self.node.clone(), child)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.child.execute(partition, context)
    }
}
