//! Names of time zones as Spark reads them: `DateTimeUtils.getZoneId`, `ZoneId.of` with `ZoneId.SHORT_IDS`.

use std::str::FromStr;

use chrono_tz::Tz;

use super::zone::Zone;

/// Why a name gives no zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ZoneError {
    /// Java has no such zone either.
    Unknown,
    /// Some version of Java has it; its rules are not known here.
    Unsupported,
}

/// Java's `ZoneId.SHORT_IDS` in Java 17.
const SHORT_IDS: [(&str, &str); 28] = [
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Harare"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("EST", "-05:00"),
    ("HST", "-10:00"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("MST", "-07:00"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

/// Zones of which Java's versions or the table here know nothing or not all: Gaza's and Hebron's rules after 2099 cannot be told
/// from the table.
const UNSUPPORTED: [&str; 4] = ["America/Coyhaique", "Asia/Gaza", "Asia/Hebron", "ROC"];

impl Zone {
    /// The zone of a name that a session or a text has.
    pub(crate) fn of(name: &str) -> Result<Self, ZoneError> {
        let padded = pad_minute(&pad_hour(name));
        let id = SHORT_IDS
            .iter()
            .find(|(short, _)| *short == padded)
            .map_or(padded.as_str(), |(_, long)| *long);
        if id.len() <= 1 || id.starts_with(['+', '-']) {
            return offset(id);
        }
        for prefix in ["UTC", "GMT", "UT"] {
            match id.strip_prefix(prefix) {
                Some("") => return Ok(Self::UTC),
                Some(rest) if rest.starts_with(['+', '-']) => return offset(rest),
                Some(_) => break,
                None => {}
            }
        }
        if UNSUPPORTED.contains(&id) || id.starts_with("SystemV/") {
            return Err(ZoneError::Unsupported);
        }
        Tz::from_str(id).map(Self::Region).map_err(|_| ZoneError::Unknown)
    }
}

/// The first `+h:` becomes `+0h:`.
fn pad_hour(name: &str) -> String {
    let bytes = name.as_bytes();
    let found = bytes
        .windows(3)
        .position(|part| matches!(part[0], b'+' | b'-') && part[1].is_ascii_digit() && part[2] == b':');
    match found {
        Some(at) => format!("{}0{}", &name[..=at], &name[at + 1..]),
        None => name.to_owned(),
    }
}

/// A final `+hh:m` becomes `+hh:0m`.
fn pad_minute(name: &str) -> String {
    let bytes = name.as_bytes();
    let Some(start) = bytes.len().checked_sub(5) else {
        return name.to_owned();
    };
    match &bytes[start..] {
        [b'+' | b'-', a, b, b':', c] if [a, b, c].iter().all(|digit| digit.is_ascii_digit()) => {
            format!("{}0{}", &name[..start + 4], &name[start + 4..])
        }
        _ => name.to_owned(),
    }
}

/// Java's `ZoneOffset.of`: `Z`, `+h`, `+hh`, `+hh:mm`, `-hh:mm`, `+hhmm`, `+hh:mm:ss`, `+hhmmss`, at most 18 hours.
fn offset(id: &str) -> Result<Zone, ZoneError> {
    if id == "Z" {
        return Ok(Zone::UTC);
    }
    let (sign, rest) = match id.as_bytes().split_first() {
        Some((b'+', rest)) => (1, rest),
        Some((b'-', rest)) => (-1, rest),
        _ => return Err(ZoneError::Unknown),
    };
    let two = |tens: &u8, ones: &u8| {
        let fine = tens.is_ascii_digit() && ones.is_ascii_digit();
        fine.then(|| i32::from(tens - b'0') * 10 + i32::from(ones - b'0'))
    };
    let zero = Some(0);
    let (hours, minutes, seconds) = match rest {
        [h] => (two(&b'0', h), zero, zero),
        [h1, h2] => (two(h1, h2), zero, zero),
        [h1, h2, m1, m2] | [h1, h2, b':', m1, m2] => (two(h1, h2), two(m1, m2), zero),
        [h1, h2, m1, m2, s1, s2] | [h1, h2, b':', m1, m2, b':', s1, s2] => {
            (two(h1, h2), two(m1, m2), two(s1, s2))
        }
        _ => return Err(ZoneError::Unknown),
    };
    match (hours, minutes, seconds) {
        (Some(h), Some(m @ 0..=59), Some(s @ 0..=59)) if h * 3600 + m * 60 + s <= 18 * 3600 => {
            Ok(Zone::Fixed(sign * (h * 3600 + m * 60 + s)))
        }
        _ => Err(ZoneError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let fixed = |hours: i32, minutes: i32| Ok(Zone::Fixed(hours * 3600 + minutes * 60));
        for (name, zone) in [
            ("Z", fixed(0, 0)),
            ("UTC", fixed(0, 0)),
            ("UT+5", fixed(5, 0)),
            ("GMT+1", fixed(1, 0)),
            ("UTC+01:00", fixed(1, 0)),
            ("UTC-1:30", fixed(-1, -30)),
            ("+5:30", fixed(5, 30)),
            ("+05:3", fixed(5, 3)),
            ("-0730", fixed(-7, -30)),
            ("+18", fixed(18, 0)),
            ("EST", fixed(-5, 0)),
            ("+010203", Ok(Zone::Fixed(3723))),
            ("PST", Ok(Zone::Region(Tz::America__Los_Angeles))),
            ("Etc/GMT+5", Ok(Zone::Region(Tz::Etc__GMTPlus5))),
            ("GMT0", Ok(Zone::Region(Tz::GMT0))),
            ("+18:01", Err(ZoneError::Unknown)),
            ("+1:2:3", Err(ZoneError::Unknown)),
            ("z", Err(ZoneError::Unknown)),
            ("", Err(ZoneError::Unknown)),
            ("utc", Err(ZoneError::Unknown)),
            ("america/los_angeles", Err(ZoneError::Unknown)),
            ("UTC+", Err(ZoneError::Unknown)),
            ("Asia/Gaza", Err(ZoneError::Unsupported)),
        ] {
            assert_eq!(Zone::of(name), zone, "{name}");
        }
    }
}
