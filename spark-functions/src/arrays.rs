//! Functions of arrays.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Int32Array};
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::row::Kernel;
use crate::vector;

/// Spark's `Size` of an array, NULL for NULL: what else a NULL may count as, the plan says around it.
#[derive(Debug)]
pub(crate) struct Size;

impl Kernel for Size {
    fn name(&self) -> &str {
        "size"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Int32
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        let (array, _) = vector::operand(&args[0])?;
        let Some(lists) = array.as_list_opt::<i32>() else {
            return exec_err!("{} is no list", array.data_type());
        };
        let offsets = lists.value_offsets().windows(2);
        let sizes = offsets
            .enumerate()
            .map(|(row, ends)| lists.is_valid(row).then(|| ends[1] - ends[0]));
        Ok(ColumnarValue::Array(Arc::new(sizes.collect::<Int32Array>())))
    }
}
