//! Functions that look into arrays.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::PrimitiveArray;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, ListArray, new_null_array,
};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Int32Type, UInt32Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::functions::{Built, FunctionCall};
use crate::order::{comparable, comparator};
use crate::row::{Function, SparkExpr};
use crate::vector::{Arg, Bytes};
use crate::{SparkErrorKind, types};

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let kernel = match call.name {
        "size" => {
            let fine = call.args.len() == 1 && matches!(call.kind(0), DataType::List(_) | DataType::Map(..));
            fine.then(|| Function::new("size", DataType::Int32, size))
        }
        "spark_array_contains" | "array_contains" => {
            searched(call).then(|| Function::new("array_contains", DataType::Boolean, contains).nullable())
        }
        "spark_array_position" => {
            searched(call).then(|| Function::new("array_position", DataType::Int64, position))
        }
        "array_max" => extreme("array_max", Ordering::Greater, call),
        "array_min" => extreme("array_min", Ordering::Less, call),
        "spark_arrays_overlap" => {
            let item =
                exact_item(call.kind(0)).filter(|item| exact_item(call.kind(1)).as_ref() == Some(item));
            let fine = call.args.len() == 2 && item.is_some();
            fine.then(|| Function::new("arrays_overlap", DataType::Boolean, overlap).nullable())
        }
        "array_to_string" => join(call),
        "list_extract" => extract(call),
        "at_least_n_non_nulls" => enough(call),
        _ => return None,
    };
    // Behind them are literals that the kernel holds itself.
    let used = match call.name {
        "list_extract" => 2,
        "at_least_n_non_nulls" => call.args.len().saturating_sub(1),
        _ => call.args.len(),
    };
    Some(kernel.map(|kernel| SparkExpr::create(kernel, call.args[..used.min(call.args.len())].to_vec())))
}

/// The type of an array's elements, if they are compared here.
pub(crate) fn comparable_item(kind: &DataType) -> Option<DataType> {
    item(kind).filter(comparable)
}

/// The same without floating point, whose zeros and NaNs are told apart or not depending on Spark's version.
pub(crate) fn exact_item(kind: &DataType) -> Option<DataType> {
    comparable_item(kind).filter(|item| !types::is_float(item))
}

/// The type of an array's elements.
pub(crate) fn item(kind: &DataType) -> Option<DataType> {
    match kind {
        DataType::List(item) => Some(item.data_type().clone()),
        _ => None,
    }
}

/// An array type whose elements may be NULL.
pub(crate) fn list_of(item: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", item, true)))
}

fn searched(call: &FunctionCall<'_>) -> bool {
    call.args.len() == 2 && comparable_item(call.kind(0)).as_ref() == Some(call.kind(1))
}

/// An argument that is an array.
pub(crate) struct Lists<'a> {
    arg: &'a Arg,
    lists: &'a ListArray,
}

impl<'a> Lists<'a> {
    pub(crate) fn new(arg: &'a Arg) -> Result<Self> {
        match arg.array().as_list_opt::<i32>() {
            Some(lists) => Ok(Self { arg, lists }),
            None => exec_err!("{} is no array", arg.array().data_type()),
        }
    }

    /// All elements; those of a row are at its [`Self::range`].
    pub(crate) fn values(&self) -> &'a ArrayRef {
        self.lists.values()
    }

    /// Where a row's elements are, `None` for NULL.
    pub(crate) fn range(&self, row: usize) -> Option<Range<usize>> {
        let at = self.arg.at(row);
        let offsets = self.lists.value_offsets();
        let end = |at: usize| usize::try_from(offsets[at]).unwrap_or(0);
        self.lists.is_valid(at).then(|| end(at)..end(at + 1))
    }
}

/// Spark's `Size` of an array or map, NULL for NULL: what else a NULL may count as, the plan says around it.
fn size(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let arg = Arg::new(&args[0])?;
    let offsets = match (arg.array().as_list_opt::<i32>(), arg.array().as_map_opt()) {
        (Some(lists), _) => lists.value_offsets(),
        (_, Some(maps)) => maps.value_offsets(),
        _ => return exec_err!("{} has no size", arg.array().data_type()),
    };
    let size = |row: usize| (!arg.is_null(row)).then(|| offsets[arg.at(row) + 1] - offsets[arg.at(row)]);
    Ok(Arc::new((0..rows).map(size).collect::<Int32Array>()))
}

/// `f(elements, whether an element equals the value)` of each row in which both are there.
fn search<T>(
    args: &[ColumnarValue],
    rows: usize,
    f: impl Fn(&ArrayRef, Range<usize>, &dyn Fn(usize) -> bool) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let args = Arg::all(args)?;
    let lists = Lists::new(&args[0])?;
    let compare = comparator(lists.values(), args[1].array())?;
    let row = |row: usize| {
        let range = lists.range(row).filter(|_| !args[1].is_null(row))?;
        let value = args[1].at(row);
        let equals = |at: usize| lists.values().is_valid(at) && compare(at, value) == Ordering::Equal;
        f(lists.values(), range, &equals)
    };
    Ok((0..rows).map(row).collect())
}

/// `ArrayContains`: NULL where the value is not found but could be a NULL element.
fn contains(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let found = search(args, rows, |values, mut range, equals| {
        let unknown = range.clone().any(|at| values.is_null(at));
        match range.any(equals) {
            true => Some(true),
            false => (!unknown).then_some(false),
        }
    })?;
    Ok(Arc::new(BooleanArray::from(found)))
}

/// `ArrayPosition`: counted from 1, 0 for none.
fn position(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let found = search(args, rows, |_, mut range, equals| {
        let at = range.position(equals);
        Some(at.map_or(0, |at| i64::try_from(at).unwrap_or(i64::MAX).saturating_add(1)))
    })?;
    Ok(Arc::new(Int64Array::from(found)))
}

/// `ArrayMax` and `ArrayMin`: NULL elements are left out, and of equal ones the first stays.
fn extreme(name: &'static str, wanted: Ordering, call: &FunctionCall<'_>) -> Option<Function> {
    let item = comparable_item(call.kind(0)).filter(|_| call.args.len() == 1)?;
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let lists = Lists::new(&arg)?;
        let values = lists.values();
        let compare = comparator(values, values)?;
        let best = |row: usize| {
            let valid = lists.range(row)?.filter(|at| values.is_valid(*at));
            let best = valid.reduce(|best, at| if compare(at, best) == wanted { at } else { best })?;
            u32::try_from(best).ok()
        };
        let picks: PrimitiveArray<UInt32Type> = (0..rows).map(best).collect();
        Ok(take(values, &picks, None)?)
    };
    Some(Function::new(name, item, body).nullable())
}

/// `ArraysOverlap`: without a common element it is NULL where a NULL could be one.
fn overlap(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let (left, right) = (Lists::new(&args[0])?, Lists::new(&args[1])?);
    let compare = comparator(left.values(), right.values())?;
    let row = |row: usize| {
        let (l, r) = (left.range(row)?, right.range(row)?);
        let valid = |values: &ArrayRef, range: &Range<usize>| -> Vec<usize> {
            range.clone().filter(|at| values.is_valid(*at)).collect()
        };
        let (ls, rs) = (valid(left.values(), &l), valid(right.values(), &r));
        if ls
            .iter()
            .any(|i| rs.iter().any(|j| compare(*i, *j) == Ordering::Equal))
        {
            return Some(true);
        }
        let unknown = !l.is_empty() && !r.is_empty() && (ls.len() < l.len() || rs.len() < r.len());
        (!unknown).then_some(false)
    };
    Ok(Arc::new((0..rows).map(row).collect::<BooleanArray>()))
}

/// `ArrayJoin` of strings; NULL elements are left out or replaced.
fn join(call: &FunctionCall<'_>) -> Option<Function> {
    let texts = (1..call.args.len()).all(|index| call.kind(index) == &DataType::Utf8);
    let fine = matches!(call.args.len(), 2 | 3) && item(call.kind(0)) == Some(DataType::Utf8) && texts;
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let lists = Lists::new(&args[0])?;
        let strings = lists.values().as_string::<i32>();
        let mut out = Bytes::new(rows);
        for row in 0..rows {
            let replacement = args.get(2).map(|arg| arg.text(row));
            let (Some(range), Some(delimiter)) = (lists.range(row), args[1].text(row)) else {
                out.end(false)?;
                continue;
            };
            if replacement == Some(None) {
                out.end(false)?;
                continue;
            }
            let mut first = true;
            for at in range {
                let element = strings.is_valid(at).then(|| strings.value(at));
                let Some(text) = element.or(replacement.flatten()) else {
                    continue;
                };
                out.room((delimiter.len() + text.len()) as u64)?;
                if !std::mem::take(&mut first) {
                    out.open().extend_from_slice(delimiter.as_bytes());
                }
                out.open().extend_from_slice(text.as_bytes());
            }
            out.end(true)?;
        }
        out.strings()
    };
    fine.then(|| Function::new("array_join", DataType::Utf8, body))
}

/// `GetArrayItem` and, counted from 1 or from the end, `ElementAt`: the arguments are array, index and whether it is the latter.
fn extract(call: &FunctionCall<'_>) -> Option<Function> {
    let item = item(call.kind(0)).filter(|_| call.kind(1) == &DataType::Int32)?;
    let one_based = call.flag(2)?;
    let default = match call.args.len() {
        3 => None,
        4 => Some(
            call.literal(3)?
                .to_array_of_size(1)
                .ok()
                .filter(|value| value.data_type() == &item)?,
        ),
        _ => return None,
    };
    let (fails, context) = (call.fail_on_error, call.context.clone());
    let detail = format!("{one_based} {fails} {default:?} {context:?}");
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let lists = Lists::new(&args[0])?;
        let none = default
            .clone()
            .unwrap_or_else(|| new_null_array(lists.values().data_type(), 1));
        let null = new_null_array(lists.values().data_type(), 1);
        let mut picks = Vec::with_capacity(rows);
        for row in 0..rows {
            let (Some(range), Some(index)) = (lists.range(row), args[1].number::<Int32Type>(row)) else {
                picks.push((2, 0));
                continue;
            };
            let size = i32::try_from(range.len()).unwrap_or(i32::MAX);
            let kind = if one_based {
                SparkErrorKind::InvalidElementAtIndex { index, size }
            } else {
                SparkErrorKind::InvalidArrayIndex { index, size }
            };
            let at = match (one_based, index) {
                // Spark gives it a place only where other indexes fail too.
                (true, 0) => {
                    let context = context.as_ref().filter(|_| fails);
                    return Err(SparkErrorKind::InvalidIndexOfZero.at(context).into());
                }
                (true, 1..) => i64::from(index) - 1,
                (true, _) => i64::from(size) + i64::from(index),
                (false, _) => i64::from(index),
            };
            match usize::try_from(at).ok().filter(|at| *at < range.len()) {
                Some(at) => picks.push((0, range.start + at)),
                None if fails => return Err(kind.at(context.as_ref()).into()),
                None => picks.push((1, 0)),
            }
        }
        Ok(interleave(
            &[lists.values().as_ref(), none.as_ref(), null.as_ref()],
            &picks,
        )?)
    };
    let kernel = Function::new("element_at", item, body).with(detail).nullable();
    Some(if fails || one_based {
        kernel.fails()
    } else {
        kernel
    })
}

/// `AtLeastNNonNulls`: a NaN counts as NULL. The last argument is the number.
fn enough(call: &FunctionCall<'_>) -> Option<Function> {
    let last = call.args.len().checked_sub(1).filter(|last| *last > 0)?;
    let Some(ScalarValue::Int32(Some(wanted))) = call.literal(last) else {
        return None;
    };
    let wanted = usize::try_from(*wanted).unwrap_or(0);
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let present = |arg: &Arg, row: usize| {
            let nan = arg.number::<Float64Type>(row).is_some_and(f64::is_nan)
                || arg.number::<Float32Type>(row).is_some_and(f32::is_nan);
            !nan && !arg.is_null(row)
        };
        let row = |row: usize| args.iter().filter(|arg| present(arg, row)).count() >= wanted;
        Ok(Arc::new(BooleanArray::from_iter((0..rows).map(|at| Some(row(at))))) as ArrayRef)
    };
    Some(Function::new("at_least_n_non_nulls", DataType::Boolean, body).with(wanted))
}
