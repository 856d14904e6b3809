//! Shared test helpers: calls are written as lines of text.
//!
//! `check("add(1, 2.5)", "3.5")` parses the call with a small parser of its own, so that the tests
//! need no other crate. A result is shown as a literal, a failure as its message.

use crate::context::FunctionContext;
use crate::failure::Failure;
use crate::registry::lookup;
use model::Value;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A fixed clock, and random bits that depend only on the number of calls.
pub(crate) struct Fixed(AtomicU64);

impl FunctionContext for Fixed {
    fn now_us(&self) -> i64 {
        1_500_000
    }

    fn random(&self) -> u64 {
        let step = 0x9e37_79b9_7f4a_7c15;
        let state = self.0.fetch_add(step, Relaxed).wrapping_add(step);
        let bits = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^ bits >> 27
    }
}

pub(crate) fn context() -> Fixed {
    Fixed(AtomicU64::new(0))
}

/// Evaluates a call; calls in its arguments are evaluated first.
pub(crate) fn evaluate(text: &str) -> Result<Value, Failure> {
    let mut reader = Reader { rest: text, context: context() };
    let value = reader.value();
    assert!(value.is_err() || reader.rest.trim().is_empty(), "left over: {}", reader.rest);
    value
}

#[track_caller]
pub(crate) fn check(call: &str, want: &str) {
    let found = match evaluate(call) {
        Ok(value) => value.to_string(),
        Err(failure) => failure.message,
    };
    assert_eq!(found, want, "{call}");
}

/// Checks one `call => result` per line.
#[track_caller]
pub(crate) fn table(lines: &str) {
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (call, want) = line.split_once(" => ").expect("a line has `call => result`");
        check(call.trim(), want.trim());
    }
}

struct Reader<'a> {
    rest: &'a str,
    context: Fixed,
}

impl Reader<'_> {
    fn take(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, wanted: fn(char) -> bool) -> String {
        let end = self.rest.find(|c| !wanted(c)).unwrap_or(self.rest.len());
        let (found, rest) = self.rest.split_at(end);
        self.rest = rest;
        found.to_owned()
    }

    fn list(&mut self, end: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.value()?);
            // A separator between items, or between a name and its value.
            let _ = self.take(",") || self.take(":");
        }
        Ok(items)
    }

    fn value(&mut self) -> Result<Value, Failure> {
        if self.take("[") {
            return self.list("]").map(Value::List);
        }
        if self.take("{") {
            let args = self.list("}")?;
            return self.call("json_object", &args);
        }
        if self.take("'") {
            let text = self.take_while(|c| c != '\'');
            self.rest = &self.rest[1..];
            return Ok(Value::Str(text));
        }
        let word = self.take_while(|c| c.is_alphanumeric() || "_.+-".contains(c));
        match word.as_str() {
            "null" => return Ok(Value::Null),
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            _ => {}
        }
        if self.take("(") {
            let args = self.list(")")?;
            return self.call(&word, &args);
        }
        let id = || word.parse().map(Value::Id);
        let float = || word.parse().map(Value::Float);
        let int = word.parse().map(Value::Int);
        Ok(int.or_else(|_| id()).or_else(|_| float()).expect("a literal or a call"))
    }

    fn call(&self, name: &str, args: &[Value]) -> Result<Value, Failure> {
        lookup(name).expect("a function of this name").apply(args, &self.context)
    }
}
