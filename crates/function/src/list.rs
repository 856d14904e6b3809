//! Lists.

use crate::Failure;
use crate::call::Call;
use model::Value;
use std::collections::BTreeSet;

pub(crate) fn list(args: &[Value]) -> Result<Value, Failure> {
    Ok(Value::List(args.to_vec()))
}

/// Whether the list has this very value: `1` is not in `[1.0]`.
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

/// Of characters, items, bytes or floats.
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

/// Strings, lists or JSON, all of one kind.
pub(crate) fn concat(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("concat", args);
    match call.value(0) {
        Value::Str(_) => {
            let mut text = String::new();
            for i in 0..args.len() {
                text.push_str(call.text(i)?);
            }
            Ok(Value::Str(text))
        }
        Value::List(_) => {
            let mut items = Vec::new();
            for i in 0..args.len() {
                items.extend_from_slice(call.list(i)?);
            }
            Ok(Value::List(items))
        }
        Value::Json(_) => crate::json::merge(call),
        _ => Err(call
            .refuse(0, "a string, a list or JSON")
            .hint("to_string(…) makes a string of any value")),
    }
}

/// An index into `len` items from argument `i`; below 0 it counts from the end. `len` itself is an index only where `end` says so.
pub(crate) fn index(call: Call<'_>, i: usize, len: usize, end: bool) -> Result<usize, Failure> {
    let given = call.int(i)?;
    let from_start = if given < 0 { given.saturating_add_unsigned(len as u64) } else { given };
    let found = usize::try_from(from_start).ok().filter(|&at| at < len || (end && at == len));
    found.ok_or_else(|| {
        let noun = if len == 1 { "item" } else { "items" };
        call.fail(format_args!("index {given} is outside the list of {len} {noun}"))
    })
}

/// From one index to before another.
pub(crate) fn slice(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("slice", args);
    let items = call.list(0)?;
    let from = index(call, 1, items.len(), true)?;
    let to = index(call, 2, items.len(), true)?;
    match items.get(from..to) {
        Some(items) => Ok(Value::List(items.to_vec())),
        None => Err(call.fail(format_args!("it would start at {from} and end before, at {to}"))),
    }
}

pub(crate) fn prepend(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("prepend", args);
    let rest = call.list(0)?;
    let mut items = Vec::with_capacity(rest.len() + 1);
    items.push(call.value(1).clone());
    items.extend_from_slice(rest);
    Ok(Value::List(items))
}

pub(crate) fn append(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("append", args);
    let start = call.list(0)?;
    let mut items = Vec::with_capacity(start.len() + 1);
    items.extend_from_slice(start);
    items.push(call.value(1).clone());
    Ok(Value::List(items))
}

pub(crate) fn reverse(args: &[Value]) -> Result<Value, Failure> {
    let mut items = Call::new("reverse", args).list(0)?.to_vec();
    items.reverse();
    Ok(Value::List(items))
}

/// In the order of values, whatever their kinds.
pub(crate) fn sorted(args: &[Value]) -> Result<Value, Failure> {
    let mut items = Call::new("sorted", args).list(0)?.to_vec();
    items.sort();
    Ok(Value::List(items))
}

pub(crate) fn chunks(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("chunks", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    Ok(lists(items.chunks(len)))
}

/// Without a shorter rest.
pub(crate) fn chunks_exact(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("chunks_exact", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    Ok(lists(items.chunks_exact(len)))
}

pub(crate) fn windows(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("windows", args);
    let (items, len) = (call.list(0)?, length_from_1(call)?);
    let windows = (items.len() + 1).saturating_sub(len);
    call.check_items(windows as u128 * len as u128)?;
    Ok(lists(items.windows(len)))
}

fn lists<'a>(parts: impl Iterator<Item = &'a [Value]>) -> Value {
    Value::List(parts.map(|part| Value::List(part.to_vec())).collect())
}

fn length_from_1(call: Call<'_>) -> Result<usize, Failure> {
    match usize::try_from(call.int(1)?) {
        Ok(len) if len > 0 => Ok(len),
        _ => Err(call.refuse(1, "a length from 1")),
    }
}

/// Sorted, each once.
pub(crate) fn union(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("union", args);
    let mut found = BTreeSet::new();
    for i in 0..args.len() {
        found.extend(call.list(i)?);
    }
    Ok(set(found))
}

pub(crate) fn intersection(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("intersection", args);
    let mut found: BTreeSet<&Value> = call.list(0)?.iter().collect();
    for i in 1..args.len() {
        let other: BTreeSet<&Value> = call.list(i)?.iter().collect();
        found.retain(|value| other.contains(value));
    }
    Ok(set(found))
}

pub(crate) fn difference(args: &[Value]) -> Result<Value, Failure> {
    let call = Call::new("difference", args);
    let mut found: BTreeSet<&Value> = call.list(0)?.iter().collect();
    for i in 1..args.len() {
        for value in call.list(i)? {
            found.remove(value);
        }
    }
    Ok(set(found))
}

fn set(values: BTreeSet<&Value>) -> Value {
    Value::List(values.into_iter().cloned().collect())
}

/// `int_range(end)`, `int_range(start, end)`, `int_range(start, end, step)`: from start to before end.
pub(crate) fn int_range(args: &[Value]) -> Result<Value, Failure> {
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
    // Below the end, so that nothing here overflows.
    let items = (0..steps as i64).map(|i| Value::Int(start.wrapping_add(i.wrapping_mul(step))));
    Ok(Value::List(items.collect()))
}

#[cfg(test)]
mod tests {
    use crate::testing::table;

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
