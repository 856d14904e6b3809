//! and, or, negate, assert, coalesce, if, cond.
//!
//! For and, or, coalesce, if and cond, the executor does not call these functions: it evaluates the
//! arguments one at a time and stops early. They are here so that constant calls are folded and the
//! number of arguments is checked as for any function. Both implementations must agree. negate and
//! assert are ordinary functions.

use crate::call::{Call, describe};
use crate::failure::Failure;
use model::Value;

/// and (`stop` is false) and or (`stop` is true).
pub(crate) fn junction(name: &'static str, args: &[Value], stop: bool) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    for i in 0..args.len() {
        if call.bool(i)? == stop {
            return Ok(Value::Bool(stop));
        }
    }
    Ok(Value::Bool(!stop))
}

pub(crate) fn negate(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::Bool(!Call::new("negate", args).bool(0)?))
}

/// Fails unless the first argument is true. The others make up the message.
pub(crate) fn assert(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("assert", args);
    if let (Value::Bool(true), _) = (call.value(0), ()) {
        return Ok(Value::Bool(true));
    }
    let said: Vec<String> = args
        .iter()
        .skip(1)
        .map(|value| match value {
            Value::Str(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    Err(match (call.value(0), said.is_empty()) {
        (Value::Bool(_), true) => call.fail("the assertion does not hold"),
        (Value::Bool(_), false) => call.fail(said.join(" ")),
        (other, true) => call.fail(format_args!("expected true, found {}", describe(other))),
        (other, false) => {
            call.fail(format_args!("{}: expected true, found {}", said.join(" "), describe(other)))
        }
    })
}

pub(crate) fn coalesce(args: &[Value]) -> Result<Value, Failure> {
    let found = args.iter().find(|value| !matches!(value, Value::Null));
    Ok(found.cloned().unwrap_or(Value::Null))
}

/// `if(condition, then, otherwise)`. Without the third argument, it is null.
pub(crate) fn choose(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("if", args);
    Ok(call.value(if call.bool(0)? { 1 } else { 2 }).clone())
}

/// The arguments are pairs of a condition and a value. Returns the value of the first condition
/// that is true; null if none is, or if the last condition has no value.
pub(crate) fn cond(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("cond", args);
    for i in (0..args.len()).step_by(2) {
        if call.bool(i)? {
            return Ok(call.value(i + 1).clone());
        }
    }
    Ok(Value::Null)
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

    #[test]
    fn conditions_take_nothing_for_true_or_false() {
        table(
            "and() => true
         or() => false
         and(false, 1) => false
         and(true, 1) => and: expected true or false as argument 2, found an Int (1)
         or(true, null) => true
         negate(true) => false
         negate(1) => negate: expected true or false, found an Int (1)
         if(true, 1) => 1
         if(false, 1) => null
         if(null, 1, 2) => if: expected true or false as argument 1, found null
         cond(false, 1, true, 2) => 2
         cond(false, 1) => null
         cond(false, 1, true) => null
         coalesce() => null
         coalesce(null, 2, 3) => 2
         assert(true) => true
         assert(false) => assert: the assertion does not hold
         assert(false, 'no', 1) => assert: no 1
         assert(1) => assert: expected true, found an Int (1)",
        );
    }
}
