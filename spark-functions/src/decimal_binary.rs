//! The binary operators on decimals: an exact result, rounded half up to the declared type.

use std::sync::Arc;

use arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

use crate::arithmetic::ArithmeticOp;
use crate::decimal::{
    POW10, div_half_up, div_half_up_wide, fits, out_of_range, pow10_wide, quotient_digits, rescale,
};
use crate::row::Kernel;
use crate::{EvalMode, QueryContext, SparkErrorKind, vector};

/// Digits after the point that Spark's `Decimal./` keeps before it rounds to the result type.
const DIVIDE_SCALE: i32 = 39;

/// Spark's `Add`, `Subtract`, `Multiply`, `Divide`, `IntegralDivide`, `Remainder` on `DecimalType`.
#[derive(Debug)]
pub(crate) struct DecimalBinary {
    pub(crate) op: ArithmeticOp,
    pub(crate) left: (u8, i8),
    pub(crate) right: (u8, i8),
    pub(crate) out: (u8, i8),
    pub(crate) return_type: DataType,
    pub(crate) mode: EvalMode,
    /// `BIGINT` operands in disguise: `Long.MinValue div -1` is an error.
    pub(crate) long_operands: bool,
    pub(crate) context: Option<Arc<QueryContext>>,
}

impl DecimalBinary {
    fn common_scale(&self) -> i8 {
        self.left.1.max(self.right.1)
    }

    /// Whether no pair of operands can leave the result type or need rounding.
    fn total(&self) -> bool {
        let wide = |(precision, scale): (u8, i8)| i16::from(precision) - i16::from(scale);
        match self.op {
            ArithmeticOp::Add | ArithmeticOp::Subtract => {
                let digits = wide(self.left).max(wide(self.right)) + 1 + i16::from(self.common_scale());
                self.out.1 == self.common_scale() && digits <= i16::from(self.out.0)
            }
            ArithmeticOp::Multiply => {
                i16::from(self.out.1) == i16::from(self.left.1) + i16::from(self.right.1)
                    && i16::from(self.left.0) + i16::from(self.right.0) <= i16::from(self.out.0)
            }
            _ => false,
        }
    }

    fn divides(&self) -> bool {
        matches!(
            self.op,
            ArithmeticOp::Divide | ArithmeticOp::IntegralDivide | ArithmeticOp::Remainder
        )
    }

    /// The result in 128 bits, or `None` when an intermediate leaves them.
    #[inline]
    fn narrow(&self, l: i128, r: i128) -> Option<i128> {
        match self.op {
            ArithmeticOp::Multiply => {
                let scale = self.left.1.checked_add(self.right.1)?;
                rescale(l.checked_mul(r)?, scale, self.out.1)
            }
            ArithmeticOp::Divide => {
                let by = i32::from(self.out.1) + i32::from(self.right.1) - i32::from(self.left.1);
                let power = *POW10.get(usize::try_from(by).ok()?)?;
                Some(div_half_up(l.checked_mul(power)?, r))
            }
            _ => {
                let scale = self.common_scale();
                let (l, r) = (rescale(l, self.left.1, scale)?, rescale(r, self.right.1, scale)?);
                match self.op {
                    ArithmeticOp::Add => rescale(l.checked_add(r)?, scale, self.out.1),
                    ArithmeticOp::Subtract => rescale(l.checked_sub(r)?, scale, self.out.1),
                    ArithmeticOp::IntegralDivide => rescale(l.checked_div(r)?, 0, self.out.1),
                    _ => rescale(l.checked_rem(r)?, scale, self.out.1),
                }
            }
        }
    }

    /// The digits of a quotient, cut after [`DIVIDE_SCALE`] places, and how many of them are behind the point.
    fn quotient(&self, l: i256, r: i256) -> (String, i32) {
        let (by, scale) = self.lift();
        (quotient_digits(l, r, by), scale)
    }

    /// Places by which a dividend is lifted, and the scale of the quotient of its integer.
    fn lift(&self) -> (u32, i32) {
        let apart = i32::from(self.left.1) - i32::from(self.right.1);
        let by = (DIVIDE_SCALE - apart).max(0);
        (by.unsigned_abs(), apart + by)
    }

    /// The result as `(unscaled, scale)`, exact but for a quotient, which is cut to 76 digits, and a long product.
    fn exact(&self, l: i128, r: i128) -> (i256, i32) {
        let (left_scale, right_scale) = (i32::from(self.left.1), i32::from(self.right.1));
        let (l, r) = (i256::from_i128(l), i256::from_i128(r));
        match self.op {
            ArithmeticOp::Multiply => product_digits(l.wrapping_mul(r), left_scale + right_scale),
            ArithmeticOp::Divide => {
                let (by, scale) = self.lift();
                let lifted = (by <= 76).then(|| l.checked_mul(pow10_wide(by))).flatten();
                if let Some(lifted) = lifted {
                    return (lifted.wrapping_div(r), scale);
                }
                let (digits, scale) = self.quotient(l, r);
                let kept = digits.len().min(if l.is_negative() == r.is_negative() {
                    76
                } else {
                    77
                });
                let dropped = i32::try_from(digits.len() - kept).unwrap_or(i32::MAX);
                // 76 digits always fit 256 bits.
                let value = i256::from_string(&digits[..kept]).unwrap_or(i256::MAX);
                (value, scale - dropped)
            }
            _ => {
                let scale = left_scale.max(right_scale);
                let l = l.wrapping_mul(pow10_wide((scale - left_scale).unsigned_abs()));
                let r = r.wrapping_mul(pow10_wide((scale - right_scale).unsigned_abs()));
                match self.op {
                    ArithmeticOp::Add => (l.wrapping_add(r), scale),
                    ArithmeticOp::Subtract => (l.wrapping_sub(r), scale),
                    ArithmeticOp::IntegralDivide => (l.wrapping_div(r), 0),
                    _ => (l.wrapping_rem(r), scale),
                }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn wide(&self, l: i128, r: i128) -> Result<Option<i128>> {
        let (value, scale) = self.exact(l, r);
        let by = i32::from(self.out.1) - scale;
        let scaled = if by < 0 {
            Some(div_half_up_wide(value, pow10_wide(by.unsigned_abs())))
        } else {
            value.checked_mul(pow10_wide(by.unsigned_abs()))
        };
        match scaled.and_then(i256::to_i128) {
            Some(scaled) if fits(scaled, self.out.0) => Ok(Some(scaled)),
            _ if self.mode.fails() => {
                let (digits, scale) = match self.op {
                    ArithmeticOp::Divide => self.quotient(i256::from_i128(l), i256::from_i128(r)),
                    _ => (value.to_string(), scale),
                };
                let kind = out_of_range(&digits, scale, self.out.0, self.out.1);
                Err(kind.at(self.context.as_ref()).into())
            }
            _ => Ok(None),
        }
    }

    #[cold]
    fn by_zero(&self) -> Result<Option<i128>> {
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
}

impl Kernel for DecimalBinary {
    fn name(&self) -> &str {
        self.op.name()
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        !self.mode.fails() && !self.total()
    }

    fn fallible(&self) -> bool {
        self.mode.fails() && !self.total()
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        type D = Decimal128Type;
        let (left, right, out) = (&args[0], &args[1], &self.return_type);
        if self.total() {
            let scale = self.common_scale();
            let (lift_left, lift_right) = (lift(scale, self.left.1), lift(scale, self.right.1));
            return match self.op {
                ArithmeticOp::Add if lift_left == 1 && lift_right == 1 => {
                    vector::binary_total::<D, D, D>(left, right, rows, out, i128::wrapping_add)
                }
                ArithmeticOp::Subtract if lift_left == 1 && lift_right == 1 => {
                    vector::binary_total::<D, D, D>(left, right, rows, out, i128::wrapping_sub)
                }
                ArithmeticOp::Add => vector::binary_total::<D, D, D>(left, right, rows, out, |l, r| {
                    l.wrapping_mul(lift_left).wrapping_add(r.wrapping_mul(lift_right))
                }),
                ArithmeticOp::Subtract => vector::binary_total::<D, D, D>(left, right, rows, out, |l, r| {
                    l.wrapping_mul(lift_left).wrapping_sub(r.wrapping_mul(lift_right))
                }),
                _ => vector::binary_total::<D, D, D>(left, right, rows, out, i128::wrapping_mul),
            };
        }
        let divides = self.divides();
        vector::binary::<D, D, D>(left, right, rows, out, |l, r| {
            if divides && r == 0 {
                return self.by_zero();
            }
            if self.long_operands && r == -1 && l == i128::from(i64::MIN) {
                return Err(SparkErrorKind::IntegralDivideOverflow
                    .at(self.context.as_ref())
                    .into());
            }
            match self.narrow(l, r) {
                Some(value) if fits(value, self.out.0) => Ok(Some(value)),
                _ => self.wide(l, r),
            }
        })
    }
}

/// A product as Spark computes it before it looks at the result type: of more than 39 digits, 39 remain, rounded half down.
fn product_digits(product: i256, scale: i32) -> (i256, i32) {
    const DIGITS: u32 = 39;
    let limit = pow10_wide(DIGITS);
    let kept = |dropped: u32| product.wrapping_div(pow10_wide(dropped));
    let mut dropped = 0;
    while kept(dropped).wrapping_abs() >= limit {
        dropped += 1;
    }
    if dropped == 0 {
        return (product, scale);
    }
    let power = pow10_wide(dropped);
    let rest = product.wrapping_rem(power).wrapping_abs();
    let up = rest > power.wrapping_sub(rest);
    let step = match up {
        true if product < i256::ZERO => i256::MINUS_ONE,
        true => i256::ONE,
        false => i256::ZERO,
    };
    (
        kept(dropped).wrapping_add(step),
        scale - i32::try_from(dropped).unwrap_or(0),
    )
}

fn lift(to: i8, from: i8) -> i128 {
    POW10[usize::from((to - from).unsigned_abs())]
}
