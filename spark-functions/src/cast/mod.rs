//! Spark's `Cast`.

#[cfg(test)]
pub(crate) use parse::date as parse_date;
#[cfg(test)]
pub(crate) use to_string::date_text;

mod from_string;
mod numbers;
mod parse;
mod to_string;

pub(crate) use numbers::decimal_to_double;

use std::sync::Arc;

use arrow::array::new_null_array;
use arrow::datatypes::{DataType, Date32Type, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::row::{Kernel, SparkExpr};
use crate::types::{is_float, is_integer, sql_name};
use crate::{EvalMode, QueryContext, SparkError, SparkErrorKind, Unsupported, vector};

/// What a cast depends on beside its types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CastOptions {
    /// What to do with a value that has no answer.
    pub mode: EvalMode,
    /// The session's time zone, e.g. `UTC` or `America/Los_Angeles`.
    pub timezone: String,
    /// Where the cast stands in the query.
    pub context: Option<Arc<QueryContext>>,
}

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Whether this crate computes `CAST(from AS to)` exactly.
pub fn check_cast(from: &DataType, to: &DataType, options: &CastOptions) -> Result<(), Unsupported> {
    use DataType::{Boolean, Date32, Decimal128, Null, Timestamp, Utf8};
    if from == to {
        return Ok(());
    }
    let number = |kind: &DataType| is_integer(kind) || is_float(kind) || matches!(kind, Decimal128(..));
    let what = || format!("CAST({} AS {})", sql_name(from), sql_name(to));
    if let Decimal128(_, scale) = from
        && *scale < 0
    {
        return Err(Unsupported::new(what(), "decimals of negative scale"));
    }
    let utc = matches!(
        options.timezone.as_str(),
        "UTC" | "Etc/UTC" | "Z" | "GMT" | "Etc/GMT" | "+00:00"
    );
    let micros = |kind: &DataType, zone: bool| matches!(kind, Timestamp(TimeUnit::Microsecond, tz) if tz.is_some() == zone);
    let fine = match (from, to) {
        (Null, _) => true,
        (from, Utf8) if is_float(from) => {
            return Err(Unsupported::new(
                what(),
                "the text depends on the Java version of the driver",
            ));
        }
        (from, to) if number(from) && number(to) => true,
        (from, Boolean) if number(from) => true,
        (Boolean, to) if number(to) => true,
        (from, Utf8) if is_integer(from) || matches!(from, Boolean | Decimal128(..) | Date32) => true,
        (Utf8, to) if number(to) || matches!(to, Boolean | Date32) => true,
        (Date32, to) | (to, Date32) if micros(to, false) => true,
        (Date32, to) | (to, Date32) if micros(to, true) => {
            if !utc {
                let reason = format!("the session time zone {} is not UTC", options.timezone);
                return Err(Unsupported::new(what(), reason));
            }
            true
        }
        _ => false,
    };
    if fine {
        Ok(())
    } else {
        Err(Unsupported::new(
            what(),
            "there is no exact implementation of this cast",
        ))
    }
}

/// `CAST(child AS to)`; refused unless [`check_cast`] accepts it.
pub fn cast(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    to: &DataType,
    options: &CastOptions,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    check_cast(from, to, options)?;
    if from == to {
        return Ok(child);
    }
    let (mode, context) = (options.mode, options.context.clone());
    Ok(SparkExpr::create(
        SparkCast {
            from: from.clone(),
            to: to.clone(),
            mode,
            context,
        },
        vec![child],
    ))
}

/// The kernel of [`cast`].
#[derive(Debug)]
pub(crate) struct SparkCast {
    pub(crate) from: DataType,
    pub(crate) to: DataType,
    pub(crate) mode: EvalMode,
    pub(crate) context: Option<Arc<QueryContext>>,
}

impl SparkCast {
    /// A value without an answer: an error or NULL.
    #[cold]
    pub(crate) fn nothing<T>(&self, kind: impl FnOnce() -> SparkErrorKind) -> Result<Option<T>> {
        if self.mode.fails() {
            let error: SparkError = kind().at(self.context.as_ref());
            return Err(error.into());
        }
        Ok(None)
    }

    pub(crate) fn overflow(&self, literal: String) -> SparkErrorKind {
        SparkErrorKind::CastOverFlow {
            value: literal,
            from_type: sql_name(&self.from),
            to_type: sql_name(&self.to),
        }
    }

    /// Whether every value of the source has an answer.
    fn total(&self) -> bool {
        use DataType::{Boolean, Date32, Decimal128, Null, Utf8};
        let bits = |kind: &DataType| kind.primitive_width().unwrap_or(0);
        match (&self.from, &self.to) {
            (Null, _) | (_, Utf8) | (_, Boolean | Date32) if self.from != Utf8 => true,
            (Boolean, to) => !matches!(to, Decimal128(..)),
            (from, to) if is_integer(from) && is_integer(to) => {
                bits(from) <= bits(to) || self.mode == EvalMode::Legacy
            }
            (from, to)
                if (is_integer(from) || is_float(from) || matches!(from, Decimal128(..))) && is_float(to) =>
            {
                true
            }
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
            (Date32, _) => true,
            _ => false,
        }
    }
}

impl Kernel for SparkCast {
    fn name(&self) -> &str {
        "spark_cast"
    }

    fn return_type(&self) -> &DataType {
        &self.to
    }

    fn makes_nulls(&self) -> bool {
        // NaN has no decimal in any mode.
        !self.total() && (!self.mode.fails() || is_float(&self.from))
    }

    fn fallible(&self) -> bool {
        self.mode.fails() && !self.total()
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        use DataType::{Date32, Null, Timestamp, Utf8};
        let input = &args[0];
        match (&self.from, &self.to) {
            (Null, to) => Ok(ColumnarValue::Array(new_null_array(to, rows))),
            (Utf8, _) => self.parse(input),
            (_, Utf8) => self.print(input),
            (Date32, Timestamp(..)) => {
                vector::unary::<Date32Type, TimestampMicrosecondType>(input, &self.to, |days| {
                    Ok(Some(i64::from(days).wrapping_mul(MICROS_PER_DAY)))
                })
            }
            (Timestamp(..), Date32) => {
                vector::unary::<TimestampMicrosecondType, Date32Type>(input, &Date32, |micros| {
                    Ok(i32::try_from(micros.div_euclid(MICROS_PER_DAY)).ok())
                })
            }
            (Date32 | Timestamp(..), to) => exec_err!("no cast from {} to {to}", self.from),
            _ => self.numbers(input),
        }
    }
}
