//! Parses the values of literals: numbers, and strings with their escapes.

use model::Value;

/// An invalid string literal: the wrong bytes, a message, and a hint.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadText {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

/// Value of an integer: digits with `_` anywhere, after an optional `0x`, `0o` or `0b`. `None` if
/// it is too large or contains an invalid digit.
pub(crate) fn int(written: &str, negative: bool) -> Option<Value> {
    let (digits, radix) = match written.get(..2) {
        Some("0x") => (&written[2..], 16),
        Some("0o") => (&written[2..], 8),
        Some("0b") => (&written[2..], 2),
        _ => (written, 10),
    };
    let mut int = 0_i128;
    for digit in digits.chars().filter(|&c| c != '_') {
        int = int.checked_mul(radix.into())?.checked_add(digit.to_digit(radix)?.into())?;
    }
    if negative {
        return i64::try_from(-int).ok().map(Value::Int);
    }
    u64::try_from(int).ok().map(Value::id)
}

/// The first digit that is invalid in an octal or binary number, and which of them it is.
pub(crate) fn odd_digit(written: &str) -> Option<(char, &'static str)> {
    let (radix, kind) = match written.get(..2) {
        Some("0o") => (8, "octal"),
        Some("0b") => (2, "binary"),
        _ => return None,
    };
    let odd = written.chars().skip(2).find(|&c| c != '_' && !c.is_digit(radix))?;
    Some((odd, kind))
}

/// Value of a float, in Rust's syntax after removing `_`.
pub(crate) fn float(written: &str, negative: bool) -> Option<Value> {
    let float: f64 = written.replace('_', "").parse().ok()?;
    Some(Value::Float(if negative { -float } else { float }))
}

/// Content of a raw string, `_"…"_`.
pub(crate) fn raw(written: &str) -> String {
    let edge = written.bytes().take_while(|&byte| byte == b'_').count() + 1;
    let end = written.len().saturating_sub(edge);
    written.get(edge..end).unwrap_or_default().to_owned()
}

/// Value of a string literal, `"…"` or `'…'`.
pub(crate) fn quoted(written: &str) -> Result<String, BadText> {
    let body = written.get(1..written.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::with_capacity(body.len());
    let mut at = 0;
    while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.find('\\').unwrap_or(rest.len());
        text.push_str(&rest[..plain]);
        at += plain;
        if plain < rest.len() {
            let (c, len) = escape(&rest[plain..]).map_err(|(len, message, hint)| BadText {
                start: 1 + at,
                end: 1 + at + len,
                message,
                hint,
            })?;
            text.push(c);
            at += len;
        }
    }
    Ok(text)
}

/// The character of an escape sequence and the sequence's length in bytes. The error has the length
/// of the wrong bytes, a message and a hint.
fn escape(text: &str) -> Result<(char, usize), (usize, String, &'static str)> {
    let Some(c) = text.chars().nth(1) else {
        return Err((1, "a backslash at the end of a text".to_owned(), "write `\\\\`"));
    };
    let plain = match c {
        '"' | '\'' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return unicode(text),
        _ => {
            let message = format!("unknown escape `\\{c}`");
            let hint = "for a backslash write `\\\\`, or the text as `_\"…\"_`, without escapes";
            return Err((1 + c.len_utf8(), message, hint));
        }
    };
    Ok((plain, 1 + c.len_utf8()))
}

/// `\uXXXX`, or two of them that form a surrogate pair.
fn unicode(text: &str) -> Result<(char, usize), (usize, String, &'static str)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        u16::from_str_radix(digits, 16).ok().filter(|_| hex)
    };
    let Some(first) = unit(0) else {
        return Err((2, "expected four hexadecimal digits after `\\u`".to_owned(), ""));
    };
    if let Some(c) = char::from_u32(first.into()) {
        return Ok((c, 6));
    }
    let pair = unit(6).map(|second| [first, second]);
    match pair.and_then(|pair| char::decode_utf16(pair).next()?.ok()) {
        Some(c) => Ok((c, 12)),
        None => Err((6, format!("`\\u{first:04x}` is half of a character"), "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_has_64_bits_with_or_without_sign() {
        for (written, negative, want) in [
            ("1_000", false, Some(Value::Int(1000))),
            ("0xff", false, Some(Value::Int(255))),
            ("0o17", true, Some(Value::Int(-15))),
            ("0b1_01", false, Some(Value::Int(5))),
            ("007", false, Some(Value::Int(7))),
            ("9223372036854775808", true, Some(Value::Int(i64::MIN))),
            ("18446744073709551615", false, Some(Value::Id(u64::MAX))),
            ("18446744073709551616", false, None),
            ("9223372036854775809", true, None),
            ("0b12", false, None),
        ] {
            assert_eq!(int(written, negative), want, "{written}");
        }
        assert_eq!(int(&"9".repeat(1000), false), None);
    }

    #[test]
    fn a_raw_text_holds_quotes_and_backslashes_as_they_stand() {
        for (written, want) in
            [("_\"a\\n\"_", "a\\n"), ("__\"\"a\"_\"\"__", "\"a\"_\""), ("_\"\"_", "")]
        {
            assert_eq!(raw(written), want, "{written}");
        }
    }

    #[test]
    fn an_escape_is_read_as_json_reads_it() {
        for (written, want) in [
            (r#""a\n\t\"\/\\""#, Ok("a\n\t\"/\\")),
            (r"'\'é\u00e9'", Ok("'éé")),
            (r"'\ud83d\ude00!'", Ok("😀!")),
            ("''", Ok("")),
            (r"'é\d'", Err((3, 5))),
            (r"'\u12'", Err((1, 3))),
            (r"'\ud83dx'", Err((1, 7))),
        ] {
            let found = quoted(written);
            let found = found.as_deref().map_err(|bad| (bad.start, bad.end));
            assert_eq!(found, want, "{written}");
        }
    }
}
