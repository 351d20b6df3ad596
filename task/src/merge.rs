//! The node below which sorted runs become one sorted partition.

use std::{fmt, sync::Arc};

use cne_fragment::{ExchangePartitioning, FragmentError, plan_partitioning, sorted_properties};
use cne_proto::v1::SortedMergeNode;
use datafusion::{
    arrow::datatypes::Schema,
    common::{DataFusionError, Result, tree_node::TreeNodeRecursion},
    execution::{SendableRecordBatchStream, TaskContext},
    physical_expr::{LexOrdering, PhysicalExpr},
    physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, sorts::sort::SortExec},
};

/// One partition with all rows of its child, whose one partition is made of runs that are in the node's order (an [`crate::ExchangeExec`] with
/// `sorted_run` wrote them).
///
/// The executor's engine puts a merge of the runs in its place; [`ExecutionPlan::execute`] is only reached in plans that run in one process,
/// and sorts.
#[derive(Debug)]
pub struct SortedMergeExec {
    node: SortedMergeNode,
    ordering: LexOrdering,
    child: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl SortedMergeExec {
    /// Merges the runs that `child` reads.
    ///
    /// # Errors
    /// When `node` holds no order over the columns of `child`, or `child` has more than one partition.
    pub fn try_new(node: SortedMergeNode, child: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let ordering = sort_order(&node.partitioning, &child.schema())?;
        // None in a task of another branch of a union.
        let partitions = child.properties().partitioning.partition_count();
        if partitions > 1 {
            let what = format!("sorted runs in {partitions} partitions");
            return Err(FragmentError::Malformed(what).into());
        }
        let properties = sorted_properties(child.schema(), &ordering, partitions);
        Ok(Self {
            node,
            ordering,
            child,
            properties,
        })
    }

    /// The message that this node is made of.
    pub fn node(&self) -> &SortedMergeNode {
        &self.node
    }

    /// The order of the runs and of the result.
    pub fn ordering(&self) -> &LexOrdering {
        &self.ordering
    }

    /// What reads the runs.
    pub fn child(&self) -> &Arc<dyn ExecutionPlan> {
        &self.child
    }
}

/// The order of a serialized `Partitioning` with a `range_partition`, bound to the columns of `schema`. Float keys are canonical: equal keys
/// compare as equal.
///
/// # Errors
/// When it cannot be planned, or is of another kind.
pub fn sort_order(partitioning: &[u8], schema: &Schema) -> Result<LexOrdering> {
    match plan_partitioning(partitioning, schema).map_err(FragmentError::Rejected)? {
        ExchangePartitioning::Range(ordering, _) => Ok(ordering),
        _ => Err(FragmentError::Malformed("a sorted exchange without an order".into()).into()),
    }
}

impl DisplayAs for SortedMergeExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SortedMergeExec: [{}]", self.ordering)
    }
}

impl ExecutionPlan for SortedMergeExec {
    fn name(&self) -> &str {
        "SortedMergeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.child]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for key in self.ordering.iter() {
            if visit(&key.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [child]: [Arc<dyn ExecutionPlan>; 1] = children.try_into().map_err(|given: Vec<_>| {
            DataFusionError::Internal(format!("SortedMergeExec has one child, got {}", given.len()))
        })?;
        Ok(Arc::new(Self::try_new(self.node.clone(), child)?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        SortExec::new(self.ordering.clone(), Arc::clone(&self.child)).execute(partition, context)
    }
}
