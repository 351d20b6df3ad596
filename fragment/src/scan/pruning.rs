use std::sync::Arc;

use cne_proto::spark_expression::{BinaryExpr as SparkBinary, Expr, expr::ExprStruct};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal, is_not_null, is_null};
use datafusion::physical_expr::utils::conjunction;

use super::types::literal_value;

/// A necessary condition of Spark's data filters in DataFusion's own expressions, which it can prune row groups, pages and files with.
///
/// The plan's Filter above the scan evaluates the filters themselves. So what is not understood here may be left out, but nothing may be
/// dropped that a filter would keep: only comparisons of a column with a literal, which cannot fail, and only of types that both
/// order alike (not floats: Spark's NaN is equal to itself and above all, and file statistics leave it out).
pub(crate) fn pruning_predicate(
    filters: &[Expr],
    schema: &Schema,
    columns: &[usize],
) -> Option<Arc<dyn PhysicalExpr>> {
    let translate = Translate { schema, columns };
    let conditions: Vec<_> = filters
        .iter()
        .filter_map(|filter| translate.condition(filter))
        .collect();
    (!conditions.is_empty()).then(|| conjunction(conditions))
}

struct Translate<'a> {
    schema: &'a Schema,
    /// Index in `schema` of each column that the filters are bound to.
    columns: &'a [usize],
}

type Condition = Option<Arc<dyn PhysicalExpr>>;

impl Translate<'_> {
    fn condition(&self, expr: &Expr) -> Condition {
        match expr.expr_struct.as_ref()? {
            ExprStruct::And(and) => match (self.side(&and.left), self.side(&and.right)) {
                (Some(left), Some(right)) => Some(binary(left, Operator::And, right)),
                (one, other) => one.or(other),
            },
            ExprStruct::Or(or) => Some(binary(self.side(&or.left)?, Operator::Or, self.side(&or.right)?)),
            ExprStruct::Eq(pair) => self.comparison(pair, Operator::Eq, Operator::Eq),
            ExprStruct::Lt(pair) => self.comparison(pair, Operator::Lt, Operator::Gt),
            ExprStruct::LtEq(pair) => self.comparison(pair, Operator::LtEq, Operator::GtEq),
            ExprStruct::Gt(pair) => self.comparison(pair, Operator::Gt, Operator::Lt),
            ExprStruct::GtEq(pair) => self.comparison(pair, Operator::GtEq, Operator::LtEq),
            ExprStruct::IsNull(child) => is_null(self.column(child.child.as_deref()?, false)?).ok(),
            ExprStruct::IsNotNull(child) => is_not_null(self.column(child.child.as_deref()?, false)?).ok(),
            ExprStruct::In(list) if !list.negated => {
                let column = self.column(list.in_value.as_deref()?, true)?;
                let data_type = column.data_type(self.schema).ok()?;
                let values: Option<Vec<_>> = list
                    .lists
                    .iter()
                    .map(|value| value_of(value, &data_type))
                    .collect();
                let in_list = InListExpr::try_new(column, values?, false, self.schema).ok()?;
                Some(Arc::new(in_list))
            }
            _ => None,
        }
    }

    fn side(&self, expr: &Option<Box<Expr>>) -> Condition {
        self.condition(expr.as_deref()?)
    }

    fn comparison(&self, pair: &SparkBinary, operator: Operator, swapped: Operator) -> Condition {
        let (left, right) = (pair.left.as_deref()?, pair.right.as_deref()?);
        if let Some(column) = self.column(left, true) {
            let data_type = column.data_type(self.schema).ok()?;
            return Some(binary(column, operator, value_of(right, &data_type)?));
        }
        let column = self.column(right, true)?;
        let data_type = column.data_type(self.schema).ok()?;
        Some(binary(column, swapped, value_of(left, &data_type)?))
    }

    fn column(&self, expr: &Expr, compared: bool) -> Condition {
        let Some(ExprStruct::Bound(bound)) = &expr.expr_struct else {
            return None;
        };
        let index = *self.columns.get(usize::try_from(bound.index).ok()?)?;
        let field = self.schema.fields().get(index)?;
        (!compared || orders_alike(field.data_type()))
            .then(|| Arc::new(Column::new(field.name(), index)) as _)
    }
}

fn binary(
    left: Arc<dyn PhysicalExpr>,
    operator: Operator,
    right: Arc<dyn PhysicalExpr>,
) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, operator, right))
}

fn value_of(expr: &Expr, data_type: &DataType) -> Condition {
    let value: ScalarValue = literal_value(expr).ok()?;
    (value.data_type() == *data_type).then(|| Arc::new(Literal::new(value)) as _)
}

fn orders_alike(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Timestamp(_, _)
            | DataType::Utf8
            | DataType::Decimal128(_, _)
    )
}
