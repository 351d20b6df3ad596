//! Spark's order of values that are not NULL, for functions that compare elements.

use std::cmp::Ordering;

use arrow::array::{Array, ArrowPrimitiveType, AsArray, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Float32Type, Float64Type, TimeUnit};
use datafusion::common::Result;

/// Compares a row of one array with a row of another; both are valid.
pub(crate) type Comparator = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync>;

/// Whether values of a type are ordered here: every type without parts.
pub(crate) fn comparable(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Float32
            | DataType::Float64
            | DataType::Decimal128(..)
            | DataType::Date32
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Utf8
            | DataType::Binary
    )
}

/// `SQLOrderingUtil.compareDoubles`: zeros are equal, NaN is equal to itself and above everything.
pub(crate) fn compare_floats<F: PartialOrd + Copy>(left: F, right: F) -> Ordering {
    #[allow(clippy::eq_op)] // NaN is what is not equal to itself
    let is_nan = |value: F| value != value;
    left.partial_cmp(&right)
        .unwrap_or_else(|| is_nan(left).cmp(&is_nan(right)))
}

fn floats<T: ArrowPrimitiveType>(left: &dyn Array, right: &dyn Array) -> Comparator
where
    T::Native: PartialOrd,
{
    let left = left.as_primitive::<T>().values().clone();
    let right = right.as_primitive::<T>().values().clone();
    Box::new(move |i, j| compare_floats(left[i], right[j]))
}

/// The order of the values of two arrays of one type.
pub(crate) fn comparator(left: &dyn Array, right: &dyn Array) -> Result<Comparator> {
    Ok(match left.data_type() {
        DataType::Float32 => floats::<Float32Type>(left, right),
        DataType::Float64 => floats::<Float64Type>(left, right),
        _ => make_comparator(left, right, SortOptions::default())?,
    })
}
