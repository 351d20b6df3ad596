//! Spark's aggregate functions as DataFusion UDAFs. Each has the state columns of Spark's aggregation buffer.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::AggregateUDF;

use crate::{EvalMode, QueryContext, Unsupported};

/// `sum(input)` with the declared result type. State: `sum` for numbers, `sum, is_empty` for decimals and for `TRY` integers.
pub fn sum(
    input: &DataType,
    result: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = (input, result, mode, context);
    Err(Unsupported::new("sum", "not yet"))
}

/// `avg(input)`. `sum_type` is the type of the buffer's sum (`DECIMAL(p+10,s)` or `DOUBLE`). State: `sum, count`.
pub fn avg(
    input: &DataType,
    sum_type: &DataType,
    result: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = (input, sum_type, result, mode, context);
    Err(Unsupported::new("avg", "not yet"))
}

/// `count(...)` of rows in which no argument is NULL. State: `count`.
#[must_use]
pub fn count() -> Arc<AggregateUDF> {
    datafusion::functions_aggregate::count::count_udaf()
}

/// `min(input)`; NaN is the greatest float. State: the value.
pub fn min(input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = input;
    Ok(datafusion::functions_aggregate::min_max::min_udaf())
}

/// `max(input)`; NaN is the greatest float. State: the value.
pub fn max(input: &DataType) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = input;
    Ok(datafusion::functions_aggregate::min_max::max_udaf())
}

/// `first(input[, ignore_nulls])`. State: `first, is_set`.
pub fn first(input: &DataType, ignore_nulls: bool) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = (input, ignore_nulls);
    Err(Unsupported::new("first", "not yet"))
}

/// `last(input[, ignore_nulls])`. State: `last, is_set`.
pub fn last(input: &DataType, ignore_nulls: bool) -> Result<Arc<AggregateUDF>, Unsupported> {
    let _ = (input, ignore_nulls);
    Err(Unsupported::new("last", "not yet"))
}

/// Which moment [`variance`] computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum VarianceKind {
    VarPop,
    VarSamp,
    StddevPop,
    StddevSamp,
}

/// Spark's `CentralMomentAgg` over doubles. `null_on_divide_by_zero` is the negation of `spark.sql.legacy.statisticalAggregate`.
/// State: `n, avg, m2`, all doubles.
pub fn variance(kind: VarianceKind, null_on_divide_by_zero: bool) -> Arc<AggregateUDF> {
    let _ = (kind, null_on_divide_by_zero);
    datafusion::functions_aggregate::variance::var_samp_udaf()
}

/// An aggregate whose *update* merges state columns of `inner`: for Comet's mixed Partial/PartialMerge plans. Its arguments are the
/// state columns; its state and result are `inner`'s. `inner_inputs` are the argument types of `inner`.
pub fn merge_as_partial(inner: Arc<AggregateUDF>, inner_inputs: Vec<DataType>) -> Arc<AggregateUDF> {
    let _ = inner_inputs;
    inner
}

/// The value that a state column has before the first row, where it is not NULL.
#[doc(hidden)]
pub fn zero(data_type: &DataType) -> datafusion::common::Result<ScalarValue> {
    ScalarValue::new_zero(data_type)
}
