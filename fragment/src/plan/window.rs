use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use cne_proto::spark_expression::expr::ExprStruct;
use cne_proto::spark_expression::{AggExpr, Expr, ScalarFunc};
use cne_proto::spark_operator::{RankLikeFunction, Window, WindowExpr, WindowGroupLimit};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};

use super::aggregate::build_one;
use super::frame::{Ordered, frame};
use super::{Plan, Planner, column_name};
use crate::error::{Fail, Issue};
use crate::exec::{
    Frame, GroupLimitExec, NthValue, RankKind, Shift, WindowAggregate, WindowColumn, WindowExec,
    WindowFunction,
};
use crate::expr::{Place, Planned, order, plan_aggregate, small_decimal_average};
use crate::types::{self, same_values};

type Keys = Vec<Arc<dyn PhysicalExpr>>;

fn exprs(order: &[PhysicalSortExpr]) -> Keys {
    order.iter().map(|key| Arc::clone(&key.expr)).collect()
}

impl<'a> Planner<'a> {
    /// The child's columns, then one for each function.
    pub(super) fn window(&mut self, id: usize, window: &Window, child: Plan) -> Result<Plan, Fail> {
        let (partition_by, order_by) =
            self.window_keys(&window.partition_by_list, &window.order_by_list, &child)?;
        let mut columns = vec![];
        for (i, expr) in window.window_expr.iter().enumerate() {
            let name = column_name(id, child.schema().fields().len() + i);
            match self.window_column(name, expr, &order_by, &child) {
                Ok(column) => columns.push(column),
                Err(fail) => self.findings.fail(fail),
            }
        }
        if columns.len() != window.window_expr.len() {
            return Err(Fail::Recorded);
        }
        Ok(Arc::new(WindowExec::new(
            partition_by,
            exprs(&order_by),
            columns,
            child,
        )))
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
            exprs(&order_by),
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
    ) -> Result<(Keys, Vec<PhysicalSortExpr>), Fail> {
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
            false => order(&mut self.exprs(&schema), order_by)?
                .iter()
                .cloned()
                .collect(),
        };
        Ok((groups, orders))
    }

    fn window_column(
        &mut self,
        name: String,
        expr: &WindowExpr,
        order_by: &[PhysicalSortExpr],
        child: &Plan,
    ) -> Result<WindowColumn, Fail> {
        let spec = expr
            .spec
            .as_ref()
            .and_then(|spec| spec.frame_specification.as_ref());
        let spec = spec.ok_or_else(|| Issue::new("window", "the plan leaves out a frame"))?;
        let ordered = Ordered {
            keys: order_by,
            schema: &child.schema(),
            ansi: self.environment.ansi,
        };
        let frame = frame(spec, &ordered)?;
        let (function, data_type, what) = match (&expr.built_in_window_function, &expr.agg_func) {
            (Some(call), None) => {
                self.built_in(call, expr.ignore_nulls, frame, order_by.is_empty(), child)?
            }
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
        let place = Place {
            merges: false,
            in_rows: false,
        };
        let mut planned = plan_aggregate(&mut self.exprs(&schema), aggregate, place)?;
        let finish = small_decimal_average(&mut planned, name)?;
        if planned.filter.is_some() {
            return Err(Issue::new("window", "FILTER is not executed in a window").into());
        }
        let function = build_one(name.to_string(), &planned)?;
        let data_type = match &finish {
            Some(finish) => finish.data_type.clone(),
            None => function.field().data_type().clone(),
        };
        let what = function.fun().name().to_string();
        let aggregate = WindowAggregate {
            function,
            args: planned.args,
            frame,
            finish: finish.map(|finish| finish.expr),
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
