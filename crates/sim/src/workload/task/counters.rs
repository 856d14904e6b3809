//! Counters through their view: increments, numbers set, reset and read.
//!
//! # Two ways to judge
//! Under `sync` and `os` a call is a commit, and the step says what it writes: the model of commits judges it, as it judges all
//! rows. Under `none` increments wait, and become commits of which only the view knows: there the commits are noted as they come, and a ledger
//! judges the numbers.

use super::{Outcome, Task, build, is_definite};
use crate::workload::ledger::{Change, Counter, Ending, Watch};
use crate::workload::plan::{CountersStep, RowStep, TableStep};
use crate::workload::read::{Ids, ReadStep, What};
use crate::workload::recorder::Recorder;
use crate::workload::spaces::{
    COUNTERS, Cell, KEYS, NAMES, Slot, Span, TX_KEYS, key, row, signed, text,
};
use crate::workload::world::{Opened, World, buffering};
use base::{KeyRef, Kind, SeqNo, int_to_word, word_to_int};
use env::Env;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, Result, Store};
use views::counters::{CounterRows, Counters, Number, NumberColumn, NumberList};
use views::keys::{KeyColumn, KeyList, KeyOf};
use views::waiting::Registry;

/// Keys as the view takes them.
enum Named {
    Words(Vec<u64>),
    Signed(Vec<i64>),
    Texts(Vec<String>),
}

impl Named {
    fn of(slot: Slot, numbers: impl Iterator<Item = u16>) -> Self {
        match slot {
            9 => Self::Words(numbers.map(u64::from).collect()),
            10 => Self::Texts(numbers.map(text).collect()),
            _ => Self::Signed(numbers.map(signed).collect()),
        }
    }

    fn list<R>(&self, f: impl FnOnce(KeyList<'_>) -> R) -> R {
        match self {
            Self::Words(keys) => f(KeyList::U64(keys)),
            Self::Signed(keys) => f(KeyList::I64(keys)),
            Self::Texts(keys) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                f(KeyList::Str(&keys))
            }
        }
    }

    fn first(&self) -> KeyOf<'_> {
        match self {
            Self::Words(keys) => KeyOf::U64(keys[0]),
            Self::Signed(keys) => KeyOf::I64(keys[0]),
            Self::Texts(keys) => KeyOf::Str(&keys[0]),
        }
    }
}

fn word(slot: Slot, step: &RowStep) -> u64 {
    match row(slot, step.seed).first() {
        Some(Cell::Word(word)) => *word,
        _ => int_to_word(0),
    }
}

/// The call that a write of rows of one kind is; whether a counter was there, where that is told.
fn call(counters: &Counters, slot: Slot, rows: &[RowStep], clear: bool) -> Result<Option<bool>> {
    if clear {
        return counters.reset().map(|()| None);
    }
    let keys = Named::of(slot, rows.iter().map(|step| step.key));
    let numbers: Vec<i64> = rows.iter().map(|step| word_to_int(word(slot, step))).collect();
    match (rows, rows[0].kind) {
        (_, Kind::Put) => counters.set(keys.first(), numbers[0]).map(|()| None),
        (_, Kind::Delete) => counters.remove(keys.first()).map(Some),
        ([_], Kind::Merge) => counters.add(keys.first(), numbers[0]).map(|()| None),
        _ => keys.list(|keys| counters.add_many(keys, NumberList::Int(&numbers))).map(|()| None),
    }
}

/// Rows of a step that are one call: of one kind, and single ones where the view has no call for many.
fn calls(table: &TableStep) -> Vec<&[RowStep]> {
    table.rows.chunk_by(|a, b| a.kind == Kind::Merge && b.kind == Kind::Merge).collect()
}

impl Task {
    pub(super) fn counters(&self, opened: &Opened, step: &CountersStep) -> Outcome {
        let slot = step.slot();
        let Some(ids) = self.world.ids(&[slot]) else { return Ok(()) };
        match step {
            CountersStep::Write(table) => {
                if !table.spans.is_empty() {
                    self.counters_write(opened, &ids, slot, &[], true)?;
                }
                calls(table)
                    .into_iter()
                    .try_for_each(|rows| self.counters_write(opened, &ids, slot, rows, false))
            }
            CountersStep::Flush(_) => self.counters_flush(opened, &ids, slot),
            CountersStep::Read(_, keys) => self.counters_read(opened, &ids, slot, keys),
            CountersStep::Scan(_) => self.counters_scan(opened, &ids, slot),
        }
    }

    fn counters_write(
        &self,
        opened: &Opened,
        ids: &Ids,
        slot: Slot,
        rows: &[RowStep],
        clear: bool,
    ) -> Outcome {
        if opened.registry.is_some() {
            return self.counters_wait(opened, ids, slot, rows, clear);
        }
        let spans = if clear { vec![Span::All] } else { Vec::new() };
        let writes = build(&[TableStep { slot, spans, rows: rows.to_vec() }], ids);
        let tell = rows.first().is_some_and(|step| step.kind == Kind::Delete);
        self.commit_with(opened, ids, writes, tell, |existed| {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let recorded = recorder.recorded();
            let counters = self.find_counters(opened, slot, recorder)?;
            let there = call(&counters, slot, rows, clear)?;
            let recorded = recorded.lock().clone();
            if there.is_some_and(|there| recorded.existed != [there]) {
                return Err(relation::invalid("the view tells otherwise than the store"));
            }
            existed.extend(recorded.existed);
            Ok(recorded.seq.unwrap_or(SeqNo::ZERO))
        })
    }

    /// Counters of an opening in which nothing waits.
    fn find_counters(&self, opened: &Opened, slot: Slot, store: Recorder) -> Result<Counters> {
        let world = &self.world;
        if let Some(registry) = &opened.registry {
            return found(registry, slot);
        }
        let env: Arc<dyn Env> = Arc::clone(&world.env) as _;
        found(&Registry::new(Arc::new(store), env, buffering(&world.swarm)), slot)
    }

    /// A change under `none`.
    fn counters_wait(
        &self,
        opened: &Opened,
        ids: &Ids,
        slot: Slot,
        rows: &[RowStep],
        clear: bool,
    ) -> Outcome {
        let world = &self.world;
        let changes: Vec<(Counter, Change)> = if clear {
            (0..KEYS + TX_KEYS).map(|n| ((slot, n), Change::Remove)).collect()
        } else {
            rows.iter().map(|step| change(slot, step)).collect()
        };
        let poisoned = world.poisoned.get();
        let begun = world.ledger.borrow_mut().begin(&changes);
        let done = self
            .find_counters(opened, slot, Recorder::new(Arc::clone(&opened.kv)))
            .and_then(|counters| call(&counters, slot, rows, clear));
        let is_add = rows.first().is_some_and(|step| step.kind == Kind::Merge);
        let ending = match &done {
            Ok(_) => Ending::Done,
            // Some of them may be in the buffer.
            Err(_) if is_add => Ending::Unknown,
            Err(error) if is_definite(error, poisoned) => Ending::Refused,
            Err(_) => Ending::Unknown,
        };
        world.ledger.borrow_mut().end(&begun, ending);
        match done {
            Ok(_) => Ok(()),
            Err(error) => world.tolerate("count", &error, ids, opened.generation),
        }
    }

    /// Writes what waits: then the store has what was added before.
    fn counters_flush(&self, opened: &Opened, ids: &Ids, slot: Slot) -> Outcome {
        let world = &self.world;
        let Some(registry) = &opened.registry else { return Ok(()) };
        let watch = world.ledger.borrow_mut().watch();
        let flushed = || {
            found(registry, slot)?.flush()?;
            let mut found = BTreeMap::new();
            let whole =
                ReadStep { slot, what: What::Scan(Span::All, u16::MAX), keys: !0, values: !0 };
            collect_words(&whole.ask(&*opened.kv.snapshot(), ids)?.cells, slot, &mut found);
            Ok(found)
        };
        let outcome = match flushed() {
            Ok(found) => self.judge_words(watch, slot, |n| found.get(&(slot, n)).copied()),
            Err(error) => world.tolerate("write what waits", &error, ids, opened.generation),
        };
        world.ledger.borrow_mut().forget(watch);
        outcome
    }

    fn judge_words(&self, watch: Watch, slot: Slot, word: impl Fn(u16) -> Option<u64>) -> Outcome {
        let ledger = self.world.ledger.borrow();
        self.world.tally.borrow_mut().counters += u64::from(KEYS);
        (0..KEYS + TX_KEYS).try_for_each(|n| ledger.judge(watch, (slot, n), word(n)))
    }

    fn counters_read(&self, opened: &Opened, ids: &Ids, slot: Slot, keys: &[u16]) -> Outcome {
        let world = &self.world;
        let low = world.model.borrow().acknowledged;
        let watch = world.ledger.borrow_mut().watch();
        let named = Named::of(slot, keys.iter().copied());
        let ask = || -> Result<(Option<Number>, NumberColumn)> {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let counters = self.find_counters(opened, slot, recorder)?;
            let first = counters.find(named.first())?;
            Ok((first, named.list(|keys| counters.get_many(keys))?))
        };
        let done = ask();
        let high = opened.kv.snapshot().seq().0;
        let outcome = match done {
            Err(error) => world.tolerate("read counters", &error, ids, opened.generation),
            Ok(_) if world.is_closed(opened.generation) => Ok(()),
            Ok((first, many)) => {
                let many = ints(&many);
                world.tally.borrow_mut().counters += 1 + many.len() as u64;
                if opened.registry.is_some() {
                    self.judge_read(watch, slot, keys, first, &many)
                } else {
                    let (id, keys) = (ids[&slot], keys.to_vec());
                    world.model.borrow_mut().when_known(high, move |model| {
                        let states = || (low..=high.max(low)).filter_map(|seq| model.state(seq));
                        let get = |rows: &crate::workload::model::Rows, n: u16| {
                            let row = rows.get(&key(slot, n))?;
                            match row.first() {
                                Some(Cell::Word(word)) => Some(word_to_int(*word)),
                                _ => None,
                            }
                        };
                        let wanted = first.map(int_of);
                        let one = states().any(|state| get(&state.rows(id), keys[0]) == wanted);
                        let all = states().any(|state| {
                            let rows = state.rows(id);
                            keys.iter().zip(&many).all(|(n, int)| get(&rows, *n).unwrap_or(0) == *int)
                        });
                        if (one && all) || states().next().is_none() {
                            return Ok(());
                        }
                        Err(format!(
                            "counters {keys:?} were read as {wanted:?} and {many:?}, at no moment from {low} to {high}"
                        ))
                    })
                }
            }
        };
        world.ledger.borrow_mut().forget(watch);
        outcome
    }

    fn judge_read(
        &self,
        watch: Watch,
        slot: Slot,
        keys: &[u16],
        first: Option<Number>,
        many: &[i64],
    ) -> Outcome {
        let ledger = self.world.ledger.borrow();
        ledger.judge(watch, (slot, keys[0]), first.map(|number| int_to_word(int_of(number))))?;
        for (n, int) in keys.iter().zip(many) {
            let found = ledger.judge(watch, (slot, *n), Some(int_to_word(*int)));
            // 0 is said of a counter that is not there, too.
            if let (Err(why), true) =
                (&found, *int != 0 || ledger.judge(watch, (slot, *n), None).is_err())
            {
                return Err(why.clone());
            }
        }
        Ok(())
    }

    /// All counters, forward and backward, and how many there are.
    fn counters_scan(&self, opened: &Opened, ids: &Ids, slot: Slot) -> Outcome {
        let world = &self.world;
        if opened.registry.is_some() {
            let watch = world.ledger.borrow_mut().watch();
            let ask = || -> Result<[CounterRows; 2]> {
                let recorder = Recorder::new(Arc::clone(&opened.kv));
                let counters = self.find_counters(opened, slot, recorder)?;
                let all = usize::from(KEYS + TX_KEYS);
                Ok([counters.scan(None, all)?, counters.scan_back(None, all)?])
            };
            let outcome = match ask() {
                Err(error) => world.tolerate("scan counters", &error, ids, opened.generation),
                Ok(_) if world.is_closed(opened.generation) => Ok(()),
                Ok(scans) => scans.iter().try_for_each(|rows| {
                    let found = words_of(slot, rows);
                    self.judge_words(watch, slot, |n| found.get(&n).copied())
                }),
            };
            world.ledger.borrow_mut().forget(watch);
            return outcome;
        }
        let acknowledged = world.model.borrow().acknowledged;
        let snapshot = opened.kv.snapshot();
        let seq = snapshot.seq().0;
        self.seen(opened, seq, acknowledged, "a snapshot")?;
        let ask = || -> Result<(CounterRows, u64)> {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let counters = self.find_counters(opened, slot, recorder)?.at(&snapshot);
            Ok((counters.scan(None, usize::MAX)?, counters.len()?))
        };
        let (rows, len) = match ask() {
            Ok(found) => found,
            Err(error) => return world.tolerate("scan counters", &error, ids, opened.generation),
        };
        let (id, tally) = (ids[&slot], Rc::clone(&world.tally));
        world.model.borrow_mut().when_known(seq, move |model| {
            let Some(state) = model.state(seq) else { return Ok(()) };
            let wanted = state.rows(id);
            let found = words_of(slot, &rows);
            tally.borrow_mut().counters += len;
            let is = |(n, word): (&u16, &u64)| {
                wanted.get(&key(slot, *n)).is_some_and(|row| **row == [Cell::Word(*word)])
            };
            if len == wanted.len() as u64 && found.len() == wanted.len() && found.iter().all(is) {
                return Ok(());
            }
            Err(format!(
                "{len} counters of {} at moment {seq}, {found:?}; the model has {wanted:?}",
                NAMES[usize::from(slot)]
            ))
        })
    }

    /// Changes counters in the task's transaction. Under `none` only adds to keys that nobody else adds to: what waits beside a
    /// transaction is written behind it.
    pub(super) fn tx_counters(&mut self, opened: &Opened, table: &TableStep) -> Outcome {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&[table.slot]) else { return Ok(()) };
        if tx.generation != opened.generation {
            return Ok(());
        }
        let mut table = table.clone();
        table.spans.clear();
        if self.world.swarm.durability == Durability::None {
            for step in &mut table.rows {
                step.kind = Kind::Merge;
                step.key = KEYS + step.key % TX_KEYS;
            }
        }
        let shared = Arc::clone(&tx.inner);
        let count = || -> Result<()> {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let counters = self.find_counters(opened, table.slot, recorder)?;
            let counters = counters.in_transaction(&shared);
            let mut calls = calls(&table).into_iter();
            calls.try_for_each(|rows| call(&counters, table.slot, rows, false).map(drop))
        };
        let done = count();
        let Some(tx) = &mut self.tx else { return Ok(()) };
        match done {
            Ok(()) => {
                tx.own.borrow_mut().extend(build(&[table.clone()], &ids));
                tx.touched.extend(ids);
                if self.world.swarm.durability == Durability::None {
                    tx.counted.extend(table.rows.iter().map(|step| change(table.slot, step)));
                }
                Ok(())
            }
            Err(error) => {
                let generation = tx.generation;
                self.tx = None;
                self.world.tolerate("count in a transaction", &error, &ids, generation)
            }
        }
    }
}

fn change(slot: Slot, step: &RowStep) -> (Counter, Change) {
    let change = match step.kind {
        Kind::Merge => Change::Add(word(slot, step)),
        Kind::Put => Change::Set(word(slot, step)),
        Kind::Delete => Change::Remove,
    };
    ((slot, step.key), change)
}

fn found(registry: &Registry, slot: Slot) -> Result<Counters> {
    let counters = registry.find_counters(NAMES[usize::from(slot)])?;
    counters.ok_or_else(|| relation::invalid("the counters are not there"))
}

fn int_of(number: Number) -> i64 {
    match number {
        Number::Int(int) => int,
        Number::Float(_) => unreachable!("counters of the workload are integers"),
    }
}

fn ints(numbers: &NumberColumn) -> Vec<i64> {
    (0..numbers.len()).map(|i| int_of(numbers.get(i))).collect()
}

/// Words by the keys' numbers.
fn words_of(slot: Slot, rows: &CounterRows) -> BTreeMap<u16, u64> {
    let all = || 0..KEYS + TX_KEYS;
    let numbers: Vec<u16> = match &rows.keys {
        KeyColumn::U64(keys) => keys.iter().map(|key| *key as u16).collect(),
        KeyColumn::I64(keys) => {
            keys.iter().filter_map(|key| all().find(|n| signed(*n) == *key)).collect()
        }
        KeyColumn::Str(keys) => {
            let number = |i| all().find(|n| text(*n).as_bytes() == keys.get(i));
            (0..keys.len()).filter_map(number).collect()
        }
    };
    debug_assert!(COUNTERS.contains(&slot));
    numbers.into_iter().zip(ints(&rows.numbers).into_iter().map(int_to_word)).collect()
}

/// Numbers of all counters of a slot, from an answer that has keys and values.
pub fn collect_words(cells: &[Cell], slot: Slot, out: &mut BTreeMap<Counter, u64>) {
    for row in cells.chunks(3) {
        let number = (0..KEYS + TX_KEYS).find(|n| match (key(slot, *n).as_ref(), &row[0]) {
            (KeyRef::Words(words), Cell::Word(word)) => words == [*word],
            (KeyRef::Bytes(bytes), Cell::Bytes(found)) => bytes == &found[..],
            _ => false,
        });
        if let (Some(n), Cell::Word(word)) = (number, &row[1]) {
            out.insert((slot, n), *word);
        }
    }
}

impl World {
    /// What the ledger says of counters that an opening has found.
    ///
    /// # Errors
    /// A number that a counter cannot have.
    pub fn counters_found(&self, found: &BTreeMap<Counter, u64>) -> Outcome {
        let promised = self.swarm.durability == Durability::None && !self.swarm.damages();
        self.ledger.borrow_mut().recover(found, promised)
    }
}
