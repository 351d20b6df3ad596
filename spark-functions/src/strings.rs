//! String predicates and functions.

use std::sync::Arc;

use datafusion::physical_expr::PhysicalExpr;

use crate::Unsupported;

/// Spark's `LIKE` with the escape character `\`.
pub fn like(
    value: Arc<dyn PhysicalExpr>,
    pattern: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let _ = (value, pattern);
    Err(Unsupported::new("LIKE", "not yet"))
}
