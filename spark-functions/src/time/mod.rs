//! Dates, times and zones as `java.time` and Spark have them.

pub(crate) mod calendar;
pub(crate) mod format;
pub(crate) mod parse;
pub(crate) mod zone;
mod zone_id;

pub(crate) use calendar::{Civil, MICROS_PER_SECOND, SECONDS_PER_DAY};
pub(crate) use zone::Zone;
pub(crate) use zone_id::ZoneError;

use crate::Unsupported;

/// The session's zone; one whose rules are not known here is refused by name.
pub(crate) fn session_zone(name: &str) -> Result<Zone, Unsupported> {
    let name = if name.is_empty() { "UTC" } else { name };
    Zone::of(name).map_err(|_| Unsupported::new(format!("time zone {name}"), "its rules are not known here"))
}
