//! Time zones with the answers of `java.time`.

use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::Tz;

use super::calendar::{Civil, MICROS_PER_SECOND, SECONDS_PER_DAY, is_leap, weekday};

/// Before it each zone has its first offset, the local mean time.
const FIRST: i64 = -10_000_000_000;
/// 2100-01-01, where the table of transitions ends.
const END: i64 = 4_102_444_800;
/// 28 years with each kind of calendar, without exceptions to the rules that hold from then on.
const LAST_YEARS: std::ops::RangeInclusive<i64> = 2072..=2099;

/// A time zone that `java.time.ZoneId` has. All times are seconds since 1970-01-01, in UTC or on the zone's clocks (local).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Zone {
    /// Seconds east of Greenwich.
    Fixed(i32),
    Region(Tz),
}

impl Zone {
    pub(crate) const UTC: Self = Self::Fixed(0);

    /// Seconds by which the zone's clocks are ahead of UTC.
    pub(crate) fn offset(self, utc: i64) -> i64 {
        match self {
            Self::Fixed(offset) => i64::from(offset),
            Self::Region(tz) if utc < END => table(tz, utc.max(FIRST)),
            Self::Region(tz) => table(tz, same_in_table(tz, utc)),
        }
    }

    /// The local time of an instant.
    pub(crate) fn to_local(self, utc: i64) -> i64 {
        utc + self.offset(utc)
    }

    /// The instant of a local time, as `ZonedDateTime.of` has it: the earlier one where clocks were set back, and later by the length
    /// of the gap where they were set forward. Both are the local time by the offset before the change.
    pub(crate) fn to_utc(self, local: i64) -> i64 {
        // No zone changes its clocks twice within four days.
        let before = self.offset(local - SECONDS_PER_DAY);
        let early = local - before;
        if self.offset(early) == before {
            return early;
        }
        let after = self.offset(local + SECONDS_PER_DAY);
        let late = local - after;
        if self.offset(late) == after { late } else { early }
    }

    /// The first instant of a day, as `LocalDate.atStartOfDay` has it: the end of the gap if there is no midnight.
    pub(crate) fn start_of_day(self, days: i64) -> i64 {
        let local = days * SECONDS_PER_DAY;
        let utc = self.to_utc(local);
        if self.to_local(utc) == local {
            return utc;
        }
        let (mut low, mut high) = (local - SECONDS_PER_DAY, local + SECONDS_PER_DAY);
        let before = self.offset(low);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset(middle) == before {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }

    /// [`Self::to_local`] of microseconds; `None` beyond 64 bits.
    pub(crate) fn micros_to_local(self, micros: i64) -> Option<i64> {
        let offset = self.offset(micros.div_euclid(MICROS_PER_SECOND));
        micros.checked_add(offset * MICROS_PER_SECOND)
    }

    /// [`Self::to_utc`] of microseconds; `None` beyond 64 bits.
    pub(crate) fn micros_to_utc(self, micros: i64) -> Option<i64> {
        let local = micros.div_euclid(MICROS_PER_SECOND);
        micros.checked_sub((local - self.to_utc(local)) * MICROS_PER_SECOND)
    }

    /// The local day of an instant in microseconds.
    pub(crate) fn day_of(self, micros: i64) -> i64 {
        self.to_local(micros.div_euclid(MICROS_PER_SECOND))
            .div_euclid(SECONDS_PER_DAY)
    }
}

fn table(tz: Tz, utc: i64) -> i64 {
    let time = DateTime::from_timestamp(utc, 0).unwrap_or_default().naive_utc();
    i64::from(tz.offset_from_utc_datetime(&time).fix().local_minus_utc())
}

/// An instant of the table with the same offset as one after it. Rules go by months and days of the week, so that a year is like
/// any other of the same length that begins with the same day of the week.
fn same_in_table(tz: Tz, utc: i64) -> i64 {
    let day = |year: i64, month: i64| Civil { year, month, day: 1 }.days();
    let (winter, summer) = (day(2099, 1) * SECONDS_PER_DAY, day(2099, 7) * SECONDS_PER_DAY);
    if table(tz, winter) == table(tz, summer) {
        return END - 1;
    }
    let year = Civil::of(utc.div_euclid(SECONDS_PER_DAY)).year;
    let begin = day(year, 1);
    let like = LAST_YEARS
        .map(|like| (like, day(like, 1)))
        .find(|(like, first)| is_leap(*like) == is_leap(year) && weekday(*first) == weekday(begin));
    like.map_or(END - 1, |(_, first)| utc - (begin - first) * SECONDS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACIFIC: Zone = Zone::Region(Tz::America__Los_Angeles);

    fn at(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> i64 {
        Civil { year, month, day }.days() * SECONDS_PER_DAY + hour * 3600 + minute * 60
    }

    #[test]
    fn gaps_and_overlaps() {
        assert_eq!(PACIFIC.to_utc(at(2024, 3, 10, 2, 30)), at(2024, 3, 10, 10, 30));
        assert_eq!(PACIFIC.to_utc(at(2024, 3, 10, 1, 59)), at(2024, 3, 10, 9, 59));
        assert_eq!(PACIFIC.to_utc(at(2024, 11, 3, 1, 30)), at(2024, 11, 3, 8, 30));
        assert_eq!(PACIFIC.to_utc(at(2024, 11, 3, 2, 0)), at(2024, 11, 3, 10, 0));
        // A day that Samoa left out, and midnights that Sao Paulo left out.
        let apia = Zone::Region(Tz::Pacific__Apia);
        assert_eq!(
            apia.start_of_day(at(2011, 12, 30, 0, 0) / SECONDS_PER_DAY),
            at(2011, 12, 30, 10, 0)
        );
        assert_eq!(apia.to_utc(at(2011, 12, 30, 12, 0)), at(2011, 12, 30, 22, 0));
        let sao_paulo = Zone::Region(Tz::America__Sao_Paulo);
        assert_eq!(
            sao_paulo.start_of_day(at(2018, 11, 4, 0, 0) / SECONDS_PER_DAY),
            at(2018, 11, 4, 3, 0)
        );
        // 23:30 to 00:30: the first moment of the day is half past midnight.
        let toronto = Zone::Region(Tz::America__Toronto);
        assert_eq!(
            toronto.start_of_day(at(1919, 3, 31, 0, 0) / SECONDS_PER_DAY),
            at(1919, 3, 31, 4, 30)
        );
        assert_eq!(toronto.to_utc(at(1919, 3, 31, 0, 0)), at(1919, 3, 31, 5, 0));
    }

    #[test]
    fn local_mean_time_and_the_far_future() {
        assert_eq!(PACIFIC.offset(at(1883, 11, 18, 0, 0)), -28_378);
        assert_eq!(PACIFIC.offset(i64::MIN / MICROS_PER_SECOND), -28_378);
        for year in [2100, 2101, 2400, 9999, 294_246] {
            assert_eq!(PACIFIC.offset(at(year, 1, 1, 0, 0)), -28_800, "{year}");
            assert_eq!(PACIFIC.offset(at(year, 7, 1, 0, 0)), -25_200, "{year}");
        }
        // The second Sunday of March and the first of November.
        assert_eq!(PACIFIC.offset(at(2100, 3, 14, 9, 59)), -28_800);
        assert_eq!(PACIFIC.offset(at(2100, 3, 14, 10, 0)), -25_200);
        assert_eq!(PACIFIC.offset(at(2100, 11, 7, 8, 59)), -25_200);
        assert_eq!(PACIFIC.offset(at(2100, 11, 7, 9, 0)), -28_800);
        let casablanca = Zone::Region(Tz::Africa__Casablanca);
        assert_eq!(casablanca.offset(at(2100, 7, 1, 0, 0)), 3600);
    }
}
