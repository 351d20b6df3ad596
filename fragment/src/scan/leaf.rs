//! What Spark's vectorised Parquet reader makes of a column without parts: which types it reads as which, and with which values.
//!
//! It goes by the physical type of the file; an annotation counts only where it is said below.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::parquet::basic::Type as PhysicalType;

use super::align::Failure;
use super::calendar::{GREGORIAN_START_DAY, LAST_SWITCH_MICROS, is_utc, rebase_day, rebase_micros};

const MICROS_PER_DAY: i64 = 86_400_000_000;
const NANOS_PER_MICRO: i64 = 1000;

/// One step from a file's values to those of Spark's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    /// A cast that keeps every value, or fails.
    Cast(DataType),
    /// The same bits as another type of the same width.
    Relabel(DataType),
    /// The low bits of the number (of a decimal: of the unscaled one).
    Truncate(DataType),
    /// Days as microseconds of their midnight.
    DaysToMicros,
    /// Microseconds of a day as nanoseconds.
    MicrosToNanos,
    /// Dates and timestamps of another calendar.
    Rebase(Rebase),
}

/// What is done with dates and timestamps from before the calendar switch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Rebase {
    /// They are of the hybrid calendar, timestamps in the zone of the writer if it is known.
    Legacy {
        /// As Spark names it.
        zone: Option<String>,
    },
    /// They are an error, as they might be of either calendar.
    Exception {
        /// The file has INT96 timestamps.
        int96: bool,
    },
}

/// What applies to all columns of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct LeafRules {
    pub(crate) allow_type_promotion: bool,
    pub(crate) allow_timestamp_ltz_to_ntz: bool,
    /// Of dates and INT64 timestamps; `None` where they are of the proleptic calendar.
    pub(crate) datetime: Option<Rebase>,
    /// Of INT96 timestamps.
    pub(crate) int96: Option<Rebase>,
}

/// Appends the rebase, if there is one.
fn rebased(mut steps: Vec<Step>, rebase: &Option<Rebase>) -> Vec<Step> {
    steps.extend(rebase.clone().map(Step::Rebase));
    steps
}

/// The steps from a type to itself or to one of the same bits.
fn relabelled(from: &DataType, to: &DataType) -> Vec<Step> {
    match from == to {
        true => vec![],
        false => vec![Step::Relabel(to.clone())],
    }
}

/// Digits in front of the point.
fn digits(precision: u8, scale: i8) -> i16 {
    i16::from(precision) - i16::from(scale)
}

impl LeafRules {
    /// The steps from a file's column to Spark's type; `None` where Spark does not read it as that.
    ///
    /// `have` is the Arrow type of the file's column, `target` the one in which Spark's type travels.
    pub(crate) fn steps(
        &self,
        physical: PhysicalType,
        have: &DataType,
        target: &DataType,
    ) -> Option<Vec<Step>> {
        use DataType::*;
        // Annotated as UNKNOWN: NULLs of the physical type.
        if *have == Null && *target != Null {
            let bare = bare_type(physical)?;
            let annotated = matches!(target, Decimal128(_, _) | Timestamp(_, _)) && bare != *target;
            return (!annotated && self.steps(physical, &bare, target).is_some())
                .then(|| vec![Step::Cast(target.clone())]);
        }
        match physical {
            PhysicalType::INT32 => self.int32(have, target),
            PhysicalType::INT64 => self.int64(have, target),
            PhysicalType::INT96 => match target {
                Timestamp(TimeUnit::Microsecond, None) => Some(relabelled(have, target)),
                Timestamp(TimeUnit::Microsecond, Some(_)) => {
                    Some(rebased(relabelled(have, target), &self.int96))
                }
                _ => None,
            },
            PhysicalType::FLOAT if *target == Float64 && self.allow_type_promotion => {
                Some(vec![Step::Cast(Float64)])
            }
            PhysicalType::BOOLEAN | PhysicalType::FLOAT | PhysicalType::DOUBLE => {
                (have == target).then(Vec::new)
            }
            PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY => match (have, target) {
                (Decimal128(_, _), _) => self.decimal(have, target),
                (Utf8, Utf8) | (Binary, Binary) => Some(vec![]),
                (Utf8, Binary) | (Binary, Utf8) | (FixedSizeBinary(_), Binary) => {
                    Some(vec![Step::Cast(target.clone())])
                }
                _ => None,
            },
        }
    }

    fn int32(&self, have: &DataType, target: &DataType) -> Option<Vec<Step>> {
        use DataType::*;
        let promote = self.allow_type_promotion;
        let number = || match have {
            Int32 => Some(vec![]),
            Int8 | Int16 | UInt8 | UInt16 => Some(vec![Step::Cast(Int32)]),
            UInt32 | Date32 | Time32(_) => Some(vec![Step::Relabel(Int32)]),
            Decimal128(_, _) => Some(vec![Step::Truncate(Int32)]),
            _ => None,
        };
        let then = |step: Step| {
            number().map(|mut steps| {
                steps.push(step);
                steps
            })
        };
        match target {
            // Spark reads the one or the other of these only where no page has a dictionary.
            Int8 | Int16 | Int32 | Date32 | Interval(_) if *have == UInt32 => None,
            Int32 => number(),
            Int8 | Int16 if have == target => Some(vec![]),
            Int8 | Int16 => then(Step::Truncate(target.clone())),
            Int64 => match have {
                UInt32 => Some(vec![Step::Cast(Int64)]),
                _ if !promote => None,
                Int8 | Int16 | Int32 | UInt8 | UInt16 => Some(vec![Step::Cast(Int64)]),
                _ => then(Step::Cast(Int64)),
            },
            Float64 if promote => then(Step::Cast(Float64)),
            Date32 if *have == Date32 => Some(rebased(vec![], &self.datetime)),
            Date32 => then(Step::Relabel(Date32)).map(|steps| rebased(steps, &self.datetime)),
            Timestamp(TimeUnit::Microsecond, None) if *have == Date32 && promote => {
                let mut steps = rebased(vec![], &self.datetime);
                steps.push(Step::DaysToMicros);
                Some(steps)
            }
            Interval(_) => then(Step::Relabel(target.clone())),
            Decimal128(precision, scale) => match have {
                Int8 | Int16 | Int32 if promote && digits(*precision, *scale) >= 10 => {
                    Some(vec![Step::Cast(target.clone())])
                }
                _ => self.decimal(have, target),
            },
            _ => None,
        }
    }

    fn int64(&self, have: &DataType, target: &DataType) -> Option<Vec<Step>> {
        use DataType::*;
        use TimeUnit::{Microsecond, Millisecond};
        // Unsigned numbers Spark reads so only where no page has a dictionary.
        let number = || match have {
            Int64 => Some(vec![]),
            Timestamp(_, _) | Time64(_) => Some(vec![Step::Relabel(Int64)]),
            Decimal128(_, _) => Some(vec![Step::Truncate(Int64)]),
            _ => None,
        };
        match target {
            Int64 => number(),
            Timestamp(Microsecond, zone) => {
                let mut steps = match have {
                    Timestamp(_, Some(_)) if zone.is_none() && !self.allow_timestamp_ltz_to_ntz => {
                        return None;
                    }
                    Timestamp(Microsecond, _) => vec![],
                    Timestamp(Millisecond, from) => vec![Step::Cast(Timestamp(Microsecond, from.clone()))],
                    _ => return None,
                };
                let same_zone = matches!(have, Timestamp(_, from) if from == zone);
                if !same_zone {
                    steps.push(Step::Relabel(target.clone()));
                }
                Some(match zone {
                    Some(_) => rebased(steps, &self.datetime),
                    None => steps,
                })
            }
            Duration(Microsecond) => number().map(|mut steps| {
                steps.push(Step::Relabel(target.clone()));
                steps
            }),
            Time64(TimeUnit::Nanosecond) => number().map(|mut steps| {
                steps.push(Step::MicrosToNanos);
                steps
            }),
            Decimal128(precision, scale) => match have {
                Int64 if self.allow_type_promotion && digits(*precision, *scale) >= 20 => {
                    Some(vec![Step::Cast(target.clone())])
                }
                UInt64 if (*precision, *scale) == (20, 0) => Some(vec![Step::Cast(target.clone())]),
                _ => self.decimal(have, target),
            },
            _ => None,
        }
    }

    /// Where no digit gets lost on either side of the point.
    fn decimal(&self, have: &DataType, target: &DataType) -> Option<Vec<Step>> {
        let (DataType::Decimal128(p1, s1), DataType::Decimal128(p2, s2)) = (have, target) else {
            return None;
        };
        match have == target {
            true => Some(vec![]),
            false => (self.allow_type_promotion && s2 >= s1 && digits(*p2, *s2) >= digits(*p1, *s1))
                .then(|| vec![Step::Cast(target.clone())]),
        }
    }
}

/// The Arrow type of a physical type without an annotation.
fn bare_type(physical: PhysicalType) -> Option<DataType> {
    Some(match physical {
        PhysicalType::BOOLEAN => DataType::Boolean,
        PhysicalType::INT32 => DataType::Int32,
        PhysicalType::INT64 => DataType::Int64,
        PhysicalType::INT96 => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        PhysicalType::FLOAT => DataType::Float32,
        PhysicalType::DOUBLE => DataType::Float64,
        PhysicalType::BYTE_ARRAY => DataType::Binary,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => return None,
    })
}

impl Step {
    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        Ok(match self {
            Self::Cast(DataType::Utf8) => exact_cast(array, &DataType::Utf8).map_err(|_| Failure::NotText)?,
            Self::Cast(target) => exact_cast(array, target)?,
            Self::Relabel(target) => relabel(array, target)?,
            Self::Truncate(target) => truncate(array, target)?,
            Self::DaysToMicros => {
                let micros = array
                    .as_primitive::<Date32Type>()
                    .try_unary::<_, TimestampMicrosecondType, ArrowError>(|day| {
                        in_range(i64::from(day).checked_mul(MICROS_PER_DAY))
                    })?;
                Arc::new(micros)
            }
            Self::MicrosToNanos => {
                let numbers = relabel(array, &DataType::Int64)?;
                let nanos = numbers
                    .as_primitive::<Int64Type>()
                    .try_unary::<_, Time64NanosecondType, ArrowError>(|micros| {
                        in_range(micros.checked_mul(NANOS_PER_MICRO))
                    })?;
                Arc::new(nanos)
            }
            Self::Rebase(rebase) => rebase.apply(array)?,
        })
    }
}

fn in_range(value: Option<i64>) -> Result<i64, ArrowError> {
    value.ok_or_else(|| ArrowError::ArithmeticOverflow("long overflow".to_string()))
}

fn exact_cast(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, target, &options)
}

fn relabel(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data().into_builder().data_type(target.clone()).build()?;
    Ok(datafusion::arrow::array::make_array(data))
}

fn truncate(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    let numbers: PrimitiveArray<Int64Type> = match array.data_type() {
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().unary(|value| value as i64),
        _ => exact_cast(array, &DataType::Int64)?
            .as_primitive::<Int64Type>()
            .clone(),
    };
    fn low<T: ArrowPrimitiveType>(
        numbers: &PrimitiveArray<Int64Type>,
        of: impl Fn(i64) -> T::Native,
    ) -> ArrayRef {
        Arc::new(numbers.unary::<_, T>(of))
    }
    Ok(match target {
        DataType::Int8 => low::<Int8Type>(&numbers, |value| value as i8),
        DataType::Int16 => low::<Int16Type>(&numbers, |value| value as i16),
        DataType::Int32 => low::<Int32Type>(&numbers, |value| value as i32),
        _ => Arc::new(numbers),
    })
}

impl Rebase {
    fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        match array.data_type() {
            DataType::Date32 => self.days(array),
            _ => self.timestamps(array),
        }
    }

    fn days(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        let days = array.as_primitive::<Date32Type>();
        if days.iter().flatten().all(|day| day >= GREGORIAN_START_DAY) {
            return Ok(Arc::clone(array));
        }
        if let Self::Exception { int96 } = *self {
            return Err(Failure::Ancient { int96 });
        }
        // Ten days at most are taken away, and only after the year 0.
        Ok(Arc::new(
            days.unary::<_, Date32Type>(|day| rebase_day(i64::from(day)) as i32),
        ))
    }

    fn timestamps(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        let all = array.as_primitive::<TimestampMicrosecondType>();
        if all.iter().flatten().all(|micros| micros >= LAST_SWITCH_MICROS) {
            return Ok(Arc::clone(array));
        }
        match self {
            Self::Exception { int96 } => Err(Failure::Ancient { int96: *int96 }),
            Self::Legacy { zone: Some(zone) } if is_utc(zone) => {
                let rebased =
                    all.try_unary::<_, TimestampMicrosecondType, ArrowError>(|v| in_range(rebase_micros(v)))?;
                Ok(Arc::new(rebased.with_data_type(array.data_type().clone())))
            }
            Self::Legacy { zone } => Err(Failure::Zone(zone.clone())),
        }
    }
}
