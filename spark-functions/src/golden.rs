//! Answers of plain Spark 4.1 (testdata/golden.json, written by testdata/generate.py) against this crate.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow::compute::{cast as arrow_cast, concat};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Schema};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use serde_json::Value;

use crate::arithmetic::{ArithmeticOp, arithmetic, unary_minus};
use crate::cast::{CastOptions, cast};
use crate::compare::{CompareOp, comparison};
use crate::decimal::plain_string;
use crate::functions::{FunctionCall, build};
use crate::strings::like;
use crate::{EvalMode, Unsupported, find_spark_error, hash};

pub(crate) struct Case {
    group: String,
    pub(crate) args: Value,
    pub(crate) kind: DataType,
    pub(crate) expected: Value,
    pub(crate) mode: EvalMode,
}

impl Case {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.args[key].as_str()
    }
}

pub(crate) fn data_type(name: &str) -> DataType {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "string" => DataType::Utf8,
        "tinyint" => DataType::Int8,
        "smallint" => DataType::Int16,
        "int" => DataType::Int32,
        "bigint" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "boolean" => DataType::Boolean,
        "date" => DataType::Date32,
        "binary" => DataType::Binary,
        "timestamp" => DataType::Timestamp(arrow::datatypes::TimeUnit::Microsecond, Some("UTC".into())),
        other => {
            let (p, s) = other
                .strip_prefix("decimal(")
                .unwrap()
                .strip_suffix(')')
                .unwrap()
                .split_once(',')
                .unwrap();
            DataType::Decimal128(p.parse().unwrap(), s.parse().unwrap())
        }
    }
}

pub(crate) fn cases(group: &str) -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/golden.json");
    let rows: Vec<Vec<Value>> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut all = vec![];
    for row in rows.into_iter().filter(|row| row[0] == group) {
        let ansi_type = row[2].as_str().unwrap_or("int").to_owned();
        for (index, mode) in [(3, EvalMode::Ansi), (4, EvalMode::Legacy)] {
            let kind = match row.get(5).and_then(Value::as_str) {
                Some(kind) if mode == EvalMode::Legacy => kind,
                _ => &ansi_type,
            };
            let Ok(kind) = std::panic::catch_unwind(|| data_type(kind)) else {
                continue;
            };
            all.push(Case {
                group: group.into(),
                args: row[1].clone(),
                kind,
                expected: row[index].clone(),
                mode,
            });
        }
    }
    assert!(!all.is_empty());
    all
}

/// A column of one value.
pub(crate) fn column(kind: &DataType, text: Option<&str>) -> ArrayRef {
    let Some(text) = text else {
        return new_null_array(kind, 1);
    };
    if kind == &DataType::Date32 {
        let days = crate::cast::parse_date(text).unwrap();
        return Arc::new(arrow::array::Date32Array::from(vec![days]));
    }
    let strings: ArrayRef = Arc::new(StringArray::from(vec![text]));
    if matches!(kind, DataType::Decimal128(..)) {
        let options = arrow::compute::CastOptions {
            safe: false,
            ..Default::default()
        };
        return arrow::compute::cast_with_options(&strings, kind, &options).unwrap();
    }
    let out = arrow_cast(&strings, kind).unwrap();
    assert_eq!(out.null_count(), 0, "{text} as {kind}");
    out
}

pub(crate) fn show(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Float32 => format!("{:?}", f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => plain_string(
            &array.as_primitive::<Decimal128Type>().value(row).to_string(),
            i32::from(*scale),
        ),
        DataType::Date32 => crate::cast::date_text(array.as_primitive::<Date32Type>().value(row)),
        _ => arrow_cast(array, &DataType::Utf8)
            .unwrap()
            .as_string::<i32>()
            .value(row)
            .to_owned(),
    })
}

/// Compares an outcome with Spark's; the message names the difference.
pub(crate) fn check(case: &Case, outcome: Result<ArrayRef>) -> Option<String> {
    let label = || {
        format!(
            "{} {} {:?} -> {}: want {}",
            case.group, case.args, case.mode, case.kind, case.expected
        )
    };
    match (outcome, &case.expected) {
        (Ok(array), expected) if !expected.is_array() => {
            let (got, want) = (show(&array, 0), expected.as_str());
            let float = |text: &str| text.parse::<f64>().ok().filter(|_| case.kind.is_floating());
            let same = match (got.as_deref(), want) {
                (Some(got), Some(want)) => match (float(got), float(want)) {
                    (Some(got), Some(want)) => {
                        got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan())
                    }
                    // Python shows 39 digits of DECIMAL(38,38).
                    _ if matches!(case.kind, DataType::Decimal128(_, 1..)) => {
                        got.trim_end_matches('0') == want.trim_end_matches('0')
                    }
                    _ => got == want,
                },
                (got, want) => got.is_none() && want.is_none(),
            };
            (!same).then(|| format!("{}, got {got:?}", label()))
        }
        (Ok(array), _) => Some(format!("{}, got {:?}", label(), show(&array, 0))),
        (Err(error), expected) => {
            let got = find_spark_error(&error).map(|found| found.kind.error_class());
            let want = expected.get(0).and_then(Value::as_str);
            (got.is_none() || got != want).then(|| format!("{}, got {error}", label()))
        }
    }
}

fn evaluate(
    columns: Vec<ArrayRef>,
    expr: Result<Arc<dyn PhysicalExpr>, Unsupported>,
) -> Option<Result<ArrayRef>> {
    let expr = expr.ok()?;
    // A NULL row before and after: kernels must not look at the values of NULLs.
    let fields: Vec<Field> = columns
        .iter()
        .map(|c| Field::new("c", c.data_type().clone(), true))
        .collect();
    let pad = |column: &ArrayRef| {
        let null = new_null_array(column.data_type(), 1);
        concat(&[null.as_ref(), column.as_ref(), null.as_ref()]).unwrap()
    };
    let padded: Vec<ArrayRef> = columns.iter().map(pad).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(3));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), padded, &options).unwrap();
    let by_column = expr
        .evaluate(&batch)
        .and_then(|value| value.into_array(3))
        .map(|array| array.slice(1, 1));
    // The same with literals.
    let literal = |column: &ArrayRef| {
        Arc::new(Literal::new(ScalarValue::try_from_array(column, 0).unwrap())) as Arc<dyn PhysicalExpr>
    };
    let literals: Vec<_> = columns.iter().map(literal).collect();
    let with_literals = substitute(&expr, &literals);
    let by_literal = with_literals
        .evaluate(&batch)
        .and_then(|value| value.into_array(3));
    match (&by_column, &by_literal) {
        (Ok(left), Ok(right)) => assert_eq!(show(left, 0), show(right, 0), "{expr}"),
        (Err(left), Err(right)) => assert_eq!(left.to_string(), right.to_string()),
        (left, right) => panic!("{expr}: {left:?} by column, {right:?} by literal"),
    }
    Some(by_column)
}

fn substitute(expr: &Arc<dyn PhysicalExpr>, literals: &[Arc<dyn PhysicalExpr>]) -> Arc<dyn PhysicalExpr> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        return Arc::clone(&literals[column.index()]);
    }
    let children: Vec<_> = expr
        .children()
        .into_iter()
        .map(|child| substitute(child, literals))
        .collect();
    if children.is_empty() {
        Arc::clone(expr)
    } else {
        Arc::clone(expr).with_new_children(children).unwrap()
    }
}

fn col(index: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new("c", index))
}

fn lit(value: ScalarValue) -> Arc<dyn PhysicalExpr> {
    Arc::new(Literal::new(value))
}

/// Runs a group; `run` gives `None` for a case that is refused. At most `refused` cases may be.
fn run(group: &str, refused: usize, run: impl Fn(&Case) -> Option<Result<ArrayRef>>) {
    let (mut wrong, mut skipped) = (vec![], vec![]);
    for case in cases(group) {
        match run(&case) {
            Some(outcome) => wrong.extend(check(&case, outcome)),
            None => skipped.push(format!("{} -> {}", case.args, case.kind)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {group} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(skipped.len(), refused, "refused:\n{}", skipped.join("\n"));
}

#[test]
fn casts() {
    // Refused: floats to STRING, hexadecimal floats, decimals in digits of other scripts.
    run("cast", 102, |case| {
        let from = data_type(case.text("from").unwrap());
        let context = None;
        let options = CastOptions {
            mode: case.mode,
            timezone: "UTC".into(),
            context,
        };
        let text = case.text("in");
        let decimal = matches!(case.kind, DataType::Decimal128(..));
        if (text == Some("0x1p3") && case.kind.is_floating()) || (text == Some("１２") && decimal) {
            // A run-time refusal: the type alone does not tell.
            let outcome = evaluate(
                vec![column(&from, text)],
                cast(col(0), &from, &case.kind, &options),
            )?;
            assert!(find_spark_error(&outcome.unwrap_err()).is_none());
            return None;
        }
        evaluate(
            vec![column(&from, text)],
            cast(col(0), &from, &case.kind, &options),
        )
    });
}

fn operator(name: &str) -> ArithmeticOp {
    match name {
        "+" => ArithmeticOp::Add,
        "-" => ArithmeticOp::Subtract,
        "*" => ArithmeticOp::Multiply,
        "/" => ArithmeticOp::Divide,
        "%" => ArithmeticOp::Remainder,
        _ => ArithmeticOp::IntegralDivide,
    }
}

#[test]
fn binary_arithmetic() {
    // Refused: `div` of types that Spark itself casts to BIGINT first.
    run("binary", 268, |case| {
        let (left, right) = (
            data_type(case.text("left").unwrap()),
            data_type(case.text("right").unwrap()),
        );
        let op = operator(case.text("op").unwrap());
        let columns = vec![column(&left, case.text("a")), column(&right, case.text("b"))];
        evaluate(
            columns,
            arithmetic(op, col(0), col(1), &left, &right, &case.kind, case.mode, None),
        )
    });
}

fn call(
    name: &str,
    case: &Case,
    args: Vec<(Arc<dyn PhysicalExpr>, DataType)>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let (args, kinds): (Vec<_>, Vec<_>) = args.into_iter().unzip();
    let arg_fields: Vec<_> = kinds
        .into_iter()
        .map(|kind| Arc::new(Field::new("a", kind, true)))
        .collect();
    build(FunctionCall {
        name,
        args,
        arg_fields: &arg_fields,
        return_type: Some(case.kind.clone()),
        fail_on_error: case.mode.fails(),
        context: None,
    })
}

#[test]
fn unary_arithmetic() {
    // Refused: ceil and floor of INT, which Spark casts to BIGINT first.
    run("unary", 8, |case| {
        let kind = data_type(case.text("left").unwrap());
        let expr = match case.text("op").unwrap() {
            "-" => unary_minus(col(0), &kind, case.mode),
            name => call(name, case, vec![(col(0), kind.clone())]),
        };
        evaluate(vec![column(&kind, case.text("a"))], expr)
    });
}

#[test]
fn rounding() {
    run("round", 6, |case| {
        let kind = data_type(case.text("left").unwrap());
        let digits = ScalarValue::Int32(
            case.args["scale"]
                .as_i64()
                .map(|digits| i32::try_from(digits).unwrap()),
        );
        let args = vec![(col(0), kind.clone()), (lit(digits), DataType::Int32)];
        evaluate(vec![column(&kind, case.text("a"))], call("round", case, args))
    });
}

#[test]
fn murmur3() {
    run("hash", 0, |case| {
        let columns = match case.text("left").unwrap() {
            "MULTI" => [
                ("INT", Some("1")),
                ("STRING", Some("abc")),
                ("INT", None),
                ("DECIMAL(10,2)", Some("2.50")),
            ]
            .map(|(kind, text)| column(&data_type(kind), text))
            .to_vec(),
            kind => vec![column(&data_type(kind), case.text("a"))],
        };
        let mut hashes = [0];
        let outcome = hash::murmur3_hash(&columns, hash::PARTITION_SEED, &mut hashes);
        Some(outcome.map(|()| Arc::new(Int32Array::from(hashes.to_vec())) as ArrayRef))
    });
}

#[test]
fn substrings() {
    run("substring", 0, |case| {
        let int = |key: &str| ScalarValue::Int32(case.args[key].as_i64().map(|n| i32::try_from(n).unwrap()));
        let columns = vec![
            column(&DataType::Utf8, case.text("a")),
            int("pos").to_array().unwrap(),
            int("len").to_array().unwrap(),
        ];
        let args = vec![
            (col(0), DataType::Utf8),
            (col(1), DataType::Int32),
            (col(2), DataType::Int32),
        ];
        evaluate(columns, call("substring", case, args))
    });
}

#[test]
fn like_patterns() {
    run("like", 0, |case| {
        let pattern = ScalarValue::Utf8(case.text("b").map(String::from));
        evaluate(
            vec![column(&DataType::Utf8, case.text("a"))],
            like(col(0), lit(pattern)),
        )
    });
}

#[test]
fn string_functions() {
    // The cases are within what every version of Unicode in question maps alike.
    run("string", 0, |case| {
        let name = case.text("op").unwrap();
        evaluate(
            vec![column(&DataType::Utf8, case.text("a"))],
            call(name, case, vec![(col(0), DataType::Utf8)]),
        )
    });
}

#[test]
fn dates() {
    run("datepart", 0, |case| {
        let date = (col(0), DataType::Date32);
        let days = |n: i32| (lit(ScalarValue::Int32(Some(n))), DataType::Int32);
        let part = case.text("part").unwrap();
        let expr = match part {
            "last_day" => call("last_day", case, vec![date]),
            "add45" => call("date_add", case, vec![date, days(45)]),
            "addmax" => call("date_add", case, vec![date, days(i32::MAX)]),
            "diff" => {
                let other = (lit(ScalarValue::Date32(Some(18_294))), DataType::Date32);
                call("date_diff", case, vec![date, other])
            }
            "dow" if case.mode == EvalMode::Legacy => call("spark_dayofweek", case, vec![date]),
            part => {
                let name = if part == "dow_iso" { "isodow" } else { part };
                call(
                    "datepart",
                    case,
                    vec![(lit(ScalarValue::from(name)), DataType::Utf8), date],
                )
            }
        };
        let outcome = evaluate(vec![column(&DataType::Date32, case.text("a"))], expr)?;
        // Comet's serializer sends `dow + 1` for Spark's DayOfWeek.
        Some(outcome.map(|array| {
            if part != "dow" || case.mode == EvalMode::Legacy {
                return array;
            }
            let shifted = array
                .as_primitive::<arrow::datatypes::Int32Type>()
                .unary::<_, arrow::datatypes::Int32Type>(|n| n + 1);
            Arc::new(shifted) as ArrayRef
        }))
    });
}

#[test]
fn float_comparisons() {
    run("compare", 0, |case| {
        let op = match case.text("op").unwrap() {
            "=" => CompareOp::Eq,
            "<>" => CompareOp::NotEq,
            "<" => CompareOp::Lt,
            ">=" => CompareOp::GtEq,
            _ => CompareOp::EqNullSafe,
        };
        let columns = ["a", "b"]
            .map(|key| column(&DataType::Float64, case.text(key)))
            .to_vec();
        // By literal and by column `<=>` differs only on the NULL rows around.
        evaluate(columns, comparison(op, col(0), col(1), &DataType::Float64))
    });
}

#[test]
fn right_side_is_evaluated_only_where_left_does_not_decide() {
    let divide = arithmetic(
        ArithmeticOp::Remainder,
        lit(ScalarValue::Int32(Some(6))),
        col(0),
        &DataType::Int32,
        &DataType::Int32,
        &DataType::Int32,
        EvalMode::Ansi,
        None,
    )
    .unwrap();
    let compare = |op, left, right| comparison(op, left, right, &DataType::Int32).unwrap();
    let zero = || lit(ScalarValue::Int32(Some(0)));
    let right = compare(CompareOp::Eq, divide, zero());
    let column: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), Some(2), Some(4), None]));
    let batch = RecordBatch::try_from_iter_with_nullable([("c", column, true)]).unwrap();
    let both = crate::logic::and(compare(CompareOp::NotEq, col(0), zero()), Arc::clone(&right));
    let out = both.evaluate(&batch).unwrap().into_array(4).unwrap();
    assert_eq!(
        (0..4).map(|row| show(&out, row)).collect::<Vec<_>>(),
        [
            Some("false".to_owned()),
            Some("true".to_owned()),
            Some("false".to_owned()),
            None
        ]
    );
    let either = crate::logic::or(compare(CompareOp::Eq, col(0), zero()), Arc::clone(&right));
    let out = either.evaluate(&batch).unwrap().into_array(4).unwrap();
    assert_eq!(show(&out, 0), Some("true".to_owned()));
    let error: DataFusionError = right.evaluate(&batch).unwrap_err();
    assert_eq!(
        find_spark_error(&error).unwrap().kind.error_class(),
        "REMAINDER_BY_ZERO"
    );
}
