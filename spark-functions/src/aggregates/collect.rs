//! Values kept whole: Spark's `CollectList`, `CollectSet`, `ListAgg`, and what `Percentile` computes from.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Field, FieldRef, Float32Type, Float64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, EmitTo};

use super::groups::{Rows, SparkGroups, as_type};
use crate::compare::canonical;
use crate::types;

/// The type in which values of `element` are kept.
pub(crate) fn list_of(element: &DataType) -> DataType {
    DataType::List(item(element))
}

fn item(element: &DataType) -> FieldRef {
    Arc::new(Field::new("item", element.clone(), true))
}

/// Which values of a group are kept.
#[derive(Debug, Clone)]
enum Known {
    All,
    /// The bytes of the values that a group has.
    Distinct(Arc<RowConverter>, Vec<HashSet<Box<[u8]>>>),
}

/// The values of each group that are not NULL, in order of arrival; with `distinct` the first of equal ones. As in Spark, no NaN equals another
/// one there and -0.0 equals 0.0. State and result: one list.
#[derive(Debug, Clone)]
pub(crate) struct Collect {
    element: DataType,
    known: Known,
    /// What was seen; groups point into it.
    chunks: Vec<ArrayRef>,
    groups: Vec<Vec<(usize, usize)>>,
}

impl Collect {
    pub(crate) fn new(element: &DataType, distinct: bool) -> Result<Self> {
        let known = match distinct {
            false => Known::All,
            true => {
                let converter = RowConverter::new(vec![SortField::new(element.clone())])?;
                Known::Distinct(Arc::new(converter), vec![])
            }
        };
        Ok(Self::of(element.clone(), known))
    }

    fn of(element: DataType, known: Known) -> Self {
        Self {
            element,
            known,
            chunks: vec![],
            groups: vec![],
        }
    }

    /// No groups, the same values.
    pub(super) fn emptied(&self) -> Self {
        let known = match &self.known {
            Known::All => Known::All,
            Known::Distinct(converter, _) => Known::Distinct(Arc::clone(converter), vec![]),
        };
        Self::of(self.element.clone(), known)
    }

    /// Keeps `values[row]` for each `(row, group)` of `rows` that is not NULL.
    fn keep(&mut self, values: &ArrayRef, each: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Result<()> {
        let values = &as_type(values, &self.element)?;
        let chunk = self.chunks.len();
        let mut used = false;
        let groups = &mut self.groups;
        let mut add = |row: usize, group: usize| {
            groups[group].push((chunk, row));
            used = true;
        };
        match &mut self.known {
            Known::All => each(&mut |row, group| {
                if values.is_valid(row) {
                    add(row, group);
                }
            }),
            Known::Distinct(converter, seen) => {
                let plain = canonical(&ColumnarValue::Array(Arc::clone(values)), &self.element)?;
                let keys = converter.convert_columns(&[plain.into_array(values.len())?])?;
                let nan = nans(values);
                each(&mut |row, group| {
                    if values.is_valid(row) && (nan(row) || seen[group].insert(keys.row(row).as_ref().into()))
                    {
                        add(row, group);
                    }
                });
            }
        }
        if used {
            self.chunks.push(Arc::clone(values));
        }
        Ok(())
    }

    /// The lists of the emitted groups.
    pub(super) fn lists(&mut self, emit: EmitTo) -> Result<ListArray> {
        let groups = emit.take_needed(&mut self.groups);
        if let Known::Distinct(_, seen) = &mut self.known {
            drop(emit.take_needed(seen));
        }
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
        let places: Vec<(usize, usize)> = groups.into_iter().flatten().collect();
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        let values = match places.is_empty() {
            true => new_empty_array(&self.element),
            false => interleave(&chunks, &places)?,
        };
        if self.groups.is_empty() {
            self.chunks.clear();
        }
        Ok(ListArray::try_new(item(&self.element), offsets, values, None)?)
    }
}

/// Whether a row is NaN.
fn nans(values: &ArrayRef) -> Box<dyn Fn(usize) -> bool + '_> {
    match values.data_type() {
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>();
            Box::new(|row| values.value(row).is_nan())
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            Box::new(|row| values.value(row).is_nan())
        }
        _ => Box::new(|_| false),
    }
}

impl SparkGroups for Collect {
    fn resize(&mut self, groups: usize) {
        self.groups.resize(groups, vec![]);
        if let Known::Distinct(_, seen) = &mut self.known {
            seen.resize(groups, HashSet::new());
        }
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        self.keep(&values[0], |f| rows.each(f))
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let lists = states[0].as_list::<i32>();
        self.keep(lists.values(), |f| {
            for (list, &group) in groups.iter().enumerate() {
                let (from, to) = (lists.value_offsets()[list], lists.value_offsets()[list + 1]);
                if lists.is_valid(list) {
                    (from..to).for_each(|row| f(row as usize, group));
                }
            }
        })
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(Arc::new(self.lists(emit)?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit)?])
    }

    fn size(&self) -> usize {
        let chunks: usize = self
            .chunks
            .iter()
            .map(|chunk| chunk.get_array_memory_size())
            .sum();
        let places: usize = self.groups.iter().map(|group| 24 + group.capacity() * 16).sum();
        let known = match &self.known {
            Known::All => 0,
            // A set's entry and its bytes, roughly.
            Known::Distinct(..) => places * 4,
        };
        chunks + places + known
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(self.emptied())
    }
}

/// Spark's `ListAgg` without an order: the texts of a group one after the other, NULL for none. State: a list.
#[derive(Debug, Clone)]
pub(crate) struct ListAgg {
    delimiter: String,
    texts: Collect,
}

impl ListAgg {
    pub(crate) fn new(delimiter: &str) -> Result<Self> {
        Ok(Self {
            delimiter: delimiter.to_string(),
            texts: Collect::new(&DataType::Utf8, false)?,
        })
    }
}

impl SparkGroups for ListAgg {
    fn resize(&mut self, groups: usize) {
        self.texts.resize(groups);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        self.texts.update(values, rows)
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        self.texts.merge(states, groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let lists = self.texts.lists(emit)?;
        let joined = lists.iter().map(|list| {
            let texts = list?;
            let texts: Vec<&str> = texts.as_string::<i32>().iter().flatten().collect();
            (!texts.is_empty()).then(|| texts.join(&self.delimiter))
        });
        Ok(Arc::new(joined.collect::<StringArray>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.texts.state(emit)
    }

    fn size(&self) -> usize {
        self.texts.size()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self {
            delimiter: self.delimiter.clone(),
            texts: self.texts.emptied(),
        })
    }
}

/// Whether values of a type are compared as Spark's `CollectSet` compares them.
pub(crate) fn is_set_element(element: &DataType) -> bool {
    types::is_integer(element)
        || types::is_float(element)
        || matches!(
            element,
            DataType::Boolean
                | DataType::Decimal128(..)
                | DataType::Date32
                | DataType::Timestamp(..)
                | DataType::Utf8
                | DataType::Binary
        )
}
