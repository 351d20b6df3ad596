//! Arithmetic on numbers and dates.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;

use crate::{EvalMode, QueryContext, Unsupported};

/// The binary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ArithmeticOp {
    /// Spark's `Add`.
    Add,
    /// Spark's `Subtract`.
    Subtract,
    /// Spark's `Multiply`.
    Multiply,
    /// Spark's `Divide` (floats and decimals).
    Divide,
    /// Spark's `IntegralDivide`; the result is `BIGINT`, or a decimal of scale 0 for the caller to cast.
    IntegralDivide,
    /// Spark's `Remainder`; the sign follows the dividend.
    Remainder,
}

/// `left op right`. `left_type` and `right_type` are the operands' types; `return_type` is the declared type of the result (decimals
/// need it; other types must agree with it).
pub fn arithmetic(
    op: ArithmeticOp,
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    left_type: &DataType,
    right_type: &DataType,
    return_type: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let _ = (left, right, left_type, right_type, return_type, mode, context);
    Err(Unsupported::new(format!("{op:?}"), "not yet"))
}

/// Spark's `UnaryMinus`.
pub fn unary_minus(
    child: Arc<dyn PhysicalExpr>,
    child_type: &DataType,
    mode: EvalMode,
    context: Option<Arc<QueryContext>>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let _ = (child, child_type, mode, context);
    Err(Unsupported::new("unary minus", "not yet"))
}
