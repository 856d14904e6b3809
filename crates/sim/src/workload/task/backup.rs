//! Steps that make, remove and restore backups, and compare their content.
//!
//! # Why content is compared when a restored database is opened
//! A restore may return before the next crash, and must be checked after it, too. A later opening
//! of the place must find what the vault says, or one of two states after an interrupted restore.

use super::{Outcome, Task, whole};
use crate::faults::Fault;
use crate::workload::spaces::{Ids, LARGE};
use crate::workload::vault::{BackupStep, RestoreStep, Restored, Status, Way};
use crate::workload::world::{Opened, World, listed};
use env::Env;
use env::sync::atomic::{AtomicU64, Ordering};
use kv::{BackupOptions, Kv, KvOptions, RestoreOptions};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Read, Store};

/// A backup that is being taken.
struct Begun {
    number: usize,
    /// A commit that it must hold.
    low: u64,
    /// The backup that it builds upon.
    earlier: Option<usize>,
    options: BackupOptions,
    path: PathBuf,
}

impl Task {
    pub(super) fn backup(&mut self, opened: &Opened, step: &BackupStep) -> Outcome {
        let world = Rc::clone(&self.world);
        if step.by_follower && self.follower.is_none() {
            return Ok(());
        }
        let begun = self.begin_backup(step);
        let Begun { number, low, .. } = begun;
        let told = AtomicU64::new(0);
        let go_on = |_, _| {
            let told = told.fetch_add(1, Ordering::Relaxed) + 1;
            step.stop_after == 0 || told < u64::from(step.stop_after)
        };
        let done = match &self.follower {
            Some(follower) if step.by_follower => {
                let env: Arc<dyn Env> = Arc::clone(&world.second) as _;
                follower.kv.backup(&env, &begun.path, &begun.options, &go_on)
            }
            _ => {
                let env: Arc<dyn Env> = Arc::clone(&world.env) as _;
                opened.kv.backup(&env, &begun.path, &begun.options, &go_on)
            }
        };
        let earlier_was_made = begun.earlier.is_none_or(|earlier| {
            let earlier = &mut world.vault.borrow_mut().backups[earlier];
            earlier.readers -= 1;
            matches!(earlier.status, Status::Made(_))
        });
        if step.by_follower {
            self.follower_moved()?;
        }
        let seq = match done {
            Ok(report) => report.seq.0,
            Err(error) => {
                let status = Status::Failed { half_removed: world.swarm.fails() };
                self.not_made(number, status, low);
                let explained = match error.kind() {
                    ErrorKind::Cancelled => step.stop_after > 0,
                    ErrorKind::InvalidInput => !earlier_was_made,
                    _ => false,
                };
                let env = if step.by_follower { &world.second } else { &world.env };
                return match (explained || env.is_off(), step.by_follower) {
                    (true, _) => Ok(()),
                    (false, true) => world.tolerate_follower("backup by the follower", &error),
                    (false, false) => self.tolerate("backup", &error, opened.generation),
                };
            }
        };
        self.backup_made(opened, &begun, seq, step.by_follower)
    }

    /// Compares a backup that ends with commit `seq` with the model, as soon as that is known.
    fn backup_made(&self, opened: &Opened, begun: &Begun, seq: u64, by_follower: bool) -> Outcome {
        let world = &self.world;
        let &Begun { number, low, .. } = begun;
        world.tally.borrow_mut().backups += 1;
        world.vault.borrow_mut().end(number, Status::Made(seq), &world.model.borrow());
        if seq < low && !world.is_closed(opened.generation) && !world.swarm.damages() {
            return Err(format!("a backup of moment {seq} although {low} had been seen before"));
        }
        let mut model = world.model.borrow_mut();
        if !by_follower {
            // The backup's commits were seen, and are in tables.
            model.acknowledged = model.acknowledged.max(seq);
            model.durable = model.durable.max(seq);
        }
        let vault = Rc::clone(&world.vault);
        model.when_known(seq, move |model| {
            let states = &mut vault.borrow_mut().backups[number].states;
            states.extend(model.state(seq).map(|state| (seq, state.clone())));
            Ok(())
        })
    }

    fn begin_backup(&self, step: &BackupStep) -> Begun {
        let world = &self.world;
        let earlier = match step.way {
            Way::Incremental(which) => world.vault.borrow().pick(which, true),
            _ => None,
        };
        let (number, low) = {
            let model = world.model.borrow();
            let low = match &self.follower {
                Some(follower) if step.by_follower => follower.seq,
                _ => model.acknowledged,
            };
            // A follower takes an unsynced edit of the manifest that it read wrong for the end that
            // a power cut left. It then has the database as it was before.
            let may_lag = step.by_follower
                && world.swarm.damages()
                && world.swarm.durability != Durability::Sync;
            (world.vault.borrow_mut().begin(step.way, &model, may_lag), low)
        };
        let mut options = BackupOptions { earlier: None, verify: step.verify };
        let mut vault = world.vault.borrow_mut();
        if let Some(earlier) = earlier {
            vault.backups[earlier].readers += 1;
            options.earlier = Some(vault.backups[earlier].path.clone());
        }
        let path = vault.backups[number].path.clone();
        Begun { number, low, earlier, options, path }
    }

    /// Records an interrupted backup: if it passes for a backup, it holds one of the states since
    /// it began.
    fn not_made(&self, number: usize, status: Status, low: u64) {
        let model = self.world.model.borrow();
        let mut vault = self.world.vault.borrow_mut();
        vault.end(number, status, &model);
        let states = low.max(model.base())..=model.known();
        let states = states.filter_map(|seq| Some((seq, model.state(seq)?.clone())));
        vault.backups[number].states.extend(states);
    }

    /// Notes that the follower may have advanced.
    fn follower_moved(&mut self) -> Outcome {
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let seq = follower.kv.snapshot().seq().0;
        if seq < follower.seq {
            return Err(format!("the follower went back from {} to {seq}", follower.seq));
        }
        follower.seq = seq;
        follower.ids = listed(&follower.kv)?;
        Ok(())
    }

    /// Removes a backup file by file: backups that link its tables must not depend on it.
    pub(super) fn discard(&self, which: u8) -> Outcome {
        let path = {
            let mut vault = self.world.vault.borrow_mut();
            let Some(number) = vault.pick(which, false) else { return Ok(()) };
            let backup = &mut vault.backups[number];
            if backup.readers > 0 {
                return Ok(());
            }
            backup.status = Status::Gone;
            backup.path.clone()
        };
        remove_all(&*self.world.env, &path);
        Ok(())
    }

    pub(super) fn restore(&self, step: &RestoreStep) -> Outcome {
        let number = self.world.vault.borrow().pick(step.which, false);
        match number {
            Some(number) => self.restore_to(number, usize::from(step.place), step.replace),
            None => Ok(()),
        }
    }

    /// Restores a backup to a place.
    ///
    /// # Errors
    /// A broken promise.
    pub fn restore_to(&self, number: usize, place: usize, replace: bool) -> Outcome {
        let world = &self.world;
        let (from, to, status, old) = {
            let mut vault = world.vault.borrow_mut();
            let status = vault.backups[number].status;
            let at = vault.place(place);
            if at.busy || at.doubtful {
                return Ok(());
            }
            at.busy = true;
            let old = at.possible.clone();
            let seq = if let Status::Made(seq) = status { Some(seq) } else { None };
            at.possible.push(Some(Restored { backup: number, seq }));
            let to = at.path.clone();
            vault.backups[number].readers += 1;
            (vault.backups[number].path.clone(), to, status, old)
        };
        let env: Arc<dyn Env> = Arc::clone(&world.env) as _;
        let done = kv::restore(&env, &from, &to, RestoreOptions { replace }, &|_, _| true);
        let mut vault = world.vault.borrow_mut();
        vault.backups[number].readers -= 1;
        let at = vault.place(place);
        at.busy = false;
        let was_there = old.iter().all(Option::is_some);
        let may_be_there = old.iter().any(Option::is_some);
        match done {
            Ok(report) => {
                let seq = report.seq.0;
                at.possible = vec![Some(Restored { backup: number, seq: Some(seq) })];
                if was_there && !replace {
                    return Err("a restore replaced what it may not".to_owned());
                }
                match status {
                    Status::Made(made) if made != seq => {
                        Err(format!("a backup of moment {made} was restored as one of {seq}"))
                    }
                    _ => Ok(()),
                }
            }
            Err(_) if world.env.is_off() => Ok(()),
            Err(error) => {
                let made = matches!(status, Status::Made(_));
                if is_explained(world, &error, status, may_be_there && !replace) {
                    at.possible = old;
                    world.tally.borrow_mut().backups_refused += u64::from(!made);
                    return Ok(());
                }
                at.doubtful |= world.swarm.faults.ppm(Fault::SyncFails) > 0;
                drop(vault);
                world.tolerate("restore", &error, &Ids::new(), u64::MAX)
            }
        }
    }

    /// Opens a restored database for writing, and compares it.
    ///
    /// # Errors
    /// A broken promise.
    pub fn look(&self, place: usize) -> Outcome {
        let world = &self.world;
        let path = {
            let mut vault = world.vault.borrow_mut();
            let at = vault.place(place);
            if at.busy || at.doubtful {
                return Ok(());
            }
            at.busy = true;
            at.path.clone()
        };
        let looked = self.look_at(place, &path);
        let mut vault = world.vault.borrow_mut();
        let at = vault.place(place);
        at.busy = false;
        let error = match looked? {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if world.env.is_off() {
            return Ok(());
        }
        at.doubtful |= world.swarm.faults.ppm(Fault::SyncFails) > 0;
        if error.kind() == ErrorKind::InvalidInput && at.possible.contains(&None) {
            at.possible = vec![None];
            return Ok(());
        }
        drop(vault);
        let why = world.tolerate("open what was restored", &error, &Ids::new(), u64::MAX);
        why.map_err(|why| format!("{why}\n{:?}", world.vault.borrow_mut().place(place).possible))
    }

    fn look_at(&self, place: usize, path: &Path) -> Result<store::Result<()>, String> {
        let world = &self.world;
        let options = KvOptions {
            create: false,
            auto_compaction: false,
            // The database's own table folders contain tables of its own.
            table_folders: Vec::new(),
            ..world.swarm.options()
        };
        let kv = match Kv::open(Arc::clone(&world.env) as _, path, options) {
            Ok(kv) => kv,
            Err(error) => return Ok(Err(error)),
        };
        let possible = world.vault.borrow_mut().place(place).possible.clone();
        let mut matching = Vec::new();
        let mut first_error = None;
        for restored in possible.into_iter().flatten() {
            match self.compare(&kv, restored) {
                Ok(Ok(seq)) => matching.push(Some(Restored { seq: Some(seq), ..restored })),
                Ok(Err(error)) => return Ok(Err(error)),
                Err(why) => _ = first_error.get_or_insert(why),
            }
        }
        if matching.is_empty() {
            return Err(first_error.unwrap_or_else(|| "a database that nobody restored".to_owned()));
        }
        world.vault.borrow_mut().place(place).possible = matching;
        world.tally.borrow_mut().restored += 1;
        if let Err(error) = kv.check(&|_, _| true) {
            world.tolerate_check(&error, u64::MAX)?;
        }
        Ok(kv.close())
    }

    /// Compares an open database with the backup it was restored from; returns its sequence number.
    fn compare(&self, kv: &Kv, restored: Restored) -> Result<store::Result<u64>, String> {
        let world = &self.world;
        let ids = listed(kv)?;
        let snapshot = kv.snapshot();
        let seq = snapshot.seq().0;
        if let Some(wanted) = restored.seq
            && wanted != seq
        {
            return Err(format!("a backup of moment {wanted} was restored, found is {seq}"));
        }
        let state = {
            let vault = world.vault.borrow();
            let backup = &vault.backups[restored.backup];
            if backup.status != Status::Gone {
                backup.judge_keyspaces(&ids)?;
            }
            backup.states.get(&seq).cloned()
        };
        let Some(state) = state else {
            world.tally.borrow_mut().unjudged += 1;
            return Ok(Ok(seq));
        };
        let read = || -> Result<Result<(), Error>, String> {
            for (slot, id) in ids.iter().filter(|(slot, _)| **slot != LARGE) {
                let read = whole(*slot);
                let found = match read.ask(&*snapshot, &ids) {
                    Ok(found) => found,
                    Err(error) => return Ok(Err(error)),
                };
                let wanted = read.expect(&state, &ids);
                World::compare(&world.tally, &read, &found, &wanted, seq)
                    .map_err(|why| format!("in a restored backup: {why}"))?;
                match kv.count(*id) {
                    Ok(count) if count == found.rows => {}
                    Ok(count) => {
                        return Err(format!(
                            "{} rows were restored, count says {count}",
                            found.rows
                        ));
                    }
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        };
        Ok(read()?.map(|()| seq))
    }
}

/// Best effort: on a machine with faults, files may stay.
fn remove_all(env: &dyn Env, path: &Path) {
    match env.list(path) {
        Ok(names) => {
            names.iter().for_each(|name| remove_all(env, &path.join(name)));
            let _ = env.remove_folder(path);
        }
        Err(_) => _ = env.remove(path),
    }
}

/// Whether a restore may fail so. `is_taken`: something is at the target that it may not replace.
fn is_explained(world: &World, error: &Error, status: Status, is_taken: bool) -> bool {
    match error.kind() {
        ErrorKind::InvalidInput => {
            // Read wrong, the mark of a restore does not say who made the folder.
            let is_mark_damaged =
                || world.swarm.damages() && error.to_string().contains("was not made by a restore");
            !matches!(status, Status::Made(_)) || is_taken || is_mark_damaged()
        }
        ErrorKind::Corruption => {
            world.swarm.damages() || status == Status::Failed { half_removed: true }
        }
        _ => false,
    }
}
