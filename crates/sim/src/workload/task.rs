//! Carries steps out, and judges each by what the engine answered.
//!
//! # Invariant
//! The model is never borrowed while the engine is called: every call may let another task run.

use crate::workload::model::{Footprint, SpaceWrites, State, Writes, push_row, to_batch};
use crate::workload::plan::{Step, TableStep};
use crate::workload::read::{Answer, Ids, ReadStep, What};
use crate::workload::spaces::{FORWARD, NAMES, REVERSE, Slot, Span, key, range, row, shape};
use crate::workload::world::{Opened, World, definition, listed, written};
use base::{Batch, Key, KeyRange, KeyspaceId, Kind};
use kv::Kv;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{ErrorKind, Isolation, NewKeyspace, Snapshot, SortedRows, Store, Transaction};

type Outcome = Result<(), String>;

/// A transaction of a task.
struct Tx {
    inner: Box<dyn Transaction>,
    generation: u64,
    since: u64,
    isolation: Isolation,
    /// Keyspaces that were there when it began.
    ids: Ids,
    own: Rc<RefCell<Writes>>,
    footprint: Footprint,
    reads: Vec<(KeyspaceId, KeyRange)>,
    touched: Ids,
}

/// A moment held by a task.
struct Held {
    snapshot: Arc<dyn Snapshot>,
    generation: u64,
    seq: u64,
    ids: Ids,
}

/// A read-only opening in the second process.
struct Follower {
    kv: Kv,
    seq: u64,
    ids: Ids,
}

/// What a task has of its own.
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

    /// Carries one step out.
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
            Step::Flush | Step::Compact => {
                let acknowledged = self.world.model.borrow().acknowledged;
                let done =
                    if *step == Step::Flush { opened.kv.flush() } else { opened.kv.compact() };
                match done {
                    Ok(()) => {
                        let mut model = self.world.model.borrow_mut();
                        model.durable = model.durable.max(acknowledged);
                        Ok(())
                    }
                    Err(error) => self.tolerate("flush or compact", &error, opened.generation),
                }
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
            Step::Pause => {
                self.world.signal.wait_until_timeout(50, &mut || false);
                Ok(())
            }
        }
    }

    fn tolerate(&self, doing: &str, error: &store::Error, generation: u64) -> Outcome {
        self.world.tolerate(doing, error, &Ids::new(), generation)
    }

    /// Whether an error of a commit says that nothing was committed. `poisoned`: the store had refused a
    /// write before this one began.
    fn is_definite(error: &store::Error, poisoned: bool) -> bool {
        match error.kind() {
            ErrorKind::Poisoned => poisoned,
            ErrorKind::Io | ErrorKind::Corruption => false,
            _ => true,
        }
    }

    fn write(&self, opened: &Opened, tables: &[TableStep], tell: bool) -> Outcome {
        let world = &self.world;
        let Some(ids) = world.ids(&slots_of(tables)) else { return Ok(()) };
        let writes = build(tables, &ids);
        let batch = to_batch(&writes);
        if batch.is_empty() {
            return Ok(());
        }
        let poisoned = world.poisoned.get();
        let (op, before) = {
            let mut model = world.model.borrow_mut();
            (model.begin(writes.clone()), model.acknowledged)
        };
        let mut existed = Vec::new();
        let done = opened.kv.write(&batch, tell.then_some(&mut existed));
        let mut model = world.model.borrow_mut();
        let seq = match done {
            Ok(seq) => seq.0,
            Err(error) => {
                if Self::is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                drop(model);
                return world.tolerate("write", &error, &ids, opened.generation);
            }
        };
        let mut nothing = false;
        let mut absent = Vec::new();
        if tell {
            let told = told(&writes, &existed)?;
            nothing = told.nothing;
            absent = told.absent;
            let at = if nothing { seq } else { seq.saturating_sub(1) };
            if nothing {
                model.cancel(op);
            }
            let tally = Rc::clone(&world.tally);
            let base = model.base();
            if at >= base {
                model.when_known(at, move |model| {
                    tally.borrow_mut().answers += 1;
                    let Some(state) = model.state(at) else { return Ok(()) };
                    check_existed(&writes, &existed, state)
                })?;
            }
        }
        if nothing {
            return Ok(());
        }
        if seq <= before {
            return Err(format!("a commit was given number {seq}, but {before} had been seen"));
        }
        world.tally.borrow_mut().commits += 1;
        model.place(op, seq, &absent)
    }

    fn begin(&mut self, opened: &Opened, isolation: Isolation) -> Outcome {
        let (ids, acknowledged) = {
            let model = self.world.model.borrow();
            (model.live.clone(), model.acknowledged)
        };
        let inner = opened.kv.begin(isolation);
        let since = inner.seq().0;
        self.seen(opened, since, acknowledged, "a transaction")?;
        self.tx = Some(Tx {
            inner,
            generation: opened.generation,
            since,
            isolation,
            ids,
            own: Rc::default(),
            footprint: Footprint::default(),
            reads: Vec::new(),
            touched: Ids::new(),
        });
        Ok(())
    }

    /// A reader was given a moment.
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

    fn tx_write(&mut self, tables: &[TableStep]) -> Outcome {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&slots_of(tables)) else { return Ok(()) };
        let writes = build(tables, &ids);
        let is_new = ids.iter().any(|(slot, id)| tx.ids.get(slot) != Some(id));
        match tx.inner.write(&to_batch(&writes)) {
            Ok(()) => {
                tx.footprint.add(&writes);
                tx.touched.extend(ids);
                tx.own.borrow_mut().extend(writes);
                Ok(())
            }
            // It began before the keyspace was made. Some of its tables may have been taken already.
            Err(error) if is_new && error.kind() == ErrorKind::InvalidInput => {
                self.tx = None;
                Ok(())
            }
            Err(error) => {
                let generation = tx.generation;
                self.tx = None;
                self.world.tolerate("write in a transaction", &error, &ids, generation)
            }
        }
    }

    fn tx_read(&mut self, read: &ReadStep) -> Outcome {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&read.slots()) else { return Ok(()) };
        let is_new = ids.iter().any(|(slot, id)| tx.ids.get(slot) != Some(id));
        // The engine notes what is read before it looks whether the keyspace is there.
        if tx.isolation == Isolation::Serializable {
            tx.reads.extend(read.ranges(&ids));
        }
        match read.ask(&*tx.inner, &ids) {
            Ok(found) => {
                let own = tx.own.borrow().clone();
                let tally = Rc::clone(&self.world.tally);
                let (read, since) = (read.clone(), tx.since);
                self.world.model.borrow_mut().when_known(since, move |model| {
                    let Some(state) = model.state(since) else { return Ok(()) };
                    let mut state = state.clone();
                    state.apply(&own);
                    let wanted = read.expect(&state, &ids);
                    World::compare(&tally, &read, &found, &wanted, since)
                        .map_err(|why| format!("in a transaction: {why}"))
                })
            }
            Err(error) if is_new && error.kind() == ErrorKind::InvalidInput => Ok(()),
            Err(error) => {
                let generation = tx.generation;
                self.world.tolerate("read in a transaction", &error, &ids, generation)
            }
        }
    }

    fn commit(&mut self) -> Outcome {
        let Some(tx) = self.tx.take() else { return Ok(()) };
        let world = &self.world;
        let poisoned = world.poisoned.get();
        let Tx { inner, generation, since, isolation, own, footprint, reads, touched, .. } = tx;
        let writes = Rc::new(own.borrow().clone());
        let empty = footprint.is_empty();
        let (op, before) = {
            let mut model = world.model.borrow_mut();
            (model.begin_with(writes, footprint.clone()), model.acknowledged)
        };
        let done = inner.commit();
        let mut model = world.model.borrow_mut();
        match done {
            Ok(seq) if empty => {
                model.cancel(op);
                if seq.0 == since {
                    return Ok(());
                }
                Err(format!("a transaction that wrote nothing committed as {seq}, not {since}"))
            }
            Ok(seq) => {
                let seq = seq.0;
                if seq <= before {
                    return Err(format!(
                        "a commit was given number {seq}, but {before} had been seen"
                    ));
                }
                world.tally.borrow_mut().commits += 1;
                model.place(op, seq, &[])?;
                model.when_known(seq, move |model| {
                    match model.conflict(&footprint, &reads, since, seq - 1) {
                        None => Ok(()),
                        Some(other) => Err(format!(
                            "a {isolation:?} transaction from moment {since} committed as {seq} although \
                             {other} had changed what it wrote or read"
                        )),
                    }
                })
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                model.cancel(op);
                let rightly = model.conflict(&footprint, &reads, since, u64::MAX).is_some()
                    || model.may_conflict_in_flight(op, &footprint, &reads);
                if rightly {
                    world.tally.borrow_mut().conflicts += 1;
                    return Ok(());
                }
                Err(format!(
                    "a {isolation:?} transaction from moment {since} was refused, but nothing \
                     stands in its way: {error}"
                ))
            }
            Err(error) => {
                if Self::is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                // Of what it read, too, something may have been dropped since.
                let dropped = reads.iter().any(|(id, _)| model.dropping.contains(id));
                drop(model);
                if dropped && error.kind() == ErrorKind::InvalidInput {
                    return Ok(());
                }
                world.tolerate("commit", &error, &touched, generation)
            }
        }
    }

    fn read(&self, opened: &Opened, read: &ReadStep) -> Outcome {
        if read.what == What::Graph {
            return Ok(()); // two calls, so two moments
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
        // A keyspace that was dropped since is read on.
        let ids: Option<Ids> =
            read.slots().iter().map(|slot| Some((*slot, *held.ids.get(slot)?))).collect();
        let Some(ids) = ids else { return Ok(()) };
        match read.ask(&*held.snapshot, &ids) {
            Ok(found) => self.judge(read, ids, found, held.seq, "at a held moment"),
            Err(error) => self.tolerate("read at a held moment", &error, held.generation),
        }
    }

    /// Compares an answer with that of one moment.
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

    fn bulk(&self, opened: &Opened, tables: &[TableStep], partitions: u8, commit: bool) -> Outcome {
        let world = &self.world;
        let Some(ids) = world.ids(&slots_of(tables)) else { return Ok(()) };
        let mut writes = build(tables, &ids);
        for table in &mut writes {
            let rows: BTreeMap<Key, (Key, Kind, _)> =
                table.rows.drain(..).map(|row| (row.0.clone(), row)).collect();
            table.rows = rows.into_values().collect();
        }
        let failed = |error| world.tolerate("bulk load", &error, &ids, opened.generation);
        let mut load = match opened.kv.begin_bulk() {
            Ok(load) => load,
            Err(error) => return failed(error),
        };
        for table in &writes {
            let size = table.rows.len().div_ceil(usize::from(partitions.max(1))).max(1);
            let parts = table.rows.chunks(size).map(|rows| {
                let mut batch = Batch::new(&shape(table.slot));
                for (key, _, row) in rows {
                    batch.keys.push(key.as_ref());
                    push_row(&mut batch, Some(row));
                }
                Box::new(Part { batch, next: 0 }) as Box<dyn SortedRows>
            });
            match load.write(table.id, parts.collect()) {
                Ok(written) if written.rows == table.rows.len() as u64 => {}
                Ok(written) => {
                    return Err(format!(
                        "a bulk load of {} rows wrote {}",
                        table.rows.len(),
                        written.rows
                    ));
                }
                Err(error) => return failed(error),
            }
        }
        if !commit || writes.is_empty() {
            return Ok(());
        }
        let poisoned = world.poisoned.get();
        let op = world.model.borrow_mut().begin(writes);
        let done = load.commit();
        let mut model = world.model.borrow_mut();
        match done {
            Ok(seq) => {
                world.tally.borrow_mut().commits += 1;
                model.durable = model.durable.max(seq.0);
                model.place(op, seq.0, &[])
            }
            Err(error) => {
                if Self::is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                drop(model);
                failed(error)
            }
        }
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
                Ok(())
            }
            Err(error) => {
                if Self::is_definite(&error, poisoned) {
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
                if Self::is_definite(&error, poisoned) {
                    let mut model = self.world.model.borrow_mut();
                    model.unsettled.remove(&slot);
                    model.live.insert(slot, id);
                }
                self.tolerate("drop", &error, opened.generation)
            }
        }
    }

    fn follow(&mut self) -> Outcome {
        let world = Rc::clone(&self.world);
        let none = world.swarm.durability == store::Durability::None;
        let (live, floor) = {
            let model = world.model.borrow();
            (model.live.clone(), if none { model.durable } else { model.acknowledged })
        };
        // Damage to the newest records looks like the end of what was written.
        let (live, floor) =
            if world.swarm.damages() { (BTreeMap::new(), 0) } else { (live, floor) };
        let done = match &self.follower {
            Some(follower) => follower.kv.refresh(),
            None => world.open(true).map(|kv| {
                self.follower = Some(Follower { kv, seq: 0, ids: Ids::new() });
            }),
        };
        if let Err(error) = done {
            return world.tolerate_follower("follow", &error);
        }
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let snapshot = follower.kv.snapshot();
        let seq = snapshot.seq().0;
        if seq < follower.seq {
            return Err(format!("the follower went back from {} to {seq}", follower.seq));
        }
        if seq < floor {
            return Err(format!("the follower stands at {seq}, but {floor} was committed before"));
        }
        follower.seq = seq;
        follower.ids = listed(&follower.kv)?;
        let model = world.model.borrow();
        let missing = live
            .iter()
            .find(|(slot, id)| follower.ids.get(slot) != Some(id) && !model.dropping.contains(id));
        if let Some((slot, id)) = missing {
            let name = NAMES[usize::from(*slot)];
            return Err(format!("the follower lacks keyspace {} \"{name}\"", id.0));
        }
        drop(model);
        let ids = follower.ids.clone();
        for slot in ids.keys() {
            let read = whole(*slot);
            match read.ask(&*snapshot, &ids) {
                Ok(found) => self.judge(&read, ids.clone(), found, seq, "in the follower")?,
                Err(error) => world.tolerate_follower("read in the follower", &error)?,
            }
        }
        Ok(())
    }

    fn follow_read(&self, read: &ReadStep) -> Outcome {
        let Some(follower) = &self.follower else { return Ok(()) };
        let ids: Option<Ids> =
            read.slots().iter().map(|slot| Some((*slot, *follower.ids.get(slot)?))).collect();
        let Some(ids) = ids else { return Ok(()) };
        match read.ask(&follower.kv, &ids) {
            Ok(found) => self.judge(read, ids, found, follower.seq, "in the follower"),
            Err(error) => self.world.tolerate_follower("read in the follower", &error),
        }
    }

    fn reopen(&self, opened: &Opened) -> Outcome {
        let world = &self.world;
        if world.poisoned.get() || world.is_closed(opened.generation) {
            return Ok(());
        }
        world.closing();
        let acknowledged = world.model.borrow().acknowledged;
        if let Err(error) = opened.kv.close() {
            world.stop.set(true); // what is next to open is not known: the life ends
            return self.tolerate("close", &error, opened.generation);
        }
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
        world.set(kv);
        Ok(())
    }
}

/// A read of all of a slot.
#[must_use]
pub fn whole(slot: Slot) -> ReadStep {
    ReadStep { slot, what: What::Scan(Span::All, u16::MAX), keys: !0, values: !0 }
}

/// A keyspace of the workload.
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

/// The writes that table steps stand for.
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

struct Told {
    /// Every row was a delete of an absent key: nothing was committed.
    nothing: bool,
    absent: Vec<(KeyspaceId, Key)>,
}

/// What follows from the flags of `existed`.
fn told(writes: &[SpaceWrites], existed: &[bool]) -> Result<Told, String> {
    let rows: usize = writes.iter().map(|table| table.rows.len()).sum();
    if rows != existed.len() {
        return Err(format!("{rows} rows were written, {} flags were told", existed.len()));
    }
    let mut told = Told { nothing: true, absent: Vec::new() };
    let mut flags = existed.iter();
    for table in writes {
        told.nothing &= table.ranges.is_empty();
        let mut last = BTreeMap::new();
        for ((key, kind, _), there) in table.rows.iter().zip(&mut flags) {
            last.insert(key, (*kind, *there));
        }
        for (key, (kind, there)) in last {
            if kind == Kind::Delete && !there {
                told.absent.push((table.id, key.clone()));
            } else {
                told.nothing = false;
            }
        }
    }
    Ok(told)
}

fn check_existed(writes: &[SpaceWrites], existed: &[bool], before: &State) -> Outcome {
    let mut flags = existed.iter();
    for table in writes {
        let rows = before.rows(table.id);
        for ((key, _, _), there) in table.rows.iter().zip(&mut flags) {
            if rows.contains_key(key) != *there {
                let name = NAMES[usize::from(table.slot)];
                let not = if *there { "" } else { "not " };
                return Err(format!("a write was told that {key:?} of {name} was {not}there"));
            }
        }
    }
    Ok(())
}

/// Rows of a bulk load, a few at a time.
struct Part {
    batch: Batch,
    next: usize,
}

impl SortedRows for Part {
    fn next_rows(&mut self, out: &mut Batch) -> store::Result<bool> {
        let end = self.batch.rows.min(self.next + 3);
        for i in self.next..end {
            out.keys.push(self.batch.keys.get(i).as_ref());
            for (to, from) in out.values.iter_mut().zip(&self.batch.values) {
                to.push_from(from, i);
            }
            out.rows += 1;
        }
        let more = end > self.next;
        self.next = end;
        Ok(more)
    }
}
