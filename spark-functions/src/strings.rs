//! String predicates and functions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int32Array, StringArray, StringBuilder};
use arrow::compute::kernels::comparison::{contains, ends_with, starts_with};
use arrow::datatypes::{DataType, Int32Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{LikeExpr, Literal};

use crate::row::{Kernel, SparkExpr};
use crate::{SparkErrorKind, Unsupported, vector};

/// Spark's `LIKE` with the escape character `\`. The pattern must be a literal: an invalid one is an error wherever a row uses it.
pub fn like(
    value: Arc<dyn PhysicalExpr>,
    pattern: Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let Some(literal) = pattern.downcast_ref::<Literal>() else {
        return Err(Unsupported::new("LIKE", "the pattern is not a literal"));
    };
    match literal.value() {
        ScalarValue::Utf8(Some(text)) => match check_pattern(text) {
            // A valid pattern has the same meaning for Arrow, which also escapes by `\`.
            Ok(()) => Ok(Arc::new(LikeExpr::new(false, false, value, pattern))),
            Err(kind) => Ok(SparkExpr::create(InvalidPattern { kind }, vec![value])),
        },
        ScalarValue::Utf8(None) | ScalarValue::Null => Ok(Arc::new(Literal::new(ScalarValue::Boolean(None)))),
        other => Err(Unsupported::new(
            "LIKE",
            format!("the pattern has type {}", other.data_type()),
        )),
    }
}

/// `StringUtils.escapeLikeRegex`: `\` may only precede `_`, `%` and itself.
fn check_pattern(pattern: &str) -> Result<(), SparkErrorKind> {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            match characters.next() {
                Some('_' | '%' | '\\') => {}
                next => {
                    let character = next.map(String::from);
                    return Err(SparkErrorKind::InvalidLikePattern {
                        pattern: pattern.into(),
                        character,
                    });
                }
            }
        }
    }
    Ok(())
}

/// A LIKE whose pattern Spark refuses at the first row that is not NULL.
#[derive(Debug)]
struct InvalidPattern {
    kind: SparkErrorKind,
}

impl Kernel for InvalidPattern {
    fn name(&self) -> &str {
        "like_invalid_pattern"
    }

    fn return_type(&self) -> &DataType {
        &DataType::Boolean
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        true
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let values = vector::array(&args[0], rows)?;
        if values.null_count() < values.len() {
            return Err(self.kind.clone().into());
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::new_null(rows))))
    }
}

/// The functions of this module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringOp {
    StartsWith,
    EndsWith,
    Contains,
    Substring,
    Length,
    Concat,
    Trim,
    LeftTrim,
    RightTrim,
    Upper,
    Lower,
}

#[derive(Debug)]
pub(crate) struct StringFunction {
    pub(crate) op: StringOp,
    pub(crate) return_type: DataType,
}

impl Kernel for StringFunction {
    fn name(&self) -> &str {
        match self.op {
            StringOp::StartsWith => "starts_with",
            StringOp::EndsWith => "ends_with",
            StringOp::Contains => "contains",
            StringOp::Substring => "substring",
            StringOp::Length => "length",
            StringOp::Concat => "concat",
            StringOp::Trim => "trim",
            StringOp::LeftTrim => "ltrim",
            StringOp::RightTrim => "rtrim",
            StringOp::Upper => "upper",
            StringOp::Lower => "lower",
        }
    }

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn makes_nulls(&self) -> bool {
        false
    }

    fn fallible(&self) -> bool {
        false
    }

    fn invoke(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let out: ArrayRef = match self.op {
            StringOp::StartsWith | StringOp::EndsWith | StringOp::Contains => return self.search(args, rows),
            StringOp::Substring => Arc::new(substring(args, rows)?),
            StringOp::Concat => Arc::new(concat(args, rows)?),
            StringOp::Length => {
                let (array, _) = vector::operand(&args[0])?;
                let count = |text: &str| i32::try_from(text.chars().count()).unwrap_or(i32::MAX);
                Arc::new(
                    array
                        .as_string::<i32>()
                        .iter()
                        .map(|text| text.map(count))
                        .collect::<Int32Array>(),
                )
            }
            // Spark trims the space character only.
            StringOp::Trim => map(&args[0], |text| text.trim_matches(' '))?,
            StringOp::LeftTrim => map(&args[0], |text| text.trim_start_matches(' '))?,
            StringOp::RightTrim => map(&args[0], |text| text.trim_end_matches(' '))?,
            // Unicode's full mappings without a locale, as ICU's.
            StringOp::Upper => change(&args[0], str::to_uppercase)?,
            StringOp::Lower => change(&args[0], str::to_lowercase)?,
        };
        Ok(ColumnarValue::Array(out))
    }
}

fn map(input: &ColumnarValue, f: impl for<'a> Fn(&'a str) -> &'a str) -> Result<ArrayRef> {
    let (array, _) = vector::operand(input)?;
    Ok(Arc::new(
        array
            .as_string::<i32>()
            .iter()
            .map(|text| text.map(&f))
            .collect::<StringArray>(),
    ))
}

fn change(input: &ColumnarValue, f: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let (array, _) = vector::operand(input)?;
    let texts = array.as_string::<i32>().iter();
    Ok(Arc::new(texts.map(|text| text.map(&f)).collect::<StringArray>()))
}

impl StringFunction {
    fn search(&self, args: &[ColumnarValue], rows: usize) -> Result<ColumnarValue> {
        let ((left, left_scalar), (right, right_scalar)) =
            (vector::operand(&args[0])?, vector::operand(&args[1])?);
        let find = match self.op {
            StringOp::StartsWith => starts_with,
            StringOp::EndsWith => ends_with,
            _ => contains,
        };
        let out = match (left_scalar, right_scalar) {
            (false, true) => find(&left, &StringArray::new_scalar(text_or_empty(&right)?)),
            _ => find(&vector::array(&args[0], rows)?, &vector::array(&args[1], rows)?),
        }?;
        if right_scalar && right.is_null(0) {
            return Ok(ColumnarValue::Array(Arc::new(BooleanArray::new_null(rows))));
        }
        Ok(ColumnarValue::Array(Arc::new(out)))
    }
}

fn text_or_empty(array: &ArrayRef) -> Result<String> {
    let Some(strings) = array.as_string_opt::<i32>() else {
        return exec_err!("{} is not a string", array.data_type());
    };
    Ok(if strings.is_null(0) {
        String::new()
    } else {
        strings.value(0).to_owned()
    })
}

/// `UTF8String.substringSQL`: position from 1, from the end if negative; 0 counts as 1; characters are code points.
fn substring_of(text: &str, position: i32, length: i32) -> &str {
    let (position, length) = (i64::from(position), i64::from(length));
    let count = || i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let start = match position {
        1.. => position - 1,
        0 => 0,
        _ => position + count(),
    };
    // The end counts from a start before the text as well.
    let end = if length == i64::from(i32::MAX) && position >= 0 {
        i64::MAX
    } else {
        start + length
    };
    if length <= 0 || end <= 0 || end <= start {
        return "";
    }
    let from = start.max(0);
    if text.is_ascii() {
        let size = text.len();
        let from = usize::try_from(from).unwrap_or(usize::MAX).min(size);
        let to = usize::try_from(end).unwrap_or(usize::MAX).min(size);
        return text.get(from..to).unwrap_or("");
    }
    let at = |index: i64| {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        text.char_indices()
            .nth(index)
            .map_or(text.len(), |(offset, _)| offset)
    };
    text.get(at(from)..at(end)).unwrap_or("")
}

fn substring(args: &[ColumnarValue], rows: usize) -> Result<StringArray> {
    let strings = vector::array(&args[0], rows)?;
    let strings = strings.as_string::<i32>();
    if let (
        ColumnarValue::Scalar(ScalarValue::Int32(Some(position))),
        ColumnarValue::Scalar(ScalarValue::Int32(Some(length))),
    ) = (&args[1], &args[2])
    {
        let cut = |text| substring_of(text, *position, *length);
        return Ok(strings.iter().map(|text| text.map(cut)).collect());
    }
    let (positions, lengths) = (vector::array(&args[1], rows)?, vector::array(&args[2], rows)?);
    let (positions, lengths) = (
        positions.as_primitive::<Int32Type>(),
        lengths.as_primitive::<Int32Type>(),
    );
    let triples = strings.iter().zip(positions).zip(lengths);
    Ok(triples
        .map(|((text, position), length)| Some(substring_of(text?, position?, length?)))
        .collect())
}

/// `Concat` of strings: NULL if any argument is.
fn concat(args: &[ColumnarValue], rows: usize) -> Result<StringArray> {
    let columns = args
        .iter()
        .map(|arg| vector::array(arg, rows))
        .collect::<Result<Vec<_>>>()?;
    let columns: Vec<_> = columns.iter().map(|column| column.as_string::<i32>()).collect();
    let mut out = StringBuilder::with_capacity(rows, rows * 16);
    let mut text = String::new();
    for row in 0..rows {
        if columns.iter().any(|column| column.is_null(row)) {
            out.append_null();
            continue;
        }
        text.clear();
        columns.iter().for_each(|column| text.push_str(column.value(row)));
        out.append_value(&text);
    }
    Ok(out.finish())
}
