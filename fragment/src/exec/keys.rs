use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::Schema;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

/// Keys of rows that come sorted by them: where they change. Floats have to be canonical.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    /// `None` without keys: then all rows are equal.
    converter: Option<Arc<RowConverter>>,
}

impl Keys {
    pub(super) fn try_new(exprs: Vec<Arc<dyn PhysicalExpr>>, schema: &Schema) -> Result<Self> {
        let fields = exprs
            .iter()
            .map(|expr| Ok(SortField::new(expr.data_type(schema)?)));
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let converter = match fields.is_empty() {
            true => None,
            false => Some(Arc::new(RowConverter::new(fields)?)),
        };
        Ok(Self { exprs, converter })
    }

    /// The keys of each row, to be compared with others of this; `None` without keys.
    pub(super) fn rows(&self, batch: &RecordBatch) -> Result<Option<Rows>> {
        let Some(converter) = &self.converter else {
            return Ok(None);
        };
        let arrays = self
            .exprs
            .iter()
            .map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()));
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        Ok(Some(converter.convert_columns(&arrays)?))
    }

    /// Runs of rows with equal keys, in order.
    pub(super) fn runs(&self, batch: &RecordBatch) -> Result<Vec<Range<usize>>> {
        let count = batch.num_rows();
        let mut runs = vec![];
        let mut start = 0;
        if let Some(rows) = self.rows(batch)? {
            for row in 1..count {
                if rows.row(row) != rows.row(row - 1) {
                    runs.push(start..row);
                    start = row;
                }
            }
        }
        if count > 0 {
            runs.push(start..count);
        }
        Ok(runs)
    }
}
