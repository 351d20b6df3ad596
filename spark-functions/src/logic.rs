//! Three-valued logic.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{and_kleene, or_kleene, prep_null_mask_filter};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};

use crate::row::SparkExpr;

/// `left AND right`: the right side is evaluated only on rows that the left side does not decide, if it can raise.
#[must_use]
pub fn and(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    connect(left, right, Operator::And)
}

/// `left OR right`: the right side is evaluated only on rows that the left side does not decide, if it can raise.
#[must_use]
pub fn or(left: Arc<dyn PhysicalExpr>, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    connect(left, right, Operator::Or)
}

/// `NOT child`.
#[must_use]
pub fn not(child: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(NotExpr::new(child))
}

fn connect(
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    operator: Operator,
) -> Arc<dyn PhysicalExpr> {
    if is_fallible(&right) {
        Arc::new(ShortCircuit {
            left,
            right,
            and: operator == Operator::And,
        })
    } else {
        Arc::new(BinaryExpr::new(left, operator, right))
    }
}

/// Whether evaluating the expression on some row could raise an error. Unknown expressions are taken to be fallible.
#[must_use]
pub fn is_fallible(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let itself = if let Some(spark) = expr.downcast_ref::<SparkExpr>() {
        spark.fallible()
    } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        !matches!(
            binary.op(),
            Operator::And
                | Operator::Or
                | Operator::Eq
                | Operator::NotEq
                | Operator::Lt
                | Operator::LtEq
                | Operator::Gt
                | Operator::GtEq
                | Operator::IsDistinctFrom
                | Operator::IsNotDistinctFrom
        )
    } else {
        !(expr.is::<Column>()
            || expr.is::<Literal>()
            || expr.is::<NotExpr>()
            || expr.is::<IsNullExpr>()
            || expr.is::<IsNotNullExpr>()
            || expr.is::<InListExpr>()
            || expr.is::<LikeExpr>()
            || expr.is::<CaseExpr>()
            || expr.is::<ShortCircuit>())
    };
    itself || expr.children().into_iter().any(is_fallible)
}

/// Spark's `And` and `Or` row by row.
#[derive(Debug, Eq)]
struct ShortCircuit {
    left: Arc<dyn PhysicalExpr>,
    right: Arc<dyn PhysicalExpr>,
    and: bool,
}

impl PartialEq for ShortCircuit {
    fn eq(&self, other: &Self) -> bool {
        self.and == other.and && self.left.eq(&other.left) && self.right.eq(&other.right)
    }
}

impl Hash for ShortCircuit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.and.hash(state);
        self.left.hash(state);
        self.right.hash(state);
    }
}

impl fmt::Display for ShortCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "({} {} {})",
            self.left,
            if self.and { "AND" } else { "OR" },
            self.right
        )
    }
}

impl PhysicalExpr for ShortCircuit {
    fn data_type(&self, _input_schema: &Schema) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn nullable(&self, input_schema: &Schema) -> Result<bool> {
        Ok(self.left.nullable(input_schema)? || self.right.nullable(input_schema)?)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let left = self.left.evaluate(batch)?.into_array(batch.num_rows())?;
        let left = left.as_boolean();
        // AND: false decides; OR: true decides. NULL does not.
        let decided = if self.and {
            arrow::compute::not(left)?
        } else {
            left.clone()
        };
        let decided = if decided.null_count() > 0 {
            prep_null_mask_filter(&decided)
        } else {
            decided
        };
        let open = arrow::compute::not(&decided)?;
        if !open.has_true() {
            return Ok(ColumnarValue::Array(Arc::new(left.clone())));
        }
        let right = self
            .right
            .evaluate_selection(batch, &open)?
            .into_array(batch.num_rows())?;
        let right: &BooleanArray = right.as_boolean();
        let out = if self.and {
            and_kleene(left, right)?
        } else {
            or_kleene(left, right)?
        };
        Ok(ColumnarValue::Array(Arc::new(out)))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.left, &self.right]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self {
            left: Arc::clone(&children[0]),
            right: Arc::clone(&children[1]),
            and: self.and,
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int32Array};
    use arrow::datatypes::Field;

    use super::*;
    use crate::EvalMode;
    use crate::arithmetic::{ArithmeticOp, arithmetic};
    use crate::compare::{CompareOp, comparison};

    /// `x <> 0 AND 1 / x > 0`, or `x = 0 OR 1 / x > 0`, in ANSI mode.
    fn guarded(conjunction: bool, values: Vec<Option<i32>>) -> Vec<Option<bool>> {
        let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, true)]));
        let batch =
            RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(values)) as ArrayRef]).unwrap();
        let x = || Arc::new(Column::new("x", 0)) as Arc<dyn PhysicalExpr>;
        let literal = |v: i32| Arc::new(Literal::new(v.into())) as Arc<dyn PhysicalExpr>;
        let int = DataType::Int32;
        let op = ArithmeticOp::Remainder;
        let quotient = arithmetic(op, literal(1), x(), &int, &int, &int, EvalMode::Ansi, None).unwrap();
        let positive = comparison(CompareOp::GtEq, quotient, literal(0), &int).unwrap();
        let guard = if conjunction {
            CompareOp::NotEq
        } else {
            CompareOp::Eq
        };
        let guard = comparison(guard, x(), literal(0), &int).unwrap();
        let expr = if conjunction {
            and(guard, positive)
        } else {
            or(guard, positive)
        };
        let array = expr
            .evaluate(&batch)
            .unwrap()
            .into_array(batch.num_rows())
            .unwrap();
        array.as_boolean().iter().collect()
    }

    #[test]
    fn the_left_side_guards_the_right_one_on_each_row() {
        // Without and with NULLs on the left.
        for values in [
            vec![Some(0), Some(2)],
            vec![Some(0), None, Some(2)],
            vec![Some(0), Some(0)],
        ] {
            let want = |decided: bool| {
                values
                    .iter()
                    .map(|v| v.map(|v| if v == 0 { decided } else { true }))
                    .collect::<Vec<_>>()
            };
            assert_eq!(guarded(true, values.clone()), want(false));
            assert_eq!(guarded(false, values.clone()), want(true));
        }
    }
}
