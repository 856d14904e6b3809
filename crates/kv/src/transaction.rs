//! Transactions: a snapshot, an overlay of uncommitted writes, and the ranges that were read.
//!
//! Created by `Kv::begin`. Reads see the snapshot and the overlay; `commit` hands both writes and
//! read ranges to `commit.rs`, which checks for conflicts.
//!
//! # Why the overlay is made of memtables
//! A read in a transaction is then the same merge as every read, with one more source on top.
//! Visibility has one implementation.

use crate::commit::Validation;
use crate::inner::{Inner, closed};
use crate::normalise::normalise;
use crate::reader::{At, Held, read_through};
use crate::trees::Entry;
use base::fault_switch::{Switch, is_on};
use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Kind, Projection, SeqNo, Shape};
use env::sync::RwLock;
use env::sync::atomic::Ordering;
use lsm::memtable::Memtable;
use std::borrow::Cow;
use std::sync::Arc;
use std::thread::ThreadId;
use store::{
    Error, Isolation, Kinds, Read, Result, Savepoint, Scan, TableWrites, Transaction, WriteBatch,
};

/// Fewest rows of a later write to a keyspace that is kept as it is.
const UNREAD_ROWS_MIN: usize = 64;

/// Most writes of one keyspace that are kept as they are.
const UNREAD_MAX: usize = 64;

/// Uncommitted writes of one keyspace.
enum Overlay {
    /// Writes that nobody has read, oldest first, each with its number. They become a memtable only
    /// when they are read: most transactions write and commit. If there are several, they have
    /// neither merges nor deleted ranges, so the last write of a key replaces the others.
    Unread(Vec<(TableWrites, u64)>),
    /// Writes in a memtable, where reads find them.
    Read(Arc<Memtable>),
}

/// Uncommitted writes by keyspace, sorted. A vector: most transactions write to one or two
/// keyspaces, and a map's node would cost more than the writes.
#[derive(Default)]
struct Overlays {
    of: Vec<(KeyspaceId, Overlay)>,
    /// Number of the newest write. Later ones win; a savepoint is the newest number at its
    /// creation.
    newest: u64,
    /// The threads that wrote, in turns, each with the number before its first write.
    writers: Vec<(u64, ThreadId)>,
    /// Whether a rollback by one thread undid writes of another.
    has_lost: bool,
}

impl Overlays {
    /// Index of a keyspace's writes, or where to insert them.
    fn place(&self, keyspace: KeyspaceId) -> std::result::Result<usize, usize> {
        self.of.binary_search_by_key(&keyspace, |(id, _)| *id)
    }

    fn bytes(&self) -> u64 {
        self.of.iter().map(|(_, overlay)| overlay.bytes()).sum()
    }

    /// Remembers the current thread as the writer.
    fn note_writer(&mut self) {
        let now = std::thread::current().id();
        if self.writers.last().is_none_or(|(_, last)| *last != now) {
            self.writers.push((self.newest, now));
        }
    }

    fn add(&mut self, table: &TableWrites, shape: &Shape) {
        // One number for the ranges and the next for the rows, which are newer.
        self.newest += 2;
        let number = self.newest;
        match self.place(table.keyspace) {
            Ok(place) => self.of[place].1.add(table, number, shape),
            Err(place) => {
                let overlay = Overlay::Unread(vec![(table.clone(), number)]);
                self.of.insert(place, (table.keyspace, overlay));
            }
        }
    }

    /// Undoes the writes with larger numbers.
    fn roll_back_to(&mut self, number: u64) {
        if self.newest > number {
            let now = std::thread::current().id();
            // Starts at the thread that was writing at `number`.
            let at = self.writers.partition_point(|(before, _)| *before <= number);
            let undone = &self.writers[at.saturating_sub(1)..];
            self.has_lost |= undone.iter().any(|(_, writer)| *writer != now);
            self.writers.retain(|(before, _)| *before < number);
        }
        self.of.retain_mut(|(_, overlay)| match overlay {
            Overlay::Unread(tables) => {
                tables.retain(|(_, written)| *written <= number);
                !tables.is_empty()
            }
            Overlay::Read(memtable) => {
                if memtable.seq_max() > SeqNo(number) {
                    // Replaced, not changed: running reads still hold the old memtable.
                    *memtable = Arc::new(memtable.up_to(SeqNo(number)));
                }
                !memtable.is_empty()
            }
        });
    }
}

/// Adds a write to a memtable; its ranges get the number before the rows'.
fn add(memtable: &Memtable, table: &TableWrites, number: u64, shape: &Shape) {
    for range in &table.delete_ranges {
        memtable.delete_range(range.clone(), SeqNo(number - 1));
    }
    if table.rows.rows > 0 {
        let table = normalise(table, shape);
        crate::convert::with_kinds(&table.kinds, |kinds| {
            memtable.insert(&table.rows, kinds, SeqNo(number));
        });
    }
}

/// Whether the last write of a key in this table replaces those of earlier tables.
fn replaces(table: &TableWrites) -> bool {
    table.delete_ranges.is_empty() && !table.kinds.contains(Kind::Merge)
}

impl Overlay {
    fn add(&mut self, table: &TableWrites, number: u64, shape: &Shape) {
        match self {
            Self::Unread(tables)
                if table.rows.rows >= UNREAD_ROWS_MIN
                    && tables.len() < UNREAD_MAX
                    && replaces(table)
                    // Of several, each replaces.
                    && tables.first().is_some_and(|(table, _)| replaces(table)) =>
            {
                tables.push((table.clone(), number));
            }
            _ => add(self.readable(shape), table, number, shape),
        }
    }

    /// The writes as a memtable; writes that are not in one yet go there now.
    fn readable(&mut self, shape: &Shape) -> &Arc<Memtable> {
        if let Self::Unread(tables) = self {
            let memtable = Arc::new(Memtable::new(shape));
            tables.iter().for_each(|(table, number)| add(&memtable, table, *number, shape));
            *self = Self::Read(memtable);
        }
        match self {
            Self::Read(memtable) => memtable,
            Self::Unread(..) => unreachable!("the writes were just put into a memtable"),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Unread(tables) => {
                tables.iter().map(|(table, _)| crate::commit::bytes(table)).sum()
            }
            Self::Read(memtable) => memtable.bytes(),
        }
    }

    /// All writes, each key once, in key order.
    fn into_writes(self, keyspace: KeyspaceId, shape: &Shape) -> TableWrites {
        match self {
            Self::Unread(tables) => in_key_order(joined(tables), shape),
            Self::Read(memtable) => {
                let (rows, kinds) = memtable.fold();
                let kinds = kinds.into_iter().filter_map(Kind::from_u8).collect();
                let delete_ranges = memtable.deleted_ranges();
                TableWrites { keyspace, kinds: Kinds::PerRow(kinds), rows, delete_ranges }
            }
        }
    }
}

/// The writes of several tables as one, in their order. There is at least one.
fn joined(tables: Vec<(TableWrites, u64)>) -> TableWrites {
    let mut tables = tables.into_iter().map(|(table, _)| table);
    let mut all = tables.next().expect("an overlay has writes");
    for table in tables {
        all.kinds.append(all.rows.rows, &table.kinds, table.rows.rows);
        all.rows.append(&table.rows);
    }
    all
}

fn in_key_order(table: TableWrites, shape: &Shape) -> TableWrites {
    if let Cow::Owned(sorted) = normalise(&table, shape) {
        return sorted;
    }
    table
}

/// A transaction of the native engine; the module's header says how it reads and commits.
pub(crate) struct KvTransaction {
    held: Held,
    isolation: Isolation,
    overlays: RwLock<Overlays>,
    reads: RwLock<Vec<(KeyspaceId, KeyRange)>>,
}

impl KvTransaction {
    pub(crate) fn new(inner: &Arc<Inner>, isolation: Isolation) -> Self {
        Self {
            held: Held::new(inner),
            isolation,
            overlays: RwLock::default(),
            reads: RwLock::default(),
        }
    }

    fn with<R>(&self, keyspace: KeyspaceId, f: impl FnOnce(&At<'_>) -> Result<R>) -> Result<R> {
        self.held.inner.check_process()?;
        if self.held.inner.closing.load(Ordering::Relaxed) {
            return Err(closed());
        }
        let entry = &self.entry(keyspace)?;
        let overlay = self.overlay(keyspace, &entry.info.shape);
        let seq = self.held.moment();
        let view = entry.tree.view();
        let inner = &self.held.inner;
        f(&At { inner, view: &view, entry, seq, overlay: overlay.as_ref() })
    }

    /// The uncommitted writes of a keyspace as a memtable; `None` where there are none.
    fn overlay(&self, keyspace: KeyspaceId, shape: &Shape) -> Option<Arc<Memtable>> {
        {
            let overlays = self.overlays.read();
            if let Overlay::Read(memtable) = &overlays.of[overlays.place(keyspace).ok()?].1 {
                return Some(Arc::clone(memtable));
            }
        }
        let mut overlays = self.overlays.write();
        let place = overlays.place(keyspace).ok()?;
        Some(Arc::clone(overlays.of[place].1.readable(shape)))
    }

    /// A keyspace of the snapshot, or one created since: the latter was empty then, and may be
    /// written right away.
    fn entry(&self, keyspace: KeyspaceId) -> Result<Arc<Entry>> {
        match self.held.trees.get(keyspace) {
            Ok(entry) => Ok(Arc::clone(entry)),
            Err(_) => self.held.inner.trees.load().get(keyspace).map(Arc::clone),
        }
    }

    fn note(&self, keyspace: KeyspaceId, range: impl FnOnce() -> KeyRange) {
        if self.isolation == Isolation::Serializable && self.held.inner.owner.is_here() {
            self.reads.write().push((keyspace, range()));
        }
    }

    fn all(&self, keyspace: KeyspaceId) -> Result<KeyRange> {
        Ok(KeyRange::all(&self.entry(keyspace)?.info.shape.key))
    }

    /// Removes and returns all writes, each key once, in key order.
    ///
    /// # Errors
    /// [`store::ErrorKind::Conflict`] where one thread rolled back writes of another.
    fn take_batch(&self) -> Result<WriteBatch> {
        let Overlays { of: overlays, has_lost, .. } = std::mem::take(&mut *self.overlays.write());
        if has_lost {
            return Err(Error::undone_by_another());
        }
        let mut batch = WriteBatch { tables: Vec::with_capacity(overlays.len()) };
        for (keyspace, overlay) in overlays {
            let shape = &self.entry(keyspace)?.info.shape;
            let table = overlay.into_writes(keyspace, shape);
            debug_assert!(matches!(normalise(&table, shape), Cow::Borrowed(_)));
            batch.tables.push(table);
        }
        Ok(batch)
    }
}

/// Reads that are not recorded for validation.
struct Unrecorded<'a>(&'a KvTransaction);

impl Unrecorded<'_> {
    fn with<R>(&self, keyspace: KeyspaceId, f: impl FnOnce(&At<'_>) -> Result<R>) -> Result<R> {
        self.0.with(keyspace, f)
    }
}
read_through!(Unrecorded<'_>, with);

impl Read for KvTransaction {
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        self.note(keyspace, || KeyRange::of_key(key));
        Unrecorded(self).get(keyspace, key, projection, out)
    }

    fn get_many(
        &self,
        keyspace: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        for i in 0..if self.isolation == Isolation::Serializable { keys.len() } else { 0 } {
            self.note(keyspace, || KeyRange::of_key(keys.get(i).as_ref()));
        }
        Unrecorded(self).get_many(keyspace, keys, projection, present, out)
    }

    fn scan_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(keyspace, || range.clone());
        Unrecorded(self).scan_into(keyspace, range, projection, limit, out)
    }

    fn scan_some_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        bytes_max: usize,
        out: &mut Batch,
    ) -> Result<bool> {
        self.note(keyspace, || range.clone());
        Unrecorded(self).scan_some_into(keyspace, range, projection, limit, bytes_max, out)
    }

    fn scan_back_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(keyspace, || range.clone());
        Unrecorded(self).scan_back_into(keyspace, range, projection, limit, out)
    }

    fn prefix_many(
        &self,
        keyspace: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        for &word in first_words {
            self.note(keyspace, || KeyRange::prefix_words(&[word]));
        }
        Unrecorded(self).prefix_many(keyspace, first_words, projection, offsets, out)
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
    ) -> Result<Box<dyn Scan>> {
        self.note(keyspace, || range.clone());
        Unrecorded(self).scan(keyspace, range, projection)
    }

    fn scan_filtered(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
        filter: &Arc<base::BlockFilter>,
    ) -> Result<Box<dyn Scan>> {
        self.note(keyspace, || range.clone());
        Unrecorded(self).scan_filtered(keyspace, range, projection, filter)
    }

    fn count(&self, keyspace: KeyspaceId) -> Result<u64> {
        let all = self.all(keyspace)?;
        self.note(keyspace, || all);
        Unrecorded(self).count(keyspace)
    }

    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<store::Estimate> {
        Unrecorded(self).estimate(keyspace, range)
    }

    fn first_word_rows_max(&self, keyspace: KeyspaceId) -> Result<u64> {
        Unrecorded(self).first_word_rows_max(keyspace)
    }

    fn sample_into(
        &self,
        keyspace: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let all = self.all(keyspace)?;
        self.note(keyspace, || all);
        Unrecorded(self).sample_into(keyspace, n, random, projection, out)
    }

    fn first_words(&self, keyspace: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        let all = self.all(keyspace)?;
        self.note(keyspace, || all);
        Unrecorded(self).first_words(keyspace, visit)
    }
}

impl Transaction for KvTransaction {
    fn seq(&self) -> SeqNo {
        self.held.seq
    }

    fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.held.inner.check_writable()?;
        if is_on(Switch::ReadUncommitted) {
            return self.held.inner.commit(batch, None, None).map(drop);
        }
        // Checks come first: a refused batch leaves no writes behind and takes no memory.
        let mut more = 0;
        for table in &batch.tables {
            let entry = self.entry(table.keyspace)?;
            crate::commit::check_shape(table, &entry)?;
            if crate::commit::may_pass(table, &entry) {
                crate::commit::check_sums(&normalise(table, &entry.info.shape), &entry)?;
            }
            more += crate::commit::bytes(table);
        }
        let mut overlays = self.overlays.write();
        self.held.inner.check_bytes(overlays.bytes() + more, &batch.tables)?;
        overlays.note_writer();
        for table in &batch.tables {
            overlays.add(table, &self.entry(table.keyspace)?.info.shape);
        }
        Ok(())
    }

    fn savepoint(&self) -> Savepoint {
        match self.held.inner.owner.is_here() {
            true => Savepoint(self.overlays.read().newest),
            false => Savepoint(0),
        }
    }

    fn roll_back_to(&self, savepoint: Savepoint) {
        if self.held.inner.owner.is_here() {
            self.overlays.write().roll_back_to(savepoint.0);
        }
    }

    fn is_idle(&self) -> bool {
        self.held.inner.owner.is_here()
            && self.overlays.read().of.is_empty()
            && self.reads.read().is_empty()
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        self.held.inner.check_process()?;
        let batch = self.take_batch()?;
        if batch.is_empty() {
            return Ok(self.held.seq);
        }
        let reads = self.reads.read();
        let validation = Validation { since: self.held.seq, reads: &reads };
        self.held.inner.commit(&batch, Some(&validation), None)
    }
}
