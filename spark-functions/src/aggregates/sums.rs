//! Spark's `Sum`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, i256};
use datafusion::common::Result;
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};
use crate::decimal::{fits, fits_wide, out_of_range};
use crate::{EvalMode, QueryContext, SparkErrorKind};

/// Sums of 128 bits with a carry for the few that leave them, so that no order of addition changes an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct WideSums {
    pub(crate) low: Vec<i128>,
    carries: HashMap<usize, i64>,
}

impl WideSums {
    /// Whether the sum is now within 128 bits, if it was before.
    #[inline]
    pub(crate) fn add(&mut self, group: usize, value: i128) -> bool {
        let (sum, overflow) = self.low[group].overflowing_add(value);
        self.low[group] = sum;
        if overflow {
            *self.carries.entry(group).or_insert(0) += if value < 0 { -1 } else { 1 };
        }
        !overflow
    }

    /// As [`Self::add`]; whether the sum has at most `precision` digits, if it had before.
    #[inline]
    pub(crate) fn add_within(&mut self, group: usize, value: i128, precision: u8) -> bool {
        self.add(group, value) && fits(self.low[group], precision)
    }

    /// The emitted sums, exact.
    pub(crate) fn take(&mut self, emit: EmitTo) -> Vec<i256> {
        let low = emit.take_needed(&mut self.low);
        let mut sums: Vec<i256> = low.into_iter().map(i256::from_i128).collect();
        if !self.carries.is_empty() {
            let emitted = sums.len();
            let mut rest = HashMap::new();
            for (group, carry) in self.carries.drain() {
                match sums.get_mut(group) {
                    Some(sum) => *sum = sum.wrapping_add(i256::from_parts(0, carry.into())),
                    None => drop(rest.insert(group - emitted, carry)),
                }
            }
            self.carries = rest;
        }
        sums
    }

    pub(crate) fn size(&self) -> usize {
        self.low.capacity() * size_of::<i128>() + self.carries.capacity() * 24
    }
}

/// `Sum` of decimals: buffer `sum, is_empty`. A sum that does not fit leaves the buffer as NULL and not empty, which is how the merging
/// side knows of the overflow; intermediate sums are not checked unless the buffer is in rows.
#[derive(Debug, Clone)]
pub(crate) struct SumDecimal {
    out: (u8, i8),
    in_rows: bool,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
    sums: WideSums,
    empty: Vec<bool>,
    overflowed: Vec<bool>,
}

impl SumDecimal {
    pub(crate) fn new(
        out: (u8, i8),
        in_rows: bool,
        mode: EvalMode,
        context: Option<Arc<QueryContext>>,
    ) -> Self {
        Self {
            out,
            in_rows,
            mode,
            context,
            sums: WideSums::default(),
            empty: vec![],
            overflowed: vec![],
        }
    }

    #[inline]
    fn add(&mut self, group: usize, value: i128) {
        self.empty[group] = false;
        if !self.in_rows {
            self.sums.add(group, value);
        } else if !self.sums.add_within(group, value, self.out.0) {
            self.overflowed[group] = true;
        }
    }
}

impl SparkGroups for SumDecimal {
    fn resize(&mut self, groups: usize) {
        self.sums.low.resize(groups, 0);
        self.empty.resize(groups, true);
        self.overflowed.resize(groups, false);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let values = values[0].as_primitive::<Decimal128Type>();
        let (raw, nulls) = (values.values(), values.nulls());
        rows.each(|row, group| {
            if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
                self.add(group, raw[row]);
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let sums = states[0].as_primitive::<Decimal128Type>();
        let empty = states[1].as_boolean();
        for (row, &group) in groups.iter().enumerate() {
            if empty.is_valid(row) && empty.value(row) {
                continue;
            }
            self.empty[group] = false;
            if sums.is_valid(row) {
                self.add(group, sums.value(row));
            } else {
                self.overflowed[group] = true;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (sums, empty) = (self.sums.take(emit), emit.take_needed(&mut self.empty));
        let overflowed = emit.take_needed(&mut self.overflowed);
        let (precision, scale) = self.out;
        let mut out = Vec::with_capacity(sums.len());
        for ((sum, empty), overflowed) in sums.into_iter().zip(empty).zip(overflowed) {
            out.push(match sum {
                _ if empty => None,
                sum if !overflowed && fits_wide(sum, precision).is_some() => fits_wide(sum, precision),
                _ if !self.mode.fails() => None,
                sum if !overflowed => {
                    let kind = out_of_range(&sum.to_string(), i32::from(scale), precision, scale);
                    return Err(kind.at(self.context.as_ref()).into());
                }
                _ => {
                    let kind = SparkErrorKind::DecimalSumOverflow {
                        function_name: "try_sum".into(),
                    };
                    return Err(kind.at(self.context.as_ref()).into());
                }
            });
        }
        Ok(Arc::new(
            Decimal128Array::from(out).with_precision_and_scale(precision, scale)?,
        ))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, empty) = (self.sums.take(emit), emit.take_needed(&mut self.empty));
        let overflowed = emit.take_needed(&mut self.overflowed);
        let (precision, scale) = self.out;
        let sums: Decimal128Array = sums
            .into_iter()
            .zip(overflowed)
            .map(|(sum, overflowed)| fits_wide(sum, precision).filter(|_| !overflowed))
            .collect();
        Ok(vec![
            Arc::new(sums.with_precision_and_scale(precision, scale)?),
            Arc::new(BooleanArray::from(empty)),
        ])
    }

    fn size(&self) -> usize {
        self.sums.size() + self.empty.capacity() + self.overflowed.capacity()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.out, self.in_rows, self.mode, self.context.clone()))
    }
}

/// `Sum` of integers: `BIGINT` that wraps, fails, or (`try_sum`) becomes NULL for good.
#[derive(Debug, Clone)]
pub(crate) struct SumInt {
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
    sums: Vec<i64>,
    set: Vec<bool>,
    overflowed: Vec<bool>,
}

impl SumInt {
    pub(crate) fn new(mode: EvalMode, context: Option<Arc<QueryContext>>) -> Self {
        Self {
            mode,
            context,
            sums: vec![],
            set: vec![],
            overflowed: vec![],
        }
    }

    #[inline]
    fn add(&mut self, group: usize, value: i64) -> Result<()> {
        let (sum, overflow) = self.sums[group].overflowing_add(value);
        if overflow {
            match self.mode {
                EvalMode::Legacy => {}
                EvalMode::Try => self.overflowed[group] = true,
                EvalMode::Ansi => {
                    let kind = SparkErrorKind::MathOverflow {
                        message: "long overflow".into(),
                        function_name: "try_add".into(),
                    };
                    // The addition is one of Spark's own making: its place is there, and empty.
                    let nowhere = self.context.as_ref().map(|_| Arc::default());
                    return Err(kind.at(nowhere.as_ref()).into());
                }
            }
        }
        self.sums[group] = sum;
        self.set[group] = true;
        Ok(())
    }

    fn take(&mut self, emit: EmitTo) -> (Int64Array, Vec<bool>) {
        let (sums, set) = (emit.take_needed(&mut self.sums), emit.take_needed(&mut self.set));
        let overflowed = emit.take_needed(&mut self.overflowed);
        let values = sums.into_iter().zip(&set).zip(overflowed);
        let values = values
            .map(|((sum, set), overflowed)| (*set && !overflowed).then_some(sum))
            .collect();
        (values, set)
    }
}

impl SparkGroups for SumInt {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0);
        self.set.resize(groups, false);
        self.overflowed.resize(groups, false);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let widened = cast(&values[0], &DataType::Int64)?;
        let values = widened.as_primitive::<Int64Type>();
        rows.try_each(|row, group| {
            if values.is_valid(row) {
                self.add(group, values.value(row))
            } else {
                Ok(())
            }
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let sums = states[0].as_primitive::<Int64Type>();
        let empty = states.get(1).map(|empty| empty.as_boolean());
        for (row, &group) in groups.iter().enumerate() {
            if sums.is_valid(row) {
                self.add(group, sums.value(row))?;
            } else if empty.is_some_and(|empty| empty.is_valid(row) && !empty.value(row)) {
                self.set[group] = true;
                self.overflowed[group] = true;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(self.take(emit).0))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let (sums, set) = self.take(emit);
        let mut columns: Vec<ArrayRef> = vec![Arc::new(sums)];
        if self.mode == EvalMode::Try {
            columns.push(Arc::new(
                set.into_iter().map(|set| Some(!set)).collect::<BooleanArray>(),
            ));
        }
        Ok(columns)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 8 + self.set.capacity() + self.overflowed.capacity()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.mode, self.context.clone()))
    }
}

/// `Sum` of floats, in double, from 0.0.
#[derive(Debug, Clone, Default)]
pub(crate) struct SumFloat {
    sums: Vec<f64>,
    set: Vec<bool>,
}

impl SumFloat {
    fn take(&mut self, emit: EmitTo) -> ArrayRef {
        let sums = emit.take_needed(&mut self.sums).into_iter();
        let set = emit.take_needed(&mut self.set);
        Arc::new(
            sums.zip(set)
                .map(|(sum, set)| set.then_some(sum))
                .collect::<Float64Array>(),
        )
    }
}

impl SparkGroups for SumFloat {
    fn resize(&mut self, groups: usize) {
        self.sums.resize(groups, 0.0);
        self.set.resize(groups, false);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let widened = cast(&values[0], &DataType::Float64)?;
        let values = widened.as_primitive::<Float64Type>();
        rows.each(|row, group| {
            if values.is_valid(row) {
                self.sums[group] += values.value(row);
                self.set[group] = true;
            }
        });
        Ok(())
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        self.update(states, &Rows::grouped(groups, None))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.take(emit))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit)])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * 8 + self.set.capacity()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::default())
    }
}
