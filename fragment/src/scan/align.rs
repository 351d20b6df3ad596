use std::sync::Arc;

use cne_proto::spark_expression::DataType as SparkType;
use cne_proto::spark_expression::data_type::DataTypeId;
use cne_proto::spark_expression::data_type::data_type_info::DatatypeStruct;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::arrow::error::ArrowError;

use super::ScanError;
use super::error::MismatchKind;
use super::leaf::{LeafRules, Step};
use super::leaves::{Leaf, count};
use super::types::{arrow_type, sql_name, type_info};

/// Key of a field's id, both in a file's Arrow schema and in Comet's message.
pub(crate) const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// How the values of a file's column become those of Spark's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Alignment {
    /// A column without parts, step by step; as it is without any.
    Leaf(Vec<Step>),
    /// By position in the file's struct; `None` is a missing field.
    Struct {
        children: Vec<(Option<usize>, Alignment)>,
        fields: Fields,
    },
    /// The file has nothing of what is read of it, and Spark is told to take it for NULL then.
    Missing(DataType),
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
    Mismatch(Box<Mismatch>),
}

/// Two types of which one is not read as the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Mismatch {
    /// Path of the column in the file.
    pub(crate) column: String,
    /// Physical type in the file, as Parquet names it.
    pub(crate) physical: String,
    /// Type in the table, as Spark names it.
    pub(crate) expected: String,
    pub(crate) kind: MismatchKind,
}

/// What applies to a whole file.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) case_sensitive: bool,
    pub(crate) use_field_id: bool,
    pub(crate) null_struct_if_all_missing: bool,
    pub(crate) leaf: LeafRules,
    /// The file's columns without parts, in the order of its schema.
    pub(crate) leaves: Arc<[Leaf]>,
    /// URL of the file, for errors.
    pub(crate) file: String,
}

/// The id of a file's field.
pub(crate) fn physical_field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID_KEY).and_then(|id| id.parse().ok())
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
    ) -> Result<Option<usize>, ScanError> {
        let id = id.filter(|_| self.use_field_id);
        let matches = |field: &FieldRef| match id {
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
                column: name.to_string(),
                id,
                candidates: several
                    .iter()
                    .map(|index| fields[*index].name().as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }

    /// The alignment of a column, or of a part of one, whose first leaf is number `leaf` of the file.
    pub(crate) fn align(
        &self,
        physical: &DataType,
        leaf: usize,
        spark: &SparkType,
    ) -> Result<Alignment, ScanError> {
        let alignment = self.align_parts(physical, leaf, spark)?;
        Ok(
            match self.null_struct_if_all_missing && alignment.reads_nothing() {
                true => Alignment::Missing(arrow_type(spark)?),
                false => alignment,
            },
        )
    }

    fn align_parts(
        &self,
        physical: &DataType,
        leaf: usize,
        spark: &SparkType,
    ) -> Result<Alignment, ScanError> {
        let target = arrow_type(spark)?;
        match (type_info(spark), physical, &target) {
            (Some(DatatypeStruct::Struct(info)), DataType::Struct(have), DataType::Struct(fields)) => {
                let mut children = vec![];
                for (position, (name, child)) in
                    info.field_names.iter().zip(&info.field_datatypes).enumerate()
                {
                    let id = info
                        .field_metadata
                        .get(position)
                        .and_then(|field| field.metadata.get(FIELD_ID_KEY));
                    let found = self.find(have, name, id.and_then(|id| id.parse().ok()))?;
                    let alignment = match found {
                        Some(index) => {
                            let before: usize =
                                have[..index].iter().map(|field| count(field.data_type())).sum();
                            self.align(have[index].data_type(), leaf + before, child)?
                        }
                        None => Alignment::AS_IT_IS,
                    };
                    children.push((found, alignment));
                }
                let unchanged = physical == &target
                    && children
                        .iter()
                        .enumerate()
                        .all(|(index, (found, child))| *found == Some(index) && child.is_identity());
                Ok(match unchanged {
                    true => Alignment::AS_IT_IS,
                    false => Alignment::Struct {
                        children,
                        fields: fields.clone(),
                    },
                })
            }
            (Some(DatatypeStruct::List(info)), DataType::List(have), DataType::List(field)) => {
                let Some(element) = &info.element_type else {
                    return Ok(self.mismatch(physical, leaf, spark));
                };
                let element = self.align(have.data_type(), leaf, element)?;
                Ok(match element.is_identity() && physical == &target {
                    true => Alignment::AS_IT_IS,
                    false => Alignment::List {
                        element: Box::new(element),
                        field: Arc::clone(field),
                    },
                })
            }
            (Some(DatatypeStruct::Map(info)), DataType::Map(have, _), DataType::Map(entries, _)) => {
                let (Some(key), Some(value), DataType::Struct(parts)) =
                    (&info.key_type, &info.value_type, have.data_type())
                else {
                    return Ok(self.mismatch(physical, leaf, spark));
                };
                let [have_key, have_value] = parts.as_ref() else {
                    return Ok(self.mismatch(physical, leaf, spark));
                };
                let key = self.align(have_key.data_type(), leaf, key)?;
                let before = count(have_key.data_type());
                let value = self.align(have_value.data_type(), leaf + before, value)?;
                Ok(
                    match key.is_identity() && value.is_identity() && physical == &target {
                        true => Alignment::AS_IT_IS,
                        false => Alignment::Map {
                            key: Box::new(key),
                            value: Box::new(value),
                            entries: Arc::clone(entries),
                        },
                    },
                )
            }
            _ if target.is_nested() || physical.is_nested() => Ok(self.mismatch(physical, leaf, spark)),
            _ => {
                let steps = self
                    .leaves
                    .get(leaf)
                    .and_then(|leaf| self.leaf.steps(leaf.physical, physical, &target));
                Ok(steps.map_or_else(|| self.mismatch(physical, leaf, spark), Alignment::Leaf))
            }
        }
    }

    fn mismatch(&self, physical: &DataType, leaf: usize, spark: &SparkType) -> Alignment {
        let leaf = self.leaves.get(leaf);
        let kind = match (physical, type_info(spark)) {
            _ if physical.is_nested() => MismatchKind::Parts,
            (_, None | Some(DatatypeStruct::Decimal(_))) => match physical {
                DataType::UInt32
                    if matches!(
                        spark.type_id(),
                        DataTypeId::Int8 | DataTypeId::Int16 | DataTypeId::Int32 | DataTypeId::Date
                    ) =>
                {
                    MismatchKind::Unsigned
                }
                DataType::UInt64 if spark.type_id() == DataTypeId::Int64 => MismatchKind::Unsigned,
                _ => MismatchKind::Types,
            },
            _ => MismatchKind::Parts,
        };
        Alignment::Mismatch(Box::new(Mismatch {
            kind,
            column: leaf.map(|leaf| leaf.path.clone()).unwrap_or_default(),
            physical: leaf.map(|leaf| leaf.physical.to_string()).unwrap_or_default(),
            expected: sql_name(spark),
        }))
    }
}

/// Why values could not be aligned.
pub(crate) enum Failure {
    Mismatch(Mismatch),
    /// A timestamp of the hybrid calendar in a zone whose old offsets are not known here, or of an unknown zone.
    Zone(Option<String>),
    /// A date or timestamp that may be of either calendar.
    Ancient {
        int96: bool,
    },
    /// Bytes that are no UTF-8.
    NotText,
    Value(ArrowError),
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        Self::Value(error)
    }
}

impl Alignment {
    const AS_IT_IS: Self = Self::Leaf(vec![]);

    fn is_identity(&self) -> bool {
        *self == Self::AS_IT_IS
    }

    fn reads_nothing(&self) -> bool {
        match self {
            Self::Struct { children, .. } => children
                .iter()
                .all(|(found, child)| found.is_none() || child.reads_nothing()),
            Self::List { element, .. } => element.reads_nothing(),
            Self::Missing(_) => true,
            _ => false,
        }
    }

    pub(crate) fn apply(&self, array: &ArrayRef) -> Result<ArrayRef, Failure> {
        match self {
            Self::Leaf(steps) => steps
                .iter()
                .try_fold(Arc::clone(array), |array, step| step.apply(&array)),
            Self::Missing(target) => Ok(new_null_array(target, array.len())),
            Self::Struct { children, fields } => {
                let array = array.as_struct();
                if fields.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(
                        array.len(),
                        array.nulls().cloned(),
                    )));
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
            Self::Mismatch(mismatch) => Err(Failure::Mismatch((**mismatch).clone())),
        }
    }
}
