//! Decimals of 38 digits.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;

use crate::{QueryContext, Unsupported};

/// Spark's `CheckOverflow`: the child's decimal rounded half up to `(precision, scale)`; a value that does not fit is an error
/// (`NUMERIC_VALUE_OUT_OF_RANGE`) or NULL.
pub fn check_overflow(
    child: Arc<dyn PhysicalExpr>,
    child_type: &DataType,
    precision: u8,
    scale: i8,
    fail_on_error: bool,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let _ = (child, child_type, precision, scale, fail_on_error, context);
    Err(Unsupported::new("check_overflow", "not yet"))
}
