//! Functions on strings. Positions and lengths are counted in characters.

use crate::budget::{Growing, UNASKED_BYTES, reserve};
use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use model::Value;
use unicode_normalization::UnicodeNormalization;

/// Estimated allocation for a string of one character, in bytes.
const CHAR_BYTES: u64 = 32;

/// Applies a function from string to string.
pub(crate) fn changed(
    name: &'static str,
    args: &[Value],
    change: fn(&str) -> String,
) -> Result<Value, Failure> {
    Ok(Value::Str(change(Call::new(name, args).text(0)?)))
}

pub(crate) fn str_includes(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("str_includes", args);
    Ok(Value::Bool(call.text(0)?.contains(call.text(1)?)))
}

pub(crate) fn starts_with(args: &[Value]) -> Result<Value, Failure> {
    edge(Call::new("starts_with", args), |text, part| text.starts_with(part))
}

pub(crate) fn ends_with(args: &[Value]) -> Result<Value, Failure> {
    edge(Call::new("ends_with", args), |text, part| text.ends_with(part))
}

/// Prefixes and suffixes of UTF-8 can be compared as bytes.
fn edge(call: Call<'_>, holds: fn(&[u8], &[u8]) -> bool) -> Result<Value, Failure> {
    match (call.value(0), call.value(1)) {
        (Value::Str(text), Value::Str(part)) => {
            Ok(Value::Bool(holds(text.as_bytes(), part.as_bytes())))
        }
        (Value::Bytes(text), Value::Bytes(part)) => Ok(Value::Bool(holds(text, part))),
        (Value::Str(_), _) => Err(call.refuse(1, "a string")),
        (Value::Bytes(_), _) => Err(call.refuse(1, "bytes")),
        _ => Err(call.refuse(0, "a string or bytes")),
    }
}

pub(crate) fn unicode_normalize(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("unicode_normalize", args);
    let text = call.text(0)?;
    match call.text(1)? {
        "nfc" => gathered(text.nfc(), context),
        "nfd" => gathered(text.nfd(), context),
        "nfkc" => gathered(text.nfkc(), context),
        "nfkd" => gathered(text.nfkd(), context),
        _ => Err(call.refuse(1, "\"nfc\", \"nfd\", \"nfkc\" or \"nfkd\"")),
    }
}

/// Collects characters whose number is not known in advance.
fn gathered(
    chars: impl Iterator<Item = char>,
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let mut chars = chars.peekable();
    let mut text = Growing::new(context);
    while chars.peek().is_some() {
        let some = (UNASKED_BYTES / 4) as usize;
        text.expect(4 * some)?;
        text.text().extend(chars.by_ref().take(some));
    }
    Ok(Value::Str(text.finish()))
}

pub(crate) fn chars(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("chars", args);
    let text = call.text(0)?;
    let count = text.chars().count();
    call.check_items(count as u128)?;
    let mut chars = Vec::new();
    // Each string has an allocation besides its value.
    crate::budget::request_memory(CHAR_BYTES * count as u64, context)?;
    reserve(&mut chars, count, context)?;
    chars.extend(text.chars().map(|c| Value::Str(c.to_string())));
    Ok(Value::List(chars))
}

pub(crate) fn from_substrings(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("from_substrings", args);
    let mut text = Growing::new(context);
    for part in call.list(0)? {
        match part {
            Value::Str(part) => text.push_str(part)?,
            other => return Err(call.refuse_operand(other, "a list of strings")),
        }
    }
    Ok(Value::Str(text.finish()))
}

/// The characters from one position up to another, exclusive. Positions past the end are clipped.
pub(crate) fn slice_string(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("slice_string", args);
    let text = call.text(0)?;
    let from = usize::try_from(call.int(1)?).map_err(|_| call.refuse(1, "an integer from 0"))?;
    let to = usize::try_from(call.int(2)?).ok().filter(|&to| to >= from);
    let to = to.ok_or_else(|| call.refuse(2, "an integer not below argument 2"))?;
    // The byte position of character `at`.
    let place = |text: &str, at: usize| text.char_indices().nth(at).map_or(text.len(), |one| one.0);
    let (_, rest) = text.split_at(place(text, from));
    let (found, _) = rest.split_at(place(rest, to - from));
    Ok(Value::Str(found.to_owned()))
}

/// Converts traditional to simplified Chinese with the crate `fast2s`. Other values are returned
/// unchanged.
pub(crate) fn t2s(args: &[Value]) -> Result<Value, Failure> {
    Ok(match Call::new("t2s", args).value(0) {
        Value::Str(text) => Value::Str(fast2s::convert(text)),
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn strings_count_characters() {
        table(
            "length('héllo') => 5
         length([1, 2]) => 2
         length(null) => length: expected a list, a string, bytes or a vector, found null
         concat('a', 'b') => \"ab\"
         concat('a', 1) => concat: expected a string as argument 2, found an Int (1)
         concat([1], [2]) => [1, 2]
         concat(1) => concat: expected a string, a list or JSON, found an Int (1)
         str_includes('abc', 'b') => true
         lowercase('ÀB') => \"àb\"
         uppercase('ß') => \"SS\"
         trim('\u{3000}a ') => \"a\"
         trim_start(' a ') => \"a \"
         trim_end(' a ') => \" a\"
         starts_with('abc', 'ab') => true
         ends_with('abc', 'ab') => false
         ends_with('abc', 1) => ends_with: expected a string as argument 2, found an Int (1)
         starts_with(decode_base64('AQI='), decode_base64('AQ==')) => true
         length(unicode_normalize('\u{e9}', 'nfd')) => 2
         unicode_normalize('e', 'x') => unicode_normalize: expected \"nfc\", \"nfd\", \"nfkc\" or \"nfkd\" as argument 2, found a String (\"x\")
         chars('añ') => [\"a\", \"ñ\"]
         from_substrings(['a', 'b']) => \"ab\"
         from_substrings(['a', 1]) => from_substrings: expected a list of strings, found an Int (1)
         slice_string('héllo', 1, 3) => \"él\"
         slice_string('abc', 1, 10) => \"bc\"
         slice_string('abc', 2, 1) => slice_string: expected an integer not below argument 2 as argument 3, found an Int (1)
         t2s('é') => \"é\"
         t2s('乾隆的乾兒子說漢語') => \"乾隆的干儿子说汉语\"
         t2s('') => \"\"
         t2s(1) => 1",
        );
    }
}
