//! Spark's aggregate functions as DataFusion UDAFs. Each has the state columns of Spark's aggregation buffer.

mod average;
mod by;
mod collect;
mod first_last;
mod groups;
mod merge;
mod min_max;
mod pairs;
mod percentile;
mod pivot;
mod sums;
mod udaf;
mod variance;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf};
use datafusion::logical_expr::AggregateUDF;

use crate::{EvalMode, QueryContext, Unsupported, types};

pub use merge::merge_as_partial;
pub use pairs::{PairKind, PairOptions};
pub use variance::VarianceKind;

use udaf::{Kind, SparkAggregate, StateColumn};

/// `sum(input)` with the declared result type. State: `sum` for numbers; `sum, is_empty` for decimals and for `TRY` integers.
///
/// With `in_rows` Spark keeps the buffer in rows, as it does under GROUP BY: a decimal that leaves its type on the way is lost for good, though
/// the sum may come back into it. Without, as in windows and without keys, only results and states are checked.
pub fn sum(
    input: &DataType,
    result: &DataType,
    in_rows: bool,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let value = StateColumn::nullable("sum", result.clone());
    let empty = StateColumn::required("is_empty", DataType::Boolean);
    let (kind, states) = match (input, result) {
        (&DataType::Decimal128(own, from), &DataType::Decimal128(precision, scale)) if from == scale => (
            Kind::SumDecimal {
                precision,
                scale,
                in_rows: in_rows && is_narrow(own, precision),
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

/// Whether a sum of that many digits can leave its type: with ten digits more than its values it has room for all.
fn is_narrow(digits: u8, sum_digits: u8) -> bool {
    digits.saturating_add(10) > sum_digits
}

/// `avg(input)`. `sum_type` is the type of a decimal buffer's sum (`DECIMAL(p+10,s)`); other numbers are summed as doubles, whatever a plan says
/// of their sum. `in_rows` as for [`sum`]. State: `sum, count`.
pub fn avg(
    input: &DataType,
    sum_type: &DataType,
    result: &DataType,
    in_rows: bool,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let (kind, sum_type) = match (input, sum_type, result) {
        (
            &DataType::Decimal128(own, from),
            &DataType::Decimal128(sum_precision, sum_scale),
            &DataType::Decimal128(precision, scale),
        ) if from == sum_scale && scale >= sum_scale => {
            let kind = Kind::AvgDecimal {
                sum: (sum_precision, sum_scale),
                out: (precision, scale),
                in_rows: in_rows && is_narrow(own, sum_precision),
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

/// Covariance, correlation or regression of two doubles. State: doubles, `n, xAvg, yAvg, ck` and what the kind adds.
#[must_use]
pub fn pairs(kind: PairKind, options: PairOptions) -> Arc<AggregateUDF> {
    let columns = kind.columns().iter();
    let states = columns.map(|name| StateColumn::required(name, DataType::Float64));
    SparkAggregate::create(
        "spark_pairs",
        Kind::Pairs { kind, options },
        2,
        DataType::Float64,
        states.collect(),
    )
}

/// Which bits to combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BitOp {
    And,
    Or,
    Xor,
}

/// `bit_and`, `bit_or`, `bit_xor` of integers. State: the value.
pub fn bits(op: BitOp, input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    if !types::is_integer(input) {
        return Err(refuse("bit_and", input, input));
    }
    Ok(match op {
        BitOp::And => bit_and_udaf(),
        BitOp::Or => bit_or_udaf(),
        BitOp::Xor => bit_xor_udaf(),
    })
}

/// `collect_list(input)`, in order of arrival. State: the list.
#[must_use]
pub fn collect_list(input: &DataType) -> Arc<AggregateUDF> {
    collected("spark_collect_list", input, false)
}

/// `collect_set(input)` of values without parts, in order of arrival. State: the list.
pub fn collect_set(input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    if !collect::is_set_element(input) {
        return Err(refuse("collect_set", input, &collect::list_of(input)));
    }
    Ok(collected("spark_collect_set", input, true))
}

fn collected(name: &'static str, element: &DataType, distinct: bool) -> Arc<AggregateUDF> {
    let list = collect::list_of(element);
    let states = vec![StateColumn::nullable("buf", list.clone())];
    let element = element.clone();
    SparkAggregate::create(name, Kind::Collect { element, distinct }, 1, list, states)
}

/// `listagg(input, delimiter)` of texts without an order. State: the list of the texts.
pub fn list_agg(input: &DataType, delimiter: &str) -> Result<Arc<AggregateUDF>, Unsupported> {
    if input != &DataType::Utf8 {
        return Err(refuse("listagg", input, input));
    }
    let states = vec![StateColumn::nullable("buf", collect::list_of(input))];
    let delimiter = delimiter.to_string();
    Ok(SparkAggregate::create(
        "spark_listagg",
        Kind::ListAgg { delimiter },
        1,
        DataType::Utf8,
        states,
    ))
}

/// `percentile(input, at)` of numbers, `at` within 0 and 1. State: the list of the values.
pub fn percentile(input: &DataType, at: f64) -> Result<Arc<AggregateUDF>, Unsupported> {
    let number =
        types::is_integer(input) || types::is_float(input) || matches!(input, DataType::Decimal128(..));
    if !number || !(0.0..=1.0).contains(&at) {
        return Err(refuse("percentile", input, &DataType::Float64));
    }
    let kind = Kind::Percentile {
        element: input.clone(),
        at: at.to_bits(),
    };
    let states = vec![StateColumn::nullable("buf", collect::list_of(input))];
    Ok(SparkAggregate::create(
        "spark_percentile",
        kind,
        1,
        DataType::Float64,
        states,
    ))
}

/// `max_by(value, order)`. Floats of the order have to be canonical. State: the value, the order.
pub fn max_by(value: &DataType, order: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    beside_extremum(value, order, true)
}

/// `min_by(value, order)`. Floats of the order have to be canonical. State: the value, the order.
pub fn min_by(value: &DataType, order: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    beside_extremum(value, order, false)
}

fn beside_extremum(
    value: &DataType,
    order: &DataType,
    greatest: bool,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let name = if greatest { "max_by" } else { "min_by" };
    if !collect::is_set_element(order) {
        return Err(refuse(name, order, value));
    }
    let states = vec![
        StateColumn::nullable("value", value.clone()),
        StateColumn::nullable("order", order.clone()),
    ];
    let order_type = order.clone();
    Ok(SparkAggregate::create(
        if greatest { "spark_max_by" } else { "spark_min_by" },
        Kind::By { greatest, order_type },
        2,
        value.clone(),
        states,
    ))
}

/// Spark's `PivotFirst(column, value)`: a list with the last value beside each of `columns` that is not NULL. State: one value for each.
pub fn pivot_first(value: &DataType, columns: Vec<ScalarValue>) -> Result<Arc<AggregateUDF>, Unsupported> {
    let named = columns
        .iter()
        .all(|column| column.is_null() || pivot::is_pivot(&column.data_type()));
    if !named {
        return Err(refuse("pivot_first", value, value));
    }
    let states = (0..columns.len())
        .map(|i| StateColumn::nullable(format!("value_{i}"), value.clone()))
        .collect();
    let kind = Kind::Pivot {
        value_type: value.clone(),
        columns,
    };
    let list = collect::list_of(value);
    Ok(SparkAggregate::create("spark_pivot_first", kind, 2, list, states))
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
    fn accumulator(&self, result: &DataType) -> Result<Box<dyn groups::SparkGroups>> {
        Ok(match self {
            Self::SumDecimal {
                precision,
                scale,
                in_rows,
                mode,
                context,
            } => Box::new(sums::SumDecimal::new(
                (*precision, *scale),
                *in_rows,
                *mode,
                context.clone(),
            )),
            Self::SumInt { mode, context } => Box::new(sums::SumInt::new(*mode, context.clone())),
            Self::SumFloat => Box::new(sums::SumFloat::default()),
            Self::AvgDecimal {
                sum,
                out,
                in_rows,
                mode,
                context,
            } => Box::new(average::AvgDecimal::new(
                *sum,
                *out,
                *in_rows,
                *mode,
                context.clone(),
            )),
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
            Self::Pairs { kind, options } => Box::new(pairs::Pairs::new(*kind, options.clone())),
            Self::Collect { element, distinct } => Box::new(collect::Collect::new(element, *distinct)?),
            Self::ListAgg { delimiter } => Box::new(collect::ListAgg::new(delimiter)?),
            Self::Percentile { element, at } => {
                Box::new(percentile::Percentile::new(element, f64::from_bits(*at))?)
            }
            Self::By { greatest, order_type } => Box::new(by::By::new(*greatest, result, order_type)?),
            Self::Pivot { value_type, columns } => Box::new(pivot::Pivot::new(value_type, columns)),
        })
    }
}
