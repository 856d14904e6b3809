//! The write buffer: increments in memory that are not written to the store yet.
//!
//! Under durability `none` an increment is added to the buffered sum of its key (`buffer.rs`). The
//! sums of many keys are written together: within a second, or earlier if there are many or a
//! caller needs them in the store. Counters and combined values share this module.
//!
//! # Structure
//! - `buffer`: the hash tables, and all locking.
//! - `drain`: writes the tables in key order, in steps, while increments continue.
//! - `schedule`: the job that writes a buffer some time after its first increment.
//! - `settings`: how much is buffered.
//! - `registry`: all buffers of a database, to write them before a flush, a backup or the close.

mod buffer;
mod drain;
#[cfg(all(test, feature = "shuttle"))]
mod models;
mod registry;
mod schedule;
mod settings;
#[cfg(test)]
mod tests;

pub(crate) use buffer::{Accumulate, Buffer, RefKey};
pub(crate) use drain::{BYTES_A_ROW, Patience, Steps};
pub use registry::Registry;
pub(crate) use schedule::{Buffered, Schedule};
pub use settings::Buffering;

use base::{KeyRef, Keys};
use env::Env;
use relation::KeyType;
use store::Result;

/// The write buffer of a view, by the type of its keys.
pub(crate) enum WriteBuffer<S: Accumulate> {
    /// No buffer: every increment is a commit.
    Nothing,
    /// Keys of one word.
    Words(Buffer<u64, S>),
    /// Keys that are encoded strings.
    Texts(Buffer<Box<[u8]>, S>),
}

impl<S: Accumulate> WriteBuffer<S> {
    /// A buffer for keys of this type. Without `wait` there is none: [`Self::Nothing`].
    pub(crate) fn of(key: KeyType, wait: bool, how: S, env: &dyn Env, steps: Steps) -> Self {
        match key {
            _ if !wait => Self::Nothing,
            KeyType::U64 | KeyType::I64 => Self::Words(Buffer::new(how, env.random_u64(), steps)),
            KeyType::Str => Self::Texts(Buffer::new(how, env.random_u64(), steps)),
        }
    }

    /// Calls `f` with the result of `read`, which reads a key from the store, and with the key's
    /// buffered sum that this result does not include; see [`Buffer::with_sum`].
    pub(crate) fn with_sum<T, R>(
        &self,
        key: KeyRef<'_>,
        read: impl Fn() -> T,
        f: impl FnOnce(T, Option<&S::Sum>) -> R,
    ) -> R {
        match (self, key) {
            (Self::Words(buffer), KeyRef::Words(key)) if buffer.rows() > 0 => {
                buffer.with_sum(&key[0], read, f)
            }
            (Self::Texts(buffer), KeyRef::Bytes(key)) if buffer.rows() > 0 => {
                buffer.with_sum(key, read, f)
            }
            _ => f(read(), None),
        }
    }

    /// The buffered sum of each key, and the snapshot that `moment` takes; see [`Buffer::sums_at`].
    /// `None` if the buffer is empty.
    pub(crate) fn sums_at<R>(
        &self,
        keys: &Keys,
        moment: impl Fn() -> R,
    ) -> Option<(Vec<Option<S::Sum>>, R)> {
        match (self, keys) {
            (Self::Words(buffer), Keys::Words(columns)) if buffer.rows() > 0 => {
                Some(buffer.sums_at(columns[0].len(), |i| &columns[0][i], moment))
            }
            (Self::Texts(buffer), Keys::Bytes(column)) if buffer.rows() > 0 => {
                Some(buffer.sums_at(column.len(), |i| column.get(i), moment))
            }
            _ => None,
        }
    }

    /// Calls `f`, which writes a key to the store, and removes the key's buffered sum. `f` may ask
    /// for this sum. Also returns whether there was one.
    pub(crate) fn replace<R>(
        &self,
        key: KeyRef<'_>,
        f: impl FnOnce(&dyn Fn() -> Option<S::Sum>) -> Result<R>,
    ) -> Result<(R, bool)> {
        match (self, key) {
            (Self::Words(buffer), KeyRef::Words(key)) => buffer.replace(&key[0], f),
            (Self::Texts(buffer), KeyRef::Bytes(key)) => buffer.replace(key, f),
            _ => Ok((f(&|| None)?, false)),
        }
    }

    /// Refuses further increments. Those in the buffer stay.
    pub(crate) fn close(&self) {
        match self {
            Self::Nothing => {}
            Self::Words(buffer) => buffer.close(),
            Self::Texts(buffer) => buffer.close(),
        }
    }

    /// Number of buffered keys.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Words(buffer) => buffer.rows(),
            Self::Texts(buffer) => buffer.rows(),
        }
    }

    /// Bytes of keys and sums outside the hash tables.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Words(buffer) => buffer.bytes(),
            Self::Texts(buffer) => buffer.bytes(),
        }
    }
}
