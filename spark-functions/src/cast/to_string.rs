//! Casts to strings.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::cast as arrow_cast;
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use super::SparkCast;
use super::nested::{columns, referenced};
use super::support::check_cast;
use crate::decimal::plain_string;
use crate::row::SparkExpr;
use crate::time::{MICROS_PER_SECOND, Zone, format, session_zone};
use crate::{EvalMode, Unsupported, vector};

/// How binary values are shown: `spark.sql.binaryOutputStyle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryStyle {
    /// The bytes are the text; bytes that are no UTF-8 are an error here.
    Utf8,
    /// `[83, 112]`, signed.
    Basic,
    /// `5370`
    Hex,
    /// `[53 70]`
    HexDiscrete,
}

/// What a text depends on beside the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TextStyle {
    /// For NULLs inside arrays, maps and structs.
    null: &'static str,
    /// Decimals never with an exponent.
    plain: bool,
    binary: BinaryStyle,
}

impl TextStyle {
    pub(super) fn cast(mode: EvalMode) -> Self {
        Self {
            null: "null",
            plain: mode != EvalMode::Legacy,
            binary: BinaryStyle::Utf8,
        }
    }
}

/// Spark's `ToPrettyString`, which `DataFrame.show` puts around every column, for a value that is not NULL: the text of a cast, but for
/// NULLs inside of it (`NULL`), decimals (never with an exponent) and binary values.
pub fn pretty(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    timezone: &str,
    binary: BinaryStyle,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let options = super::CastOptions {
        mode: EvalMode::Ansi,
        timezone: timezone.to_owned(),
        context: None,
    };
    check_cast(from, &DataType::Utf8, &options)?;
    if from == &DataType::Utf8 {
        return Ok(child);
    }
    let kernel = SparkCast {
        from: from.clone(),
        to: DataType::Utf8,
        mode: EvalMode::Ansi,
        zone: session_zone(timezone).unwrap_or(Zone::UTC),
        style: TextStyle {
            null: "NULL",
            plain: true,
            binary,
        },
        context: None,
    };
    Ok(SparkExpr::create(kernel, vec![child]))
}

/// The text of each row that is not NULL, appended to a builder's value.
fn texts(array: &dyn Array, mut text: impl FnMut(&mut String, usize) -> Result<()>) -> Result<StringArray> {
    let mut out = StringBuilder::with_capacity(array.len(), array.len() * 16);
    let mut buffer = String::new();
    for row in 0..array.len() {
        if array.is_null(row) {
            out.append_null();
            continue;
        }
        buffer.clear();
        text(&mut buffer, row)?;
        out.append_value(&buffer);
    }
    Ok(out.finish())
}

impl SparkCast {
    pub(super) fn print(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let out: StringArray = match &self.from {
            DataType::Decimal128(_, scale) => {
                let values = array.as_primitive::<Decimal128Type>();
                texts(&array, |out, row| {
                    let value = values.value(row);
                    out.push_str(&if self.style.plain {
                        plain_string(&value.to_string(), i32::from(*scale))
                    } else {
                        java_decimal(value, *scale)
                    });
                    Ok(())
                })?
            }
            DataType::Date32 => {
                let days = array.as_primitive::<Date32Type>();
                texts(&array, |out, row| {
                    format::write_date(out, days.value(row).into());
                    Ok(())
                })?
            }
            DataType::Timestamp(_, instant) => {
                let zone = if instant.is_some() { self.zone } else { Zone::UTC };
                let micros = array.as_primitive::<TimestampMicrosecondType>();
                texts(&array, |out, row| {
                    let micros = micros.value(row);
                    let local = zone.to_local(micros.div_euclid(MICROS_PER_SECOND));
                    format::write_timestamp(out, local, micros.rem_euclid(MICROS_PER_SECOND));
                    Ok(())
                })?
            }
            DataType::Boolean => {
                let values = array.as_boolean();
                texts(&array, |out, row| {
                    out.push_str(if values.value(row) { "true" } else { "false" });
                    Ok(())
                })?
            }
            DataType::Binary => {
                let values = array.as_binary::<i32>();
                texts(&array, |out, row| self.write_binary(out, values.value(row)))?
            }
            DataType::List(_) | DataType::Map(..) | DataType::Struct(_) => self.print_parts(&array)?,
            _ => return Ok(ColumnarValue::Array(arrow_cast(&array, &DataType::Utf8)?)),
        };
        Ok(ColumnarValue::Array(Arc::new(out)))
    }

    fn write_binary(&self, out: &mut String, bytes: &[u8]) -> Result<()> {
        let list = |text: Vec<String>, between: &str| format!("[{}]", text.join(between));
        let hex = || bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>();
        match self.style.binary {
            BinaryStyle::Utf8 => match std::str::from_utf8(bytes) {
                Ok(text) => out.push_str(text),
                Err(_) => return exec_err!("a string of bytes that are no UTF-8 is not supported"),
            },
            BinaryStyle::Basic => {
                let signed = bytes.iter().map(|byte| byte.cast_signed().to_string());
                out.push_str(&list(signed.collect(), ", "));
            }
            BinaryStyle::Hex => out.push_str(&hex().concat()),
            BinaryStyle::HexDiscrete => out.push_str(&list(hex(), " ")),
        }
        Ok(())
    }

    fn strings(&self, array: &ArrayRef) -> Result<StringArray> {
        let printed = self.between(array.data_type(), &DataType::Utf8).array(array)?;
        Ok(printed.as_string::<i32>().clone())
    }

    fn text<'a>(&self, strings: &'a StringArray, row: usize) -> &'a str {
        if strings.is_null(row) {
            self.style.null
        } else {
            strings.value(row)
        }
    }

    /// `[1, null]`, `{k -> 1, l -> null}`, `{1, null}`.
    fn print_parts(&self, array: &ArrayRef) -> Result<StringArray> {
        match &self.from {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let (offsets, values) = referenced(list.offsets(), list.nulls(), list.values())?;
                let values = self.strings(&values)?;
                texts(list, |out, row| {
                    let range = offsets[row] as usize..offsets[row + 1] as usize;
                    let parts: Vec<_> = range.map(|index| self.text(&values, index)).collect();
                    Ok(write!(out, "[{}]", parts.join(", "))?)
                })
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                let (offsets, entries) = referenced(map.offsets(), map.nulls(), &entries)?;
                let entries = entries.as_struct();
                let (keys, values) = (self.strings(entries.column(0))?, self.strings(entries.column(1))?);
                texts(map, |out, row| {
                    let range = offsets[row] as usize..offsets[row + 1] as usize;
                    let entry = |index| format!("{} -> {}", keys.value(index), self.text(&values, index));
                    let parts: Vec<_> = range.map(entry).collect();
                    Ok(write!(out, "{{{}}}", parts.join(", "))?)
                })
            }
            _ => {
                let parts = array.as_struct();
                let columns = columns(parts)?
                    .iter()
                    .map(|column| self.strings(column))
                    .collect::<Result<Vec<_>>>()?;
                texts(parts, |out, row| {
                    let parts: Vec<_> = columns.iter().map(|column| self.text(column, row)).collect();
                    Ok(write!(out, "{{{}}}", parts.join(", "))?)
                })
            }
        }
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
