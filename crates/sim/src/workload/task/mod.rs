//! Executes the steps of a task on the engine, and compares each answer with the model's. `run`
//! makes a [`Task`] for each task of a life.
//!
//! # Invariant
//! The model is never borrowed during a call of the engine, because every call may switch to
//! another task.

mod backup;
mod blobs;
mod counters;
mod follow;
mod graph;
mod told;
mod transaction;
mod write;

use crate::workload::model::{SpaceWrites, Writes};
use crate::workload::outcome::{Outcome, is_definite};
use crate::workload::plan::{Step, TableStep};
use crate::workload::read::{Answer, ReadStep, What};
use crate::workload::spaces::{FORWARD, Ids, NAMES, REVERSE, Slot, Span, key, range, row, shape};
use crate::workload::world::{Opened, World, definition, listed, written};
use follow::Follower;
use std::rc::Rc;
use std::sync::Arc;
use store::{NewKeyspace, Snapshot, Store};
use transaction::Tx;

pub use counters::collect_words;

/// A snapshot held by a task.
struct Held {
    snapshot: Arc<dyn Snapshot>,
    /// Number of the opening that it belongs to.
    generation: u64,
    seq: u64,
    ids: Ids,
}

/// State of one task.
pub struct Task {
    world: Rc<World>,
    tx: Option<Tx>,
    held: Vec<Held>,
    follower: Option<Follower>,
}

impl Task {
    /// A task of a world whose database is open.
    #[must_use]
    pub fn new(world: Rc<World>) -> Self {
        Self { world, tx: None, held: Vec::new(), follower: None }
    }

    /// Executes one step.
    ///
    /// # Errors
    /// A broken promise.
    pub fn step(&mut self, step: &Step) -> Outcome {
        self.world.count(step);
        let Some(opened) = self.world.opened() else { return Ok(()) };
        match step {
            Step::Write(tables, existed) => self.write(&opened, tables, *existed),
            Step::Begin(isolation) => self.begin(&opened, *isolation),
            Step::TxWrite(tables) => self.tx_write(tables),
            Step::TxUndone(tables) => self.tx_undone(tables),
            Step::TxRead(read) => self.tx_read(read),
            Step::Commit => self.commit(),
            Step::Rollback => {
                self.tx = None;
                Ok(())
            }
            Step::Read(read) => self.read(&opened, read),
            Step::Hold => self.hold(&opened),
            Step::HeldRead(read) => self.held_read(read),
            Step::LetGo => {
                if !self.held.is_empty() {
                    self.held.remove(0);
                }
                Ok(())
            }
            Step::Flush => self.flush(&opened, || opened.kv.flush()),
            Step::Compact => {
                self.collect(&opened)?;
                self.flush(&opened, || opened.kv.compact())
            }
            Step::Bulk(tables, partitions, commit) => {
                self.bulk(&opened, tables, *partitions, *commit)
            }
            Step::Create(slot) => self.create(&opened, *slot),
            Step::Drop(slot) => self.drop_space(&opened, *slot),
            Step::Check => match opened.kv.check(&|_, _| true) {
                Ok(_) => Ok(()),
                Err(error) => self.world.tolerate_check(&error, opened.generation),
            },
            Step::Follow => self.follow(),
            Step::FollowRead(read) => self.follow_read(read),
            Step::Reopen => self.reopen(&opened),
            Step::Graph(graph) => self.graph(&opened, graph),
            Step::Blobs(blobs) => self.blobs(&opened, blobs),
            Step::TxBlobs(blobs) => self.tx_blobs(&opened, blobs),
            Step::Counters(counters) => self.counters(&opened, counters),
            Step::TxCounters(table) => self.tx_counters(&opened, table),
            Step::Backup(backup) => self.backup(&opened, backup),
            Step::Discard(which) => self.discard(*which),
            Step::Restore(restore) => self.restore(restore),
            Step::Look(place) => self.look(usize::from(*place)),
            Step::Pause => {
                self.world.signal.wait_until_timeout(50, &mut || false);
                Ok(())
            }
        }
    }

    fn tolerate(&self, doing: &str, error: &store::Error, generation: u64) -> Outcome {
        self.world.tolerate(doing, error, &Ids::new(), generation)
    }

    /// Flushes as the database does: buffered increments are written first, and everything
    /// acknowledged by now is durable afterwards.
    fn flush(&self, opened: &Opened, call: impl FnOnce() -> store::Result<()>) -> Outcome {
        let flushing = self.world.ledger.borrow_mut().flush_begins();
        let written = match &opened.registry {
            Some(registry) => registry.flush_buffers(),
            None => Ok(()),
        };
        let acknowledged = self.world.model.borrow().acknowledged;
        match call().and(written) {
            Ok(()) => {
                let mut model = self.world.model.borrow_mut();
                model.durable = model.durable.max(acknowledged);
                self.world.ledger.borrow_mut().flush_ended(flushing, true);
                Ok(())
            }
            Err(error) => {
                self.world.ledger.borrow_mut().flush_ended(flushing, false);
                self.tolerate("flush or compact", &error, opened.generation)
            }
        }
    }

    /// Notes that a reader saw a sequence number.
    fn seen(&self, opened: &Opened, seq: u64, acknowledged: u64, who: &str) -> Outcome {
        if self.world.is_closed(opened.generation) {
            return Ok(());
        }
        if seq < acknowledged {
            return Err(format!(
                "{who} was given moment {seq} after commit {acknowledged} was acknowledged"
            ));
        }
        let mut model = self.world.model.borrow_mut();
        model.acknowledged = model.acknowledged.max(seq);
        model.when_known(seq, |_| Ok(()))
    }

    fn read(&self, opened: &Opened, read: &ReadStep) -> Outcome {
        if read.what == What::Graph {
            return Ok(()); // two calls read two snapshots
        }
        let Some(ids) = self.world.ids(&read.slots()) else { return Ok(()) };
        let low = self.world.model.borrow().acknowledged;
        let found = match read.ask(&*opened.kv, &ids) {
            Ok(found) => found,
            Err(error) => return self.world.tolerate("read", &error, &ids, opened.generation),
        };
        let high = opened.kv.snapshot().seq().0;
        if self.world.is_closed(opened.generation) {
            return Ok(());
        }
        let tally = Rc::clone(&self.world.tally);
        let read = read.clone();
        self.world.model.borrow_mut().when_known(high, move |model| {
            let mut error = None;
            for seq in low..=high.max(low) {
                let Some(state) = model.state(seq) else { continue };
                let wanted = read.expect(state, &ids);
                match World::compare(&tally, &read, &found, &wanted, seq) {
                    Ok(()) => return Ok(()),
                    Err(why) => error = Some(why),
                }
            }
            error.map_or(Ok(()), Err)
        })
    }

    fn hold(&mut self, opened: &Opened) -> Outcome {
        let (ids, acknowledged) = {
            let model = self.world.model.borrow();
            (model.live.clone(), model.acknowledged)
        };
        let snapshot = opened.kv.snapshot();
        let seq = snapshot.seq().0;
        self.seen(opened, seq, acknowledged, "a snapshot")?;
        self.held.push(Held { snapshot, generation: opened.generation, seq, ids });
        Ok(())
    }

    fn held_read(&self, read: &ReadStep) -> Outcome {
        let Some(held) = self.held.first() else { return Ok(()) };
        // A keyspace that was dropped since can still be read.
        let ids: Option<Ids> =
            read.slots().iter().map(|slot| Some((*slot, *held.ids.get(slot)?))).collect();
        let Some(ids) = ids else { return Ok(()) };
        match read.ask(&*held.snapshot, &ids) {
            Ok(found) => self.judge(read, ids, found, held.seq, "at a held moment"),
            Err(error) => self.tolerate("read at a held moment", &error, held.generation),
        }
    }

    /// Compares an answer with the model's at one sequence number.
    fn judge(
        &self,
        read: &ReadStep,
        ids: Ids,
        found: Answer,
        seq: u64,
        place: &'static str,
    ) -> Outcome {
        let tally = Rc::clone(&self.world.tally);
        let read = read.clone();
        self.world.model.borrow_mut().when_known(seq, move |model| {
            let Some(state) = model.state(seq) else { return Ok(()) };
            let wanted = read.expect(state, &ids);
            World::compare(&tally, &read, &found, &wanted, seq)
                .map_err(|why| format!("{place}: {why}"))
        })
    }

    fn create(&self, opened: &Opened, slot: Slot) -> Outcome {
        {
            let mut model = self.world.model.borrow_mut();
            if model.live.contains_key(&slot) || !model.unsettled.insert(slot) {
                return Ok(());
            }
        }
        let new = new_keyspace(slot);
        let poisoned = self.world.poisoned.get();
        match opened.kv.create_keyspaces(&[new]) {
            Ok(ids) => {
                let mut model = self.world.model.borrow_mut();
                model.unsettled.remove(&slot);
                model.live.insert(slot, ids[0]);
                model.made_at.insert(ids[0], opened.kv.snapshot().seq().0);
                Ok(())
            }
            Err(error) => {
                if is_definite(&error, poisoned) {
                    self.world.model.borrow_mut().unsettled.remove(&slot);
                }
                self.tolerate("create", &error, opened.generation)
            }
        }
    }

    fn drop_space(&self, opened: &Opened, slot: Slot) -> Outcome {
        let id = {
            let mut model = self.world.model.borrow_mut();
            if model.unsettled.contains(&slot) {
                return Ok(());
            }
            let Some(id) = model.live.remove(&slot) else { return Ok(()) };
            model.unsettled.insert(slot);
            model.dropping.insert(id);
            id
        };
        let poisoned = self.world.poisoned.get();
        match opened.kv.drop_keyspaces(&[id]) {
            Ok(()) => {
                self.world.model.borrow_mut().unsettled.remove(&slot);
                Ok(())
            }
            Err(error) => {
                if is_definite(&error, poisoned) {
                    let mut model = self.world.model.borrow_mut();
                    model.unsettled.remove(&slot);
                    model.live.insert(slot, id);
                }
                self.tolerate("drop", &error, opened.generation)
            }
        }
    }

    fn reopen(&self, opened: &Opened) -> Outcome {
        let world = &self.world;
        if world.poisoned.get() || world.is_closed(opened.generation) {
            return Ok(());
        }
        world.closing();
        let flushing = world.ledger.borrow_mut().flush_begins();
        let written = opened.registry.as_ref().map_or(Ok(()), |registry| registry.close());
        let acknowledged = world.model.borrow().acknowledged;
        if let Err(error) = opened.kv.close().and(written) {
            world.stop.set(true); // whether the close was complete is unknown, so the life ends
            return self.tolerate("close", &error, opened.generation);
        }
        world.ledger.borrow_mut().flush_ended(flushing, true);
        {
            let mut model = world.model.borrow_mut();
            model.durable = model.durable.max(acknowledged);
        }
        let kv = match world.open(false) {
            Ok(kv) => Arc::new(kv),
            Err(error) => {
                world.stop.set(true);
                return self.tolerate("open again", &error, u64::MAX);
            }
        };
        let seq = kv.snapshot().seq().0;
        if seq < acknowledged {
            return Err(format!("closed at {acknowledged}, opened at {seq}"));
        }
        listed(&kv)?;
        if let Err(error) = world.tidy(&kv)? {
            world.stop.set(true);
            return self.tolerate("tidy up", &error, u64::MAX);
        }
        world.set(kv);
        Ok(())
    }
}

/// A read of a whole slot.
#[must_use]
pub fn whole(slot: Slot) -> ReadStep {
    ReadStep { slot, what: What::Scan(Span::All, u16::MAX), keys: !0, values: !0 }
}

/// Definition of a keyspace of the workload.
#[must_use]
pub fn new_keyspace(slot: Slot) -> NewKeyspace {
    NewKeyspace {
        name: NAMES[usize::from(slot)].to_owned(),
        shape: shape(slot),
        definition: definition(slot),
    }
}

fn slots_of(tables: &[TableStep]) -> Vec<Slot> {
    tables.iter().flat_map(|table| written(table.slot)).collect()
}

/// The writes of table steps.
fn build(tables: &[TableStep], ids: &Ids) -> Writes {
    let mut writes = Writes::new();
    for table in tables {
        for slot in written(table.slot) {
            debug_assert!(slot == FORWARD || slot == REVERSE || slot == table.slot);
            writes.push(SpaceWrites {
                id: ids[&slot],
                slot,
                ranges: table.spans.iter().map(|span| range(slot, *span)).collect(),
                rows: table
                    .rows
                    .iter()
                    .map(|step| (key(slot, step.key), step.kind, row(slot, step.seed)))
                    .collect(),
            });
        }
    }
    writes
}
