//! Functions over dates.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringBuilder};
use arrow::datatypes::{DataType, Date32Type, Int32Type};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::logical_expr::ColumnarValue;

use crate::row::{Function, Kernel};
use crate::time::Civil;
use crate::time::calendar::{iso_week, month_length, weekday};
use crate::truncate::{MONDAY, next_weekday};
use crate::{SparkErrorKind, vector};

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

    fn of(self, days: i32) -> i64 {
        let days = i64::from(days);
        let civil = || Civil::of(days);
        match self {
            Self::Year => civil().year,
            Self::Quarter => (civil().month - 1) / 3 + 1,
            Self::Month => civil().month,
            Self::Week => iso_week(days),
            Self::Day => civil().day,
            Self::DayOfYear => civil().day_of_year(),
            Self::DayOfWeek => weekday(days) % 7,
            Self::SparkDayOfWeek => weekday(days) % 7 + 1,
            Self::SparkWeekDay => weekday(days) - 1,
            Self::IsoDayOfWeek => weekday(days),
        }
    }
}

/// Functions from dates to integers or dates, or from integers to dates.
#[derive(Debug)]
pub(crate) enum DateFunction {
    Part(DatePart),
    LastDay,
    Diff,
    FromUnixDate,
}

impl Kernel for DateFunction {
    fn name(&self) -> &str {
        match self {
            Self::Part(_) => "datepart",
            Self::LastDay => "last_day",
            Self::Diff => "date_diff",
            Self::FromUnixDate => "date_from_unix_date",
        }
    }

    fn return_type(&self) -> &DataType {
        match self {
            Self::LastDay | Self::FromUnixDate => &DataType::Date32,
            Self::Part(_) | Self::Diff => &DataType::Int32,
        }
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let to = self.return_type();
        match self {
            Self::Part(part) => vector::unary::<Date32Type, Int32Type>(&args[0], to, |days| {
                Ok(i32::try_from(part.of(days)).ok())
            }),
            Self::LastDay => vector::unary::<Date32Type, Date32Type>(&args[0], to, |days| {
                let Civil { year, month, day } = Civil::of(days.into());
                let ahead = month_length(year, month) - day;
                Ok(Some(days.wrapping_add(i32::try_from(ahead).unwrap_or(0))))
            }),
            Self::Diff => vector::binary_total::<Date32Type, Date32Type, Int32Type>(
                &args[0],
                &args[1],
                rows,
                to,
                i32::wrapping_sub,
            ),
            Self::FromUnixDate => vector::unary::<Int32Type, Date32Type>(&args[0], to, |days| Ok(Some(days))),
        }
    }
}

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// `dayname` and `monthname`: three letters of English.
pub(crate) fn date_name(month: bool) -> Function {
    let name = if month { "monthname" } else { "dayname" };
    Function::new(name, DataType::Utf8, move |args, _| {
        let array = vector::operand(&args[0])?.0;
        let mut out = StringBuilder::with_capacity(array.len(), array.len() * 3);
        let place = |number: i64| usize::try_from(number - 1).unwrap_or(0);
        for days in array.as_primitive::<Date32Type>() {
            out.append_option(days.map(i64::from).map(|days| {
                if month {
                    MONTHS[place(Civil::of(days).month)]
                } else {
                    WEEKDAYS[place(weekday(days))]
                }
            }));
        }
        Ok(Arc::new(out.finish()))
    })
}

/// `make_date`: a day that does not exist is an error or NULL.
#[derive(Debug)]
pub(crate) struct MakeDate {
    pub(crate) fail_on_error: bool,
}

impl MakeDate {
    fn date(&self, year: i32, month: i32, day: i32) -> Result<Option<i32>> {
        match Civil::checked(year.into(), month.into(), day.into()) {
            // Java's `Math.toIntExact` raises this in every mode.
            Some(civil) => i32::try_from(civil.days())
                .map(Some)
                .map_err(|_| exec_datafusion_err!("integer overflow")),
            None if self.fail_on_error => {
                let range_message = no_such_day(year, month, day);
                Err(SparkErrorKind::DatetimeFieldOutOfBounds { range_message }.into())
            }
            None => Ok(None),
        }
    }
}

/// What Java's `LocalDate.of` says of a day that does not exist.
fn no_such_day(year: i32, month: i32, day: i32) -> String {
    const NAMES: [&str; 12] = [
        "JANUARY",
        "FEBRUARY",
        "MARCH",
        "APRIL",
        "MAY",
        "JUNE",
        "JULY",
        "AUGUST",
        "SEPTEMBER",
        "OCTOBER",
        "NOVEMBER",
        "DECEMBER",
    ];
    if year.unsigned_abs() > 999_999_999 {
        return format!("Invalid value for Year (valid values -999999999 - 999999999): {year}");
    }
    let name = usize::try_from(month)
        .ok()
        .and_then(|month| NAMES.get(month.wrapping_sub(1)));
    let Some(name) = name else {
        return format!("Invalid value for MonthOfYear (valid values 1 - 12): {month}");
    };
    match day {
        29 => format!("Invalid date 'February 29' as '{year}' is not a leap year"),
        30 | 31 => format!("Invalid date '{name} {day}'"),
        _ => format!("Invalid value for DayOfMonth (valid values 1 - 28/31): {day}"),
    }
}

impl Kernel for MakeDate {
    fn name(&self) -> &str {
        "make_date"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Date32
    }

    fn makes_nulls(&self) -> bool {
        !self.fail_on_error
    }

    fn fallible(&self) -> bool {
        true
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let arrays = args
            .iter()
            .map(|arg| vector::array(arg, rows))
            .collect::<Result<Vec<_>>>()?;
        let [years, months, days] = [0, 1, 2].map(|index| arrays[index].as_primitive::<Int32Type>());
        let nulls = [years, months, days].map(Array::nulls);
        let nulls = arrow::buffer::NullBuffer::union_many(nulls);
        let out = vector::collect::<Date32Type>(rows, nulls, &DataType::Date32, |row| {
            self.date(years.value(row), months.value(row), days.value(row))
        })?;
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}

/// `next_day`: the first day after a date that is such a day of the week.
#[derive(Debug)]
pub(crate) struct NextDay {
    pub(crate) fail_on_error: bool,
}

/// A day of the week as [`next_weekday`] counts them.
fn weekday_named(name: &str) -> Option<i32> {
    let place = match name.to_uppercase().as_str() {
        "MO" | "MON" | "MONDAY" => 0,
        "TU" | "TUE" | "TUESDAY" => 1,
        "WE" | "WED" | "WEDNESDAY" => 2,
        "TH" | "THU" | "THURSDAY" => 3,
        "FR" | "FRI" | "FRIDAY" => 4,
        "SA" | "SAT" | "SATURDAY" => 5,
        "SU" | "SUN" | "SUNDAY" => 6,
        _ => return None,
    };
    Some((MONDAY + place) % 7)
}

impl Kernel for NextDay {
    fn name(&self) -> &str {
        "next_day"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Date32
    }

    fn makes_nulls(&self) -> bool {
        !self.fail_on_error
    }

    fn fallible(&self) -> bool {
        self.fail_on_error
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let (dates, names) = (vector::array(&args[0], rows)?, vector::array(&args[1], rows)?);
        let (dates, names) = (dates.as_primitive::<Date32Type>(), names.as_string::<i32>());
        let nulls = arrow::buffer::NullBuffer::union(dates.nulls(), names.nulls());
        let out = vector::collect::<Date32Type>(rows, nulls, &DataType::Date32, |row| {
            match weekday_named(names.value(row)) {
                Some(weekday) => Ok(Some(next_weekday(dates.value(row), weekday))),
                None if self.fail_on_error => {
                    let string = names.value(row).to_owned();
                    Err(SparkErrorKind::IllegalDayOfWeek { string }.into())
                }
                None => Ok(None),
            }
        })?;
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}
