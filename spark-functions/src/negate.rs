//! Negation, absolute value, and days added to dates.

use std::fmt::Debug;
use std::sync::Arc;

use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::arithmetic::java_name;
use crate::row::Kernel;
use crate::{EvalMode, QueryContext, SparkErrorKind, types, vector};

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

/// Spark's `UnaryMinus` (and `Abs` with `only_negative`).
#[derive(Debug)]
pub(crate) struct Negate {
    pub(crate) return_type: DataType,
    pub(crate) only_negative: bool,
    pub(crate) mode: EvalMode,
    pub(crate) context: Option<Arc<QueryContext>>,
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
                    Err(SparkErrorKind::ArithmeticOverflow { from_type }
                        .at(self.context.as_ref())
                        .into())
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
        self.mode.fails() && types::is_integer(&self.return_type)
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
            DataType::Decimal128(..) => {
                vector::unary::<Decimal128Type, Decimal128Type>(&args[0], out, |value| {
                    Ok(Some(if only {
                        value.wrapping_abs()
                    } else {
                        value.wrapping_neg()
                    }))
                })
            }
            other => exec_err!("no negation of {other}"),
        }
    }
}
