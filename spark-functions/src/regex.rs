//! Java's regular expressions, as far as they mean the same to an engine without backtracking.
//!
//! A pattern is a literal of the query. Characters, classes of ASCII and of single characters, groups, alternatives, greedy and lazy
//! repetitions and anchors are translated. Everything else (flags, back references, looking around, possessive repetitions, word boundaries, Unicode
//! properties, operations on classes) is refused.

use std::iter::Peekable;
use std::str::Chars;
use std::sync::Arc;

use ::regex::{NoExpand, Regex};
use arrow::array::{ArrayRef, BooleanArray, ListArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;

use crate::Unsupported;
use crate::arrays::list_of;
use crate::functions::{Built, FunctionCall};
use crate::row::{Function, SparkExpr};
use crate::vector::{Arg, Bytes, texts};

const UTF8: DataType = DataType::Utf8;
/// What `.` does not match, and what `$` may stand before at the end.
const TERMINATORS: &str = r"\n\r\x{85}\x{2028}\x{2029}";
/// A repetition of more is refused.
const MAX_REPEAT: u32 = 1000;

/// A pattern that matches what Java's matches.
struct Pattern {
    regex: Regex,
    /// It has a `$`: what it matches may be longer than in Java.
    ends: bool,
    /// A group is repeated, whose content engines do not agree on.
    repeats_group: bool,
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    /// Whether what was last read can be repeated.
    atom: bool,
    depth: usize,
    ends: bool,
    /// A line terminator can be matched by something else than `$`.
    terminators: bool,
    repeats_group: bool,
}

impl Translator<'_> {
    fn run(mut self) -> Option<Pattern> {
        while let Some(c) = self.rest.next() {
            self.next(c)?;
        }
        if self.depth > 0 || (self.ends && self.terminators) {
            return None;
        }
        Some(Pattern {
            regex: Regex::new(&self.out).ok()?,
            ends: self.ends,
            repeats_group: self.repeats_group,
        })
    }

    fn next(&mut self, c: char) -> Option<()> {
        match c {
            '\\' => {
                let class = self.escape()?;
                self.out.push_str(&class);
                self.atom = true;
            }
            '.' => {
                self.out.push_str(&format!("[^{TERMINATORS}]"));
                self.atom = true;
            }
            '^' => {
                self.out.push_str(r"\A");
                self.atom = false;
            }
            '$' => {
                self.out.push_str(&format!(r"(?:\r\n|[{TERMINATORS}])?\z"));
                (self.atom, self.ends) = (false, true);
            }
            '(' => {
                self.out.push('(');
                if self.rest.next_if_eq(&'?').is_some() {
                    self.rest.next_if_eq(&':')?;
                    self.out.push_str("?:");
                }
                (self.atom, self.depth) = (false, self.depth + 1);
            }
            ')' => {
                self.depth = self.depth.checked_sub(1)?;
                self.out.push(')');
                self.atom = true;
                self.repeats_group |= matches!(self.rest.peek(), Some('*' | '+' | '?' | '{'));
            }
            '|' => {
                self.out.push('|');
                self.atom = false;
            }
            '[' => self.class()?,
            '*' | '+' | '?' | '{' => self.repetition(c)?,
            c => {
                self.terminators |= is_terminator(c);
                self.out.push_str(&single(c));
                self.atom = true;
            }
        }
        Some(())
    }

    /// What stands behind a backslash, in a class or outside.
    fn escape(&mut self) -> Option<String> {
        let c = self.rest.next()?;
        let class = match c {
            'd' => "[0-9]",
            'w' => "[a-zA-Z0-9_]",
            's' => r"[ \t\n\x0B\f\r]",
            'D' => "[^0-9]",
            'W' => "[^a-zA-Z0-9_]",
            'S' => r"[^ \t\n\x0B\f\r]",
            't' => r"\t",
            'n' => r"\n",
            'r' => r"\r",
            'f' => r"\f",
            c if c.is_ascii_punctuation() => return Some(single(c)),
            _ => return None,
        };
        self.terminators |= matches!(c, 's' | 'D' | 'W' | 'S' | 'n' | 'r');
        Some(class.into())
    }

    fn class(&mut self) -> Option<()> {
        let mut class = String::from("[");
        if self.rest.next_if_eq(&'^').is_some() {
            class.push('^');
            self.terminators = true;
        }
        let mut empty = true;
        loop {
            let c = self.rest.next()?;
            match c {
                ']' if !empty => break,
                ']' | '[' | '&' | '^' => return None,
                '\\' => {
                    let of = self.escape()?;
                    // A range that begins or ends with an escape is rare and easily wrong.
                    if self.rest.peek() == Some(&'-') {
                        return None;
                    }
                    class.push_str(&of);
                }
                '-' if empty || self.rest.peek() == Some(&']') => class.push_str(&single('-')),
                '-' => return None,
                c => self.range(c, &mut class)?,
            }
            empty = false;
        }
        class.push(']');
        self.out.push_str(&class);
        self.atom = true;
        Some(())
    }

    fn range(&mut self, from: char, class: &mut String) -> Option<()> {
        self.terminators |= is_terminator(from);
        class.push_str(&single(from));
        let mut ahead = self.rest.clone();
        if ahead.next() != Some('-') || ahead.peek() == Some(&']') {
            return Some(());
        }
        let to = ahead
            .next()
            .filter(|to| *to >= from && !matches!(to, '\\' | '[' | '&' | '^' | '-'))?;
        self.rest = ahead;
        self.terminators |= !(from >= ' ' && to < '\u{85}');
        class.push('-');
        class.push_str(&single(to));
        Some(())
    }

    fn repetition(&mut self, c: char) -> Option<()> {
        if !self.atom {
            return None;
        }
        self.out.push(c);
        if c == '{' {
            let mut bounds = String::new();
            loop {
                match self.rest.next()? {
                    '}' => break,
                    c if c.is_ascii_digit() || c == ',' => bounds.push(c),
                    _ => return None,
                }
            }
            let (least, most) = bounds.split_once(',').unwrap_or((&bounds, &bounds));
            let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= MAX_REPEAT);
            let least = number(least)?;
            if !most.is_empty() && number(most)? < least {
                return None;
            }
            self.out.push_str(&bounds);
            self.out.push('}');
        }
        if self.rest.next_if_eq(&'?').is_some() {
            self.out.push('?');
        }
        self.atom = false;
        Some(())
    }
}

fn is_terminator(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn single(c: char) -> String {
    format!(r"\x{{{:x}}}", u32::from(c))
}

fn translate(pattern: &str) -> Option<Pattern> {
    let translator = Translator {
        rest: pattern.chars().peekable(),
        out: String::new(),
        atom: false,
        depth: 0,
        ends: false,
        terminators: false,
        repeats_group: false,
    };
    translator.run()
}

/// A pattern whose matches are those of Java one after the other: it matches no empty text and has no `$`.
fn searching(call: &FunctionCall<'_>, index: usize) -> Option<(Pattern, String)> {
    let Some(ScalarValue::Utf8(Some(text))) = call.literal(index) else {
        return None;
    };
    let pattern = translate(text).filter(|pattern| !pattern.ends && !pattern.regex.is_match(""))?;
    Some((pattern, text.clone()))
}

/// Spark's `RLIKE`. The pattern must be a literal of the part of Java's language that is translated.
///
/// # Errors
/// Any other pattern.
pub fn rlike(
    value: Arc<dyn PhysicalExpr>,
    value_type: &DataType,
    pattern: &Arc<dyn PhysicalExpr>,
) -> Result<Arc<dyn PhysicalExpr>, Unsupported> {
    let refuse = |reason: &str| Unsupported::new("RLIKE", reason);
    let text = match pattern.downcast_ref::<Literal>().map(Literal::value) {
        Some(ScalarValue::Utf8(Some(text))) if value_type == &UTF8 => text.clone(),
        Some(ScalarValue::Utf8(None)) => return Ok(Arc::new(Literal::new(ScalarValue::Boolean(None)))),
        _ => return Err(refuse("the pattern is no literal string")),
    };
    let found = translate(&text);
    let pattern =
        found.ok_or_else(|| refuse("the pattern uses what only Java's regular expressions have"))?;
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let matches = (0..rows).map(|row| arg.text(row).map(|text| pattern.regex.is_match(text)));
        Ok(Arc::new(matches.collect::<BooleanArray>()) as ArrayRef)
    };
    let kernel = Function::new("rlike", DataType::Boolean, body).with(text);
    Ok(SparkExpr::create(kernel, vec![value]))
}

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let kernel = match call.name {
        "regexp_replace" => replace(call),
        "regexp_extract" => extract(call),
        "regexp_extract_all" => extract_all(call),
        "split" => split(call),
        "split_sql" => split_sql(call),
        _ => return None,
    };
    let used = if call.name == "split_sql" { 2 } else { 1 };
    Some(kernel.map(|kernel| SparkExpr::create(kernel, call.args[..used].to_vec())))
}

/// `RegExpReplace` of all matches by a text without `$` and `\`, which would name groups.
fn replace(call: &FunctionCall<'_>) -> Option<Function> {
    let (pattern, text) = searching(call, 1)?;
    let Some(ScalarValue::Utf8(Some(by))) = call.literal(2) else {
        return None;
    };
    if call.args.len() != 4 || call.kind(0) != &UTF8 || by.contains(['$', '\\']) {
        return None;
    }
    let (by, detail) = (by.clone(), (text, by.clone()));
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        texts(rows, |row| {
            Ok(arg
                .text(row)
                .map(|text| pattern.regex.replace_all(text, NoExpand(&by))))
        })
    };
    Some(Function::new("regexp_replace", UTF8, body).with(detail))
}

/// The number of the group that a call wants, if the pattern has it.
fn group(call: &FunctionCall<'_>, pattern: &Pattern) -> Option<usize> {
    let Some(ScalarValue::Int32(Some(group))) = call.literal(2) else {
        return None;
    };
    let group = usize::try_from(*group).ok()?;
    let fine = group < pattern.regex.captures_len() && (group == 0 || !pattern.repeats_group);
    (fine && call.args.len() == 3 && call.kind(0) == &UTF8).then_some(group)
}

/// `RegExpExtract`: the group of the first match, an empty text for none.
fn extract(call: &FunctionCall<'_>) -> Option<Function> {
    let (pattern, text) = searching(call, 1)?;
    let group = group(call, &pattern)?;
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        let find = |text| pattern.regex.captures(text).and_then(|found| found.get(group));
        texts(rows, |row| {
            Ok(arg
                .text(row)
                .map(|text| find(text).map_or("", |found| found.as_str()).into()))
        })
    };
    Some(Function::new("regexp_extract", UTF8, body).with((text, group)))
}

/// `RegExpExtractAll`: the group of each match.
fn extract_all(call: &FunctionCall<'_>) -> Option<Function> {
    let (pattern, text) = searching(call, 1)?;
    let group = group(call, &pattern)?;
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        pieces(rows, |row, add| {
            let Some(text) = arg.text(row) else {
                return Ok(false);
            };
            let mut all = pattern.regex.captures_iter(text);
            all.try_for_each(|found| add(found.get(group).map_or("", |found| found.as_str())))?;
            Ok(true)
        })
    };
    Some(Function::new("regexp_extract_all", list_of(UTF8), body).with((text, group)))
}

/// `StringSplit`: at most as many parts as a positive limit says.
fn split(call: &FunctionCall<'_>) -> Option<Function> {
    let (pattern, text) = searching(call, 1)?;
    let Some(ScalarValue::Int32(Some(limit))) = call.literal(2) else {
        return None;
    };
    if call.args.len() != 3 || call.kind(0) != &UTF8 {
        return None;
    }
    let detail = (text, *limit);
    let most = usize::try_from(*limit)
        .ok()
        .filter(|most| *most > 0)
        .unwrap_or(usize::MAX);
    let body = move |args: &[ColumnarValue], rows: usize| {
        let arg = Arg::new(&args[0])?;
        pieces(rows, |row, add| {
            let Some(text) = arg.text(row) else {
                return Ok(false);
            };
            pattern.regex.splitn(text, most).try_for_each(add)?;
            Ok(true)
        })
    };
    Some(Function::new("split", list_of(UTF8), body).with(detail))
}

/// `StringSplitSQL`: by a text that is no pattern; by an empty one not at all.
fn split_sql(call: &FunctionCall<'_>) -> Option<Function> {
    let body = |args: &[ColumnarValue], rows: usize| {
        let args = Arg::all(args)?;
        pieces(rows, |row, add| {
            let (Some(text), Some(delimiter)) = (args[0].text(row), args[1].text(row)) else {
                return Ok(false);
            };
            if delimiter.is_empty() {
                add(text)?;
            } else {
                text.split(delimiter).try_for_each(add)?;
            }
            Ok(true)
        })
    };
    call.kinds(&[UTF8, UTF8])
        .then(|| Function::new("split_sql", list_of(UTF8), body))
}

/// Arrays of texts: `row` adds those of a row and says whether it is not NULL.
fn pieces(
    rows: usize,
    mut row: impl FnMut(usize, &mut dyn FnMut(&str) -> Result<()>) -> Result<bool>,
) -> Result<ArrayRef> {
    let mut values = Bytes::new(rows);
    let (mut offsets, mut valid, mut count) = (vec![0], vec![], 0_i32);
    for at in 0..rows {
        let mut add = |text: &str| {
            count = count.saturating_add(1);
            values.push(Some(text.as_bytes()))
        };
        valid.push(row(at, &mut add)?);
        offsets.push(count);
    }
    let field = Arc::new(Field::new("item", UTF8, true));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let nulls = valid.contains(&false).then(|| valid.into());
    Ok(Arc::new(ListArray::try_new(
        field,
        offsets,
        values.strings()?,
        nulls,
    )?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_java_has_is_refused() {
        for pattern in [
            r"\bword", "(?i)a", r"(a)\1", "a*+", "(?=a)", "(?<n>a)", r"\p{L}", "[a&&b]", "[[a]]", "a{2000}",
            "*a", r"\u0041", "a++", "[^a]$", r"\s$", "(a", "a)", "[]", r"\Q.\E", "a{,3}",
        ] {
            assert!(translate(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn lines_end_as_in_java() {
        let matches = |pattern: &str, text: &str| translate(pattern).is_some_and(|p| p.regex.is_match(text));
        for end in ["", "\n", "\r\n", "\r", "\u{85}", "\u{2028}"] {
            assert!(matches("^a.c$", &format!("abc{end}")), "{end:?}");
            assert!(!matches("^abc$", &format!("abc{end}\n\n")));
        }
        assert!(!matches("^a.c$", "a\rc"));
        assert!(!matches(r"^\d$", "٣"));
        assert!(matches("[a-c-]x", "-x"));
    }
}
