//! Transactions: what they read, and whether they rightly won or lost.

use super::{Outcome, Task, build, slots_of};
use crate::workload::model::{Footprint, Writes, to_batch};
use crate::workload::plan::TableStep;
use crate::workload::read::{Ids, ReadStep};
use crate::workload::world::{Opened, World};
use base::{KeyRange, KeyspaceId};
use std::cell::RefCell;
use std::rc::Rc;
use store::{ErrorKind, Isolation, Store, Transaction};

/// A transaction of a task.
pub(super) struct Tx {
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

impl Task {
    pub(super) fn begin(&mut self, opened: &Opened, isolation: Isolation) -> Outcome {
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

    pub(super) fn tx_write(&mut self, tables: &[TableStep]) -> Outcome {
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

    pub(super) fn tx_read(&mut self, read: &ReadStep) -> Outcome {
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

    pub(super) fn commit(&mut self) -> Outcome {
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
}
