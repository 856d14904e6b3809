//! Steps on counters and combined values through their views: increments, assignments, resets and
//! reads.
//!
//! # Two checks
//! Under `sync` and `os` a call is one commit, and the step says what it writes, so the model of
//! commits checks it like all rows. Under `none` increments wait in the write buffer, and only the
//! view knows their commits. There commits are recorded as they come, and a ledger checks the
//! numbers.

use super::told::Wanted;
use super::{Outcome, Task, build, is_definite};
use crate::workload::ledger::{Change, Counter, Ending, Window};
use crate::workload::numbers::{Named, Numbers, word};
use crate::workload::plan::{CountersStep, RowStep, TableStep};
use crate::workload::read::{ReadStep, What};
use crate::workload::recorder::Recorder;
use crate::workload::spaces::{Cell, GROWN, Ids, KEYS, NAMES, Slot, Span, TX_KEYS, key, word_of};
use crate::workload::teller::{Means, Teller};
use crate::workload::world::{Opened, World, buffering};
use base::{KeyRef, Kind, int_to_word, word_to_int};
use env::Env;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use store::{Durability, Result, Store};
use views::write_buffer::Registry;

fn call(numbers: &Numbers, slot: Slot, rows: &[RowStep], clear: bool) -> Result<Option<bool>> {
    if clear { numbers.reset().map(|()| None) } else { numbers.write(slot, rows) }
}

/// The rows of a step in groups that one call writes: consecutive merges together, others one by
/// one.
fn calls(table: &TableStep) -> Vec<&[RowStep]> {
    table.rows.chunk_by(|a, b| a.kind == Kind::Merge && b.kind == Kind::Merge).collect()
}

impl Task {
    pub(super) fn counters(&self, opened: &Opened, step: &CountersStep) -> Outcome {
        let slot = step.slot();
        let Some(ids) = self.world.ids(&[slot]) else { return Ok(()) };
        match step {
            CountersStep::Write(table) => {
                if !table.spans.is_empty() && slot != GROWN {
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
        let (wanted, id) = (Wanted::of(&writes), ids[&slot]);
        let teller = Teller::new(&self.world, Means::Step(id, writes));
        let recorder = Recorder::telling(Arc::clone(&opened.kv), teller);
        let recorded = recorder.recorded();
        let done = self.numbers(opened, slot, recorder).and_then(|numbers| {
            call(&numbers, slot, rows, clear).map(|there| there.into_iter().collect())
        });
        let recorded = recorded.lock().clone();
        self.judge_told(opened, ids, id, wanted, done, &recorded)
    }

    /// The view of a slot: that of the opening under `none`, a new one elsewhere.
    fn numbers(&self, opened: &Opened, slot: Slot, store: Recorder) -> Result<Numbers> {
        let world = &self.world;
        if let Some(registry) = &opened.registry {
            return Numbers::find(registry, slot);
        }
        let env: Arc<dyn Env> = Arc::clone(&world.env) as _;
        Numbers::find(&Registry::new(Arc::new(store), env, buffering(&world.swarm)), slot)
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
            .numbers(opened, slot, Recorder::new(Arc::clone(&opened.kv)))
            .and_then(|counters| call(&counters, slot, rows, clear));
        let is_add = rows.first().is_some_and(|step| step.kind == Kind::Merge);
        let ending = match &done {
            Ok(_) => Ending::Done,
            // Some of the increments may be in the buffer.
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

    /// Writes the buffered increments: then the store has all earlier ones.
    fn counters_flush(&self, opened: &Opened, ids: &Ids, slot: Slot) -> Outcome {
        let world = &self.world;
        let Some(registry) = &opened.registry else { return Ok(()) };
        let watch = world.ledger.borrow_mut().watch();
        let flushed = || {
            Numbers::find(registry, slot)?.flush()?;
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

    fn judge_words(&self, watch: Window, slot: Slot, word: impl Fn(u16) -> Option<u64>) -> Outcome {
        let ledger = self.world.ledger.borrow();
        self.world.tally.borrow_mut().counters += u64::from(KEYS);
        (0..KEYS + TX_KEYS).try_for_each(|n| ledger.judge(watch, (slot, n), word(n)))
    }

    fn counters_read(&self, opened: &Opened, ids: &Ids, slot: Slot, keys: &[u16]) -> Outcome {
        let world = &self.world;
        let low = world.model.borrow().acknowledged;
        let watch = world.ledger.borrow_mut().watch();
        let named = Named::of(slot, keys.iter().copied());
        let ask = || -> Result<(Option<i64>, Vec<i64>)> {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let counters = self.numbers(opened, slot, recorder)?;
            Ok((counters.first(&named)?, counters.many(&named)?))
        };
        let done = ask();
        let high = opened.kv.snapshot().seq().0;
        let outcome = match done {
            Err(error) => world.tolerate("read counters", &error, ids, opened.generation),
            Ok(_) if world.is_closed(opened.generation) => Ok(()),
            Ok((first, many)) => {
                world.tally.borrow_mut().counters += 1 + many.len() as u64;
                if opened.registry.is_some() {
                    self.judge_read(watch, slot, keys, first, &many)
                } else {
                    let (id, keys) = (ids[&slot], keys.to_vec());
                    world.model.borrow_mut().when_known(high, move |model| {
                        let states = || (low..=high.max(low)).filter_map(|seq| model.state(seq));
                        let get = |rows: &crate::workload::model::Rows, n: u16| {
                            rows.get(&key(slot, n))?.first().and_then(word_of).map(word_to_int)
                        };
                        let wanted = first;
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
        watch: Window,
        slot: Slot,
        keys: &[u16],
        first: Option<i64>,
        many: &[i64],
    ) -> Outcome {
        let ledger = self.world.ledger.borrow();
        ledger.judge(watch, (slot, keys[0]), first.map(int_to_word))?;
        for (n, int) in keys.iter().zip(many) {
            let found = ledger.judge(watch, (slot, *n), Some(int_to_word(*int)));
            // 0 is also returned for a counter that does not exist.
            if let (Err(why), true) =
                (&found, *int != 0 || ledger.judge(watch, (slot, *n), None).is_err())
            {
                return Err(why.clone());
            }
        }
        Ok(())
    }

    /// Reads all counters, forward and backward, and their number.
    fn counters_scan(&self, opened: &Opened, ids: &Ids, slot: Slot) -> Outcome {
        let world = &self.world;
        if opened.registry.is_some() {
            let watch = world.ledger.borrow_mut().watch();
            let ask = || -> Result<[BTreeMap<u16, u64>; 2]> {
                let recorder = Recorder::new(Arc::clone(&opened.kv));
                let counters = self.numbers(opened, slot, recorder)?;
                Ok([counters.scan(false)?, counters.scan(true)?])
            };
            let outcome = match ask() {
                Err(error) => world.tolerate("scan counters", &error, ids, opened.generation),
                Ok(_) if world.is_closed(opened.generation) => Ok(()),
                Ok(scans) => scans.iter().try_for_each(|found| {
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
        let ask = || -> Result<(BTreeMap<u16, u64>, u64)> {
            let recorder = Recorder::new(Arc::clone(&opened.kv));
            let counters = self.numbers(opened, slot, recorder)?.at(&snapshot);
            Ok((counters.scan(false)?, counters.len()?))
        };
        let (found, len) = match ask() {
            Ok(found) => found,
            Err(error) => return world.tolerate("scan counters", &error, ids, opened.generation),
        };
        let (id, tally) = (ids[&slot], Rc::clone(&world.tally));
        world.model.borrow_mut().when_known(seq, move |model| {
            let Some(state) = model.state(seq) else { return Ok(()) };
            let wanted = state.rows(id);
            tally.borrow_mut().counters += len;
            let is = |(n, word): (&u16, &u64)| {
                wanted.get(&key(slot, *n)).and_then(|row| word_of(row.first()?)) == Some(*word)
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

    /// Changes counters in the task's transaction. Under `none` it only adds to keys that nothing
    /// else adds to, because buffered increments are written after the transaction.
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
            let counters = self.numbers(opened, table.slot, recorder)?;
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

/// Collects the numbers of all counters of a slot from an answer with keys and values.
pub fn collect_words(cells: &[Cell], slot: Slot, out: &mut BTreeMap<Counter, u64>) {
    for row in cells.chunks(3) {
        let number = (0..KEYS + TX_KEYS).find(|n| match (key(slot, *n).as_ref(), &row[0]) {
            (KeyRef::Words(words), Cell::Word(word)) => words == [*word],
            (KeyRef::Bytes(bytes), Cell::Bytes(found)) => bytes == &found[..],
            _ => false,
        });
        if let (Some(n), Some(word)) = (number, word_of(&row[1])) {
            out.insert((slot, n), word);
        }
    }
}

impl World {
    /// Checks with the ledger the counters that an opening has found.
    ///
    /// # Errors
    /// A number that a counter cannot have.
    pub fn counters_found(&self, found: &BTreeMap<Counter, u64>) -> Outcome {
        let promised = self.swarm.durability == Durability::None && !self.swarm.damages();
        self.ledger.borrow_mut().recover(found, promised)
    }
}
