//! Comparisons, and the canonical form of floats.

use std::sync::Arc;

use arrow::datatypes::{DataType, Float32Type, Float64Type, Schema};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{self, BinaryExpr};

use crate::logic;
use crate::row::{Kernel, SparkExpr};
use crate::{Unsupported, types, vector};

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
    if operand_type.is_nested() || matches!(operand_type, DataType::Dictionary(..)) {
        let what = format!("{op:?} on {}", types::sql_name(operand_type));
        return Err(Unsupported::new(what, "nested values are not compared exactly"));
    }
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
    let (left, right) = (
        canonical_float(left, operand_type),
        canonical_float(right, operand_type),
    );
    Ok(Arc::new(BinaryExpr::new(left, operator, right)))
}

/// Floats in canonical form (one NaN, no -0.0), for keys of groups, joins, sorts and hashes; other types as they are.
#[must_use]
pub fn canonical_float(expr: Arc<dyn PhysicalExpr>, data_type: &DataType) -> Arc<dyn PhysicalExpr> {
    match data_type {
        DataType::Float32 | DataType::Float64 => SparkExpr::create(
            Canonical {
                return_type: data_type.clone(),
            },
            vec![expr],
        ),
        _ => expr,
    }
}

/// Spark's `NormalizeNaNAndZero`.
#[derive(Debug)]
struct Canonical {
    return_type: DataType,
}

impl Kernel for Canonical {
    fn name(&self) -> &str {
        "normalize_nan_and_zero"
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], _rows: usize) -> Result<ColumnarValue> {
        canonical(&args[0], &self.return_type)
    }
}

/// The values with floats in canonical form.
pub(crate) fn canonical(values: &ColumnarValue, data_type: &DataType) -> Result<ColumnarValue> {
    // Adding 0.0 turns -0.0 into 0.0 and nothing else.
    match data_type {
        DataType::Float32 => vector::unary::<Float32Type, Float32Type>(values, data_type, |value| {
            Ok(Some(if value.is_nan() { f32::NAN } else { value + 0.0 }))
        }),
        DataType::Float64 => vector::unary::<Float64Type, Float64Type>(values, data_type, |value| {
            Ok(Some(if value.is_nan() { f64::NAN } else { value + 0.0 }))
        }),
        _ => Ok(values.clone()),
    }
}

/// `expr [NOT] IN (list)`.
pub fn in_list(
    expr: Arc<dyn PhysicalExpr>,
    list: Vec<Arc<dyn PhysicalExpr>>,
    negated: bool,
    operand_type: &DataType,
    schema: &Schema,
) -> Result<Arc<dyn PhysicalExpr>> {
    if !types::is_float(operand_type) || list.is_empty() {
        return expressions::in_list(expr, list, &negated, schema);
    }
    // DataFusion compares the items of a list by their bits; `a = x OR a = y` has the same three values.
    let mut found: Option<Arc<dyn PhysicalExpr>> = None;
    for item in list {
        let equal = comparison(CompareOp::Eq, Arc::clone(&expr), item, operand_type)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        found = Some(match found {
            Some(before) => logic::or(before, equal),
            None => equal,
        });
    }
    let found = found.ok_or_else(|| DataFusionError::Internal("an empty list".to_string()))?;
    Ok(if negated { logic::not(found) } else { found })
}
