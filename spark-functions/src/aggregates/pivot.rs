//! Spark's `PivotFirst`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups};

/// Whether values of a type are found among the columns of a pivot by what they are.
pub(super) fn is_pivot(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Utf8
            | DataType::Date32
            | DataType::Timestamp(..)
            | DataType::Decimal128(..)
    )
}

#[derive(Debug, Clone)]
pub(crate) struct Pivot {
    value_type: DataType,
    places: Arc<HashMap<ScalarValue, usize>>,
    /// So many values for each group.
    width: usize,
    values: Vec<ScalarValue>,
    null: Option<ScalarValue>,
}

impl Pivot {
    pub(crate) fn new(value_type: &DataType, columns: &[ScalarValue]) -> Self {
        let places = columns.iter().cloned().enumerate().map(|(i, column)| (column, i));
        Self {
            value_type: value_type.clone(),
            places: Arc::new(places.collect()),
            width: columns.len(),
            values: vec![],
            null: ScalarValue::try_from(value_type).ok(),
        }
    }

    /// The values of the emitted groups, group by group.
    fn take(&mut self, emit: EmitTo) -> Vec<ScalarValue> {
        match emit {
            EmitTo::All => std::mem::take(&mut self.values),
            EmitTo::First(groups) => {
                let rest = self
                    .values
                    .split_off((groups * self.width).min(self.values.len()));
                std::mem::replace(&mut self.values, rest)
            }
        }
    }

    fn array(&self, values: impl Iterator<Item = ScalarValue>) -> Result<ArrayRef> {
        let mut values = values.peekable();
        match values.peek() {
            None => Ok(new_empty_array(&self.value_type)),
            Some(_) => ScalarValue::iter_to_array(values),
        }
    }
}

impl SparkGroups for Pivot {
    fn resize(&mut self, groups: usize) {
        let null = self.null.clone().unwrap_or(ScalarValue::Null);
        self.values.resize(groups * self.width, null);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let (columns, values) = (&values[0], &values[1]);
        rows.try_each(|row, group| {
            if values.is_null(row) {
                return Ok(());
            }
            let column = ScalarValue::try_from_array(columns, row)?;
            if let Some(place) = self.places.get(&column) {
                self.values[group * self.width + place] =
                    ScalarValue::try_from_array(values, row)?.compacted();
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        for (place, state) in states.iter().enumerate() {
            for (row, &group) in groups.iter().enumerate() {
                if state.is_valid(row) {
                    self.values[group * self.width + place] =
                        ScalarValue::try_from_array(state, row)?.compacted();
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let values = self.take(emit);
        let groups = values.len() / self.width.max(1);
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(self.width, groups));
        let item = Arc::new(Field::new("item", self.value_type.clone(), true));
        let values = self.array(values.into_iter())?;
        Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let values = self.take(emit);
        (0..self.width)
            .map(|place| self.array(values.iter().skip(place).step_by(self.width).cloned()))
            .collect()
    }

    fn size(&self) -> usize {
        self.values.iter().map(ScalarValue::size).sum()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self {
            values: vec![],
            ..self.clone()
        })
    }
}
