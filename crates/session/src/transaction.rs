//! Scripts and changes in transactions: their own, which are tried again, and the caller's.

use crate::caught::caught;
use crate::dml::change_feed::Changed;
use crate::engine::Engine;
use crate::plan_cache::cached_script::{Parsed, Stand};
use crate::run_options::Run;
use crate::session::Session;
use crate::transaction_state::Carried;
use exec::error::{Error, Result};
use exec::limits::Watch;
use exec::output::Output;
use relation::{NameChanges, Names};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{ErrorKind, Isolation, Transaction, WriteBatch};

/// How often a script is run again where what it has a conflict with is nothing that it asked for.
const TRIES_MAX: usize = 32;

/// Microseconds to wait before, at most.
const RETRY_WAIT_US: u64 = 1000;

impl Engine {
    /// Does something in a transaction of its own, and what is left to be done when it is committed. `parsed` is the script that it does.
    pub(crate) fn in_transaction<T>(
        &self,
        parsed: Option<&Parsed>,
        run: &Run<'_>,
        cancelled: &Arc<AtomicBool>,
        act: impl Fn(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut tries = TRIES_MAX;
        let mut parsed = parsed;
        let watch = self.watch(run, cancelled);
        loop {
            let (mut changed, mut again) = (Vec::new(), Again::default());
            let outcome =
                self.committed(parsed, run, watch.again(), &mut changed, &mut again, &act);
            // Of what is committed, also where what followed failed; of nothing else.
            self.callbacks.tell(changed);
            let Err(Error::Store(error)) = &outcome else { return outcome };
            match error.kind() {
                // Writers of other rows may have given new texts the same numbers, or what names stand for has changed: of either the one
                // that asks knows nothing.
                ErrorKind::Conflict if again.after_conflict && tries > 0 => {
                    tries -= 1;
                    watch.may_take_long()?;
                    watch.check(0)?;
                    exec::limits::wait(&*self.env, self.env.random_u64() % RETRY_WAIT_US);
                }
                // A relation may have gone since what is kept of the script was found out: once more, without that.
                ErrorKind::InvalidInput if again.after_kept => {
                    parsed.take().into_iter().for_each(Parsed::forget);
                }
                _ => return outcome,
            }
        }
    }

    /// The same; what was changed is there once it is committed, when no lock is held any more.
    fn committed<T>(
        &self,
        parsed: Option<&Parsed>,
        run: &Run<'_>,
        watch: Watch<'_>,
        told: &mut Vec<Changed>,
        again: &mut Again,
        act: impl Fn(&mut Session<'_>) -> Result<T>,
    ) -> Result<T> {
        // First, for who waits here for an index that is made would begin at a moment that has passed.
        let _shared = match run.brief {
            Some(_) => self.share_at_once().ok_or(Error::Long)?,
            None => self.share(),
        };
        let moment = self.present(run)?;
        let generation = self.plans.generation();
        let transaction = self.store.begin(Isolation::Snapshot);
        let mut session = self.session(&*transaction, run, watch);
        // Where plans were let go meanwhile, the transaction may see more than what is kept was found out by.
        session.parsed = parsed.filter(|_| self.plans.generation() == generation);
        session.stand = Stand { moment, generation };
        let outcome = caught(|| act(&mut session));
        let Session { names, changed, lets_plans_go, has_numbered, used_kept, stand, .. } = session;
        again.after_conflict = has_numbered;
        let done = match outcome {
            Ok(done) => done,
            Err(error) => {
                drop(transaction);
                self.forget_names(&names);
                again.after_kept = used_kept.get();
                // It may have failed for a name that stood for something else meanwhile.
                again.after_conflict |= !self.moments.is(moment);
                return Err(error);
            }
        };
        let carried = Carried { changed, lets_plans_go, ..Carried::new(stand, names) };
        if run.brief.is_some() && !env::wait_from_here() {
            return Err(Error::Long);
        }
        let committed = self.commit_carried(carried, transaction, told);
        again.after_conflict |= !self.moments.is(moment);
        committed?;
        Ok(done)
    }

    /// Commits, and lets names stand for everybody for what they stand for in the transaction. `told` is what was changed, where it is committed.
    fn commit_carried(
        &self,
        carried: Carried,
        transaction: Box<dyn Transaction>,
        told: &mut Vec<Changed>,
    ) -> store::Result<()> {
        let Carried {
            stand: Stand { moment, .. }, names, changed, lets_plans_go, has_lost, ..
        } = carried;
        let _naming = names.are_changed().then(|| self.naming.lock());
        // Whoever begins now waits until names and rows belong together again.
        let passing = names.move_old().then(|| self.moments.begin_to_pass());
        let is_past = match &passing {
            Some(passing) => passing.from() != moment,
            None => !self.moments.is(moment),
        };
        if !is_past && !has_lost && names.are_changed() && transaction.is_idle() {
            match self.catalog.make_known(&names) {
                Ok(true) => {
                    *told = changed;
                    self.plans.clear();
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
        if names.are_changed() || lets_plans_go {
            self.plans.clear();
        }
        drop(passing);
        named
    }

    /// What the commit does to keyspaces, whose row is written into the transaction.
    fn prepare(&self, names: &Names, transaction: &dyn Transaction) -> store::Result<NameChanges> {
        if !names.are_changed() {
            return Ok(NameChanges::default());
        }
        let (changes, rows) = self.catalog.name_changes(names, transaction)?;
        for row in rows {
            transaction.write(&WriteBatch { tables: vec![row] })?;
        }
        Ok(changes)
    }

    /// Drops what was made for a transaction that is not committed, or for a part of one that is undone.
    pub(crate) fn forget_names(&self, names: &Names) {
        // Nobody but the transaction knew of it: what is left goes when the database is opened again, and hides no other error.
        let _ = self.catalog.forget_names(names);
    }

    /// For the scripts of a transaction of the caller's: to be asked for before it begins, and handed to each of them, and to
    /// [`Engine::commit_in`] or [`Engine::forget`].
    #[must_use]
    pub fn carried(&self) -> Carried {
        if self.store.check_process().is_err() {
            // Of a process that inherited the engine: nothing can be done in the transaction, and what is waited for may not be there.
            return Carried::new(Stand { moment: 0, generation: 0 }, Names::default());
        }
        let moment = self.moments.now(&*self.env);
        let generation = self.plans.generation();
        Carried::new(Stand { moment, generation }, Names::default())
    }

    /// What names stand for in a transaction of the caller's.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where what they stood for when it began is not what they stand for now outside of it.
    pub fn names_in<'c>(&self, carried: &'c Carried) -> store::Result<&'c Names> {
        match self.moments.is(carried.stand.moment) {
            true => Ok(&carried.names),
            false => Err(changed_meanwhile()),
        }
    }

    /// Runs a script in a transaction of the caller's.
    ///
    /// # Errors
    /// See [`Error`]. Nothing of what the script wrote before it failed is left in the transaction, nor of what others wrote there meanwhile, for which
    /// [`Transaction::roll_back_to`] has a rule.
    pub fn run_in(
        &self,
        transaction: &dyn Transaction,
        text: &str,
        run: &Run<'_>,
        carried: &mut Carried,
    ) -> Result<Output> {
        let parsed = self.plans.parse(text)?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let _running = self.register(&parsed.text, &cancelled);
        // What plans depend on may have changed since, or in the transaction.
        let is_as_it_was =
            self.plans.generation() == carried.stand.generation && !carried.lets_plans_go;
        let kept = is_as_it_was.then_some(&*parsed);
        let mut used_kept = false;
        let outcome = self.carry(transaction, run, &cancelled, carried, |session| {
            session.parsed = kept;
            let outcome = session.run(&parsed.script);
            used_kept = session.used_kept.get();
            outcome
        });
        match outcome {
            // A relation may have gone since what is kept of the script was found out. What it wrote was undone.
            Err(Error::Store(error)) if used_kept && error.kind() == ErrorKind::InvalidInput => {
                parsed.forget();
                let again = |session: &mut Session<'_>| session.run(&parsed.script);
                self.carry(transaction, run, &cancelled, carried, again)
            }
            outcome => outcome,
        }
    }

    /// Does something in a transaction of the caller's, or nothing where it fails.
    pub(crate) fn carry<'e, T>(
        &'e self,
        transaction: &'e dyn Transaction,
        run: &Run<'e>,
        cancelled: &Arc<AtomicBool>,
        carried: &mut Carried,
        act: impl FnOnce(&mut Session<'e>) -> Result<T>,
    ) -> Result<T> {
        self.store.check_open()?;
        self.names_in(carried)?;
        let mut session = self.session(transaction, run, self.watch(run, cancelled));
        session.is_callers = true;
        session.stand = carried.stand;
        session.names = std::mem::take(&mut carried.names);
        session.of_all.clone_from(&carried.of_all);
        let begun = session.begin_part();
        let outcome = caught(|| act(&mut session));
        if outcome.is_err() {
            session.undo(begun);
        }
        let Session { names, mut changed, lets_plans_go, .. } = session;
        carried.names = names;
        carried.changed.append(&mut changed);
        carried.lets_plans_go |= lets_plans_go;
        outcome
    }

    /// Commits a transaction in which scripts ran, and tells whoever wants to know what they changed. What scripts wrote lacks rows of an index
    /// that was made meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] where since the transaction began indexes were made or dropped, or relations renamed, replaced or removed;
    /// those of the commit.
    pub fn commit_in(
        &self,
        carried: Carried,
        transaction: Box<dyn Transaction>,
    ) -> store::Result<()> {
        let mut told = Vec::new();
        let committed = {
            let _shared = self.share();
            self.commit_carried(carried, transaction, &mut told)
        };
        self.callbacks.tell(told);
        committed
    }

    /// Drops what scripts made in a transaction that was rolled back.
    pub fn forget(&self, carried: &Carried) {
        self.forget_names(&carried.names);
    }
}

/// What would make it worth while to run a script once more that failed.
#[derive(Default)]
struct Again {
    /// A conflict with what it did not ask for.
    after_conflict: bool,
    /// It failed before its commit, and went by what is kept of it.
    after_kept: bool,
}

fn changed_meanwhile() -> store::Error {
    let what = "an index was made or dropped, or a relation renamed, replaced or removed, since the transaction began";
    store::Error::new(ErrorKind::Conflict, format!("{what}\nhint: run the transaction again"))
}
