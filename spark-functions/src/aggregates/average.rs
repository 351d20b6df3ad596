//! Spark's `Average`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, i256};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};
use super::sums::WideSums;
use crate::decimal::{div_half_up_wide, fits_wide, out_of_range, pow10_wide, quotient_digits};
use crate::{EvalMode, QueryContext, SparkErrorKind};

/// `Average` of decimals: buffer `sum, count`; the quotient is rounded half up to the result type.
#[derive(Debug, Clone)]
pub(crate) struct AvgDecimal {
    sum: (u8, i8),
    out: (u8, i8),
    in_rows: bool,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
    sums: WideSums,
    counts: Vec<i64>,
    overflowed: Vec<bool>,
}

impl AvgDecimal {
    pub(crate) fn new(
        sum: (u8, i8),
        out: (u8, i8),
        in_rows: bool,
        mode: EvalMode,
        context: Option<Arc<QueryContext>>,
    ) -> Self {
        Self {
            sum,
            out,
            in_rows,
            mode,
            context,
            sums: WideSums::default(),
            counts: vec![],
            overflowed: vec![],
        }
    }

    #[inline]
    fn add(&mut self, group: usize, value: i128) {
        if !self.in_rows {
            self.sums.add(group, value);
        } else if !self.sums.add_within(group, value, self.sum.0) {
            self.overflowed[group] = true;
        }
    }

    fn quotient(&self, sum: i256, count: i64) -> Result<Option<i128>> {
        let (precision, scale) = self.out;
        let count = i256::from_i128(i128::from(count));
        let lift = (i32::from(scale) - i32::from(self.sum.1)).unsigned_abs();
        let numerator = sum.checked_mul(pow10_wide(lift));
        match numerator.and_then(|numerator| fits_wide(div_half_up_wide(numerator, count), precision)) {
            Some(value) => Ok(Some(value)),
            None if self.mode.fails() => {
                // Spark keeps 39 digits after the point before it rounds, and prints them.
                let value = quotient_digits(
                    sum,
                    count,
                    39_u32.saturating_sub(self.sum.1.unsigned_abs().into()),
                );
                Err(out_of_range(&value, 39, precision, scale)
                    .at(self.context.as_ref())
                    .into())
            }
            None => Ok(None),
        }
    }
}

impl SparkGroups for AvgDecimal {
    fn resize(&mut self, groups: usize) {
        self.sums.low.resize(groups, 0);
        self.counts.resize(groups, 0);
        self.overflowed.resize(groups, false);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        let (raw, nulls) = (values.values(), values.nulls());
        rows.each(|row, group| {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                self.add(group, raw[row]);
                self.counts[group] += 1;
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let sums = states[0].as_primitive::<Decimal128Type>();
        let counts = states[1].as_primitive::<Int64Type>();
        for (row, &group) in groups.iter().enumerate() {
            self.counts[group] += counts.value(row);
            if sums.is_valid(row) {
                self.add(group, sums.value(row));
            } else {
                self.overflowed[group] = true;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (sums, counts) = (self.sums.take(emit), emit.take_needed(&mut self.counts));
        let overflowed = emit.take_needed(&mut self.overflowed);
        let mut out = Vec::with_capacity(sums.len());
        for ((sum, count), overflowed) in sums.into_iter().zip(counts).zip(overflowed) {
            out.push(match sum {
                _ if count == 0 => None,
                sum if !overflowed => self.quotient(sum, count)?,
                _ if !self.mode.fails() => None,
                _ => {
                    let kind = SparkErrorKind::DecimalSumOverflow {
                        function_name: "try_avg".into(),
                    };
                    return Err(kind.at(self.context.as_ref()).into());
                }
            });
        }
        Ok(Arc::new(
            Decimal128Array::from(out).with_precision_and_scale(self.out.0, self.out.1)?,
        ))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, counts) = (self.sums.take(emit), emit.take_needed(&mut self.counts));
        let overflowed = emit.take_needed(&mut self.overflowed);
        let (precision, scale) = self.sum;
        let sums: Decimal128Array = sums
            .into_iter()
            .zip(overflowed)
            .map(|(sum, overflowed)| fits_wide(sum, precision).filter(|_| !overflowed))
            .collect();
        Ok(vec![
            Arc::new(sums.with_precision_and_scale(precision, scale)?),
            Arc::new(Int64Array::from(counts)),
        ])
    }

    fn size(&self) -> usize {
        self.sums.size() + self.counts.capacity() * 8 + self.overflowed.capacity()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(
            self.sum,
            self.out,
            self.in_rows,
            self.mode,
            self.context.clone(),
        ))
    }
}

/// `Average` of other numbers, in double.
#[derive(Debug, Clone, Default)]
pub(crate) struct AvgFloat {
    sums: Vec<f64>,
    counts: Vec<i64>,
}

impl SparkGroups for AvgFloat {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0.0);
        self.counts.resize(groups, 0);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let widened = cast(&values[0], &DataType::Float64)?;
        let values = widened.as_primitive::<Float64Type>();
        rows.each(|row, group| {
            if values.is_valid(row) {
                self.sums[group] += values.value(row);
                self.counts[group] += 1;
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let sums = states[0].as_primitive::<Float64Type>();
        let counts = states[1].as_primitive::<Int64Type>();
        for (row, &group) in groups.iter().enumerate() {
            self.sums[group] += sums.value(row);
            self.counts[group] += counts.value(row);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums).into_iter();
        let counts = emit.take_needed(&mut self.counts);
        #[allow(clippy::cast_precision_loss)] // as Spark's cast of the count to double
        let quotient = |(sum, count): (f64, i64)| (count != 0).then(|| sum / count as f64);
        Ok(Arc::new(sums.zip(counts).map(quotient).collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![
            Arc::new(Float64Array::from(emit.take_needed(&mut self.sums))),
            Arc::new(Int64Array::from(emit.take_needed(&mut self.counts))),
        ])
    }

    fn size(&self) -> usize {
        (self.sums.capacity() + self.counts.capacity()) * 8
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::default())
    }
}
