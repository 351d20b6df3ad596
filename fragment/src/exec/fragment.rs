use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use cne_proto::v1::FragmentNode;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    PlanProperties,
};
use futures::TryStreamExt;

use super::run::Task;
use crate::FragmentError;
use crate::hash_joins::HashJoinBudget;
use crate::properties::unordered_properties;
use crate::validate::{ValidatedBlock, validate_block};

/// A Comet block in a distributed plan. Its first child gives one descriptor row per partition, the others are the inputs of the block's
/// `scan` leaves in pre-order. The block is planned in each task, for one partition.
#[derive(Debug)]
pub struct CometFragmentExec {
    node: FragmentNode,
    block: Arc<ValidatedBlock>,
    children: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl CometFragmentExec {
    /// Checks the node against its children (`descriptor, input_1 .. input_n`) and plans it without data.
    ///
    /// # Errors
    /// [`FragmentError::Rejected`] with every reason for which the block is refused.
    pub fn try_new(node: FragmentNode, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Self, FragmentError> {
        let malformed = |reason: &str| FragmentError::Malformed(reason.to_string());
        let [_, inputs @ ..] = children.as_slice() else {
            return Err(malformed("it has no descriptors"));
        };
        if inputs.len() != node.broadcast_inputs.len() {
            return Err(malformed("its inputs and their kinds differ in number"));
        }
        let schemas: Vec<SchemaRef> = inputs.iter().map(|input| input.schema()).collect();
        let scans: &[Bytes] = &node.scan_commons;
        let block =
            validate_block(node.stage, &node.operator, scans, &schemas).map_err(FragmentError::Rejected)?;
        Self::of(node, Arc::new(block), children)
    }

    /// As [`Self::try_new`], with what was found out about the same block before. It counts if the inputs are of the same types.
    ///
    /// # Errors
    /// As [`Self::try_new`].
    pub fn with_validated(
        node: FragmentNode,
        children: Vec<Arc<dyn ExecutionPlan>>,
        block: &Arc<ValidatedBlock>,
    ) -> Result<Self, FragmentError> {
        let inputs = children.iter().skip(1).map(|input| input.schema());
        let same = !children.is_empty()
            && node.broadcast_inputs.len() == block.num_inputs
            && inputs.eq(block.input_schemas.iter().cloned());
        match same {
            true => Self::of(node, Arc::clone(block), children),
            false => Self::try_new(node, children),
        }
    }

    fn of(
        node: FragmentNode,
        block: Arc<ValidatedBlock>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Self, FragmentError> {
        let partitions = children
            .first()
            .map_or(0, |descriptor| descriptor.output_partitioning().partition_count());
        let properties = unordered_properties(Arc::clone(&block.output_schema), partitions);
        Ok(Self {
            node,
            block,
            children,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The message that this node is made of.
    #[must_use]
    pub fn node(&self) -> &FragmentNode {
        &self.node
    }

    /// The checked block.
    #[must_use]
    pub fn block(&self) -> &Arc<ValidatedBlock> {
        &self.block
    }

    fn is_broadcast(&self, child: usize) -> bool {
        let input = child
            .checked_sub(1)
            .and_then(|input| self.node.broadcast_inputs.get(input));
        input.copied().unwrap_or(false)
    }
}

impl DisplayAs for CometFragmentExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broadcast = self
            .node
            .broadcast_inputs
            .iter()
            .filter(|broadcast| **broadcast)
            .count();
        let (scans, inputs) = (self.block.num_scans, self.block.num_inputs);
        write!(
            f,
            "CometFragmentExec: stage={}, scans={scans}, inputs={inputs}, broadcast={broadcast}",
            self.node.stage
        )
    }
}

#[allow(deprecated)] // with_new_children is required until its successor is
impl ExecutionPlan for CometFragmentExec {
    fn name(&self) -> &'static str {
        "CometFragmentExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.children.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        let distribution = |child| match self.is_broadcast(child) {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        };
        InputDistributionRequirements::new((0..self.children.len()).map(distribution).collect())
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false; self.children.len()]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schemas =
            |plans: &[Arc<dyn ExecutionPlan>]| plans.iter().map(|plan| plan.schema()).collect::<Vec<_>>();
        let exec = match schemas(&children) == schemas(&self.children) {
            true => Self::of(self.node.clone(), Arc::clone(&self.block), children)?,
            false => Self::try_new(self.node.clone(), children)?,
        };
        Ok(Arc::new(exec))
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let (descriptor, inputs) = self
            .children
            .split_first()
            .ok_or_else(|| FragmentError::Malformed("it has no descriptors".into()))?;
        let task = Task {
            stage: self.node.stage,
            block: Arc::clone(&self.block),
            descriptor: Arc::clone(descriptor),
            inputs: inputs
                .iter()
                .enumerate()
                .map(|(i, input)| (Arc::clone(input), self.is_broadcast(i + 1)))
                .collect(),
            partition,
            ordered: !self.node.any_order,
            ansi: self.node.ansi,
            hash_joins: context
                .session_config()
                .get_extension::<HashJoinBudget>()
                .map(|budget| *budget),
            context,
        };
        let stream = futures::stream::once(task.start()).try_flatten();
        let stream = stream.inspect_ok(move |batch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}
