//! The writes of a transaction: one change for each key, on top of deleted ranges.

use crate::cell::Change;
use crate::error::invalid;
use crate::key::{Prefix, Span, contains};
use crate::meta::Space;
use base::{ColumnShape, KeyspaceId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::ThreadId;
use store::{Error, ErrorKind, Result, WriteBatch};

/// Bytes of memory of a change besides its row and key, about.
const CHANGE_BYTES: usize = 100;

/// How to undo a step.
#[derive(Clone, Debug)]
enum Undo {
    /// The change that the key had.
    Change(Vec<u8>, Option<Change>),
    /// The last deleted range is new.
    Range,
}

/// Finds a keyspace by its id.
pub(crate) type FindSpace<'a> = &'a dyn Fn(KeyspaceId) -> Result<Arc<Space>>;

/// Uncommitted writes. Keys are encoded, so those of all keyspaces are in one map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    /// Deleted ranges; `changes` apply on top of them.
    pub(crate) deleted: Vec<Span>,
    pub(crate) changes: BTreeMap<Vec<u8>, Change>,
    /// The keyspaces written to.
    pub(crate) spaces: BTreeMap<Prefix, Arc<Space>>,
    /// Bytes of memory, about.
    bytes: usize,
    /// Steps since the first savepoint, with the thread that made each.
    undo: Option<Vec<(ThreadId, Undo)>>,
    /// A thread undid what another wrote.
    pub(crate) undone_by_another: bool,
}

impl Overlay {
    pub(crate) fn is_empty(&self) -> bool {
        self.deleted.is_empty() && self.changes.is_empty()
    }

    /// Whether a deleted range contains the key. It may have been written again since.
    pub(crate) fn is_deleted(&self, key: &[u8]) -> bool {
        self.deleted.iter().any(|span| contains(span, key))
    }

    /// Adds a batch: for each keyspace the ranges first, then the rows in order.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if it then takes more than `bytes_max`, or if a sum of the batch does
    /// not fit; [`ErrorKind::InvalidInput`] for an unknown keyspace. Nothing is added then.
    pub(crate) fn add(
        &mut self,
        find: FindSpace<'_>,
        batch: &WriteBatch,
        bytes_max: u64,
    ) -> Result<()> {
        check_batch(find, batch)?;
        let bytes: usize = batch
            .tables
            .iter()
            .map(|table| {
                let columns = 8 * (table.rows.values.len() + 1) * 4;
                table.rows.rows * (CHANGE_BYTES + columns) + table.rows.heap_bytes()
            })
            .sum();
        if (self.bytes + bytes) as u64 > bytes_max {
            let what = format!("the writes of the transaction take more than {bytes_max} bytes");
            let hint = "commit more often, or raise the memory limit";
            return Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")));
        }
        self.add_checked(find, batch)
    }

    fn add_checked(&mut self, find: FindSpace<'_>, batch: &WriteBatch) -> Result<()> {
        for table in &batch.tables {
            let space = find(table.keyspace)?;
            self.spaces.insert(space.prefix, Arc::clone(&space));
            for range in &table.delete_ranges {
                self.delete(space.prefix.span(range));
            }
            for i in 0..table.rows.rows {
                let key = space.prefix.key(table.rows.keys.get(i).as_ref());
                let newer = Change::new(table.kinds.get(i), &table.rows, i);
                let shape = &space.info.shape;
                let older = self.changes.get(&key).cloned();
                let change = match &older {
                    Some(older) => older.clone().then(shape, newer),
                    None if self.is_deleted(&key) => Change::Delete.then(shape, newer),
                    None => newer,
                };
                self.set(key, Some(change), older);
            }
        }
        Ok(())
    }

    fn delete(&mut self, span: Span) {
        if span.0 < span.1 {
            let inside: Vec<_> = self
                .changes
                .range(span.0.clone()..span.1.clone())
                .map(|(k, _)| k.clone())
                .collect();
            for key in inside {
                let older = self.changes.get(&key).cloned();
                self.set(key, None, older);
            }
        }
        self.deleted.push(span);
        self.note(Undo::Range);
    }

    fn set(&mut self, key: Vec<u8>, change: Option<Change>, older: Option<Change>) {
        let bytes = |change: &Option<Change>| {
            change.as_ref().map_or(0, |change| change.bytes() + key.len() + CHANGE_BYTES)
        };
        self.bytes = (self.bytes + bytes(&change)).saturating_sub(bytes(&older));
        if self.undo.is_some() {
            self.note(Undo::Change(key.clone(), older));
        }
        match change {
            Some(change) => self.changes.insert(key, change),
            None => self.changes.remove(&key),
        };
    }

    fn note(&mut self, undo: Undo) {
        if let Some(steps) = &mut self.undo {
            steps.push((std::thread::current().id(), undo));
        }
    }

    /// The number of steps so far; later ones can be undone.
    pub(crate) fn savepoint(&mut self) -> u64 {
        self.undo.get_or_insert_default().len() as u64
    }

    pub(crate) fn roll_back_to(&mut self, steps: u64) {
        let Some(mut undo) = self.undo.take() else { return };
        let here = std::thread::current().id();
        while undo.len() as u64 > steps {
            let Some((thread, step)) = undo.pop() else { break };
            self.undone_by_another |= thread != here;
            match step {
                Undo::Range => drop(self.deleted.pop()),
                Undo::Change(key, Some(change)) => drop(self.changes.insert(key, change)),
                Undo::Change(key, None) => drop(self.changes.remove(&key)),
            }
        }
        self.undo = Some(undo);
    }

    /// Fails where the sum of a commit's increments to one key does not fit into a word.
    pub(crate) fn check_sums(&self) -> Result<()> {
        for (key, change) in &self.changes {
            let space = self.spaces.get(&Prefix::of(key));
            if space.is_some_and(|space| change.is_past(&space.info.shape)) {
                let what = "the sum that one commit adds to a counter does not fit into 64 bits";
                return Err(Error::new(ErrorKind::Limit, what));
            }
        }
        Ok(())
    }

    /// The writes to keys of a span, without the undo steps.
    pub(crate) fn part(&self, span: &Span) -> Self {
        let deleted = self.deleted.iter().filter(|one| crate::key::overlap(one, span)).cloned();
        let changes = match span.0 < span.1 {
            true => self.changes.range(span.0.clone()..span.1.clone()),
            false => self.changes.range(Vec::new()..Vec::new()),
        };
        let changes = changes.map(|(key, change)| (key.clone(), change.clone())).collect();
        Self { deleted: deleted.collect(), changes, ..Self::default() }
    }
}

/// Fails for a batch that does not fit the catalog.
fn check_batch(find: FindSpace<'_>, batch: &WriteBatch) -> Result<()> {
    let mut adds = false;
    for table in &batch.tables {
        let shape = &find(table.keyspace)?.info.shape;
        let mut columns = shape.values.iter();
        adds |= columns.any(|column| matches!(column, ColumnShape::Word { merge: Some(_) }));
        let rows = table.rows.rows;
        let fits = table.rows.values.len() == shape.values.len()
            && table.rows.values.iter().all(|column| column.len() == rows)
            && table.rows.keys.len() == rows;
        if !fits {
            return Err(invalid(format!(
                "rows of another shape for keyspace {}",
                table.keyspace.0
            )));
        }
    }
    if !adds {
        return Ok(());
    }
    let mut alone = Overlay::default();
    alone.add_checked(find, batch)?;
    alone.check_sums()
}
