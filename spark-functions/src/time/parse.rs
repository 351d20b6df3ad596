//! Dates and timestamps in text, by the rules of Spark's `SparkDateTimeUtils`.

use std::time::{SystemTime, UNIX_EPOCH};

use datafusion::common::{Result, exec_err};

use super::{Civil, MICROS_PER_SECOND, SECONDS_PER_DAY, Zone, ZoneError};

/// `UTF8String.trimAll`: white space and control characters of ASCII.
pub(crate) fn trim_all(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ' || c == '\u{7f}')
}

/// `stringToDate`: `[+-]yyyy[-[m]m[-[d]d]]` with 4 to 7 digits of the year; a full date may be followed by ` ` or `T` and anything.
/// Days since 1970-01-01.
pub(crate) fn date(text: &str) -> Option<i32> {
    let text = trim_all(text);
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut parts: [i64; 3] = [1, 1, 1];
    let mut bytes = digits.bytes().peekable();
    for (index, part) in parts.iter_mut().enumerate() {
        let (mut value, mut count) = (0_i64, 0);
        while let Some(digit) = bytes.next_if(u8::is_ascii_digit) {
            value = value * 10 + i64::from(digit - b'0');
            count += 1;
            if count > 7 {
                return None;
            }
        }
        let fine = if index == 0 {
            (4..=7).contains(&count)
        } else {
            (1..=2).contains(&count)
        };
        if !fine {
            return None;
        }
        *part = value;
        match bytes.next() {
            None => break,
            Some(b'-') if index < 2 => {}
            Some(b' ' | b'T') if index == 2 => break,
            Some(_) => return None,
        }
    }
    let civil = Civil::checked(sign * parts[0], parts[1], parts[2])?;
    i32::try_from(civil.days()).ok()
}

/// What a text says of a timestamp.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    /// Year, month, day, hour, minute, second, microsecond.
    fields: [i64; 7],
    /// What follows the time, e.g. `+01:00`.
    zone: Option<String>,
    /// There is no date: the first three fields say nothing.
    just_time: bool,
}

/// Places of [`Parts::fields`], and the end.
const YEAR: usize = 0;
const MONTH: usize = 1;
const DAY: usize = 2;
const HOUR: usize = 3;
const SECOND: usize = 5;
const FRACTION: usize = 6;

impl Parts {
    /// `parseTimestampString`, but for the name of the zone, which is not looked up.
    fn read(text: &str) -> Option<Self> {
        let body = trim_all(text);
        let (negative, signed) = (body.starts_with('-'), body.starts_with(['+', '-']));
        let bytes = body.as_bytes();
        let mut parts = Self {
            fields: [1, 1, 1, 0, 0, 0, 0],
            zone: None,
            just_time: false,
        };
        let (mut place, mut value, mut count) = (YEAR, 0_i64, 0);
        let mut at = usize::from(signed);
        if bytes.is_empty() {
            return None;
        }
        while let Some(byte) = bytes.get(at) {
            if byte.is_ascii_digit() {
                // More than six digits of a fraction are cut.
                if count < 7 && (place != FRACTION || count < 6) {
                    value = value * 10 + i64::from(byte - b'0');
                }
                count += 1;
                at += 1;
                continue;
            }
            if at == 0 && *byte == b'T' && text.starts_with('T') {
                (parts.just_time, place, at) = (true, HOUR, 1);
                continue;
            }
            let next = match (place, byte) {
                (YEAR, b':') if !signed => {
                    parts.just_time = true;
                    place = HOUR;
                    HOUR + 1
                }
                (YEAR | MONTH, b'-') => place + 1,
                (DAY, b' ' | b'T') => HOUR,
                (HOUR | 4, b':') => place + 1,
                (SECOND, b'.') => FRACTION,
                (SECOND | FRACTION, _) => {
                    parts.zone = Some(body.get(at..)?.trim_matches(|c: char| c <= ' ').to_owned());
                    at = bytes.len();
                    FRACTION
                }
                _ => return None,
            };
            parts.put(place, value, count)?;
            if parts.zone.is_some() {
                return Some(parts.signed(negative));
            }
            (place, value, count) = (next, 0, 0);
            at += 1;
        }
        parts.put(place, value, count)?;
        Some(parts.signed(negative))
    }

    /// Stores a field if its number of digits is allowed.
    fn put(&mut self, place: usize, value: i64, count: u32) -> Option<()> {
        let fine = match place {
            FRACTION => true,
            YEAR => (4..=6).contains(&count),
            _ => (1..=2).contains(&count),
        };
        let scale = if place == FRACTION {
            10_i64.pow(6_u32.saturating_sub(count))
        } else {
            1
        };
        fine.then(|| self.fields[place] = value * scale)
    }

    fn signed(mut self, negative: bool) -> Self {
        if negative {
            self.fields[YEAR] = -self.fields[YEAR];
        }
        self
    }

    /// Local microseconds; `today` in days stands in for a date that is not there.
    fn local(&self, today: Option<i64>) -> Option<i128> {
        let [year, month, day, hour, minute, second, micros] = self.fields;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = match today {
            Some(today) => today,
            None => Civil::checked(year, month, day)?.days(),
        };
        let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
        Some(i128::from(seconds) * i128::from(MICROS_PER_SECOND) + i128::from(micros))
    }

    fn zone(&self) -> Result<Option<Option<Zone>>> {
        let Some(name) = &self.zone else {
            return Ok(Some(None));
        };
        match Zone::of(name) {
            Ok(zone) => Ok(Some(Some(zone))),
            Err(ZoneError::Unknown) => Ok(None),
            // Java may read it; it must not be called malformed.
            Err(ZoneError::Unsupported) => exec_err!("the time zone '{name}' in a text is not supported"),
        }
    }
}

/// `stringToTimestamp`: microseconds since the epoch, with `session` as the zone of a text that names none. `None` for a text that is
/// no timestamp; an error for a zone that this crate does not know.
pub(crate) fn timestamp(text: &str, session: Zone) -> Result<Option<i64>> {
    let Some(parts) = Parts::read(text) else {
        return Ok(None);
    };
    let Some(zone) = parts.zone()? else {
        return Ok(None);
    };
    let zone = zone.unwrap_or(session);
    let today = parts.just_time.then(|| zone.day_of(now()));
    let Some(local) = parts.local(today) else {
        return Ok(None);
    };
    let second = i128::from(MICROS_PER_SECOND);
    let seconds = i64::try_from(local.div_euclid(second)).map(|local| zone.to_utc(local));
    Ok(seconds
        .ok()
        .and_then(|utc| i64::try_from(i128::from(utc) * second + local.rem_euclid(second)).ok()))
}

/// `stringToTimestampWithoutTimeZone`: local microseconds. A zone is dropped if there is such a one; a time without date is none.
pub(crate) fn timestamp_ntz(text: &str) -> Result<Option<i64>> {
    let Some(parts) = Parts::read(text) else {
        return Ok(None);
    };
    if parts.zone()?.is_none() || parts.just_time {
        return Ok(None);
    }
    Ok(parts.local(None).and_then(|local| i64::try_from(local).ok()))
}

/// The clock in microseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> Option<i64> {
        timestamp(text, Zone::UTC).unwrap()
    }

    #[test]
    fn timestamps() {
        let noon = 1_577_880_000_000_000; // 2020-01-01 12:00
        for text in [
            "2020-01-01 12",
            " 2020-1-1T12:0\n",
            "+2020-01-01 12:00:00",
            "2020-01-01 12:00:00Z",
            "2020-01-01 13:30:00 +1:30",
            "2020-01-01T04:00:00.000000999PST",
            "2020-01-01 12:00:00. UTC",
            "2020-01-01 12:00:00.",
        ] {
            assert_eq!(utc(text), Some(noon), "{text}");
        }
        assert_eq!(utc("2020-01-01 12:00:00.5"), Some(noon + 500_000));
        assert_eq!(utc("2020-01-01 12:00:00.1234567+00:00"), Some(noon + 123_456));
        assert_eq!(utc("2020"), utc("2020-01-01"));
        for text in [
            "",
            "2020-10-01Z",
            "2020-10-01 UTC",
            "2020-01-01+05:30",
            "0002020-01-01 00:00:00",
            "20200101",
            "2020-01-01T",
            "2020-01-01 12:00:00 nowhere",
            "2020-01-01 24:00:00",
            "2020-02-30 00:00:00",
            "2020-01-01 12:34:56.1٢٢٢",
            "294248-01-01",
            "-2:00",
            " T2",
            "2020-01-01 12:00:00..5",
            "12",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
        assert_eq!(utc("294247-01-10T04:00:54.775807Z"), Some(i64::MAX));
        assert_eq!(utc("294247-01-10T04:00:54.775808Z"), None);
        assert_eq!(utc("-290308-12-21T19:59:05.224192Z"), Some(i64::MIN));
        assert_eq!(timestamp_ntz("2020-01-01 12:00:00 PST").unwrap(), Some(noon));
        assert_eq!(timestamp_ntz("12:00").unwrap(), None);
        assert!(utc("T2").is_some_and(|micros| micros.rem_euclid(86_400_000_000) == 7_200_000_000));
        assert!(timestamp("2020-01-01 00:00:00 ROC", Zone::UTC).is_err());
    }
}
