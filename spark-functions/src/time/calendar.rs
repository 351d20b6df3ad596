//! The proleptic Gregorian calendar over every year that Spark's dates and timestamps reach (`chrono` ends at year 262142).

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;

/// Days of 400 years.
const CYCLE: i64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;
/// The last year of `java.time`.
const MAX_YEAR: i64 = 999_999_999;

/// A day by its fields; months and days count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

pub(crate) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month from 1 to 12.
pub(crate) fn month_length(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Civil {
    /// The fields of a day counted from 1970-01-01.
    pub(crate) fn of(days: i64) -> Self {
        let shifted = days + EPOCH;
        let (cycle, day) = (shifted.div_euclid(CYCLE), shifted.rem_euclid(CYCLE));
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let in_year = day - (365 * year + year / 4 - year / 100);
        // Years begin in March, so that the leap day is the last one.
        let from_march = (5 * in_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        Self {
            year: year + cycle * 400 + i64::from(month <= 2),
            month,
            day: in_year - (153 * from_march + 2) / 5 + 1,
        }
    }

    /// The day counted from 1970-01-01. The fields are those of a day that exists.
    pub(crate) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (cycle, in_cycle) = (year.div_euclid(400), year.rem_euclid(400));
        let from_march = (self.month + 9) % 12;
        let in_year = (153 * from_march + 2) / 5 + self.day - 1;
        cycle * CYCLE + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 + in_year - EPOCH
    }

    /// Java's `LocalDate.of`: `None` if there is no such day.
    pub(crate) fn checked(year: i64, month: i64, day: i64) -> Option<Self> {
        let fine = year.abs() <= MAX_YEAR
            && (1..=12).contains(&month)
            && (1..=month_length(year, month)).contains(&day);
        fine.then_some(Self { year, month, day })
    }

    /// The day of the year, from 1.
    pub(crate) fn day_of_year(self) -> i64 {
        self.days()
            - Self {
                month: 1,
                day: 1,
                ..self
            }
            .days()
            + 1
    }
}

/// The day of the week, from Monday = 1.
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// The week of ISO 8601, in which the day's Thursday counts.
pub(crate) fn iso_week(days: i64) -> i64 {
    let thursday = days + 4 - weekday(days);
    (Civil::of(thursday).day_of_year() - 1) / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_fields_are_inverse() {
        for (days, fields) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (11_016, (2000, 2, 29)),
            (-719_528, (0, 1, 1)),
            (-719_529, (-1, 12, 31)),
            (2_932_897, (10_000, 1, 1)),
        ] {
            let civil = Civil::of(days);
            assert_eq!((civil.year, civil.month, civil.day), fields);
        }
        let far = [
            i64::from(i32::MIN),
            i64::from(i32::MAX),
            -106_751_991_168,
            106_751_991_167,
        ];
        for days in (-800_000..800_000).step_by(37).chain(far) {
            let civil = Civil::of(days);
            assert_eq!(civil.days(), days);
            assert!((1..=month_length(civil.year, civil.month)).contains(&civil.day));
        }
    }

    #[test]
    fn weeks() {
        assert_eq!(weekday(0), 4);
        let week = |year, month, day| iso_week(Civil { year, month, day }.days());
        assert_eq!(
            (week(2021, 1, 3), week(2020, 12, 31), week(2019, 12, 30)),
            (53, 53, 1)
        );
        assert_eq!(Civil::checked(2019, 2, 29), None);
    }
}
