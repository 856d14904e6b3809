//! What waits in memory to be written, and the views in which something may wait.
//!
//! Under durability `none` an increment is added to what waits for its key (`buffer.rs`), and
//! written with many others a second later, or when they are many, or when somebody asks for it.
//! Counters and combined values share this.

mod buffer;
#[cfg(all(test, feature = "shuttle"))]
mod models;
mod ordered;
mod registry;
mod schedule;
#[cfg(test)]
mod tests;

pub(crate) use buffer::{Buffer, RefKey, Sums};
pub(crate) use ordered::{BYTES_A_ROW, Patience, Steps};
pub use registry::{Buffering, Registry};
pub(crate) use schedule::{Schedule, Waits};

use base::{KeyRef, Keys};
use env::Env;
use relation::KeyType;
use store::Result;

/// Increments that wait.
pub(crate) enum Waiting<S: Sums> {
    /// Every increment is a commit.
    Nothing,
    /// By keys of one word.
    Words(Buffer<u64, S>),
    /// By encoded texts.
    Texts(Buffer<Box<[u8]>, S>),
}

impl<S: Sums> Waiting<S> {
    /// Where increments by keys of this type wait, if they do.
    pub(crate) fn of(key: KeyType, wait: bool, how: S, env: &dyn Env, steps: Steps) -> Self {
        match key {
            _ if !wait => Self::Nothing,
            KeyType::U64 | KeyType::I64 => Self::Words(Buffer::new(how, env.random_u64(), steps)),
            KeyType::Str => Self::Texts(Buffer::new(how, env.random_u64(), steps)),
        }
    }

    /// Calls `f` with what `read` finds of a key in the store, and with what waits for it beside
    /// that; see [`Buffer::with_sum`].
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

    /// What waits for each key, and what `moment` gives; see [`Buffer::sums_at`]. `None` where
    /// nothing waits.
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

    /// Writes to the store what `f` does, so that what waits for the key, which it may ask for, is
    /// forgotten with it; and whether something waited.
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

    /// Lets nothing wait any more, but for what waits already.
    pub(crate) fn close(&self) {
        match self {
            Self::Nothing => {}
            Self::Words(buffer) => buffer.close(),
            Self::Texts(buffer) => buffer.close(),
        }
    }

    /// Keys that wait.
    pub(crate) fn rows(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Words(buffer) => buffer.rows(),
            Self::Texts(buffer) => buffer.rows(),
        }
    }

    /// Bytes that they and their sums take beside the table of both.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Words(buffer) => buffer.bytes(),
            Self::Texts(buffer) => buffer.bytes(),
        }
    }
}
