//! Spark's `Percentile`: exact, interpolated between the two values around it.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::EmitTo;

use super::collect::Collect;
use super::groups::{Rows, SparkGroups};
use crate::cast::decimal_to_double;

/// `Percentile` at one place of numbers of any type. State: the list of the values.
#[derive(Debug, Clone)]
pub(crate) struct Percentile {
    element: DataType,
    at: f64,
    values: Collect,
}

impl Percentile {
    pub(crate) fn new(element: &DataType, at: f64) -> Result<Self> {
        Ok(Self {
            element: element.clone(),
            at,
            values: Collect::new(element, false)?,
        })
    }
}

/// The values, sorted, that the place lies between, and how near it is to each; the same one twice where it lies on one.
fn around<T: Copy>(
    values: &mut [T],
    at: f64,
    order: impl Fn(&T, &T) -> Ordering,
) -> Option<(T, T, f64, f64)> {
    values.sort_by(order);
    #[allow(clippy::cast_precision_loss)] // as Spark's product of a long and a double
    let position = values.len().checked_sub(1)? as f64 * at;
    let (lower, higher) = (position.floor(), position.ceil());
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within the slice
    let value = |place: f64| values.get(place as usize).copied();
    Some((value(lower)?, value(higher)?, higher - position, position - lower))
}

fn interpolated(low: f64, high: f64, to_high: f64, to_low: f64) -> f64 {
    to_high * low + to_low * high
}

/// As `SQLOrderingUtil.compareDoubles`: NaN is the greatest, both zeros are equal.
fn compare(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn of_list(values: &ArrayRef, at: f64) -> Result<Option<f64>> {
    fn floats<T: ArrowPrimitiveType>(values: &[T::Native], at: f64) -> Option<f64>
    where
        T::Native: Into<f64>,
    {
        let mut values: Vec<f64> = values.iter().map(|value| (*value).into()).collect();
        let (low, high, to_high, to_low) = around(&mut values, at, |a, b| compare(*a, *b))?;
        let same = low == high || (low.is_nan() && high.is_nan());
        Some(if same {
            low
        } else {
            interpolated(low, high, to_high, to_low)
        })
    }
    fn wholes<N: Copy + Ord>(values: &[N], at: f64, double: impl Fn(N) -> f64) -> Option<f64> {
        let (low, high, to_high, to_low) = around(&mut values.to_vec(), at, N::cmp)?;
        let same = low == high;
        Some(if same {
            double(low)
        } else {
            interpolated(double(low), double(high), to_high, to_low)
        })
    }
    use arrow::datatypes as t;
    Ok(match values.data_type() {
        DataType::Int8 => wholes(values.as_primitive::<t::Int8Type>().values(), at, f64::from),
        DataType::Int16 => wholes(values.as_primitive::<t::Int16Type>().values(), at, f64::from),
        DataType::Int32 => wholes(values.as_primitive::<t::Int32Type>().values(), at, f64::from),
        #[allow(clippy::cast_precision_loss)] // as Java's `doubleValue`
        DataType::Int64 => wholes(values.as_primitive::<t::Int64Type>().values(), at, |value| {
            value as f64
        }),
        DataType::Float32 => floats::<t::Float32Type>(values.as_primitive::<t::Float32Type>().values(), at),
        DataType::Float64 => floats::<t::Float64Type>(values.as_primitive::<t::Float64Type>().values(), at),
        DataType::Decimal128(_, scale) => {
            let scale = *scale;
            wholes(values.as_primitive::<t::Decimal128Type>().values(), at, |value| {
                decimal_to_double(value, scale)
            })
        }
        other => return exec_err!("no percentile of {other}"),
    })
}

impl SparkGroups for Percentile {
    fn resize(&mut self, groups: usize) {
        self.values.resize(groups);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        self.values.update(values, rows)
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        self.values.merge(states, groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let lists = self.values.lists(emit)?;
        let results = (0..lists.len()).map(|list| of_list(&lists.value(list), self.at));
        Ok(Arc::new(results.collect::<Result<Float64Array>>()?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.values.state(emit)
    }

    fn size(&self) -> usize {
        self.values.size()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self {
            element: self.element.clone(),
            at: self.at,
            values: self.values.emptied(),
        })
    }
}
