//! Sort-merge joins that run as hash joins.
//!
//! Spark plans a sort-merge join wherever a side may be large. A task knows what it reads: where the rows of one side surely fit into a part
//! of its memory, a hash join gives the same rows without sorting both sides. Only the order of the rows differs, so a join stays as it is
//! where something above relies on the order.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::stats::Precision;
use datafusion::common::{JoinType, Result};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, PartitionMode, SortMergeJoinExec,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};

use crate::exec::{ExpandExec, InputExec};

type Plan = Arc<dyn ExecutionPlan>;

/// Bytes that a hash table needs for a row besides the row.
const TABLE_BYTES_PER_ROW: u64 = 24;
/// Assumed length of a value without a fixed one.
const VARIABLE_BYTES: u64 = 48;

/// Put into a session's configuration as an extension, it lets sort-merge joins run as hash joins.
#[derive(Debug, Clone, Copy)]
pub struct HashJoinBudget {
    /// Estimated bytes that all tables of one fragment together may take.
    pub bytes: u64,
}

/// Replaces sort-merge joins while `budget` lasts. `ordered` says whether the order of the plan's rows matters.
pub(crate) fn replace_sort_merge_joins(plan: Plan, ordered: bool, budget: HashJoinBudget) -> Result<Plan> {
    let mut left = budget.bytes;
    relax(plan, ordered, &mut left)
}

fn relax(plan: Plan, ordered: bool, budget: &mut u64) -> Result<Plan> {
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>()
        && !ordered
        && let Some(side) = affordable_side(join, *budget)
    {
        *budget -= side.bytes;
        return as_hash_join(join, side.is_right, budget);
    }
    let needs = order_needs(&plan, ordered);
    let children = plan.children().into_iter().cloned().zip(needs);
    let children = children
        .map(|(child, ordered)| relax(child, ordered, budget))
        .collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(plan, children)
}

/// Which children have to keep the order of their rows.
fn order_needs(plan: &Plan, ordered: bool) -> Vec<bool> {
    let children = plan.children().len();
    if plan.is::<SortExec>() {
        return vec![false];
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // Sums, counts, averages and extremes are the same in any order (floats as far as Spark's own are).
        let free = aggregate.aggr_expr().iter().all(|function| {
            let name = function.fun().name().to_ascii_lowercase();
            ["sum", "count", "avg", "min", "max"]
                .iter()
                .any(|known| name.contains(known))
        });
        return vec![ordered || !free];
    }
    if plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<ExpandExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
    {
        return vec![ordered; children];
    }
    // A merge join relies on it, a limit shows it, and of anything else nothing is known.
    vec![true; children]
}

struct Side {
    is_right: bool,
    bytes: u64,
}

/// The smaller side, when it is known to fit.
fn affordable_side(join: &SortMergeJoinExec, budget: u64) -> Option<Side> {
    let left = table_bytes(join.left()).map(|bytes| Side {
        is_right: false,
        bytes,
    });
    let right = table_bytes(join.right()).map(|bytes| Side {
        is_right: true,
        bytes,
    });
    let smaller = match (left, right) {
        (Some(left), Some(right)) if right.bytes < left.bytes => right,
        (Some(left), _) => left,
        (None, right) => right?,
    };
    (smaller.bytes <= budget).then_some(smaller)
}

fn table_bytes(side: &Plan) -> Option<u64> {
    let rows = most_rows(side)?;
    Some(rows.saturating_mul(row_bytes(&side.schema()) + TABLE_BYTES_PER_ROW))
}

/// An upper bound of a plan's rows, from the counts of its inputs.
fn most_rows(plan: &Plan) -> Option<u64> {
    if let Some(input) = plan.downcast_ref::<InputExec>() {
        let statistics = StatisticsContext::new()
            .compute(input, &StatisticsArgs::new())
            .ok()?;
        return match statistics.num_rows {
            Precision::Exact(rows) => u64::try_from(rows).ok(),
            _ => None,
        };
    }
    let keeps_or_drops = plan.is::<SortExec>()
        || plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<AggregateExec>();
    if keeps_or_drops {
        // An aggregate without groups has one row of nothing.
        return most_rows(plan.children().first()?).map(|rows| rows.max(1));
    }
    let (kind, left, right) = if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        (join.join_type(), join.left(), join.right())
    } else if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        (*join.join_type(), join.left(), join.right())
    } else {
        return None;
    };
    match kind {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => most_rows(left),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => most_rows(right),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => None,
    }
}

fn row_bytes(schema: &Schema) -> u64 {
    let width = |data_type: &DataType| match data_type {
        DataType::Boolean => 1,
        fixed => fixed
            .primitive_width()
            .map_or(VARIABLE_BYTES, |width| width as u64),
    };
    schema.fields().iter().map(|field| width(field.data_type())).sum()
}

fn as_hash_join(join: &SortMergeJoinExec, build_right: bool, budget: &mut u64) -> Result<Plan> {
    let left = relax(unsorted(join.left()), false, budget)?;
    let right = relax(unsorted(join.right()), false, budget)?;
    debug_assert_eq!(left.output_partitioning().partition_count(), 1);
    let exec = HashJoinExecBuilder::new(left, right, join.on().to_vec(), join.join_type())
        .with_filter(join.filter().clone())
        .with_partition_mode(PartitionMode::CollectLeft)
        .with_null_equality(join.null_equality())
        .build()?;
    match build_right {
        true => exec.swap_inputs(PartitionMode::CollectLeft),
        false => Ok(Arc::new(exec)),
    }
}

/// A side without the sort that only its merge needed.
fn unsorted(side: &Plan) -> Plan {
    match side.downcast_ref::<SortExec>() {
        Some(sort) if sort.fetch().is_none() => Arc::clone(sort.input()),
        _ => Arc::clone(side),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array};
    use arrow::compute::SortOptions;
    use arrow::record_batch::RecordBatch;
    use datafusion::common::NullEquality;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_expr::PhysicalSortExpr;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::limit::GlobalLimitExec;

    use super::*;

    fn sorted_input(name: &str, rows: i64) -> Plan {
        let values: ArrayRef = Arc::new((0..rows).map(Some).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([(name, values)]).unwrap();
        let source = MemorySourceConfig::try_new_exec(&[vec![batch.clone()]], batch.schema(), None).unwrap();
        let key = PhysicalSortExpr::new(Arc::new(Column::new(name, 0)), SortOptions::default());
        Arc::new(SortExec::new([key].into(), Arc::new(InputExec::one(source, 0))))
    }

    fn merge_join(left: Plan, right: Plan, kind: JoinType) -> Plan {
        let key = |plan: &Plan| Arc::new(Column::new(plan.schema().field(0).name(), 0)) as _;
        let on = vec![(key(&left), key(&right))];
        let options = vec![SortOptions::default()];
        let nulls = NullEquality::NullEqualsNothing;
        Arc::new(SortMergeJoinExec::try_new(left, right, on, None, kind, options, nulls).unwrap())
    }

    fn nodes(plan: &Plan, ordered: bool, bytes: u64) -> Vec<String> {
        let plan = replace_sort_merge_joins(Arc::clone(plan), ordered, HashJoinBudget { bytes }).unwrap();
        let text = displayable(plan.as_ref()).indent(false).to_string();
        let names = text
            .lines()
            .filter_map(|line| line.trim_start().split(':').next());
        names
            .filter(|name| name.ends_with("JoinExec") || *name == "SortExec")
            .map(str::to_owned)
            .collect()
    }

    const MERGE: [&str; 3] = ["SortMergeJoinExec", "SortExec", "SortExec"];

    #[test]
    fn a_join_whose_smaller_side_fits_is_not_sorted() {
        let join = merge_join(sorted_input("a", 1000), sorted_input("b", 10), JoinType::Inner);
        assert_eq!(
            nodes(&join, false, 10 * (8 + TABLE_BYTES_PER_ROW)),
            ["HashJoinExec"]
        );
        assert_eq!(nodes(&join, false, 10 * (8 + TABLE_BYTES_PER_ROW) - 1), MERGE);
        assert_eq!(nodes(&join, true, u64::MAX), MERGE);
    }

    #[test]
    fn tables_of_a_fragment_share_the_budget() {
        let inner = merge_join(sorted_input("a", 10), sorted_input("b", 10), JoinType::LeftSemi);
        let both = merge_join(inner, sorted_input("c", 10), JoinType::LeftAnti);
        let table = 10 * (8 + TABLE_BYTES_PER_ROW);
        assert_eq!(nodes(&both, false, 2 * table), ["HashJoinExec", "HashJoinExec"]);
        let mixed = ["HashJoinExec", "SortMergeJoinExec", "SortExec", "SortExec"];
        assert_eq!(nodes(&both, false, table), mixed);
    }

    #[test]
    fn a_side_of_unknown_size_is_not_built() {
        let fan_out = || merge_join(sorted_input("a", 10), sorted_input("b", 10), JoinType::Inner);
        let both = merge_join(fan_out(), fan_out(), JoinType::Inner);
        // The inner ones keep their order for the outer one.
        assert_eq!(
            nodes(&both, false, u64::MAX).first().unwrap(),
            "SortMergeJoinExec"
        );
        assert_eq!(nodes(&both, false, u64::MAX).len(), 7);
    }

    #[test]
    fn a_limit_shows_the_order() {
        let join = merge_join(sorted_input("a", 10), sorted_input("b", 10), JoinType::Inner);
        let limit: Plan = Arc::new(GlobalLimitExec::new(join, 0, Some(1)));
        assert_eq!(nodes(&limit, false, u64::MAX), MERGE);
    }
}
