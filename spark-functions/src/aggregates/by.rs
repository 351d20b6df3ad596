//! Spark's `MaxBy` and `MinBy`: the value beside the extremum; of several, the last one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::EmitTo;

use super::groups::{Rows, SparkGroups, as_type};

/// State: the value, the ordering beside it. Floats of the ordering have to be canonical.
#[derive(Debug, Clone)]
pub(crate) struct By {
    greatest: bool,
    value_type: DataType,
    order_type: DataType,
    converter: Arc<RowConverter>,
    /// `None` before the first row with an ordering.
    best: Vec<Option<(OwnedRow, ScalarValue)>>,
}

impl By {
    pub(crate) fn new(greatest: bool, value_type: &DataType, order_type: &DataType) -> Result<Self> {
        Ok(Self {
            greatest,
            value_type: value_type.clone(),
            order_type: order_type.clone(),
            converter: Arc::new(RowConverter::new(vec![SortField::new(order_type.clone())])?),
            best: vec![],
        })
    }

    fn values(&self, best: &[Option<(OwnedRow, ScalarValue)>]) -> Result<ArrayRef> {
        if best.is_empty() {
            return Ok(new_empty_array(&self.value_type));
        }
        let null = ScalarValue::try_from(&self.value_type)?;
        let values = best.iter().map(|best| {
            best.as_ref()
                .map_or_else(|| null.clone(), |(_, value)| value.clone())
        });
        ScalarValue::iter_to_array(values)
    }
}

impl SparkGroups for By {
    fn resize(&mut self, groups: usize) {
        self.best.resize(groups, None);
    }

    fn update(&mut self, values: &[ArrayRef], rows: &Rows<'_>) -> Result<()> {
        let (values, orders) = (&as_type(&values[0], &self.value_type)?, &values[1]);
        let keys = self.converter.convert_columns(std::slice::from_ref(orders))?;
        rows.try_each(|row, group| {
            if orders.is_null(row) {
                return Ok(());
            }
            let best = &mut self.best[group];
            let stays = best.as_ref().is_some_and(|(key, _)| match self.greatest {
                true => key.row() > keys.row(row),
                false => key.row() < keys.row(row),
            });
            if !stays {
                let value = ScalarValue::try_from_array(values, row)?.compacted();
                *best = Some((keys.row(row).owned(), value));
            }
            Ok(())
        })
    }

    fn merge(&mut self, states: &[ArrayRef], groups: &[usize]) -> Result<()> {
        self.update(states, &Rows::grouped(groups, None))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let best = emit.take_needed(&mut self.best);
        self.values(&best)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let best = emit.take_needed(&mut self.best);
        let none = self
            .converter
            .convert_columns(&[ScalarValue::try_from(&self.order_type)?.to_array()?])?;
        let keys = best
            .iter()
            .map(|best| best.as_ref().map_or(none.row(0), |(key, _)| key.row()));
        let orders = match best.is_empty() {
            true => new_empty_array(&self.order_type),
            false => self.converter.convert_rows(keys)?.swap_remove(0),
        };
        Ok(vec![self.values(&best)?, orders])
    }

    fn size(&self) -> usize {
        let one = |best: &Option<(OwnedRow, ScalarValue)>| {
            best.as_ref()
                .map_or(0, |(key, value)| key.as_ref().len() + value.size())
        };
        self.best.iter().map(|best| size_of_val(best) + one(best)).sum()
    }

    fn duplicate(&self) -> Box<dyn SparkGroups> {
        Box::new(self.clone())
    }

    fn fresh(&self) -> Box<dyn SparkGroups> {
        Box::new(Self {
            best: vec![],
            ..self.clone()
        })
    }
}
