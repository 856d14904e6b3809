//! One transaction that several views share.

use crate::owner::check_process;
use base::SeqNo;
use base::sabotage::{Switch, is_on};
use env::Owner;
use env::sync::RwLock;
use relation::invalid;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Error, ErrorKind, Isolation, Result, Store, Transaction, WriteBatch};

/// A transaction of the store, shared by the views made of it. After [`SharedTransaction::commit`]
/// or [`SharedTransaction::rollback`] every call through such a view is an error.
///
/// Dropping the last reference rolls back. In a process that inherited it by `fork` every call is
/// an error, and ending it does nothing.
///
/// One in which a call panicked cannot be committed: what that call wrote may be there in part.
pub struct SharedTransaction {
    owner: Owner,
    open: RwLock<Option<Box<dyn Transaction>>>,
    has_panicked: AtomicBool,
}

impl SharedTransaction {
    /// Begins a transaction.
    #[must_use]
    pub fn begin(store: &dyn Store, isolation: Isolation) -> Arc<Self> {
        let open = RwLock::new(Some(store.begin(isolation)));
        Arc::new(Self { owner: Owner::here(), open, has_panicked: AtomicBool::new(false) })
    }

    /// Calls `f` with the transaction.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end, and those of `f`.
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

    /// Adds writes.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end, and those of the store.
    pub fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.with(|transaction| transaction.write(batch))
    }

    /// Makes all writes visible at once and ends it, also where that fails.
    ///
    /// # Errors
    /// [`store::ErrorKind::Conflict`]: another commit won; nothing was written.
    pub fn commit(&self) -> Result<SeqNo> {
        self.end()?.commit()
    }

    /// Ends it for all views, once nobody reads or writes through them; whoever asks commits it.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] after its end; [`store::ErrorKind::Internal`] where a call in it panicked, and then
    /// it is rolled back.
    pub fn end(&self) -> Result<Box<dyn Transaction>> {
        check_process(self.owner)?;
        // Taken out, so that the lock is not held while the log is synced.
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

    /// Forgets all writes and ends it; does nothing after its end.
    pub fn rollback(&self) {
        if !self.owner.is_here() {
            return;
        }
        let open = self.open.write().take();
        if is_on(Switch::CommitOnRollback) {
            open.map(Transaction::commit);
        }
    }

    /// Whether it has neither committed nor rolled back. In a process that inherited it, no.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.owner.is_here() && self.open.read().is_some()
    }
}

/// Notes that a call in a transaction ends in a panic.
struct ToldOfPanic<'t> {
    has_panicked: &'t AtomicBool,
    /// There was one already when the call began: it runs in a destructor.
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

/// Attempts before a conflict is handed to the caller.
const ATTEMPTS_MAX: usize = 64;

/// Runs `f` in transactions of its own until one commits.
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
