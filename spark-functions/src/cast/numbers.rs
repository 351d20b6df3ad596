//! Casts among numbers and booleans.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use arrow::compute::cast as arrow_cast;
use arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::SparkCast;
use super::parse::{Digits, java_double};
use crate::decimal::{POW10, fits, out_of_range, plain_string, rescale};
use crate::types::is_integer;
use crate::{EvalMode, vector};

/// Powers of ten that are exact doubles.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The double next to a decimal: one correctly rounded operation.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn decimal_to_double(value: i128, scale: i8) -> f64 {
    let exact = value.unsigned_abs() < 1 << 53;
    match EXACT_POWERS.get(usize::from(scale.unsigned_abs())) {
        Some(power) if exact => value as f64 / power,
        _ => format!("{value}e-{scale}").parse().unwrap_or(f64::NAN),
    }
}

/// The suffix of Spark's literals of an integer type.
fn suffix(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int8 => "T",
        DataType::Int16 => "S",
        DataType::Int64 => "L",
        _ => "",
    }
}

impl SparkCast {
    pub(super) fn numbers(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        if self.to == DataType::Boolean {
            return self.to_boolean(input);
        }
        match &self.from {
            DataType::Boolean => self.cast_boolean(input),
            from if is_integer(from) => self.cast_integer(input),
            DataType::Float32 | DataType::Float64 => self.cast_float(input),
            DataType::Decimal128(..) => self.cast_decimal(input),
            other => exec_err!("no cast from {other} to {}", self.to),
        }
    }

    fn to_boolean(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        fn test<T: ArrowPrimitiveType>(array: &ArrayRef, f: impl Fn(T::Native) -> bool) -> BooleanArray {
            BooleanArray::from_unary(array.as_primitive::<T>(), f)
        }
        let out = match &self.from {
            DataType::Int8 => test::<Int8Type>(&array, |value| value != 0),
            DataType::Int16 => test::<Int16Type>(&array, |value| value != 0),
            DataType::Int32 => test::<Int32Type>(&array, |value| value != 0),
            DataType::Int64 => test::<Int64Type>(&array, |value| value != 0),
            DataType::Float32 => test::<Float32Type>(&array, |value| value != 0.0),
            DataType::Float64 => test::<Float64Type>(&array, |value| value != 0.0),
            _ => test::<Decimal128Type>(&array, |value| value != 0),
        };
        Ok(ColumnarValue::Array(Arc::new(out)))
    }

    fn cast_boolean(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let booleans = array.as_boolean();
        if let DataType::Decimal128(precision, scale) = self.to {
            let one = POW10[usize::from(scale.unsigned_abs())];
            let out = vector::collect::<Decimal128Type>(
                booleans.len(),
                booleans.nulls().cloned(),
                &self.to,
                |row| {
                    if !booleans.value(row) {
                        Ok(Some(0))
                    } else if fits(one, precision) {
                        Ok(Some(one))
                    } else {
                        self.nothing(|| out_of_range("1", 0, precision, scale))
                    }
                },
            )?;
            return Ok(ColumnarValue::Array(Arc::new(out)));
        }
        Ok(ColumnarValue::Array(arrow_cast(&array, &self.to)?))
    }

    fn cast_integer(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        if matches!(self.to, DataType::Float32 | DataType::Float64) {
            return Ok(ColumnarValue::Array(arrow_cast(&array, &self.to)?));
        }
        let wide = ColumnarValue::Array(arrow_cast(&array, &DataType::Int64)?);
        match self.to {
            DataType::Int64 => Ok(wide),
            DataType::Int32 => self.narrow::<Int32Type>(&wide, |value| value as i32),
            DataType::Int16 => self.narrow::<Int16Type>(&wide, |value| value as i16),
            DataType::Int8 => self.narrow::<Int8Type>(&wide, |value| value as i8),
            DataType::Decimal128(precision, scale) => {
                let power = POW10[usize::from(scale.unsigned_abs())];
                vector::unary::<Int64Type, Decimal128Type>(&wide, &self.to, |value| {
                    match i128::from(value).checked_mul(power) {
                        Some(scaled) if fits(scaled, precision) => Ok(Some(scaled)),
                        _ => self.nothing(|| out_of_range(&value.to_string(), 0, precision, scale)),
                    }
                })
            }
            _ => exec_err!("no cast from {} to {}", self.from, self.to),
        }
    }

    fn narrow<T: ArrowPrimitiveType>(
        &self,
        wide: &ColumnarValue,
        wrap: fn(i64) -> T::Native,
    ) -> Result<ColumnarValue>
    where
        T::Native: Into<i64>,
    {
        vector::unary::<Int64Type, T>(wide, &self.to, |value| {
            let wrapped = wrap(value);
            if self.mode == EvalMode::Legacy || wrapped.into() == value {
                Ok(Some(wrapped))
            } else {
                self.nothing(|| self.overflow(format!("{value}{}", suffix(&self.from))))
            }
        })
    }

    /// Java's `d2i`/`d2l` saturate; ANSI asks whether the value lies in the range.
    fn cast_float(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        if let DataType::Decimal128(precision, scale) = self.to {
            return self.float_to_decimal(&array, precision, scale);
        }
        match &self.to {
            DataType::Int64 => {
                self.truncate::<Int64Type>(&array, i64::MIN as f64, i64::MAX as f64, |v| v as i64)
            }
            DataType::Int32 => {
                self.truncate::<Int32Type>(&array, f64::from(i32::MIN), f64::from(i32::MAX), |v| v as i32)
            }
            DataType::Int16 => {
                self.truncate::<Int16Type>(&array, f64::from(i16::MIN), f64::from(i16::MAX), |v| {
                    v as i32 as i16
                })
            }
            DataType::Int8 => {
                self.truncate::<Int8Type>(&array, f64::from(i8::MIN), f64::from(i8::MAX), |v| v as i32 as i8)
            }
            to => Ok(ColumnarValue::Array(arrow_cast(&array, to)?)),
        }
    }

    fn truncate<T: ArrowPrimitiveType>(
        &self,
        array: &ArrayRef,
        least: f64,
        greatest: f64,
        convert: fn(f64) -> T::Native,
    ) -> Result<ColumnarValue> {
        let wide = ColumnarValue::Array(arrow_cast(array, &DataType::Float64)?);
        vector::unary::<Float64Type, T>(&wide, &self.to, |value| {
            if self.mode == EvalMode::Legacy || (value.floor() <= greatest && value.ceil() >= least) {
                Ok(Some(convert(value)))
            } else {
                let bare = self.from == DataType::Float32 || !value.is_finite();
                let letter = if bare { "" } else { "D" };
                self.nothing(|| self.overflow(format!("{}{letter}", java_double(value))))
            }
        })
    }

    fn float_to_decimal(&self, array: &ArrayRef, precision: u8, scale: i8) -> Result<ColumnarValue> {
        let wide = ColumnarValue::Array(arrow_cast(array, &DataType::Float64)?);
        vector::unary::<Float64Type, Decimal128Type>(&wide, &self.to, |value| {
            // Infinity and NaN have no digits: NULL in every mode.
            let Some(digits) = value
                .is_finite()
                .then(|| Digits::parse(&format!("{value:e}")))
                .flatten()
            else {
                return Ok(None);
            };
            match digits.unscaled(scale) {
                Some(unscaled) if fits(unscaled, precision) => Ok(Some(unscaled)),
                _ => self.nothing(|| {
                    let (unscaled, own_scale) = digits.plain();
                    out_of_range(&unscaled, own_scale, precision, scale)
                }),
            }
        })
    }

    fn cast_decimal(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let DataType::Decimal128(_, from_scale) = self.from else {
            return exec_err!("{} is not a decimal", self.from);
        };
        match self.to {
            DataType::Decimal128(precision, scale) => {
                vector::unary::<Decimal128Type, Decimal128Type>(input, &self.to, |value| {
                    match rescale(value, from_scale, scale) {
                        Some(scaled) if fits(scaled, precision) => Ok(Some(scaled)),
                        _ => self.nothing(|| {
                            out_of_range(&value.to_string(), i32::from(from_scale), precision, scale)
                        }),
                    }
                })
            }
            DataType::Float64 => vector::unary::<Decimal128Type, Float64Type>(input, &self.to, |value| {
                Ok(Some(decimal_to_double(value, from_scale)))
            }),
            DataType::Float32 => vector::unary::<Decimal128Type, Float32Type>(input, &self.to, |value| {
                Ok(Some(format!("{value}e-{from_scale}").parse().unwrap_or(f32::NAN)))
            }),
            DataType::Int64 => self.whole::<Int64Type>(input, from_scale, |value| value as i64),
            DataType::Int32 => self.whole::<Int32Type>(input, from_scale, |value| value as i32),
            DataType::Int16 => self.whole::<Int16Type>(input, from_scale, |value| value as i16),
            DataType::Int8 => self.whole::<Int8Type>(input, from_scale, |value| value as i8),
            _ => exec_err!("no cast from {} to {}", self.from, self.to),
        }
    }

    fn whole<T: ArrowPrimitiveType>(
        &self,
        input: &ColumnarValue,
        from_scale: i8,
        wrap: fn(i128) -> T::Native,
    ) -> Result<ColumnarValue>
    where
        T::Native: Into<i128>,
    {
        let power = POW10[usize::from(from_scale.unsigned_abs())];
        vector::unary::<Decimal128Type, T>(input, &self.to, |value| {
            let whole = value / power;
            let wrapped = wrap(whole);
            if self.mode == EvalMode::Legacy || wrapped.into() == whole {
                Ok(Some(wrapped))
            } else {
                let literal = plain_string(&value.to_string(), i32::from(from_scale));
                self.nothing(|| self.overflow(format!("{literal}BD")))
            }
        })
    }
}
