//! The table of scalar functions by the names that Comet's serializer uses.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::physical_expr::PhysicalExpr;

use crate::{QueryContext, Unsupported};

/// A call of a function by name.
#[derive(Debug)]
pub struct FunctionCall<'a> {
    /// Comet's name of the function, e.g. `substring`.
    pub name: &'a str,
    /// The arguments.
    pub args: Vec<Arc<dyn PhysicalExpr>>,
    /// The arguments' fields, one each.
    pub arg_fields: &'a [FieldRef],
    /// The declared type of the result.
    pub return_type: Option<DataType>,
    /// ANSI behaviour for functions that carry the flag in the message.
    pub fail_on_error: bool,
    /// Where the call stands in the query.
    pub context: Option<Arc<QueryContext>>,
}

/// The physical expression of a call; an unknown name is refused by name.
pub fn build(call: FunctionCall<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    Err(Unsupported::new(format!("function {}", call.name), "there is no exact implementation of it"))
}
