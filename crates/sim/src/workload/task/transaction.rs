//! Steps of transactions: checks what they read, and whether they committed or conflicted rightly.

use super::{Outcome, Task, build, is_definite, slots_of};
use crate::workload::ledger::{Change, Counter, Ending};
use crate::workload::model::{Writes, to_batch};
use crate::workload::plan::TableStep;
use crate::workload::read::ReadStep;
use crate::workload::recorder::{NotedBy, Recorder};
use crate::workload::spaces::Ids;
use crate::workload::teller;
use crate::workload::world::{Opened, World};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use store::{ErrorKind, Isolation};
use views::SharedTransaction;

/// A transaction of a task.
pub(super) struct Tx {
    pub(super) inner: Arc<SharedTransaction>,
    /// Record of its reads and writes.
    noted: NotedBy,
    pub(super) generation: u64,
    pub(super) since: u64,
    /// Keyspaces that existed when it began.
    ids: Ids,
    pub(super) own: Rc<RefCell<Writes>>,
    pub(super) touched: Ids,
    /// Changes of counters that the ledger must be told.
    pub(super) counted: Vec<(Counter, Change)>,
}

impl Task {
    pub(super) fn begin(&mut self, opened: &Opened, isolation: Isolation) -> Outcome {
        let (ids, acknowledged) = {
            let model = self.world.model.borrow();
            (model.live.clone(), model.acknowledged)
        };
        let (inner, noted) = Recorder::begin_noted(&opened.kv, isolation);
        let Ok(since) = inner.with(|inner| Ok(inner.seq().0)) else { return Ok(()) };
        self.seen(opened, since, acknowledged, "a transaction")?;
        self.tx = Some(Tx {
            inner,
            noted,
            generation: opened.generation,
            since,
            ids,
            own: Rc::default(),
            touched: Ids::new(),
            counted: Vec::new(),
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
                tx.touched.extend(ids);
                tx.own.borrow_mut().extend(writes);
                Ok(())
            }
            // The transaction began before the keyspace was created. A refused write leaves nothing
            // behind.
            Err(error) if is_new && error.kind() == ErrorKind::InvalidInput => Ok(()),
            Err(error) => {
                let generation = tx.generation;
                self.world.tolerate("write in a transaction", &error, &ids, generation)
            }
        }
    }

    pub(super) fn tx_undone(&mut self, tables: &[TableStep]) -> Outcome {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&slots_of(tables)) else { return Ok(()) };
        let batch = to_batch(&build(tables, &ids));
        let is_new = ids.iter().any(|(slot, id)| tx.ids.get(slot) != Some(id));
        let undone = tx.inner.with(|inner| {
            let savepoint = inner.savepoint();
            let written = inner.write(&batch);
            inner.roll_back_to(savepoint);
            written
        });
        match undone {
            Ok(()) => Ok(()),
            // The transaction began before the keyspace was created.
            Err(error) if is_new && error.kind() == ErrorKind::InvalidInput => Ok(()),
            Err(error) => {
                let generation = tx.generation;
                self.world.tolerate("undo in a transaction", &error, &ids, generation)
            }
        }
    }

    pub(super) fn tx_read(&mut self, read: &ReadStep) -> Outcome {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let Some(ids) = self.world.ids(&read.slots()) else { return Ok(()) };
        let is_new = ids.iter().any(|(slot, id)| tx.ids.get(slot) != Some(id));
        match tx.inner.with(|inner| read.ask(inner, &ids)) {
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
        let Tx { inner, noted, generation, own, touched, counted, .. } = tx;
        let writes = Rc::new(own.borrow().clone());
        let noted = noted.lock().clone();
        let read: Vec<_> = noted.reads.iter().map(|(id, _)| *id).collect();
        let Ok(inner) = inner.end() else { return Ok(()) };
        let poisoned = world.poisoned.get();
        let begun = world.ledger.borrow_mut().begin(&counted);
        let (done, outcome) = teller::commit(world, inner, writes, noted);
        let ending = match &done {
            Ok(_) => Ending::Done,
            Err(error) if is_definite(error, poisoned) => Ending::Refused,
            Err(_) => Ending::Unknown,
        };
        world.ledger.borrow_mut().end(&begun, ending);
        outcome?;
        match done {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
            Err(error) => {
                // A keyspace that it read may have been dropped, too.
                let model = world.model.borrow();
                let dropped = read.iter().any(|id| model.dropping.contains(id));
                drop(model);
                if dropped && error.kind() == ErrorKind::InvalidInput {
                    return Ok(());
                }
                world.tolerate("commit", &error, &touched, generation)
            }
        }
    }
}
