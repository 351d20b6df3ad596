//! Three-valued logic.

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, NotExpr};

/// `left AND right`: the right side is evaluated only on rows that the left side does not decide, if it can raise.
#[must_use]
pub fn and(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, Operator::And, right))
}

/// `left OR right`: the right side is evaluated only on rows that the left side does not decide, if it can raise.
#[must_use]
pub fn or(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, Operator::Or, right))
}

/// `NOT child`.
#[must_use]
pub fn not(child: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(NotExpr::new(child))
}
