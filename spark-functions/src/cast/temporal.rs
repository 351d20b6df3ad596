//! Casts from and to dates and timestamps, but for text.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::compute::cast as arrow_cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType as Micros, i256,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::SparkCast;
use super::parse::java_double;
use crate::decimal::pow10_wide;
use crate::temporal::exact;
use crate::time::{MICROS_PER_SECOND, Zone};
use crate::types::sql_name;
use crate::{EvalMode, SparkErrorKind, vector};

impl SparkCast {
    pub(super) fn temporal(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        use DataType::{Date32, Int32, Int64, Timestamp};
        let (zone, to) = (self.zone, &self.to);
        match (&self.from, to) {
            (Date32, Int32) => vector::unary::<Date32Type, Int32Type>(input, to, |days| Ok(Some(days))),
            (Date32, Timestamp(_, instant)) => {
                let zone = if instant.is_some() { zone } else { Zone::UTC };
                vector::unary::<Date32Type, Micros>(input, to, |days| {
                    exact(zone.start_of_day(days.into()).checked_mul(MICROS_PER_SECOND))
                })
            }
            (Timestamp(_, instant), Date32) => {
                let zone = if instant.is_some() { zone } else { Zone::UTC };
                vector::unary::<Micros, Date32Type>(input, to, |micros| {
                    Ok(i32::try_from(zone.day_of(micros)).ok())
                })
            }
            (Timestamp(_, Some(_)), Timestamp(_, None)) => {
                vector::unary::<Micros, Micros>(input, to, |micros| exact(zone.micros_to_local(micros)))
            }
            (Timestamp(_, None), Timestamp(_, Some(_))) => {
                vector::unary::<Micros, Micros>(input, to, |micros| exact(zone.micros_to_utc(micros)))
            }
            (Timestamp(_, Some(_)), Int64) => vector::unary::<Micros, Int64Type>(input, to, |micros| {
                Ok(Some(micros.div_euclid(MICROS_PER_SECOND)))
            }),
            _ => self.number_to_timestamp(input),
        }
    }

    /// Numbers are seconds; TRUE is a microsecond.
    fn number_to_timestamp(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, to) = (vector::operand(input)?.0, &self.to);
        match self.from {
            DataType::Boolean => {
                let micros = array.as_boolean();
                let out = vector::collect::<Micros>(micros.len(), micros.nulls().cloned(), to, |row| {
                    Ok(Some(i64::from(micros.value(row))))
                })?;
                Ok(ColumnarValue::Array(Arc::new(out)))
            }
            DataType::Decimal128(_, scale) => vector::unary::<Decimal128Type, Micros>(input, to, |value| {
                Ok(Some(decimal_micros(value, scale)))
            }),
            DataType::Float32 | DataType::Float64 => {
                let wide = ColumnarValue::Array(arrow_cast(&array, &DataType::Float64)?);
                vector::unary::<Float64Type, Micros>(&wide, to, |value| self.float_micros(value))
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                let wide = ColumnarValue::Array(arrow_cast(&array, &DataType::Int64)?);
                vector::unary::<Int64Type, Micros>(&wide, to, |value| {
                    Ok(Some(value.saturating_mul(MICROS_PER_SECOND)))
                })
            }
            _ => exec_err!("no cast from {} to {to}", self.from),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn float_micros(&self, seconds: f64) -> Result<Option<i64>> {
        if !seconds.is_finite() {
            return self.nothing(|| SparkErrorKind::InvalidInputInCastToDatetime {
                value: java_double(seconds),
                from_type: "DOUBLE".into(),
                to_type: sql_name(&self.to),
            });
        }
        let micros = seconds * MICROS_PER_SECOND as f64;
        let fits = micros.floor() <= i64::MAX as f64 && micros.ceil() >= i64::MIN as f64;
        if fits || self.mode == EvalMode::Legacy {
            return Ok(Some(micros as i64));
        }
        self.nothing(|| SparkErrorKind::CastOverFlow {
            value: format!("{}D", java_double(micros)),
            from_type: "DOUBLE".into(),
            to_type: "BIGINT".into(),
        })
    }

    /// An integer's bytes, the highest first.
    pub(super) fn big_endian(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let width = array.data_type().primitive_width().unwrap_or(8);
        let wide = arrow_cast(&array, &DataType::Int64)?;
        let bytes = wide
            .as_primitive::<Int64Type>()
            .iter()
            .map(|value| value.map(i64::to_be_bytes));
        let out: arrow::array::BinaryArray = bytes
            .map(|bytes| bytes.map(|bytes| bytes[8 - width..].to_vec()))
            .collect();
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}

/// The low 64 bits of a decimal's microseconds; what is left of a microsecond is cut.
fn decimal_micros(value: i128, scale: i8) -> i64 {
    let product = i256::from_i128(value).wrapping_mul(i256::from_i128(i128::from(MICROS_PER_SECOND)));
    let whole = product.wrapping_div(pow10_wide(u32::from(scale.unsigned_abs())));
    whole.to_parts().0 as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::POW10;

    #[test]
    fn decimals_as_seconds() {
        assert_eq!(decimal_micros(1_500_000, 6), 1_500_000);
        assert_eq!(decimal_micros(-15, 7), -1);
        assert_eq!(decimal_micros(0, 38), 0);
        assert_eq!(decimal_micros(POW10[38] - 1, 38), 999_999);
        let big = (POW10[38] as u128 - 1).wrapping_mul(1_000_000);
        assert_eq!(decimal_micros(POW10[38] - 1, 0), big as i64);
    }
}
