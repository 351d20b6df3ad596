//! Days and timestamps of the hybrid calendar (Julian up to 1582-10-04, Gregorian from 1582-10-15) in the proleptic Gregorian one.
//!
//! The local date and time stay the same, the number changes: Spark's `RebaseDateTime`.

/// Days since the epoch of 1582-10-15. From it on both calendars number days alike.
pub(crate) const GREGORIAN_START_DAY: i32 = -141_427;
/// Microseconds since the epoch of 1900-01-01T00:00Z. From it on Spark rebases no timestamp in any zone; before it also the old offsets of
/// zones differ between the two libraries of the JVM.
pub(crate) const LAST_SWITCH_MICROS: i64 = -2_208_988_800_000_000;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Days of four Julian years.
const JULIAN_CYCLE: i64 = 1461;
/// Days from Julian 0000-03-01 to the epoch (which is Julian 1969-12-19).
const JULIAN_MARCH_0: i64 = 719_470;
/// Days of 400 Gregorian years.
const GREGORIAN_CYCLE: i64 = 146_097;
/// Days from proleptic Gregorian 0000-03-01 to the epoch.
const GREGORIAN_MARCH_0: i64 = 719_468;

/// The day with the same year, month and day of month. The Julian 29th of February that the Gregorian calendar lacks is the 1st of March.
pub(crate) fn rebase_day(day: i64) -> i64 {
    if day >= i64::from(GREGORIAN_START_DAY) {
        return day;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let days = day + JULIAN_MARCH_0;
    let (cycle, in_cycle) = (days.div_euclid(JULIAN_CYCLE), days.rem_euclid(JULIAN_CYCLE));
    let year_of_cycle = (in_cycle - in_cycle / (JULIAN_CYCLE - 1)) / 365;
    let day_of_year = in_cycle - 365 * year_of_cycle;
    let year = cycle * 4 + year_of_cycle;

    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    // The number of a day within a year that begins in March is the same in both calendars.
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * GREGORIAN_CYCLE + day_of_era - GREGORIAN_MARCH_0
}

/// The instant with the same local date and time, in a zone that has always been UTC; `None` where it is out of range.
pub(crate) fn rebase_micros(micros: i64) -> Option<i64> {
    let (day, rest) = (
        micros.div_euclid(MICROS_PER_DAY),
        micros.rem_euclid(MICROS_PER_DAY),
    );
    rebase_day(day).checked_mul(MICROS_PER_DAY)?.checked_add(rest)
}

/// Whether a zone of Spark's has had no offset at any time, so that local time is UTC.
pub(crate) fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC" | "GMT" | "Etc/GMT" | "Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs that Spark's `RebaseDateTime.rebaseJulianToGregorianDays` gives.
    #[test]
    fn days_keep_their_name() {
        for (julian, gregorian) in [
            (0, 0),
            (-141_427, -141_427),
            // 1582-10-04
            (-141_428, -141_438),
            // 1500-02-28, 02-29 (not in the Gregorian calendar: 03-01) and 03-01
            (-171_597, -171_606),
            (-171_596, -171_605),
            (-171_595, -171_605),
            // 1000-01-01
            (-354_280, -354_285),
            // 0001-01-01, and the day before it
            (-719_164, -719_162),
            (-719_165, -719_163),
        ] {
            assert_eq!(rebase_day(julian), gregorian, "{julian}");
        }
        assert_eq!(rebase_micros(-1), Some(-1));
        assert_eq!(
            rebase_micros(-141_427 * MICROS_PER_DAY - 1),
            Some((-141_438 + 1) * MICROS_PER_DAY - 1)
        );
        // The year is 290308 before our era; the days of the same name are thousands of days apart.
        assert!(rebase_micros(i64::MIN).is_some_and(|micros| micros > i64::MIN));
    }
}
