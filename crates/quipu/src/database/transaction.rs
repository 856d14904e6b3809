//! Transactions of a database: what is changed in one, by a view or a script, shows at its commit.

use super::Database;
use base::KeyspaceId;
use env::Owner;
use env::sync::Mutex;
use relation::Names;
use session::{Engine, TransactionState};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Error, ErrorKind, Isolation, Result, Transaction};
use views::SharedTransaction;
use views::blobs::Blobs;
use views::combined::Combined;
use views::counters::Counters;
use views::graph::Graph;

/// A transaction: nothing is visible to others before [`Tx::commit`]; dropping it rolls back.
#[derive(Clone)]
pub struct Tx {
    database: Database,
    shared: Arc<SharedTransaction>,
    /// Where increments could not be written when it began, and why.
    unwritten: Arc<[(KeyspaceId, Error)]>,
    scripts: Arc<Scripts>,
}

/// What is known of the scripts of a transaction.
struct Scripts {
    /// Locks behind it are its parent's in a child of a `fork`.
    owner: Owner,
    engine: Arc<Engine>,
    have_run: AtomicBool,
    /// What they leave to be done.
    carried: Arc<Mutex<TransactionState>>,
}

impl Scripts {
    fn take(&self) -> TransactionState {
        self.carried.lock().take()
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        // Of a transaction that nobody ended: it cannot be committed any more. A parent's goes on, whatever its children drop.
        if self.owner.is_here() {
            self.engine.forget(&self.take());
        }
    }
}

impl std::fmt::Debug for Tx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx").field("open", &self.shared.is_open()).finish_non_exhaustive()
    }
}

impl Tx {
    /// As [`Database::transaction`].
    pub(super) fn begin(database: &Database, isolation: Isolation) -> Self {
        // A failed write poisons the store, and the transaction's commit says so.
        // All of them ask for the process themselves: in another one nothing is held, and every call of the transaction fails.
        let parts = database.parts.anywhere();
        let unwritten = parts.waiting.write_each();
        let carried = Arc::new(Mutex::new(parts.engine.transaction_state()));
        let shared = SharedTransaction::begin(&*parts.store, isolation);
        let (have_run, engine) = (AtomicBool::new(false), Arc::clone(&parts.engine));
        let owner = database.parts.owner();
        let scripts = Arc::new(Scripts { owner, engine, have_run, carried });
        Self { database: database.clone(), shared, unwritten: unwritten.into(), scripts }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The transaction, for a script.
    pub(crate) fn for_script(&self) -> &SharedTransaction {
        self.scripts.have_run.store(true, Ordering::Release);
        &self.shared
    }

    /// Runs something that changes relations, and keeps what it leaves to be done for the commit.
    pub(crate) fn changing<R>(
        &self,
        change: impl FnOnce(&dyn Transaction, &mut TransactionState) -> Result<R>,
    ) -> Result<R> {
        self.database.check_process()?;
        // A script inside of this one, or beside it, works on a copy of its own.
        let mut carried = TransactionState::for_script(&self.scripts.carried);
        let before = carried.names().clone();
        let done = self.for_script().with(|transaction| change(transaction, &mut carried))?;
        self.scripts.carried.lock().absorb(&before, carried);
        Ok(done)
    }

    /// What names stand for in the transaction.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where others have renamed, replaced or removed relations since it began.
    pub(crate) fn names(&self) -> Result<Names> {
        self.database.check_open()?;
        let carried = self.scripts.carried.lock();
        self.scripts.engine.names_in(&carried).cloned()
    }

    /// What the database calls what has this name in the transaction, where scripts of it gave names.
    fn stored<'n>(&self, name: &'n str) -> Result<Cow<'n, str>> {
        self.database.check_open()?;
        let stored = self.scripts.carried.lock().names().stored(name);
        stored.ok_or_else(|| {
            let what = format!("{name:?} was removed or renamed in the transaction");
            Error::new(ErrorKind::InvalidInput, what)
        })
    }

    /// A graph seen through the transaction. It must exist: graphs are created outside.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there is none of this name.
    pub fn graph(&self, name: &str) -> Result<Graph> {
        Ok(self.database.require_graph(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Blobs seen through the transaction. They must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there are none of this name.
    pub fn blobs(&self, name: &str) -> Result<Blobs> {
        Ok(self.database.require_blobs(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Counters seen through the transaction. They must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where there are none of this name.
    pub fn counters(&self, name: &str) -> Result<Counters> {
        Ok(self.database.require_counters(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Combined values seen through the transaction. Somebody must have opened them by [`Database::combined`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] where nobody has. The function's, where it refused to combine increments that were
    /// acknowledged before the transaction began: it would not see them.
    pub fn combined(&self, name: &str) -> Result<Combined> {
        let waiting = &self.database.parts()?.waiting;
        let found = waiting.open_combined(&self.stored(name)?)?;
        let combined = found.ok_or_else(|| {
            let what = format!("no combined values {name:?} are open");
            let hint = "open them with their function by Database::combined first";
            Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
        })?;
        match self.unwritten.iter().find(|(id, _)| *id == combined.keyspace()) {
            Some((_, error)) => Err(error.clone()),
            None => Ok(combined.in_transaction(&self.shared)),
        }
    }

    /// Makes all writes visible at once.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: another commit won; nothing was written; run it again.
    pub fn commit(&self) -> Result<()> {
        self.database.check_process()?;
        // What runs in it ends first, and nothing begins after it.
        self.database.check_open()?;
        let transaction = self.shared.end()?;
        match self.scripts.have_run.load(Ordering::Acquire) {
            false => transaction.commit().map(drop),
            true => self.scripts.engine.commit_in(self.scripts.take(), transaction),
        }
    }

    /// Forgets all writes. In a process that inherited the transaction by `fork` it does nothing.
    pub fn rollback(&self) {
        if self.database.check_process().is_err() {
            return;
        }
        self.shared.rollback();
        self.scripts.engine.forget(&self.scripts.take());
    }

    /// Whether it has neither committed nor rolled back. Never in a process that inherited it.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.database.check_process().is_ok() && self.shared.is_open()
    }
}
