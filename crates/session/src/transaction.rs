//! Scripts and changes in transactions: their own, which are retried, and those of the caller.

use crate::caught::caught;
use crate::dml::change_feed::Changed;
use crate::engine::Engine;
use crate::plan_cache::cached_script::{CacheValidity, CachedScript};
use crate::run_options::Run;
use crate::session::Session;
use crate::transaction_state::TransactionState;
use exec::error::{Error, Result};
use exec::limits::QueryLimits;
use exec::output::Output;
use relation::{NameOverlay, SchemaChanges};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{ErrorKind, Isolation, Transaction, WriteBatch};

/// How often a script is run again where what it has a conflict with is nothing that it asked for.
const TRIES_MAX: usize = 32;

/// Microseconds to wait before, at most.
const RETRY_WAIT_US: u64 = 1000;

impl Engine {
    /// Does something in a transaction of its own, and what is left to be done when it is
    /// committed. `parsed` is the script that it does.
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
            // Of what is committed, also where what followed failed; of nothing else.
            self.callbacks.tell(changed);
            let Err(Error::Store(error)) = &outcome else { return outcome };
            match error.kind() {
                // Writers of other rows may have given new texts the same numbers, or what names
                // stand for has changed: of either the one that asks knows nothing.
                ErrorKind::Conflict if again.after_conflict && tries > 0 => {
                    tries -= 1;
                    limits.check_may_block()?;
                    limits.check(0)?;
                    exec::limits::wait(&*self.env, self.env.random_u64() % RETRY_WAIT_US);
                }
                // A relation may have gone since the cache of the script was filled: once
                // more, without that.
                ErrorKind::InvalidInput if again.after_cached => {
                    parsed.take().into_iter().for_each(CachedScript::forget);
                }
                _ => return outcome,
            }
        }
    }

    /// The same; what was changed is there once it is committed, when no lock is held any more.
    fn committed<T>(
        &self,
        parsed: Option<&CachedScript>,
        run: &Run<'_>,
        limits: QueryLimits<'_>,
        told: &mut Vec<Changed>,
        again: &mut Again,
        act: impl Fn(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        // First, for who waits here for an index that is made would begin at a moment that has
        // passed.
        let _shared = match run.non_blocking {
            Some(_) => self.try_share().ok_or(Error::WouldBlock)?,
            None => self.share(),
        };
        let epoch = self.present(run)?;
        let generation = self.plan_cache.generation();
        let transaction = self.store.begin(Isolation::Snapshot);
        let mut session = self.session(&*transaction, run, limits);
        // Where plans were invalidated meanwhile, the transaction may see more than what is kept
        // was found out by.
        session.parsed = parsed.filter(|_| self.plan_cache.generation() == generation);
        session.validity = CacheValidity { epoch, generation };
        let outcome = caught(|| act(&mut session));
        let Session {
            names,
            changed,
            invalidates_plans,
            has_named_texts,
            used_cached,
            validity,
            ..
        } = session;
        again.after_conflict = has_named_texts;
        let done = match outcome {
            Ok(done) => done,
            Err(error) => {
                drop(transaction);
                self.forget_names(&names);
                again.after_cached = used_cached.get();
                // It may have failed for a name that stood for something else meanwhile.
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

    /// Commits, and lets names stand for everybody for what they stand for in the transaction.
    /// `told` is what was changed, where it is committed.
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
        // Whoever begins now waits until names and rows belong together again.
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

    /// What the commit does to keyspaces, whose row is written into the transaction.
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

    /// Drops what was made for a transaction that is not committed, or for a part of one that is
    /// undone.
    pub(crate) fn forget_names(&self, names: &NameOverlay) {
        // Nobody but the transaction knew of it: what is left goes when the database is opened
        // again, and hides no other error.
        let _ = self.catalog.forget_names(names);
    }

    /// For the scripts of a transaction of the caller's: to be asked for before it begins, and
    /// handed to each of them, and to [`Engine::commit_in`] or [`Engine::forget`].
    #[must_use]
    pub fn transaction_state(&self) -> TransactionState {
        if self.store.check_process().is_err() {
            // Of a process that inherited the engine: nothing can be done in the transaction, and
            // what is waited for may not be there.
            return TransactionState::new(
                CacheValidity { epoch: 0, generation: 0 },
                NameOverlay::default(),
            );
        }
        let epoch = self.schema_epoch.now(&*self.env);
        let generation = self.plan_cache.generation();
        TransactionState::new(CacheValidity { epoch, generation }, NameOverlay::default())
    }

    /// What names stand for in a transaction of the caller's.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where what they stood for when it began is not what they stand for
    /// now outside of it.
    pub fn names_in<'c>(&self, state: &'c TransactionState) -> store::Result<&'c NameOverlay> {
        match self.schema_epoch.is(state.validity.epoch) {
            true => Ok(&state.names),
            false => Err(changed_meanwhile()),
        }
    }

    /// Runs a script in a transaction of the caller's.
    ///
    /// # Errors
    /// See [`Error`]. Nothing of what the script wrote before it failed is left in the transaction,
    /// nor of what others wrote there meanwhile, for which [`Transaction::roll_back_to`] has a
    /// rule.
    pub fn run_in(
        &self,
        transaction: &dyn Transaction,
        text: &str,
        run: &Run<'_>,
        state: &mut TransactionState,
    ) -> Result<Output> {
        let parsed = self.plan_cache.parse(text)?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&parsed.text, &cancelled);
        // What plans depend on may have changed since, or in the transaction.
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
            // A relation may have gone since the cache of the script was filled. What it
            // wrote was undone.
            Err(Error::Store(error)) if used_cached && error.kind() == ErrorKind::InvalidInput => {
                parsed.forget();
                let again = |session: &mut Session<'_>| session.run(&parsed.script);
                self.in_callers_transaction(transaction, run, &cancelled, state, again)
            }
            outcome => outcome,
        }
    }

    /// Does something in a transaction of the caller's, or nothing where it fails.
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

    /// Commits a transaction in which scripts ran, and tells whoever wants to know what they
    /// changed. What scripts wrote lacks rows of an index that was made meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where since the transaction began indexes were made or dropped, or
    /// relations renamed, replaced or removed; those of the commit.
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

    /// Drops what scripts made in a transaction that was rolled back.
    pub fn forget(&self, state: &TransactionState) {
        self.forget_names(&state.names);
    }
}

/// What would make it worth while to run a script once more that failed.
#[derive(Default)]
struct Again {
    /// A conflict with what it did not ask for.
    after_conflict: bool,
    /// It failed before its commit, and used what is cached of it.
    after_cached: bool,
}

fn changed_meanwhile() -> store::Error {
    let what = "an index was made or dropped, or a relation renamed, replaced or removed, since the transaction began";
    store::Error::new(ErrorKind::Conflict, format!("{what}\nhint: run the transaction again"))
}
