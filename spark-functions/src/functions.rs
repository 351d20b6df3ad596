//! The table of scalar functions by the names that Comet's serializer uses.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CaseExpr, IsNotNullExpr, Literal};

use crate::datetime::{DateFunction, DatePart, MakeDate, NextDay, date_name};
use crate::decimal::check_overflow;
use crate::negate::{DateShift, Negate};
use crate::numeric::{MakeDecimal, Round, Rounding, Signum, UnscaledValue, WholeNumber, is_nan};
use crate::row::{Function, SparkExpr};
use crate::strings::{StringFunction, StringOp};
use crate::time::Zone;
use crate::{
    EvalMode, QueryContext, Unsupported, arrays, bits, encode, hash, lists, logic, math, regex, temporal,
    text, truncate, types, vector,
};

/// A call of a function by name.
#[derive(Debug)]
pub struct FunctionCall<'a> {
    /// Comet's name of the function, e.g. `substring`.
    pub name: &'a str,
    /// The arguments.
    pub args: Vec<Arc<dyn PhysicalExpr>>,
    /// The arguments' fields, one each.
    pub arg_fields: &'a [FieldRef],
    /// The declared type of the result.
    pub return_type: Option<DataType>,
    /// ANSI behaviour for functions that carry the flag in the message.
    pub fail_on_error: bool,
    /// Where the call stands in the query.
    pub context: Option<Arc<QueryContext>>,
}

/// What a module makes of a call of one of its functions; `None` where the arguments are not of types that it computes exactly.
pub(crate) type Built = Option<Arc<dyn PhysicalExpr>>;

impl FunctionCall<'_> {
    fn refuse(&self, reason: &str) -> Unsupported {
        let kinds: Vec<String> = self
            .arg_fields
            .iter()
            .map(|field| types::sql_name(field.data_type()))
            .collect();
        Unsupported::new(format!("function {}({})", self.name, kinds.join(", ")), reason)
    }

    /// The type of an argument; NULL for one that is not there.
    pub(crate) fn kind(&self, index: usize) -> &DataType {
        self.arg_fields
            .get(index)
            .map_or(&DataType::Null, |field| field.data_type())
    }

    /// The value of an argument that is a literal.
    pub(crate) fn literal(&self, index: usize) -> Option<&ScalarValue> {
        self.args
            .get(index)?
            .downcast_ref::<Literal>()
            .map(Literal::value)
    }

    fn mode(&self) -> EvalMode {
        if self.fail_on_error {
            EvalMode::Ansi
        } else {
            EvalMode::Legacy
        }
    }

    /// The last argument as a literal flag, for functions that carry `failOnError` there.
    pub(crate) fn flag(&self, index: usize) -> Option<bool> {
        match self.literal(index) {
            Some(ScalarValue::Boolean(Some(flag))) => Some(*flag),
            _ => None,
        }
    }

    /// Whether the arguments have exactly these types.
    pub(crate) fn kinds(&self, kinds: &[DataType]) -> bool {
        self.args.len() == kinds.len()
            && kinds
                .iter()
                .enumerate()
                .all(|(index, kind)| self.kind(index) == kind)
    }

    fn strings(&self, count: usize) -> bool {
        self.args.len() == count && (0..count).all(|index| self.kind(index) == &DataType::Utf8)
    }
}

/// The physical expression of a call; a call that is not computed exactly is refused by name and argument types.
pub fn build(call: FunctionCall<'_>) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    if call.args.len() != call.arg_fields.len() {
        return Err(call.refuse("the number of argument types differs from that of arguments"));
    }
    let built = match call.name {
        "trim" | "btrim" | "ltrim" | "rtrim" if call.args.len() == 1 => string_function(&call),
        "length" if call.kind(0) == &DataType::Utf8 => string_function(&call),
        "substring" if call.kind(0) != &DataType::Binary => string_function(&call),
        "starts_with" | "ends_with" | "contains" | "char_length" | "concat" | "upper" | "lower" => {
            string_function(&call)
        }
        "datepart"
        | "date_part"
        | "spark_dayofweek"
        | "spark_weekday"
        | "date_add"
        | "date_sub"
        | "date_diff"
        | "datediff"
        | "last_day"
        | "date_from_unix_date"
        | "dayname"
        | "monthname"
        | "make_date"
        | "next_day"
        | "date_trunc" => date_function(&call),
        "from_utc_timestamp" | "to_utc_timestamp" => utc_shift(&call)?,
        "seconds_to_timestamp" if call.args.len() == 1 => {
            temporal::seconds_to_timestamp(Arc::clone(&call.args[0]), call.kind(0))
        }
        "abs" | "ceil" | "floor" | "round" | "unscaled_value" | "make_decimal" | "isnan" | "spark_signum" => {
            numeric_function(&call)
        }
        "murmur3_hash" | "xxhash64" => hashed(&call),
        _ => {
            let modules = [
                encode::build,
                text::build,
                math::build,
                bits::build,
                arrays::build,
                lists::build,
                regex::build,
            ];
            let found = modules.iter().find_map(|build| build(&call));
            found.ok_or_else(|| call.refuse("there is no exact implementation of it"))?
        }
    };
    let expr = built.ok_or_else(|| call.refuse("there is no exact implementation for these arguments"))?;
    guarded(expr, &call)
}

fn is_volatile(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.is_volatile_node() || expr.children().into_iter().any(is_volatile)
}

/// Spark evaluates an argument only on rows where those before it are not NULL: an error of a later one is raised on no other row.
fn guarded(
    expr: Arc<dyn PhysicalExpr>,
    call: &FunctionCall<'_>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    const EAGER: [&str; 10] = [
        "array_repeat",
        "concat",
        "concat_ws",
        "spark_concat_ws",
        "greatest",
        "least",
        "make_array",
        "murmur3_hash",
        "named_struct",
        "xxhash64",
    ];
    let Some(last) = (1..call.args.len())
        .rev()
        .find(|index| logic::is_fallible(&call.args[*index]))
    else {
        return Ok(expr);
    };
    if EAGER.contains(&call.name) || !call.arg_fields[..last].iter().any(|field| field.is_nullable()) {
        return Ok(expr);
    }
    if call.args[..last].iter().any(is_volatile) {
        return Err(call.refuse("an argument that is different each time stands before one that can fail"));
    }
    let present =
        |arg: &Arc<dyn PhysicalExpr>| Arc::new(IsNotNullExpr::new(Arc::clone(arg))) as Arc<dyn PhysicalExpr>;
    let before = call.args[..last].iter().map(present).reduce(logic::and);
    let Some(before) = before else {
        return Ok(expr);
    };
    let case = CaseExpr::try_new(None, vec![(before, expr)], None);
    case.map(|case| Arc::new(case) as Arc<dyn PhysicalExpr>)
        .map_err(|error| call.refuse(&error.to_string()))
}

fn string_function(call: &FunctionCall<'_>) -> Option<Arc<dyn PhysicalExpr>> {
    let op = match call.name {
        "starts_with" => StringOp::StartsWith,
        "ends_with" => StringOp::EndsWith,
        "contains" => StringOp::Contains,
        "substring" => StringOp::Substring,
        "length" | "char_length" => StringOp::Length,
        "concat" => StringOp::Concat,
        "trim" | "btrim" => StringOp::Trim,
        "ltrim" => StringOp::LeftTrim,
        "upper" => StringOp::Upper,
        "lower" => StringOp::Lower,
        _ => StringOp::RightTrim,
    };
    let (fine, return_type) = match op {
        StringOp::StartsWith | StringOp::EndsWith | StringOp::Contains => {
            (call.strings(2), DataType::Boolean)
        }
        StringOp::Length => (call.strings(1), DataType::Int32),
        StringOp::Concat => (
            !call.args.is_empty() && call.strings(call.args.len()),
            DataType::Utf8,
        ),
        StringOp::Substring => {
            let kinds = [call.kind(0), call.kind(1), call.kind(2)];
            let fine = call.args.len() == 3 && kinds == [&DataType::Utf8, &DataType::Int32, &DataType::Int32];
            (fine, DataType::Utf8)
        }
        _ => (call.strings(1), DataType::Utf8),
    };
    fine.then(|| SparkExpr::create(StringFunction { op, return_type }, call.args.clone()))
}

fn date_function(call: &FunctionCall<'_>) -> Option<Arc<dyn PhysicalExpr>> {
    let date = |index: usize| call.kind(index) == &DataType::Date32;
    match (call.name, call.args.len()) {
        ("datepart" | "date_part", 2) if date(1) => {
            let Some(ScalarValue::Utf8(Some(name))) = call.literal(0) else {
                return None;
            };
            let part = DatePart::from_name(name)?;
            Some(SparkExpr::create(
                DateFunction::Part(part),
                vec![Arc::clone(&call.args[1])],
            ))
        }
        ("date_add" | "date_sub", 2) if date(0) => {
            let days = call.kind(1).clone();
            let fine = matches!(days, DataType::Int8 | DataType::Int16 | DataType::Int32);
            let subtract = call.name == "date_sub";
            fine.then(|| SparkExpr::create(DateShift { subtract, days }, call.args.clone()))
        }
        ("date_diff" | "datediff", 2) if date(0) && date(1) => {
            Some(SparkExpr::create(DateFunction::Diff, call.args.clone()))
        }
        ("spark_dayofweek" | "spark_weekday", 1) if date(0) => {
            let part = if call.name == "spark_weekday" {
                DatePart::SparkWeekDay
            } else {
                DatePart::SparkDayOfWeek
            };
            Some(SparkExpr::create(DateFunction::Part(part), call.args.clone()))
        }
        ("date_from_unix_date", 1) if call.kind(0) == &DataType::Int32 => {
            Some(SparkExpr::create(DateFunction::FromUnixDate, call.args.clone()))
        }
        ("dayname" | "monthname", 1) if date(0) => Some(SparkExpr::create(
            date_name(call.name == "monthname"),
            call.args.clone(),
        )),
        ("make_date", 3) if (0..3).all(|index| call.kind(index) == &DataType::Int32) => {
            let fail_on_error = call.fail_on_error;
            Some(SparkExpr::create(MakeDate { fail_on_error }, call.args.clone()))
        }
        ("next_day", 2) if date(0) && call.kind(1) == &DataType::Utf8 => {
            let fail_on_error = call.fail_on_error;
            Some(SparkExpr::create(NextDay { fail_on_error }, call.args.clone()))
        }
        // Comet's name of Spark's `trunc`.
        ("date_trunc", 2) if date(0) => {
            let (value, format) = (Arc::clone(&call.args[0]), Arc::clone(&call.args[1]));
            truncate::truncate(value, call.kind(0), format, call.kind(1), "UTC").ok()
        }
        ("last_day", 1) if date(0) => Some(SparkExpr::create(DateFunction::LastDay, call.args.clone())),
        _ => None,
    }
}

/// The zone is a literal; one that Spark does not know would be its error.
fn utc_shift(call: &FunctionCall<'_>) -> Result<Option<Arc<dyn PhysicalExpr>>, Unsupported> {
    let Some(ScalarValue::Utf8(Some(name))) = call.literal(1) else {
        return Err(call.refuse("its time zone is not a literal"));
    };
    let zone = Zone::of(name)
        .map_err(|_| call.refuse(&format!("the rules of time zone {name} are not known here")))?;
    let value = Arc::clone(&call.args[0]);
    Ok(temporal::shift(
        call.name == "to_utc_timestamp",
        value,
        call.kind(0),
        zone,
    ))
}

fn numeric_function(call: &FunctionCall<'_>) -> Option<Arc<dyn PhysicalExpr>> {
    let kind = call.kind(0);
    let number = types::is_integer(kind) || types::is_float(kind) || matches!(kind, DataType::Decimal128(..));
    match (call.name, call.args.len()) {
        ("abs", 1 | 2) if number => {
            let fails = if call.args.len() == 2 {
                call.flag(1)?
            } else {
                call.fail_on_error
            };
            let mode = if fails { EvalMode::Ansi } else { EvalMode::Legacy };
            let kernel = Negate {
                return_type: kind.clone(),
                only_negative: true,
                mode,
            };
            Some(SparkExpr::create(kernel, vec![Arc::clone(&call.args[0])]))
        }
        ("ceil" | "floor", 1) => {
            let rounding = if call.name == "ceil" {
                Rounding::Ceil
            } else {
                Rounding::Floor
            };
            let return_type = match kind {
                DataType::Decimal128(..) => match call.return_type.clone()? {
                    to @ DataType::Decimal128(_, 0) => to,
                    _ => return None,
                },
                DataType::Int64 | DataType::Float32 | DataType::Float64 => DataType::Int64,
                _ => return None,
            };
            let from = kind.clone();
            Some(SparkExpr::create(
                WholeNumber {
                    from,
                    rounding,
                    return_type,
                },
                call.args.clone(),
            ))
        }
        ("round", 2) => {
            let digits = match call.literal(1)? {
                ScalarValue::Int32(Some(digits)) => i64::from(*digits),
                ScalarValue::Int64(Some(digits)) => *digits,
                _ => return None,
            };
            let input = Arc::clone(&call.args[0]);
            let context = call.context.clone();
            if types::is_integer(kind) {
                let kernel = Round {
                    return_type: kind.clone(),
                    digits,
                    mode: call.mode(),
                    context,
                };
                return Some(SparkExpr::create(kernel, vec![input]));
            }
            let (&DataType::Decimal128(_, scale), Some(DataType::Decimal128(precision, to))) =
                (kind, call.return_type.clone())
            else {
                return None;
            };
            if digits < 0 || i64::from(to) != digits.min(i64::from(scale)) {
                return None;
            }
            check_overflow(input, kind, precision, to, call.fail_on_error, context).ok()
        }
        ("unscaled_value", 1) => matches!(kind, DataType::Decimal128(p, _) if *p <= 18)
            .then(|| SparkExpr::create(UnscaledValue, call.args.clone())),
        ("make_decimal", 1) if kind == &DataType::Int64 => {
            let Some(return_type @ DataType::Decimal128(precision, scale)) = call.return_type.clone() else {
                return None;
            };
            let (fail_on_error, context) = (call.fail_on_error, call.context.clone());
            let kernel = MakeDecimal {
                precision,
                scale,
                return_type,
                fail_on_error,
                context,
            };
            Some(SparkExpr::create(kernel, call.args.clone()))
        }
        ("spark_signum", 1) if kind == &DataType::Float64 => {
            Some(SparkExpr::create(Signum, call.args.clone()))
        }
        ("isnan", 1) if types::is_float(kind) => Some(SparkExpr::create(is_nan(), call.args.clone())),
        _ => None,
    }
}

/// A hash of the arguments; the last one is the seed.
fn hashed(call: &FunctionCall<'_>) -> Built {
    let last = call.args.len().checked_sub(1)?;
    if last == 0 || !(0..last).all(|index| hash::is_hashable(call.kind(index))) {
        return None;
    }
    let columns = |args: &[ColumnarValue], rows: usize| {
        let columns = args.iter().map(|arg| vector::array(arg, rows));
        columns.collect::<Result<Vec<ArrayRef>>>()
    };
    let kernel = match *call.literal(last)? {
        ScalarValue::Int32(Some(seed)) if call.name == "murmur3_hash" => {
            Function::new("murmur3_hash", DataType::Int32, move |args, rows| {
                let mut hashes = vec![0; rows];
                hash::murmur3_hash(&columns(args, rows)?, seed, &mut hashes)?;
                Ok(Arc::new(Int32Array::from(hashes)) as ArrayRef)
            })
            .with(seed)
        }
        ScalarValue::Int64(Some(seed)) if call.name == "xxhash64" => {
            Function::new("xxhash64", DataType::Int64, move |args, rows| {
                let mut hashes = vec![0; rows];
                hash::xxhash64(&columns(args, rows)?, seed, &mut hashes)?;
                Ok(Arc::new(Int64Array::from(hashes)) as ArrayRef)
            })
            .with(seed)
        }
        _ => return None,
    };
    Some(SparkExpr::create(kernel, call.args[..last].to_vec()))
}
