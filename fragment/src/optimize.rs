//! The physical rules that are run on a fragment.
//!
//! Only what keeps Spark's errors: no rule moves an expression that can fail to rows that it would not have seen. So DataFusion's own
//! static filter pushdown and projection pushdown are left out; Spark has done both, and what remains is narrowing.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::ensure_coop::EnsureCooperative;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::limit_pushdown::LimitPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, try_embed_projection};

use crate::exec::ExpandExec;

/// Optimises a one-partition plan. Dynamic filters of hash joins and of TopK reach the scans below.
pub(crate) fn optimize(
    plan: Arc<dyn ExecutionPlan>,
    has_limit: bool,
    config: &ConfigOptions,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut config = config.clone();
    // It compares floats by Arrow's order.
    config.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    let mut plan = plan.transform_up(narrow)?.data;
    if has_limit {
        plan = LimitPushdown::new().optimize(plan, &config)?;
    }
    let plan = FilterPushdown::new_post_optimization().optimize(plan, &config)?;
    let plan = EnsureCooperative::new().optimize(plan, &config)?;
    Ok(plan.transform_up(yielding)?.data)
}

/// Lets a task be stopped between two batches of a join: it may give thousands of one batch that it has read, and DataFusion's own rule yields
/// where rows are read only.
fn yielding(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let multiplies = plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<ExpandExec>();
    Ok(match multiplies {
        true => Transformed::yes(Arc::new(CooperativeExec::new(plan))),
        false => Transformed::no(plan),
    })
}

/// Lets a filter or a join give only the columns that the projection above it uses.
fn narrow(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else {
        return Ok(Transformed::no(plan));
    };
    let child = projection.input();
    let columns_only = projection
        .expr()
        .iter()
        .all(|expr| expr.expr.downcast_ref::<Column>().is_some());
    let narrowed = if let Some(filter) = child.downcast_ref::<FilterExec>() {
        if filter.projection().is_some() {
            None
        } else {
            try_embed_projection(projection, filter)?
        }
    } else if let Some(join) = child.downcast_ref::<HashJoinExec>() {
        if join.contains_projection() {
            None
        } else {
            try_embed_projection(projection, join)?
        }
    } else if let Some(join) = child.downcast_ref::<NestedLoopJoinExec>() {
        if join.contains_projection() {
            None
        } else {
            try_embed_projection(projection, join)?
        }
    } else if columns_only {
        // A scan takes over the names; nothing is computed.
        match child.name() {
            "DataSourceExec" => child.try_swapping_with_projection(projection)?,
            _ => None,
        }
    } else {
        None
    };
    Ok(narrowed.map_or_else(|| Transformed::no(Arc::clone(&plan)), Transformed::yes))
}
