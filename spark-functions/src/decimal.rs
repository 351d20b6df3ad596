//! Decimals of 38 digits: exact helpers and Spark's `CheckOverflow`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Decimal128Type, i256};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::row::{Kernel, SparkExpr};
use crate::{QueryContext, SparkErrorKind, Unsupported, vector};

const fn powers() -> [i128; 39] {
    let mut table = [1_i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
}

/// Powers of ten that fit in 128 bits.
pub(crate) const POW10: [i128; 39] = powers();

/// `10^exponent` in 256 bits (exact up to 76).
pub(crate) fn pow10_wide(exponent: u32) -> i256 {
    let mut value = i256::ONE;
    let mut left = exponent as usize;
    while left > 0 {
        let step = left.min(38);
        value = value.wrapping_mul(i256::from_i128(POW10[step]));
        left -= step;
    }
    value
}

/// Whether the unscaled value has at most `precision` digits.
#[inline]
pub(crate) fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < POW10[usize::from(precision.min(38))].unsigned_abs()
}

/// The value in 128 bits if it has at most `precision` digits.
pub(crate) fn fits_wide(value: i256, precision: u8) -> Option<i128> {
    value.to_i128().filter(|value| fits(*value, precision))
}

/// `numerator / denominator` rounded half up (away from zero at a tie), as `BigDecimal` does. The denominator is not zero.
#[inline]
pub(crate) fn div_half_up(numerator: i128, denominator: i128) -> i128 {
    let quotient = numerator / denominator;
    let remainder = (numerator % denominator).unsigned_abs();
    if remainder >= denominator.unsigned_abs() - remainder {
        if (numerator < 0) == (denominator < 0) {
            quotient + 1
        } else {
            quotient - 1
        }
    } else {
        quotient
    }
}

/// [`div_half_up`] in 256 bits.
pub(crate) fn div_half_up_wide(numerator: i256, denominator: i256) -> i256 {
    let quotient = numerator.wrapping_div(denominator);
    let remainder = numerator.wrapping_rem(denominator).wrapping_abs();
    if remainder >= denominator.wrapping_abs().wrapping_sub(remainder) {
        let same = (numerator < i256::ZERO) == (denominator < i256::ZERO);
        if same {
            quotient.wrapping_add(i256::ONE)
        } else {
            quotient.wrapping_sub(i256::ONE)
        }
    } else {
        quotient
    }
}

/// The digits of a quotient cut after `digits` places behind the point, without the point: more of them than 256 bits hold.
pub(crate) fn quotient_digits(numerator: i256, denominator: i256, digits: u32) -> String {
    let ten = i256::from_i128(10);
    let negative = numerator.is_negative() != denominator.is_negative();
    let (numerator, denominator) = (numerator.wrapping_abs(), denominator.wrapping_abs());
    let mut rest = numerator.wrapping_rem(denominator);
    let mut text = if negative { "-" } else { "" }.to_owned();
    text.push_str(&numerator.wrapping_div(denominator).to_string());
    for _ in 0..digits {
        rest = rest.wrapping_mul(ten);
        text.push_str(&rest.wrapping_div(denominator).to_string());
        rest = rest.wrapping_rem(denominator);
    }
    text
}

/// The unscaled value at another scale, rounded half up; `None` if it leaves 128 bits.
#[inline]
pub(crate) fn rescale(value: i128, from: i8, to: i8) -> Option<i128> {
    let by = i32::from(to) - i32::from(from);
    if by == 0 {
        Some(value)
    } else if by > 0 {
        if by > 38 {
            return (value == 0).then_some(0);
        }
        value.checked_mul(POW10[by.unsigned_abs() as usize])
    } else if by < -38 {
        Some(0)
    } else {
        Some(div_half_up(value, POW10[by.unsigned_abs() as usize]))
    }
}

/// Java's `BigDecimal.toPlainString` of an unscaled integer printed in decimal.
pub(crate) fn plain_string(unscaled: &str, scale: i32) -> String {
    let (sign, digits) = unscaled
        .strip_prefix('-')
        .map_or(("", unscaled), |digits| ("-", digits));
    if scale <= 0 {
        let zeros = if digits == "0" {
            0
        } else {
            scale.unsigned_abs() as usize
        };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    let scale = scale.unsigned_abs() as usize;
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// `NUMERIC_VALUE_OUT_OF_RANGE` for an exact value that does not fit the result type.
#[cold]
pub(crate) fn out_of_range(unscaled: &str, value_scale: i32, precision: u8, scale: i8) -> SparkErrorKind {
    SparkErrorKind::NumericValueOutOfRange {
        value: plain_string(unscaled, value_scale),
        precision,
        scale,
    }
}

#[derive(Debug)]
struct CheckOverflow {
    from_precision: u8,
    from_scale: i8,
    precision: u8,
    scale: i8,
    return_type: DataType,
    fail_on_error: bool,
    context: Option<Arc<QueryContext>>,
}

impl CheckOverflow {
    fn always_fits(&self) -> bool {
        let grows = i16::from(self.scale) - i16::from(self.from_scale);
        // Rounding can carry into one more digit.
        let digits = i16::from(self.from_precision) + grows + i16::from(grows < 0);
        digits <= i16::from(self.precision)
    }
}

impl Kernel for CheckOverflow {
    fn name(&self) -> &str {
        "check_overflow"
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        !self.fail_on_error && !self.always_fits()
    }

    fn fallible(&self) -> bool {
        self.fail_on_error && !self.always_fits()
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        vector::unary::<Decimal128Type, Decimal128Type>(&args[0], &self.return_type, |value| {
            match rescale(value, self.from_scale, self.scale) {
                Some(scaled) if fits(scaled, self.precision) => Ok(Some(scaled)),
                _ if self.fail_on_error => {
                    let text = value.to_string();
                    let kind = out_of_range(&text, i32::from(self.from_scale), self.precision, self.scale);
                    Err(kind.at(self.context.as_ref()).into())
                }
                _ => Ok(None),
            }
        })
    }
}

/// Spark's `CheckOverflow`: the child's decimal rounded half up to `(precision, scale)`; a value that does not fit is an error
/// (`NUMERIC_VALUE_OUT_OF_RANGE`) or NULL.
pub fn check_overflow(
    child: Arc<dyn PhysicalExpr>,
    child_type: &DataType,
    precision: u8,
    scale: i8,
    fail_on_error: bool,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let &DataType::Decimal128(from_precision, from_scale) = child_type else {
        return Err(Unsupported::new(
            "check_overflow",
            format!("its child has type {child_type}, not a decimal"),
        ));
    };
    if (from_precision, from_scale) == (precision, scale) {
        // Every operator of this crate already gives values of its declared type.
        return Ok(child);
    }
    let return_type = DataType::Decimal128(precision, scale);
    let kernel = CheckOverflow {
        from_precision,
        from_scale,
        precision,
        scale,
        return_type,
        fail_on_error,
        context,
    };
    Ok(SparkExpr::create(kernel, vec![child]))
}
