//! Dates and timestamps as text, as Spark's default formatters write them.

use std::fmt::Write;

use super::{Civil, MICROS_PER_SECOND, SECONDS_PER_DAY};

/// Writes `yyyy-MM-dd` of days since 1970-01-01; years beyond four digits carry a sign.
pub(crate) fn write_date(out: &mut String, days: i64) {
    let Civil { year, month, day } = Civil::of(days);
    let sign = match year {
        ..0 => "-",
        10_000.. => "+",
        _ => "",
    };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.abs());
}

/// Writes `yyyy-MM-dd HH:mm:ss` of local seconds since 1970-01-01.
pub(crate) fn write_seconds(out: &mut String, local: i64) {
    write_date(out, local.div_euclid(SECONDS_PER_DAY));
    let second = local.rem_euclid(SECONDS_PER_DAY);
    let _ = write!(
        out,
        " {:02}:{:02}:{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    );
}

/// Writes [`write_seconds`] of `local` and a fraction of `micros` microseconds without zeros at its end.
pub(crate) fn write_timestamp(out: &mut String, local: i64, micros: i64) {
    write_seconds(out, local);
    if micros != 0 {
        let digits = format!("{:06}", micros.rem_euclid(MICROS_PER_SECOND));
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// `yyyy-MM-dd` of a date.
#[cfg(test)]
pub(crate) fn date_text(days: i32) -> String {
    let mut text = String::with_capacity(10);
    write_date(&mut text, days.into());
    text
}
