use std::sync::Arc;

use arrow::compute::SortOptions;
use cne_proto::spark_operator::{AggregateMode as WireMode, HashAggregate};
use cne_spark_functions::aggregates::merge_as_partial;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::InputOrderMode;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;

use super::{Plan, Planner, column_name};
use crate::error::{Fail, Issue};
use crate::expr::{Aggregate, Place, plan_aggregate};
use crate::types::same_values;

type Groups = Vec<(Arc<dyn PhysicalExpr>, String)>;

/// The aggregates of one node, ready for DataFusion.
#[derive(Default)]
struct Functions {
    exprs: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
}

impl<'a> Planner<'a> {
    /// Spark's aggregates. The output is the group keys, then state (Partial, PartialMerge) or results (Final).
    pub(super) fn aggregate(&mut self, id: usize, agg: &HashAggregate, child: Plan) -> Result<Plan, Fail> {
        let schema = child.schema();
        let modes = modes(agg)?;
        let planned = self.exprs(&schema).plan_all(&agg.grouping_exprs);
        // Beside texts and lists Spark keeps it in objects: the driver does not send the decimals that would tell.
        let in_rows = !agg.grouping_exprs.is_empty();
        let mut aggregates = vec![];
        for (expr, mode) in agg.agg_exprs.iter().zip(&modes) {
            let mut exprs = self.exprs(&schema);
            let place = Place {
                merges: *mode != WireMode::Partial,
                in_rows,
            };
            match plan_aggregate(&mut exprs, expr, place) {
                Ok(aggregate) => aggregates.push(aggregate),
                Err(fail) => self.findings.fail(fail),
            }
        }
        let planned = planned?;
        if aggregates.len() != modes.len() {
            return Err(Fail::Recorded);
        }
        if let Some(key) = planned.iter().find(|key| key.data_type.is_nested()) {
            return Err(Issue::new(
                "GROUP BY",
                format!("keys of type {} are not grouped", key.data_type),
            )
            .into());
        }
        let groups: Groups = planned
            .into_iter()
            .enumerate()
            .map(|(i, key)| (key.canonical(), column_name(id, i)))
            .collect();
        if aggregates.is_empty() {
            if groups.is_empty() {
                return Err(Issue::new("GROUP BY", "neither keys nor functions").into());
            }
            // Spark marks it Partial on both sides; as such it could give a group twice under memory pressure.
            return self.finish(agg, AggregateMode::Single, groups, Functions::default(), child);
        }
        let merges = modes.iter().filter(|mode| **mode != WireMode::Partial).count();
        if merges == 0 {
            let functions = build(id, groups.len(), aggregates)?;
            return self.finish(agg, AggregateMode::Partial, groups, functions, child);
        }
        let offset = match usize::try_from(agg.initial_input_buffer_offset) {
            Ok(0) => groups.len(),
            Ok(offset) => offset,
            Err(_) => return Err(Issue::new("aggregate", "a negative offset of its state").into()),
        };
        if merges < modes.len() {
            if modes.contains(&WireMode::Final) {
                return Err(Issue::new("aggregate", "Partial and Final functions in one node").into());
            }
            let functions = build_mixed(id, groups.len(), offset, aggregates, &modes, &child)?;
            return self.finish(agg, AggregateMode::Partial, groups, functions, child);
        }
        let mode = match modes[0] {
            WireMode::Final if modes.iter().all(|mode| *mode == WireMode::Final) => AggregateMode::Final,
            WireMode::PartialMerge if modes.iter().all(|mode| *mode == WireMode::PartialMerge) => {
                AggregateMode::PartialReduce
            }
            _ => return Err(Issue::new("aggregate", "Final and PartialMerge functions in one node").into()),
        };
        let functions = build(id, groups.len(), aggregates)?;
        let states = check_state(&functions.exprs, offset, &child)?;
        let (groups, child) = if offset == groups.len() {
            (groups, child)
        } else {
            state_first(id, groups, offset, states, child)?
        };
        self.finish(agg, mode, groups, functions, child)
    }

    fn finish(
        &mut self,
        agg: &HashAggregate,
        mode: AggregateMode,
        groups: Groups,
        functions: Functions,
        child: Plan,
    ) -> Result<Plan, Fail> {
        let schema = child.schema();
        let group_by = PhysicalGroupBy::new_single(groups);
        let exec = AggregateExec::try_new(mode, group_by, functions.exprs, functions.filters, child, schema)?;
        if !agg.ordered_by_grouping_keys || *exec.input_order_mode() == InputOrderMode::Sorted {
            return Ok(Arc::new(exec));
        }
        // Something above relies on the order of the keys.
        let keys = exec.output_group_expr().into_iter();
        let options = SortOptions {
            descending: false,
            nulls_first: true,
        };
        let order = LexOrdering::new(keys.map(|key| PhysicalSortExpr::new(key, options)));
        Ok(match order {
            Some(order) => Arc::new(SortExec::new(order, Arc::new(exec))),
            None => Arc::new(exec),
        })
    }
}

fn modes(agg: &HashAggregate) -> Result<Vec<WireMode>, Issue> {
    if agg.expr_modes.is_empty() {
        return Ok(vec![agg.mode(); agg.agg_exprs.len()]);
    }
    let modes: Vec<WireMode> = agg.expr_modes().collect();
    if modes.len() != agg.agg_exprs.len() {
        return Err(Issue::new("aggregate", "modes and functions differ in number"));
    }
    Ok(modes)
}

pub(super) fn build_one(name: String, aggregate: &Aggregate) -> Result<Arc<AggregateFunctionExpr>, Fail> {
    let Aggregate {
        function,
        args,
        schema,
        ..
    } = aggregate;
    let built = AggregateExprBuilder::new(Arc::clone(function), args.clone())
        .schema(Arc::clone(schema))
        .alias(name)
        .build()?;
    Ok(Arc::new(built))
}

fn build(id: usize, keys: usize, aggregates: Vec<Aggregate>) -> Result<Functions, Fail> {
    let mut functions = Functions::default();
    for (i, aggregate) in aggregates.into_iter().enumerate() {
        functions
            .exprs
            .push(build_one(column_name(id, keys + i), &aggregate)?);
        functions.filters.push(aggregate.filter);
    }
    Ok(functions)
}

/// Partial functions over rows beside others that merge state in the same rows (one DISTINCT among several functions).
fn build_mixed(
    id: usize,
    keys: usize,
    mut offset: usize,
    aggregates: Vec<Aggregate>,
    modes: &[WireMode],
    child: &Plan,
) -> Result<Functions, Fail> {
    let schema = child.schema();
    let mut functions = Functions::default();
    for (i, (mut aggregate, mode)) in aggregates.into_iter().zip(modes).enumerate() {
        let name = column_name(id, keys + i);
        let mut built = build_one(name.clone(), &aggregate)?;
        if *mode == WireMode::PartialMerge {
            let states = check_state(std::slice::from_ref(&built), offset, child)?;
            let columns = offset..offset + states;
            let column = |i: usize| Arc::new(Column::new(schema.field(i).name(), i)) as Arc<dyn PhysicalExpr>;
            aggregate.function = merge_as_partial(aggregate.function, aggregate.arg_types.clone());
            aggregate.args = columns.map(column).collect();
            aggregate.schema = Arc::clone(&schema);
            built = build_one(name, &aggregate)?;
            offset += states;
        }
        functions.exprs.push(built);
        functions.filters.push(aggregate.filter);
    }
    Ok(functions)
}

/// The producer's state columns must be those that these functions merge. Gives their number.
fn check_state(exprs: &[Arc<AggregateFunctionExpr>], offset: usize, child: &Plan) -> Result<usize, Fail> {
    let schema = child.schema();
    let mut index = offset;
    for expr in exprs {
        for state in expr.state_fields()? {
            let found = schema.fields().get(index).map(|field| field.data_type());
            if !found.is_some_and(|found| same_values(found, state.data_type())) {
                let found = found.map_or("nothing".to_string(), ToString::to_string);
                let reason = format!(
                    "its state in column {index} is {found}, not {}",
                    state.data_type()
                );
                return Err(Issue::new(format!("aggregate {}", expr.fun().name()), reason).into());
            }
            index += 1;
        }
    }
    Ok(index - offset)
}

/// Moves the state columns right behind the keys, where DataFusion expects them.
fn state_first(
    id: usize,
    groups: Groups,
    offset: usize,
    states: usize,
    child: Plan,
) -> Result<(Groups, Plan), Fail> {
    let schema = child.schema();
    let mut columns: Vec<ProjectionExpr> = vec![];
    let mut keys: Groups = vec![];
    for (i, (expr, name)) in groups.into_iter().enumerate() {
        let alias = format!("{name}k");
        keys.push((Arc::new(Column::new(&alias, i)), name));
        columns.push(ProjectionExpr { expr, alias });
    }
    for i in offset..offset + states {
        let expr = Arc::new(Column::new(schema.field(i).name(), i));
        columns.push(ProjectionExpr {
            expr,
            alias: format!("{}s", column_name(id, i)),
        });
    }
    Ok((keys, Arc::new(ProjectionExec::try_new(columns, child)?)))
}
