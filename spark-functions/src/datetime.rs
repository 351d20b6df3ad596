//! Functions over dates.

use arrow::datatypes::{DataType, Date32Type, Int32Type};
use chrono::{Datelike, Days, Months, NaiveDate};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;

use crate::row::Kernel;
use crate::vector;

/// Days of 400 Gregorian years.
const CYCLE: i64 = 146_097;

/// A date within one cycle of 400 years, and how many years to add to its year.
fn civil(days: i32) -> (NaiveDate, i32) {
    let days = i64::from(days);
    let (cycles, rest) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
    let base = i32::try_from(rest).unwrap_or(0) + 719_163;
    (
        NaiveDate::from_num_days_from_ce_opt(base).unwrap_or_default(),
        i32::try_from(cycles * 400).unwrap_or(0),
    )
}

/// A field of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum DatePart {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    DayOfYear,
    /// From Sunday = 0, as Comet's `dow` is (its serializer adds 1).
    DayOfWeek,
    /// From Monday = 1.
    IsoDayOfWeek,
    /// Spark's `DayOfWeek`: from Sunday = 1.
    SparkDayOfWeek,
    /// Spark's `WeekDay`: from Monday = 0.
    SparkWeekDay,
}

impl DatePart {
    /// The part that `datepart`'s first argument names.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "week" => Self::Week,
            "day" => Self::Day,
            "doy" => Self::DayOfYear,
            "dow" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            _ => return None,
        })
    }

    fn of(self, days: i32) -> i32 {
        let (date, years) = civil(days);
        let unsigned = |value: u32| i32::try_from(value).unwrap_or(0);
        match self {
            Self::Year => date.year() + years,
            Self::Quarter => unsigned(date.month0() / 3 + 1),
            Self::Month => unsigned(date.month()),
            Self::Week => unsigned(date.iso_week().week()),
            Self::Day => unsigned(date.day()),
            Self::DayOfYear => unsigned(date.ordinal()),
            Self::DayOfWeek => unsigned(date.weekday().num_days_from_sunday()),
            Self::SparkDayOfWeek => unsigned(date.weekday().number_from_sunday()),
            Self::SparkWeekDay => unsigned(date.weekday().num_days_from_monday()),
            Self::IsoDayOfWeek => unsigned(date.weekday().number_from_monday()),
        }
    }
}

/// Functions from dates to integers or dates.
#[derive(Debug)]
pub(crate) enum DateFunction {
    Part(DatePart),
    LastDay,
    Diff,
}

impl Kernel for DateFunction {
    fn name(&self) -> &str {
        match self {
            Self::Part(_) => "datepart",
            Self::LastDay => "last_day",
            Self::Diff => "date_diff",
        }
    }

    fn return_type(&self) -> &DataType {
        if matches!(self, Self::LastDay) {
            &DataType::Date32
        } else {
            &DataType::Int32
        }
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        match self {
            Self::Part(part) => vector::unary::<Date32Type, Int32Type>(&args[0], &DataType::Int32, |days| {
                Ok(Some(part.of(days)))
            }),
            Self::LastDay => vector::unary::<Date32Type, Date32Type>(&args[0], &DataType::Date32, |days| {
                let (date, _) = civil(days);
                let last = date
                    .with_day(1)
                    .and_then(|first| first.checked_add_months(Months::new(1)))
                    .and_then(|next| next.checked_sub_days(Days::new(1)));
                let ahead = last.map_or(0, |last| (last - date).num_days());
                Ok(Some(days.wrapping_add(i32::try_from(ahead).unwrap_or(0))))
            }),
            Self::Diff => vector::binary_total::<Date32Type, Date32Type, Int32Type>(
                &args[0],
                &args[1],
                rows,
                &DataType::Int32,
                i32::wrapping_sub,
            ),
        }
    }
}
