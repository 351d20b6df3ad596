//! Spark's `First` and `Last`: by arrival order.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, new_empty_array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups, as_type};

#[derive(Debug, Clone)]
pub(crate) struct Edge {
    data_type: DataType,
    last: bool,
    ignore_nulls: bool,
    values: Vec<Option<ScalarValue>>,
}

impl Edge {
    pub(crate) fn new(data_type: DataType, last: bool, ignore_nulls: bool) -> Self {
        Self {
            data_type,
            last,
            ignore_nulls,
            values: vec![],
        }
    }

    fn column(&self, values: Vec<Option<ScalarValue>>) -> Result<ArrayRef> {
        if values.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        let null = ScalarValue::try_from(&self.data_type)?;
        ScalarValue::iter_to_array(
            values
                .into_iter()
                .map(|value| value.unwrap_or_else(|| null.clone())),
        )
    }
}

impl SparkGroups for Edge {
    fn resize(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let column = &as_type(&values[0], &self.data_type)?;
        rows.try_each(|row, group| {
            let wanted = self.last || self.values[group].is_none();
            if wanted && !(self.ignore_nulls && column.is_null(row)) {
                self.values[group] = Some(ScalarValue::try_from_array(column, row)?.compacted());
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let values = as_type(&states[0], &self.data_type)?;
        let set = states[1].as_boolean();
        for (row, &group) in groups.iter().enumerate() {
            if set.is_valid(row) && set.value(row) && (self.last || self.values[group].is_none()) {
                self.values[group] = Some(ScalarValue::try_from_array(&values, row)?.compacted());
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let values = emit.take_needed(&mut self.values);
        self.column(values)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let values = emit.take_needed(&mut self.values);
        let set: BooleanArray = values.iter().map(|value| Some(value.is_some())).collect();
        Ok(vec![self.column(values)?, Arc::new(set)])
    }

    fn size(&self) -> usize {
        self.values
            .iter()
            .map(|value| value.as_ref().map_or(8, ScalarValue::size))
            .sum()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self::new(self.data_type.clone(), self.last, self.ignore_nulls))
    }
}
