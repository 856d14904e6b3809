//! A transaction that several views share. `quipu::Tx` makes it; graphs, blobs, counters and
//! combined values in it hold a reference each.
//!
//! # Invariants
//! 1. It ends once: calls through any view fail afterwards.
//! 2. The lock is not held while the log is synced.
//! 3. A transaction in which a call panicked never commits.

use crate::owner::check_process;
use base::SeqNo;
use base::fault_switch::{Switch, is_on};
use env::Owner;
use env::sync::RwLock;
use relation::invalid;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Error, ErrorKind, Isolation, Result, Store, Transaction, WriteBatch};

/// A transaction of the store, shared by the views made from it. After
/// [`SharedTransaction::commit`] or [`SharedTransaction::rollback`] every call through such a view
/// is an error.
///
/// Dropping the last reference rolls it back. In a child of a `fork` every call is an error, and
/// ending the transaction does nothing.
///
/// If a call in it panicked, the transaction cannot be committed: it may hold a part of the call's
/// writes.
pub struct SharedTransaction {
    owner: Owner,
    open: RwLock<Option<Box<dyn Transaction>>>,
    has_panicked: AtomicBool,
}

impl SharedTransaction {
    /// Begins a transaction on the newest snapshot of `store`.
    #[must_use]
    pub fn begin(store: &dyn Store, isolation: Isolation) -> Arc<Self> {
        let open = RwLock::new(Some(store.begin(isolation)));
        Arc::new(Self { owner: Owner::here(), open, has_panicked: AtomicBool::new(false) })
    }

    /// Calls `f` with the open transaction.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end, and errors of `f`.
    pub fn with<R>(&self, f: impl FnOnce(&dyn Transaction) -> Result<R>) -> Result<R> {
        check_process(self.owner)?;
        let _told =
            ToldOfPanic { has_panicked: &self.has_panicked, before: std::thread::panicking() };
        let done = f(self.open.read().as_deref().ok_or_else(ended)?);
        if matches!(&done, Err(error) if error.kind() == ErrorKind::Internal) {
            self.has_panicked.store(true, Ordering::Release);
        }
        done
    }

    /// Adds a batch of writes.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end, and errors of the store.
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.with(|transaction| transaction.write(batch))
    }

    /// Commits all writes in one step. Ends the transaction, even if the commit fails.
    ///
    /// # Errors
    /// [`store::ErrorKind::Conflict`]: another commit won; nothing was written.
    pub fn commit(&self) -> Result<SeqNo> {
        self.end()?.commit()
    }

    /// Waits for running calls, ends the transaction for all views, and returns the transaction of
    /// the store for the caller to commit.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end. [`store::ErrorKind::Internal`] if a call
    /// in it panicked; then it is rolled back.
    pub fn end(&self) -> Result<Box<dyn Transaction>> {
        check_process(self.owner)?;
        // Moved out, so that the lock is not held while the log is synced.
        let open = self.open.write().take().ok_or_else(ended)?;
        match self.has_panicked.load(Ordering::Acquire) {
            false => Ok(open),
            true => {
                let what =
                    "a call in this transaction ended in an internal error: it is rolled back";
                Err(Error::new(ErrorKind::Internal, format!("{what}\nhint: begin a new one")))
            }
        }
    }

    /// Discards all writes and ends the transaction. Does nothing after its end.
    pub fn rollback(&self) {
        if !self.owner.is_here() {
            return;
        }
        let open = self.open.write().take();
        if is_on(Switch::CommitOnRollback) {
            open.map(Transaction::commit);
        }
    }

    /// Whether it has not ended. False in a child of a `fork`.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.owner.is_here() && self.open.read().is_some()
    }
}

/// Records in its destructor that a call in a transaction panicked.
struct ToldOfPanic<'t> {
    has_panicked: &'t AtomicBool,
    /// The thread was panicking when the call began: the call runs in a destructor.
    before: bool,
}

impl Drop for ToldOfPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.before {
            self.has_panicked.store(true, Ordering::Release);
        }
    }
}

impl fmt::Debug for SharedTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedTransaction").field("open", &self.is_open()).finish()
    }
}

/// Maximum number of attempts before [`retry`] returns a conflict.
const ATTEMPTS_MAX: usize = 64;

/// Runs `f` in new transactions until one of them commits.
pub(crate) fn retry<R>(
    store: &Arc<dyn Store>,
    isolation: Isolation,
    f: impl Fn(&Arc<SharedTransaction>) -> Result<R>,
) -> Result<R> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let transaction = SharedTransaction::begin(&**store, isolation);
        let result = f(&transaction)?;
        match transaction.commit() {
            Ok(_) => return Ok(result),
            Err(e) if e.kind() == ErrorKind::Conflict && attempts < ATTEMPTS_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

fn ended() -> Error {
    invalid("the transaction has ended\nhint: begin a new one")
}
