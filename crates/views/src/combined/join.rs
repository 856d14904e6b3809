//! The caller's function, and how what waits is combined by it.

use crate::keys::KeyOf;
use crate::waiting::Sums;
use base::KeyRef;
use base::shape::word_to_int;
use relation::KeyType;
use std::cell::Cell;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Longest value and longest increment, in bytes. Each increment that is written rewrites the
/// value, so long ones would be a mistake; blobs take them.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Bytes of combined values that a thread holds on to.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// How two values of a key become one.
///
/// A closure can be one: `|key, old, new, out| { …; Ok(()) }`.
pub trait Combiner: Send + Sync {
    /// Appends to `out`, which is empty, what `old` and then `new` make. Must be associative, and
    /// depend on nothing but what it is given. It is called with locks held, so it must not call
    /// the database; where it panics nothing is lost.
    ///
    /// # Errors
    /// Whatever hinders it, such as bytes that it cannot read: handed to the caller as it is.
    fn combine(&self, key: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// What tells it from other functions in this process: functions of one name are taken to be
    /// the same. By default the name of its type.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }
}

impl<F> Combiner for F
where
    F: Fn(KeyOf<'_>, &[u8], &[u8], &mut Vec<u8>) -> Result<()> + Send + Sync,
{
    fn combine(&self, key: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Result<()> {
        self(key, old, new, out)
    }
}

thread_local! {
    /// What a function makes, kept for its memory.
    static MADE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The function with what it needs to be called.
#[derive(Clone)]
pub(super) struct Join {
    combiner: Arc<dyn Combiner>,
    key: KeyType,
}

impl Join {
    pub(super) fn new(combiner: Arc<dyn Combiner>, key: KeyType) -> Self {
        Self { combiner, key }
    }

    pub(super) fn name(&self) -> &str {
        self.combiner.name()
    }

    /// Replaces `made` by what two values of a key make; after an error it holds nothing of use.
    pub(super) fn join(
        &self,
        key: KeyRef<'_>,
        old: &[u8],
        new: &[u8],
        made: &mut Vec<u8>,
    ) -> Result<()> {
        made.clear();
        match (self.key, key) {
            (KeyType::U64, KeyRef::Words(&[word])) => {
                self.combiner.combine(KeyOf::U64(word), old, new, made)?;
            }
            (KeyType::I64, KeyRef::Words(&[word])) => {
                self.combiner.combine(KeyOf::I64(word_to_int(word)), old, new, made)?;
            }
            (KeyType::Str, KeyRef::Bytes(encoded)) => {
                let text = model::decode_text(encoded).map_err(|error| {
                    Error::new(ErrorKind::Corruption, format!("a key is no text: {error}"))
                })?;
                self.combiner.combine(KeyOf::Str(&text), old, new, made)?;
            }
            _ => unreachable!("a key is of the values' type"),
        }
        check_length(made.len())
    }

    /// Adds to a value that may not be there.
    pub(super) fn add_to(
        &self,
        key: KeyRef<'_>,
        value: &mut Option<Box<[u8]>>,
        delta: &[u8],
    ) -> Result<()> {
        match value {
            Some(value) => self.add(key, value, delta),
            None => {
                *value = Some(delta.into());
                Ok(())
            }
        }
    }
}

impl Sums for Join {
    type Sum = Box<[u8]>;
    type Delta<'a> = &'a [u8];

    fn first(&self, delta: &[u8]) -> Result<Box<[u8]>> {
        Ok(delta.into())
    }

    fn add(&self, key: KeyRef<'_>, sum: &mut Box<[u8]>, delta: &[u8]) -> Result<()> {
        let mut made = MADE.take();
        let joined = self.join(key, sum, delta, &mut made);
        if joined.is_ok() {
            // Most keep their length, and need no other memory.
            if made.len() == sum.len() {
                sum.copy_from_slice(&made);
            } else {
                *sum = made.as_slice().into();
            }
        }
        if made.capacity() <= KEPT_BYTES_MAX {
            MADE.set(made);
        }
        joined
    }

    fn bytes(sum: &Box<[u8]>) -> u64 {
        sum.len() as u64 + 16
    }

    fn both(&self, _: &Box<[u8]>, _: &Box<[u8]>) -> Box<[u8]> {
        // The function may refuse, so combined values are drained shard by shard, and never sealed.
        unreachable!("combined values are not drained in order")
    }
}

pub(super) fn check_length(bytes: usize) -> Result<()> {
    if bytes <= VALUE_BYTES_MAX {
        return Ok(());
    }
    let what = format!(
        "a combined value of {bytes} bytes, the limit is {VALUE_BYTES_MAX}\nhint: blobs may be longer"
    );
    Err(Error::new(ErrorKind::Limit, what))
}
