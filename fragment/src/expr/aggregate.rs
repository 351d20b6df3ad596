use std::sync::Arc;

use arrow::datatypes::{DataType, Schema, SchemaRef};
use cne_proto::spark_expression::agg_expr::ExprStruct as A;
use cne_proto::spark_expression::{AggExpr, EvalMode as WireMode, Expr, StatisticsType};
use cne_spark_functions::EvalMode;
use cne_spark_functions::aggregates::{self, VarianceKind};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::lit;

use super::names::aggregate_name;
use super::{ExprPlanner, Planned};
use crate::error::{Fail, Issue};
use crate::types;

/// An aggregate function, its arguments, and the schema that these are bound to.
#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) function: Arc<AggregateUDF>,
    pub(crate) args: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) arg_types: Vec<DataType>,
    pub(crate) schema: SchemaRef,
    pub(crate) filter: Option<Arc<dyn PhysicalExpr>>,
}

fn mode(wire: WireMode) -> EvalMode {
    match wire {
        WireMode::Legacy => EvalMode::Legacy,
        WireMode::Try => EvalMode::Try,
        WireMode::Ansi => EvalMode::Ansi,
    }
}

/// Plans an aggregate function. With `merges` its input is state: the arguments are not evaluated, only their types count.
pub(crate) fn plan_aggregate(
    planner: &mut ExprPlanner<'_>,
    aggregate: &AggExpr,
    merges: bool,
) -> Result<Aggregate, Fail> {
    planner.types_only = merges.then(Vec::new);
    let planned = plan(planner, aggregate, merges);
    planner.types_only = None;
    planned
}

fn plan(planner: &mut ExprPlanner<'_>, aggregate: &AggExpr, merges: bool) -> Result<Aggregate, Fail> {
    let missing = || Issue::new("aggregate", "the plan leaves out its kind");
    let kind = aggregate.expr_struct.as_ref().ok_or_else(missing)?;
    let args = planner.plan_all(children(kind))?;
    let context = planner.context(aggregate.query_context.as_ref());
    let input = args.first().map_or(DataType::Null, |arg| arg.data_type.clone());
    let function = match kind {
        A::Count(_) => aggregates::count(),
        A::Sum(sum) => {
            let result = types::declared(sum.datatype.as_ref())?;
            aggregates::sum(&input, &result, mode(sum.eval_mode()), context)?
        }
        A::Avg(avg) => {
            let result = types::declared(avg.datatype.as_ref())?;
            let sum = match &avg.sum_datatype {
                Some(sum) => types::to_arrow(sum)?,
                None => result.clone(),
            };
            aggregates::avg(&input, &sum, &result, mode(avg.eval_mode()), context)?
        }
        A::Min(_) => aggregates::min(&input)?,
        A::Max(_) => aggregates::max(&input)?,
        A::First(first) => aggregates::first(&input, first.ignore_nulls)?,
        A::Last(last) => aggregates::last(&input, last.ignore_nulls)?,
        A::Variance(v) => {
            let kind = match v.stats_type() {
                StatisticsType::Sample => VarianceKind::VarSamp,
                StatisticsType::Population => VarianceKind::VarPop,
            };
            doubles(&input)?;
            aggregates::variance(kind, v.null_on_divide_by_zero)
        }
        A::Stddev(v) => {
            let kind = match v.stats_type() {
                StatisticsType::Sample => VarianceKind::StddevSamp,
                StatisticsType::Population => VarianceKind::StddevPop,
            };
            doubles(&input)?;
            aggregates::variance(kind, v.null_on_divide_by_zero)
        }
        other => {
            let reason = "there is no exact implementation of it";
            return Err(Issue::new(format!("aggregate {}", aggregate_name(other)), reason).into());
        }
    };
    if args.is_empty() && !matches!(kind, A::Count(_)) {
        let what = format!("aggregate {}", aggregate_name(kind));
        return Err(Issue::new(what, "the plan leaves out its argument").into());
    }
    // A filter was applied where rows became state.
    let filter = match &aggregate.filter {
        Some(filter) if !merges => Some(planner.plan_predicate(Some(filter))?),
        _ => None,
    };
    let schema = match planner.types_only.take() {
        Some(fields) => Schema::new(fields),
        None => planner.schema.clone(),
    };
    let arg_types = args.iter().map(|arg| arg.data_type.clone()).collect();
    let mut args: Vec<_> = args.into_iter().map(|Planned { expr, .. }| expr).collect();
    let mut arg_types: Vec<DataType> = arg_types;
    if args.is_empty() {
        args.push(lit(ScalarValue::Int32(Some(1))));
        arg_types.push(DataType::Int32);
    }
    Ok(Aggregate {
        function,
        args,
        arg_types,
        schema: Arc::new(schema),
        filter,
    })
}

fn doubles(input: &DataType) -> Result<(), Issue> {
    match input {
        DataType::Float64 => Ok(()),
        other => Err(Issue::new(
            "variance",
            format!("its argument is {other}, not DOUBLE"),
        )),
    }
}

fn children(kind: &A) -> Vec<&Expr> {
    match kind {
        A::Count(e) => e.children.iter().collect(),
        A::Sum(e) => e.child.iter().collect(),
        A::Avg(e) => e.child.iter().collect(),
        A::Min(e) => e.child.iter().collect(),
        A::Max(e) => e.child.iter().collect(),
        A::First(e) => e.child.iter().collect(),
        A::Last(e) => e.child.iter().collect(),
        A::Variance(e) => e.child.iter().collect(),
        A::Stddev(e) => e.child.iter().collect(),
        _ => vec![],
    }
}
