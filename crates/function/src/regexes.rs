//! Regular expressions in the syntax of the `regex` crate: linear time, without look-around and
//! back-references.
//!
//! # Why there is a cache
//! A value cannot hold a compiled expression, and compiling takes thousands of times longer than
//! matching a short string. Each thread caches the most recently used expressions, so that a
//! pattern in a query over a million rows is compiled once.
//!
//! # Why compilation is in steps
//! The size of a compiled expression is not known in advance: `^\w{1,128}$` takes some megabytes,
//! because `\w` covers 140,000 letters. So compilation is tried with a small size limit first, then
//! with larger ones. Each larger limit is charged to the query's memory before it is tried.

use crate::budget::{Growing, bytes_of, request_memory, reserve};
use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use base::STEPS;
use model::Value;
use regex::Regex;
use std::cell::RefCell;

/// Maximum length in bytes of a string that is built from shorter ones, by replacements.
pub const TEXT_BYTES_MAX: usize = 1 << 28;

/// Maximum number of expressions in the cache of a thread.
const KEPT_MAX: usize = 16;

/// Number of matches between two requests for memory.
const PART_ITEMS: usize = 1024;

/// Size limits that compilation tries in turn, in bytes. The last one is the default of the crate
/// `regex`.
const COMPILED_BYTES: [usize; 4] = [256 << 10, 1 << 20, 4 << 20, COMPILED_BYTES_MAX];

/// Maximum size of a compiled expression in bytes.
const COMPILED_BYTES_MAX: usize = 10 << 20;

/// Maximum total size in bytes of the expressions in a thread's cache. The most recently used one
/// is not counted.
const KEPT_BYTES_MAX: usize = 8 << 20;

/// A compiled expression and the size limit with which it was compiled.
struct Kept {
    regex: Regex,
    bytes: usize,
}

thread_local! {
    /// Cached expressions, the most recently used last.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The compiled expression of the second argument.
fn compiled(call: Call<'_>, context: &dyn FunctionContext) -> Result<Regex, Failure> {
    let pattern = call.text(1)?;
    KEPT.with_borrow_mut(|kept| {
        let last = match kept.iter().rposition(|one| one.regex.as_str() == pattern) {
            Some(i) => kept.remove(i),
            None => compile(call, pattern, context)?,
        };
        let regex = last.regex.clone();
        let mut bytes: usize = kept.iter().map(|one| one.bytes).sum();
        while kept.len() >= KEPT_MAX || bytes > KEPT_BYTES_MAX && !kept.is_empty() {
            bytes -= kept.remove(0).bytes;
        }
        kept.push(last);
        Ok(regex)
    })
}

fn compile(call: Call<'_>, pattern: &str, context: &dyn FunctionContext) -> Result<Kept, Failure> {
    for (step, bytes) in COMPILED_BYTES.into_iter().enumerate() {
        // Most expressions fit in the first limit, and each thread caches few of them, so it is not
        // charged.
        if step > 0 {
            request_memory(bytes as u64, context)?;
        }
        match regex::RegexBuilder::new(pattern).size_limit(bytes).build() {
            Ok(regex) => return Ok(Kept { regex, bytes }),
            Err(regex::Error::CompiledTooBig(_)) => {}
            Err(error) => {
                return Err(call.fail(format_args!("not a regular expression: {error}")));
            }
        }
    }
    let what = format_args!(
        "the regular expression takes more than {COMPILED_BYTES_MAX} bytes once it is compiled"
    );
    let hint = "repeat less often, or write [0-9A-Za-z_] for \\w and [0-9] for \\d: those that know all scripts are long";
    Err(call.fail(what).hint(hint))
}

/// A compiled regular expression, for many texts.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl Pattern {
    /// Compiles an expression, as `regex_matches` does.
    ///
    /// # Errors
    /// It is not an expression, or takes too much memory; those of `context`.
    pub fn new(pattern: &str, context: &dyn FunctionContext) -> Result<Self, Failure> {
        let args = [Value::Null, Value::Str(pattern.to_owned())];
        compiled(Call::new("regex_matches", &args), context).map(Self)
    }

    /// Whether a text has a match.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

pub(crate) fn regex_matches(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("regex_matches", args);
    let text = call.text(0)?;
    Ok(Value::Bool(compiled(call, context)?.is_match(text)))
}

pub(crate) fn regex_replace(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    replace(Call::new("regex_replace", args), 1, context)
}

pub(crate) fn regex_replace_all(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    replace(Call::new("regex_replace_all", args), usize::MAX, context)
}

/// Replaces up to `count` matches. `$1`, `${1}` and `${name}` in the replacement refer to groups.
fn replace(call: Call<'_>, count: usize, context: &dyn FunctionContext) -> Result<Value, Failure> {
    let (text, replacement) = (call.text(0)?, call.text(2)?);
    let regex = compiled(call, context)?;
    let groups = replacement.matches('$').count();
    let mut found = Growing::new(context);
    let mut copied = 0;
    for (number, captures) in regex.captures_iter(text).take(count).enumerate() {
        if number % STEPS == STEPS - 1 {
            context.check_cancelled()?;
        }
        let Some(whole) = captures.get(0) else { continue };
        found.push_str(text.get(copied..whole.start()).unwrap_or_default())?;
        copied = whole.end();
        // A group is at most as long as the match.
        let longest = replacement.len() as u128 + groups as u128 * whole.len() as u128;
        if found.len() as u128 + longest > TEXT_BYTES_MAX as u128 {
            return Err(
                call.fail(format_args!("the result would be longer than {TEXT_BYTES_MAX} bytes"))
            );
        }
        found.expect(longest as usize)?;
        captures.expand(replacement, found.text());
    }
    found.push_str(text.get(copied..).unwrap_or_default())?;
    Ok(Value::Str(found.finish()))
}

/// All non-overlapping matches.
pub(crate) fn regex_extract(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("regex_extract", args);
    let text = call.text(0)?;
    let regex = compiled(call, context)?;
    let mut matches = regex.find_iter(text).peekable();
    let mut found = Vec::new();
    while matches.peek().is_some() {
        // In parts, because the number of matches is not known in advance.
        let part: Vec<Value> = matches
            .by_ref()
            .take(PART_ITEMS)
            .map(|found| Value::Str(found.as_str().to_owned()))
            .collect();
        call.check_items((found.len() + part.len()) as u128)?;
        context.request_memory(part.iter().map(bytes_of).sum())?;
        let more = if found.capacity() - found.len() < part.len() {
            part.len().max(found.capacity())
        } else {
            0
        };
        reserve(&mut found, more, context)?;
        found.extend(part);
    }
    Ok(Value::List(found))
}

/// The first match; null if there is none.
pub(crate) fn regex_extract_first(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("regex_extract_first", args);
    let text = call.text(0)?;
    let regex = compiled(call, context)?;
    let found = regex.find(text).map(|found| Value::Str(found.as_str().to_owned()));
    Ok(found.unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::{check, context, evaluate, table};

    #[test]
    fn regular_expressions_match_extract_and_replace() {
        table(
            "regex_matches('abc', 'b') => true
         regex_matches('abc', null) => regex_matches: expected a string as argument 2, found null
         regex_replace('aXbX', 'X', 'Y') => \"aYbX\"
         regex_replace_all('aXbX', '([a-b])X', '$1-') => \"a-b-\"
         regex_replace_all('abc', '', '-') => \"-a-b-c-\"
         regex_extract('abcXYZ1', '[a-z]|1') => [\"a\", \"b\", \"c\", \"1\"]
         regex_extract_first('abc', 'b.') => \"bc\"
         regex_extract_first('abc', 'x') => null",
        );
        assert!(evaluate("regex_matches('abc', '(')").is_err());
        let failure = evaluate("regex_matches('abc', '(((a{100}){100}){100}){100}')").unwrap_err();
        let wanted = "takes more than 10485760 bytes once it is compiled";
        assert!(failure.message.contains(wanted), "{failure:?}");
        // A common pattern that takes some megabytes.
        let matches = lookup("regex_matches").unwrap();
        for (text, found) in [("abc", true), ("a b", false)] {
            let args = [text, r"^\w{1,128}$"].map(|text| Value::Str(text.to_owned()));
            assert_eq!(matches.apply(&args, &context()), Ok(Value::Bool(found)));
        }
        // More patterns than the cache holds, twice.
        for i in (0..40).chain(0..40) {
            check(&format!("regex_matches('{i}', '^{i}$')"), "true");
        }
    }

    #[test]
    fn a_replacement_cannot_fill_the_memory() {
        let text = |text: String| Value::Str(text);
        let args = [text("a".repeat(100_000)), text("a+".to_owned()), text("$0".repeat(100_000))];
        let failure = lookup("regex_replace_all").unwrap().apply(&args, &context()).unwrap_err();
        assert_eq!(
            failure.message,
            "regex_replace_all: the result would be longer than 268435456 bytes"
        );
    }
}
