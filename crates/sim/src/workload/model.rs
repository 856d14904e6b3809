//! What the database must hold: an ordered map a keyspace, for every commit of a life.
//!
//! # Why whole states
//! A state is kept for each sequence number since the last opening, sharing the keyspaces that did not
//! change. That costs a few kilobytes a commit and makes every question one look-up: a read at moment
//! `s` is right if it equals what the same read says of state `s`. Too simple to be wrong.
//!
//! # In flight
//! The engine gives every commit its place in the order, and tells it when the call returns. Until then,
//! and for ever where a crash or an error came first, the model knows what the commit writes but not
//! where it stands. A check that needs such a place waits for it. After a crash the recovered state
//! settles it: some assignment of what was in flight to the open places must explain what is there.

use crate::workload::spaces::{Cell, GROWN, Row, Slot, grow, merge, shape};
use base::{Batch, Column, Key, KeyRange, KeyspaceId, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use store::{Kinds, TableWrites, WriteBatch};

/// Rows of one keyspace.
pub type Rows = BTreeMap<Key, Rc<Row>>;

/// Rows of all keyspaces at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(pub BTreeMap<KeyspaceId, Rc<Rows>>);

/// Writes to one keyspace: ranges deleted first, then rows in order.
#[derive(Clone, Debug)]
pub struct SpaceWrites {
    /// Where to.
    pub id: KeyspaceId,
    /// Its slot.
    pub slot: Slot,
    /// Deleted before the rows are written.
    pub ranges: Vec<KeyRange>,
    /// Key, kind, values.
    pub rows: Vec<(Key, Kind, Row)>,
}

/// Writes that become visible together.
pub type Writes = Vec<SpaceWrites>;

impl State {
    /// Rows of a keyspace; none where it was never written.
    #[must_use]
    pub fn rows(&self, id: KeyspaceId) -> Rc<Rows> {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    /// Carries writes out.
    pub fn apply(&mut self, writes: &[SpaceWrites]) {
        for table in writes {
            let shape = shape(table.slot);
            let rows = Rc::make_mut(self.0.entry(table.id).or_default());
            for range in &table.ranges {
                rows.retain(|key, _| !range.contains(key.as_ref()));
            }
            for (key, kind, row) in &table.rows {
                match (kind, rows.get(key)) {
                    (Kind::Delete, _) => {
                        rows.remove(key);
                    }
                    (Kind::Merge, Some(older)) => {
                        let row = match table.slot {
                            GROWN => grow(older, row),
                            _ => merge(&shape, older, row),
                        };
                        rows.insert(key.clone(), Rc::new(row));
                    }
                    _ => {
                        rows.insert(key.clone(), Rc::new(row.clone()));
                    }
                }
            }
        }
    }
}

/// The writes as the engine takes them.
#[must_use]
pub fn to_batch(writes: &[SpaceWrites]) -> WriteBatch {
    let table = |table: &SpaceWrites| {
        let mut rows = Batch::new(&shape(table.slot));
        let mut kinds = Vec::new();
        for (key, kind, row) in &table.rows {
            kinds.push(*kind);
            rows.keys.push(key.as_ref());
            push_row(&mut rows, (*kind != Kind::Delete).then_some(row));
        }
        let kinds = Kinds::PerRow(kinds);
        TableWrites { keyspace: table.id, kinds, rows, delete_ranges: table.ranges.clone() }
    };
    WriteBatch { tables: writes.iter().map(table).collect() }
}

/// Appends values, or fillers, and counts the row; its key is pushed by the caller.
pub fn push_row(batch: &mut Batch, row: Option<&Row>) {
    for (i, column) in batch.values.iter_mut().enumerate() {
        match (column, row.map(|row| &row[i])) {
            (Column::Words(column), Some(Cell::Word(word))) => column.push(Some(*word)),
            (Column::Bytes(column), Some(Cell::Bytes(bytes))) => column.push(Some(bytes)),
            (column, _) => column.push_null(),
        }
    }
    batch.rows += 1;
}

/// What a commit did to keys, for judging conflicts.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Key written; whether it only merged.
    keys: BTreeMap<(KeyspaceId, Key), bool>,
    ranges: Vec<(KeyspaceId, KeyRange)>,
}

impl Footprint {
    /// Of writes that follow each other in one transaction or commit.
    pub fn add(&mut self, writes: &[SpaceWrites]) {
        for table in writes {
            for range in &table.ranges {
                self.keys.retain(|(id, key), _| *id != table.id || !range.contains(key.as_ref()));
                self.ranges.push((table.id, range.clone()));
            }
            for (key, kind, _) in &table.rows {
                let place = (table.id, key.clone());
                let covered =
                    self.ranges.iter().any(|(id, r)| *id == table.id && r.contains(key.as_ref()));
                let merges_only = *kind == Kind::Merge
                    && !covered
                    && self.keys.get(&place).copied().unwrap_or(true);
                self.keys.insert(place, merges_only);
            }
        }
    }

    /// Takes a key out: a delete that found nothing writes nothing.
    pub fn forget(&mut self, id: KeyspaceId, key: &Key) {
        self.keys.remove(&(id, key.clone()));
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    /// Keyspaces written.
    pub fn ids(&self) -> impl Iterator<Item = KeyspaceId> + '_ {
        self.keys.keys().map(|(id, _)| *id).chain(self.ranges.iter().map(|(id, _)| *id))
    }

    /// Whether a transaction that wrote `self` and read `reads` may not commit after `other` did.
    #[must_use]
    pub fn conflicts_with(&self, reads: &[(KeyspaceId, KeyRange)], other: &Self) -> bool {
        let by_key = self.keys.iter().any(|((id, key), merges)| {
            let theirs = other.keys.get(&(*id, key.clone()));
            theirs.is_some_and(|theirs| !(*merges && *theirs))
                || other.ranges.iter().any(|(at, range)| at == id && range.contains(key.as_ref()))
        });
        by_key || self.ranges.iter().chain(reads).any(|(id, range)| other.touches(*id, range))
    }

    fn touches(&self, id: KeyspaceId, range: &KeyRange) -> bool {
        self.keys.keys().any(|(at, key)| *at == id && range.contains(key.as_ref()))
            || self.ranges.iter().any(|(at, other)| *at == id && overlap(range, other))
    }
}

fn overlap(a: &KeyRange, b: &KeyRange) -> bool {
    let lower = a.lower.clone().max(b.lower.clone());
    let upper = match (&a.upper, &b.upper) {
        (Some(a), Some(b)) => Some(a.min(b).clone()),
        (a, b) => a.clone().or_else(|| b.clone()),
    };
    !KeyRange { lower, upper }.is_empty()
}

/// A commit that has its place.
#[derive(Clone, Debug)]
struct Commit {
    footprint: Footprint,
    writes: Rc<Writes>,
}

/// Names an operation that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId(u64);

/// A question to the model, and what is wrong where the answer is not right.
type Check = Box<dyn FnOnce(&Model) -> Result<(), String>>;

/// A judgement that waits until every commit up to `needs` has its place.
struct Pending {
    needs: u64,
    check: Check,
}

/// The history of one disk, as far as it can still be asked for.
#[derive(Default)]
pub struct Model {
    /// Sequence number of `states[0]`.
    base: u64,
    /// One a sequence number, from `base` on, without gaps.
    states: Vec<State>,
    /// Commits with their places, from `base + 1` on, perhaps with gaps.
    commits: BTreeMap<u64, Commit>,
    /// Commits whose place is not known, oldest first.
    in_flight: BTreeMap<OpId, (Rc<Writes>, Footprint)>,
    next_op: u64,
    pending: Vec<Pending>,
    /// Largest place that a call returned, or that a reader was shown.
    pub acknowledged: u64,
    /// Everything up to here is durable whatever the durability of commits.
    pub durable: u64,
    /// Keyspaces that are there.
    pub live: BTreeMap<Slot, KeyspaceId>,
    /// The newest commit when a keyspace was created, of those that the next power cut may take:
    /// without `sync` each as long as nothing later was made durable, and no commit to it survives.
    pub made_at: BTreeMap<KeyspaceId, u64>,
    /// Whether the power went since the database was looked at last.
    pub was_cut: bool,
    /// Slots whose creation or drop is under way, or failed half-way.
    pub unsettled: BTreeSet<Slot>,
    /// Keyspaces whose drop has begun in this life, over or not.
    pub dropping: BTreeSet<KeyspaceId>,
    /// Long blobs that were replaced by who did not look, at most: the only ones whose pieces may belong to no row.
    pub litter: std::cell::Cell<usize>,
}

impl Model {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self { states: vec![State::default()], ..Self::default() }
    }

    /// Largest sequence number up to which every commit has its place.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.base + self.states.len() as u64 - 1
    }

    /// The oldest moment that can be asked for.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The state at a moment from [`Model::base`] to [`Model::known`].
    #[must_use]
    pub fn state(&self, seq: u64) -> Option<&State> {
        self.states.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// A commit begins.
    pub fn begin(&mut self, writes: Writes) -> OpId {
        let mut footprint = Footprint::default();
        footprint.add(&writes);
        self.begin_with(Rc::new(writes), footprint)
    }

    /// A commit begins whose footprint is known.
    pub fn begin_with(&mut self, writes: Rc<Writes>, footprint: Footprint) -> OpId {
        self.next_op += 1;
        let op = OpId(self.next_op);
        self.in_flight.insert(op, (writes, footprint));
        op
    }

    /// The commit changed nothing, and is known to have changed nothing.
    pub fn cancel(&mut self, op: OpId) {
        self.in_flight.remove(&op);
    }

    /// The commit has its place, and whoever asks from now on must see it. `absent` are keys whose deletes found nothing.
    ///
    /// # Errors
    /// Two commits of one place.
    pub fn place(
        &mut self,
        op: OpId,
        seq: u64,
        absent: &[(KeyspaceId, Key)],
    ) -> Result<(), String> {
        self.acknowledged = self.acknowledged.max(seq);
        self.place_unsynced(op, seq, absent)
    }

    /// As [`Model::place`] of one that counts with the next commit that does.
    ///
    /// # Errors
    /// Two commits of one place.
    pub fn place_unsynced(
        &mut self,
        op: OpId,
        seq: u64,
        absent: &[(KeyspaceId, Key)],
    ) -> Result<(), String> {
        let Some((writes, mut footprint)) = self.in_flight.remove(&op) else {
            return Err("the model lost an operation".to_owned());
        };
        for (id, key) in absent {
            footprint.forget(*id, key);
        }
        if seq <= self.base || self.commits.contains_key(&seq) {
            return Err(format!("a commit was given number {seq}, which another one has"));
        }
        self.commits.insert(seq, Commit { footprint, writes });
        self.advance()
    }

    /// Runs `check` as soon as every commit up to `needs` has its place.
    ///
    /// # Errors
    /// What the check says, if it can run now.
    pub fn when_known(
        &mut self,
        needs: u64,
        check: impl FnOnce(&Self) -> Result<(), String> + 'static,
    ) -> Result<(), String> {
        if needs <= self.known() {
            return check(self);
        }
        let open = needs - self.known();
        let placed = self.commits.range(self.known() + 1..=needs).count() as u64;
        if open - placed > self.in_flight.len() as u64 {
            return Err(format!(
                "commit {needs} was shown, but only {} can have been made",
                self.known() + placed + self.in_flight.len() as u64
            ));
        }
        self.pending.push(Pending { needs, check: Box::new(check) });
        Ok(())
    }

    fn advance(&mut self) -> Result<(), String> {
        while let Some(commit) = self.commits.get(&(self.known() + 1)) {
            let mut state = self.states[self.states.len() - 1].clone();
            state.apply(&commit.writes);
            self.states.push(state);
        }
        let known = self.known();
        let (ready, waiting) =
            std::mem::take(&mut self.pending).into_iter().partition(|p| p.needs <= known);
        self.pending = waiting;
        let ready: Vec<Pending> = ready;
        for pending in ready {
            (pending.check)(self)?;
        }
        Ok(())
    }

    /// Whether a commit after `since` up to `until` stands in the way of a transaction.
    #[must_use]
    pub fn conflict(
        &self,
        mine: &Footprint,
        reads: &[(KeyspaceId, KeyRange)],
        since: u64,
        until: u64,
    ) -> Option<u64> {
        if until <= since {
            return None;
        }
        let mut between = self.commits.range(since + 1..=until);
        between.find(|(_, c)| mine.conflicts_with(reads, &c.footprint)).map(|(seq, _)| *seq)
    }

    /// Whether something in flight could stand in the way of transaction `op`.
    #[must_use]
    pub fn may_conflict_in_flight(
        &self,
        op: OpId,
        mine: &Footprint,
        reads: &[(KeyspaceId, KeyRange)],
    ) -> bool {
        self.in_flight
            .iter()
            .any(|(at, (_, theirs))| *at != op && mine.conflicts_with(reads, theirs))
    }

    /// Whether anything was committed or is in flight that may lie after `known`.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The database was opened again and says that `recovered` is its newest commit; `matches` tells whether a state
    /// is what it holds. Settles what was in flight. `settled`: what was found is durable, so what was before it
    /// can be forgotten.
    ///
    /// # Errors
    /// Commits lost below `floor`, commits that nobody made, or a state that no outcome explains.
    pub fn recover(
        &mut self,
        recovered: u64,
        floor: u64,
        settled: bool,
        mut matches: impl FnMut(&State) -> Result<(), String>,
    ) -> Result<(), String> {
        if recovered < floor {
            return Err(format!(
                "commits up to {floor} had to survive, the newest found is {recovered}"
            ));
        }
        if recovered < self.base {
            return Err(format!(
                "the newest commit is {recovered}, but an opening before found {}",
                self.base
            ));
        }
        let open: Vec<u64> =
            (self.known() + 1..=recovered).filter(|seq| !self.commits.contains_key(seq)).collect();
        let ops: Vec<OpId> = self.in_flight.keys().copied().collect();
        if open.len() > ops.len() {
            return Err(format!(
                "{} commits up to {recovered} were made by nobody, {} were in flight",
                open.len(),
                ops.len()
            ));
        }
        let mut first_error = None;
        let mut chosen = Vec::new();
        if !self.explain(recovered, &open, &ops, &mut chosen, &mut matches, &mut first_error) {
            return Err(first_error.unwrap_or_else(|| "no outcome explains the state".to_owned()));
        }
        // What waited for places is given up: which of several ways to fill them was the true one is not known.
        self.pending.clear();
        for (seq, op) in open.iter().zip(chosen) {
            self.place(op, *seq, &[])?;
        }
        self.in_flight.clear();
        self.commits.retain(|seq, _| *seq <= recovered);
        self.states.truncate((recovered - self.base + 1) as usize);
        self.acknowledged = recovered;
        self.durable = if settled { recovered } else { self.durable.min(recovered) };
        // Nobody can ask for what lies before: not a reader, and not the next crash.
        self.states.drain(..(self.durable - self.base) as usize);
        self.base = self.durable;
        debug_assert_eq!(self.known(), recovered);
        Ok(())
    }

    /// Tries every way in which operations in flight can fill the open places.
    fn explain(
        &self,
        recovered: u64,
        open: &[u64],
        ops: &[OpId],
        chosen: &mut Vec<OpId>,
        matches: &mut impl FnMut(&State) -> Result<(), String>,
        first_error: &mut Option<String>,
    ) -> bool {
        if chosen.len() < open.len() {
            for op in ops {
                if chosen.contains(op) {
                    continue;
                }
                chosen.push(*op);
                if self.explain(recovered, open, ops, chosen, matches, first_error) {
                    return true;
                }
                chosen.pop();
            }
            return false;
        }
        let state = if let Some(state) = self.state(recovered) {
            state.clone()
        } else {
            let mut state = self.states[self.states.len() - 1].clone();
            for seq in self.known() + 1..=recovered {
                match open.iter().position(|at| *at == seq) {
                    Some(i) => state.apply(&self.in_flight[&chosen[i]].0),
                    None => state.apply(&self.commits[&seq].writes),
                }
            }
            state
        };
        match matches(&state) {
            Ok(()) => true,
            Err(error) => {
                first_error.get_or_insert(error);
                false
            }
        }
    }

    /// Whether a keyspace may be missing from a database whose newest commit is `recovered`, after
    /// a loss of what was not synced.
    #[must_use]
    pub fn may_lose(&self, id: KeyspaceId, recovered: u64) -> bool {
        let writes_to = |commit: &Commit| commit.footprint.ids().any(|written| written == id);
        self.made_at.get(&id).is_some_and(|made_at| *made_at >= self.durable)
            && !self.commits.range(..=recovered).any(|(_, commit)| writes_to(commit))
    }

    /// A keyspace is gone for good: its rows need not be remembered any more.
    pub fn forget_space(&mut self, id: KeyspaceId) {
        for state in &mut self.states {
            state.0.remove(&id);
        }
    }
}
