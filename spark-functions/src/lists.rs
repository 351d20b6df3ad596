//! Functions that make arrays, maps' parts and structs.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, ListArray, NullBufferBuilder, PrimitiveArray, StructArray, make_array,
    new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{interleave, take};
use arrow::datatypes::{DataType, Field, Fields, Int32Type, UInt32Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::arrays::{Lists, comparable_item, exact_item, item, list_of};
use crate::functions::{Built, FunctionCall};
use crate::order::{Comparator, comparable, comparator};
use crate::row::{Function, SparkExpr};
use crate::types;
use crate::vector::{self, Arg};

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let mut args = call.args.clone();
    let kernel = match call.name {
        "make_array" => from_values(call),
        "array_repeat" => {
            let fine = call.args.len() == 2 && call.kind(1) == &DataType::Int32;
            fine.then(|| Function::new("array_repeat", list_of(call.kind(0).clone()), repeat).nullable())
        }
        "flatten" => flattened(call),
        "array_reverse" => of_one(call, "array_reverse", item(call.kind(0)), |_, range, picks| {
            picks.extend(range.rev());
        }),
        "array_compact" => of_one(
            call,
            "array_compact",
            item(call.kind(0)),
            |values, range, picks| {
                picks.extend(range.filter(|at| values.is_valid(*at)));
            },
        ),
        "array_sort" | "spark_array_sort" => {
            args.truncate(1);
            sorted(call)
        }
        "array_distinct" => distinct("array_distinct", 1, call),
        "array_remove_all" | "spark_array_remove" => without(call),
        "spark_array_slice" => slice(call),
        "array_union" => distinct("array_union", 2, call),
        "map_keys" => part_of_map(call, "map_keys", 0),
        "map_values" => part_of_map(call, "map_values", 1),
        "map_extract" => value_of_key(call),
        "get_struct_field" => {
            args.truncate(1);
            field(call)
        }
        "named_struct" => {
            args = args.into_iter().skip(1).step_by(2).collect();
            named_struct(call)
        }
        _ => return None,
    };
    Some(kernel.map(|kernel| SparkExpr::create(kernel, args)))
}

/// Arrays in the making: elements are picked out of sources.
struct Out {
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    picks: Vec<(usize, usize)>,
}

impl Out {
    fn new(rows: usize) -> Self {
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        Self {
            offsets,
            nulls: NullBufferBuilder::new(rows),
            picks: vec![],
        }
    }

    /// Closes the array of a row; `valid` is false for NULL.
    fn end(&mut self, valid: bool) -> Result<()> {
        let Ok(end) = i32::try_from(self.picks.len()) else {
            return exec_err!("a batch of arrays grows to more than {} elements", i32::MAX);
        };
        self.offsets.push(end);
        self.nulls.append(valid);
        Ok(())
    }

    fn finish(mut self, item: &DataType, sources: &[&dyn Array]) -> Result<ArrayRef> {
        let values = if self.picks.is_empty() {
            new_empty_array(item)
        } else {
            interleave(sources, &self.picks)?
        };
        let field = Arc::new(Field::new("item", item.clone(), true));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        Ok(Arc::new(ListArray::try_new(
            field,
            offsets,
            values,
            self.nulls.finish(),
        )?))
    }
}

fn from_values(call: &FunctionCall<'_>) -> Option<Function> {
    let item = call.kind(0).clone();
    let alike = (0..call.args.len()).all(|index| call.kind(index) == &item);
    if call.args.is_empty() || !alike {
        return None;
    }
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let mut out = Out::new(rows);
        for row in 0..rows {
            out.picks
                .extend(args.iter().enumerate().map(|(source, arg)| (source, arg.at(row))));
            out.end(true)?;
        }
        let sources: Vec<&dyn Array> = args.iter().map(|arg| arg.array().as_ref()).collect();
        out.finish(&of, &sources)
    };
    Some(Function::new("array", list_of(item), body))
}

/// `ArrayRepeat`: NULL for a NULL count alone.
fn repeat(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let mut out = Out::new(rows);
    for row in 0..rows {
        let count = args[1].number::<Int32Type>(row);
        let times = usize::try_from(count.unwrap_or(0)).unwrap_or(0);
        if out.picks.len() + times > i32::MAX as usize {
            return exec_err!("a batch of arrays grows to more than {} elements", i32::MAX);
        }
        out.picks.extend(std::iter::repeat_n((0, args[0].at(row)), times));
        out.end(count.is_some())?;
    }
    out.finish(args[0].array().data_type(), &[args[0].array().as_ref()])
}

/// `Flatten`: NULL where an inner array is.
fn flattened(call: &FunctionCall<'_>) -> Option<Function> {
    let inner = item(call.kind(0)).filter(|_| call.args.len() == 1)?;
    let of = item(&inner)?;
    let element = of.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let outer = Lists::new(&arg)?;
        let inner = outer.values().as_list::<i32>();
        let ends = inner.value_offsets();
        let mut out = Out::new(rows);
        for row in 0..rows {
            let range = outer
                .range(row)
                .filter(|range| range.clone().all(|at| inner.is_valid(at)));
            for at in range.clone().into_iter().flatten() {
                let elements = ends[at]..ends[at + 1];
                out.picks
                    .extend(elements.map(|element| (0, usize::try_from(element).unwrap_or(0))));
            }
            out.end(range.is_some())?;
        }
        out.finish(&element, &[inner.values().as_ref()])
    };
    Some(Function::new("flatten", list_of(of), body).nullable())
}

type Pick = fn(&ArrayRef, std::ops::Range<usize>, &mut Vec<usize>);

/// A function that picks elements of one array.
fn of_one(
    call: &FunctionCall<'_>,
    name: &'static str,
    item: Option<DataType>,
    pick: Pick,
) -> Option<Function> {
    let item = item.filter(|_| call.args.len() == 1)?;
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let lists = Lists::new(&arg)?;
        let (mut out, mut picks) = (Out::new(rows), vec![]);
        for row in 0..rows {
            let range = lists.range(row);
            picks.clear();
            if let Some(range) = range.clone() {
                pick(lists.values(), range, &mut picks);
            }
            out.picks.extend(picks.iter().map(|at| (0, *at)));
            out.end(range.is_some())?;
        }
        out.finish(&of, &[lists.values().as_ref()])
    };
    Some(Function::new(name, list_of(item), body))
}

/// `SortArray`, which says where NULLs go, and `ArraySort` by the natural order, which has them last.
fn sorted(call: &FunctionCall<'_>) -> Option<Function> {
    let item = exact_item(call.kind(0))?;
    let word = |index: usize| match call.literal(index)? {
        ScalarValue::Utf8(Some(word)) => Some(word.as_str()),
        _ => None,
    };
    let (descending, nulls_first) = match (call.name, call.args.len()) {
        ("spark_array_sort", 1) => (false, false),
        ("array_sort", 3) => match (word(1)?, word(2)?) {
            ("ASC", "NULLS FIRST") => (false, true),
            ("ASC", "NULLS LAST") => (false, false),
            ("DESC", "NULLS FIRST") => (true, true),
            ("DESC", "NULLS LAST") => (true, false),
            _ => return None,
        },
        _ => return None,
    };
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let lists = Lists::new(&arg)?;
        let values = lists.values();
        let compare = comparator(values, values)?;
        let mut out = Out::new(rows);
        for row in 0..rows {
            let range = lists.range(row);
            let elements = range.clone().into_iter().flatten();
            let (mut valid, nulls): (Vec<_>, Vec<_>) = elements.partition(|at| values.is_valid(*at));
            valid.sort_by(|i, j| {
                if descending {
                    compare(*j, *i)
                } else {
                    compare(*i, *j)
                }
            });
            let (first, last) = if nulls_first {
                (nulls, valid)
            } else {
                (valid, nulls)
            };
            out.picks.extend(first.into_iter().chain(last).map(|at| (0, at)));
            out.end(range.is_some())?;
        }
        out.finish(&of, &[values.as_ref()])
    };
    Some(Function::new("array_sort", list_of(item), body).with((descending, nulls_first)))
}

/// Whether two elements are equal, NULLs among each other too.
fn same(values: (&ArrayRef, usize), others: (&ArrayRef, usize), compare: &Comparator) -> bool {
    match (values.0.is_valid(values.1), others.0.is_valid(others.1)) {
        (true, true) => compare(values.1, others.1) == Ordering::Equal,
        (left, right) => left == right,
    }
}

/// `ArrayDistinct` of one array and `ArrayUnion` of two: each element once, where it first comes.
fn distinct(name: &'static str, count: usize, call: &FunctionCall<'_>) -> Option<Function> {
    let item = exact_item(call.kind(0)).filter(|_| call.args.len() == count)?;
    if (1..count).any(|index| exact_item(call.kind(index)).as_ref() != Some(&item)) {
        return None;
    }
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let lists = args.iter().map(Lists::new).collect::<Result<Vec<_>>>()?;
        let mut compare = vec![];
        for left in &lists {
            let row = lists
                .iter()
                .map(|right| comparator(left.values(), right.values()));
            compare.push(row.collect::<Result<Vec<_>>>()?);
        }
        let mut out = Out::new(rows);
        for row in 0..rows {
            let ranges: Option<Vec<_>> = lists.iter().map(|lists| lists.range(row)).collect();
            let begin = out.picks.len();
            for (source, range) in ranges.iter().flatten().enumerate() {
                for at in range.clone() {
                    let value = (lists[source].values(), at);
                    let known = out.picks[begin..].iter().any(|(other, seen)| {
                        same(value, (lists[*other].values(), *seen), &compare[source][*other])
                    });
                    if !known {
                        out.picks.push((source, at));
                    }
                }
            }
            out.end(ranges.is_some())?;
        }
        let sources: Vec<&dyn Array> = lists.iter().map(|lists| lists.values().as_ref()).collect();
        out.finish(&of, &sources)
    };
    Some(Function::new(name, list_of(item), body))
}

/// `ArrayRemove`: NULL elements stay.
fn without(call: &FunctionCall<'_>) -> Option<Function> {
    let item = comparable_item(call.kind(0)).filter(|item| call.args.len() == 2 && call.kind(1) == item)?;
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let lists = Lists::new(&args[0])?;
        let values = lists.values();
        let compare = comparator(values, args[1].array())?;
        let mut out = Out::new(rows);
        for row in 0..rows {
            let range = lists.range(row).filter(|_| !args[1].is_null(row));
            let kept = range
                .clone()
                .into_iter()
                .flatten()
                .filter(|at| values.is_null(*at) || compare(*at, args[1].at(row)) != Ordering::Equal);
            out.picks.extend(kept.map(|at| (0, at)));
            out.end(range.is_some())?;
        }
        out.finish(&of, &[values.as_ref()])
    };
    Some(Function::new("array_remove", list_of(item), body))
}

/// `Slice` with literals that Spark does not refuse: a start that is not 0 and a length that is not negative.
fn slice(call: &FunctionCall<'_>) -> Option<Function> {
    let item = item(call.kind(0)).filter(|_| call.args.len() == 3)?;
    let number = |index: usize| match call.literal(index)? {
        ScalarValue::Int32(Some(number)) => Some(*number),
        ScalarValue::Int64(Some(number)) => i32::try_from(*number).ok(),
        _ => None,
    };
    let start = number(1).filter(|start| *start != 0)?;
    let length = usize::try_from(number(2)?).ok()?;
    let of = item.clone();
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let lists = Lists::new(&arg)?;
        let mut out = Out::new(rows);
        for row in 0..rows {
            let range = lists.range(row);
            if let Some(range) = &range {
                let skipped = match usize::try_from(start) {
                    Ok(start) => Some(start - 1),
                    Err(_) => range.len().checked_sub(start.unsigned_abs() as usize),
                };
                let elements = range.clone().skip(skipped.unwrap_or(range.len())).take(length);
                out.picks.extend(elements.map(|at| (0, at)));
            }
            out.end(range.is_some())?;
        }
        out.finish(&of, &[lists.values().as_ref()])
    };
    Some(Function::new("slice", list_of(item), body).with((start, length)))
}

/// The keys or values of a map.
fn part_of_map(call: &FunctionCall<'_>, name: &'static str, part: usize) -> Option<Function> {
    let DataType::Map(entries, _) = call.kind(0) else {
        return None;
    };
    let DataType::Struct(fields) = entries.data_type() else {
        return None;
    };
    let of = fields.get(part)?.data_type().clone();
    let item = of.clone();
    let body = move |args: &[ColumnarValue], _: usize| {
        let (array, _) = vector::operand(&args[0])?;
        let Some(maps) = array.as_map_opt() else {
            return exec_err!("{} is no map", array.data_type());
        };
        let field = Arc::new(Field::new("item", of.clone(), true));
        let values = Arc::clone(maps.entries().column(part));
        let lists = ListArray::try_new(field, maps.offsets().clone(), values, maps.nulls().cloned())?;
        Ok(Arc::new(lists) as ArrayRef)
    };
    (call.args.len() == 1).then(|| Function::new(name, list_of(item), body))
}

/// `GetMapValue`: the value of the first key that is equal, NULL for none.
fn value_of_key(call: &FunctionCall<'_>) -> Option<Function> {
    let DataType::Map(entries, _) = call.kind(0) else {
        return None;
    };
    let DataType::Struct(fields) = entries.data_type() else {
        return None;
    };
    let (key, value) = (fields.first()?.data_type(), fields.get(1)?.data_type());
    let fine = call.args.len() == 2 && call.kind(1) == key && comparable(key) && !types::is_float(key);
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let Some(maps) = args[0].array().as_map_opt() else {
            return exec_err!("{} is no map", args[0].array().data_type());
        };
        let compare = comparator(maps.keys(), args[1].array())?;
        let ends = maps.value_offsets();
        let find = |row: usize| {
            if args[0].is_null(row) || args[1].is_null(row) {
                return None;
            }
            let mut entries = ends[args[0].at(row)]..ends[args[0].at(row) + 1];
            let equal = |at: &i32| {
                usize::try_from(*at).is_ok_and(|at| compare(at, args[1].at(row)) == Ordering::Equal)
            };
            entries.find(equal).and_then(|at| u32::try_from(at).ok())
        };
        let picks: PrimitiveArray<UInt32Type> = (0..rows).map(find).collect();
        Ok(take(maps.values(), &picks, None)?)
    };
    fine.then(|| Function::new("map_extract", value.clone(), body).nullable())
}

/// `GetStructField`: the arguments are struct and position.
fn field(call: &FunctionCall<'_>) -> Option<Function> {
    let (DataType::Struct(fields), Some(ScalarValue::Int32(Some(position)))) =
        (call.kind(0), call.literal(1))
    else {
        return None;
    };
    let position = usize::try_from(*position).ok()?;
    let of = fields.get(position)?.data_type().clone();
    let body = move |args: &[ColumnarValue], _: usize| {
        let (array, _) = vector::operand(&args[0])?;
        let Some(structs) = array.as_struct_opt() else {
            return exec_err!("{} is no struct", array.data_type());
        };
        let field = structs.column(position);
        if structs.null_count() == 0 || field.data_type() == &DataType::Null {
            return Ok(Arc::clone(field));
        }
        let nulls = NullBuffer::union(structs.nulls(), field.nulls());
        Ok(make_array(field.to_data().into_builder().nulls(nulls).build()?))
    };
    Some(
        Function::new("get_struct_field", of, body)
            .with(position)
            .nullable(),
    )
}

/// `CreateNamedStruct`: the arguments are names, as literals, and values in turn.
fn named_struct(call: &FunctionCall<'_>) -> Option<Function> {
    let mut fields = vec![];
    for index in (0..call.args.len()).step_by(2) {
        let Some(ScalarValue::Utf8(Some(name))) = call.literal(index) else {
            return None;
        };
        call.args.get(index + 1)?;
        fields.push(Field::new(name, call.kind(index + 1).clone(), true));
    }
    let fields = Fields::from(fields);
    let return_type = DataType::Struct(fields.clone());
    if fields.is_empty() {
        return None;
    }
    let body = move |args: &[ColumnarValue], rows: usize| {
        let columns = args.iter().map(|arg| vector::array(arg, rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?) as ArrayRef)
    };
    Some(Function::new("named_struct", return_type, body))
}
