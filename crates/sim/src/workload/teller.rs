//! Reports the commits of views to the model: a view decides how many commits a call makes, and
//! when.
//!
//! # Why the store is wrapped and not the view
//! The model must know every commit before it is made, because a crash may keep it. So a step that
//! passes a store to a view wraps it ([`super::recorder::Recorder`]). Each commit through it is
//! announced here with the rows that it touches, by which conflicts are checked. Its *meaning*
//! comes from the step where possible: a blob's value appears with the one commit that touches its
//! row; earlier notes and pieces mean nothing.

use crate::workload::existed;
use crate::workload::model::{Footprint, Model, OpId, SpaceWrites, State, Writes};
use crate::workload::outcome::{Outcome, is_definite};
use crate::workload::spaces::{BLOBS, Cell, Ids, KEYS, LARGE_BYTES_MIN, Row, Slot};
use crate::workload::world::World;
use base::{Column, Key, KeyRange, KeyspaceId, Kind, SeqNo};
use std::rc::Rc;
use store::{Error, ErrorKind, Isolation, Transaction, WriteBatch};

/// The meaning of a commit for the model.
#[derive(Clone, Debug)]
pub enum Means {
    /// Its rows of these keyspaces are its writes; all others mean nothing.
    Rows(Ids),
    /// A commit that touches this keyspace makes the step's writes; other commits mean nothing.
    Step(KeyspaceId, Writes),
}

impl Means {
    fn of(&self, written: &[SpaceWrites]) -> Writes {
        match self {
            Self::Rows(ids) => {
                let slot = |id| ids.iter().find(|(_, at)| **at == id).map(|(slot, _)| *slot);
                let table = |table: &SpaceWrites| {
                    Some(SpaceWrites { slot: slot(table.id)?, ..table.clone() })
                };
                written.iter().filter_map(table).collect()
            }
            Self::Step(id, writes) if touches(written, *id) => writes.clone(),
            Self::Step(..) => Writes::new(),
        }
    }

    fn is_of_blobs(&self) -> bool {
        matches!(self, Self::Step(_, writes) if writes.iter().any(|table| table.slot == BLOBS))
    }

    fn is_step(&self, written: &[SpaceWrites]) -> bool {
        matches!(self, Self::Step(id, _) if touches(written, *id))
    }
}

fn touches(written: &[SpaceWrites], id: KeyspaceId) -> bool {
    written
        .iter()
        .any(|table| table.id == id && !(table.rows.is_empty() && table.ranges.is_empty()))
}

/// Announces the commits of one opening of a world.
#[derive(Clone, Debug)]
pub struct Teller {
    world: u64,
    means: Means,
}

/// A commit that was announced.
pub struct Announced {
    world: Rc<World>,
    op: OpId,
    written: Rc<Vec<SpaceWrites>>,
    is_step: bool,
    poisoned: bool,
    before: u64,
    /// Whether it is acknowledged only with the next synced commit.
    unsynced: bool,
    /// Upper bound of the long values that lose their rows by it.
    litter: usize,
}

impl Teller {
    /// A teller for a registered world.
    #[must_use]
    pub fn new(world: &World, means: Means) -> Self {
        Self { world: world.number.get(), means }
    }

    fn world(&self) -> Option<Rc<World>> {
        World::numbered(self.world)
    }

    /// A scheduling point: commits that wait for no file have no other.
    pub fn step(&self) {
        if let Some(world) = self.world() {
            world.env.step();
        }
    }

    /// Announces a commit outside of a transaction. `unsynced`: it is acknowledged only with the
    /// next synced one. `None` where the world is gone.
    #[must_use]
    pub fn announce(&self, batch: &WriteBatch, unsynced: bool) -> Option<Announced> {
        let world = self.world()?;
        let written = Rc::new(rows_of(batch));
        let mut footprint = Footprint::default();
        footprint.add(&written);
        let is_step = self.means.is_step(&written);
        // The view did not look up what it replaces, so pieces of long values stay behind.
        let litter = if is_step && self.means.is_of_blobs() { litter_max(&written) } else { 0 };
        let poisoned = world.poisoned.get();
        let (op, before) = {
            let mut model = world.model.borrow_mut();
            model.litter.set(model.litter.get() + litter);
            (model.begin_with(Rc::new(self.means.of(&written)), footprint), model.acknowledged)
        };
        Some(Announced { world, op, written, is_step, poisoned, before, unsynced, litter })
    }

    /// Commits a transaction that a view wrote to, and checks whether it committed or conflicted
    /// rightly.
    ///
    /// # Errors
    /// The engine's.
    pub fn commit(
        &self,
        inner: Box<dyn Transaction>,
        noted: Noted,
        recorded: &mut Recorded,
    ) -> store::Result<SeqNo> {
        self.step();
        let Some(world) = self.world() else { return inner.commit() };
        let since = inner.seq().0;
        let is_step = self.means.is_step(&noted.written);
        let mut writes = self.means.of(&noted.written);
        let absent = leave_out(&mut writes, &noted.written);
        let (done, outcome) = commit(&world, inner, Rc::new(writes), noted);
        let outcome = outcome.and_then(|()| {
            if done.is_err() || absent.is_empty() {
                return Ok(());
            }
            world.model.borrow_mut().when_known(since, move |model| {
                let Some(state) = model.state(since) else { return Ok(()) };
                match absent.iter().find(|(id, key)| state.rows(*id).contains_key(key)) {
                    None => Ok(()),
                    Some((_, key)) => {
                        Err(format!("a delete left {key:?} out, which was there at {since}"))
                    }
                }
            })
        });
        if let Err(why) = outcome {
            world.failed(why);
        }
        recorded.at = Some(SeqNo(since));
        if let (true, Ok(seq)) = (is_step, &done) {
            recorded.seq = Some(*seq);
        }
        done
    }
}

impl Announced {
    /// Reports the outcome. `existed` are the flags that the store returned, where they were
    /// requested.
    pub fn ended(
        self,
        done: &store::Result<SeqNo>,
        existed: Option<&[bool]>,
        recorded: &mut Recorded,
    ) {
        let world = Rc::clone(&self.world);
        let outcome = match done {
            Ok(seq) => self.placed(seq.0, existed, recorded),
            Err(error) => {
                self.refused(error);
                Ok(())
            }
        };
        if let Err(why) = outcome {
            world.failed(why);
        }
    }

    fn refused(self, error: &Error) {
        let world = &self.world;
        if is_definite(error, self.poisoned) {
            let mut model = world.model.borrow_mut();
            model.cancel(self.op);
            model.litter.set(model.litter.get() - self.litter);
        }
        if error.kind() == ErrorKind::Poisoned {
            world.poisoned.set(true);
        }
    }

    fn placed(self, seq: u64, existed: Option<&[bool]>, recorded: &mut Recorded) -> Outcome {
        let Self { world, op, written, is_step, before, unsynced, litter, .. } = self;
        let mut model = world.model.borrow_mut();
        let mut absent = Vec::new();
        let mut at = seq.saturating_sub(1);
        let mut nothing = false;
        if let Some(existed) = existed {
            let told = existed::told(&written, existed)?;
            (nothing, absent) = (told.nothing, told.absent);
            at = if nothing { seq } else { at };
            let (written, existed) = (Rc::clone(&written), existed.to_vec());
            if at >= model.base() {
                let tally = Rc::clone(&world.tally);
                model.when_known(at, move |model| {
                    tally.borrow_mut().answers += 1;
                    let Some(state) = model.state(at) else { return Ok(()) };
                    existed::check(&written, &existed, state)
                })?;
            }
        }
        recorded.at = Some(SeqNo(at));
        if nothing {
            model.cancel(op);
            model.litter.set(model.litter.get() - litter);
            return Ok(());
        }
        if seq <= before {
            return Err(format!("a commit was given number {seq}, but {before} had been seen"));
        }
        if is_step {
            recorded.seq = Some(SeqNo(seq));
        }
        world.tally.borrow_mut().commits += 1;
        if litter > 0 {
            model.when_known(at, move |model| {
                let left = model.state(at).map_or(litter, |state| litter_of(&written, state));
                model.litter.set(model.litter.get() - litter + left);
                Ok(())
            })?;
        }
        match unsynced {
            true => model.place_unsynced(op, seq, &absent),
            false => model.place(op, seq, &absent),
        }
    }
}

/// The last commit through a recorder. With a teller: the last one that made the writes of the
/// step, as opposed to the notes and pieces before it.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Its sequence number; `None` where there was no commit.
    pub seq: Option<SeqNo>,
    /// The sequence number of the state that `existed` describes, if there was a teller.
    pub at: Option<SeqNo>,
    /// Flags that the store returned about the keys, where they were requested.
    pub existed: Vec<bool>,
}

/// Reads and writes of a transaction.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Its writes, in order.
    pub written: Vec<SpaceWrites>,
    /// Ranges that it has read.
    pub reads: Vec<(KeyspaceId, KeyRange)>,
    /// Isolation, which decides whether reads matter.
    pub isolation: Isolation,
}

impl Noted {
    /// An empty record.
    #[must_use]
    pub fn new(isolation: Isolation) -> Self {
        Self { written: Vec::new(), reads: Vec::new(), isolation }
    }
}

/// A transaction that asked for its commit.
struct Attempted {
    since: u64,
    isolation: Isolation,
    footprint: Footprint,
    /// Ranges that count as conflicts if they change.
    reads: Vec<(KeyspaceId, KeyRange)>,
}

impl Attempted {
    /// Fails if a conflicting change came before the commit `seq`.
    fn check_committed(&self, model: &Model, seq: u64) -> Outcome {
        let Self { since, isolation, footprint, reads } = self;
        match model.conflict(footprint, reads, *since, seq - 1) {
            None => Ok(()),
            Some(other) => Err(format!(
                "a {isolation:?} transaction from moment {since} committed as {seq} although \
                 {other} had changed what it wrote or read"
            )),
        }
    }

    /// Fails if nothing conflicts with the transaction, which was refused as operation `op`.
    fn check_refused(&self, model: &Model, op: OpId, error: &Error) -> Outcome {
        let Self { since, isolation, footprint, reads } = self;
        let rightly = model.conflict(footprint, reads, *since, u64::MAX).is_some()
            || model.may_conflict_in_flight(op, footprint, reads);
        if rightly {
            return Ok(());
        }
        Err(format!(
            "a {isolation:?} transaction from moment {since} was refused, but nothing \
             conflicts with it: {error}"
        ))
    }
}

/// Commits a transaction that means `writes`, and checks whether it committed or conflicted
/// rightly. The caller checks other errors.
pub fn commit(
    world: &World,
    inner: Box<dyn Transaction>,
    writes: Rc<Writes>,
    noted: Noted,
) -> (store::Result<SeqNo>, Outcome) {
    let since = inner.seq().0;
    let Noted { written, reads, isolation } = noted;
    let reads = if isolation == Isolation::Serializable { reads } else { Vec::new() };
    let mut footprint = Footprint::default();
    footprint.add(&written);
    let attempted = Attempted { since, isolation, footprint, reads };
    let poisoned = world.poisoned.get();
    let (op, before) = {
        let mut model = world.model.borrow_mut();
        (model.begin_with(writes, attempted.footprint.clone()), model.acknowledged)
    };
    let done = inner.commit();
    let mut model = world.model.borrow_mut();
    let outcome = match &done {
        Ok(seq) if attempted.footprint.is_empty() => {
            model.cancel(op);
            if seq.0 == since {
                Ok(())
            } else {
                Err(format!("a transaction that wrote nothing committed as {seq}, not {since}"))
            }
        }
        Ok(seq) if seq.0 <= before => {
            Err(format!("a commit was given number {seq}, but {before} had been seen"))
        }
        Ok(seq) => {
            let seq = seq.0;
            world.tally.borrow_mut().commits += 1;
            model.place(op, seq, &[]).and_then(|()| {
                model.when_known(seq, move |model| attempted.check_committed(model, seq))
            })
        }
        Err(error) if error.kind() == ErrorKind::Conflict => {
            model.cancel(op);
            let refused = attempted.check_refused(&model, op, error);
            world.tally.borrow_mut().conflicts += u64::from(refused.is_ok());
            refused
        }
        Err(error) => {
            if is_definite(error, poisoned) {
                model.cancel(op);
            }
            if error.kind() == ErrorKind::Poisoned {
                world.poisoned.set(true);
            }
            Ok(())
        }
    };
    (done, outcome)
}

/// Removes deletes that were not made, and returns their keys: a transaction does not delete what
/// is missing.
fn leave_out(writes: &mut Writes, written: &[SpaceWrites]) -> Vec<(KeyspaceId, Key)> {
    let mut absent = Vec::new();
    for table in writes {
        let id = table.id;
        let is_there = |key: &Key| {
            let of = written.iter().filter(|table| table.id == id);
            of.flat_map(|table| &table.rows).any(|(at, ..)| at == key)
        };
        table.rows.retain(|(key, kind, _)| {
            let stays = *kind != Kind::Delete || is_there(key);
            if !stays {
                absent.push((id, key.clone()));
            }
            stays
        });
    }
    absent
}

/// The rows of a batch in the model's form.
#[must_use]
pub fn rows_of(batch: &WriteBatch) -> Vec<SpaceWrites> {
    let table = |table: &store::TableWrites| {
        let row = |i: usize| -> (Key, Kind, Row) {
            let cell = |column: &Column| match column {
                Column::Words(column) => column.get(i).map_or(Cell::Null, Cell::Word),
                Column::Bytes(column) if column.validity.is_valid(i) => {
                    Cell::Bytes(column.get(i).to_vec())
                }
                Column::Bytes(_) => Cell::Null,
            };
            let kind = table.kinds.get(i);
            let cells = if kind == Kind::Delete {
                Row::new()
            } else {
                table.rows.values.iter().map(cell).collect()
            };
            (table.rows.keys.get(i), kind, cells)
        };
        SpaceWrites {
            id: table.keyspace,
            slot: Slot::MAX,
            ranges: table.delete_ranges.clone(),
            rows: (0..table.rows.rows).map(row).collect(),
        }
    };
    batch.tables.iter().map(table).collect()
}

/// Upper bound of the long values that a write without a lookup can replace.
fn litter_max(written: &[SpaceWrites]) -> usize {
    let keys = usize::from(KEYS);
    let of = |table: &SpaceWrites| table.rows.len() + keys * table.ranges.len();
    written.iter().map(of).sum()
}

/// Number of long values that a write replaces in state `before`.
fn litter_of(written: &[SpaceWrites], before: &State) -> usize {
    let of = |table: &SpaceWrites| {
        let is_gone = |key: &Key| {
            table.rows.iter().any(|(at, ..)| at == key)
                || table.ranges.iter().any(|range| range.contains(key.as_ref()))
        };
        let is_long =
            |row: &Row| matches!(&row[..], [Cell::Bytes(value)] if value.len() >= LARGE_BYTES_MIN);
        let rows = before.rows(table.id);
        rows.iter().filter(|(key, row)| is_long(row) && is_gone(key)).count()
    };
    written.iter().map(of).sum()
}
