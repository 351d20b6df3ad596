use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use cne_proto::spark_expression::expr::ExprStruct as E;
use cne_proto::spark_expression::{
    BinaryExpr as WireBinary, BinaryOutputStyle, CaseWhen, EvalMode as WireMode, Expr, In, MathExpr,
    ScalarFunc, ToPrettyString,
};
use cne_spark_functions::EvalMode;
use cne_spark_functions::arithmetic::{self, ArithmeticOp};
use cne_spark_functions::cast::{self, BinaryStyle, CastOptions};
use cne_spark_functions::compare::{self, CompareOp};
use cne_spark_functions::functions::{self, FunctionCall};
use cne_spark_functions::temporal::{self, TimePart};
use cne_spark_functions::{QueryContext, decimal, logic, regex, strings, truncate};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, Column, IsNotNullExpr, IsNullExpr, lit};

use super::names::refuse_expr;
use super::nested::literal;
use super::{ExprPlanner, Planned};
use crate::error::{Fail, Issue};
use crate::types::{self, same_values};

type Conditions = (Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>);

fn mode(wire: WireMode) -> EvalMode {
    match wire {
        WireMode::Legacy => EvalMode::Legacy,
        WireMode::Try => EvalMode::Try,
        WireMode::Ansi => EvalMode::Ansi,
    }
}

fn flag(fail_on_error: bool) -> EvalMode {
    if fail_on_error {
        EvalMode::Ansi
    } else {
        EvalMode::Legacy
    }
}

fn boolean(expr: Arc<dyn PhysicalExpr>) -> Result<Planned, Fail> {
    Ok(Planned {
        expr,
        data_type: DataType::Boolean,
    })
}

/// Spark's ToPrettyString: the value as text, and the text NULL for none.
fn pretty(child: Planned, e: &ToPrettyString) -> Result<Planned, Fail> {
    let binary = match e.binary_output_style() {
        BinaryOutputStyle::Utf8 => BinaryStyle::Utf8,
        BinaryOutputStyle::Basic => BinaryStyle::Basic,
        BinaryOutputStyle::Hex => BinaryStyle::Hex,
        BinaryOutputStyle::HexDiscrete => BinaryStyle::HexDiscrete,
        BinaryOutputStyle::Base64 => {
            return Err(Issue::new("to_pretty_string", "binary values are not shown in base 64").into());
        }
    };
    let is_null: Arc<dyn PhysicalExpr> = Arc::new(IsNullExpr::new(Arc::clone(&child.expr)));
    let text = cast::pretty(child.expr, &child.data_type, &e.timezone, binary)?;
    let string = |expr| Planned {
        expr,
        data_type: DataType::Utf8,
    };
    case(vec![(is_null, string(lit("NULL")))], Some(string(text)))
}

impl ExprPlanner<'_> {
    pub(super) fn build(&mut self, expr: &Expr) -> Result<Planned, Fail> {
        let context = self.context(expr.query_context.as_ref());
        match expr
            .expr_struct
            .as_ref()
            .ok_or_else(|| Issue::new("expression", "the plan leaves out its kind"))?
        {
            E::Literal(literal) => {
                let value = types::literal(literal)?;
                Ok(Planned {
                    data_type: value.data_type(),
                    expr: lit(value),
                })
            }
            E::Bound(bound) => self.bound(bound.index, types::declared(bound.datatype.as_ref())?),
            E::Unbound(unbound) => {
                let column = self.typed_column(types::declared(unbound.datatype.as_ref())?);
                column.ok_or_else(|| {
                    Issue::new(
                        "unbound reference",
                        format!("column {} is not bound", unbound.name),
                    )
                    .into()
                })
            }
            E::Add(e) => self.math(ArithmeticOp::Add, e, expr),
            E::Subtract(e) => self.math(ArithmeticOp::Subtract, e, expr),
            E::Multiply(e) => self.math(ArithmeticOp::Multiply, e, expr),
            E::Divide(e) => self.math(ArithmeticOp::Divide, e, expr),
            E::IntegralDivide(e) => self.math(ArithmeticOp::IntegralDivide, e, expr),
            E::Remainder(e) => self.math(ArithmeticOp::Remainder, e, expr),
            E::UnaryMinus(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let expr = arithmetic::unary_minus(child.expr, &child.data_type, flag(e.fail_on_error))?;
                Ok(Planned {
                    expr,
                    data_type: child.data_type,
                })
            }
            E::Cast(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let to = types::declared(e.datatype.as_ref())?;
                if same_values(&child.data_type, &to) {
                    return Ok(child);
                }
                let options = CastOptions {
                    mode: mode(e.eval_mode()),
                    timezone: e.timezone.clone(),
                    context,
                };
                let expr = cast::cast(child.expr, &child.data_type, &to, &options)?;
                Ok(Planned { expr, data_type: to })
            }
            E::CheckOverflow(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let to = types::declared(e.datatype.as_ref())?;
                let DataType::Decimal128(precision, scale) = to else {
                    return Err(Issue::new("check_overflow", format!("its type is {to}")).into());
                };
                let expr = decimal::check_overflow(
                    child.expr,
                    &child.data_type,
                    precision,
                    scale,
                    e.fail_on_error,
                    context,
                )?;
                Ok(Planned { expr, data_type: to })
            }
            E::Eq(e) => self.compare(CompareOp::Eq, e),
            E::Neq(e) => self.compare(CompareOp::NotEq, e),
            E::Gt(e) => self.compare(CompareOp::Gt, e),
            E::GtEq(e) => self.compare(CompareOp::GtEq, e),
            E::Lt(e) => self.compare(CompareOp::Lt, e),
            E::LtEq(e) => self.compare(CompareOp::LtEq, e),
            E::EqNullSafe(e) => self.compare(CompareOp::EqNullSafe, e),
            E::NeqNullSafe(e) => self.compare(CompareOp::NotEqNullSafe, e),
            E::IsNull(e) => boolean(Arc::new(IsNullExpr::new(self.plan_opt(e.child.as_deref())?.expr))),
            E::IsNotNull(e) => boolean(Arc::new(IsNotNullExpr::new(
                self.plan_opt(e.child.as_deref())?.expr,
            ))),
            E::And(e) => {
                let (left, right) = self.conditions(e)?;
                boolean(logic::and(left, right))
            }
            E::Or(e) => {
                let (left, right) = self.conditions(e)?;
                boolean(logic::or(left, right))
            }
            E::Not(e) => boolean(logic::not(self.plan_predicate(e.child.as_deref())?)),
            E::In(e) => self.in_list(e),
            E::Like(e) => {
                let (left, right) = self.operands(e)?;
                boolean(strings::like(left.expr, right.expr)?)
            }
            E::Rlike(e) => {
                let (left, right) = self.operands(e)?;
                boolean(regex::rlike(left.expr, &left.data_type, &right.expr)?)
            }
            E::CaseWhen(e) => self.case_when(e),
            E::If(e) => {
                let when = self.plan_predicate(e.if_expr.as_deref())?;
                let then = self.plan_opt(e.true_expr.as_deref())?;
                let other = self.plan_opt(e.false_expr.as_deref())?;
                case(vec![(when, then)], Some(other))
            }
            E::NormalizeNanAndZero(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let data_type = child.data_type.clone();
                Ok(Planned {
                    expr: child.canonical(),
                    data_type,
                })
            }
            E::ToPrettyString(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                pretty(child, e)
            }
            E::Hour(e) => self.time_part(TimePart::Hour, e.child.as_deref(), &e.timezone),
            E::Minute(e) => self.time_part(TimePart::Minute, e.child.as_deref(), &e.timezone),
            E::Second(e) => self.time_part(TimePart::Second, e.child.as_deref(), &e.timezone),
            E::UnixTimestamp(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let expr = temporal::unix_timestamp(child.expr, &child.data_type, &e.timezone)?;
                let data_type = DataType::Int64;
                Ok(Planned { expr, data_type })
            }
            E::TruncTimestamp(e) => {
                let format = self.plan_opt(e.format.as_deref())?;
                let value = self.plan_opt(e.child.as_deref())?;
                if !e.wrap_second_millisecond_overflow {
                    let why = "the plan asks for the overflow errors of a later Spark";
                    return Err(Issue::new("date_trunc", why).into());
                }
                let data_type = value.data_type;
                let expr = truncate::truncate(
                    value.expr,
                    &data_type,
                    format.expr,
                    &format.data_type,
                    &e.timezone,
                )?;
                Ok(Planned { expr, data_type })
            }
            E::PreciseTimestampConversion(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                let data_type = types::declared(e.datatype.as_ref())?;
                let expr = temporal::precise_conversion(child.expr, &child.data_type, &data_type)?;
                Ok(Planned { expr, data_type })
            }
            E::BitwiseAnd(e) => self.bitwise(Operator::BitwiseAnd, e),
            E::BitwiseOr(e) => self.bitwise(Operator::BitwiseOr, e),
            E::BitwiseXor(e) => self.bitwise(Operator::BitwiseXor, e),
            E::BitwiseShiftLeft(e) => self.bitwise(Operator::BitwiseShiftLeft, e),
            E::BitwiseShiftRight(e) => self.bitwise(Operator::BitwiseShiftRight, e),
            E::ScalarFunc(e) => self.function(e, expr),
            E::ListExtract(e) => self.list_extract(e, context),
            E::GetStructField(e) => {
                let child = self.plan_opt(e.child.as_deref())?;
                self.call(
                    "get_struct_field",
                    vec![child, literal(e.ordinal)],
                    false,
                    context,
                )
            }
            E::CreateNamedStruct(e) => self.named_struct(e, context),
            E::AtLeastNNonNulls(e) => {
                let mut args = self.plan_all(&e.children)?;
                args.push(literal(e.n));
                self.call("at_least_n_non_nulls", args, false, context)
            }
            E::SparkPartitionId(_) => Ok(Planned {
                expr: lit(ScalarValue::Int32(Some(self.partition))),
                data_type: DataType::Int32,
            }),
            other => {
                let issue = refuse_expr(other);
                // What is inside is checked too where it is cheap to reach.
                if let E::SortOrder(order) = other {
                    self.plan_opt(order.child.as_deref())?;
                }
                Err(issue.into())
            }
        }
    }

    fn bound(&mut self, index: i32, declared: DataType) -> Result<Planned, Fail> {
        if let Some(column) = self.typed_column(declared.clone()) {
            return Ok(column);
        }
        let fields = self.schema.fields();
        let found = usize::try_from(index)
            .ok()
            .and_then(|i| Some((i, fields.get(i)?)));
        let (index, field) = found.ok_or_else(|| {
            Issue::new(
                "bound reference",
                format!("column {index} of {} columns", fields.len()),
            )
        })?;
        if !same_values(field.data_type(), &declared) {
            let reason = format!(
                "column {index} is {}, the plan says {declared}",
                field.data_type()
            );
            return Err(Issue::new("bound reference", reason).into());
        }
        let expr = Arc::new(Column::new(field.name(), index));
        Ok(Planned {
            expr,
            data_type: field.data_type().clone(),
        })
    }

    fn math(&mut self, op: ArithmeticOp, math: &MathExpr, expr: &Expr) -> Result<Planned, Fail> {
        let context = self.context(expr.query_context.as_ref());
        let (left, right) = both(
            self.plan_opt(math.left.as_deref()),
            self.plan_opt(math.right.as_deref()),
            self,
        )?;
        let declared = types::declared(math.return_type.as_ref())?;
        let mode = mode(math.eval_mode());
        let (left_type, right_type) = (left.data_type, right.data_type);
        let expr = arithmetic::arithmetic(
            op,
            left.expr,
            right.expr,
            &left_type,
            &right_type,
            &declared,
            mode,
            context,
        )?;
        // IntegralDivide of decimals is a decimal that a cast above turns into BIGINT.
        let data_type = self.type_of(&expr)?;
        Ok(Planned { expr, data_type })
    }

    fn type_of(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<DataType, Fail> {
        Ok(match &self.types_only {
            Some(fields) => expr.data_type(&arrow::datatypes::Schema::new(fields.clone()))?,
            None => expr.data_type(self.schema)?,
        })
    }

    fn operands(&mut self, binary: &WireBinary) -> Result<(Planned, Planned), Fail> {
        both(
            self.plan_opt(binary.left.as_deref()),
            self.plan_opt(binary.right.as_deref()),
            self,
        )
    }

    fn conditions(&mut self, binary: &WireBinary) -> Result<Conditions, Fail> {
        let left = self.plan_predicate(binary.left.as_deref());
        let right = self.plan_predicate(binary.right.as_deref());
        both(left, right, self)
    }

    fn compare(&mut self, op: CompareOp, binary: &WireBinary) -> Result<Planned, Fail> {
        let (left, right) = self.operands(binary)?;
        if !same_values(&left.data_type, &right.data_type) || left.data_type.is_nested() {
            let what = format!("comparison of {} and {}", left.data_type, right.data_type);
            return Err(Issue::new(what, "only equal types without parts are compared").into());
        }
        boolean(compare::comparison(op, left.expr, right.expr, &left.data_type)?)
    }

    fn time_part(&mut self, part: TimePart, child: Option<&Expr>, timezone: &str) -> Result<Planned, Fail> {
        let child = self.plan_opt(child)?;
        let expr = temporal::time_part(part, child.expr, &child.data_type, timezone)?;
        let data_type = DataType::Int32;
        Ok(Planned { expr, data_type })
    }

    fn bitwise(&mut self, op: Operator, binary: &WireBinary) -> Result<Planned, Fail> {
        let (left, right) = self.operands(binary)?;
        if left.data_type != right.data_type || !left.data_type.is_integer() {
            let what = format!("{op} of {} and {}", left.data_type, right.data_type);
            return Err(Issue::new(what, "only integers of one type are combined").into());
        }
        let data_type = left.data_type;
        Ok(Planned {
            expr: Arc::new(BinaryExpr::new(left.expr, op, right.expr)),
            data_type,
        })
    }

    fn in_list(&mut self, list: &In) -> Result<Planned, Fail> {
        let value = self.plan_opt(list.in_value.as_deref())?;
        let items = self.plan_all(&list.lists)?;
        if value.data_type.is_nested() || items.iter().any(|item| item.data_type != value.data_type) {
            return Err(Issue::new("IN", "only equal types without parts are compared").into());
        }
        let items = items.into_iter().map(|item| item.expr).collect();
        let schema = match &self.types_only {
            Some(fields) => &arrow::datatypes::Schema::new(fields.clone()),
            None => self.schema,
        };
        boolean(compare::in_list(
            value.expr,
            items,
            list.negated,
            &value.data_type,
            schema,
        )?)
    }

    fn case_when(&mut self, case_when: &CaseWhen) -> Result<Planned, Fail> {
        if case_when.when.len() != case_when.then.len() || case_when.when.is_empty() {
            return Err(Issue::new("CASE", "conditions and results differ in number").into());
        }
        let base = case_when
            .expr
            .as_deref()
            .map(|expr| self.plan(expr))
            .transpose()?;
        let mut branches = vec![];
        let thens = self.plan_all(&case_when.then)?;
        for (when, then) in case_when.when.iter().zip(thens) {
            let when = match &base {
                None => self.plan_predicate(Some(when))?,
                Some(base) => {
                    let when = self.plan(when)?;
                    compare::comparison(CompareOp::Eq, Arc::clone(&base.expr), when.expr, &base.data_type)?
                }
            };
            branches.push((when, then));
        }
        let other = case_when
            .else_expr
            .as_deref()
            .map(|expr| self.plan(expr))
            .transpose()?;
        case(branches, other)
    }

    fn function(&mut self, function: &ScalarFunc, expr: &Expr) -> Result<Planned, Fail> {
        let args = self.plan_all(&function.args)?;
        let return_type = function.return_type.as_ref().map(types::to_arrow).transpose()?;
        let context = self.context(expr.query_context.as_ref());
        let flag = function.fail_on_error;
        let planned = self.call_of(&function.func, args, return_type.clone(), flag, context)?;
        match return_type {
            Some(declared) if !same_values(&declared, &planned.data_type) => {
                let reason = format!("its result is {}, the plan says {declared}", planned.data_type);
                Err(Issue::new(format!("function {}", function.func), reason).into())
            }
            _ => Ok(planned),
        }
    }

    /// The call of a function by name.
    pub(super) fn call(
        &mut self,
        name: &str,
        args: Vec<Planned>,
        fail_on_error: bool,
        context: Option<Arc<QueryContext>>,
    ) -> Result<Planned, Fail> {
        self.call_of(name, args, None, fail_on_error, context)
    }

    fn call_of(
        &mut self,
        name: &str,
        args: Vec<Planned>,
        return_type: Option<DataType>,
        fail_on_error: bool,
        context: Option<Arc<QueryContext>>,
    ) -> Result<Planned, Fail> {
        let fields = args
            .iter()
            .map(|arg| Ok(FieldRef::new(self.field(arg)?)))
            .collect::<Result<Vec<_>, Fail>>()?;
        let expr = functions::build(FunctionCall {
            name,
            args: args.into_iter().map(|arg| arg.expr).collect(),
            arg_fields: &fields,
            return_type,
            fail_on_error,
            context,
        })?;
        let data_type = self.type_of(&expr)?;
        Ok(Planned { expr, data_type })
    }
}

/// Both results, or the findings of both.
fn both<T>(
    left: Result<T, Fail>,
    right: Result<T, Fail>,
    planner: &mut ExprPlanner<'_>,
) -> Result<(T, T), Fail> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (left, right) => {
            for fail in [left.err(), right.err()].into_iter().flatten() {
                planner.findings.fail(fail);
            }
            Err(Fail::Recorded)
        }
    }
}

/// CASE evaluates each branch only on the rows that reach it. A branch that is a bare NULL takes the type of the others.
fn case(branches: Vec<(Arc<dyn PhysicalExpr>, Planned)>, other: Option<Planned>) -> Result<Planned, Fail> {
    let results = branches
        .iter()
        .map(|(_, then)| then)
        .chain(&other)
        .map(|result| &result.data_type);
    let data_type = results
        .clone()
        .find(|t| **t != DataType::Null)
        .cloned()
        .unwrap_or(DataType::Null);
    if let Some(odd) = results
        .clone()
        .find(|t| **t != DataType::Null && !same_values(t, &data_type))
    {
        return Err(Issue::new("CASE", format!("its results have types {data_type} and {odd}")).into());
    }
    let null = ScalarValue::try_new_null(&data_type)?;
    let typed = |result: Planned| {
        if result.data_type == DataType::Null {
            lit(null.clone())
        } else {
            result.expr
        }
    };
    let branches = branches
        .into_iter()
        .map(|(when, then)| (when, typed(then)))
        .collect();
    let expr = CaseExpr::try_new(None, branches, other.map(typed))?;
    Ok(Planned {
        expr: Arc::new(expr),
        data_type,
    })
}
