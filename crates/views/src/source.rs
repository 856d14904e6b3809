//! The source and target of a view: the store, a snapshot or a transaction.

use crate::transaction::SharedTransaction;
use std::fmt;
use std::sync::Arc;
use store::{Error, ErrorKind, Read, Result, Snapshot, Store, WriteBatch};

/// The store, a snapshot or a transaction. The code of a view is the same for all three.
#[derive(Clone)]
pub(crate) enum Source {
    /// Each read sees the newest commit; each write is a commit of its own.
    Store(Arc<dyn Store>),
    /// Reads see the snapshot; writes are refused.
    Snapshot(Arc<dyn Snapshot>),
    /// Reads see the transaction's snapshot and its own writes.
    Transaction(Arc<SharedTransaction>),
}

impl Source {
    /// Reads the newest state. Two calls may see different states.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        match self {
            Self::Store(store) => f(&**store),
            Self::Snapshot(snapshot) => f(&**snapshot),
            Self::Transaction(transaction) => transaction.with(|transaction| f(transaction)),
        }
    }

    /// Reads one snapshot, for operations that need more than one read.
    pub(crate) fn read_snapshot<R>(&self, f: impl FnOnce(&dyn Read) -> Result<R>) -> Result<R> {
        match self {
            Self::Store(store) => f(&*store.snapshot()),
            Self::Snapshot(_) | Self::Transaction(_) => self.read(f),
        }
    }

    /// Takes a snapshot of the store; a snapshot or a transaction is returned as it is.
    pub(crate) fn held(&self) -> Self {
        match self {
            Self::Store(store) => Self::Snapshot(store.snapshot()),
            Self::Snapshot(_) | Self::Transaction(_) => self.clone(),
        }
    }

    /// For operations that keep state in memory besides the source. Reads and writes check it
    /// themselves.
    ///
    /// # Errors
    /// [`ErrorKind::Forked`] if another process opened the store.
    pub(crate) fn check_process(&self) -> Result<()> {
        match self {
            Self::Store(store) => store.check_process(),
            // Each read of a snapshot checks it.
            Self::Snapshot(_) => Ok(()),
            Self::Transaction(transaction) => transaction.with(|_| Ok(())),
        }
    }

    /// For operations that start something that writes later.
    ///
    /// # Errors
    /// As [`Source::check_process`]; [`ErrorKind::InvalidInput`] if the store is closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        self.check_process()?;
        self.store().map_or(Ok(()), |store| store.check_open())
    }

    /// The store, if it is read directly.
    pub(crate) fn store(&self) -> Option<&Arc<dyn Store>> {
        match self {
            Self::Store(store) => Some(store),
            Self::Snapshot(_) | Self::Transaction(_) => None,
        }
    }

    /// Commits a batch to the store (the newest write wins), or adds it to the transaction.
    pub(crate) fn apply(&self, batch: &WriteBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        match self {
            Self::Store(store) => store.write(batch, None).map(|_| ()),
            Self::Transaction(transaction) => transaction.write(batch),
            Self::Snapshot(_) => {
                Err(Error::new(ErrorKind::ReadOnly, "a snapshot cannot be written"))
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
