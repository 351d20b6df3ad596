//! Casts of arrays, maps and structs: part by part, by position.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, StructArray, UInt32Array};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{nullif, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use super::SparkCast;
use crate::vector;

/// Offsets that begin at 0 and the elements between them: none of a row that is NULL or was sliced away, so that no cast raises an
/// error for what is not there.
pub(super) fn referenced(
    offsets: &OffsetBuffer<i32>,
    nulls: Option<&NullBuffer>,
    values: &ArrayRef,
) -> Result<(OffsetBuffer<i32>, ArrayRef)> {
    let valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    let rows = offsets.len() - 1;
    let lengths = (0..rows).map(|row| {
        if valid(row) {
            offsets[row + 1] - offsets[row]
        } else {
            0
        }
    });
    let total: i64 = lengths.clone().map(i64::from).sum();
    if total == i64::try_from(values.len()).unwrap_or(-1) {
        return Ok((offsets.clone(), Arc::clone(values)));
    }
    let elements = (0..rows)
        .filter(|row| valid(*row))
        .flat_map(|row| offsets[row]..offsets[row + 1]);
    let indices: UInt32Array = elements.map(|index| index.unsigned_abs()).collect();
    let lengths = lengths.map(|length| usize::try_from(length).unwrap_or(0));
    Ok((OffsetBuffer::from_lengths(lengths), take(values, &indices, None)?))
}

/// A struct's columns, NULL wherever the struct is.
pub(super) fn columns(array: &StructArray) -> Result<Vec<ArrayRef>> {
    let Some(nulls) = array.nulls().filter(|nulls| nulls.null_count() > 0) else {
        return Ok(array.columns().to_vec());
    };
    let absent = arrow::array::BooleanArray::new(!nulls.inner(), None);
    array
        .columns()
        .iter()
        .map(|column| Ok(nullif(column, &absent)?))
        .collect()
}

impl SparkCast {
    pub(super) fn nested(&self, input: &ColumnarValue) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(input)?;
        let out: ArrayRef = match (&self.from, &self.to) {
            (DataType::List(_), DataType::List(to)) => {
                let list = array.as_list::<i32>();
                let (offsets, values) = referenced(list.offsets(), list.nulls(), list.values())?;
                let values = self.between(values.data_type(), to.data_type()).array(&values)?;
                Arc::new(ListArray::try_new(
                    Arc::clone(to),
                    offsets,
                    values,
                    list.nulls().cloned(),
                )?)
            }
            (DataType::Map(..), DataType::Map(to, ordered)) => {
                let map = array.as_map();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                let (offsets, entries) = referenced(map.offsets(), map.nulls(), &entries)?;
                let entries = self
                    .between(entries.data_type(), to.data_type())
                    .array(&entries)?;
                let entries = entries.as_struct().clone();
                Arc::new(MapArray::try_new(
                    Arc::clone(to),
                    offsets,
                    entries,
                    map.nulls().cloned(),
                    *ordered,
                )?)
            }
            (DataType::Struct(_), DataType::Struct(to)) => {
                let parts = array.as_struct();
                let columns = columns(parts)?.into_iter().zip(to);
                let columns = columns
                    .map(|(column, to)| self.between(column.data_type(), to.data_type()).array(&column))
                    .collect::<Result<Vec<_>>>()?;
                let nulls = parts.nulls().cloned();
                Arc::new(StructArray::try_new_with_length(
                    to.clone(),
                    columns,
                    nulls,
                    parts.len(),
                )?)
            }
            (from, to) => return exec_err!("no cast from {from} to {to}"),
        };
        Ok(ColumnarValue::Array(out))
    }
}
