//! Comet's expressions as physical expressions over a node's input.

mod aggregate;
mod build;
mod names;
mod nested;

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema};
use cne_proto::spark_expression::expr::ExprStruct;
use cne_proto::spark_expression::{Expr, NullOrdering, QueryContext as WireContext, SortDirection};
use cne_proto::v1::Rejection;
use cne_spark_functions::{QueryContext, compare};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{Column, lit};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};

pub use crate::partitioning::{ExchangePartitioning, plan_partitioning};

pub(crate) use aggregate::{Aggregate, Place, plan_aggregate, small_decimal_average};

use crate::error::{Fail, Issue};
use crate::types;

/// Levels of expressions inside each other. Evaluation recurses on a worker's stack, which this leaves half empty.
const MAX_DEPTH: usize = 400;

/// Everything found so far that is not executed.
#[derive(Debug)]
pub(crate) struct Findings {
    stage: u32,
    pub(crate) path: String,
    found: Vec<Rejection>,
}

impl Findings {
    pub(crate) fn new(stage: u32, path: String) -> Self {
        Self {
            stage,
            path,
            found: vec![],
        }
    }

    pub(crate) fn record(&mut self, issue: Issue) {
        let Issue { what, reason, hint } = issue;
        let rejection = Rejection {
            stage: self.stage,
            path: self.path.clone(),
            what,
            reason,
            hint,
        };
        // The same function or cast is often used many times in one node.
        if !self.found.contains(&rejection) {
            self.found.push(rejection);
        }
    }

    pub(crate) fn fail(&mut self, fail: Fail) {
        if let Fail::Issue(issue) = fail {
            self.record(issue);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn take(&mut self) -> Vec<Rejection> {
        std::mem::take(&mut self.found)
    }
}

/// A planned expression and its type.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) expr: Arc<dyn PhysicalExpr>,
    pub(crate) data_type: DataType,
}

impl Planned {
    /// The expression as a key of a group, join, sort or hash.
    pub(crate) fn canonical(self) -> Arc<dyn PhysicalExpr> {
        compare::canonical_float(self.expr, &self.data_type)
    }
}

/// Plans the expressions of one node.
pub(crate) struct ExprPlanner<'a> {
    schema: &'a Schema,
    sql_pool: &'a [String],
    partition: i32,
    findings: &'a mut Findings,
    /// With it, references are taken by their type only: each becomes a column of this schema.
    types_only: Option<Vec<Field>>,
    depth: usize,
}

impl<'a> ExprPlanner<'a> {
    pub(crate) fn new(
        schema: &'a Schema,
        sql_pool: &'a [String],
        partition: i32,
        findings: &'a mut Findings,
    ) -> Self {
        Self {
            schema,
            sql_pool,
            partition,
            findings,
            types_only: None,
            depth: 0,
        }
    }

    /// Plans an expression. What is refused inside it is recorded and, where its type is known, replaced by a NULL, so that the rest of
    /// the block is checked too.
    pub(crate) fn plan(&mut self, expr: &Expr) -> Result<Planned, Fail> {
        if self.depth >= MAX_DEPTH {
            let reason = format!("expressions are nested deeper than {MAX_DEPTH} levels");
            return Err(Issue::new("expression", reason)
                .hint("split the expression over several subqueries")
                .into());
        }
        self.depth += 1;
        let planned = stacker::maybe_grow(128 << 10, 2 << 20, || self.build(expr));
        self.depth -= 1;
        planned.or_else(|fail| {
            let data_type = declared_type(expr);
            self.findings.fail(fail);
            let placeholder = data_type
                .and_then(|data_type| Some((ScalarValue::try_new_null(&data_type).ok()?, data_type)));
            let (value, data_type) = placeholder.ok_or(Fail::Recorded)?;
            Ok(Planned {
                expr: lit(value),
                data_type,
            })
        })
    }

    pub(crate) fn plan_opt(&mut self, expr: Option<&Expr>) -> Result<Planned, Fail> {
        let missing = || Issue::new("expression", "the plan leaves out an operand");
        self.plan(expr.ok_or_else(missing)?)
    }

    /// Plans a condition.
    pub(crate) fn plan_predicate(&mut self, expr: Option<&Expr>) -> Result<Arc<dyn PhysicalExpr>, Fail> {
        let planned = self.plan_opt(expr)?;
        if planned.data_type != DataType::Boolean {
            return Err(Issue::new("condition", format!("its type is {}", planned.data_type)).into());
        }
        Ok(planned.expr)
    }

    /// Plans all, so that each one's findings are recorded.
    pub(crate) fn plan_all<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e Expr>,
    ) -> Result<Vec<Planned>, Fail> {
        let planned: Vec<_> = exprs.into_iter().map(|expr| self.plan(expr)).collect();
        let mut all = vec![];
        let mut failed = false;
        for planned in planned {
            match planned {
                Ok(planned) => all.push(planned),
                Err(fail) => {
                    self.findings.fail(fail);
                    failed = true;
                }
            }
        }
        if failed { Err(Fail::Recorded) } else { Ok(all) }
    }

    fn field(&self, planned: &Planned) -> Result<Field, Fail> {
        let nullable = match &self.types_only {
            Some(fields) => planned.expr.nullable(&Schema::new(fields.clone()))?,
            None => planned.expr.nullable(self.schema)?,
        };
        Ok(Field::new("arg", planned.data_type.clone(), nullable))
    }

    fn typed_column(&mut self, data_type: DataType) -> Option<Planned> {
        let fields = self.types_only.as_mut()?;
        let (index, name) = (fields.len(), format!("t{}", fields.len()));
        fields.push(Field::new(&name, data_type.clone(), true));
        Some(Planned {
            expr: Arc::new(Column::new(&name, index)),
            data_type,
        })
    }

    fn context(&self, wire: Option<&WireContext>) -> Option<Arc<QueryContext>> {
        let wire = wire?;
        let pooled = wire
            .sql_text_idx
            .and_then(|i| self.sql_pool.get(usize::try_from(i).ok()?));
        Some(Arc::new(QueryContext {
            sql_text: pooled.unwrap_or(&wire.sql_text).clone(),
            start_index: wire.start_index,
            stop_index: wire.stop_index,
            object_type: wire.object_type.clone(),
            object_name: wire.object_name.clone(),
            line: wire.line,
            start_position: wire.start_position,
        }))
    }
}

/// The type that a message gives to its own result.
fn declared_type(expr: &Expr) -> Option<DataType> {
    use ExprStruct as E;
    let spark = match expr.expr_struct.as_ref()? {
        E::Eq(_)
        | E::Neq(_)
        | E::Gt(_)
        | E::GtEq(_)
        | E::Lt(_)
        | E::LtEq(_)
        | E::EqNullSafe(_)
        | E::NeqNullSafe(_)
        | E::IsNull(_)
        | E::IsNotNull(_)
        | E::And(_)
        | E::Or(_)
        | E::Not(_)
        | E::In(_)
        | E::Like(_)
        | E::Rlike(_)
        | E::BloomFilterMightContain(_)
        | E::AtLeastNNonNulls(_) => return Some(DataType::Boolean),
        E::ToJson(_) | E::ToCsv(_) | E::ToPrettyString(_) | E::Uuid(_) | E::RandStr(_) => {
            return Some(DataType::Utf8);
        }
        E::Hour(_) | E::Minute(_) | E::Second(_) | E::SparkPartitionId(_) => return Some(DataType::Int32),
        E::UnixTimestamp(_) | E::MonotonicallyIncreasingId(_) => return Some(DataType::Int64),
        E::Rand(_) | E::Randn(_) => return Some(DataType::Float64),
        E::Literal(e) => e.datatype.as_ref(),
        E::Bound(e) => e.datatype.as_ref(),
        E::Unbound(e) => e.datatype.as_ref(),
        E::Cast(e) => e.datatype.as_ref(),
        E::CheckOverflow(e) => e.datatype.as_ref(),
        E::ScalarFunc(e) => e.return_type.as_ref(),
        E::Subquery(e) => e.datatype.as_ref(),
        E::JvmScalarUdf(e) => e.return_type.as_ref(),
        E::NativeScalarUdf(e) => e.return_type.as_ref(),
        E::NormalizeNanAndZero(e) => e.datatype.as_ref(),
        E::PreciseTimestampConversion(e) => e.datatype.as_ref(),
        E::Add(e)
        | E::Subtract(e)
        | E::Multiply(e)
        | E::Divide(e)
        | E::Remainder(e)
        | E::IntegralDivide(e) => e.return_type.as_ref(),
        _ => None,
    };
    types::to_arrow(spark?).ok()
}

/// Plans `sort_order` expressions; at least one.
pub(crate) fn order(planner: &mut ExprPlanner<'_>, orders: &[Expr]) -> Result<LexOrdering, Fail> {
    let mut sorted = vec![];
    let mut failed = false;
    for order in orders {
        match one_order(planner, order) {
            Ok(expr) => sorted.push(expr),
            Err(fail) => {
                planner.findings.fail(fail);
                failed = true;
            }
        }
    }
    if failed {
        return Err(Fail::Recorded);
    }
    LexOrdering::new(sorted).ok_or_else(|| Issue::new("sort", "it has no keys").into())
}

fn one_order(planner: &mut ExprPlanner<'_>, order: &Expr) -> Result<PhysicalSortExpr, Fail> {
    let Some(ExprStruct::SortOrder(order)) = &order.expr_struct else {
        return Err(Issue::new("sort", "a key is not a sort order").into());
    };
    let options = SortOptions {
        descending: order.direction() == SortDirection::Descending,
        nulls_first: order.null_ordering() == NullOrdering::NullsFirst,
    };
    let key = planner.plan_opt(order.child.as_deref())?;
    if key.data_type.is_nested() {
        return Err(Issue::new("sort", format!("keys of type {} are not sorted", key.data_type)).into());
    }
    Ok(PhysicalSortExpr::new(key.canonical(), options))
}
