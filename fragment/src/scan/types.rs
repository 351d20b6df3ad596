use std::sync::Arc;

use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use cne_proto::spark_expression::{DataType as SparkType, Expr, Literal, expr::ExprStruct, literal};
use cne_proto::spark_operator::NativeScanCommon;
use datafusion::arrow::datatypes::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use datafusion::common::ScalarValue;

use super::ScanError;

const UTC: &str = "UTC";

fn unsupported(what: &str, reason: impl Into<String>) -> ScanError {
    ScanError::unsupported(what, reason)
}

/// The struct part of a nested type or decimal.
pub(crate) fn type_info(spark: &SparkType) -> Option<&DatatypeStruct> {
    spark
        .type_info
        .as_ref()
        .and_then(|info| info.datatype_struct.as_ref())
}

/// The Arrow type in which a Spark type travels.
pub(crate) fn arrow_type(spark: &SparkType) -> Result<DataType, ScanError> {
    let malformed = || unsupported("type", "the plan has a nested type without its parts");
    Ok(match spark.type_id() {
        DataTypeId::Bool => DataType::Boolean,
        DataTypeId::Int8 => DataType::Int8,
        DataTypeId::Int16 => DataType::Int16,
        DataTypeId::Int32 => DataType::Int32,
        DataTypeId::Int64 => DataType::Int64,
        DataTypeId::Float => DataType::Float32,
        DataTypeId::Double => DataType::Float64,
        DataTypeId::String => DataType::Utf8,
        DataTypeId::Bytes => DataType::Binary,
        DataTypeId::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        DataTypeId::TimestampNtz => DataType::Timestamp(TimeUnit::Microsecond, None),
        DataTypeId::Date => DataType::Date32,
        DataTypeId::Null => DataType::Null,
        DataTypeId::Time => DataType::Time64(TimeUnit::Nanosecond),
        DataTypeId::YearMonthInterval => DataType::Interval(IntervalUnit::YearMonth),
        DataTypeId::DayTimeInterval => DataType::Duration(TimeUnit::Microsecond),
        DataTypeId::CalendarInterval | DataTypeId::Variant => {
            return Err(unsupported(
                "type",
                format!("{:?} is not read from Parquet", spark.type_id()),
            ));
        }
        DataTypeId::Decimal => match type_info(spark) {
            Some(DatatypeStruct::Decimal(decimal)) => {
                match (u8::try_from(decimal.precision), i8::try_from(decimal.scale)) {
                    (Ok(precision @ 1..=38), Ok(scale)) => DataType::Decimal128(precision, scale),
                    _ => return Err(unsupported("type", "a decimal out of range")),
                }
            }
            _ => return Err(malformed()),
        },
        DataTypeId::List => match type_info(spark) {
            Some(DatatypeStruct::List(list)) => {
                let element = arrow_type(list.element_type.as_deref().ok_or_else(malformed)?)?;
                DataType::List(Arc::new(Field::new("item", element, list.contains_null)))
            }
            _ => return Err(malformed()),
        },
        DataTypeId::Map => match type_info(spark) {
            Some(DatatypeStruct::Map(map)) => {
                let key = arrow_type(map.key_type.as_deref().ok_or_else(malformed)?)?;
                let value = arrow_type(map.value_type.as_deref().ok_or_else(malformed)?)?;
                let entries = Fields::from(vec![
                    Field::new("key", key, false),
                    Field::new("value", value, map.value_contains_null),
                ]);
                DataType::Map(
                    Arc::new(Field::new("entries", DataType::Struct(entries), false)),
                    false,
                )
            }
            _ => return Err(malformed()),
        },
        DataTypeId::Struct => match type_info(spark) {
            Some(DatatypeStruct::Struct(info)) => {
                let fields = info
                    .field_names
                    .iter()
                    .zip(&info.field_datatypes)
                    .enumerate()
                    .map(|(i, (name, spark))| {
                        // Files may miss a field that the table declares as not null.
                        Ok(Field::new(
                            name,
                            arrow_type(spark)?,
                            info.field_nullable.get(i).copied().unwrap_or(true),
                        ))
                    });
                DataType::Struct(fields.collect::<Result<Fields, ScanError>>()?)
            }
            _ => return Err(malformed()),
        },
    })
}

/// The columns that a scan reads with text in them.
pub(crate) fn text_columns(common: &NativeScanCommon) -> Vec<String> {
    let has_text = |spark: &SparkType| sql_name(spark).contains("string");
    let read = common.required_schema.iter();
    read.filter(|field| field.data_type.as_ref().is_some_and(has_text))
        .map(|field| field.name.clone())
        .collect()
}

/// The name that Spark's error messages give a type (its `catalogString`).
pub(crate) fn sql_name(spark: &SparkType) -> String {
    let part = |spark: &Option<Box<SparkType>>| spark.as_deref().map(sql_name).unwrap_or_default();
    let name = match spark.type_id() {
        DataTypeId::Bool => "boolean",
        DataTypeId::Int8 => "tinyint",
        DataTypeId::Int16 => "smallint",
        DataTypeId::Int32 => "int",
        DataTypeId::Int64 => "bigint",
        DataTypeId::Float => "float",
        DataTypeId::Double => "double",
        DataTypeId::String => "string",
        DataTypeId::Bytes => "binary",
        DataTypeId::Timestamp => "timestamp",
        DataTypeId::TimestampNtz => "timestamp_ntz",
        DataTypeId::Date => "date",
        DataTypeId::Null => "void",
        DataTypeId::Time => "time(6)",
        DataTypeId::YearMonthInterval => "interval year to month",
        DataTypeId::DayTimeInterval => "interval day to second",
        DataTypeId::CalendarInterval => "interval",
        DataTypeId::Variant => "variant",
        DataTypeId::Decimal => match type_info(spark) {
            Some(DatatypeStruct::Decimal(d)) => return format!("decimal({},{})", d.precision, d.scale),
            _ => "decimal",
        },
        DataTypeId::List => match type_info(spark) {
            Some(DatatypeStruct::List(list)) => return format!("array<{}>", part(&list.element_type)),
            _ => "array",
        },
        DataTypeId::Map => match type_info(spark) {
            Some(DatatypeStruct::Map(map)) => {
                return format!("map<{},{}>", part(&map.key_type), part(&map.value_type));
            }
            _ => "map",
        },
        DataTypeId::Struct => match type_info(spark) {
            Some(DatatypeStruct::Struct(info)) => {
                let fields = info.field_names.iter().zip(&info.field_datatypes);
                let fields = fields.map(|(name, spark)| format!("{name}:{}", sql_name(spark)));
                return format!("struct<{}>", fields.collect::<Vec<_>>().join(","));
            }
            _ => "struct",
        },
    };
    name.to_string()
}

/// A literal of a plan as a scalar of its type; nested literals are not supported here.
pub(crate) fn literal_value(expr: &Expr) -> Result<ScalarValue, ScanError> {
    match &expr.expr_struct {
        Some(ExprStruct::Literal(literal)) => scalar(literal),
        _ => Err(unsupported(
            "literal",
            "an expression where a literal is expected",
        )),
    }
}

fn scalar(literal: &Literal) -> Result<ScalarValue, ScanError> {
    let spark = literal
        .datatype
        .as_ref()
        .ok_or_else(|| unsupported("literal", "no type"))?;
    let data_type = arrow_type(spark)?;
    if literal.is_null {
        return ScalarValue::try_new_null(&data_type)
            .map_err(|_| unsupported("literal", format!("NULL of type {data_type}")));
    }
    use literal::Value as V;
    Ok(match (literal.value.as_ref(), &data_type) {
        (Some(V::BoolVal(v)), DataType::Boolean) => ScalarValue::Boolean(Some(*v)),
        (Some(V::ByteVal(v)), DataType::Int8) => ScalarValue::Int8(i8::try_from(*v).ok()),
        (Some(V::ShortVal(v)), DataType::Int16) => ScalarValue::Int16(i16::try_from(*v).ok()),
        (Some(V::IntVal(v)), DataType::Int32) => ScalarValue::Int32(Some(*v)),
        (Some(V::IntVal(v)), DataType::Date32) => ScalarValue::Date32(Some(*v)),
        (Some(V::IntVal(v)), DataType::Interval(IntervalUnit::YearMonth)) => {
            ScalarValue::IntervalYearMonth(Some(*v))
        }
        (Some(V::LongVal(v)), DataType::Int64) => ScalarValue::Int64(Some(*v)),
        (Some(V::LongVal(v)), DataType::Timestamp(TimeUnit::Microsecond, zone)) => {
            ScalarValue::TimestampMicrosecond(Some(*v), zone.clone())
        }
        (Some(V::LongVal(v)), DataType::Time64(TimeUnit::Nanosecond)) => {
            ScalarValue::Time64Nanosecond(Some(*v))
        }
        (Some(V::LongVal(v)), DataType::Duration(TimeUnit::Microsecond)) => {
            ScalarValue::DurationMicrosecond(Some(*v))
        }
        (Some(V::FloatVal(v)), DataType::Float32) => ScalarValue::Float32(Some(*v)),
        (Some(V::DoubleVal(v)), DataType::Float64) => ScalarValue::Float64(Some(*v)),
        (Some(V::StringVal(v)), DataType::Utf8) => ScalarValue::Utf8(Some(v.clone())),
        (Some(V::BytesVal(v)), DataType::Binary) => ScalarValue::Binary(Some(v.clone())),
        (Some(V::DecimalVal(v)), DataType::Decimal128(precision, scale)) => {
            ScalarValue::Decimal128(Some(big_endian(v)?), *precision, *scale)
        }
        _ => {
            return Err(unsupported(
                "literal",
                format!("a value of type {data_type} that is not supported here"),
            ));
        }
    })
}

/// Java's `BigInteger.toByteArray`: big endian, two's complement.
fn big_endian(bytes: &[u8]) -> Result<i128, ScanError> {
    if bytes.is_empty() || bytes.len() > 16 {
        return Err(unsupported(
            "literal",
            format!("a decimal of {} bytes", bytes.len()),
        ));
    }
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { -1_i128 };
    Ok(bytes
        .iter()
        .fold(sign, |value, byte| (value << 8) | i128::from(*byte)))
}
