//! Casts from strings.

use std::sync::Arc;

use arrow::array::{
    Array, ArrowPrimitiveType, AsArray, BinaryArray, BooleanArray, BooleanBuilder, StringArray,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::SparkCast;
use super::parse::{self, Digits};
use crate::decimal::{fits, out_of_range};
use crate::time::parse as time;
use crate::types::sql_name;
use crate::{EvalMode, SparkErrorKind, vector};

impl SparkCast {
    pub(super) fn parse(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let strings = array.as_string::<i32>();
        match self.to {
            DataType::Int8 => self.integers::<Int8Type>(strings),
            DataType::Int16 => self.integers::<Int16Type>(strings),
            DataType::Int32 => self.integers::<Int32Type>(strings),
            DataType::Int64 => self.integers::<Int64Type>(strings),
            DataType::Float32 => self.each::<Float32Type>(strings, |text| {
                self.float(text, |number| number.parse::<f32>().ok())
            }),
            DataType::Float64 => self.each::<Float64Type>(strings, |text| {
                self.float(text, |number| number.parse::<f64>().ok())
            }),
            DataType::Decimal128(precision, scale) => {
                self.each::<Decimal128Type>(strings, |text| self.decimal(text, precision, scale))
            }
            DataType::Date32 => self.each::<Date32Type>(strings, |text| self.moment(text, time::date(text))),
            DataType::Timestamp(_, Some(_)) => self.each::<TimestampMicrosecondType>(strings, |text| {
                self.moment(text, time::timestamp(text, self.zone)?)
            }),
            DataType::Timestamp(_, None) => self.each::<TimestampMicrosecondType>(strings, |text| {
                self.moment(text, time::timestamp_ntz(text)?)
            }),
            DataType::Binary => Ok(ColumnarValue::Array(Arc::new(BinaryArray::from(strings.clone())))),
            DataType::Boolean => Ok(ColumnarValue::Array(Arc::new(self.booleans(strings)?))),
            _ => exec_err!("no cast from {} to {}", self.from, self.to),
        }
    }

    /// A date or timestamp that was read.
    fn moment<T>(&self, text: &str, value: Option<T>) -> Result<Option<T>> {
        if value.is_some() {
            return Ok(value);
        }
        self.nothing(|| SparkErrorKind::InvalidInputInCastToDatetime {
            value: text.into(),
            from_type: "STRING".into(),
            to_type: sql_name(&self.to),
        })
    }

    fn invalid(&self, text: &str) -> SparkErrorKind {
        SparkErrorKind::CastInvalidValue {
            value: text.into(),
            from_type: "STRING".into(),
            to_type: sql_name(&self.to),
        }
    }

    fn each<T: ArrowPrimitiveType>(
        &self,
        strings: &StringArray,
        f: impl Fn(&str) -> Result<Option<T::Native>>,
    ) -> Result<ColumnarValue> {
        let out = vector::collect::<T>(strings.len(), strings.nulls().cloned(), &self.to, |row| {
            f(strings.value(row))
        })?;
        Ok(ColumnarValue::Array(Arc::new(out)))
    }

    fn integers<T: ArrowPrimitiveType>(&self, strings: &StringArray) -> Result<ColumnarValue>
    where
        T::Native: TryFrom<i64>,
    {
        // TRY_CAST reads what ANSI's CAST reads.
        let fraction = self.mode == EvalMode::Legacy;
        self.each::<T>(strings, |text| {
            match parse::integer(text, fraction).and_then(|value| T::Native::try_from(value).ok()) {
                Some(value) => Ok(Some(value)),
                None => self.nothing(|| self.invalid(text)),
            }
        })
    }

    fn float<F>(&self, text: &str, convert: impl Fn(&str) -> Option<F>) -> Result<Option<F>> {
        match parse::float_text(text).and_then(|number| convert(&number)) {
            Some(value) => Ok(Some(value)),
            None if parse::is_hexadecimal(text) => {
                // Java reads hexadecimal floats; this crate does not, and must not call them malformed.
                exec_err!(
                    "CAST of the hexadecimal number '{text}' to {} is not supported",
                    self.to
                )
            }
            None => self.nothing(|| self.invalid(text)),
        }
    }

    fn decimal(&self, text: &str, precision: u8, scale: i8) -> Result<Option<i128>> {
        let Some(digits) = Digits::parse(text.trim_matches(|c: char| c <= ' ')) else {
            if text.chars().any(|c| !c.is_ascii() && c.is_numeric()) {
                // Java reads the digits of other scripts; this crate does not, and must not call them malformed.
                return exec_err!(
                    "CAST of '{text}', which has digits outside ASCII, to {} is not supported",
                    self.to
                );
            }
            return self.nothing(|| self.invalid(text));
        };
        if digits.whole_digits() > 38 {
            return self.nothing(|| SparkErrorKind::NumericOutOfRange { value: text.into() });
        }
        match digits.unscaled(scale) {
            Some(unscaled) if fits(unscaled, precision) => Ok(Some(unscaled)),
            _ => self.nothing(|| {
                let (unscaled, own_scale) = digits.plain();
                out_of_range(&unscaled, own_scale, precision, scale)
            }),
        }
    }

    fn booleans(&self, strings: &StringArray) -> Result<BooleanArray> {
        let mut out = BooleanBuilder::with_capacity(strings.len());
        for text in strings {
            out.append_option(match text {
                None => None,
                Some(text) => match parse::boolean(text) {
                    Some(value) => Some(value),
                    None => self.nothing(|| self.invalid(text))?,
                },
            });
        }
        Ok(out.finish())
    }
}
