//! Transactions of a database: [`Tx`], which [`Database::transaction`] begins.
//!
//! Graphs, blobs, counters, combined values and scripts of a transaction share one snapshot and one
//! set of writes. The commit makes all writes visible in one step.

use super::Database;
use base::KeyspaceId;
use env::Owner;
use env::sync::Mutex;
use relation::NameOverlay;
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

/// A transaction. Others see its changes only after [`Tx::commit`]. Dropping it rolls it back.
#[derive(Clone)]
pub struct Tx {
    database: Database,
    shared: Arc<SharedTransaction>,
    /// Write buffers that could not be written when the transaction began: keyspace and error.
    unwritten: Arc<[(KeyspaceId, Error)]>,
    scripts: Arc<Scripts>,
}

/// State of the scripts of a transaction.
struct Scripts {
    /// In a child of a `fork` the locks below belong to the parent.
    owner: Owner,
    engine: Arc<Engine>,
    have_run: AtomicBool,
    /// Changes of names and other work that the commit must do.
    state: Arc<Mutex<TransactionState>>,
}

impl Scripts {
    fn take(&self) -> TransactionState {
        self.state.lock().take()
    }
}

impl Drop for Scripts {
    fn drop(&mut self) {
        // The transaction was dropped without an end, so it can no longer be committed. In a child
        // of a `fork` nothing is done, since the parent's transaction goes on.
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
    /// See [`Database::transaction`].
    pub(super) fn begin(database: &Database, isolation: Isolation) -> Self {
        // A failed write poisons the store, and the transaction's commit reports it. All calls
        // below check the process themselves: in another process nothing is read, and every call of
        // the transaction fails.
        let parts = database.parts.anywhere();
        let unwritten = parts.buffers.write_each();
        let state = Arc::new(Mutex::new(parts.engine.transaction_state()));
        let shared = SharedTransaction::begin(&*parts.store, isolation);
        let (have_run, engine) = (AtomicBool::new(false), Arc::clone(&parts.engine));
        let owner = database.parts.owner();
        let scripts = Arc::new(Scripts { owner, engine, have_run, state });
        Self { database: database.clone(), shared, unwritten: unwritten.into(), scripts }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// The transaction, for a script or another change of relations. Records that there was one:
    /// the commit then also applies changes of names, and passes changes to callbacks.
    pub(crate) fn for_script(&self) -> &SharedTransaction {
        self.scripts.have_run.store(true, Ordering::Release);
        &self.shared
    }

    /// Runs a change of relations, and keeps its pending work for the commit.
    pub(crate) fn with_state<R>(
        &self,
        change: impl FnOnce(&dyn Transaction, &mut TransactionState) -> Result<R>,
    ) -> Result<R> {
        self.database.check_process()?;
        // Nested and concurrent scripts each work on their own copy.
        let mut state = TransactionState::for_script(&self.scripts.state);
        let before = state.names().clone();
        let done = self.for_script().with(|transaction| change(transaction, &mut state))?;
        self.scripts.state.lock().absorb(&before, state);
        Ok(done)
    }

    /// The names as the transaction sees them.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if others have renamed, replaced or removed relations since it
    /// began.
    pub(crate) fn names(&self) -> Result<NameOverlay> {
        self.database.check_open()?;
        let state = self.scripts.state.lock();
        self.scripts.engine.names_in(&state).cloned()
    }

    /// The stored name of an entry that has this name in the transaction, where scripts may have
    /// renamed it.
    fn stored<'n>(&self, name: &'n str) -> Result<Cow<'n, str>> {
        self.database.check_open()?;
        let stored = self.scripts.state.lock().names().stored(name);
        stored.ok_or_else(|| {
            let what = format!("{name:?} was removed or renamed in the transaction");
            Error::new(ErrorKind::InvalidInput, what)
        })
    }

    /// A graph in the transaction. It must exist: graphs are created outside of transactions.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no graph with this name.
    pub fn graph(&self, name: &str) -> Result<Graph> {
        Ok(self.database.require_graph(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Blobs in the transaction. They must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there are no blobs with this name.
    pub fn blobs(&self, name: &str) -> Result<Blobs> {
        Ok(self.database.require_blobs(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Counters in the transaction. They must exist.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there are no counters with this name.
    pub fn counters(&self, name: &str) -> Result<Counters> {
        Ok(self.database.require_counters(&self.stored(name)?)?.in_transaction(&self.shared))
    }

    /// Combined values in the transaction. They must be open, by [`Database::combined`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if they are not open. The error of the function if it refused
    /// increments that were acknowledged before the transaction began: the transaction would not
    /// see them.
    pub fn combined(&self, name: &str) -> Result<Combined> {
        let buffers = &self.database.parts()?.buffers;
        let found = buffers.open_combined(&self.stored(name)?)?;
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

    /// Makes all writes visible in one step.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`]: another commit won and nothing was written. Run the transaction
    /// again.
    pub fn commit(&self) -> Result<()> {
        self.database.check_process()?;
        // Waits for running calls, and refuses later ones.
        self.database.check_open()?;
        let transaction = self.shared.end()?;
        match self.scripts.have_run.load(Ordering::Acquire) {
            false => transaction.commit().map(drop),
            true => self.scripts.engine.commit_in(self.scripts.take(), transaction),
        }
    }

    /// Discards all writes. In a child of a `fork` it does nothing.
    pub fn rollback(&self) {
        if self.database.check_process().is_err() {
            return;
        }
        self.shared.rollback();
        self.scripts.engine.forget(&self.scripts.take());
    }

    /// Whether it has not ended. False in a child of a `fork`.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.database.check_process().is_ok() && self.shared.is_open()
    }
}
