//! Regular expressions, in the syntax of the crate `regex`: linear time, no look-around, no back-references.
//!
//! # Why a cache
//! A value cannot hold a compiled expression, and compiling costs thousands of times what matching a short string does. Each thread
//! keeps the few last used; one pattern of a query over a million rows is compiled once.

use crate::budget::{Growing, bytes_of, reserve};
use crate::call::Call;
use crate::{Ambient, Failure, TEXT_BYTES_MAX};
use base::STEPS;
use model::Value;
use regex::Regex;
use std::cell::RefCell;

/// Compiled expressions that a thread keeps.
const KEPT_MAX: usize = 16;

/// Matches that are taken between two questions for memory.
const PART_ITEMS: usize = 1024;

/// Of those, how many may be large: together they take at most 40 MiB of a thread.
const LARGE_KEPT_MAX: usize = 4;

/// Most bytes of one compiled expression: what the crate `regex` allows by default. `^\w{1,128}$` takes about half of it.
const COMPILED_BYTES_MAX: usize = 10 << 20;

/// Bytes of a compiled expression that the query's memory is not asked for.
const SMALL_BYTES_MAX: usize = 256 << 10;

/// A compiled expression, and whether it is larger than [`SMALL_BYTES_MAX`].
type Kept = (Regex, bool);

thread_local! {
    /// The last used stands last.
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The expression of argument 2.
fn compiled(call: Call<'_>, ambient: &dyn Ambient) -> Result<Regex, Failure> {
    let pattern = call.text(1)?;
    KEPT.with_borrow_mut(|kept| {
        let found = kept.iter().rposition(|(regex, _)| regex.as_str() == pattern);
        let (regex, is_large) = match found {
            Some(i) => kept.remove(i),
            None => compile(call, pattern, ambient)?,
        };
        if is_large && kept.iter().filter(|(_, is_large)| *is_large).count() == LARGE_KEPT_MAX {
            let first = kept.iter().position(|(_, is_large)| *is_large);
            first.map(|first| kept.remove(first));
        }
        if kept.len() == KEPT_MAX {
            kept.remove(0);
        }
        kept.push((regex.clone(), is_large));
        Ok(regex)
    })
}

/// Compiles an expression; asks for memory before it makes a large one.
fn compile(call: Call<'_>, pattern: &str, ambient: &dyn Ambient) -> Result<Kept, Failure> {
    let build = |bytes_max| regex::RegexBuilder::new(pattern).size_limit(bytes_max).build();
    let refused = |error| {
        match error {
        regex::Error::CompiledTooBig(_) => call.fail(format_args!(
            "the regular expression would take more than {COMPILED_BYTES_MAX} bytes when compiled, and no more are allowed"
        )),
        error => call.fail(format_args!("not a regular expression: {error}")),
    }
    };
    match build(SMALL_BYTES_MAX) {
        // How large it becomes is known only afterwards.
        Err(regex::Error::CompiledTooBig(_)) => {
            ambient.ask(COMPILED_BYTES_MAX as u64)?;
            Ok((build(COMPILED_BYTES_MAX).map_err(refused)?, true))
        }
        built => Ok((built.map_err(refused)?, false)),
    }
}

pub(crate) fn regex_matches(args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
    let call = Call::new("regex_matches", args);
    let text = call.text(0)?;
    Ok(Value::Bool(compiled(call, ambient)?.is_match(text)))
}

pub(crate) fn regex_replace(args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
    replace(Call::new("regex_replace", args), 1, ambient)
}

pub(crate) fn regex_replace_all(args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
    replace(Call::new("regex_replace_all", args), usize::MAX, ambient)
}

/// Replaces up to `count` matches; `$1`, `${1}` and `${name}` stand for groups.
fn replace(call: Call<'_>, count: usize, ambient: &dyn Ambient) -> Result<Value, Failure> {
    let (text, replacement) = (call.text(0)?, call.text(2)?);
    let regex = compiled(call, ambient)?;
    let groups = replacement.matches('$').count();
    let mut found = Growing::new(ambient);
    let mut copied = 0;
    for (number, captures) in regex.captures_iter(text).take(count).enumerate() {
        if number % STEPS == STEPS - 1 {
            ambient.go_on()?;
        }
        let Some(whole) = captures.get(0) else { continue };
        found.push_str(text.get(copied..whole.start()).unwrap_or_default())?;
        copied = whole.end();
        // No group is longer than the match.
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

/// Every match, without overlaps.
pub(crate) fn regex_extract(args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
    let call = Call::new("regex_extract", args);
    let text = call.text(0)?;
    let regex = compiled(call, ambient)?;
    let mut matches = regex.find_iter(text).peekable();
    let mut found = Vec::new();
    while matches.peek().is_some() {
        // A part at a time: the matches are not counted beforehand.
        let part: Vec<Value> = matches
            .by_ref()
            .take(PART_ITEMS)
            .map(|found| Value::Str(found.as_str().to_owned()))
            .collect();
        call.check_items((found.len() + part.len()) as u128)?;
        ambient.ask(part.iter().map(bytes_of).sum())?;
        let more = if found.capacity() - found.len() < part.len() {
            part.len().max(found.capacity())
        } else {
            0
        };
        reserve(&mut found, more, ambient)?;
        found.extend(part);
    }
    Ok(Value::List(found))
}

/// The first match, or null.
pub(crate) fn regex_extract_first(args: &[Value], ambient: &dyn Ambient) -> Result<Value, Failure> {
    let call = Call::new("regex_extract_first", args);
    let text = call.text(0)?;
    let regex = compiled(call, ambient)?;
    let found = regex.find(text).map(|found| Value::Str(found.as_str().to_owned()));
    Ok(found.unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::{ambient, check, evaluate, table};

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
        assert!(evaluate("regex_matches('abc', '(((a{100}){100}){100}){100}')").is_err());
        check(r"regex_matches('abc', '^\w{1,128}$')", "true");
        let large = evaluate(r"regex_matches('abc', '\w{1000}')").unwrap_err().message;
        assert!(large.contains("10485760 bytes when compiled"), "{large}");
        // More large ones than are kept, twice.
        for i in (100..107).chain(100..107) {
            check(&format!(r"regex_matches('abc', '^\w{{1,{i}}}$')"), "true");
        }
        // More patterns than are kept, twice.
        for i in (0..40).chain(0..40) {
            check(&format!("regex_matches('{i}', '^{i}$')"), "true");
        }
    }

    #[test]
    fn a_large_expression_is_counted_against_the_memory_of_its_query() {
        struct Full;
        impl Ambient for Full {
            fn now_us(&self) -> i64 {
                0
            }
            fn random(&self) -> u64 {
                0
            }
            fn ask(&self, bytes: u64) -> Result<(), Failure> {
                Err(Failure::limit(format!("{bytes} asked for")))
            }
        }
        let matches = |pattern: &str| {
            let args = [Value::Str("abc".to_owned()), Value::Str(pattern.to_owned())];
            lookup("regex_matches").unwrap().apply(&args, &Full)
        };
        assert_eq!(matches("^b"), Ok(Value::Bool(false)));
        let failure = matches(r"^\w{1,127}$").unwrap_err();
        assert!(failure.is_limit && failure.message.contains("10485760"), "{failure:?}");
    }

    #[test]
    fn a_replacement_cannot_fill_the_memory() {
        let text = |text: String| Value::Str(text);
        let args = [text("a".repeat(100_000)), text("a+".to_owned()), text("$0".repeat(100_000))];
        let failure = lookup("regex_replace_all").unwrap().apply(&args, &ambient()).unwrap_err();
        assert_eq!(
            failure.message,
            "regex_replace_all: the result would be longer than 268435456 bytes"
        );
    }
}
