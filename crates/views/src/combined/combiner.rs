//! The user-defined function, and its use in the write buffer.

use crate::keys::KeyOf;
use crate::write_buffer::Accumulate;
use base::KeyRef;
use base::shape::word_to_int;
use relation::KeyType;
use std::cell::Cell;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Maximum length of a value and of an increment, in bytes. Each written increment rewrites the
/// whole value, so longer values belong in blobs.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Buffers up to this many bytes are kept per thread for reuse.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// A user-defined function that combines two values of a key.
///
/// Closures implement it: `|key, old, new, out| { …; Ok(()) }`.
pub trait Combiner: Send + Sync {
    /// Appends the combination of `old` and `new`, in this order, to `out`, which is empty. Must be
    /// associative, and depend only on its arguments. It is called under locks, so it must not call
    /// the database. If it panics, nothing is lost.
    ///
    /// # Errors
    /// Any error, such as bytes that it cannot decode. The caller gets it unchanged.
    fn combine(&self, key: KeyOf<'_>, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> Result<()>;

    /// Identifies the function in this process: two functions with one name are considered the
    /// same. By default the name of the type.
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
    /// Buffer for the function's output, reused across calls.
    static MADE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The function, with the type of the keys that it is called with.
#[derive(Clone)]
pub(super) struct CombineFn {
    combiner: Arc<dyn Combiner>,
    key: KeyType,
}

impl CombineFn {
    pub(super) fn new(combiner: Arc<dyn Combiner>, key: KeyType) -> Self {
        Self { combiner, key }
    }

    pub(super) fn name(&self) -> &str {
        self.combiner.name()
    }

    /// Replaces `made` by the combination of two values of a key. After an error its contents are
    /// unspecified.
    pub(super) fn combine(
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
                let text = model::decode_str(encoded).map_err(|error| {
                    Error::new(ErrorKind::Corruption, format!("a key is no text: {error}"))
                })?;
                self.combiner.combine(KeyOf::Str(&text), old, new, made)?;
            }
            _ => unreachable!("a key is of the values' type"),
        }
        check_length(made.len())
    }

    /// Adds to a value that may be absent.
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

impl Accumulate for CombineFn {
    type Sum = Box<[u8]>;
    type Delta<'a> = &'a [u8];

    fn first(&self, delta: &[u8]) -> Result<Box<[u8]>> {
        Ok(delta.into())
    }

    fn add(&self, key: KeyRef<'_>, sum: &mut Box<[u8]>, delta: &[u8]) -> Result<()> {
        let mut made = MADE.take();
        let combined = self.combine(key, sum, delta, &mut made);
        if combined.is_ok() {
            // Most values keep their length, so their memory is reused.
            if made.len() == sum.len() {
                sum.copy_from_slice(&made);
            } else {
                *sum = made.as_slice().into();
            }
        }
        if made.capacity() <= KEPT_BYTES_MAX {
            MADE.set(made);
        }
        combined
    }

    fn bytes(sum: &Box<[u8]>) -> u64 {
        sum.len() as u64 + 16
    }

    fn both(&self, _: &Box<[u8]>, _: &Box<[u8]>) -> Box<[u8]> {
        // The function may fail, so combined values are drained shard by shard, and never sealed.
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
