//! What waits in memory to be written, and the views in which something may wait.
//!
//! Under durability `none` an increment is added to what waits for its key (`buffer.rs`), and written with many others a
//! second later, or when they are many, or when somebody asks for it. Counters and combined values share this.

mod buffer;
mod ordered;
mod registry;
mod schedule;
#[cfg(test)]
mod tests;

pub(crate) use buffer::{Buffer, RefKey, Sums};
pub use registry::{Buffering, Registry};
pub(crate) use schedule::{Schedule, Waits};

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

    /// Bytes that their sums take beside the table of keys.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Words(buffer) => buffer.bytes(),
            Self::Texts(buffer) => buffer.bytes(),
        }
    }
}
