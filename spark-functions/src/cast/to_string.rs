//! Casts to strings.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{AsArray, StringArray};
use arrow::compute::cast as arrow_cast;
use arrow::datatypes::{DataType, Date32Type, Decimal128Type};
use chrono::{Datelike, NaiveDate};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

use super::SparkCast;
use crate::decimal::plain_string;
use crate::vector;

impl SparkCast {
    pub(super) fn print(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let out: StringArray = match self.from {
            DataType::Decimal128(_, scale) => {
                let plain = self.mode.fails();
                let text = |value: i128| {
                    if plain {
                        plain_string(&value.to_string(), i32::from(scale))
                    } else {
                        java_decimal(value, scale)
                    }
                };
                array
                    .as_primitive::<Decimal128Type>()
                    .iter()
                    .map(|value| value.map(text))
                    .collect()
            }
            DataType::Date32 => array
                .as_primitive::<Date32Type>()
                .iter()
                .map(|days| days.map(date_text))
                .collect(),
            DataType::Boolean => {
                let text = |value: bool| if value { "true" } else { "false" };
                array.as_boolean().iter().map(|value| value.map(text)).collect()
            }
            _ => return Ok(ColumnarValue::Array(arrow_cast(&array, &DataType::Utf8)?)),
        };
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}

/// Java's `BigDecimal.toString`: scientific when the first digit stands more than six places behind the point.
fn java_decimal(value: i128, scale: i8) -> String {
    let digits = value.unsigned_abs().to_string();
    let adjusted = i64::try_from(digits.len()).unwrap_or(0) - 1 - i64::from(scale);
    if adjusted >= -6 {
        return plain_string(&value.to_string(), i32::from(scale));
    }
    let sign = if value < 0 { "-" } else { "" };
    let (first, rest) = digits.split_at(1);
    let mut text = format!("{sign}{first}");
    if !rest.is_empty() {
        let _ = write!(text, ".{rest}");
    }
    let _ = write!(text, "E{adjusted}");
    text
}

/// `yyyy-MM-dd`; years beyond four digits carry a sign.
pub(crate) fn date_text(days: i32) -> String {
    let days = i64::from(days);
    let (cycles, rest) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let date =
        NaiveDate::from_num_days_from_ce_opt(i32::try_from(rest).unwrap_or(0) + 719_163).unwrap_or_default();
    let year = i64::from(date.year()) + cycles * 400;
    let sign = match year {
        ..0 => "-",
        10_000.. => "+",
        _ => "",
    };
    format!("{sign}{:04}-{:02}-{:02}", year.abs(), date.month(), date.day())
}
