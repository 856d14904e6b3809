//! Memory accounting: how many bytes a function may allocate, and requesting them in advance.
//!
//! # Why in advance
//! Checking a limit afterwards is too late for a single value: a list of 2^24 numbers takes half a
//! gigabyte, and an allocation that the system refuses ends the process. So the registry states for
//! each function how its memory depends on the arguments, and one place requests it. Functions
//! whose result depends on the values of their arguments make their own requests.

use crate::context::FunctionContext;
use crate::failure::Failure;
use model::{Value, Vector};

/// Allocations below this size in bytes are not requested.
pub const UNASKED_BYTES: u64 = 16 << 10;

/// Estimated bytes of a JSON object with few names: one node of its map.
const OBJECT_BYTES: u64 = 640;

/// Estimated bytes of an item of a JSON array or object, once parsed and once sorted.
const ITEM_BYTES: u64 = 96;

/// How much memory a function needs, including intermediate values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryEstimate {
    /// Little: for a boolean, a number or a short value.
    Little,
    /// At most this multiple of the arguments' bytes.
    Times(u64),
    /// A JSON tree of the arguments and its text.
    Tree,
    /// A JSON tree for JSON arguments, otherwise a part or a copy of them.
    Part,
    /// A string: a copy of a string argument, otherwise a JSON tree.
    Text,
    /// Depends on the values of the arguments: the function makes its own requests.
    Asks,
}

impl MemoryEstimate {
    /// Requests the memory for a call with these arguments, if they are long.
    ///
    /// # Errors
    /// Those of [`FunctionContext::request_memory`].
    pub(crate) fn request_memory(
        self,
        args: &[Value],
        context: &dyn FunctionContext,
    ) -> Result<(), Failure> {
        if !is_long(args, UNASKED_BYTES / self.bytes_per_byte_max(), &mut 0) {
            return Ok(());
        }
        match self {
            // Scanning a long argument takes time, so only cancellation is checked.
            Self::Little | Self::Asks => context.check_cancelled(),
            Self::Times(times) => {
                context.request_memory(args.iter().map(bytes_of).sum::<u64>() * times)
            }
            Self::Tree => context.request_memory(args.iter().map(tree_bytes).sum()),
            Self::Part | Self::Text => {
                context.request_memory(args.iter().map(|arg| self.of(arg)).sum())
            }
        }
    }

    /// The memory for one argument, if it depends on the argument's kind.
    fn of(self, arg: &Value) -> u64 {
        match (self, arg) {
            (_, Value::Json(_)) => tree_bytes(arg),
            (Self::Text, Value::List(_) | Value::Vector(_)) => tree_bytes(arg),
            _ => 2 * bytes_of(arg),
        }
    }

    /// The most bytes that a byte of the arguments can ask for. Shorter arguments need no request.
    fn bytes_per_byte_max(self) -> u64 {
        match self {
            Self::Little | Self::Asks => 1,
            Self::Times(times) => times.max(1),
            Self::Tree | Self::Part | Self::Text => OBJECT_BYTES / 8,
        }
    }
}

/// Requests memory if it is at least [`UNASKED_BYTES`].
///
/// # Errors
/// Those of [`FunctionContext::request_memory`].
pub(crate) fn request_memory(bytes: u64, context: &dyn FunctionContext) -> Result<(), Failure> {
    if bytes < UNASKED_BYTES { Ok(()) } else { context.request_memory(bytes) }
}

/// Requests and reserves space for `more` items. A failed allocation is an error and does not end
/// the process.
///
/// # Errors
/// Those of [`FunctionContext::request_memory`]; [`Failure::limit`] if the allocation fails.
pub(crate) fn reserve<T>(
    items: &mut Vec<T>,
    more: usize,
    context: &dyn FunctionContext,
) -> Result<(), Failure> {
    let bytes = more as u64 * size_of::<T>() as u64;
    request_memory(bytes, context)?;
    items.try_reserve_exact(more).map_err(|_| no_memory(bytes))
}

/// The error of a failed allocation.
pub(crate) fn no_memory(bytes: u64) -> Failure {
    Failure::limit(format!("a value of {bytes} bytes is more than there is memory for"))
}

/// A growing string that requests memory as it grows.
pub(crate) struct Growing<'a> {
    text: String,
    context: &'a dyn FunctionContext,
}

impl<'a> Growing<'a> {
    pub(crate) fn new(context: &'a dyn FunctionContext) -> Self {
        Self { text: String::new(), context }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Makes room for `more` bytes.
    ///
    /// # Errors
    /// As [`reserve`].
    pub(crate) fn expect(&mut self, more: usize) -> Result<(), Failure> {
        let free = self.text.capacity() - self.text.len();
        if more <= free {
            return Ok(());
        }
        // The capacity doubles, so that copying takes amortized constant time.
        let more = more.max(self.text.capacity());
        request_memory((self.text.capacity() + more) as u64, self.context)?;
        self.text.try_reserve_exact(more).map_err(|_| no_memory(more as u64))
    }

    pub(crate) fn push_str(&mut self, part: &str) -> Result<(), Failure> {
        self.expect(part.len())?;
        self.text.push_str(part);
        Ok(())
    }

    /// The string. Callers may append as many bytes as [`Growing::expect`] made room for.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// Estimated memory of a value in bytes, including itself.
#[must_use]
pub fn bytes_of(value: &Value) -> u64 {
    let more = match value {
        Value::List(items) => items.iter().map(bytes_of).sum(),
        other => heap_bytes(other),
    };
    size_of::<Value>() as u64 + more
}

/// Bytes on the heap of a value other than a list.
fn heap_bytes(value: &Value) -> u64 {
    match value {
        Value::Str(text) => text.len() as u64,
        Value::Bytes(bytes) => bytes.len() as u64,
        Value::Vector(Vector::F32(items)) => 4 * items.len() as u64,
        Value::Vector(Vector::F64(items)) => 8 * items.len() as u64,
        Value::Json(json) => json.as_str().len() as u64,
        _ => 0,
    }
}

/// Whether the values take at least `than` bytes. Stops as soon as that is known.
fn is_long(values: &[Value], than: u64, seen: &mut u64) -> bool {
    values.iter().any(|value| {
        *seen += size_of::<Value>() as u64;
        match value {
            Value::List(items) => is_long(items, than, seen),
            other => {
                *seen += heap_bytes(other);
                *seen >= than
            }
        }
    })
}

/// Estimated bytes of a value as a JSON tree that is parsed, sorted and written again.
fn tree_bytes(value: &Value) -> u64 {
    match value {
        Value::List(items) => ITEM_BYTES + items.iter().map(tree_bytes).sum::<u64>(),
        Value::Vector(Vector::F32(items)) => ITEM_BYTES * items.len() as u64,
        Value::Vector(Vector::F64(items)) => ITEM_BYTES * items.len() as u64,
        Value::Str(text) => ITEM_BYTES + text_tree_bytes(text),
        Value::Json(json) => ITEM_BYTES + text_tree_bytes(json.as_str()),
        other => ITEM_BYTES + 4 * heap_bytes(other),
    }
}

fn text_tree_bytes(text: &str) -> u64 {
    let parts = text.bytes().map(|byte| match byte {
        b'{' => OBJECT_BYTES + ITEM_BYTES,
        b'[' | b',' => ITEM_BYTES,
        // Written as escapes of six characters.
        0..b' ' => 24,
        _ => 0,
    });
    4 * text.len() as u64 + parts.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions;
    use model::Json;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Counts requested bytes, and refuses them above a maximum.
    struct Purse {
        asked: AtomicU64,
        bytes_max: u64,
    }

    impl FunctionContext for Purse {
        fn now_us(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            0
        }

        fn request_memory(&self, bytes: u64) -> Result<(), Failure> {
            let asked = self.asked.fetch_add(bytes, Relaxed) + bytes;
            if asked > self.bytes_max { Err(Failure::limit("too much")) } else { Ok(()) }
        }
    }

    fn purse(bytes_max: u64) -> Purse {
        Purse { asked: AtomicU64::new(0), bytes_max }
    }

    /// Long values of every kind, followed by short ones.
    fn pool() -> Vec<Value> {
        let text = |text: &str| Value::Str(text.to_owned());
        let ints = || Value::List((0..2_000).map(Value::Int).collect());
        let json = |text: &str| Value::Json(Json::parse(text).unwrap());
        let objects = format!("[{}]", vec!["{\"a\":1}"; 700].join(","));
        vec![
            text(&"a\u{fdfa}\u{390} ".repeat(2_500)),
            text(&"QUJD".repeat(5_000)),
            text(&"\u{1}".repeat(20_000)),
            text(&objects),
            Value::Bytes(vec![7; 20_000]),
            ints(),
            Value::List(vec![Value::Bool(true); 2_000]),
            Value::List(vec![text(&"x".repeat(1000)); 30]),
            Value::Vector(Vector::F64(vec![0.5; 4_000])),
            json(&objects),
            json(&format!("[{}1]", "1,".repeat(8_000))),
            text("a"),
            text("nfkd"),
            text(""),
            text("[$0$0$0$0]"),
            Value::Int(3),
            Value::Int(1_500),
            Value::List(vec![Value::Int(10_000)]),
            Value::Null,
        ]
    }

    /// Calls `visit` for every function with every combination of these values.
    fn each(mut visit: impl FnMut(&crate::Function, &[Value])) {
        let pool = pool();
        for function in functions() {
            let most = function.args_max.unwrap_or(2).min(3);
            let is_long = |place: usize| place < 11;
            for count in function.args_min.max(1)..=most {
                for number in 0..pool.len().pow(count as u32) {
                    let place = |i: usize| number / pool.len().pow(i as u32) % pool.len();
                    // With three arguments, only the first one is long.
                    if count == 3 && (1..3).any(|i| is_long(place(i))) {
                        continue;
                    }
                    let args: Vec<Value> = (0..count).map(|i| pool[place(i)].clone()).collect();
                    visit(function, &args);
                }
            }
        }
    }

    #[test]
    fn whatever_is_long_was_asked_for_before_it_was_made() {
        let mut long = std::collections::BTreeSet::new();
        each(|function, args| {
            let purse = purse(64 << 20);
            let Ok(found) = function.apply(args, &purse) else { return };
            let (made, asked) = (bytes_of(&found), purse.asked.load(Relaxed));
            if made > UNASKED_BYTES + size_of::<Value>() as u64 {
                long.insert(function.name);
                assert!(
                    asked >= made - 64,
                    "{} made {made} bytes, asked for {asked}",
                    function.name
                );
            }
        });
        for name in
            ["chars", "concat", "int_range", "json", "regex_extract", "unpack_bits", "windows"]
        {
            assert!(long.contains(name), "{name} makes something long of nothing here");
        }
    }

    #[test]
    fn a_function_that_may_not_hold_its_value_fails_and_says_that_it_is_a_limit() {
        let call = |name: &str, args: &[Value]| {
            let failure = crate::lookup(name).unwrap().apply(args, &purse(1 << 20)).unwrap_err();
            assert!(failure.kind == crate::FailureKind::Limit, "{name}: {failure}");
        };
        call("int_range", &[Value::Int(1 << 24)]);
        call("rand_vec", &[Value::Int(1 << 24)]);
        call(
            "set_json_path",
            &[
                Value::Json(Json::parse("[]").unwrap()),
                Value::List(vec![Value::Int(1 << 23)]),
                Value::Int(1),
            ],
        );
        let long = Value::Str("a".repeat(600_000));
        call("concat", &[long.clone(), long.clone()]);
        call("chars", std::slice::from_ref(&long));
        call(
            "unicode_normalize",
            &[Value::Str("\u{fdfa}".repeat(100_000)), Value::Str("nfkd".to_owned())],
        );
        call(
            "regex_replace_all",
            &[long.clone(), Value::Str("a".to_owned()), Value::Str("bbbb".to_owned())],
        );
        let classes = r"^\w{1,125}$";
        call("regex_matches", &[Value::Str("a".to_owned()), Value::Str(classes.to_owned())]);
        call("regex_extract", &[long, Value::Str("a".to_owned())]);
    }
}
