//! Spark's types and literals in Arrow.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, ListArray, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use cne_proto::spark_expression::literal::Value;
use cne_proto::spark_expression::{DataType as SparkType, ListLiteral, Literal};
use datafusion::common::ScalarValue;

use crate::error::Issue;

fn malformed(reason: &str) -> Issue {
    Issue::new("type", reason)
}

/// The Arrow type in which a Spark type travels; `None` for one that is not supported (VARIANT) or malformed.
#[must_use]
pub fn arrow_type(spark: &SparkType) -> Option<DataType> {
    to_arrow(spark).ok()
}

/// The Arrow type of an optional type field; its absence is malformed.
pub(crate) fn declared(spark: Option<&SparkType>) -> Result<DataType, Issue> {
    to_arrow(spark.ok_or_else(|| malformed("the plan leaves out a type"))?)
}

pub(crate) fn to_arrow(spark: &SparkType) -> Result<DataType, Issue> {
    stacker::maybe_grow(64 << 10, 1 << 20, || to_arrow_inner(spark))
}

fn to_arrow_inner(spark: &SparkType) -> Result<DataType, Issue> {
    let info = spark
        .type_info
        .as_ref()
        .and_then(|info| info.datatype_struct.as_ref());
    Ok(match (spark.type_id(), info) {
        (DataTypeId::Bool, _) => DataType::Boolean,
        (DataTypeId::Int8, _) => DataType::Int8,
        (DataTypeId::Int16, _) => DataType::Int16,
        (DataTypeId::Int32, _) => DataType::Int32,
        (DataTypeId::Int64, _) => DataType::Int64,
        (DataTypeId::Float, _) => DataType::Float32,
        (DataTypeId::Double, _) => DataType::Float64,
        (DataTypeId::String, _) => DataType::Utf8,
        (DataTypeId::Bytes, _) => DataType::Binary,
        (DataTypeId::Timestamp, _) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        (DataTypeId::TimestampNtz, _) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (DataTypeId::Date, _) => DataType::Date32,
        (DataTypeId::Null, _) => DataType::Null,
        (DataTypeId::Time, _) => DataType::Time64(TimeUnit::Nanosecond),
        (DataTypeId::YearMonthInterval, _) => DataType::Interval(IntervalUnit::YearMonth),
        (DataTypeId::DayTimeInterval, _) => DataType::Duration(TimeUnit::Microsecond),
        (DataTypeId::CalendarInterval, _) => DataType::Interval(IntervalUnit::MonthDayNano),
        (DataTypeId::Variant, _) => return Err(malformed("VARIANT is not executed")),
        (DataTypeId::Decimal, Some(DatatypeStruct::Decimal(decimal))) => {
            match (u8::try_from(decimal.precision), i8::try_from(decimal.scale)) {
                (Ok(precision @ 1..=38), Ok(scale)) => DataType::Decimal128(precision, scale),
                _ => return Err(malformed("a decimal of more than 38 digits")),
            }
        }
        (DataTypeId::List, Some(DatatypeStruct::List(list))) => {
            let element = declared(list.element_type.as_deref())?;
            DataType::List(Arc::new(Field::new("item", element, list.contains_null)))
        }
        (DataTypeId::Map, Some(DatatypeStruct::Map(map))) => {
            let key = Field::new("key", declared(map.key_type.as_deref())?, false);
            let value = Field::new(
                "value",
                declared(map.value_type.as_deref())?,
                map.value_contains_null,
            );
            let entries = DataType::Struct(Fields::from(vec![key, value]));
            DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        (DataTypeId::Struct, Some(DatatypeStruct::Struct(info))) => {
            let named = info.field_names.iter().zip(&info.field_datatypes).enumerate();
            let fields = named.map(|(i, (name, spark))| {
                Ok(Field::new(
                    name,
                    to_arrow(spark)?,
                    info.field_nullable.get(i).copied().unwrap_or(true),
                ))
            });
            DataType::Struct(fields.collect::<Result<Fields, Issue>>()?)
        }
        _ => return Err(malformed("a nested type without its parts")),
    })
}

/// A literal as a scalar of its type.
pub(crate) fn literal(literal: &Literal) -> Result<ScalarValue, Issue> {
    let data_type = declared(literal.datatype.as_ref())?;
    let unsupported = || Issue::new("literal", format!("a value of type {data_type} is not supported"));
    if literal.is_null {
        return ScalarValue::try_new_null(&data_type).map_err(|_| unsupported());
    }
    Ok(
        match (literal.value.as_ref().ok_or_else(unsupported)?, &data_type) {
            (Value::BoolVal(v), DataType::Boolean) => ScalarValue::Boolean(Some(*v)),
            (Value::ByteVal(v), DataType::Int8) => {
                ScalarValue::Int8(Some(i8::try_from(*v).map_err(|_| unsupported())?))
            }
            (Value::ShortVal(v), DataType::Int16) => {
                ScalarValue::Int16(Some(i16::try_from(*v).map_err(|_| unsupported())?))
            }
            (Value::IntVal(v), DataType::Int32) => ScalarValue::Int32(Some(*v)),
            (Value::IntVal(v), DataType::Date32) => ScalarValue::Date32(Some(*v)),
            (Value::IntVal(v), DataType::Interval(IntervalUnit::YearMonth)) => {
                ScalarValue::IntervalYearMonth(Some(*v))
            }
            (Value::LongVal(v), DataType::Int64) => ScalarValue::Int64(Some(*v)),
            (Value::LongVal(v), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
                ScalarValue::TimestampMicrosecond(Some(*v), zone.clone())
            }
            (Value::LongVal(v), DataType::Time64(TimeUnit::Nanosecond)) => {
                ScalarValue::Time64Nanosecond(Some(*v))
            }
            (Value::LongVal(v), DataType::Duration(TimeUnit::Microsecond)) => {
                ScalarValue::DurationMicrosecond(Some(*v))
            }
            (Value::FloatVal(v), DataType::Float32) => ScalarValue::Float32(Some(*v)),
            (Value::DoubleVal(v), DataType::Float64) => ScalarValue::Float64(Some(*v)),
            (Value::StringVal(v), DataType::Utf8) => ScalarValue::Utf8(Some(v.clone())),
            (Value::BytesVal(v), DataType::Binary) => ScalarValue::Binary(Some(v.clone())),
            (Value::DecimalVal(v), DataType::Decimal128(precision, scale)) => {
                ScalarValue::Decimal128(Some(big_endian(v)?), *precision, *scale)
            }
            (Value::ListVal(list), DataType::List(field)) => {
                let values = elements(list, field.data_type())?;
                let offsets = OffsetBuffer::from_lengths([values.len()]);
                let array = ListArray::try_new(Arc::new(nullable(field)), offsets, values, None);
                ScalarValue::List(Arc::new(array.map_err(|_| unsupported())?))
            }
            _ => return Err(unsupported()),
        },
    )
}

fn nullable(field: &Field) -> Field {
    field.clone().with_nullable(true)
}

/// The elements of an array literal. `null_mask` says true for a value; for elements of type NULL it counts them.
fn elements(list: &ListLiteral, data_type: &DataType) -> Result<ArrayRef, Issue> {
    let unsupported = || Issue::new("literal", format!("an array of {data_type} is not supported"));
    let mask = &list.null_mask;
    fn masked<T: Clone, R>(
        values: &[T],
        mask: &[bool],
        of: impl Fn(T) -> R,
    ) -> Result<Vec<Option<R>>, Issue> {
        if values.len() != mask.len() {
            return Err(Issue::new(
                "literal",
                "an array's values and null mask differ in length",
            ));
        }
        Ok(values
            .iter()
            .zip(mask)
            .map(|(value, valid)| valid.then(|| of(value.clone())))
            .collect())
    }
    Ok(match data_type {
        DataType::Null => new_null_array(&DataType::Null, mask.len()),
        DataType::Boolean => Arc::new(BooleanArray::from(masked(&list.boolean_values, mask, |v| v)?)),
        DataType::Int8 => Arc::new(Int8Array::from(masked(&list.byte_values, mask, |v| v as i8)?)),
        DataType::Int16 => Arc::new(Int16Array::from(masked(&list.short_values, mask, |v| v as i16)?)),
        DataType::Int32 => Arc::new(Int32Array::from(masked(&list.int_values, mask, |v| v)?)),
        DataType::Date32 => Arc::new(Date32Array::from(masked(&list.int_values, mask, |v| v)?)),
        DataType::Int64 => Arc::new(Int64Array::from(masked(&list.long_values, mask, |v| v)?)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let array = TimestampMicrosecondArray::from(masked(&list.long_values, mask, |v| v)?);
            Arc::new(array.with_timezone_opt(zone.clone()))
        }
        DataType::Float32 => Arc::new(Float32Array::from(masked(&list.float_values, mask, |v| v)?)),
        DataType::Float64 => Arc::new(Float64Array::from(masked(&list.double_values, mask, |v| v)?)),
        DataType::Utf8 => Arc::new(StringArray::from(masked(&list.string_values, mask, |v| v)?)),
        DataType::Binary => {
            let values = masked(&list.bytes_values, mask, |v| v)?;
            Arc::new(BinaryArray::from_iter(values))
        }
        DataType::Decimal128(precision, scale) => {
            let values = masked(&list.decimal_values, mask, |v| big_endian(&v))?;
            let values = values
                .into_iter()
                .map(Option::transpose)
                .collect::<Result<Vec<_>, _>>()?;
            let array = Decimal128Array::from(values).with_precision_and_scale(*precision, *scale);
            Arc::new(array.map_err(|_| unsupported())?)
        }
        DataType::List(field) => {
            let inner = list
                .list_values
                .iter()
                .map(|inner| elements(inner, field.data_type()));
            let inner = inner.collect::<Result<Vec<_>, _>>()?;
            if inner.len() != mask.len() {
                return Err(unsupported());
            }
            let offsets = OffsetBuffer::from_lengths(inner.iter().map(|array| array.len()));
            let parts: Vec<_> = inner.iter().map(AsRef::as_ref).collect();
            let values = match parts.is_empty() {
                true => arrow::array::new_empty_array(field.data_type()),
                false => arrow::compute::concat(&parts).map_err(|_| unsupported())?,
            };
            let nulls = NullBuffer::from(mask.clone());
            let array = ListArray::try_new(Arc::new(nullable(field)), offsets, values, Some(nulls));
            Arc::new(array.map_err(|_| unsupported())?)
        }
        _ => return Err(unsupported()),
    })
}

/// Java's `BigInteger.toByteArray`: big endian, two's complement.
fn big_endian(bytes: &[u8]) -> Result<i128, Issue> {
    if bytes.is_empty() || bytes.len() > 16 {
        return Err(Issue::new(
            "literal",
            format!("a decimal of {} bytes", bytes.len()),
        ));
    }
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1_i128 };
    Ok(bytes
        .iter()
        .fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}

/// Whether two types hold the same values: they may differ in the names and nullability of nested fields.
pub(crate) fn same_values(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::List(l), DataType::List(r)) => same_values(l.data_type(), r.data_type()),
        (DataType::Map(l, _), DataType::Map(r, _)) => same_values(l.data_type(), r.data_type()),
        (DataType::Struct(l), DataType::Struct(r)) => {
            l.len() == r.len()
                && l.iter()
                    .zip(r)
                    .all(|(l, r)| same_values(l.data_type(), r.data_type()))
        }
        _ => left == right,
    }
}
