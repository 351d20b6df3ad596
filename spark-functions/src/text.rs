//! Functions from strings to strings and positions in them, on code points as Spark's `UTF8String` has them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ColumnarValue;

use crate::functions::{Built, FunctionCall};
use crate::row::{Function, SparkExpr};
use crate::vector::{Arg, Bytes, texts};

const UTF8: DataType = DataType::Utf8;
const INT: DataType = DataType::Int32;
const LONG: DataType = DataType::Int64;

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let kernel = match call.name {
        "trim" | "btrim" if call.args.len() == 2 => trim_of("trim", true, true, call),
        "ltrim" if call.args.len() == 2 => trim_of("ltrim", true, false, call),
        "rtrim" if call.args.len() == 2 => trim_of("rtrim", false, true, call),
        "replace" => of_text(call, "replace", &[UTF8, UTF8, UTF8], |args, row| {
            let (text, search, by) = (args[0].text(row)?, args[1].text(row)?, args[2].text(row)?);
            Some(if search.is_empty() {
                text.into()
            } else {
                text.replace(search, by).into()
            })
        }),
        "translate" => of_text(call, "translate", &[UTF8, UTF8, UTF8], |args, row| {
            Some(translate(args[0].text(row)?, args[1].text(row)?, args[2].text(row)?).into())
        }),
        "reverse" => of_text(call, "reverse", &[UTF8], |args, row| {
            Some(args[0].text(row)?.chars().rev().collect::<String>().into())
        }),
        "soundex" => of_text(call, "soundex", &[UTF8], |args, row| {
            Some(soundex(args[0].text(row)?))
        }),
        "substring_index" => substring_index(call),
        "repeat" => call
            .kinds(&[UTF8, LONG])
            .then(|| Function::new("repeat", UTF8, repeat)),
        "space" => call.kinds(&[INT]).then(|| Function::new("space", UTF8, space)),
        "lpad" => pad("lpad", true, call),
        "rpad" => pad("rpad", false, call),
        "read_side_padding" => read_side_padding(call),
        "char" | "chr" => call.kinds(&[LONG]).then(|| Function::new("char", UTF8, chr)),
        "ascii" => of_int(call, "ascii", &[UTF8], |args, row| {
            Some(
                args[0]
                    .text(row)?
                    .chars()
                    .next()
                    .map_or(0, |c| (c as u32).cast_signed()),
            )
        }),
        "instr" => of_int(call, "instr", &[UTF8, UTF8], |args, row| {
            let (text, part) = (args[0].text(row)?, args[1].text(row)?);
            let before = |at| text.get(..at).map_or(0, |before| before.chars().count());
            Some(
                text.find(part)
                    .map_or(0, |at| count(before(at)).saturating_add(1)),
            )
        }),
        "levenshtein" if call.args.len() == 3 => {
            of_int(call, "levenshtein", &[UTF8, UTF8, INT], |args, row| {
                let (left, right) = (args[0].text(row)?, args[1].text(row)?);
                let (distance, most) = (levenshtein(left, right), args[2].number::<Int32Type>(row)?);
                Some(if distance > most { -1 } else { distance })
            })
        }
        "levenshtein" => of_int(call, "levenshtein", &[UTF8, UTF8], |args, row| {
            Some(levenshtein(args[0].text(row)?, args[1].text(row)?))
        }),
        "concat_ws" | "spark_concat_ws" => concat_ws(call),
        _ => return None,
    };
    Some(kernel.map(|kernel| SparkExpr::create(kernel, call.args.clone())))
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// A function that gives a text for each row, or NULL where an argument is.
fn of_text(
    call: &FunctionCall<'_>,
    name: &'static str,
    kinds: &[DataType],
    f: impl for<'a> Fn(&'a [Arg], usize) -> Option<Cow<'a, str>> + Send + Sync + 'static,
) -> Option<Function> {
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        texts(rows, |row| Ok(f(&args, row)))
    };
    call.kinds(kinds).then(|| Function::new(name, UTF8, body))
}

/// A function that gives an INT for each row, or NULL where an argument is.
fn of_int(
    call: &FunctionCall<'_>,
    name: &'static str,
    kinds: &[DataType],
    f: impl Fn(&[Arg], usize) -> Option<i32> + Send + Sync + 'static,
) -> Option<Function> {
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let ints: Int32Array = (0..rows).map(|row| f(&args, row)).collect();
        Ok(Arc::new(ints) as ArrayRef)
    };
    call.kinds(kinds).then(|| Function::new(name, INT, body))
}

/// Trimming of the characters of a second string.
fn trim_of(name: &'static str, left: bool, right: bool, call: &FunctionCall<'_>) -> Option<Function> {
    let kernel = of_text(call, name, &[UTF8, UTF8], move |args, row| {
        let (mut text, set) = (args[0].text(row)?, args[1].text(row)?);
        if left {
            text = text.trim_start_matches(|c| set.contains(c));
        }
        if right {
            text = text.trim_end_matches(|c| set.contains(c));
        }
        Some(text.into())
    })?;
    Some(kernel.with("of characters"))
}

/// `StringTranslate`: the first place of a character in `from` counts; without a partner in `to`, or with a NUL as partner, it goes.
fn translate(text: &str, from: &str, to: &str) -> String {
    let mut to = to.chars();
    let pairs: Vec<(char, Option<char>)> = from
        .chars()
        .map(|c| (c, to.next().filter(|partner| *partner != '\0')))
        .collect();
    let partner = |c: char| match pairs.iter().find(|(from, _)| *from == c) {
        Some((_, to)) => *to,
        None => Some(c),
    };
    text.chars().filter_map(partner).collect()
}

/// `UTF8String.soundex`: for a text that begins with a Latin letter, else the text itself.
fn soundex(text: &str) -> Cow<'_, str> {
    // Digits of A to Z; 0 separates equal digits, 7 does not.
    const CODES: &[u8; 26] = b"01230127022455012623017202";
    let mut bytes = text.bytes().map(|byte| byte.to_ascii_uppercase());
    let Some(first @ b'A'..=b'Z') = bytes.next() else {
        return text.into();
    };
    let code = |letter: u8| CODES[usize::from(letter - b'A')];
    let (mut out, mut last) = (vec![first], code(first));
    for byte in bytes {
        if !byte.is_ascii_uppercase() {
            last = b'0';
            continue;
        }
        let digit = code(byte);
        if digit == b'7' {
            continue;
        }
        if digit != b'0' && digit != last {
            out.push(digit);
        }
        last = digit;
        if out.len() == 4 {
            break;
        }
    }
    out.resize(4, b'0');
    String::from_utf8_lossy(&out).into_owned().into()
}

/// `UTF8String.subStringIndex`; occurrences may overlap. The least INT as count fails in Spark too.
fn substring_index(call: &FunctionCall<'_>) -> Option<Function> {
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        texts(rows, |row| {
            let (Some(text), Some(delimiter), Some(count)) = (
                args[0].text(row),
                args[1].text(row),
                args[2].number::<Int64Type>(row),
            ) else {
                return Ok(None);
            };
            if count == i64::from(i32::MIN) {
                return exec_err!("substring_index with a count of {count}");
            }
            Ok(Some(part_of(text, delimiter, count).into()))
        })
    };
    let fine = call.kinds(&[UTF8, UTF8, LONG]);
    fine.then(|| Function::new("substring_index", UTF8, body).fails())
}

fn part_of<'a>(text: &'a str, delimiter: &str, count: i64) -> &'a str {
    if delimiter.is_empty() || count == 0 {
        return "";
    }
    let starts = |at: &usize| text.as_bytes()[*at..].starts_with(delimiter.as_bytes());
    let last = match text.len().checked_sub(delimiter.len()) {
        Some(last) => last,
        None => return text,
    };
    let nth = usize::try_from(count.unsigned_abs() - 1).unwrap_or(usize::MAX);
    if count > 0 {
        let found = (0..=last).filter(starts).nth(nth);
        found.and_then(|at| text.get(..at)).unwrap_or(text)
    } else {
        let found = (0..=last).rev().filter(starts).nth(nth);
        found
            .and_then(|at| text.get(at + delimiter.len()..))
            .unwrap_or(text)
    }
}

fn repeat(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let mut out = Bytes::new(rows);
    for row in 0..rows {
        let (Some(text), Some(times)) = (args[0].bytes(row), args[1].number::<Int64Type>(row)) else {
            out.end(false)?;
            continue;
        };
        let times = u64::try_from(times).unwrap_or(0);
        out.room((text.len() as u64).saturating_mul(times))?;
        if !text.is_empty() {
            (0..times).for_each(|_| out.open().extend_from_slice(text));
        }
        out.end(true)?;
    }
    out.strings()
}

fn space(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let mut out = Bytes::new(rows);
    for row in 0..rows {
        let length = args[0].number::<Int32Type>(row);
        let spaces = usize::try_from(length.unwrap_or(0)).unwrap_or(0);
        out.room(spaces as u64)?;
        let filled = out.open().len() + spaces;
        out.open().resize(filled, b' ');
        out.end(length.is_some())?;
    }
    out.strings()
}

/// `Chr`: the character of the last byte, nothing for a negative number.
fn chr(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    texts(rows, |row| {
        let code = args[0].number::<Int64Type>(row);
        Ok(code.map(|code| match u8::try_from(code & 0xff) {
            Ok(byte) if code >= 0 => Cow::Owned(char::from(byte).to_string()),
            _ => Cow::Borrowed(""),
        }))
    })
}

/// The byte at which the `chars`-th character begins, or the end.
fn boundary(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

fn padded(out: &mut Bytes, text: &str, length: i32, pad: &str, left: bool) -> Result<()> {
    let wanted = usize::try_from(length).unwrap_or(0);
    let present = text.chars().count();
    let missing = wanted.saturating_sub(present);
    if missing == 0 || pad.is_empty() {
        let kept = &text[..boundary(text, wanted)];
        out.push(Some(kept.as_bytes()))?;
        return Ok(());
    }
    let pad_chars = pad.chars().count();
    let rest = &pad[..boundary(pad, missing % pad_chars)];
    let whole = missing / pad_chars;
    out.room((text.len() + rest.len()) as u64 + (pad.len() as u64).saturating_mul(whole as u64))?;
    let bytes = out.open();
    if !left {
        bytes.extend_from_slice(text.as_bytes());
    }
    (0..whole).for_each(|_| bytes.extend_from_slice(pad.as_bytes()));
    bytes.extend_from_slice(rest.as_bytes());
    if left {
        bytes.extend_from_slice(text.as_bytes());
    }
    out.end(true)
}

/// `UTF8String.lpad` and `rpad`: a longer text is cut.
fn pad(name: &'static str, left: bool, call: &FunctionCall<'_>) -> Option<Function> {
    let body = move |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let mut out = Bytes::new(rows);
        for row in 0..rows {
            match (
                args[0].text(row),
                args[1].number::<Int32Type>(row),
                args[2].text(row),
            ) {
                (Some(text), Some(length), Some(pad)) => padded(&mut out, text, length, pad, left)?,
                _ => out.end(false)?,
            }
        }
        out.strings()
    };
    let fine = call.kinds(&[UTF8, INT, UTF8]);
    fine.then(|| Function::new(name, UTF8, body))
}

/// What Spark does to a CHAR column that it reads: filled with spaces, never cut.
fn read_side_padding(call: &FunctionCall<'_>) -> Option<Function> {
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let mut out = Bytes::new(rows);
        for row in 0..rows {
            match (args[0].text(row), args[1].number::<Int32Type>(row)) {
                (Some(text), Some(length)) if text.chars().count() < usize::try_from(length).unwrap_or(0) => {
                    padded(&mut out, text, length, " ", false)?;
                }
                (Some(text), Some(_)) => out.push(Some(text.as_bytes()))?,
                _ => out.end(false)?,
            }
        }
        out.strings()
    };
    let fine = call.kinds(&[UTF8, INT]);
    fine.then(|| Function::new("read_side_padding", UTF8, body))
}

/// The number of characters to insert, delete or replace.
fn levenshtein(left: &str, right: &str) -> i32 {
    let right: Vec<char> = right.chars().collect();
    let mut costs: Vec<i32> = (0..=count(right.len())).collect();
    for (i, c) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut costs[0], count(i) + 1);
        for (j, d) in right.iter().enumerate() {
            let replaced = diagonal + i32::from(c != *d);
            diagonal = costs[j + 1];
            costs[j + 1] = replaced.min(costs[j] + 1).min(diagonal + 1);
        }
    }
    costs.last().copied().unwrap_or(0)
}

/// `ConcatWs` of strings and arrays of strings: NULLs are left out, a NULL separator gives NULL.
fn concat_ws(call: &FunctionCall<'_>) -> Option<Function> {
    let fine = |kind: &DataType| match kind {
        DataType::Utf8 => true,
        DataType::List(item) => item.data_type() == &UTF8,
        _ => false,
    };
    let all = (1..call.args.len()).all(|index| fine(call.kind(index)));
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        let mut out = Bytes::new(rows);
        for row in 0..rows {
            let Some(separator) = args[0].bytes(row) else {
                out.end(false)?;
                continue;
            };
            let mut first = true;
            for arg in &args[1..] {
                let add = |text: &str| -> Result<()> {
                    out.room((separator.len() + text.len()) as u64)?;
                    if !std::mem::take(&mut first) {
                        out.open().extend_from_slice(separator);
                    }
                    out.open().extend_from_slice(text.as_bytes());
                    Ok(())
                };
                match arg.array().as_list_opt::<i32>() {
                    Some(lists) => each_text(lists, arg.at(row), add)?,
                    None => arg.text(row).map_or(Ok(()), add)?,
                }
            }
            out.end(true)?;
        }
        out.strings()
    };
    let fine = call.kind(0) == &UTF8 && all;
    fine.then(|| Function::new("concat_ws", UTF8, body))
}

fn each_text(lists: &ListArray, at: usize, mut f: impl FnMut(&str) -> Result<()>) -> Result<()> {
    if lists.is_null(at) {
        return Ok(());
    }
    let values = lists.value(at);
    values.as_string::<i32>().iter().flatten().try_for_each(&mut f)
}
