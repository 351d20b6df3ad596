use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DataFusionError, JoinType, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::{CooperativeExec, make_cooperative};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use futures::future::try_join_all;
use futures::{FutureExt, TryFutureExt, TryStreamExt};

use super::super::InputExec;
use super::{Once, Place, SharedInputs};
use crate::plan::Plan;

/// A hash table that several joins probe. DataFusion shares the table between the partitions of one join, and its builder hands it on
/// to a join with other children: `table` is a join without probe rows, whose execution builds it.
pub(crate) struct Build {
    table: Arc<HashJoinExec>,
    /// Whether the table fits.
    ready: Once<bool>,
}

impl Build {
    /// The table of `join`, built when somebody waits for it.
    pub(super) fn of(join: &HashJoinExec, context: &Arc<TaskContext>) -> Result<Self> {
        let nothing: Plan = Arc::new(EmptyExec::new(join.right().schema()));
        // The bounds of the keys are kept for a join with a filter for its probe side, and only if that side has it.
        let keys = join.on().iter().map(|(_, right)| Arc::clone(right)).collect();
        let filter = dynamic_filter(join).map(|_| Arc::new(DynamicFilterPhysicalExpr::new(keys, lit(true))));
        let probe: Plan = match &filter {
            Some(filter) => Arc::new(FilterExec::try_new(Arc::clone(filter) as _, nothing)?),
            None => nothing,
        };
        let table = join.builder().reset_state().with_fetch(None);
        let table = table
            .with_new_children(vec![Arc::clone(join.left()), probe])?
            .build()?;
        let table = Arc::new(match filter {
            Some(filter) => table.with_dynamic_filter_expr(filter)?,
            None => table,
        });
        let building = build(Arc::clone(&table), Arc::clone(context));
        let ready = building.map_err(Arc::new).boxed().shared();
        Ok(Self { table, ready })
    }

    /// Whether building it has failed.
    pub(super) fn failed(&self) -> bool {
        matches!(self.ready.peek(), Some(Err(_)))
    }

    /// Whether the table was built and does not fit.
    pub(super) fn too_large(&self) -> bool {
        matches!(self.ready.peek(), Some(Ok(false)))
    }

    /// `join` over this table; `None` if it needs another one.
    pub(super) fn join(&self, join: &HashJoinExec) -> Result<Option<HashJoinExec>> {
        let table = &self.table;
        let keys = |join: &HashJoinExec| -> Vec<Arc<dyn PhysicalExpr>> {
            join.on().iter().map(|(left, _)| Arc::clone(left)).collect()
        };
        if table.join_type() != join.join_type()
            || table.null_equality() != join.null_equality()
            || table.left().schema() != join.left().schema()
            || keys(table) != keys(join)
        {
            return Ok(None);
        }
        let shared = table
            .builder()
            .with_on(join.on().to_vec())
            .with_filter(join.filter().cloned())
            .with_projection_ref(join.projection.clone())
            .with_fetch(join.fetch())
            .with_new_children(vec![Arc::clone(join.left()), Arc::clone(join.right())])?
            .build()?;
        Ok(Some(match dynamic_filter(join) {
            Some(filter) => shared.with_dynamic_filter_expr(filter)?,
            None => shared,
        }))
    }
}

impl fmt::Debug for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Build")
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

async fn build(table: Arc<HashJoinExec>, context: Arc<TaskContext>) -> Result<bool> {
    let started = Instant::now();
    let rows = make_cooperative(table.execute(0, context)?);
    match rows.try_for_each(|_| async { Ok(()) }).await {
        Ok(()) => {
            let ms = started.elapsed().as_millis() as u64;
            tracing::debug!(ms, "a hash table is shared");
            Ok(true)
        }
        Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
            tracing::debug!(%error, "a hash table is too large to be shared");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// The filter that the join gives to its probe side.
pub(super) fn dynamic_filter(join: &HashJoinExec) -> Option<Arc<DynamicFilterPhysicalExpr>> {
    let produced = join.dynamic_expressions_produced().into_iter().next()?;
    (produced as Arc<dyn Any + Send + Sync>).downcast().ok()
}

/// Puts shared tables into the joins of a one-partition plan that can have them.
pub(crate) fn share_builds(plan: Plan, shared: &SharedInputs) -> Result<(Plan, Vec<Arc<Build>>)> {
    let mut builds = vec![];
    let plan = plan.transform_up(|node| {
        let found = node.downcast_ref::<HashJoinExec>();
        let Some((join, place)) = found.and_then(|join| Some((join, whole_build_side(join)?))) else {
            return Ok(Transformed::no(node));
        };
        Ok(match shared.build(place, join)? {
            Some((build, join)) => {
                builds.push(build);
                Transformed::yes(Arc::new(join) as Plan)
            }
            None => Transformed::no(node),
        })
    })?;
    Ok((plan.data, builds))
}

/// Waits until the tables are built; `false` if one of them does not fit.
pub(crate) async fn all_ready(builds: &[Arc<Build>]) -> Result<bool> {
    let ready = try_join_all(builds.iter().map(|build| build.ready.clone())).await;
    Ok(ready
        .map_err(DataFusionError::Shared)?
        .into_iter()
        .all(|fits| fits))
}

/// The input that the join builds its table from, if it is read whole and goes into the table as it is, and if the join only ever reads the
/// table. A join that gives rows of the build side of its own accord marks in the table which of them have met a partner; those of one task
/// are not those of another.
fn whole_build_side(join: &HashJoinExec) -> Option<Place> {
    let reads_only = matches!(
        join.join_type(),
        JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark
    );
    if !reads_only || join.null_aware || *join.partition_mode() != PartitionMode::CollectLeft {
        return None;
    }
    let mut node = join.left();
    loop {
        if let Some(input) = node.downcast_ref::<InputExec>() {
            return input.place();
        } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
            if !projection.expr().iter().all(|column| is_relabelled(&column.expr)) {
                return None;
            }
            node = projection.input();
        } else {
            node = node.downcast_ref::<CooperativeExec>()?.input();
        }
    }
}

fn is_relabelled(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match expr.downcast_ref::<CastExpr>() {
        Some(cast) => is_relabelled(cast.expr()),
        None => expr.downcast_ref::<Column>().is_some(),
    }
}
