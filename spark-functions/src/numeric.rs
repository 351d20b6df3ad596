//! Numeric functions that are not operators.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray};
use arrow::compute::cast as arrow_cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::decimal::{POW10, div_half_up, fits, out_of_range};
use crate::row::{Function, Kernel};
use crate::{EvalMode, QueryContext, SparkErrorKind, vector};

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Ceil,
    Floor,
}

/// Spark's `Ceil` and `Floor`.
#[derive(Debug)]
pub(crate) struct WholeNumber {
    pub(crate) from: DataType,
    pub(crate) rounding: Rounding,
    pub(crate) return_type: DataType,
}

impl Kernel for WholeNumber {
    fn name(&self) -> &str {
        if self.rounding == Rounding::Ceil {
            "ceil"
        } else {
            "floor"
        }
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        let up = self.rounding == Rounding::Ceil;
        match self.from {
            DataType::Int64 => Ok(args[0].clone()),
            DataType::Decimal128(_, scale) => {
                let power = POW10[usize::from(scale.unsigned_abs())];
                vector::unary::<Decimal128Type, Decimal128Type>(&args[0], &self.return_type, |value| {
                    let floor = value.div_euclid(power);
                    Ok(Some(if up && value.rem_euclid(power) != 0 {
                        floor + 1
                    } else {
                        floor
                    }))
                })
            }
            _ => {
                let (array, _) = vector::operand(&args[0])?;
                let wide = ColumnarValue::Array(arrow_cast(&array, &DataType::Float64)?);
                // Java's d2l saturates, as Rust's cast does.
                vector::unary::<Float64Type, Int64Type>(&wide, &DataType::Int64, |value| {
                    Ok(Some(if up { value.ceil() } else { value.floor() } as i64))
                })
            }
        }
    }
}

/// Spark's `Round` of integers: half up at a negative number of digits.
#[derive(Debug)]
pub(crate) struct Round {
    pub(crate) return_type: DataType,
    pub(crate) digits: i64,
    pub(crate) mode: EvalMode,
    pub(crate) context: Option<Arc<QueryContext>>,
}

impl Round {
    fn integers<T: ArrowPrimitiveType>(
        &self,
        input: &ColumnarValue,
        wrap: fn(i128) -> T::Native,
    ) -> Result<ColumnarValue>
    where
        T::Native: Into<i128>,
    {
        let power = usize::try_from(-self.digits)
            .ok()
            .and_then(|digits| POW10.get(digits));
        vector::unary::<T, T>(input, &self.return_type, |value| {
            if self.digits >= 0 {
                return Ok(Some(value));
            }
            // Beyond 38 digits everything rounds to zero.
            let rounded = power.map_or(0, |power| div_half_up(value.into(), *power) * power);
            let wrapped = wrap(rounded);
            if self.mode.fails() && wrapped.into() != rounded {
                // What Java's BigDecimal says.
                let kind = SparkErrorKind::MathOverflow {
                    message: "Overflow".into(),
                    function_name: String::new(),
                };
                return Err(kind.at(self.context.as_ref()).into());
            }
            Ok(Some(wrapped))
        })
    }
}

impl Kernel for Round {
    fn name(&self) -> &str {
        "round"
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        self.mode.fails()
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        match self.return_type {
            DataType::Int8 => self.integers::<Int8Type>(&args[0], |value| value as i8),
            DataType::Int16 => self.integers::<Int16Type>(&args[0], |value| value as i16),
            DataType::Int32 => self.integers::<Int32Type>(&args[0], |value| value as i32),
            DataType::Int64 => self.integers::<Int64Type>(&args[0], |value| value as i64),
            ref other => exec_err!("no rounding of {other}"),
        }
    }
}

/// Spark's `UnscaledValue`: decimals of up to 18 digits as their integer.
#[derive(Debug)]
pub(crate) struct UnscaledValue;

impl Kernel for UnscaledValue {
    fn name(&self) -> &str {
        "unscaled_value"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Int64
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        #[allow(clippy::cast_possible_truncation)] // 18 digits fit
        vector::unary::<Decimal128Type, Int64Type>(&args[0], &DataType::Int64, |value| Ok(Some(value as i64)))
    }
}

/// Spark's `MakeDecimal`: an integer as the unscaled value of a decimal.
#[derive(Debug)]
pub(crate) struct MakeDecimal {
    pub(crate) precision: u8,
    pub(crate) scale: i8,
    pub(crate) return_type: DataType,
    pub(crate) fail_on_error: bool,
    pub(crate) context: Option<Arc<QueryContext>>,
}

impl Kernel for MakeDecimal {
    fn name(&self) -> &str {
        "make_decimal"
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        !self.fail_on_error && self.precision < 19
    }

    fn fallible(&self) -> bool {
        self.fail_on_error && self.precision < 19
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        vector::unary::<Int64Type, Decimal128Type>(&args[0], &self.return_type, |value| {
            let wide = i128::from(value);
            if fits(wide, self.precision) {
                return Ok(Some(wide));
            }
            if self.fail_on_error {
                let kind = out_of_range(
                    &value.to_string(),
                    i32::from(self.scale),
                    self.precision,
                    self.scale,
                );
                return Err(kind.at(self.context.as_ref()).into());
            }
            Ok(None)
        })
    }
}

/// Spark's `Signum` of doubles: zeros and NaN are their own.
#[derive(Debug)]
pub(crate) struct Signum;

impl Kernel for Signum {
    fn name(&self) -> &str {
        "signum"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        let sign = |value: f64| match value == 0.0 || value.is_nan() {
            true => value,
            false => value.signum(),
        };
        vector::unary::<Float64Type, Float64Type>(&args[0], &DataType::Float64, |value| Ok(Some(sign(value))))
    }
}

/// Spark's `IsNaN`: false for NULL.
pub(crate) fn is_nan() -> Function {
    Function::new("isnan", DataType::Boolean, |args, _| {
        let array = vector::operand(&args[0])?.0;
        let out: BooleanArray = match array.as_primitive_opt::<Float64Type>() {
            Some(doubles) => doubles
                .iter()
                .map(|value| Some(value.is_some_and(f64::is_nan)))
                .collect(),
            None => array
                .as_primitive::<Float32Type>()
                .iter()
                .map(|value| Some(value.is_some_and(f32::is_nan)))
                .collect(),
        };
        Ok(Arc::new(out))
    })
}
