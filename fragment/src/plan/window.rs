use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use cne_proto::spark_expression::expr::ExprStruct;
use cne_proto::spark_expression::{AggExpr, Expr, ScalarFunc};
use cne_proto::spark_operator::lower_window_frame_bound::LowerFrameBoundStruct as Lower;
use cne_proto::spark_operator::upper_window_frame_bound::UpperFrameBoundStruct as Upper;
use cne_proto::spark_operator::{
    RankLikeFunction, Window, WindowExpr, WindowFrame, WindowFrameType, WindowGroupLimit,
};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

use super::aggregate::build_one;
use super::{Plan, Planner, column_name};
use crate::error::{Fail, Issue};
use crate::exec::{
    Bound, Frame, GroupLimitExec, NthValue, RankKind, Shift, Unit, WindowAggregate, WindowColumn, WindowExec,
    WindowFunction,
};
use crate::expr::{Planned, order, plan_aggregate};
use crate::types::{self, same_values};

type Keys = Vec<Arc<dyn PhysicalExpr>>;

impl<'a> Planner<'a> {
    /// The child's columns, then one for each function.
    pub(super) fn window(&mut self, id: usize, window: &Window, child: Plan) -> Result<Plan, Fail> {
        let (partition_by, order_by) =
            self.window_keys(&window.partition_by_list, &window.order_by_list, &child)?;
        let mut columns = vec![];
        for (i, expr) in window.window_expr.iter().enumerate() {
            let name = column_name(id, child.schema().fields().len() + i);
            match self.window_column(name, expr, order_by.is_empty(), &child) {
                Ok(column) => columns.push(column),
                Err(fail) => self.findings.fail(fail),
            }
        }
        if columns.len() != window.window_expr.len() {
            return Err(Fail::Recorded);
        }
        Ok(Arc::new(WindowExec::new(partition_by, order_by, columns, child)))
    }

    /// The first rows of each group, by rank.
    pub(super) fn group_limit(&mut self, limit: &WindowGroupLimit, child: Plan) -> Result<Plan, Fail> {
        let (partition_by, order_by) =
            self.window_keys(&limit.partition_by_list, &limit.order_by_list, &child)?;
        let most = u64::try_from(limit.limit)
            .map_err(|_| Issue::new("WindowGroupLimit", format!("its limit is {}", limit.limit)))?;
        let kind = match limit.rank_like_function() {
            RankLikeFunction::RowNumber => RankKind::RowNumber,
            RankLikeFunction::Rank => RankKind::Rank,
            RankLikeFunction::DenseRank => RankKind::DenseRank,
        };
        Ok(Arc::new(GroupLimitExec::new(
            partition_by,
            order_by,
            most,
            kind,
            child,
        )))
    }

    fn window_keys(
        &mut self,
        partition_by: &[Expr],
        order_by: &[Expr],
        child: &Plan,
    ) -> Result<(Keys, Keys), Fail> {
        let schema = child.schema();
        let groups = self.exprs(&schema).plan_all(partition_by)?;
        if let Some(key) = groups.iter().find(|key| key.data_type.is_nested()) {
            return Err(Issue::new(
                "PARTITION BY",
                format!("keys of type {} are not compared", key.data_type),
            )
            .into());
        }
        let groups = groups.into_iter().map(Planned::canonical).collect();
        let orders = match order_by.is_empty() {
            true => vec![],
            false => {
                let ordering = order(&mut self.exprs(&schema), order_by)?;
                ordering.iter().map(|key| Arc::clone(&key.expr)).collect()
            }
        };
        Ok((groups, orders))
    }

    fn window_column(
        &mut self,
        name: String,
        expr: &WindowExpr,
        unordered: bool,
        child: &Plan,
    ) -> Result<WindowColumn, Fail> {
        let spec = expr
            .spec
            .as_ref()
            .and_then(|spec| spec.frame_specification.as_ref());
        let frame = frame(spec.ok_or_else(|| Issue::new("window", "the plan leaves out a frame"))?)?;
        let (function, data_type, what) = match (&expr.built_in_window_function, &expr.agg_func) {
            (Some(call), None) => self.built_in(call, expr.ignore_nulls, frame, unordered, child)?,
            (None, Some(aggregate)) => self.window_aggregate(&name, aggregate, frame, child)?,
            _ => return Err(Issue::new("window", "the plan leaves out a function").into()),
        };
        let declared = types::declared(expr.result_type.as_ref())?;
        if !same_values(&declared, &data_type) {
            let reason = format!("its result is {data_type}, the plan says {declared}");
            return Err(Issue::new(format!("window function {what}"), reason).into());
        }
        Ok(WindowColumn {
            field: Arc::new(Field::new(name, data_type, true)),
            function,
        })
    }

    fn window_aggregate(
        &mut self,
        name: &str,
        aggregate: &AggExpr,
        frame: Frame,
        child: &Plan,
    ) -> Result<(WindowFunction, DataType, String), Fail> {
        let schema = child.schema();
        let planned = plan_aggregate(&mut self.exprs(&schema), aggregate, false)?;
        if planned.filter.is_some() {
            return Err(Issue::new("window", "FILTER is not executed in a window").into());
        }
        let function = build_one(name.to_string(), &planned)?;
        let data_type = function.field().data_type().clone();
        let what = function.fun().name().to_string();
        let aggregate = WindowAggregate {
            function,
            args: planned.args,
            frame,
        };
        Ok((WindowFunction::Aggregate(aggregate), data_type, what))
    }

    fn built_in(
        &mut self,
        call: &Expr,
        ignore_nulls: bool,
        frame: Frame,
        unordered: bool,
        child: &Plan,
    ) -> Result<(WindowFunction, DataType, String), Fail> {
        let Some(ExprStruct::ScalarFunc(ScalarFunc { func, args, .. })) = &call.expr_struct else {
            return Err(Issue::new("window", "a function of an unknown form").into());
        };
        let schema = child.schema();
        let args = self.exprs(&schema).plan_all(args)?;
        let refuse = |reason: &str| Fail::from(Issue::new(format!("window function {func}"), reason));
        let int = |function| Ok((function, DataType::Int32, func.clone()));
        let double = |function| Ok((function, DataType::Float64, func.clone()));
        // Without an order every row would be a peer of every other, and which is first would be chance.
        if unordered {
            return Err(refuse("it has no ORDER BY"));
        }
        match (func.as_str(), args.as_slice()) {
            ("row_number", []) => int(WindowFunction::RowNumber),
            ("rank", _) => int(WindowFunction::Rank),
            ("dense_rank", _) => int(WindowFunction::DenseRank),
            ("percent_rank", _) => double(WindowFunction::PercentRank),
            ("cume_dist", _) => double(WindowFunction::CumeDist),
            ("ntile", [buckets]) => match number(buckets) {
                Some(buckets @ 1..) => int(WindowFunction::Ntile(i32::try_from(buckets).unwrap_or(i32::MAX))),
                _ => Err(refuse("its number of buckets is not a positive literal")),
            },
            ("lag" | "lead", [value, offset, rest @ ..]) => {
                let offset = number(offset).ok_or_else(|| refuse("its offset is not a literal"))?;
                let offset = if func == "lag" {
                    offset.saturating_neg()
                } else {
                    offset
                };
                if ignore_nulls && offset == 0 {
                    return Err(refuse("IGNORE NULLS is not executed with offset 0"));
                }
                let default = match rest.first() {
                    None => ScalarValue::try_new_null(&value.data_type)?,
                    Some(default) => {
                        let literal = default.expr.downcast_ref::<Literal>().map(Literal::value);
                        let literal = literal.ok_or_else(|| refuse("its default is not a literal"))?;
                        if !literal.is_null() && !same_values(&literal.data_type(), &value.data_type) {
                            return Err(refuse("its default has another type than its value"));
                        }
                        literal.cast_to(&value.data_type)?
                    }
                };
                let shift = Shift {
                    value: Arc::clone(&value.expr),
                    offset,
                    default,
                    ignore_nulls,
                };
                Ok((
                    WindowFunction::Shift(shift),
                    value.data_type.clone(),
                    func.clone(),
                ))
            }
            ("nth_value", [value, at]) => {
                let at = number(at).and_then(|at| usize::try_from(at).ok());
                let nth = NthValue {
                    value: Arc::clone(&value.expr),
                    number: at
                        .filter(|at| *at > 0)
                        .ok_or_else(|| refuse("its number is not a positive literal"))?,
                    ignore_nulls,
                    frame,
                };
                Ok((
                    WindowFunction::NthValue(nth),
                    value.data_type.clone(),
                    func.clone(),
                ))
            }
            _ => Err(refuse("it is not executed with these arguments")),
        }
    }
}

fn number(planned: &Planned) -> Option<i64> {
    match planned.expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Int8(value) => value.map(i64::from),
        ScalarValue::Int16(value) => value.map(i64::from),
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => *value,
        _ => None,
    }
}

/// Offsets of rows are signed: before the current row when negative, on both sides.
fn frame(frame: &WindowFrame) -> Result<Frame, Issue> {
    let unit = match frame.frame_type() {
        WindowFrameType::Rows => Unit::Rows,
        WindowFrameType::Range => Unit::Range,
    };
    let missing = || Issue::new("window", "the plan leaves out an end of a frame");
    let lower = frame
        .lower_bound
        .as_ref()
        .and_then(|bound| bound.lower_frame_bound_struct.as_ref());
    let upper = frame
        .upper_bound
        .as_ref()
        .and_then(|bound| bound.upper_frame_bound_struct.as_ref());
    let offset = |offset: i64, has_value: bool| match unit {
        Unit::Rows if !has_value => Ok(Bound::Offset(offset)),
        _ => Err(Issue::new("window frame", "RANGE with an offset is not executed")
            .hint("use ROWS, or a join on the range")),
    };
    let lower = match lower.ok_or_else(missing)? {
        Lower::UnboundedPreceding(_) => Bound::Unbounded,
        Lower::CurrentRow(_) => Bound::CurrentRow,
        Lower::Preceding(bound) => offset(bound.offset, bound.range_offset.is_some())?,
    };
    let upper = match upper.ok_or_else(missing)? {
        Upper::UnboundedFollowing(_) => Bound::Unbounded,
        Upper::CurrentRow(_) => Bound::CurrentRow,
        Upper::Following(bound) => offset(bound.offset, bound.range_offset.is_some())?,
    };
    Ok(Frame { unit, lower, upper })
}
