//! Functions on lists. Long lists are processed in pieces, with a check for cancellation between
//! them.

use crate::budget::{Growing, MemoryEstimate, bytes_of, request_memory, reserve};
use crate::call::Call;
use crate::context::FunctionContext;
use crate::failure::Failure;
use base::{STEPS, sort_in_pieces};
use model::Value;

/// Clones a list, checking regularly for cancellation.
///
/// # Errors
/// Cancellation.
pub fn copied(items: &[Value], context: &dyn FunctionContext) -> Result<Vec<Value>, Failure> {
    let mut copy = Vec::with_capacity(items.len());
    extend(&mut copy, items, context)?;
    Ok(copy)
}

fn extend(
    list: &mut Vec<Value>,
    items: &[Value],
    context: &dyn FunctionContext,
) -> Result<(), Failure> {
    list.reserve(items.len());
    for piece in pieces(items, context) {
        list.extend_from_slice(piece?);
    }
    Ok(())
}

/// Splits a list into short pieces, with a check for cancellation between them.
fn pieces<'v, T>(
    items: &'v [T],
    context: &dyn FunctionContext,
) -> impl Iterator<Item = Result<&'v [T], Failure>> {
    items.chunks(STEPS).enumerate().map(|(place, piece)| {
        if place > 0 {
            context.check_cancelled()?;
        }
        Ok(piece)
    })
}

pub(crate) fn list(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::List(args.to_vec()))
}

/// Whether the list contains the value, compared by identity: `1` is not in `[1.0]`.
pub(crate) fn is_in(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("is_in", args);
    Ok(Value::Bool(call.list(1)?.contains(call.value(0))))
}

pub(crate) fn first(args: &[Value]) -> Result<Value, Failure> {
    Ok(Call::new("first", args).list(0)?.first().cloned().unwrap_or(Value::Null))
}

pub(crate) fn last(args: &[Value]) -> Result<Value, Failure> {
    Ok(Call::new("last", args).list(0)?.last().cloned().unwrap_or(Value::Null))
}

/// Number of characters, items, bytes or floats.
pub(crate) fn length(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("length", args);
    let length = match call.value(0) {
        Value::Str(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Vector(vector) => crate::vector::len(vector),
        _ => return Err(call.refuse(0, "a list, a string, bytes or a vector")),
    };
    Ok(Value::Int(length as i64))
}

/// Concatenates strings, lists or JSON. All arguments must have the same kind.
pub(crate) fn concat(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("concat", args);
    match call.value(0) {
        Value::Str(_) => {
            let mut text = Growing::new(context);
            let texts = args.iter().filter_map(|arg| match arg {
                Value::Str(text) => Some(text.len()),
                _ => None,
            });
            text.expect(texts.sum())?;
            for i in 0..args.len() {
                text.push_str(call.text(i)?)?;
            }
            Ok(Value::Str(text.finish()))
        }
        Value::List(_) => {
            request_memory(args.iter().map(bytes_of).sum(), context)?;
            let mut items = Vec::new();
            for i in 0..args.len() {
                extend(&mut items, call.list(i)?, context)?;
            }
            Ok(Value::List(items))
        }
        Value::Json(_) => {
            MemoryEstimate::Tree.request_memory(args, context)?;
            crate::json::merge(call)
        }
        _ => Err(call
            .refuse(0, "a string, a list or JSON")
            .hint("to_string(…) makes a string of any value")),
    }
}

/// The items from one index up to another, exclusive.
pub(crate) fn slice(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("slice", args);
    let items = call.list(0)?;
    let from = call.index(1, items.len(), true)?;
    let to = call.index(2, items.len(), true)?;
    match items.get(from..to) {
        Some(items) => Ok(Value::List(copied(items, context)?)),
        None => Err(call.fail(format_args!("it would start at {from} and end before, at {to}"))),
    }
}

pub(crate) fn prepend(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("prepend", args);
    let rest = call.list(0)?;
    let mut items = Vec::with_capacity(rest.len() + 1);
    items.push(call.value(1).clone());
    extend(&mut items, rest, context)?;
    Ok(Value::List(items))
}

pub(crate) fn append(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("append", args);
    let start = call.list(0)?;
    let mut items = Vec::with_capacity(start.len() + 1);
    extend(&mut items, start, context)?;
    items.push(call.value(1).clone());
    Ok(Value::List(items))
}

pub(crate) fn reverse(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let mut items = copied(Call::new("reverse", args).list(0)?, context)?;
    items.reverse();
    Ok(Value::List(items))
}

/// Sorts by the total order of values, across kinds.
pub(crate) fn sorted(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let items = copied(Call::new("sorted", args).list(0)?, context)?;
    Ok(Value::List(sort_in_pieces(items, Value::cmp, || context.check_cancelled())?))
}

pub(crate) fn chunks(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("chunks", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    lists(items.chunks(len), len, context)
}

/// Chunks of exactly the given length; a shorter rest is dropped.
pub(crate) fn chunks_exact(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let call = Call::new("chunks_exact", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    lists(items.chunks_exact(len), len, context)
}

pub(crate) fn windows(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("windows", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    let windows = (items.len() + 1).saturating_sub(len);
    call.check_items(windows as u128 * len as u128)?;
    // An item is in at most as many windows as their length, and as their number.
    let times = windows.min(len) as u64;
    let of_items: u64 = items.iter().map(bytes_of).sum();
    request_memory(of_items.saturating_mul(times) + 64 * windows as u64, context)?;
    lists(items.windows(len), len, context)
}

/// Builds a list of lists with `len` items each.
fn lists<'a>(
    parts: impl Iterator<Item = &'a [Value]>,
    len: usize,
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    let parts_unasked = STEPS.div_ceil(len);
    let mut lists = Vec::with_capacity(parts.size_hint().0);
    for (place, part) in parts.enumerate() {
        if place % parts_unasked == parts_unasked - 1 {
            context.check_cancelled()?;
        }
        lists.push(Value::List(copied(part, context)?));
    }
    Ok(Value::List(lists))
}

fn length_from_1(call: Call<'_>) -> Result<usize, Failure> {
    match usize::try_from(call.int(1)?) {
        Ok(len) if len > 0 => Ok(len),
        _ => Err(call.refuse(1, "a length from 1")),
    }
}

/// The union of all lists, sorted and without duplicates.
pub(crate) fn union(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("union", args);
    let mut all = Vec::new();
    for i in 0..args.len() {
        all.extend(call.list(i)?);
    }
    list_of(&set(all, context)?, context)
}

pub(crate) fn intersection(
    args: &[Value],
    context: &dyn FunctionContext,
) -> Result<Value, Failure> {
    kept("intersection", args, context, |is_there| is_there)
}

pub(crate) fn difference(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    kept("difference", args, context, |is_there| !is_there)
}

/// The first list as a set, filtered by whether each item is in every other list or in none.
fn kept(
    name: &'static str,
    args: &[Value],
    context: &dyn FunctionContext,
    keeps: fn(bool) -> bool,
) -> Result<Value, Failure> {
    let call = Call::new(name, args);
    let mut found = set(call.list(0)?.iter().collect(), context)?;
    for i in 1..args.len() {
        let other = set(call.list(i)?.iter().collect(), context)?;
        // Both are sorted, so one pass over both is enough.
        let mut next = other.iter().peekable();
        let mut kept = Vec::new();
        for piece in pieces(&found, context) {
            kept.extend(piece?.iter().copied().filter(|value| {
                while next.next_if(|other| *other < value).is_some() {}
                keeps(next.peek() == Some(&value))
            }));
        }
        found = kept;
    }
    list_of(&found, context)
}

/// Sorts and removes duplicates.
fn set<'v>(
    values: Vec<&'v Value>,
    context: &dyn FunctionContext,
) -> Result<Vec<&'v Value>, Failure> {
    let mut values = sort_in_pieces(values, |a, b| a.cmp(b), || context.check_cancelled())?;
    values.dedup();
    Ok(values)
}

fn list_of(values: &[&Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let mut items = Vec::with_capacity(values.len());
    for piece in pieces(values, context) {
        items.extend(piece?.iter().copied().cloned());
    }
    Ok(Value::List(items))
}

/// `int_range(end)`, `int_range(start, end)`, `int_range(start, end, step)`: the integers from
/// start up to end, exclusive.
pub(crate) fn int_range(args: &[Value], context: &dyn FunctionContext) -> Result<Value, Failure> {
    let call = Call::new("int_range", args);
    let (start, end) =
        if args.len() == 1 { (0, call.int(0)?) } else { (call.int(0)?, call.int(1)?) };
    let step = if args.len() < 3 { 1 } else { call.int(2)? };
    let way = i128::from(end) - i128::from(start);
    let steps = match step {
        0 if way == 0 => 0,
        0 => return Err(call.fail("the step is 0, so the end is never reached")),
        step => {
            let step = i128::from(step);
            if (way > 0) == (step > 0) {
                way.unsigned_abs().div_ceil(step.unsigned_abs())
            } else {
                0
            }
        }
    };
    call.check_items(steps)?;
    // All values are between start and end, so nothing overflows.
    let mut rest = (0..steps as i64).map(|i| Value::Int(start.wrapping_add(i.wrapping_mul(step))));
    let mut items = Vec::new();
    reserve(&mut items, steps as usize, context)?;
    items.extend(rest.by_ref().take(STEPS));
    while (items.len() as u128) < steps {
        context.check_cancelled()?;
        items.extend(rest.by_ref().take(STEPS));
    }
    Ok(Value::List(items))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup;
    use crate::testing::table;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// Cancels after a number of checks.
    struct Impatient(AtomicUsize);

    impl FunctionContext for Impatient {
        fn now_us(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            0
        }

        fn request_memory(&self, _: u64) -> Result<(), Failure> {
            Ok(())
        }

        fn check_cancelled(&self) -> Result<(), Failure> {
            match self.0.fetch_sub(1, Relaxed) {
                0 => Err(Failure::stopped(crate::Stop::Killed)),
                _ => Ok(()),
            }
        }
    }

    /// Regression: a query that sorted a list of millions ended seconds after its timeout.
    #[test]
    fn functions_of_long_lists_end_when_they_are_told_to() {
        let len = 12 * STEPS as i64;
        let list: Vec<Value> = (0..len).map(|i| Value::Int(i * 7919 % 1_000_003)).collect();
        let list = Value::List(list);
        let int = Value::Int;
        let calls: [(&str, Vec<Value>); 12] = [
            ("int_range", vec![int(len)]),
            ("sorted", vec![list.clone()]),
            ("reverse", vec![list.clone()]),
            ("union", vec![list.clone(), list.clone()]),
            ("intersection", vec![list.clone(), list.clone()]),
            ("difference", vec![list.clone(), list.clone()]),
            ("concat", vec![list.clone(), list.clone()]),
            ("append", vec![list.clone(), int(1)]),
            ("prepend", vec![list.clone(), int(1)]),
            ("slice", vec![list.clone(), int(1), int(-1)]),
            ("chunks", vec![list.clone(), int(3)]),
            ("windows", vec![list, int(3)]),
        ];
        for (name, args) in calls {
            let function = lookup(name).unwrap();
            for questions in [0, 3, 9] {
                let impatient = Impatient(AtomicUsize::new(questions));
                let found = function.apply(&args, &impatient).unwrap_err();
                assert_eq!(
                    found,
                    Failure::stopped(crate::Stop::Killed),
                    "{name} after {questions} questions"
                );
            }
            function.apply(&args, &Impatient(AtomicUsize::new(1_000_000))).unwrap();
        }
    }

    #[test]
    fn lists_are_taken_apart_and_put_together() {
        table(
            "is_in(1, [1.0]) => false
         is_in(1, 1) => is_in: expected a list as argument 2, found an Int (1)
         first([]) => null
         last([1, 2]) => 2
         get([1, 2, 3], -1) => 3
         get([1, 2, 3], 1.0) => 2
         get([1], 5) => get: index 5 is outside the list of 1 item
         get([1], -9223372036854775808) => get: index -9223372036854775808 is outside the list of 1 item
         maybe_get([1], 5) => null
         slice([1, 2, 3], 1, -1) => [2]
         slice([1, 2, 3], 3, 3) => []
         slice([1, 2, 3], 2, 1) => slice: it would start at 2 and end before, at 1
         slice([1, 2, 3], 0, 4) => slice: index 4 is outside the list of 3 items
         slice([1, 2], 'a', 1) => slice: expected an integer as argument 2, found a String (\"a\")
         prepend([1], 2) => [2, 1]
         append([1], 2) => [1, 2]
         reverse([1, 2]) => [2, 1]
         sorted([3, 1, 'a', null, 2.5, true, 1.0]) => [null, true, 1, 1.0, 2.5, 3, \"a\"]
         chunks([1, 2, 3], 2) => [[1, 2], [3]]
         chunks([1], 0) => chunks: expected a length from 1 as argument 2, found an Int (0)
         chunks_exact([1, 2, 3], 2) => [[1, 2]]
         windows([1, 2, 3], 2) => [[1, 2], [2, 3]]
         windows([1, 2, 3], 9223372036854775807) => []
         windows(int_range(100000), 50000) => windows: the result would have 2500050000 items, the limit is 16777216
         union([2, 1], [1, 1.0]) => [1, 1.0, 2]
         intersection([3, 2, 1], [2, 3], [3]) => [3]
         difference([3, 1, 1], [3]) => [1]
         int_range(3) => [0, 1, 2]
         int_range(-3) => []
         int_range(10, 0, -3) => [10, 7, 4, 1]
         int_range(0, 10, 3) => [0, 3, 6, 9]
         int_range(5, 2) => []
         int_range(2, 0, 0) => int_range: the step is 0, so the end is never reached
         int_range(-9223372036854775808, 9223372036854775807, 9223372036854775807) => [-9223372036854775808, -1, 9223372036854775806]
         int_range(-9223372036854775808, 9223372036854775807) => int_range: the result would have 18446744073709551615 items, the limit is 16777216",
        );
    }
}
