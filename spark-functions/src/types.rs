//! Spark's names and properties of Arrow types.

use arrow::datatypes::{DataType, TimeUnit};

/// Spark's SQL name of a type as error messages print it, e.g. `BIGINT`, `DECIMAL(10,2)`.
#[must_use]
pub fn sql_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INT".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "STRING".into(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "BINARY".into(),
        DataType::Date32 => "DATE".into(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "TIMESTAMP".into(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP_NTZ".into(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::Null => "VOID".into(),
        other => other.to_string(),
    }
}

/// Whether the type is a signed integer of Spark.
#[must_use]
pub fn is_integer(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64
    )
}

/// Whether the type is binary floating point.
#[must_use]
pub fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}
