//! Looks up whether the keys of a write exist, for callers of `Store::write` that ask for it.
//!
//! # Why before the writer's lock is taken
//! A lookup may read the device, and a delete of a hundred thousand keys may do so a hundred
//! thousand times. Under the lock all other commits would wait. So the keys are looked up at a
//! snapshot first. Under the lock only those keys are looked up again that a commit has changed
//! since, with the check that a transaction's commit uses; they are mostly in memory.
//!
//! # Invariants
//! 1. The flags, and the deletes left out, are as of the commit right before this one.
//! 2. The snapshot is held until then: no compaction drops what lookup and correction need.

use crate::commit::select;
use crate::convert::tree_error;
use crate::inner::Inner;
use crate::normalise::normalise;
use crate::reader::Held;
use crate::trees::{Entry, Trees};
use base::{Batch, Keys, Kind, Projection, SeqNo};
use lsm::read::{ReadAt, SuperVersion};
use std::borrow::Cow;
use std::sync::Arc;
use store::{Kinds, Result, TableWrites, WriteBatch};

/// Which keys of a batch exist.
pub(crate) struct Existence {
    held: Held,
    of: Vec<OfTable>,
}

/// The flags of one table of the batch.
struct OfTable {
    /// A flag for each row in the order given.
    rows: Vec<bool>,
    /// A flag for each row in key order, each key once; `None` where the rows were given in that
    /// order.
    sorted: Option<Vec<bool>>,
}

impl Inner {
    /// Looks up the keys of a batch at a new snapshot.
    pub(crate) fn look_up(self: &Arc<Self>, batch: &WriteBatch) -> Result<Existence> {
        let held = Held::new(self);
        let mut of = Vec::with_capacity(batch.tables.len());
        for table in &batch.tables {
            let entry = held.trees.get(table.keyspace)?;
            crate::commit::check_shape(table, entry)?;
            let view = entry.tree.view();
            let rows = present(entry, &view, &table.rows.keys, held.seq)?;
            let sorted = match normalise(table, &entry.info.shape) {
                Cow::Borrowed(_) => None,
                // Only deletes are left out of a commit, so only they need these flags. The second
                // lookup reads cached blocks.
                Cow::Owned(_) if !deletes(table) => None,
                Cow::Owned(sorted) => Some(present(entry, &view, &sorted.rows.keys, held.seq)?),
            };
            of.push(OfTable { rows, sorted });
        }
        Ok(Existence { held, of })
    }
}

impl Existence {
    /// Looks up again the keys that commits up to `last_seq` have changed since the snapshot.
    /// `tables` are the batch's in key order. The caller holds the writer's lock.
    pub(crate) fn correct(
        &mut self,
        trees: &Trees,
        batch: &WriteBatch,
        tables: &[Cow<'_, TableWrites>],
        last_seq: SeqNo,
    ) -> Result<()> {
        let since = self.held.seq;
        if last_seq == since {
            return Ok(());
        }
        for ((of, given), table) in self.of.iter_mut().zip(&batch.tables).zip(tables) {
            let entry = trees.get(given.keyspace)?;
            let view = entry.tree.view();
            let again = |keys: &Keys, flags: &mut Vec<bool>| -> Result<()> {
                for (i, flag) in flags.iter_mut().enumerate() {
                    let key = keys.get(i);
                    if view.conflicts(key.as_ref(), since, Kind::Delete).map_err(tree_error)? {
                        *flag = is_there(entry, &view, key.as_ref(), last_seq)?;
                    }
                }
                Ok(())
            };
            again(&given.rows.keys, &mut of.rows)?;
            if let Some(sorted) = &mut of.sorted {
                again(&table.rows.keys, sorted)?;
            }
        }
        Ok(())
    }

    /// Removes the deletes of absent keys from `tables`.
    pub(crate) fn drop_absent(
        &self,
        trees: &Trees,
        tables: &mut [Cow<'_, TableWrites>],
    ) -> Result<()> {
        for (of, table) in self.of.iter().zip(tables) {
            let there = of.sorted.as_ref().unwrap_or(&of.rows);
            if !deletes(table) || there.iter().all(|&there| there) {
                continue;
            }
            let stays = |&i: &usize| there[i] || table.kinds.get(i) != Kind::Delete;
            let kept: Vec<usize> = (0..table.rows.rows).filter(stays).collect();
            *table = Cow::Owned(select(table, trees.get(table.keyspace)?, &kept));
        }
        Ok(())
    }

    /// Appends a flag for each row of the batch.
    pub(crate) fn tell(self, existed: &mut Vec<bool>) {
        self.of.iter().for_each(|of| existed.extend_from_slice(&of.rows));
    }
}

fn deletes(table: &TableWrites) -> bool {
    match &table.kinds {
        Kinds::Uniform(kind) => *kind == Kind::Delete,
        Kinds::PerRow(kinds) => kinds.contains(&Kind::Delete),
    }
}

/// Looks up each key at `seq`.
fn present(entry: &Entry, view: &SuperVersion, keys: &Keys, seq: SeqNo) -> Result<Vec<bool>> {
    let mut flags = Vec::with_capacity(keys.len());
    if keys.len() == 1 {
        flags.push(is_there(entry, view, keys.get(0).as_ref(), seq)?);
        return Ok(flags);
    }
    let at = ReadAt { snapshot: seq, overlay: None };
    let mut out = Batch::new(&entry.info.shape);
    view.get_many(keys, at, Projection::COUNT, &mut flags, &mut out).map_err(tree_error)?;
    Ok(flags)
}

fn is_there(entry: &Entry, view: &SuperVersion, key: base::KeyRef<'_>, seq: SeqNo) -> Result<bool> {
    let at = ReadAt { snapshot: seq, overlay: None };
    let mut out = Batch::new(&entry.info.shape);
    view.get(key, at, Projection::COUNT, &mut out).map_err(tree_error)
}
