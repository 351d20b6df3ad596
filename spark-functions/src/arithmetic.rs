//! Arithmetic on numbers and dates.

use std::fmt::{Debug, Display};
use std::sync::Arc;

use arrow::datatypes::{
    ArrowNativeTypeOp, ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::decimal_binary::DecimalBinary;
use crate::negate::{DateShift, Negate};
use crate::row::{Kernel, SparkExpr};
use crate::{EvalMode, QueryContext, SparkErrorKind, Unsupported, types, vector};

/// The binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// Spark's `Add`.
    Add,
    /// Spark's `Subtract`.
    Subtract,
    /// Spark's `Multiply`.
    Multiply,
    /// Spark's `Divide` (floats and decimals).
    Divide,
    /// Spark's `IntegralDivide`; the result is `BIGINT`, or a decimal of scale 0 for the caller to cast.
    IntegralDivide,
    /// Spark's `Remainder`; the sign follows the dividend.
    Remainder,
}

impl ArithmeticOp {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "spark_add",
            Self::Subtract => "spark_subtract",
            Self::Multiply => "spark_multiply",
            Self::Divide => "spark_divide",
            Self::IntegralDivide => "spark_integral_divide",
            Self::Remainder => "spark_remainder",
        }
    }

    fn symbol_and_hint(self) -> (&'static str, &'static str) {
        match self {
            Self::Add => ("+", "try_add"),
            Self::Subtract => ("-", "try_subtract"),
            Self::Multiply => ("*", "try_multiply"),
            Self::Divide | Self::IntegralDivide => ("/", "try_divide"),
            Self::Remainder => ("%", "try_mod"),
        }
    }

    fn divides(self) -> bool {
        matches!(self, Self::Divide | Self::IntegralDivide | Self::Remainder)
    }
}

/// `left op right`. `left_type` and `right_type` are the operands' types; `return_type` is the declared type of the result (decimals
/// need it; other types must agree with it).
#[allow(clippy::too_many_arguments)]
pub fn arithmetic(
    op: ArithmeticOp,
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    left_type: &DataType,
    right_type: &DataType,
    return_type: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let refuse = || {
        let what = format!(
            "{op:?}({}, {})",
            types::sql_name(left_type),
            types::sql_name(right_type)
        );
        Unsupported::new(
            what,
            format!(
                "no exact implementation with result type {}",
                types::sql_name(return_type)
            ),
        )
    };
    let args = vec![left, right];
    match (left_type, right_type, return_type) {
        (&DataType::Decimal128(lp, ls), &DataType::Decimal128(rp, rs), &DataType::Decimal128(p, s)) => {
            if ls < 0 || rs < 0 || s < 0 {
                return Err(refuse());
            }
            let long_operands = op == ArithmeticOp::IntegralDivide
                && mode.fails()
                && [(lp, ls), (rp, rs)].iter().all(|operand| *operand == (19, 0));
            let kernel = DecimalBinary {
                op,
                left: (lp, ls),
                right: (rp, rs),
                out: (p, s),
                return_type: return_type.clone(),
                mode,
                long_operands,
                context,
            };
            Ok(SparkExpr::create(kernel, args))
        }
        (DataType::Date32, DataType::Int8 | DataType::Int16 | DataType::Int32, DataType::Date32)
            if matches!(op, ArithmeticOp::Add | ArithmeticOp::Subtract) =>
        {
            let days = right_type.clone();
            Ok(SparkExpr::create(
                DateShift {
                    subtract: op == ArithmeticOp::Subtract,
                    days,
                },
                args,
            ))
        }
        (left_type, right_type, return_type) if left_type == right_type => {
            let integer = types::is_integer(left_type);
            let allowed = match op {
                ArithmeticOp::Divide => types::is_float(left_type) && return_type == left_type,
                ArithmeticOp::IntegralDivide => left_type == &DataType::Int64 && return_type == left_type,
                _ => (integer || types::is_float(left_type)) && return_type == left_type,
            };
            if !allowed {
                return Err(refuse());
            }
            Ok(SparkExpr::create(
                NumberBinary {
                    op,
                    return_type: return_type.clone(),
                    mode,
                    context,
                },
                args,
            ))
        }
        _ => Err(refuse()),
    }
}

#[derive(Debug)]
struct NumberBinary {
    op: ArithmeticOp,
    return_type: DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
}

/// Java's name of an integer type in `ARITHMETIC_OVERFLOW`.
pub(crate) fn java_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Int8 => "byte",
        DataType::Int16 => "short",
        DataType::Int32 => "integer",
        _ => "long",
    }
}

impl NumberBinary {
    #[cold]
    fn by_zero<T>(&self) -> Result<Option<T>> {
        if !self.mode.fails() {
            return Ok(None);
        }
        let kind = if self.op == ArithmeticOp::Remainder {
            SparkErrorKind::RemainderByZero
        } else {
            SparkErrorKind::DivideByZero
        };
        Err(kind.at(self.context.as_ref()).into())
    }

    #[cold]
    fn overflow<T: Display>(&self, l: T, r: T, wrapped: T) -> Result<Option<T>> {
        let kind = match (self.mode, &self.return_type) {
            (EvalMode::Legacy, _) => return Ok(Some(wrapped)),
            (EvalMode::Try, _) => return Ok(None),
            (EvalMode::Ansi, _) if self.op == ArithmeticOp::IntegralDivide => {
                SparkErrorKind::IntegralDivideOverflow
            }
            (EvalMode::Ansi, DataType::Int8 | DataType::Int16) => {
                let (symbol, hint) = self.op.symbol_and_hint();
                SparkErrorKind::BinaryArithmeticOverflow {
                    value1: l.to_string(),
                    symbol: symbol.into(),
                    value2: r.to_string(),
                    function_name: hint.into(),
                }
            }
            (EvalMode::Ansi, other) => SparkErrorKind::MathOverflow {
                message: format!("{} overflow", java_name(other)),
                function_name: self.op.symbol_and_hint().1.into(),
            },
        };
        Err(kind.at(self.context.as_ref()).into())
    }

    fn integers<T>(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue>
    where
        T: ArrowPrimitiveType,
        T::Native: ArrowNativeTypeOp + Display,
    {
        let (left, right, out) = (&args[0], &args[1], &self.return_type);
        let legacy = self.mode == EvalMode::Legacy;
        match self.op {
            ArithmeticOp::Add if legacy => {
                vector::binary_total::<T, T, T>(left, right, rows, out, ArrowNativeTypeOp::add_wrapping)
            }
            ArithmeticOp::Subtract if legacy => {
                vector::binary_total::<T, T, T>(left, right, rows, out, ArrowNativeTypeOp::sub_wrapping)
            }
            ArithmeticOp::Multiply if legacy => {
                vector::binary_total::<T, T, T>(left, right, rows, out, ArrowNativeTypeOp::mul_wrapping)
            }
            ArithmeticOp::Add => {
                vector::binary::<T, T, T>(left, right, rows, out, |l, r| match l.add_checked(r) {
                    Ok(value) => Ok(Some(value)),
                    Err(_) => self.overflow(l, r, l.add_wrapping(r)),
                })
            }
            ArithmeticOp::Subtract => {
                vector::binary::<T, T, T>(left, right, rows, out, |l, r| match l.sub_checked(r) {
                    Ok(value) => Ok(Some(value)),
                    Err(_) => self.overflow(l, r, l.sub_wrapping(r)),
                })
            }
            ArithmeticOp::Multiply => {
                vector::binary::<T, T, T>(left, right, rows, out, |l, r| match l.mul_checked(r) {
                    Ok(value) => Ok(Some(value)),
                    Err(_) => self.overflow(l, r, l.mul_wrapping(r)),
                })
            }
            ArithmeticOp::Remainder => vector::binary::<T, T, T>(left, right, rows, out, |l, r| {
                if r.is_zero() {
                    self.by_zero()
                } else {
                    Ok(Some(l.mod_wrapping(r)))
                }
            }),
            ArithmeticOp::Divide | ArithmeticOp::IntegralDivide => {
                vector::binary::<T, T, T>(left, right, rows, out, |l, r| {
                    if r.is_zero() {
                        return self.by_zero();
                    }
                    match l.div_checked(r) {
                        Ok(value) => Ok(Some(value)),
                        Err(_) => self.overflow(l, r, l.div_wrapping(r)),
                    }
                })
            }
        }
    }

    fn floats<T>(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue>
    where
        T: ArrowPrimitiveType,
        T::Native: ArrowNativeTypeOp + num_like::FloatOps,
    {
        use num_like::FloatOps;
        let (left, right, out) = (&args[0], &args[1], &self.return_type);
        match self.op {
            ArithmeticOp::Add => vector::binary_total::<T, T, T>(left, right, rows, out, FloatOps::plus),
            ArithmeticOp::Subtract => {
                vector::binary_total::<T, T, T>(left, right, rows, out, FloatOps::minus)
            }
            ArithmeticOp::Multiply => {
                vector::binary_total::<T, T, T>(left, right, rows, out, FloatOps::times)
            }
            ArithmeticOp::Remainder => vector::binary::<T, T, T>(left, right, rows, out, |l, r| {
                if r.zero() {
                    self.by_zero()
                } else {
                    Ok(Some(l.modulo(r)))
                }
            }),
            _ => vector::binary::<T, T, T>(left, right, rows, out, |l, r| {
                if r.zero() {
                    self.by_zero()
                } else {
                    Ok(Some(l.over(r)))
                }
            }),
        }
    }
}

/// IEEE arithmetic of both widths under one name.
mod num_like {
    pub(super) trait FloatOps: Copy {
        fn plus(self, other: Self) -> Self;
        fn minus(self, other: Self) -> Self;
        fn times(self, other: Self) -> Self;
        fn over(self, other: Self) -> Self;
        fn modulo(self, other: Self) -> Self;
        fn zero(self) -> bool;
    }

    macro_rules! float_ops {
        ($float:ty) => {
            impl FloatOps for $float {
                fn plus(self, other: Self) -> Self {
                    self + other
                }
                fn minus(self, other: Self) -> Self {
                    self - other
                }
                fn times(self, other: Self) -> Self {
                    self * other
                }
                fn over(self, other: Self) -> Self {
                    self / other
                }
                fn modulo(self, other: Self) -> Self {
                    self % other
                }
                fn zero(self) -> bool {
                    self == 0.0
                }
            }
        };
    }
    float_ops!(f32);
    float_ops!(f64);
}

impl Kernel for NumberBinary {
    fn name(&self) -> &str {
        self.op.name()
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        self.mode == EvalMode::Try || (self.op.divides() && !self.mode.fails())
    }

    fn fallible(&self) -> bool {
        self.mode.fails() && (self.op.divides() || types::is_integer(&self.return_type))
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        match &self.return_type {
            DataType::Int8 => self.integers::<Int8Type>(args, rows),
            DataType::Int16 => self.integers::<Int16Type>(args, rows),
            DataType::Int32 => self.integers::<Int32Type>(args, rows),
            DataType::Int64 => self.integers::<Int64Type>(args, rows),
            DataType::Float32 => self.floats::<Float32Type>(args, rows),
            DataType::Float64 => self.floats::<Float64Type>(args, rows),
            other => exec_err!("no arithmetic on {other}"),
        }
    }
}

/// Spark's `UnaryMinus`.
pub fn unary_minus(
    child: Arc<dyn PhysicalExpr>,
    child_type: &DataType,
    mode: EvalMode,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let known = types::is_integer(child_type)
        || types::is_float(child_type)
        || matches!(child_type, DataType::Decimal128(..));
    if !known {
        return Err(Unsupported::new(
            format!("-({})", types::sql_name(child_type)),
            "no exact implementation",
        ));
    }
    let kernel = Negate {
        return_type: child_type.clone(),
        only_negative: false,
        mode,
    };
    Ok(SparkExpr::create(kernel, vec![child]))
}
