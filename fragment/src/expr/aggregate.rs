use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use cne_proto::spark_expression::agg_expr::ExprStruct as A;
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::regr::RegrType;
use cne_proto::spark_expression::{
    AggExpr, Covariance, EvalMode as WireMode, Expr, ListAgg, Percentile, PivotFirst, Regr, StatisticsType,
};
use cne_spark_functions::aggregates::{self, BitOp, PairKind, PairOptions, VarianceKind};
use cne_spark_functions::arithmetic::{ArithmeticOp, arithmetic};
use cne_spark_functions::cast::{self, CastOptions};
use cne_spark_functions::functions::{self, FunctionCall};
use cne_spark_functions::{EvalMode, QueryContext, compare};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal, lit};

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

/// Where an aggregate function is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its input is state: the arguments are not evaluated, only their types count.
    pub(crate) merges: bool,
    /// Spark keeps its buffer in rows.
    pub(crate) in_rows: bool,
}

/// Plans an aggregate function.
pub(crate) fn plan_aggregate(
    planner: &mut ExprPlanner<'_>,
    aggregate: &AggExpr,
    place: Place,
) -> Result<Aggregate, Fail> {
    planner.types_only = place.merges.then(Vec::new);
    let planned = plan(planner, aggregate, place);
    planner.types_only = None;
    planned
}

fn plan(planner: &mut ExprPlanner<'_>, aggregate: &AggExpr, place: Place) -> Result<Aggregate, Fail> {
    let Place { merges, in_rows } = place;
    let missing = || Issue::new("aggregate", "the plan leaves out its kind");
    let kind = aggregate.expr_struct.as_ref().ok_or_else(missing)?;
    let args = planner.plan_all(children(kind))?;
    let context = planner.context(aggregate.query_context.as_ref());
    let input = args.first().map_or(DataType::Null, |arg| arg.data_type.clone());
    let function = match kind {
        A::Count(_) => aggregates::count(),
        A::Sum(sum) => {
            let result = types::declared(sum.datatype.as_ref())?;
            aggregates::sum(&input, &result, in_rows, mode(sum.eval_mode()), context)?
        }
        A::Avg(avg) => {
            let result = types::declared(avg.datatype.as_ref())?;
            let sum = match &avg.sum_datatype {
                Some(sum) => types::to_arrow(sum)?,
                None => result.clone(),
            };
            aggregates::avg(&input, &sum, &result, in_rows, mode(avg.eval_mode()), context)?
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
        A::BitAndAgg(_) => aggregates::bits(BitOp::And, &input)?,
        A::BitOrAgg(_) => aggregates::bits(BitOp::Or, &input)?,
        A::BitXorAgg(_) => aggregates::bits(BitOp::Xor, &input)?,
        A::Covariance(covariance) => {
            two_doubles(&args)?;
            self::covariance(covariance)
        }
        A::Correlation(correlation) => {
            two_doubles(&args)?;
            let mut options = pair_options(mode(correlation.eval_mode()), context);
            options.null_on_divide_by_zero = correlation.null_on_divide_by_zero;
            aggregates::pairs(PairKind::Corr, options)
        }
        A::Regr(regr) => {
            match args.as_slice() {
                [one] => doubles(&one.data_type)?,
                _ => two_doubles(&args)?,
            }
            regression(regr, context)
        }
        A::CollectList(_) => aggregates::collect_list(&input),
        A::CollectSet(_) => aggregates::collect_set(&input)?,
        A::ListAgg(list) => aggregates::list_agg(&input, &delimiter(planner, list)?)?,
        A::Percentile(percentile) => aggregates::percentile(&input, percentage(planner, percentile)?)?,
        A::MaxBy(_) => aggregates::max_by(&input, &second(&args)?)?,
        A::MinBy(_) => aggregates::min_by(&input, &second(&args)?)?,
        A::PivotFirst(pivot) => aggregates::pivot_first(&second(&args)?, pivoted(planner, pivot, &input)?)?,
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
    let arg_types: Vec<DataType> = args.iter().map(|arg| arg.data_type.clone()).collect();
    let mut args: Vec<_> = args.into_iter().map(|Planned { expr, .. }| expr).collect();
    if matches!(kind, A::MaxBy(_) | A::MinBy(_))
        && let Some(order) = args.get_mut(1)
    {
        *order = compare::canonical_float(Arc::clone(order), &arg_types[1]);
    }
    let mut arg_types = arg_types;
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

fn two_doubles(args: &[Planned]) -> Result<(), Issue> {
    match args {
        [x, y] if x.data_type == DataType::Float64 && y.data_type == DataType::Float64 => Ok(()),
        _ => Err(Issue::new(
            "aggregate over pairs",
            "its arguments are not two DOUBLEs",
        )),
    }
}

fn second(args: &[Planned]) -> Result<DataType, Issue> {
    let missing = || Issue::new("aggregate", "the plan leaves out its second argument");
    Ok(args.get(1).ok_or_else(missing)?.data_type.clone())
}

fn pair_options(mode: EvalMode, context: Option<Arc<QueryContext>>) -> PairOptions {
    PairOptions {
        null_on_divide_by_zero: true,
        variance_of_pairs: true,
        constant_dependent_fits: true,
        mode,
        context,
    }
}

fn covariance(covariance: &Covariance) -> Arc<AggregateUDF> {
    let kind = match covariance.stats_type() {
        StatisticsType::Sample => PairKind::CovarSamp,
        StatisticsType::Population => PairKind::CovarPop,
    };
    let mut options = pair_options(EvalMode::Legacy, None);
    options.null_on_divide_by_zero = covariance.null_on_divide_by_zero;
    aggregates::pairs(kind, options)
}

fn regression(regr: &Regr, context: Option<Arc<QueryContext>>) -> Arc<AggregateUDF> {
    let kind = match regr.regr_type() {
        RegrType::Slope => PairKind::RegrSlope,
        RegrType::Intercept => PairKind::RegrIntercept,
        RegrType::R2 => PairKind::RegrR2,
        RegrType::Sxy => PairKind::RegrSxy,
        RegrType::Sxx | RegrType::Syy => return aggregates::variance(VarianceKind::Moment, true),
    };
    let mut options = pair_options(mode(regr.eval_mode()), context);
    options.variance_of_pairs = regr.filter_var_by_pair_nulls;
    options.constant_dependent_fits = regr.r2_constant_dependent_is_perfect_fit;
    aggregates::pairs(kind, options)
}

fn literal(planner: &mut ExprPlanner<'_>, expr: &Expr, what: &str) -> Result<ScalarValue, Fail> {
    let planned = planner.plan(expr)?;
    let value = planned.expr.downcast_ref::<Literal>().map(Literal::value);
    let value =
        value.ok_or_else(|| Issue::new(format!("aggregate {what}"), "an option of it is not a literal"))?;
    Ok(value.clone())
}

fn delimiter(planner: &mut ExprPlanner<'_>, list: &ListAgg) -> Result<String, Fail> {
    let Some(delimiter) = list.delimiter.as_ref() else {
        return Ok(String::new());
    };
    match literal(planner, delimiter, "listagg")? {
        ScalarValue::Utf8(text) => Ok(text.unwrap_or_default()),
        ScalarValue::Null => Ok(String::new()),
        other => Err(Issue::new(
            "aggregate listagg",
            format!("its delimiter is {}", other.data_type()),
        )
        .into()),
    }
}

fn percentage(planner: &mut ExprPlanner<'_>, percentile: &Percentile) -> Result<f64, Fail> {
    let missing = || Issue::new("aggregate percentile", "the plan leaves out its place");
    let percentage = percentile.percentage.as_ref().ok_or_else(missing)?;
    match literal(planner, percentage, "percentile")? {
        ScalarValue::Float64(Some(percentage)) => Ok(percentage),
        _ => Err(missing().into()),
    }
}

fn pivoted(
    planner: &mut ExprPlanner<'_>,
    pivot: &PivotFirst,
    column: &DataType,
) -> Result<Vec<ScalarValue>, Fail> {
    let values = pivot.pivot_values.iter();
    let values = values.map(|value| {
        let value = literal(planner, value, "pivot_first")?;
        match value.is_null() {
            true => Ok(ScalarValue::try_new_null(column)?),
            false if &value.data_type() == column => Ok(value),
            false => Err(Issue::new("aggregate pivot_first", "its columns have several types").into()),
        }
    });
    values.collect()
}

/// What Spark's optimizer makes of the average of a small decimal: that of its digits as doubles, divided and cast to the declared type. The
/// driver writes the decimal average into a window in its place, so it is taken apart again. `None` for every other aggregate.
pub(crate) fn small_decimal_average(aggregate: &mut Aggregate, name: &str) -> Result<Option<Planned>, Fail> {
    let &[DataType::Decimal128(precision, scale)] = aggregate.arg_types.as_slice() else {
        return Ok(None);
    };
    if aggregate.function.name() != "spark_avg" || precision > 11 {
        return Ok(None);
    }
    let field = Arc::new(Field::new("arg", aggregate.arg_types[0].clone(), true));
    let digits = functions::build(FunctionCall {
        name: "unscaled_value",
        args: aggregate.args.clone(),
        arg_fields: &[field],
        return_type: Some(DataType::Int64),
        fail_on_error: false,
        context: None,
    })?;
    let double = DataType::Float64;
    aggregate.function = aggregates::avg(&DataType::Int64, &double, &double, false, EvalMode::Legacy, None)?;
    aggregate.args = vec![digits];
    aggregate.arg_types = vec![DataType::Int64];
    let divided = arithmetic(
        ArithmeticOp::Divide,
        Arc::new(Column::new(name, 0)),
        lit(10_f64.powi(scale.into())),
        &double,
        &double,
        &double,
        EvalMode::Legacy,
        None,
    )?;
    let data_type = DataType::Decimal128(precision + 4, scale + 4);
    let options = CastOptions {
        mode: EvalMode::Legacy,
        timezone: "UTC".to_string(),
        context: None,
    };
    let expr = cast::cast(divided, &double, &data_type, &options)?;
    Ok(Some(Planned { expr, data_type }))
}

fn children(kind: &A) -> Vec<&Expr> {
    fn two<'e>(left: &'e Option<Expr>, right: &'e Option<Expr>) -> Vec<&'e Expr> {
        left.iter().chain(right).collect()
    }
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
        A::BitAndAgg(e) => e.child.iter().collect(),
        A::BitOrAgg(e) => e.child.iter().collect(),
        A::BitXorAgg(e) => e.child.iter().collect(),
        A::Covariance(e) => two(&e.child1, &e.child2),
        A::Correlation(e) => two(&e.child1, &e.child2),
        // The sums of squares come as one expression, sent twice.
        A::Regr(e) if matches!(e.regr_type(), RegrType::Sxx | RegrType::Syy) => e.child1.iter().collect(),
        A::Regr(e) => two(&e.child1, &e.child2),
        A::CollectList(e) => e.child.iter().collect(),
        A::CollectSet(e) => e.child.iter().collect(),
        A::ListAgg(e) => e.child.iter().collect(),
        A::Percentile(e) => e.child.iter().map(uncast).collect(),
        A::MaxBy(e) => two(&e.value, &e.ordering),
        A::MinBy(e) => two(&e.value, &e.ordering),
        A::PivotFirst(e) => two(&e.pivot_column, &e.value_column),
        _ => vec![],
    }
}

/// The number below the cast to DOUBLE that the driver puts around the argument of a percentile: Spark orders the numbers as they are.
fn uncast(expr: &Expr) -> &Expr {
    match &expr.expr_struct {
        Some(E::Cast(cast)) => cast.child.as_deref().unwrap_or(expr),
        _ => expr,
    }
}
