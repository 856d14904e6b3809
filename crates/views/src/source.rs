//! What a view is read and written through: the store, a held moment, or a transaction.

use crate::SharedTransaction;
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, Read, Result, Snapshot, Store, WriteBatch};

/// The newest state, a moment, or a transaction: the same code of a view serves all three.
#[derive(Clone)]
pub(crate) enum Source {
    /// Each read sees the newest commit; a write is a commit of its own.
    Store(Arc<dyn Store>),
    /// Reads see the moment; there is no writing.
    Snapshot(Arc<dyn Snapshot>),
    /// Reads see the transaction's snapshot and its own writes.
    Transaction(Arc<SharedTransaction>),
}

impl Source {
    /// Reads the newest state, which may move on between two reads.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        match self {
            Self::Store(store) => f(&**store),
            Self::Snapshot(snapshot) => f(&**snapshot),
            Self::Transaction(transaction) => transaction.with(|transaction| f(transaction)),
        }
    }

    /// Reads one moment, for what needs more than one read.
    pub(crate) fn read_moment<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        match self {
            Self::Store(store) => f(&*store.snapshot()),
            Self::Snapshot(_) | Self::Transaction(_) => self.read(f),
        }
    }

    /// The same as of now, where it was the newest state.
    pub(crate) fn held(&self) -> Self {
        match self {
            Self::Store(store) => Self::Snapshot(store.snapshot()),
            Self::Snapshot(_) | Self::Transaction(_) => self.clone(),
        }
    }

    /// To be asked by what keeps something in memory beside the source. Reads and writes ask by
    /// themselves.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] where the store was opened in another process.
    pub(crate) fn check_process(&self) -> Result<()> {
        match self {
            Self::Store(store) => store.check_process(),
            // Each read of them asks.
            Self::Snapshot(_) => Ok(()),
            Self::Transaction(transaction) => transaction.with(|_| Ok(())),
        }
    }

    /// To be asked by what begins something that writes later.
    ///
    /// # Errors
    /// As [`Source::check_process`]; [`ErrorKind::InvalidInput`] where the store is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_process()?;
        self.store().map_or(Ok(()), |store| store.check_open())
    }

    /// The store, where it is read directly.
    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        match self {
            Self::Store(store) => Some(store),
            Self::Snapshot(_) | Self::Transaction(_) => None,
        }
    }

    /// Writes to the store, newest wins, or into the transaction.
    pub(crate) fn apply(&self, batch: &WriteBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        match self {
            Self::Store(store) => store.write(batch, None).map(|_| ()),
            Self::Transaction(transaction) => transaction.write(batch),
            Self::Snapshot(_) => {
                Err(Error::new(ErrorKind::ReadOnly, "what is seen at a snapshot cannot be written"))
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Store(_) => "store",
            Self::Snapshot(_) => "snapshot",
            Self::Transaction(_) => "transaction",
        })
    }
}
