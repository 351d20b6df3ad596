use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use cne_proto::spark_expression::Literal;
use cne_proto::spark_operator::lower_window_frame_bound::LowerFrameBoundStruct as Lower;
use cne_proto::spark_operator::upper_window_frame_bound::UpperFrameBoundStruct as Upper;
use cne_proto::spark_operator::{WindowFrame, WindowFrameType};
use cne_spark_functions::arithmetic::{ArithmeticOp, arithmetic};
use cne_spark_functions::{EvalMode, compare};
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::lit;

use crate::error::{Fail, Issue};
use crate::exec::{Bound, Frame, Unit, ValueBound};
use crate::types;

/// What frames are counted in.
pub(super) struct Ordered<'a> {
    /// The ORDER BY.
    pub(super) keys: &'a [PhysicalSortExpr],
    pub(super) schema: &'a Schema,
    /// Whether the session's arithmetic fails on overflow.
    pub(super) ansi: bool,
}

/// Offsets of rows are signed: before the current row when negative, on both sides. Those of values are distances.
pub(super) fn frame(frame: &WindowFrame, ordered: &Ordered<'_>) -> Result<Frame, Fail> {
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
    let offset = |offset: i64, value: Option<&Literal>, before: bool| match (unit, value) {
        (Unit::Rows, None) => Ok(Bound::Offset(offset)),
        (Unit::Range, Some(distance)) => ordered.away(distance, before),
        _ => Err(Issue::new("window frame", "its unit and its offset do not fit").into()),
    };
    let lower = match lower.ok_or_else(missing)? {
        Lower::UnboundedPreceding(_) => Bound::Unbounded,
        Lower::CurrentRow(_) => Bound::CurrentRow,
        Lower::Preceding(bound) => offset(bound.offset, bound.range_offset.as_ref(), true)?,
    };
    let upper = match upper.ok_or_else(missing)? {
        Upper::UnboundedFollowing(_) => Bound::Unbounded,
        Upper::CurrentRow(_) => Bound::CurrentRow,
        Upper::Following(bound) => offset(bound.offset, bound.range_offset.as_ref(), false)?,
    };
    Ok(Frame { unit, lower, upper })
}

impl Ordered<'_> {
    /// The rows whose key is `distance` before or after the current one in the order.
    fn away(&self, distance: &Literal, before: bool) -> Result<Bound, Fail> {
        let refuse = |reason: String| Fail::from(Issue::new("window frame of RANGE with an offset", reason));
        let [key] = self.keys else {
            return Err(refuse(format!("it has {} ORDER BY keys", self.keys.len())));
        };
        let distance = types::literal(distance)?;
        let key_type = key.expr.data_type(self.schema)?;
        let offset_type = distance.data_type();
        let numbers = key_type == offset_type && (key_type.is_integer() || key_type.is_floating());
        let days = (key_type == DataType::Date32) && (offset_type == DataType::Int32);
        if distance.is_null() || !(numbers || days) {
            return Err(refuse(format!("{offset_type} is not added to {key_type}")));
        }
        let offset = match before != key.options.descending {
            true => distance.arithmetic_negate()?,
            false => distance,
        };
        let sum = |mode| {
            let (left, right) = (Arc::clone(&key.expr), lit(offset.clone()));
            let sum = arithmetic(
                ArithmeticOp::Add,
                left,
                right,
                &key_type,
                &offset_type,
                &key_type,
                mode,
                None,
            )?;
            Ok::<_, Fail>(compare::canonical_float(sum, &key_type))
        };
        let fails = self.ansi && key_type.is_integer();
        Ok(Bound::Value(Arc::new(ValueBound {
            key: Arc::clone(&key.expr),
            options: key.options,
            sum: sum(EvalMode::Legacy)?,
            checked: fails.then(|| sum(EvalMode::Ansi)).transpose()?,
        })))
    }
}
