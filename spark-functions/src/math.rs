//! Mathematical functions of doubles, and the largest and smallest of several values.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use datafusion::common::Result;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;

use crate::functions::{Built, FunctionCall};
use crate::order::{comparable, comparator};
use crate::row::{Function, SparkExpr};
use crate::vector::Arg;
use crate::{fdlibm, vector};

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    if let Some((name, f)) = unary(call.name) {
        return Some(doubles(call, 1).then(|| of_one(name, f, call)));
    }
    if let Some((name, f)) = binary(call.name) {
        return Some(doubles(call, 2).then(|| of_two(name, f, call)));
    }
    Some(match call.name {
        "factorial" => (call.kinds(&[DataType::Int32])).then(|| {
            let body = |args: &[ColumnarValue], _| {
                let out = vector::unary::<Int32Type, Int64Type>(&args[0], &DataType::Int64, |n| {
                    Ok((0..=20).contains(&n).then(|| (1..=i64::from(n)).product()))
                })?;
                out.into_array(1)
            };
            let kernel = Function::new("factorial", DataType::Int64, body).nullable();
            SparkExpr::create(kernel, call.args.clone())
        }),
        "greatest" => extreme("greatest", Ordering::Greater, call),
        "least" => extreme("least", Ordering::Less, call),
        _ => return None,
    })
}

fn doubles(call: &FunctionCall<'_>, count: usize) -> bool {
    call.args.len() == count && (0..count).all(|index| call.kind(index) == &DataType::Float64)
}

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> Option<f64>;

fn unary(name: &str) -> Option<(&'static str, Unary)> {
    Some(match name {
        "acos" => ("acos", fdlibm::acos),
        "asin" => ("asin", fdlibm::asin),
        "atan" => ("atan", fdlibm::atan),
        "cbrt" => ("cbrt", fdlibm::cbrt),
        "exp" => ("exp", fdlibm::exp),
        "expm1" => ("expm1", fdlibm::expm1),
        // The plan makes its argument NULL where it is not positive, as that of `log2` and `log10`.
        "ln" => ("ln", fdlibm::log),
        "log10" => ("log10", fdlibm::log10),
        "log2" => ("log2", |x| fdlibm::log(x) / fdlibm::log(2.0)),
        "sinh" => ("sinh", fdlibm::sinh),
        "cosh" => ("cosh", fdlibm::cosh),
        "tanh" => ("tanh", fdlibm::tanh),
        // Spark's own formulas; the square of a number from the root of the largest one on is infinite.
        "acosh" => ("acosh", |x| match x {
            x if x >= f64::MAX.sqrt() => fdlibm::log(x) + fdlibm::log(2.0),
            x if x < 1.0 => f64::NAN,
            x => fdlibm::log(x + (x * x - 1.0).sqrt()),
        }),
        "asinh" => ("asinh", |x| match x.abs() {
            a if a >= f64::MAX.sqrt() - 1.0 => x.signum() * (fdlibm::log(a) + fdlibm::log(2.0)),
            _ => fdlibm::log(x + (x * x + 1.0).sqrt()),
        }),
        "atanh" => ("atanh", |x| 0.5 * (fdlibm::log1p(x) - fdlibm::log1p(-x))),
        "sqrt" | "spark_sqrt" => ("sqrt", f64::sqrt),
        "rint" => ("rint", f64::round_ties_even),
        "degrees" => ("degrees", f64::to_degrees),
        "radians" => ("radians", f64::to_radians),
        _ => return None,
    })
}

fn binary(name: &str) -> Option<(&'static str, Binary)> {
    Some(match name {
        "atan2" => ("atan2", |y, x| Some(fdlibm::atan2(y, x))),
        "pow" => ("pow", |x, y| Some(fdlibm::pow(x, y))),
        "spark_log" => ("log", |base, x| {
            (!(base <= 0.0 || x <= 0.0)).then(|| fdlibm::log(x) / fdlibm::log(base))
        }),
        _ => return None,
    })
}

fn of_one(name: &'static str, f: fn(f64) -> f64, call: &FunctionCall<'_>) -> Arc<dyn PhysicalExpr> {
    let body = move |args: &[ColumnarValue], _| {
        let out =
            vector::unary::<Float64Type, Float64Type>(&args[0], &DataType::Float64, |x| Ok(Some(f(x))))?;
        out.into_array(1)
    };
    SparkExpr::create(Function::new(name, DataType::Float64, body), call.args.clone())
}

fn of_two(
    name: &'static str,
    f: fn(f64, f64) -> Option<f64>,
    call: &FunctionCall<'_>,
) -> Arc<dyn PhysicalExpr> {
    let body = move |args: &[ColumnarValue], rows| {
        let double = &DataType::Float64;
        let out = vector::binary::<Float64Type, Float64Type, Float64Type>(
            &args[0],
            &args[1],
            rows,
            double,
            |x, y| Ok(f(x, y)),
        )?;
        out.into_array(rows)
    };
    let kernel = Function::new(name, DataType::Float64, body);
    let kernel = if name == "log" { kernel.nullable() } else { kernel };
    SparkExpr::create(kernel, call.args.clone())
}

/// `Greatest` and `Least`: NULLs are left out, and of equal values the first one stays.
fn extreme(name: &'static str, wanted: Ordering, call: &FunctionCall<'_>) -> Built {
    let kind = call.kind(0).clone();
    let alike = (1..call.args.len()).all(|index| call.kind(index) == &kind);
    if call.args.len() < 2 || !alike || !comparable(&kind) {
        return None;
    }
    let body = move |args: &[ColumnarValue], rows: usize| choose(args, rows, wanted);
    Some(SparkExpr::create(
        Function::new(name, kind, body).nullable(),
        call.args.clone(),
    ))
}

fn choose(args: &[ColumnarValue], rows: usize, wanted: Ordering) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let mut comparators = vec![];
    for (j, right) in args.iter().enumerate() {
        let left = args[..j].iter();
        let row = left.map(|left| comparator(right.array(), left.array()));
        comparators.push(row.collect::<Result<Vec<_>>>()?);
    }
    let none = new_null_array(args[0].array().data_type(), 1);
    let mut sources: Vec<&dyn Array> = args.iter().map(|arg| arg.array().as_ref()).collect();
    sources.push(none.as_ref());
    let mut picks = Vec::with_capacity(rows);
    for row in 0..rows {
        let mut best: Option<usize> = None;
        for (j, arg) in args.iter().enumerate() {
            if arg.is_null(row) {
                continue;
            }
            let better =
                best.is_none_or(|best| comparators[j][best](arg.at(row), args[best].at(row)) == wanted);
            if better {
                best = Some(j);
            }
        }
        picks.push(best.map_or((args.len(), 0), |best| (best, args[best].at(row))));
    }
    Ok(interleave(&sources, &picks)?)
}
