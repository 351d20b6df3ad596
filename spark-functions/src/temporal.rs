//! Functions over timestamps and time zones.

use std::sync::Arc;

use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType as Micros,
};
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::row::{Kernel, SparkExpr};
use crate::time::{MICROS_PER_SECOND, SECONDS_PER_DAY, Zone, session_zone};
use crate::types::sql_name;
use crate::{Unsupported, vector};

/// A field of the time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimePart {
    /// 0 to 23.
    Hour,
    /// 0 to 59.
    Minute,
    /// 0 to 59.
    Second,
}

impl TimePart {
    fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Minute => "minute",
            Self::Second => "second",
        }
    }

    fn of(self, local: i64) -> i64 {
        let second = local.rem_euclid(SECONDS_PER_DAY);
        match self {
            Self::Hour => second / 3600,
            Self::Minute => second / 60 % 60,
            Self::Second => second % 60,
        }
    }
}

/// What Java's `Math.multiplyExact` and the like raise, in every mode.
pub(crate) fn exact<T>(value: Option<T>) -> Result<Option<T>> {
    value
        .map(Some)
        .ok_or_else(|| exec_datafusion_err!("long overflow"))
}

/// The zone that a value of this type is seen in: TIMESTAMP_NTZ has none.
fn zone_of(data_type: &DataType, timezone: &str) -> Option<Result<Zone, Unsupported>> {
    match data_type {
        DataType::Timestamp(TimeUnit::Microsecond, None) => Some(Ok(Zone::UTC)),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) | DataType::Date32 => {
            Some(session_zone(timezone))
        }
        _ => None,
    }
}

fn refuse(name: &str, data_type: &DataType) -> Unsupported {
    let what = format!("function {name}({})", sql_name(data_type));
    Unsupported::new(what, "there is no exact implementation for these arguments")
}

fn create(
    name: &str,
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    timezone: &str,
    op: impl FnOnce(Zone) -> TimeOp,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let zone = zone_of(from, timezone).ok_or_else(|| refuse(name, from))??;
    let op = op(zone);
    Ok(op.over(child, from, op.return_type(from)))
}

/// Spark's `Hour`, `Minute` and `Second` of a timestamp: INT.
pub fn time_part(
    part: TimePart,
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    timezone: &str,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    if from == &DataType::Date32 {
        return Err(refuse("hour, minute or second", from));
    }
    create(part.name(), child, from, timezone, |zone| {
        TimeOp::Part(part, zone)
    })
}

/// Spark's `UnixTimestamp` of a date or timestamp: seconds since the epoch, BIGINT.
pub fn unix_timestamp(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    timezone: &str,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    create("unix_timestamp", child, from, timezone, TimeOp::UnixSeconds)
}

/// Spark's `PreciseTimestampConversion`: microseconds as BIGINT, or back.
pub fn precise_conversion(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    to: &DataType,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let timestamp = |kind: &DataType| matches!(kind, DataType::Timestamp(TimeUnit::Microsecond, _));
    let fine = (timestamp(from) && to == &DataType::Int64) || (from == &DataType::Int64 && timestamp(to));
    if !fine {
        return Err(refuse("precise_timestamp_conversion", from));
    }
    Ok(TimeOp::Same.over(child, from, to.clone()))
}

/// `from_utc_timestamp` (the time that the zone's clocks show) and `to_utc_timestamp` (its reverse), by one zone.
pub(crate) fn shift(
    to_utc: bool,
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    zone: Zone,
) -> Option<Arc<dyn PhysicalExpr>> {
    let fine = matches!(from, DataType::Timestamp(TimeUnit::Microsecond, _));
    let op = if to_utc {
        TimeOp::ToUtc(zone)
    } else {
        TimeOp::FromUtc(zone)
    };
    fine.then(|| op.over(child, from, from.clone()))
}

/// `timestamp_seconds` of a number, as TIMESTAMP.
pub(crate) fn seconds_to_timestamp(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
) -> Option<Arc<dyn PhysicalExpr>> {
    use DataType::{Float32, Float64, Int32, Int64};
    let return_type = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let fine = matches!(from, Int32 | Int64 | Float32 | Float64);
    fine.then(|| TimeOp::FromSeconds.over(child, from, return_type))
}

/// What is done with one column.
#[derive(Debug, Clone, Copy)]
enum TimeOp {
    Part(TimePart, Zone),
    UnixSeconds(Zone),
    FromUtc(Zone),
    ToUtc(Zone),
    FromSeconds,
    Same,
}

impl TimeOp {
    fn return_type(self, from: &DataType) -> DataType {
        match self {
            Self::Part(..) => DataType::Int32,
            Self::UnixSeconds(_) => DataType::Int64,
            _ => from.clone(),
        }
    }

    fn over(
        self,
        child: Arc<dyn PhysicalExpr>,
        from: &DataType,
        return_type: DataType,
    ) -> Arc<dyn PhysicalExpr> {
        let from = from.clone();
        let function = TimeFunction {
            op: self,
            from,
            return_type,
        };
        SparkExpr::create(function, vec![child])
    }
}

#[derive(Debug)]
struct TimeFunction {
    op: TimeOp,
    from: DataType,
    return_type: DataType,
}

/// Java's cast of a double to a long.
fn saturate(seconds: f64) -> Option<i64> {
    #[allow(clippy::cast_precision_loss)]
    let micros = seconds * MICROS_PER_SECOND as f64;
    seconds.is_finite().then_some(micros as i64)
}

impl TimeFunction {
    fn seconds(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let to = &self.return_type;
        match self.from {
            DataType::Int32 => vector::unary::<Int32Type, Micros>(input, to, |seconds| {
                exact(i64::from(seconds).checked_mul(MICROS_PER_SECOND))
            }),
            DataType::Int64 => vector::unary::<Int64Type, Micros>(input, to, |seconds| {
                exact(seconds.checked_mul(MICROS_PER_SECOND))
            }),
            DataType::Float32 => {
                vector::unary::<Float32Type, Micros>(input, to, |seconds| Ok(saturate(seconds.into())))
            }
            _ => vector::unary::<Float64Type, Micros>(input, to, |seconds| Ok(saturate(seconds))),
        }
    }
}

impl Kernel for TimeFunction {
    fn name(&self) -> &str {
        match self.op {
            TimeOp::Part(part, _) => part.name(),
            TimeOp::UnixSeconds(_) => "unix_timestamp",
            TimeOp::FromUtc(_) => "from_utc_timestamp",
            TimeOp::ToUtc(_) => "to_utc_timestamp",
            TimeOp::FromSeconds => "seconds_to_timestamp",
            TimeOp::Same => "precise_timestamp_conversion",
        }
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        matches!(self.op, TimeOp::FromSeconds)
    }

    fn fallible(&self) -> bool {
        !matches!(self.op, TimeOp::Part(..) | TimeOp::Same)
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        let (input, to) = (&args[0], &self.return_type);
        match self.op {
            TimeOp::Part(part, zone) => vector::unary::<Micros, Int32Type>(input, to, |micros| {
                let local = zone.to_local(micros.div_euclid(MICROS_PER_SECOND));
                Ok(i32::try_from(part.of(local)).ok())
            }),
            TimeOp::UnixSeconds(zone) if self.from == DataType::Date32 => {
                vector::unary::<Date32Type, Int64Type>(input, to, |days| {
                    let seconds = zone.start_of_day(days.into());
                    exact(seconds.checked_mul(MICROS_PER_SECOND).map(|_| seconds))
                })
            }
            // Spark cuts towards zero here, not so where it casts to BIGINT.
            TimeOp::UnixSeconds(_) => {
                vector::unary::<Micros, Int64Type>(input, to, |micros| Ok(Some(micros / MICROS_PER_SECOND)))
            }
            TimeOp::FromUtc(zone) => {
                vector::unary::<Micros, Micros>(input, to, |micros| exact(zone.micros_to_local(micros)))
            }
            TimeOp::ToUtc(zone) => {
                vector::unary::<Micros, Micros>(input, to, |micros| exact(zone.micros_to_utc(micros)))
            }
            TimeOp::FromSeconds => self.seconds(input),
            TimeOp::Same if self.from == DataType::Int64 => {
                vector::unary::<Int64Type, Micros>(input, to, |value| Ok(Some(value)))
            }
            TimeOp::Same => match to {
                DataType::Int64 => vector::unary::<Micros, Int64Type>(input, to, |value| Ok(Some(value))),
                other => exec_err!("no reading of a timestamp as {other}"),
            },
        }
    }
}
