//! Spark's aggregate functions as DataFusion UDAFs. Each has the state columns of Spark's aggregation buffer.

mod average;
mod first_last;
mod groups;
mod merge;
mod min_max;
mod sums;
mod udaf;
mod variance;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::logical_expr::AggregateUDF;

use crate::{EvalMode, QueryContext, Unsupported, types};

pub use merge::merge_as_partial;
pub use variance::VarianceKind;

use udaf::{Kind, SparkAggregate, StateColumn};

/// `sum(input)` with the declared result type. State: `sum` for numbers; `sum, is_empty` for decimals and for `TRY` integers.
pub fn sum(
    input: &DataType,
    result: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let value = StateColumn::nullable("sum", result.clone());
    let empty = StateColumn::required("is_empty", DataType::Boolean);
    let (kind, states) = match (input, result) {
        (&DataType::Decimal128(_, from), &DataType::Decimal128(precision, scale)) if from == scale => (
            Kind::SumDecimal {
                precision,
                scale,
                mode,
                context,
            },
            vec![value, empty],
        ),
        (input, DataType::Int64) if types::is_integer(input) && mode == EvalMode::Try => {
            (Kind::SumInt { mode, context }, vec![value, empty])
        }
        (input, DataType::Int64) if types::is_integer(input) => (Kind::SumInt { mode, context }, vec![value]),
        (input, DataType::Float64) if types::is_float(input) => (Kind::SumFloat, vec![value]),
        _ => return Err(refuse("sum", input, result)),
    };
    Ok(SparkAggregate::create(
        "spark_sum",
        kind,
        1,
        result.clone(),
        states,
    ))
}

/// `avg(input)`. `sum_type` is the type of a decimal buffer's sum (`DECIMAL(p+10,s)`); other numbers are summed as doubles, whatever a plan says
/// of their sum. State: `sum, count`.
pub fn avg(
    input: &DataType,
    sum_type: &DataType,
    result: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let (kind, sum_type) = match (input, sum_type, result) {
        (
            &DataType::Decimal128(_, from),
            &DataType::Decimal128(sum_precision, sum_scale),
            &DataType::Decimal128(precision, scale),
        ) if from == sum_scale && scale >= sum_scale => {
            let kind = Kind::AvgDecimal {
                sum: (sum_precision, sum_scale),
                out: (precision, scale),
                mode,
                context,
            };
            (kind, sum_type.clone())
        }
        (input, _, DataType::Float64) if types::is_float(input) || types::is_integer(input) => {
            (Kind::AvgFloat, DataType::Float64)
        }
        _ => return Err(refuse("avg", input, result)),
    };
    let states = vec![
        StateColumn::nullable("sum", sum_type),
        StateColumn::required("count", DataType::Int64),
    ];
    Ok(SparkAggregate::create(
        "spark_avg",
        kind,
        1,
        result.clone(),
        states,
    ))
}

/// `count(...)` of rows in which no argument is NULL. State: `count`.
#[must_use]
pub fn count() -> Arc<AggregateUDF> {
    datafusion::functions_aggregate::count::count_udaf()
}

/// `min(input)`; NaN is the greatest float. State: the value.
pub fn min(input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    extremum(input, false)
}

/// `max(input)`; NaN is the greatest float. State: the value.
pub fn max(input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    extremum(input, true)
}

fn extremum(input: &DataType, greatest: bool) -> Result<Arc<AggregateUDF>, Unsupported> {
    let name = if greatest { "max" } else { "min" };
    match input {
        DataType::Float32 | DataType::Float64 => {
            let states = vec![StateColumn::nullable(name, input.clone())];
            let kind = Kind::Extremum { greatest };
            Ok(SparkAggregate::create(
                if greatest { "spark_max" } else { "spark_min" },
                kind,
                1,
                input.clone(),
                states,
            ))
        }
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Decimal128(..)
        | DataType::Date32
        | DataType::Timestamp(..)
        | DataType::Utf8
        | DataType::Binary => Ok(if greatest {
            datafusion::functions_aggregate::min_max::max_udaf()
        } else {
            datafusion::functions_aggregate::min_max::min_udaf()
        }),
        other => Err(refuse(name, other, other)),
    }
}

/// `first(input[, ignore_nulls])`. State: `first, is_set`.
pub fn first(input: &DataType, ignore_nulls: bool) -> Result<Arc<AggregateUDF>, Unsupported> {
    Ok(edge(input, ignore_nulls, false))
}

/// `last(input[, ignore_nulls])`. State: `last, is_set`.
pub fn last(input: &DataType, ignore_nulls: bool) -> Result<Arc<AggregateUDF>, Unsupported> {
    Ok(edge(input, ignore_nulls, true))
}

fn edge(input: &DataType, ignore_nulls: bool, last: bool) -> Arc<AggregateUDF> {
    let states = vec![
        StateColumn::nullable(if last { "last" } else { "first" }, input.clone()),
        StateColumn::required("is_set", DataType::Boolean),
    ];
    let name = if last { "spark_last" } else { "spark_first" };
    SparkAggregate::create(name, Kind::Edge { last, ignore_nulls }, 1, input.clone(), states)
}

/// Spark's `CentralMomentAgg` over doubles. `null_on_divide_by_zero` is the negation of `spark.sql.legacy.statisticalAggregate`.
/// State: `n, avg, m2`, all doubles.
#[must_use]
pub fn variance(kind: VarianceKind, null_on_divide_by_zero: bool) -> Arc<AggregateUDF> {
    let states = ["n", "avg", "m2"]
        .map(|name| StateColumn::required(name, DataType::Float64))
        .to_vec();
    let kind = Kind::Variance {
        kind,
        null_on_divide_by_zero,
    };
    SparkAggregate::create("spark_variance", kind, 1, DataType::Float64, states)
}

fn refuse(name: &str, input: &DataType, result: &DataType) -> Unsupported {
    let what = format!("{name}({})", types::sql_name(input));
    Unsupported::new(
        what,
        format!(
            "no exact implementation with result type {}",
            types::sql_name(result)
        ),
    )
}

impl Kind {
    fn accumulator(&self, result: &DataType) -> Box<dyn groups::SparkGroups> {
        match self {
            Self::SumDecimal {
                precision,
                scale,
                mode,
                context,
            } => Box::new(sums::SumDecimal::new(
                (*precision, *scale),
                *mode,
                context.clone(),
            )),
            Self::SumInt { mode, context } => Box::new(sums::SumInt::new(*mode, context.clone())),
            Self::SumFloat => Box::new(sums::SumFloat::default()),
            Self::AvgDecimal {
                sum,
                out,
                mode,
                context,
            } => Box::new(average::AvgDecimal::new(*sum, *out, *mode, context.clone())),
            Self::AvgFloat => Box::new(average::AvgFloat::default()),
            Self::Extremum { greatest } if result == &DataType::Float32 => {
                Box::new(min_max::Extremum::<Float32Type>::new(*greatest))
            }
            Self::Extremum { greatest } => Box::new(min_max::Extremum::<Float64Type>::new(*greatest)),
            Self::Edge { last, ignore_nulls } => {
                Box::new(first_last::Edge::new(result.clone(), *last, *ignore_nulls))
            }
            Self::Variance {
                kind,
                null_on_divide_by_zero,
            } => Box::new(variance::Variance::new(*kind, *null_on_divide_by_zero)),
        }
    }
}
