//! Runs a plan: one life after the other on one disk, with each opening compared with the model.

use crate::faults::{Crash, Fault, FaultCounts, FaultPlan};
use crate::random::MILLION;
use crate::scheduler::Failure;
use crate::settings::Settings;
use crate::sim::Sim;
use crate::workload::ledger::Ledger;
use crate::workload::model::Model;
use crate::workload::plan::{End, Life, Plan, Swarm};
use crate::workload::read::Answer;
use crate::workload::spaces::{COUNTERS, Ids, LARGE, NAMES, Slot};
use crate::workload::task::{Task, collect_words, new_keyspace, whole};
use crate::workload::vault::{PLACES, Status, Vault};
use crate::workload::world::{Tally, World, listed, slots};
use base::KeyspaceId;
use kv::Kv;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Read, Store};

/// Most attempts to open the database on a machine with faults, before the run is given up.
const ATTEMPTS: usize = 12;

/// A broken promise of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The life in which it was found.
    pub life: usize,
    /// The violated promise, in words.
    pub why: String,
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The first broken promise.
    pub broken: Option<Broken>,
    /// Counts of steps, faults and checks.
    pub tally: Tally,
    /// Operations of the machine.
    pub operations: u64,
    /// Counts of the machine's faults.
    pub counts: FaultCounts,
    /// Equal for all runs of one plan.
    pub trace_hash: u64,
}

/// Runs a plan to its end, or to the first broken promise.
#[must_use]
pub fn run(plan: &Plan) -> Report {
    let model = Rc::new(RefCell::new(Model::new()));
    let ledger = Rc::new(RefCell::new(Ledger::default()));
    let vault = Rc::new(RefCell::new(Vault::default()));
    let tally = Rc::new(RefCell::new(Tally { runs: 1, ..Tally::default() }));
    let mut sim = Sim::new(plan.seed, settings(&plan.swarm));
    let mut broken = None;
    let mut before = Before { floor: 0, power: true, syncs_failed: 0 };
    // Whether a sync has failed since the machine's last start.
    let mut doubtful = false;
    for (number, life) in plan.lives.iter().enumerate() {
        let world = World::new(
            sim.env(),
            sim.second_process(),
            plan.swarm.clone(),
            Rc::clone(&model),
            Rc::clone(&ledger),
            Rc::clone(&vault),
            Rc::clone(&tally),
        );
        let ended = live(&sim, &world, life, &before);
        let over = world.stop.get();
        if doubtful && world.verified.get() && sim.crashed() == Some(Crash::Power) {
            base::mark::hit(base::mark::Mark::ReopenedThenCut);
        }
        let failed = sim.counts().of(Fault::SyncFails) > before.syncs_failed;
        doubtful = sim.crashed() != Some(Crash::Power) && (doubtful || failed);
        world.let_go();
        match ended {
            Err(why) => {
                broken = Some(Broken { life: number, why });
                break;
            }
            Ok(_) if over => break,
            Ok(next) => before = next,
        }
        if number + 1 < plan.lives.len() {
            sim = sim.restart();
        }
    }
    if broken.is_none() && !vault.borrow().backups.is_empty() {
        sim = sim.restart();
        let audited = audit(&sim, &plan.swarm, &model, &vault, &tally);
        let last = plan.lives.len().saturating_sub(1);
        broken = audited.err().map(|why| Broken { life: last, why: format!("at the end: {why}") });
    }
    let tally = tally.borrow().clone();
    Report {
        broken,
        tally,
        operations: sim.operations(),
        counts: sim.counts(),
        trace_hash: sim.trace_hash(),
    }
}

fn settings(swarm: &Swarm) -> Settings {
    Settings {
        parallelism: swarm.parallelism,
        switch_ppm: swarm.switch_permille * (MILLION / 1000),
        faults: swarm.faults.clone(),
        // A life has some thousand operations.
        steps_max: 1_000_000,
        disk_bytes: if swarm.disk_bytes == 0 { u64::MAX } else { swarm.disk_bytes },
        name_order: swarm.name_order,
        append_buffer_bytes: swarm.append_buffer_bytes,
        torn_ppm: swarm.torn_ppm,
    }
}

/// Restores every backup and opens every restored database, on a machine without further faults.
fn audit(
    sim: &Sim,
    swarm: &Swarm,
    model: &Rc<RefCell<Model>>,
    vault: &Rc<RefCell<Vault>>,
    tally: &Rc<RefCell<Tally>>,
) -> Result<(), String> {
    sim.set_faults(FaultPlan::none());
    sim.set_disk_bytes(u64::MAX);
    // Damaged files stay damaged.
    let damages = Fault::ALL.into_iter().filter(|fault| fault.corrupts());
    let faults =
        damages.fold(FaultPlan::none(), |plan, fault| plan.with(fault, swarm.faults.ppm(fault)));
    let swarm = Swarm { faults, disk_bytes: 0, ..swarm.clone() };
    let world = World::new(
        sim.env(),
        sim.second_process(),
        swarm,
        Rc::clone(model),
        Rc::default(),
        Rc::clone(vault),
        Rc::clone(tally),
    );
    vault.borrow_mut().new_life();
    {
        let world = Rc::clone(&world);
        sim.spawn("audit", move || {
            if let Err(why) = audit_all(&world) {
                world.failed(why);
            }
        });
    }
    let ran = sim.run();
    match world.failure() {
        Some(why) => Err(why),
        None => ran.map_err(|failure| format!("{failure:?}")),
    }
}

fn audit_all(world: &Rc<World>) -> Result<(), String> {
    let task = Task::new(Rc::clone(world));
    let places = world.vault.borrow().used_places();
    for place in places {
        task.look(place)?;
    }
    let backups = world.vault.borrow().backups.len();
    for number in 0..backups {
        let status = world.vault.borrow().backups[number].status;
        if status != Status::Gone {
            let place = usize::from(PLACES) + number;
            task.restore_to(number, place, false)?;
            task.look(place)?;
        }
    }
    Ok(())
}

/// The state that the previous life left.
#[derive(Clone, Copy, Debug)]
struct Before {
    /// Commits up to this number must exist.
    floor: u64,
    /// Whether everything that is found is durable.
    power: bool,
    /// Number of failed syncs by then.
    syncs_failed: u64,
}

impl Before {
    /// The number up to which commits must exist now. A failed sync can lose unsynced writes
    /// immediately, without a crash.
    fn floor(&self, world: &World) -> u64 {
        let failed = world.env.counts().of(Fault::SyncFails) > self.syncs_failed;
        if failed && world.swarm.durability != Durability::Sync {
            return self.floor.min(world.model.borrow().durable);
        }
        self.floor
    }
}

/// Runs one life; returns the state that the next one must find.
fn live(sim: &Sim, world: &Rc<World>, life: &Life, before: &Before) -> Result<Before, String> {
    if let End::Crash(at, kind) = life.end {
        sim.crash_at_operation(sim.operations() + at, kind);
    }
    world.running.set(life.tasks.len());
    world.vault.borrow_mut().new_life();
    spawn_tasks(sim, world, life, *before);
    let ran = sim.run();
    if let Some(why) = world.failure() {
        return Err(why);
    }
    match ran {
        Ok(()) => {}
        Err(Failure::Deadlock { .. }) => return Err(format!("deadlock: {ran:?}")),
        Err(_) => return Err(format!("{ran:?}")),
    }
    if let End::Crash(_, kind) = life.end {
        sim.crash(kind);
        world.model.borrow_mut().lost_unsynced |= kind == Crash::Power;
    }
    let syncs_failed = sim.counts().of(Fault::SyncFails);
    world.model.borrow_mut().lost_unsynced |= syncs_failed > before.syncs_failed;
    Ok(after(world, life, before, syncs_failed))
}

/// The task that opens the database, and those of the plan.
fn spawn_tasks(sim: &Sim, world: &Rc<World>, life: &Life, before: Before) {
    {
        let (world, before, close) = (Rc::clone(world), before, life.end == End::Close);
        sim.spawn("open", move || {
            if let Err(why) = open(&world, before) {
                world.failed(why);
            }
            world.opening.set(false);
            world.signal.notify();
            if close {
                world.signal.wait_until(&mut || world.running.get() == 0 || world.is_over());
                if let Err(why) = close_cleanly(&world) {
                    world.failed(why);
                }
            }
        });
    }
    for steps in &life.tasks {
        let (world, steps) = (Rc::clone(world), steps.clone());
        sim.spawn("task", move || {
            world.signal.wait_until(&mut || !world.opening.get());
            let mut task = Task::new(Rc::clone(&world));
            for step in &steps {
                if world.is_over() {
                    break;
                }
                if let Err(why) = task.step(step) {
                    world.failed(format!("{step}: {why}"));
                }
            }
            drop(task);
            world.running.set(world.running.get() - 1);
            world.signal.notify();
        });
    }
}

/// The state that the next life must find.
fn after(world: &World, life: &Life, before: &Before, syncs_failed: u64) -> Before {
    let model = world.model.borrow();
    if !world.verified.get() {
        // The crash came before the verification; what had to exist still has to. A power cut may
        // lose bytes that a killed process left in the page cache.
        let power = life.end_is_power();
        let takes = power && world.swarm.durability != Durability::Sync;
        let floor = if takes { before.floor.min(model.durable) } else { before.floor(world) };
        return Before { power, floor, syncs_failed };
    }
    let (floor, power) = match (life.end, world.swarm.durability) {
        (End::Close, _) if world.closed_cleanly.get() => (model.acknowledged, true),
        (End::Crash(_, Crash::Power), Durability::Sync) => (model.acknowledged, true),
        (_, Durability::Sync) => (model.acknowledged, false),
        (End::Crash(_, Crash::Power), _) => (model.durable, true),
        (_, Durability::Os) if syncs_failed > before.syncs_failed => (model.durable, false),
        (_, Durability::Os) => (model.acknowledged, false),
        (_, Durability::None) => (model.durable, false),
    };
    let floor = if world.swarm.damages() { 0 } else { floor };
    Before { floor, power, syncs_failed }
}

impl Life {
    fn end_is_power(&self) -> bool {
        matches!(self.end, End::Crash(_, Crash::Power))
    }
}

fn close_cleanly(world: &World) -> Result<(), String> {
    let Some(opened) = world.opened() else { return Ok(()) };
    world.closing();
    let flushing = world.ledger.borrow_mut().flush_begins();
    let written = opened.registry.as_ref().map_or(Ok(()), |registry| registry.close());
    match opened.kv.close().and(written) {
        Ok(()) => {
            world.ledger.borrow_mut().flush_ended(flushing, true);
            world.closed_cleanly.set(!world.is_over());
            Ok(())
        }
        Err(error) => world.tolerate("close", &error, &Ids::new(), opened.generation),
    }
}

/// Opens the database, trying again on a machine with faults, and verifies its content.
fn open(world: &Rc<World>, before: Before) -> Result<(), String> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let kv = match world.open(false) {
            Ok(kv) => Arc::new(kv),
            Err(error) => {
                world.tolerate("open", &error, &Ids::new(), u64::MAX)?;
                if world.env.is_off() {
                    return Ok(());
                }
                if error.kind() == ErrorKind::Corruption {
                    world.tally.borrow_mut().refused += 1;
                    world.stop.set(true);
                    return Ok(());
                }
                last = Some(error);
                continue;
            }
        };
        match verify(world, &kv, before)? {
            Verified::Sound => {
                world.poisoned.set(false);
                world.set(kv);
                return Ok(());
            }
            Verified::Unreadable(error) => last = Some(error),
            Verified::Over => return Ok(()),
        }
    }
    let _ = last;
    world.tally.borrow_mut().given_up += 1;
    world.stop.set(true);
    Ok(())
}

enum Verified {
    Sound,
    /// A read failed because of a fault.
    Unreadable(Error),
    /// The run ends here.
    Over,
}

fn verify(world: &Rc<World>, kv: &Arc<Kv>, before: Before) -> Result<Verified, String> {
    macro_rules! attempt {
        ($doing:literal, $result:expr) => {
            match $result {
                Ok(value) => value,
                Err(error) => return unverified(world, $doing, error),
            }
        };
    }
    let ids = listed(kv)?;
    let snapshot = kv.snapshot();
    let recovered = snapshot.seq().0;
    let mut found: Vec<(Slot, KeyspaceId, Answer)> = Vec::new();
    for (slot, id) in ids.iter().filter(|(slot, _)| **slot != LARGE) {
        let answer = attempt!("read after opening", whole(*slot).ask(&*snapshot, &ids));
        let count = attempt!("count after opening", kv.count(*id));
        if count != answer.rows {
            let name = NAMES[usize::from(*slot)];
            return Err(format!("{name} has {} rows, count says {count}", answer.rows));
        }
        found.push((*slot, *id, answer));
    }
    if let Err(error) = kv.check(&|_, _| true) {
        world.tolerate_check(&error, u64::MAX)?;
    }
    if !world.verified.get() && !reconcile(world, before, recovered, &ids, &found)? {
        world.tally.borrow_mut().tails_lost += 1;
        world.stop.set(true);
        return Ok(Verified::Over);
    }
    let missing = slots(&world.swarm);
    let missing: Vec<Slot> = missing.into_iter().filter(|slot| !ids.contains_key(slot)).collect();
    if ids.is_empty() {
        let new: Vec<_> = missing.iter().map(|slot| new_keyspace(*slot)).collect();
        world.model.borrow_mut().unsettled.extend(missing.iter().copied());
        let made = attempt!("create keyspaces", kv.create_keyspaces(&new));
        let mut model = world.model.borrow_mut();
        model.unsettled.clear();
        model.made_at.extend(made.iter().map(|id| (*id, kv.snapshot().seq().0)));
        model.live.extend(missing.into_iter().zip(made));
    }
    if let Err(error) = world.tidy(kv)? {
        world.tolerate("tidy up after opening", &error, &Ids::new(), u64::MAX)?;
        // If tidying fails in part, a second attempt does not know what the first wrote.
        if !world.env.is_off() {
            world.tally.borrow_mut().given_up += 1;
            world.stop.set(true);
        }
        return Ok(Verified::Over);
    }
    Ok(Verified::Sound)
}

/// A verification that failed with an error.
fn unverified(world: &World, doing: &str, error: Error) -> Result<Verified, String> {
    world.tolerate(doing, &error, &Ids::new(), u64::MAX)?;
    if world.env.is_off() {
        return Ok(Verified::Over);
    }
    if world.swarm.damages() {
        world.stop.set(true);
        return Ok(Verified::Over);
    }
    Ok(Verified::Unreadable(error))
}

/// Compares the database as it was opened, at commit `recovered`, with the model, which then takes
/// it over. False if damage cost commits or keyspaces.
fn reconcile(
    world: &Rc<World>,
    before: Before,
    recovered: u64,
    ids: &Ids,
    found: &[(Slot, KeyspaceId, Answer)],
) -> Result<bool, String> {
    let damages = world.swarm.damages();
    let settled = before.power || world.swarm.durability != Durability::Os;
    let floor = before.floor(world);
    let mut model = world.model.borrow_mut();
    if recovered < model.base() && damages {
        return Ok(false);
    }
    let loses = world.swarm.durability != Durability::Sync
        && (model.lost_unsynced || world.env.counts().of(Fault::SyncFails) > before.syncs_failed);
    let told = keyspaces(&model, ids, loses.then_some(recovered));
    if damages && told.is_err() {
        return Ok(false);
    }
    told?;
    let tally = Rc::clone(&world.tally);
    model.recover(recovered, floor, settled, |state| {
        for (slot, _, answer) in found {
            let read = whole(*slot);
            World::compare(&tally, &read, answer, &read.expect(state, ids), recovered)?;
        }
        Ok(())
    })?;
    let gone: Vec<KeyspaceId> =
        model.live.values().copied().filter(|id| !ids.values().any(|at| at == id)).collect();
    gone.into_iter().chain(std::mem::take(&mut model.dropping)).for_each(|id| {
        if !ids.values().any(|at| *at == id) {
            model.forget_space(id);
        }
    });
    model.live.clone_from(ids);
    model.unsettled.clear();
    // Opening makes durable what it found.
    model.made_at.clear();
    model.lost_unsynced = false;
    drop(model);
    let mut numbers = BTreeMap::new();
    for (slot, _, answer) in found.iter().filter(|(slot, ..)| COUNTERS.contains(slot)) {
        collect_words(&answer.cells, *slot, &mut numbers);
    }
    world.counters_found(&numbers)?;
    world.verified.set(true);
    world.tally.borrow_mut().openings += 1;
    Ok(true)
}

/// Checks which keyspaces exist after an opening. `lost` is the newest commit if unsynced writes
/// may be lost.
fn keyspaces(
    model: &Model,
    ids: &BTreeMap<Slot, KeyspaceId>,
    lost: Option<u64>,
) -> Result<(), String> {
    for (slot, id) in &model.live {
        let may_lose = lost.is_some_and(|recovered| model.may_lose(*id, recovered));
        if ids.get(slot) != Some(id) && !may_lose {
            return Err(format!("keyspace {} \"{}\" is gone", id.0, NAMES[usize::from(*slot)]));
        }
    }
    for (slot, id) in ids {
        let fine = model.live.get(slot) == Some(id) || model.unsettled.contains(slot);
        if !fine {
            let name = NAMES[usize::from(*slot)];
            return Err(format!("keyspace {} \"{name}\" was dropped, or never made", id.0));
        }
    }
    Ok(())
}

/// Whether no fault can happen.
#[must_use]
pub fn is_quiet(faults: &FaultPlan) -> bool {
    *faults == FaultPlan::none()
}
