//! How many bytes a function makes, and asking for them before it does.
//!
//! # Why before
//! A limit that is compared with what is there afterwards comes too late for one value: a list of
//! 2^24 numbers is half a gigabyte, and an allocation that the system refuses ends the process.
//! Every function says in the registry how what it makes follows from its arguments, so that one
//! place asks for all of them; those whose result follows from the arguments' values ask
//! themselves.

use crate::{Ambient, Failure};
use model::{Value, Vector};

/// Bytes that are made without a question.
pub const UNASKED_BYTES: u64 = 16 << 10;

/// Bytes of a JSON object of few names: a node of the map that holds it.
const OBJECT_BYTES: u64 = 640;

/// Bytes of an item of a JSON array or object, as it is read and once more as it is sorted.
const ITEM_BYTES: u64 = 96;

/// What a function makes of its arguments, intermediate values included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Makes {
    /// A truth value, a number, something short.
    Little,
    /// At most so many times the bytes of its arguments.
    Times(u64),
    /// A tree of its arguments as JSON, and text of that.
    Tree,
    /// Of JSON such a tree, of others a part or a copy.
    Part,
    /// Text: of text a copy, of others a tree.
    Text,
    /// What follows from the arguments' values: the function asks itself.
    Asks,
}

impl Makes {
    /// Asks for what may be made of these arguments, where they are long.
    ///
    /// # Errors
    /// Those of [`Ambient::ask`].
    pub(crate) fn ask(self, args: &[Value], ambient: &dyn Ambient) -> Result<(), Failure> {
        if !is_long(args, UNASKED_BYTES / self.times_at_least(), &mut 0) {
            return Ok(());
        }
        match self {
            // To look through something long takes a while.
            Self::Little | Self::Asks => ambient.go_on(),
            Self::Times(times) => ambient.ask(args.iter().map(bytes_of).sum::<u64>() * times),
            Self::Tree => ambient.ask(args.iter().map(tree_bytes).sum()),
            Self::Part | Self::Text => ambient.ask(args.iter().map(|arg| self.of(arg)).sum()),
        }
    }

    /// What is made of one argument, by those that do not treat all alike.
    fn of(self, arg: &Value) -> u64 {
        match (self, arg) {
            (_, Value::Json(_)) => tree_bytes(arg),
            (Self::Text, Value::List(_) | Value::Vector(_)) => tree_bytes(arg),
            _ => 2 * bytes_of(arg),
        }
    }

    fn times_at_least(self) -> u64 {
        match self {
            Self::Little | Self::Asks => 1,
            Self::Times(times) => times.max(1),
            Self::Tree | Self::Part | Self::Text => OBJECT_BYTES / 8,
        }
    }
}

/// Asks for bytes, where they are many.
///
/// # Errors
/// Those of [`Ambient::ask`].
pub(crate) fn ask(bytes: u64, ambient: &dyn Ambient) -> Result<(), Failure> {
    if bytes < UNASKED_BYTES { Ok(()) } else { ambient.ask(bytes) }
}

/// Room for so many more items, which was asked for; an allocation that fails is an error and ends
/// nothing.
///
/// # Errors
/// Those of [`Ambient::ask`]; [`Failure::limit`] where there is no such memory.
pub(crate) fn reserve<T>(
    items: &mut Vec<T>,
    more: usize,
    ambient: &dyn Ambient,
) -> Result<(), Failure> {
    let bytes = more as u64 * size_of::<T>() as u64;
    ask(bytes, ambient)?;
    items.try_reserve_exact(more).map_err(|_| no_memory(bytes))
}

/// There is less memory than was asked for.
pub(crate) fn no_memory(bytes: u64) -> Failure {
    Failure::limit(format!("a value of {bytes} bytes is more than there is memory for"))
}

/// A text that grows, and asks for each part of it.
pub(crate) struct Growing<'a> {
    text: String,
    ambient: &'a dyn Ambient,
}

impl<'a> Growing<'a> {
    pub(crate) fn new(ambient: &'a dyn Ambient) -> Self {
        Self { text: String::new(), ambient }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Makes room for so many more bytes.
    ///
    /// # Errors
    /// As [`reserve`].
    pub(crate) fn expect(&mut self, more: usize) -> Result<(), Failure> {
        let free = self.text.capacity() - self.text.len();
        if more <= free {
            return Ok(());
        }
        // Twice as much each time, so that few parts are copied often.
        let more = more.max(self.text.capacity());
        ask((self.text.capacity() + more) as u64, self.ambient)?;
        self.text.try_reserve_exact(more).map_err(|_| no_memory(more as u64))
    }

    pub(crate) fn push_str(&mut self, part: &str) -> Result<(), Failure> {
        self.expect(part.len())?;
        self.text.push_str(part);
        Ok(())
    }

    /// The text, to which may be added what [`Growing::expect`] made room for.
    pub(crate) fn text(&mut self) -> &mut String {
        &mut self.text
    }

    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// About how many bytes a value takes, itself included.
#[must_use]
pub fn bytes_of(value: &Value) -> u64 {
    let more = match value {
        Value::List(items) => items.iter().map(bytes_of).sum(),
        other => heap_bytes(other),
    };
    size_of::<Value>() as u64 + more
}

/// Those of a value that is no list, beside itself.
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

/// Whether values take `than` bytes or more. Looks at no more of them than that takes.
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

/// About how many bytes a value takes as a tree of JSON, read from text, sorted and written again.
fn tree_bytes(value: &Value) -> u64 {
    match value {
        Value::List(items) => ITEM_BYTES + items.iter().map(tree_bytes).sum::<u64>(),
        Value::Vector(vector) => ITEM_BYTES * crate::vector::len(vector) as u64,
        Value::Str(text) => ITEM_BYTES + text_tree_bytes(text),
        Value::Json(json) => ITEM_BYTES + text_tree_bytes(json.as_str()),
        other => ITEM_BYTES + 4 * heap_bytes(other),
    }
}

fn text_tree_bytes(text: &str) -> u64 {
    let parts = text.bytes().map(|byte| match byte {
        b'{' => OBJECT_BYTES + ITEM_BYTES,
        b'[' | b',' => ITEM_BYTES,
        // Six characters each, where they are written.
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

    /// Counts what is asked for, or refuses it.
    struct Purse {
        asked: AtomicU64,
        bytes_max: u64,
    }

    impl Ambient for Purse {
        fn now_us(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            0
        }

        fn ask(&self, bytes: u64) -> Result<(), Failure> {
            let asked = self.asked.fetch_add(bytes, Relaxed) + bytes;
            if asked > self.bytes_max { Err(Failure::limit("too much")) } else { Ok(()) }
        }
    }

    fn purse(bytes_max: u64) -> Purse {
        Purse { asked: AtomicU64::new(0), bytes_max }
    }

    /// Long values of every kind, and short ones beside them.
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

    /// Every function, of every combination of these values that it takes.
    fn each(mut visit: impl FnMut(&crate::Function, &[Value])) {
        let pool = pool();
        for function in functions() {
            let most = function.args_max.unwrap_or(2).min(3);
            let is_long = |place: usize| place < 11;
            for count in function.args_min.max(1)..=most {
                for number in 0..pool.len().pow(count as u32) {
                    let place = |i: usize| number / pool.len().pow(i as u32) % pool.len();
                    // Of three, only the first is long.
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
            assert!(failure.is_limit, "{name}: {failure}");
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
