use std::sync::Arc;

use cne_proto::spark_expression::DataType as SparkType;
use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field, FieldRef, Fields, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;

use super::ScanError;
use super::types::{arrow_type, type_info};

/// Days of 1582-10-15, the first day of the Gregorian calendar.
const GREGORIAN_START_DAY: i32 = -141_427;
/// Microseconds of 1900-01-01: before it Spark's rebase also moves timestamps by historical zone offsets.
const LAST_ZONE_SWITCH_MICROS: i64 = -2_208_988_800_000_000;

/// How the values of a file's column become those of Spark's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Alignment {
    /// As they are.
    Same,
    /// A cast that keeps every value, or fails.
    Cast(DataType),
    /// A cast (or none), then no date or timestamp from before the calendar switch may be left.
    Modern(Option<DataType>),
    /// By position in the file's struct; `None` is a missing field.
    Struct {
        children: Vec<(Option<usize>, Alignment)>,
        fields: Fields,
        null_if_all_missing: bool,
    },
    List {
        element: Box<Alignment>,
        field: FieldRef,
    },
    Map {
        key: Box<Alignment>,
        value: Box<Alignment>,
        entries: FieldRef,
    },
    /// Not readable; an error only if there are rows.
    Mismatch {
        column: String,
        physical: String,
        expected: String,
    },
}

/// What applies to a whole file or column.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) case_sensitive: bool,
    pub(crate) use_field_id: bool,
    pub(crate) allow_type_promotion: bool,
    pub(crate) allow_timestamp_ltz_to_ntz: bool,
    pub(crate) null_struct_if_all_missing: bool,
    /// The column holds an INT96 timestamp.
    pub(crate) int96: bool,
    /// Dates and timestamps may be of the hybrid calendar.
    pub(crate) legacy: bool,
    /// URL of the file, for errors.
    pub(crate) file: String,
}

/// The id of a file's field.
pub(crate) fn physical_field_id(field: &Field) -> Option<i32> {
    field
        .metadata()
        .get("PARQUET:field_id")
        .and_then(|id| id.parse().ok())
}

/// Equality without regard to case, as the JVM has it for a table's name in ASCII (others are refused, see [`super::check_scan`]): the
/// file's name need not be ASCII, as the Kelvin sign is a `k`.
fn same_name(file: &str, table: &str) -> bool {
    file.eq_ignore_ascii_case(table)
        || (!file.is_ascii() && file.to_lowercase() == table.to_ascii_lowercase())
}

impl Rules {
    /// Index of the one field that a name (or id) means; an error when several do.
    pub(crate) fn find(
        &self,
        fields: &Fields,
        name: &str,
        id: Option<i32>,
        column: &str,
    ) -> Result<Option<usize>, ScanError> {
        let matches = |field: &FieldRef| match id.filter(|_| self.use_field_id) {
            Some(id) => physical_field_id(field) == Some(id),
            None if self.case_sensitive => field.name() == name,
            None => same_name(field.name(), name),
        };
        let found: Vec<usize> = fields
            .iter()
            .enumerate()
            .filter(|(_, field)| matches(field))
            .map(|(index, _)| index)
            .collect();
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => Err(ScanError::Ambiguous {
                file: self.file.clone(),
                column: column.to_string(),
                candidates: several
                    .iter()
                    .map(|index| fields[*index].name().as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// The alignment of a column, or of a part of one.
    pub(crate) fn align(
        &self,
        physical: &DataType,
        spark: &SparkType,
        column: &str,
    ) -> Result<Alignment, ScanError> {
        let target = arrow_type(spark)?;
        let mismatch = || Alignment::Mismatch {
            column: column.to_string(),
            physical: physical.to_string(),
            expected: target.to_string(),
        };
        Ok(match (type_info(spark), physical, &target) {
            (Some(DatatypeStruct::Struct(info)), DataType::Struct(have), DataType::Struct(fields)) => {
                let mut children = vec![];
                for (position, (name, child)) in
                    info.field_names.iter().zip(&info.field_datatypes).enumerate()
                {
                    let column = format!("{column}.{name}");
                    let id = info
                        .field_metadata
                        .get(position)
                        .and_then(|field| field.metadata.get("parquet.field.id"));
                    let found = self.find(have, name, id.and_then(|id| id.parse().ok()), &column)?;
                    let alignment = match found {
                        Some(index) => self.align(have[index].data_type(), child, &column)?,
                        None => Alignment::Same,
                    };
                    children.push((found, alignment));
                }
                let unchanged = physical == &target
                    && children
                        .iter()
                        .enumerate()
                        .all(|(index, (found, child))| *found == Some(index) && *child == Alignment::Same);
                match unchanged {
                    true => Alignment::Same,
                    false => Alignment::Struct {
                        children,
                        fields: fields.clone(),
                        null_if_all_missing: self.null_struct_if_all_missing,
                    },
                }
            }
            (Some(DatatypeStruct::List(info)), DataType::List(have), DataType::List(field)) => {
                let Some(element) = &info.element_type else {
                    return Ok(mismatch());
                };
                let element = self.align(have.data_type(), element, &format!("{column}.element"))?;
                match element == Alignment::Same && physical == &target {
                    true => Alignment::Same,
                    false => Alignment::List {
                        element: Box::new(element),
                        field: Arc::clone(field),
                    },
                }
            }
            (Some(DatatypeStruct::Map(info)), DataType::Map(have, _), DataType::Map(entries, _)) => {
                let (Some(key), Some(value), DataType::Struct(parts)) =
                    (&info.key_type, &info.value_type, have.data_type())
                else {
                    return Ok(mismatch());
                };
                let [have_key, have_value] = parts.as_ref() else {
                    return Ok(mismatch());
                };
                let key = self.align(have_key.data_type(), key, &format!("{column}.key"))?;
                let value = self.align(have_value.data_type(), value, &format!("{column}.value"))?;
                match key == Alignment::Same && value == Alignment::Same && physical == &target {
                    true => Alignment::Same,
                    false => Alignment::Map {
                        key: Box::new(key),
                        value: Box::new(value),
                        entries: Arc::clone(entries),
                    },
                }
            }
            _ if target.is_nested() || physical.is_nested() => mismatch(),
            _ if !self.leaf(physical, &target) => mismatch(),
            _ => {
                let cast = (physical != &target).then(|| target.clone());
                let calendar = matches!(target, DataType::Date32 | DataType::Timestamp(_, _));
                match cast {
                    cast if self.legacy && calendar => Alignment::Modern(cast),
                    Some(target) => Alignment::Cast(target),
                    None => Alignment::Same,
                }
            }
        })
    }

    /// Whether Spark reads a column of one type as the other.
    fn leaf(&self, physical: &DataType, target: &DataType) -> bool {
        use DataType::*;
        use TimeUnit::{Microsecond, Millisecond, Nanosecond};
        let promote = self.allow_type_promotion;
        let digits = |precision: &u8, scale: &i8| i16::from(*precision) - i16::from(*scale);
        match (physical, target) {
            (Timestamp(Microsecond, _), Timestamp(Microsecond, None)) if self.int96 => false,
            (Timestamp(Millisecond | Microsecond, Some(_)), Timestamp(Microsecond, None)) => {
                self.allow_timestamp_ltz_to_ntz
            }
            (Timestamp(Millisecond | Microsecond, _), Timestamp(Microsecond, _)) => true,
            // spark.sql.legacy.parquet.nanosAsLong
            (Timestamp(Nanosecond, _), Int64) => true,
            // All of these are INT32 in the file; what does not fit is an error.
            (Int8 | Int16 | Int32 | UInt8 | UInt16, Int8 | Int16 | Int32) | (UInt32, Int32 | Int64) => true,
            (Int8 | Int16 | Int32 | UInt8 | UInt16, Int64 | Float64) | (Float32, Float64) => promote,
            (Int32, Date32 | Interval(_))
            | (Int64, Duration(_))
            | (Time64(Microsecond), Time64(Nanosecond)) => true,
            (Date32, Timestamp(Microsecond, None)) => promote,
            (Int8 | Int16 | Int32, Decimal128(precision, scale)) => {
                promote && *scale >= 0 && digits(precision, scale) >= 10
            }
            (Int64, Decimal128(precision, scale)) => promote && *scale >= 0 && digits(precision, scale) >= 20,
            (UInt64, Decimal128(20, 0)) => true,
            (Decimal128(p1, s1), Decimal128(p2, s2)) => {
                (p1, s1) == (p2, s2) || promote && s2 >= s1 && digits(p2, s2) >= digits(p1, s1)
            }
            (Binary, Utf8) | (Utf8, Binary) | (FixedSizeBinary(_), Binary) | (Null, _) => true,
            _ => physical == target,
        }
    }
}

/// Why values could not be aligned.
pub(crate) enum Failure {
    Mismatch {
        column: String,
        physical: String,
        expected: String,
    },
    Rebase,
    Value(ArrowError),
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Value(error)
    }
}

impl Alignment {
    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        match self {
            Self::Same => Ok(Arc::clone(array)),
            Self::Cast(target) => Ok(exact_cast(array, target)?),
            Self::Modern(cast) => {
                let array = cast
                    .as_ref()
                    .map_or_else(|| Ok(Arc::clone(array)), |target| exact_cast(array, target))?;
                if is_modern(&array) {
                    Ok(array)
                } else {
                    Err(Failure::Rebase)
                }
            }
            Self::Struct {
                children,
                fields,
                null_if_all_missing,
            } => {
                let array = array.as_struct();
                if fields.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(
                        array.len(),
                        array.nulls().cloned(),
                    )));
                }
                if *null_if_all_missing && children.iter().all(|(found, _)| found.is_none()) {
                    return Ok(new_null_array(&DataType::Struct(fields.clone()), array.len()));
                }
                let aligned = children
                    .iter()
                    .zip(fields)
                    .map(|((found, child), field)| match found {
                        Some(index) => child.apply(array.column(*index)),
                        None => Ok(new_null_array(field.data_type(), array.len())),
                    });
                let aligned = aligned.collect::<Result<Vec<_>, _>>()?;
                Ok(Arc::new(StructArray::try_new(
                    fields.clone(),
                    aligned,
                    array.nulls().cloned(),
                )?))
            }
            Self::List { element, field } => {
                let array: &ListArray = array.as_list();
                let values = element.apply(array.values())?;
                Ok(Arc::new(ListArray::try_new(
                    Arc::clone(field),
                    array.offsets().clone(),
                    values,
                    array.nulls().cloned(),
                )?))
            }
            Self::Map { key, value, entries } => {
                let array = array.as_map();
                let columns = vec![key.apply(array.keys())?, value.apply(array.values())?];
                let DataType::Struct(fields) = entries.data_type() else {
                    return Err(Failure::Value(ArrowError::SchemaError(
                        "a map without entries".to_string(),
                    )));
                };
                let pairs = StructArray::try_new(fields.clone(), columns, None)?;
                let map = MapArray::try_new(
                    Arc::clone(entries),
                    array.offsets().clone(),
                    pairs,
                    array.nulls().cloned(),
                    false,
                )?;
                Ok(Arc::new(map))
            }
            Self::Mismatch {
                column,
                physical,
                expected,
            } => match array.is_empty() {
                true => Err(Failure::Value(ArrowError::SchemaError("no rows".to_string()))),
                false => Err(Failure::Mismatch {
                    column: column.clone(),
                    physical: physical.clone(),
                    expected: expected.clone(),
                }),
            },
        }
    }
}

fn exact_cast(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(
        array,
        target,
        &CastOptions {
            safe: false,
            ..CastOptions::default()
        },
    )
}

fn is_modern(array: &ArrayRef) -> bool {
    match array.data_type() {
        DataType::Date32 => array
            .as_primitive::<Date32Type>()
            .iter()
            .flatten()
            .all(|day| day >= GREGORIAN_START_DAY),
        DataType::Timestamp(TimeUnit::Microsecond, _) => array
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .flatten()
            .all(|micros| micros >= LAST_ZONE_SWITCH_MICROS),
        _ => false,
    }
}
