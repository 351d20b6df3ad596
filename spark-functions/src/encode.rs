//! Functions of bytes: their texts, digests and checksums.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array};
use arrow::datatypes::{DataType, Int32Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::ColumnarValue;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::functions::{Built, FunctionCall};
use crate::row::{Function, SparkExpr};
use crate::vector::{Arg, Bytes, texts};

const UTF8: DataType = DataType::Utf8;
const BINARY: DataType = DataType::Binary;

type Text = fn(&[u8]) -> String;

/// The functions of this module; `None` for a name that is not one of them.
pub(crate) fn build(call: &FunctionCall<'_>) -> Option<Built> {
    let bytes = matches!(call.kind(0), DataType::Utf8 | DataType::Binary);
    let (kernel, used) = match (call.name, call.args.len()) {
        ("length" | "bit_length" | "octet_length", 1) if call.name != "length" || call.kind(0) == &BINARY => {
            let (name, bits) = match call.name {
                "bit_length" => ("bit_length", 8),
                _ => ("octet_length", 1),
            };
            (bytes.then(|| lengths(name, bits)), 1)
        }
        ("hex", 1) if call.kind(0) == &DataType::Int64 => (Some(Function::new("hex", UTF8, hex_of_long)), 1),
        ("hex", 1) => (
            bytes.then(|| of_bytes("hex", |bytes| hex(bytes, b"0123456789ABCDEF"))),
            1,
        ),
        ("unhex", 2) => {
            let fine = call.kind(0) == &UTF8 && call.flag(1) == Some(false);
            (fine.then(|| Function::new("unhex", BINARY, unhex).nullable()), 1)
        }
        ("bin", 1) => (
            call.kinds(&[DataType::Int64])
                .then(|| Function::new("bin", UTF8, bin)),
            1,
        ),
        ("base64", 2) => {
            let lines = call.flag(1);
            let encode: Text = match lines {
                Some(true) => |bytes| base64(bytes, true),
                _ => |bytes| base64(bytes, false),
            };
            let fine = call.kind(0) == &BINARY && lines.is_some();
            (fine.then(|| of_bytes("base64", encode).with(lines)), 1)
        }
        ("md5", 1) => (
            (call.kind(0) == &BINARY).then(|| of_bytes("md5", digest::<Md5>)),
            1,
        ),
        ("sha1", 1) => (
            (call.kind(0) == &BINARY).then(|| of_bytes("sha1", digest::<Sha1>)),
            1,
        ),
        ("sha2", 2) if call.kind(0) == &BINARY => (sha2(call), 1),
        ("crc32", 1) => (
            (call.kind(0) == &BINARY).then(|| Function::new("crc32", DataType::Int64, crc32)),
            1,
        ),
        ("substring", 3) if call.kinds(&[BINARY, DataType::Int32, DataType::Int32]) => {
            (Some(Function::new("substring", BINARY, substring)), 3)
        }
        (
            "bit_length" | "octet_length" | "hex" | "unhex" | "bin" | "base64" | "md5" | "sha1" | "sha2"
            | "crc32",
            _,
        ) => return Some(None),
        _ => return None,
    };
    Some(kernel.map(|kernel| SparkExpr::create(kernel, call.args[..used].to_vec())))
}

fn of_bytes(name: &'static str, f: Text) -> Function {
    Function::new(name, UTF8, move |args, rows| {
        let arg = Arg::new(&args[0])?;
        texts(rows, |row| Ok(arg.bytes(row).map(|bytes| f(bytes).into())))
    })
}

fn lengths(name: &'static str, bits: i32) -> Function {
    Function::new(name, DataType::Int32, move |args, rows| {
        let arg = Arg::new(&args[0])?;
        let length = |bytes: &[u8]| i32::try_from(bytes.len()).unwrap_or(i32::MAX).wrapping_mul(bits);
        let all: Int32Array = (0..rows).map(|row| arg.bytes(row).map(length)).collect();
        Ok(Arc::new(all) as ArrayRef)
    })
}

fn hex(bytes: &[u8], digits: &[u8; 16]) -> String {
    let digit = |nibble: u8| char::from(digits[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

fn hex_of_long(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let arg = Arg::new(&args[0])?;
    texts(rows, |row| {
        Ok(arg
            .number::<Int64Type>(row)
            .map(|value| format!("{value:X}").into()))
    })
}

fn bin(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let arg = Arg::new(&args[0])?;
    texts(rows, |row| {
        Ok(arg
            .number::<Int64Type>(row)
            .map(|value| format!("{value:b}").into()))
    })
}

/// `Unhex`: an odd number of digits is one with a leading zero; NULL for anything else than digits.
fn unhex(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let arg = Arg::new(&args[0])?;
    let mut out = Bytes::new(rows);
    for row in 0..rows {
        let decoded = arg.bytes(row).and_then(|digits| {
            let value = |digit: u8| char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok());
            let (odd, pairs) = digits.split_at(digits.len() % 2);
            let odd = odd.iter().map(|digit| value(*digit));
            let pairs = pairs
                .chunks_exact(2)
                .map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?));
            odd.chain(pairs).collect::<Option<Vec<u8>>>()
        });
        out.push(decoded.as_deref())?;
    }
    out.binary()
}

/// `ByteArray.subStringSQL`: as of strings, by bytes.
fn substring(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let args = Arg::all(args)?;
    let mut out = Bytes::new(rows);
    for row in 0..rows {
        let parts = (
            args[0].bytes(row),
            args[1].number::<Int32Type>(row),
            args[2].number::<Int32Type>(row),
        );
        let (Some(bytes), Some(position), Some(length)) = parts else {
            out.push(None)?;
            continue;
        };
        let all = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let start = match i64::from(position) {
            position @ 1.. => position - 1,
            0 => 0,
            back => all + back,
        };
        let end = (start + i64::from(length)).min(all);
        let at = |position: i64| usize::try_from(position).unwrap_or(0);
        out.push(Some(bytes.get(at(start)..at(end)).unwrap_or_default()))?;
    }
    out.binary()
}

/// Base 64 with padding; `lines` are of 76 characters with CR and LF between them, as MIME has it.
fn base64(bytes: &[u8], lines: bool) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for (group, part) in bytes.chunks(3).enumerate() {
        if lines && group > 0 && group % 19 == 0 {
            out.push_str("\r\n");
        }
        let byte = |index: usize| part.get(index).copied().map_or(0, u32::from);
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4_usize {
            let digit = DIGITS[(word >> (18 - 6 * index) & 63) as usize];
            out.push(if index <= part.len() {
                char::from(digit)
            } else {
                '='
            });
        }
    }
    out
}

fn digest<D: Digest>(bytes: &[u8]) -> String {
    hex(&D::digest(bytes), b"0123456789abcdef")
}

/// `Sha2`: NULL for a length that there is no digest of.
fn sha2(call: &FunctionCall<'_>) -> Option<Function> {
    let bits = match call.literal(1)? {
        ScalarValue::Int32(Some(bits)) => *bits,
        _ => return None,
    };
    let f: Text = match bits {
        224 => digest::<Sha224>,
        0 | 256 => digest::<Sha256>,
        384 => digest::<Sha384>,
        512 => digest::<Sha512>,
        _ => {
            let none = |_: &[ColumnarValue], rows| Ok(arrow::array::new_null_array(&UTF8, rows));
            return Some(Function::new("sha2", UTF8, none).with(bits).nullable());
        }
    };
    Some(of_bytes("sha2", f).with(bits))
}

fn crc32(args: &[ColumnarValue], rows: usize) -> Result<ArrayRef> {
    let arg = Arg::new(&args[0])?;
    let all: Int64Array = (0..rows)
        .map(|row| arg.bytes(row).map(|bytes| i64::from(crc32fast::hash(bytes))))
        .collect();
    Ok(Arc::new(all))
}
