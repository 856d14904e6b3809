//! Steps that commit without a transaction, and bulk loads.

use super::{Outcome, Task, build, is_definite, slots_of};
use crate::workload::existed;
use crate::workload::model::{SpaceWrites, Writes, push_row, to_batch};
use crate::workload::plan::TableStep;
use crate::workload::spaces::{Ids, Row, shape};
use crate::workload::world::Opened;
use base::{Batch, Key, Kind, SeqNo};
use std::collections::BTreeMap;
use std::rc::Rc;
use store::{SortedRows, Store};

impl Task {
    pub(super) fn write(&self, opened: &Opened, tables: &[TableStep], tell: bool) -> Outcome {
        let world = &self.world;
        let Some(ids) = world.ids(&slots_of(tables)) else { return Ok(()) };
        let writes = build(tables, &ids);
        let batch = to_batch(&writes);
        if batch.is_empty() {
            return Ok(());
        }
        self.commit_with(opened, &ids, writes, tell, |existed| {
            opened.kv.write(&batch, tell.then_some(existed))
        })
    }

    /// Makes a commit by `call`, which returns flags about the keys if it was asked to.
    pub(super) fn commit_with(
        &self,
        opened: &Opened,
        ids: &Ids,
        writes: Writes,
        tell: bool,
        call: impl FnOnce(&mut Vec<bool>) -> store::Result<SeqNo>,
    ) -> Outcome {
        let world = &self.world;
        let poisoned = world.poisoned.get();
        let (op, before) = {
            let mut model = world.model.borrow_mut();
            (model.begin(writes.clone()), model.acknowledged)
        };
        let mut flags = Vec::new();
        let done = call(&mut flags);
        let mut model = world.model.borrow_mut();
        let seq = match done {
            Ok(seq) => seq.0,
            Err(error) => {
                if is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                drop(model);
                return world.tolerate("write", &error, ids, opened.generation);
            }
        };
        let mut nothing = false;
        let mut absent = Vec::new();
        if tell {
            let told = existed::told(&writes, &flags)?;
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
                    existed::check(&writes, &flags, state)
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

    pub(super) fn bulk(
        &self,
        opened: &Opened,
        tables: &[TableStep],
        partitions: u8,
        commit: bool,
    ) -> Outcome {
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
            match load.write(table.id, split(table, partitions)) {
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
                if is_definite(&error, poisoned) {
                    model.cancel(op);
                }
                drop(model);
                failed(error)
            }
        }
    }
}

/// The rows of a table in some parts.
fn split(table: &SpaceWrites, parts: u8) -> Vec<Box<dyn SortedRows>> {
    let size = table.rows.len().div_ceil(usize::from(parts.max(1))).max(1);
    let part = |rows: &[(Key, Kind, Row)]| {
        let mut batch = Batch::new(&shape(table.slot));
        for (key, _, row) in rows {
            batch.keys.push(key.as_ref());
            push_row(&mut batch, Some(row));
        }
        Box::new(Part { batch, next: 0 }) as Box<dyn SortedRows>
    };
    table.rows.chunks(size).map(part).collect()
}

/// Rows of a bulk load, in small batches.
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
