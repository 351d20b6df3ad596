//! Spark's `Cast`.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;

use crate::{EvalMode, QueryContext, Unsupported};

/// What a cast depends on beside its types.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CastOptions {
    /// What to do with a value that has no answer.
    pub mode: EvalMode,
    /// The session's time zone, e.g. `UTC` or `America/Los_Angeles`.
    pub timezone: String,
    /// Where the cast stands in the query.
    pub context: Option<Arc<QueryContext>>,
}

/// Whether this crate computes `CAST(from AS to)` exactly.
pub fn check_cast(from: &DataType, to: &DataType, options: &CastOptions) -> Result<(), Unsupported> {
    let _ = options;
    Err(Unsupported::new(format!("cast({from} as {to})"), "not yet"))
}

/// `CAST(child AS to)`; refused unless [`check_cast`] accepts it.
pub fn cast(
    child: Arc<dyn PhysicalExpr>,
    from: &DataType,
    to: &DataType,
    options: &CastOptions,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    check_cast(from, to, options)?;
    Ok(child)
}
