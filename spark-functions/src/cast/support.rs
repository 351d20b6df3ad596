//! Which casts are computed, and which of their values have an answer.

use arrow::datatypes::{DataType, TimeUnit};

use super::{CastOptions, SparkCast};
use crate::time::session_zone;
use crate::types::{is_float, is_integer, sql_name};
use crate::{EvalMode, Unsupported};

const NONE: &str = "there is no exact implementation of this cast";
const FLOAT_TEXT: &str = "the text depends on the Java version of the driver";

fn is_decimal(kind: &DataType) -> bool {
    matches!(kind, DataType::Decimal128(..))
}

fn is_number(kind: &DataType) -> bool {
    is_integer(kind) || is_float(kind) || is_decimal(kind)
}

/// Spark's TIMESTAMP.
fn is_instant(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
}

/// Spark's TIMESTAMP_NTZ.
fn is_local(kind: &DataType) -> bool {
    matches!(kind, DataType::Timestamp(TimeUnit::Microsecond, None))
}

/// Whether this crate computes `CAST(from AS to)` exactly.
pub fn check_cast(from: &DataType, to: &DataType, options: &CastOptions) -> Result<(), Unsupported> {
    if from == to {
        return Ok(());
    }
    let what = || format!("CAST({} AS {})", sql_name(from), sql_name(to));
    // Comet sends `unix_date` as a cast.
    let unix_date = from == &DataType::Date32 && to == &DataType::Int32 && options.mode == EvalMode::Legacy;
    if !unix_date {
        check_parts(from, to, options.mode).map_err(|reason| Unsupported::new(what(), reason))?;
    }
    if needs_zone(from, to) {
        session_zone(&options.timezone)
            .map_err(|zone| Unsupported::new(what(), format!("{}: {}", zone.what, zone.reason)))?;
    }
    Ok(())
}

fn check_parts(from: &DataType, to: &DataType, mode: EvalMode) -> Result<(), &'static str> {
    use DataType::{Binary, Boolean, Date32, Decimal128, List, Map, Null, Struct, Utf8};
    let legacy = mode == EvalMode::Legacy;
    let fine = match (from, to) {
        (from, to) if from == to => true,
        (Null, _) => true,
        (Decimal128(_, scale), _) if *scale < 0 => return Err("decimals of negative scale"),
        (from, Utf8) if is_float(from) => return Err(FLOAT_TEXT),
        (List(from), Utf8) => return check_parts(from.data_type(), to, mode),
        (Map(entries, _), Utf8) => return check_parts(entries.data_type(), to, mode),
        (Struct(fields), Utf8) => {
            return fields
                .iter()
                .try_for_each(|field| check_parts(field.data_type(), to, mode));
        }
        (List(from), List(to)) | (Map(from, _), Map(to, _)) => {
            return check_parts(from.data_type(), to.data_type(), mode);
        }
        (Struct(from), Struct(to)) if from.len() == to.len() => {
            let mut pairs = from.iter().zip(to);
            return pairs.try_for_each(|(from, to)| check_parts(from.data_type(), to.data_type(), mode));
        }
        (from, to) if is_number(from) && is_number(to) => true,
        (from, Boolean) => is_number(from) || from == &Utf8,
        (Boolean, to) if is_instant(to) => legacy,
        (Boolean, to) => is_number(to) || to == &Utf8,
        (from, Utf8) => {
            is_integer(from)
                || is_decimal(from)
                || is_instant(from)
                || is_local(from)
                || matches!(from, Date32 | Binary)
        }
        (Utf8, to) => is_number(to) || is_instant(to) || is_local(to) || matches!(to, Date32 | Binary),
        (from, Binary) => legacy && is_integer(from),
        (from, to) if is_number(from) => is_instant(to),
        (Date32, to) => is_instant(to) || is_local(to),
        (from, Date32) => is_instant(from) || is_local(from),
        (from, DataType::Int64) => is_instant(from),
        (from, to) => (is_instant(from) && is_local(to)) || (is_local(from) && is_instant(to)),
    };
    if fine { Ok(()) } else { Err(NONE) }
}

/// Spark's `Cast.needsTimeZone`.
fn needs_zone(from: &DataType, to: &DataType) -> bool {
    use DataType::{Date32, List, Map, Struct, Utf8};
    match (from, to) {
        (List(from), List(to)) | (Map(from, _), Map(to, _)) => needs_zone(from.data_type(), to.data_type()),
        (Struct(from), Struct(to)) => {
            let mut pairs = from.iter().zip(to);
            pairs.any(|(from, to)| needs_zone(from.data_type(), to.data_type()))
        }
        (List(field), Utf8) | (Map(field, _), Utf8) => needs_zone(field.data_type(), to),
        (Struct(fields), Utf8) => fields.iter().any(|field| needs_zone(field.data_type(), to)),
        (Utf8 | Date32, to) => is_instant(to),
        (from, Utf8 | Date32) => is_instant(from),
        (from, to) => (is_instant(from) && is_local(to)) || (is_local(from) && is_instant(to)),
    }
}

impl SparkCast {
    /// Whether every value of the source has an answer.
    pub(super) fn total(&self) -> bool {
        use DataType::{Binary, Boolean, Date32, Decimal128, List, Map, Null, Struct, Utf8};
        let bits = |kind: &DataType| kind.primitive_width().unwrap_or(0);
        match (&self.from, &self.to) {
            (Utf8, Binary) => true,
            (List(from), List(to)) | (Map(from, _), Map(to, _)) => {
                self.between(from.data_type(), to.data_type()).total()
            }
            (Struct(from), Struct(to)) => {
                let mut pairs = from.iter().zip(to);
                pairs.all(|(from, to)| self.between(from.data_type(), to.data_type()).total())
            }
            (from, to) if from == to => true,
            (Null, _) | (_, Utf8 | Binary) | (_, Boolean | Date32) if self.from != Utf8 => true,
            (Date32, _) => true,
            (from, to) if is_instant(to) => !is_float(from) && from != &Utf8,
            (from, _) if is_instant(from) => true,
            (Boolean, to) => !matches!(to, Decimal128(..)),
            (from, to) if is_integer(from) && is_integer(to) => {
                bits(from) <= bits(to) || self.mode == EvalMode::Legacy
            }
            (from, to) if is_number(from) && is_float(to) => true,
            (from, to) if is_integer(to) && *from != Utf8 => self.mode == EvalMode::Legacy,
            (Decimal128(p, s), Decimal128(q, t)) => t >= s && q - u8::try_from(t - s).unwrap_or(0) >= *p,
            (from, Decimal128(q, t)) if is_integer(from) => {
                let digits = match bits(from) {
                    1 => 3,
                    2 => 5,
                    4 => 10,
                    _ => 19,
                };
                i16::from(*q) - i16::from(*t) >= digits
            }
            _ => false,
        }
    }

    /// Whether a value can raise an error that no mode turns into NULL: days whose microseconds need more than 64 bits, and values that
    /// are not computed here, such as bytes that are no UTF-8.
    pub(super) fn raises_in_every_mode(&self) -> bool {
        use DataType::{Binary, List, Map, Struct, Utf8};
        match (&self.from, &self.to) {
            (List(from), List(to)) | (Map(from, _), Map(to, _)) => self
                .between(from.data_type(), to.data_type())
                .raises_in_every_mode(),
            (Struct(from), Struct(to)) => {
                let mut pairs = from.iter().zip(to);
                pairs.any(|(from, to)| {
                    self.between(from.data_type(), to.data_type())
                        .raises_in_every_mode()
                })
            }
            (Binary | List(_) | Map(..) | Struct(_), Utf8) => true,
            (Utf8, to) => is_number(to) || is_instant(to) || is_local(to),
            (_, to) => is_instant(to) || is_local(to),
        }
    }
}
