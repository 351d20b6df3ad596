//! Number and boolean syntax as Spark and Java read it.

use crate::decimal::POW10;
use crate::time::parse::trim_all;

/// `UTF8String.toLong` (`fraction` allows and drops digits after a point) and `toLongExact`.
pub(crate) fn integer(text: &str, fraction: bool) -> Option<i64> {
    let text = trim_all(text);
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (whole, rest) = match digits.split_once('.') {
        Some((whole, rest)) if fraction => (whole, rest),
        Some(_) => return None,
        None => (digits, ""),
    };
    let decimal = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if digits.is_empty() || !decimal(whole) || !decimal(rest) {
        return None;
    }
    let value = whole.bytes().try_fold(0_i64, |sum, digit| {
        sum.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))
    })?;
    if negative {
        Some(value)
    } else {
        value.checked_neg()
    }
}

/// A decimal number: digits and the power of ten of the last one.
#[derive(Debug)]
pub(crate) struct Digits {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Digits {
    /// Syntax of Java's `BigDecimal(String)` over ASCII digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
                if digits.is_empty() || digits.len() > 10 || !digits.bytes().all(|b| b.is_ascii_digit()) {
                    return None;
                }
                (mantissa, exponent.parse::<i64>().ok()?)
            }
            None => (text, 0),
        };
        let negative = mantissa.starts_with('-');
        let mantissa = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.len() + fraction.len() == 0 {
            return None;
        }
        let mut digits = Vec::with_capacity(whole.len() + fraction.len());
        for digit in whole.bytes().chain(fraction.bytes()) {
            if !digit.is_ascii_digit() {
                return None;
            }
            if !(digits.is_empty() && digit == b'0') {
                digits.push(digit - b'0');
            }
        }
        Some(Self {
            negative,
            digits,
            exponent: exponent - i64::try_from(fraction.len()).ok()?,
        })
    }

    /// Digits before the point.
    pub(crate) fn whole_digits(&self) -> i64 {
        i64::try_from(self.digits.len())
            .unwrap_or(i64::MAX)
            .saturating_add(self.exponent)
    }

    /// The unscaled value at `scale`, rounded half up; `None` beyond 38 digits.
    pub(crate) fn unscaled(&self, scale: i8) -> Option<i128> {
        if self.digits.is_empty() {
            return Some(0);
        }
        let shift = self.exponent + i64::from(scale);
        let length = i64::try_from(self.digits.len()).ok()?;
        if length + shift > 38 {
            return None;
        }
        if length + shift < 0 {
            return Some(0);
        }
        let kept = usize::try_from((length + shift).min(length)).ok()?;
        let mut value = self.digits[..kept]
            .iter()
            .fold(0_i128, |sum, digit| sum * 10 + i128::from(*digit));
        if shift >= 0 {
            value *= POW10[usize::try_from(shift).ok()?];
        } else if self.digits.get(kept).is_some_and(|digit| *digit >= 5) {
            value += 1;
        }
        Some(if self.negative { -value } else { value })
    }

    /// All digits with their scale, for messages.
    pub(crate) fn plain(&self) -> (String, i32) {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let digits = if digits.is_empty() { "0".to_owned() } else { digits };
        (
            format!("{sign}{digits}"),
            i32::try_from(-self.exponent).unwrap_or(0),
        )
    }
}

/// What Java's `Double.parseDouble` and Spark's special names accept, as text that Rust parses.
pub(crate) fn float_text(text: &str) -> Option<String> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let lower = trimmed.to_ascii_lowercase();
    match lower.as_str() {
        "inf" | "+inf" | "infinity" | "+infinity" => return Some("inf".into()),
        "-inf" | "-infinity" => return Some("-inf".into()),
        "nan" => return Some("nan".into()),
        _ => {}
    }
    if matches!(trimmed, "+NaN" | "-NaN") {
        return Some("nan".into());
    }
    let number = lower.strip_suffix(['d', 'f']).unwrap_or(&lower);
    Digits::parse_loose(number).then(|| number.to_owned())
}

/// Whether Java may read the text as a hexadecimal number, which has an exponent after `p`.
pub(crate) fn is_hexadecimal(text: &str) -> bool {
    let lower = text.trim_matches(|c: char| c <= ' ').to_ascii_lowercase();
    let number = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    number.starts_with("0x") && number.contains('p')
}

impl Digits {
    fn parse_loose(text: &str) -> bool {
        let (mantissa, exponent) = text.split_once('e').map_or((text, None), |(m, e)| (m, Some(e)));
        let exponent_fine = exponent.is_none_or(|exponent| {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
        });
        let mantissa = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        exponent_fine
            && whole.len() + fraction.len() > 0
            && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
    }
}

/// `StringUtils.isTrueString` and `isFalseString`.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match trim_all(text).to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A double in the manner of Java, for messages only (the shortest digits, which Java gives since version 19).
pub(crate) fn java_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 {
            "Infinity".into()
        } else {
            "-Infinity".into()
        };
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        return format!("{value:?}");
    }
    let text = format!("{value:E}");
    if text.contains('.') {
        text
    } else {
        text.replacen('E', ".0E", 1)
    }
}
