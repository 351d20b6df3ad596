use std::collections::HashMap;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use cne_proto::spark_expression::Expr;
use cne_proto::spark_operator::{
    BroadcastNestedLoopJoin, BuildSide, HashJoin, JoinType as WireJoin, SortMergeJoin,
};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{
    HashJoinExecBuilder, NestedLoopJoinExec, PartitionMode, SortMergeJoinExec,
};

use super::{Plan, Planner, rename};
use crate::error::{Fail, Issue};
use crate::expr::order;
use crate::types::same_values;

type Key = Arc<dyn PhysicalExpr>;

fn join_type(wire: WireJoin) -> JoinType {
    match wire {
        WireJoin::Inner => JoinType::Inner,
        WireJoin::LeftOuter => JoinType::Left,
        WireJoin::RightOuter => JoinType::Right,
        WireJoin::FullOuter => JoinType::Full,
        WireJoin::LeftSemi => JoinType::LeftSemi,
        WireJoin::LeftAnti => JoinType::LeftAnti,
        WireJoin::Existence => JoinType::LeftMark,
    }
}

impl<'a> Planner<'a> {
    /// DataFusion builds the left side, so a build on the right is a swapped join with its columns put back in order.
    pub(super) fn hash_join(
        &mut self,
        id: usize,
        join: &HashJoin,
        left: Plan,
        right: Plan,
    ) -> Result<Plan, Fail> {
        let on = self.keys(&join.left_join_keys, &join.right_join_keys, &left, &right, false);
        let filter = self.join_filter(join.condition.as_ref(), &left, &right);
        let (on, filter) = (on?, filter?);
        let kind = join_type(join.join_type());
        let build_right = join.build_side() == BuildSide::BuildRight;
        if !join.streamed_sort_orders.is_empty() && kind != JoinType::Inner && !build_right {
            return Err(Issue::new(
                "hash join",
                "this join does not keep the order that its parent relies on",
            )
            .into());
        }
        if join.null_aware_anti_join && (kind != JoinType::LeftAnti || on.len() != 1 || filter.is_some()) {
            return Err(Issue::new(
                "null-aware anti join",
                "only one key and no further condition are executed",
            )
            .into());
        }
        let exec = HashJoinExecBuilder::new(left, right, on, kind)
            .with_filter(filter)
            .with_partition_mode(PartitionMode::CollectLeft)
            .with_null_equality(NullEquality::NullEqualsNothing)
            .with_null_aware(join.null_aware_anti_join)
            .build()?;
        // The null-aware join exists in one form only: it builds the side whose rows it gives.
        let plan = match build_right && !join.null_aware_anti_join {
            true => exec.swap_inputs(PartitionMode::CollectLeft)?,
            false => Arc::new(exec),
        };
        named(id, kind, plan)
    }

    pub(super) fn sort_merge_join(
        &mut self,
        id: usize,
        join: &SortMergeJoin,
        left: Plan,
        right: Plan,
    ) -> Result<Plan, Fail> {
        let on = self.keys(&join.left_join_keys, &join.right_join_keys, &left, &right, true);
        let filter = self.join_filter(join.condition.as_ref(), &left, &right);
        let (on, filter) = (on?, filter?);
        let kind = join_type(join.join_type());
        let options = if join.sort_options.is_empty() {
            vec![
                SortOptions {
                    descending: false,
                    nulls_first: true
                };
                on.len()
            ]
        } else {
            // Equal keys are dropped from an ordering, so each option is planned alone.
            let one = |order_by: &Expr, planner: &mut Self| -> Result<SortOptions, Fail> {
                let schema = left.schema();
                Ok(
                    order(&mut planner.exprs(&schema), std::slice::from_ref(order_by))?
                        .first()
                        .options,
                )
            };
            join.sort_options
                .iter()
                .map(|order_by| one(order_by, self))
                .collect::<Result<Vec<_>, _>>()?
        };
        if options.len() != on.len() {
            return Err(Issue::new("sort merge join", "keys and sort options differ in number").into());
        }
        let nulls = NullEquality::NullEqualsNothing;
        let plan = Arc::new(SortMergeJoinExec::try_new(
            left, right, on, filter, kind, options, nulls,
        )?);
        named(id, kind, plan)
    }

    pub(super) fn nested_loop_join(
        &mut self,
        id: usize,
        join: &BroadcastNestedLoopJoin,
        left: Plan,
        right: Plan,
    ) -> Result<Plan, Fail> {
        let filter = self.join_filter(join.condition.as_ref(), &left, &right)?;
        let kind = join_type(join.join_type());
        let exec = NestedLoopJoinExec::try_new(left, right, filter, &kind, None)?;
        let plan = match join.build_side() {
            BuildSide::BuildRight => exec.swap_inputs()?,
            BuildSide::BuildLeft => Arc::new(exec),
        };
        named(id, kind, plan)
    }

    fn keys(
        &mut self,
        left_keys: &[Expr],
        right_keys: &[Expr],
        left: &Plan,
        right: &Plan,
        merge: bool,
    ) -> Result<Vec<(Key, Key)>, Fail> {
        let left_planned = self.exprs(&left.schema()).plan_all(left_keys);
        let right_planned = self.exprs(&right.schema()).plan_all(right_keys)?;
        let left_planned = left_planned?;
        if left_planned.len() != right_planned.len() || left_planned.is_empty() {
            return Err(Issue::new("join", "its sides have different numbers of keys, or none").into());
        }
        let mut on = vec![];
        for (left, right) in left_planned.into_iter().zip(right_planned) {
            if !same_values(&left.data_type, &right.data_type) || left.data_type.is_nested() {
                let reason = format!(
                    "keys of types {} and {} are not joined",
                    left.data_type, right.data_type
                );
                return Err(Issue::new("join", reason).into());
            }
            // The merge's comparator knows no time zones; they are labels of the same values.
            let local = merge
                && matches!(
                    left.data_type,
                    DataType::Timestamp(TimeUnit::Microsecond, Some(_))
                );
            let key = |key: Key| -> Key {
                if !local {
                    return key;
                }
                Arc::new(CastExpr::new(key, DataType::Int64, None))
            };
            on.push((key(left.canonical()), key(right.canonical())));
        }
        Ok(on)
    }

    /// The condition is bound to the columns of the left side, then those of the right.
    fn join_filter(
        &mut self,
        condition: Option<&Expr>,
        left: &Plan,
        right: &Plan,
    ) -> Result<Option<JoinFilter>, Fail> {
        let Some(condition) = condition else {
            return Ok(None);
        };
        let (left, right) = (left.schema(), right.schema());
        let fields: Vec<Field> = left
            .fields()
            .iter()
            .chain(right.fields())
            .map(|field| field.as_ref().clone())
            .collect();
        let schema = Schema::new(fields);
        let expr = self.exprs(&schema).plan_predicate(Some(condition))?;
        let mut used: Vec<usize> = collect_columns(&expr).iter().map(Column::index).collect();
        used.sort_unstable();
        let width = left.fields().len();
        let indices = used.iter().map(|i| match i.checked_sub(width) {
            None => ColumnIndex {
                index: *i,
                side: JoinSide::Left,
            },
            Some(index) => ColumnIndex {
                index,
                side: JoinSide::Right,
            },
        });
        let places: HashMap<usize, usize> = used.iter().enumerate().map(|(place, i)| (*i, place)).collect();
        let expr = expr.transform_up(|node| {
            let moved = node.downcast_ref::<Column>().and_then(|column| {
                let place = places.get(&column.index())?;
                Some(Arc::new(Column::new(column.name(), *place)) as Arc<dyn PhysicalExpr>)
            });
            Ok(moved.map_or_else(|| Transformed::no(node), Transformed::yes))
        })?;
        let narrowed = schema
            .project(&used)
            .map_err(datafusion::error::DataFusionError::from)?;
        Ok(Some(JoinFilter::new(
            expr.data,
            indices.collect(),
            Arc::new(narrowed),
        )))
    }
}

/// Names of both sides stay unique in the block; only the mark of an existence join has a fixed name.
fn named(id: usize, kind: JoinType, plan: Plan) -> Result<Plan, Fail> {
    match kind {
        JoinType::LeftMark => rename(id, plan),
        _ => Ok(plan),
    }
}
