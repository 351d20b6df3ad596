//! Spark's `Cast`.

#[cfg(test)]
pub(crate) use crate::time::{format::date_text, parse::date as parse_date};
pub use support::check_cast;
pub use to_string::{BinaryStyle, pretty};

mod from_string;
mod nested;
mod numbers;
mod parse;
mod support;
mod temporal;
mod to_string;

pub(crate) use numbers::decimal_to_double;

use std::sync::Arc;

use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use self::to_string::TextStyle;
use crate::row::{Kernel, SparkExpr};
use crate::time::{Zone, session_zone};
use crate::types::{is_float, sql_name};
use crate::{EvalMode, QueryContext, SparkError, SparkErrorKind, Unsupported};

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
    let kernel = SparkCast {
        from: from.clone(),
        to: to.clone(),
        mode: options.mode,
        // A cast that needs a zone was refused without one.
        zone: session_zone(&options.timezone).unwrap_or(Zone::UTC),
        style: TextStyle::cast(options.mode),
        context: options.context.clone(),
    };
    Ok(SparkExpr::create(kernel, vec![child]))
}

/// The kernel of [`cast`].
#[derive(Debug, Clone)]
pub(crate) struct SparkCast {
    from: DataType,
    to: DataType,
    mode: EvalMode,
    zone: Zone,
    style: TextStyle,
    context: Option<Arc<QueryContext>>,
}

impl SparkCast {
    /// A value without an answer: an error or NULL.
    #[cold]
    fn nothing<T>(&self, kind: impl FnOnce() -> SparkErrorKind) -> Result<Option<T>> {
        if self.mode.fails() {
            let error: SparkError = kind().at(self.context.as_ref());
            return Err(error.into());
        }
        Ok(None)
    }

    fn overflow(&self, literal: String) -> SparkErrorKind {
        SparkErrorKind::CastOverFlow {
            value: literal,
            from_type: sql_name(&self.from),
            to_type: sql_name(&self.to),
        }
    }

    /// The same cast of parts.
    fn between(&self, from: &DataType, to: &DataType) -> Self {
        Self {
            from: from.clone(),
            to: to.clone(),
            ..self.clone()
        }
    }

    fn array(&self, array: &ArrayRef) -> Result<ArrayRef> {
        if self.from == self.to {
            return Ok(Arc::clone(array));
        }
        let rows = array.len();
        self.invoke(&[ColumnarValue::Array(Arc::clone(array))], rows)?
            .into_array(rows)
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
        !self.to.is_nested() && !self.total() && (!self.mode.fails() || is_float(&self.from))
    }

    fn fallible(&self) -> bool {
        (self.mode.fails() && !self.total()) || self.raises_in_every_mode()
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        use DataType::{Binary, Date32, List, Map, Null, Struct, Timestamp, Utf8};
        let input = &args[0];
        match (&self.from, &self.to) {
            (Null, to) => Ok(ColumnarValue::Array(new_null_array(to, rows))),
            (Utf8, _) => self.parse(input),
            (_, Utf8) => self.print(input),
            (List(_) | Map(..) | Struct(_), _) => self.nested(input),
            (_, Binary) => self.big_endian(input),
            (Date32 | Timestamp(..), _) | (_, Timestamp(..)) => self.temporal(input),
            _ => self.numbers(input),
        }
    }
}
