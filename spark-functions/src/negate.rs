//! Negation, absolute value, and days added to dates.

use std::fmt::Debug;

use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::arithmetic::java_name;
use crate::decimal::{POW10, fits};
use crate::row::Kernel;
use crate::{EvalMode, SparkErrorKind, types, vector};

/// Spark's `DateAdd` and `DateSub`: days wrap as Java's `int` does.
#[derive(Debug)]
pub(crate) struct DateShift {
    pub(crate) subtract: bool,
    pub(crate) days: DataType,
}

impl DateShift {
    fn shift<T: ArrowPrimitiveType>(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue>
    where
        T::Native: Into<i32>,
    {
        vector::binary_total::<Date32Type, T, Date32Type>(
            &args[0],
            &args[1],
            rows,
            &DataType::Date32,
            |date, days| {
                let days: i32 = days.into();
                if self.subtract {
                    date.wrapping_sub(days)
                } else {
                    date.wrapping_add(days)
                }
            },
        )
    }
}

impl Kernel for DateShift {
    fn name(&self) -> &str {
        if self.subtract { "date_sub" } else { "date_add" }
    }

    fn return_type(&self) -> &DataType {
        &DataType::Date32
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        match self.days {
            DataType::Int8 => self.shift::<Int8Type>(args, rows),
            DataType::Int16 => self.shift::<Int16Type>(args, rows),
            _ => self.shift::<Int32Type>(args, rows),
        }
    }
}

/// How many digits of a decimal Spark keeps when it negates one: those of Java's DECIMAL128.
const NEGATED_DIGITS: u8 = 34;

/// A decimal as Spark negates it: of more than 34 digits, 34 remain, rounded half to even.
fn negated(value: i128, precision: u8, scale: i8) -> Result<i128> {
    if fits(value, NEGATED_DIGITS) {
        return Ok(-value);
    }
    let mut dropped = 1;
    while !fits(value / POW10[dropped], NEGATED_DIGITS) {
        dropped += 1;
    }
    let power = POW10[dropped];
    let (kept, rest) = (value / power, (value % power).abs());
    let up = rest * 2 > power || (rest * 2 == power && kept % 2 != 0);
    let mut kept = -(kept + if up { value.signum() } else { 0 });
    if let Some(rounded) = kept
        .checked_mul(power)
        .filter(|rounded| fits(*rounded, precision))
    {
        return Ok(rounded);
    }
    if !fits(kept, NEGATED_DIGITS) {
        (kept, dropped) = (kept / 10, dropped + 1);
    }
    let kind = SparkErrorKind::DecimalRounded {
        unscaled: kept.to_string(),
        unscaled_scale: i32::from(scale) - i32::try_from(dropped).unwrap_or(0),
        precision,
        scale,
    };
    Err(kind.into())
}

/// Spark's `UnaryMinus` (and `Abs` with `only_negative`).
#[derive(Debug)]
pub(crate) struct Negate {
    pub(crate) return_type: DataType,
    pub(crate) only_negative: bool,
    pub(crate) mode: EvalMode,
}

impl Negate {
    fn integers<T: ArrowPrimitiveType>(&self, args: &[ColumnarValue]) -> Result<ColumnarValue>
    where
        T::Native: ArrowNativeTypeOp + Debug,
    {
        vector::unary::<T, T>(&args[0], &self.return_type, |value| {
            if self.only_negative && value.is_ge(T::Native::ZERO) {
                return Ok(Some(value));
            }
            match (value.neg_checked(), self.mode) {
                (Ok(negated), _) => Ok(Some(negated)),
                (Err(_), EvalMode::Legacy) => Ok(Some(value.neg_wrapping())),
                (Err(_), EvalMode::Try) => Ok(None),
                (Err(_), EvalMode::Ansi) => {
                    let from_type = java_name(&self.return_type).into();
                    // Spark says no place for it.
                    Err(SparkErrorKind::ArithmeticOverflow { from_type }.into())
                }
            }
        })
    }
}

impl Kernel for Negate {
    fn name(&self) -> &str {
        if self.only_negative {
            "spark_abs"
        } else {
            "spark_negative"
        }
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        self.mode == EvalMode::Try
    }

    fn fallible(&self) -> bool {
        let wide =
            matches!(self.return_type, DataType::Decimal128(precision, _) if precision > NEGATED_DIGITS);
        wide || self.mode.fails() && types::is_integer(&self.return_type)
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        let (only, out) = (self.only_negative, &self.return_type);
        match out {
            DataType::Int8 => self.integers::<Int8Type>(args),
            DataType::Int16 => self.integers::<Int16Type>(args),
            DataType::Int32 => self.integers::<Int32Type>(args),
            DataType::Int64 => self.integers::<Int64Type>(args),
            DataType::Float32 => vector::unary::<Float32Type, Float32Type>(&args[0], out, |value| {
                Ok(Some(if only { value.abs() } else { -value }))
            }),
            DataType::Float64 => vector::unary::<Float64Type, Float64Type>(&args[0], out, |value| {
                Ok(Some(if only { value.abs() } else { -value }))
            }),
            &DataType::Decimal128(precision, scale) => {
                vector::unary::<Decimal128Type, Decimal128Type>(&args[0], out, |value| {
                    if only && value >= 0 {
                        return Ok(Some(value));
                    }
                    negated(value, precision, scale).map(Some)
                })
            }
            other => exec_err!("no negation of {other}"),
        }
    }
}
