//! `trunc` and `date_trunc`.

use std::sync::Arc;

use arrow::array::{Array, ArrowPrimitiveType, AsArray};
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::row::{Kernel, SparkExpr};
use crate::temporal::exact;
use crate::time::{Civil, MICROS_PER_SECOND, SECONDS_PER_DAY, Zone, session_zone};
use crate::types::sql_name;
use crate::{Unsupported, vector};

const MICROS_PER_MILLI: i64 = 1000;

/// What is kept of a date or timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Microsecond,
    Millisecond,
    /// So many seconds of the local time.
    Seconds(i64),
    Week,
    Month,
    Quarter,
    Year,
}

impl Level {
    /// `DateTimeUtils.parseTruncLevel`.
    fn parse(format: &str) -> Option<Self> {
        Some(match format.to_uppercase().as_str() {
            "MICROSECOND" => Self::Microsecond,
            "MILLISECOND" => Self::Millisecond,
            "SECOND" => Self::Seconds(1),
            "MINUTE" => Self::Seconds(60),
            "HOUR" => Self::Seconds(3600),
            "DAY" | "DD" => Self::Seconds(SECONDS_PER_DAY),
            "WEEK" => Self::Week,
            "MON" | "MONTH" | "MM" => Self::Month,
            "QUARTER" => Self::Quarter,
            "YEAR" | "YYYY" | "YY" => Self::Year,
            _ => return None,
        })
    }

    /// `DateTimeUtils.truncDate`: weeks begin on Monday. `None` for less than a week.
    fn date(self, days: i32) -> Option<i32> {
        let civil = Civil::of(days.into());
        let begin = match self {
            Self::Week => return Some(next_weekday(days.wrapping_sub(7), MONDAY)),
            Self::Month => civil.month,
            Self::Quarter => (civil.month - 1) / 3 * 3 + 1,
            Self::Year => 1,
            _ => return None,
        };
        let begin = Civil {
            month: begin,
            day: 1,
            ..civil
        };
        // As Java's `int` wraps.
        Some(begin.days() as i32)
    }

    /// `DateTimeUtils.truncTimestamp`.
    fn timestamp(self, micros: i64, zone: Zone) -> Result<Option<i64>> {
        let utc = micros.div_euclid(MICROS_PER_SECOND);
        match self {
            Self::Microsecond => Ok(Some(micros)),
            // The smallest timestamps wrap, as in Spark 4.1.
            Self::Millisecond => Ok(Some(micros.wrapping_sub(micros.rem_euclid(MICROS_PER_MILLI)))),
            Self::Seconds(1) => Ok(Some(micros.wrapping_sub(micros.rem_euclid(MICROS_PER_SECOND)))),
            Self::Seconds(unit) => {
                let offset = zone.offset(utc);
                let local = utc + offset;
                let local = local - local.rem_euclid(unit);
                // Where clocks were set back, the offset stays.
                let same = local - offset;
                let utc = if zone.offset(same) == offset {
                    same
                } else {
                    zone.to_utc(local)
                };
                exact(utc.checked_mul(MICROS_PER_SECOND))
            }
            _ => {
                let days = i32::try_from(zone.day_of(micros)).ok();
                let Some(days) = days.and_then(|days| self.date(days)) else {
                    return Ok(None);
                };
                exact(zone.start_of_day(days.into()).checked_mul(MICROS_PER_SECOND))
            }
        }
    }
}

/// Spark numbers the days of the week from Thursday, the day of the epoch.
pub(crate) const MONDAY: i32 = 4;

/// `DateTimeUtils.getNextDateForDayOfWeek`: the next such day after `start`; numbers wrap as Java's `int` does.
pub(crate) fn next_weekday(start: i32, weekday: i32) -> i32 {
    let ahead = ((weekday - 1).wrapping_sub(start) % 7 + 7) % 7;
    start.wrapping_add(1).wrapping_add(ahead)
}

/// `trunc(date, format)` and `date_trunc(format, timestamp)`; the arguments are the value and the format.
#[derive(Debug)]
struct Truncate {
    return_type: DataType,
    zone: Zone,
}

impl Truncate {
    /// A format that nobody knows gives NULL.
    fn each<T: ArrowPrimitiveType>(
        &self,
        args: &[ColumnarValue],
        rows: usize,
        f: impl Fn(Level, T::Native) -> Result<Option<T::Native>>,
    ) -> Result<ColumnarValue> {
        let (format, one) = vector::operand(&args[1])?;
        let formats = format.as_string::<i32>();
        let level = |row: usize| {
            formats
                .is_valid(row)
                .then(|| Level::parse(formats.value(row)))
                .flatten()
        };
        let fixed = if one { Some(level(0)) } else { None };
        let values = vector::array(&args[0], rows)?;
        let values = values.as_primitive::<T>();
        let out =
            vector::collect::<T>(
                values.len(),
                values.nulls().cloned(),
                &self.return_type,
                |row| match fixed.unwrap_or_else(|| level(row)) {
                    Some(level) => f(level, values.value(row)),
                    None => Ok(None),
                },
            )?;
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}

impl Kernel for Truncate {
    fn name(&self) -> &str {
        if self.return_type == DataType::Date32 {
            "trunc"
        } else {
            "date_trunc"
        }
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        true
    }

    fn fallible(&self) -> bool {
        self.return_type != DataType::Date32
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        if self.return_type == DataType::Date32 {
            return self.each::<Date32Type>(args, rows, |level, days| Ok(level.date(days)));
        }
        self.each::<TimestampMicrosecondType>(args, rows, |level, micros| level.timestamp(micros, self.zone))
    }
}

/// Spark's `TruncTimestamp` and `TruncDate`: `value` is a TIMESTAMP or a DATE, and so is the result; `format` is a STRING.
pub fn truncate(
    value: Arc<dyn PhysicalExpr>,
    value_type: &DataType,
    format: Arc<dyn PhysicalExpr>,
    format_type: &DataType,
    timezone: &str,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let known = matches!(
        value_type,
        DataType::Date32 | DataType::Timestamp(TimeUnit::Microsecond, Some(_))
    );
    if !known || format_type != &DataType::Utf8 {
        let what = format!(
            "function date_trunc({}, {})",
            sql_name(format_type),
            sql_name(value_type)
        );
        return Err(Unsupported::new(
            what,
            "there is no exact implementation for these arguments",
        ));
    }
    let (return_type, zone) = (value_type.clone(), session_zone(timezone)?);
    Ok(SparkExpr::create(
        Truncate { return_type, zone },
        vec![value, format],
    ))
}
