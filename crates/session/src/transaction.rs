//! Runs scripts and changes in transactions: in new ones, which are retried, and in those of the
//! caller.

use crate::caught::caught;
use crate::dml::change_feed::Changed;
use crate::engine::Engine;
use crate::plan_cache::cached_script::{CacheValidity, CachedScript};
use crate::run_options::Run;
use crate::session::Session;
use crate::transaction_state::TransactionState;
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::query_result::QueryResult;
use relation::{NameOverlay, SchemaChanges};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{ErrorKind, Isolation, Transaction, WriteBatch};

/// Most attempts of a script after conflicts that it cannot know of.
const TRIES_MAX: usize = 32;

/// Longest wait before another attempt, in microseconds.
const RETRY_WAIT_US: u64 = 1000;

impl Engine {
    /// Calls `act` in a new transaction and commits. `parsed` is the script that it runs, if any.
    pub(crate) fn in_transaction<T>(
        &self,
        parsed: Option<&CachedScript>,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        act: impl Fn(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut tries = TRIES_MAX;
        let mut parsed = parsed;
        let limits = self.limits(run, cancelled);
        loop {
            let (mut changed, mut again) = (Vec::new(), Again::default());
            let outcome =
                self.committed(parsed, run, limits.again(), &mut changed, &mut again, &act);
            // Committed changes are reported even if a later step failed; others never.
            self.callbacks.tell(changed);
            let Err(Error::Store(error)) = &outcome else { return outcome };
            match error.kind() {
                // Another transaction may have assigned the same dictionary ids, linked vectors
                // near these, or changed the schema: the caller cannot know of that.
                ErrorKind::Conflict if again.after_conflict && tries > 0 => {
                    tries -= 1;
                    limits.check_may_block()?;
                    limits.check(0)?;
                    exec::limits::wait(&*self.env, self.env.random_u64() % RETRY_WAIT_US);
                }
                // A relation may have been dropped since the script's cache was filled: one more
                // attempt, without the cache.
                ErrorKind::InvalidInput if again.after_cached => {
                    parsed.take().into_iter().for_each(CachedScript::forget);
                }
                _ => return outcome,
            }
        }
    }

    /// Makes one attempt. `told` receives the committed changes, to be reported after all locks are
    /// released.
    fn committed<T>(
        &self,
        parsed: Option<&CachedScript>,
        run: &Run<'_>,
        limits: QueryLimits<'_>,
        told: &mut Vec<Changed>,
        again: &mut Again,
        act: impl Fn(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        // The lock is taken first: a script that waits here for an index would otherwise begin with
        // an outdated epoch.
        let _shared = match run.non_blocking {
            Some(_) => self.try_share().ok_or(Error::WouldBlock)?,
            None => self.share(),
        };
        let epoch = self.present(run)?;
        let generation = self.plan_cache.generation();
        let transaction = self.store.begin(Isolation::Snapshot);
        let mut session = self.session(&*transaction, run, limits);
        // If plans were invalidated meanwhile, the transaction may see more than the cached entries
        // are based on.
        session.parsed = parsed.filter(|_| self.plan_cache.generation() == generation);
        session.validity = CacheValidity { epoch, generation };
        let outcome = caught(|| act(&mut session));
        let Session {
            names,
            changed,
            invalidates_plans,
            may_conflict_unseen,
            used_cached,
            validity,
            ..
        } = session;
        again.after_conflict = may_conflict_unseen;
        let done = match outcome {
            Ok(done) => done,
            Err(error) => {
                drop(transaction);
                self.forget_names(&names);
                again.after_cached = used_cached.get();
                // It may have failed because a name has changed its meaning meanwhile.
                again.after_conflict |= !self.schema_epoch.is(epoch);
                return Err(error);
            }
        };
        let state = TransactionState {
            changed,
            invalidates_plans,
            ..TransactionState::new(validity, names)
        };
        if run.non_blocking.is_some() && !env::wait_from_here() {
            return Err(Error::WouldBlock);
        }
        let committed = self.commit_state(state, transaction, told);
        again.after_conflict |= !self.schema_epoch.is(epoch);
        committed?;
        Ok(done)
    }

    /// Commits, and makes the transaction's names visible to all. `told` receives the changes if it
    /// commits.
    fn commit_state(
        &self,
        state: TransactionState,
        transaction: Box<dyn Transaction>,
        told: &mut Vec<Changed>,
    ) -> store::Result<()> {
        let TransactionState {
            validity: CacheValidity { epoch, .. },
            names,
            changed,
            invalidates_plans,
            has_lost,
            ..
        } = state;
        let _naming = names.are_changed().then(|| self.naming.lock());
        // Transactions that begin now wait until names and rows agree again.
        let change = names.move_old().then(|| self.schema_epoch.begin_change());
        let is_past = match &change {
            Some(change) => change.from() != epoch,
            None => !self.schema_epoch.is(epoch),
        };
        if !is_past && !has_lost && names.are_changed() && transaction.is_idle() {
            match self.catalog.commit_new_relations(&names) {
                Ok(true) => {
                    *told = changed;
                    self.plan_cache.clear();
                    return Ok(());
                }
                Ok(false) => {}
                Err(error) => {
                    self.forget_names(&names);
                    return Err(error);
                }
            }
        }
        let prepared = match (is_past, has_lost) {
            (true, _) => Err(changed_meanwhile()),
            (false, true) => Err(store::Error::undone_by_another()),
            (false, false) => self.prepare(&names, &*transaction),
        };
        let committed = prepared.and_then(|changes| transaction.commit().map(|_| changes));
        let changes = match committed {
            Ok(changes) => changes,
            Err(error) => {
                self.forget_names(&names);
                return Err(error);
            }
        };
        *told = changed;
        let named = self.catalog.change_names(&changes);
        if let (Some(host), Ok(())) = (&self.host, &named) {
            changes.dropped().iter().for_each(|&keyspace| host.dropped(keyspace));
        }
        if names.are_changed() || invalidates_plans {
            self.plan_cache.clear();
        }
        drop(change);
        named
    }

    /// The changes of keyspaces in the commit; their row is written into the transaction.
    fn prepare(
        &self,
        names: &NameOverlay,
        transaction: &dyn Transaction,
    ) -> store::Result<SchemaChanges> {
        if !names.are_changed() {
            return Ok(SchemaChanges::default());
        }
        let (changes, rows) = self.catalog.schema_changes(names, transaction)?;
        for row in rows {
            transaction.write(&WriteBatch { tables: vec![row] })?;
        }
        Ok(changes)
    }

    /// Drops keyspaces created for a transaction that is not committed, or for a part of one that
    /// is undone.
    pub(crate) fn forget_names(&self, names: &NameOverlay) {
        // Nobody but the transaction knew of it: the rest is removed when the database is opened
        // again, and hides no other error.
        let _ = self.catalog.forget_names(names);
    }

    /// The state for scripts in a transaction of the caller. It must be requested before the
    /// transaction begins, and passed to each script and to [`Engine::commit_in`] or
    /// [`Engine::forget`].
    #[must_use]
    pub fn transaction_state(&self) -> TransactionState {
        if self.store.check_process().is_err() {
            // In a forked process nothing can be done in the transaction, and the thread that is
            // waited for may not exist.
            return TransactionState::new(
                CacheValidity { epoch: 0, generation: 0 },
                NameOverlay::default(),
            );
        }
        let epoch = self.schema_epoch.now(&*self.env);
        let generation = self.plan_cache.generation();
        TransactionState::new(CacheValidity { epoch, generation }, NameOverlay::default())
    }

    /// Names of relations in a transaction of the caller.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the meaning of a name outside of the transaction has changed
    /// since it began.
    pub fn names_in<'c>(&self, state: &'c TransactionState) -> store::Result<&'c NameOverlay> {
        match self.schema_epoch.is(state.validity.epoch) {
            true => Ok(&state.names),
            false => Err(changed_meanwhile()),
        }
    }

    /// Runs a script in a transaction of the caller.
    ///
    /// # Errors
    /// See [`Error`]. The writes of a failed script are undone, and so are writes of other
    /// threads to the transaction meanwhile, as described at [`Transaction::roll_back_to`].
    pub fn run_in(
        &self,
        transaction: &dyn Transaction,
        text: &str,
        run: &Run<'_>,
        state: &mut TransactionState,
    ) -> Result<QueryResult> {
        let parsed = self.plan_cache.parse(text)?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&parsed.text, &cancelled);
        // The transaction itself may have changed what plans depend on, too.
        let is_as_it_was =
            self.plan_cache.generation() == state.validity.generation && !state.invalidates_plans;
        let kept = is_as_it_was.then_some(&*parsed);
        let mut used_cached = false;
        let outcome = self.in_callers_transaction(transaction, run, &cancelled, state, |session| {
            session.parsed = kept;
            let outcome = session.run(&parsed.script);
            used_cached = session.used_cached.get();
            outcome
        });
        match outcome {
            // A relation may have been dropped since the script's cache was filled. The script's
            // writes were undone.
            Err(Error::Store(error)) if used_cached && error.kind() == ErrorKind::InvalidInput => {
                parsed.forget();
                let again = |session: &mut Session<'_>| session.run(&parsed.script);
                self.in_callers_transaction(transaction, run, &cancelled, state, again)
            }
            outcome => outcome,
        }
    }

    /// Calls `act` in a transaction of the caller; undoes its changes if it fails.
    pub(crate) fn in_callers_transaction<'e, T>(
        &'e self,
        transaction: &'e dyn Transaction,
        run: &Run<'e>,
        cancelled: &Arc<AtomicBool>,
        state: &mut TransactionState,
        act: impl FnOnce(&mut Session<'e>) -> Result<T>,
    ) -> Result<T> {
        self.store.check_open()?;
        self.names_in(state)?;
        let mut session = self.session(transaction, run, self.limits(run, cancelled));
        session.is_callers = true;
        session.validity = state.validity;
        session.names = std::mem::take(&mut state.names);
        session.shared.clone_from(&state.shared);
        let begun = session.begin_part();
        let outcome = caught(|| act(&mut session));
        if outcome.is_err() {
            session.undo(begun);
        }
        let Session { names, mut changed, invalidates_plans, .. } = session;
        state.names = names;
        state.changed.append(&mut changed);
        state.invalidates_plans |= invalidates_plans;
        outcome
    }

    /// Commits a transaction in which scripts ran, and passes their changes to callbacks. An index
    /// created meanwhile would lack the scripts' rows.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if indexes were created or dropped, or relations renamed, replaced
    /// or removed, since the transaction began; those of the commit.
    pub fn commit_in(
        &self,
        state: TransactionState,
        transaction: Box<dyn Transaction>,
    ) -> store::Result<()> {
        let mut told = Vec::new();
        let committed = {
            let _shared = self.share();
            self.commit_state(state, transaction, &mut told)
        };
        self.callbacks.tell(told);
        committed
    }

    /// Drops what scripts created in a transaction that was rolled back.
    pub fn forget(&self, state: &TransactionState) {
        self.forget_names(&state.names);
    }
}

/// Reasons to run a failed script again.
#[derive(Default)]
struct Again {
    /// A conflict that the caller cannot know of.
    after_conflict: bool,
    /// It failed before its commit and had used the script's cache.
    after_cached: bool,
}

fn changed_meanwhile() -> store::Error {
    let what = "an index was made or dropped, or a relation renamed, replaced or removed, since the transaction began";
    store::Error::new(ErrorKind::Conflict, format!("{what}\nhint: run the transaction again"))
}
