//! The expected content of the database: an ordered map for each keyspace, as of every commit of a
//! life.
//!
//! # Why whole states
//! A state is stored for each sequence number since the last opening; states share the keyspaces
//! that did not change. That costs a few kilobytes per commit and makes every question a single
//! lookup: a read at sequence number `s` is right if it equals the same read of state `s`.
//!
//! # In flight
//! The engine assigns each commit its sequence number, and returns it with the call. Until then,
//! and forever where a crash or an error came first, the model knows what the commit writes but not
//! its number. A check that needs such a number waits for it. After a crash the recovered state
//! decides: some assignment of the commits in flight to the open numbers must explain it.

use crate::workload::spaces::{Cell, GROWN, Row, Slot, grow, merge, shape};
use base::{Batch, Column, Key, KeyRange, KeyspaceId, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use store::{Kinds, TableWrites, WriteBatch};

/// Rows of one keyspace.
pub type Rows = BTreeMap<Key, Rc<Row>>;

/// Rows of all keyspaces at one sequence number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State(pub BTreeMap<KeyspaceId, Rc<Rows>>);

/// Writes to one keyspace: range deletes first, then rows in order.
#[derive(Clone, Debug)]
pub struct SpaceWrites {
    /// Id of the keyspace.
    pub id: KeyspaceId,
    /// Its slot.
    pub slot: Slot,
    /// Ranges that are deleted before the rows are written.
    pub ranges: Vec<KeyRange>,
    /// Key, kind and values of each row.
    pub rows: Vec<(Key, Kind, Row)>,
}

/// Writes of one commit.
pub type Writes = Vec<SpaceWrites>;

impl State {
    /// Rows of a keyspace; empty where it was never written.
    #[must_use]
    pub fn rows(&self, id: KeyspaceId) -> Rc<Rows> {
        self.0.get(&id).cloned().unwrap_or_default()
    }

    /// Applies writes.
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

/// The writes in the engine's form.
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

/// Appends values, or placeholders, and counts the row. The caller pushes its key.
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

/// The keys and ranges that a commit wrote, for checking conflicts.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    /// Each written key, and whether it was only merged.
    keys: BTreeMap<(KeyspaceId, Key), bool>,
    ranges: Vec<(KeyspaceId, KeyRange)>,
}

impl Footprint {
    /// Adds consecutive writes of one transaction or commit.
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

    /// Removes a key: a delete that found no row writes nothing.
    pub fn forget(&mut self, id: KeyspaceId, key: &Key) {
        self.keys.remove(&(id, key.clone()));
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    /// Ids of the keyspaces that were written.
    pub fn ids(&self) -> impl Iterator<Item = KeyspaceId> + '_ {
        self.keys.keys().map(|(id, _)| *id).chain(self.ranges.iter().map(|(id, _)| *id))
    }

    /// Whether a transaction with these writes, which has read `reads`, must not commit after
    /// `other`.
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

/// A commit with a known sequence number.
#[derive(Clone, Debug)]
struct Commit {
    footprint: Footprint,
    writes: Rc<Writes>,
}

/// Id of a commit that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpId(u64);

/// A check of the model that returns what is wrong.
type Check = Box<dyn FnOnce(&Model) -> Result<(), String>>;

/// A check that waits until every commit up to `needs` has its number.
struct Pending {
    needs: u64,
    check: Check,
}

/// The history of one disk, as far back as anything can read it.
#[derive(Default)]
pub struct Model {
    /// Sequence number of `states[0]`.
    base: u64,
    /// States by sequence number, from `base` on, without gaps.
    states: Vec<State>,
    /// Commits by sequence number, from `base + 1` on, perhaps with gaps.
    commits: BTreeMap<u64, Commit>,
    /// Commits whose number is not known, oldest first.
    in_flight: BTreeMap<OpId, (Rc<Writes>, Footprint)>,
    next_op: u64,
    pending: Vec<Pending>,
    /// Largest sequence number that a call returned or that a reader saw.
    pub acknowledged: u64,
    /// Everything up to this number is durable, whatever the durability of commits.
    pub durable: u64,
    /// The existing keyspaces.
    pub live: BTreeMap<Slot, KeyspaceId>,
    /// For each keyspace that the next power cut may lose, the newest commit at its creation.
    /// Without `sync`, every keyspace is here until a later commit is durable. A keyspace is lost
    /// only together with all commits to it.
    pub made_at: BTreeMap<KeyspaceId, u64>,
    /// Whether unsynced bytes may have been lost since the database was last verified: by a power
    /// cut, or by a failed sync, after which the pages count as clean.
    pub lost_unsynced: bool,
    /// Slots whose creation or drop is under way, or failed.
    pub unsettled: BTreeSet<Slot>,
    /// Keyspaces whose drop has begun in this life, whether it has ended or not.
    pub dropping: BTreeSet<KeyspaceId>,
    /// Upper bound of the long blobs that were replaced without a lookup: only their pieces may
    /// belong to no row.
    pub litter: std::cell::Cell<usize>,
}

impl Model {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self { states: vec![State::default()], ..Self::default() }
    }

    /// Largest sequence number up to which all commits are known.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.base + self.states.len() as u64 - 1
    }

    /// The oldest sequence number that can be read.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The state at a sequence number from [`Model::base`] to [`Model::known`].
    #[must_use]
    pub fn state(&self, seq: u64) -> Option<&State> {
        self.states.get(usize::try_from(seq.checked_sub(self.base)?).ok()?)
    }

    /// Begins a commit.
    pub fn begin(&mut self, writes: Writes) -> OpId {
        let mut footprint = Footprint::default();
        footprint.add(&writes);
        self.begin_with(Rc::new(writes), footprint)
    }

    /// Begins a commit with a known footprint.
    pub fn begin_with(&mut self, writes: Rc<Writes>, footprint: Footprint) -> OpId {
        self.next_op += 1;
        let op = OpId(self.next_op);
        self.in_flight.insert(op, (writes, footprint));
        op
    }

    /// Ends a commit that is known to have changed nothing.
    pub fn cancel(&mut self, op: OpId) {
        self.in_flight.remove(&op);
    }

    /// Ends a commit with its sequence number; every later read must see it. `absent` are keys
    /// whose deletes found no row.
    ///
    /// # Errors
    /// Two commits with one number.
    pub fn place(
        &mut self,
        op: OpId,
        seq: u64,
        absent: &[(KeyspaceId, Key)],
    ) -> Result<(), String> {
        self.acknowledged = self.acknowledged.max(seq);
        self.place_unsynced(op, seq, absent)
    }

    /// As [`Model::place`], for a commit that is acknowledged only with the next synced one.
    ///
    /// # Errors
    /// Two commits with one number.
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

    /// Runs `check` as soon as every commit up to `needs` is known.
    ///
    /// # Errors
    /// Those of the check, if it can run now.
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

    /// Whether a commit after `since` and up to `until` conflicts with a transaction.
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

    /// Whether a commit in flight may conflict with transaction `op`.
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

    /// Number of commits in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Continues after an opening that reports `recovered` as its newest commit. `matches` tells
    /// whether a state equals the database's content. Assigns numbers to the commits in flight. If
    /// `settled`, what was found is durable, and older states are dropped.
    ///
    /// # Errors
    /// Commits lost below `floor`, commits that were never made, or a state that no assignment
    /// explains.
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
        // Pending checks are dropped: if several assignments explain the state, the true one is
        // unknown.
        self.pending.clear();
        for (seq, op) in open.iter().zip(chosen) {
            self.place(op, *seq, &[])?;
        }
        self.in_flight.clear();
        self.commits.retain(|seq, _| *seq <= recovered);
        self.states.truncate((recovered - self.base + 1) as usize);
        self.acknowledged = recovered;
        self.durable = if settled { recovered } else { self.durable.min(recovered) };
        // Neither a reader nor the next crash can show an older state.
        self.states.drain(..(self.durable - self.base) as usize);
        self.base = self.durable;
        debug_assert_eq!(self.known(), recovered);
        Ok(())
    }

    /// Tries every assignment of the commits in flight to the open numbers.
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
    /// unsynced writes were lost.
    #[must_use]
    pub fn may_lose(&self, id: KeyspaceId, recovered: u64) -> bool {
        let writes_to = |commit: &Commit| commit.footprint.ids().any(|written| written == id);
        self.made_at.get(&id).is_some_and(|made_at| *made_at >= self.durable)
            && !self.commits.range(..=recovered).any(|(_, commit)| writes_to(commit))
    }

    /// Drops the rows of a keyspace that is gone for good.
    pub fn forget_space(&mut self, id: KeyspaceId) {
        for state in &mut self.states {
            state.0.remove(&id);
        }
    }
}
