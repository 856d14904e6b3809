//! Transactions: a snapshot, an overlay of uncommitted writes, and the ranges that were read.
//!
//! Created by `Kv::begin`. Reads see the snapshot and the overlay; `commit` hands both writes and
//! read ranges to `commit.rs`, which checks for conflicts.
//!
//! # Why the overlay is made of memtables
//! A read in a transaction is then the same merge as every read, with one more source on top.
//! Visibility has one implementation.

use crate::commit::Validation;
use crate::inner::Inner;
use crate::normalise::normalise;
use crate::reader::{At, Held, closed, read_through};
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

/// A first write of at most this many rows becomes a memtable only when it is read: most
/// transactions write once and commit.
const ONCE_ROWS_MAX: usize = 64;

/// Uncommitted writes of one keyspace.
enum Overlay {
    /// The only write so far, in key order, and its number. Nobody has read it.
    Once(TableWrites, u64),
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
            Ok(place) => add(self.of[place].1.readable(shape), table, number, shape),
            Err(place) => {
                let overlay = if table.rows.rows <= ONCE_ROWS_MAX {
                    Overlay::Once(normalise(table, shape).into_owned(), number)
                } else {
                    let memtable = Arc::new(Memtable::new(shape));
                    add(&memtable, table, number, shape);
                    Overlay::Read(memtable)
                };
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
            Overlay::Once(_, written) => *written <= number,
            Overlay::Read(memtable) => {
                if memtable.seq_max() > number {
                    // Replaced, not changed: running reads still hold the old memtable.
                    *memtable = Arc::new(memtable.up_to(number));
                }
                !memtable.is_empty()
            }
        });
    }
}

/// Adds a write to a memtable; its ranges get the number before the rows'.
fn add(memtable: &Memtable, table: &TableWrites, number: u64, shape: &Shape) {
    for range in &table.delete_ranges {
        memtable.delete_range(range.clone(), number - 1);
    }
    if table.rows.rows > 0 {
        let table = normalise(table, shape);
        crate::convert::with_kinds(&table.kinds, |kinds| {
            memtable.insert(&table.rows, kinds, number);
        });
    }
}

impl Overlay {
    /// The writes as a memtable; a write that is not in one yet goes there now.
    fn readable(&mut self, shape: &Shape) -> &Arc<Memtable> {
        if let Self::Once(table, number) = self {
            let memtable = Arc::new(Memtable::new(shape));
            add(&memtable, table, *number, shape);
            *self = Self::Read(memtable);
        }
        match self {
            Self::Read(memtable) => memtable,
            Self::Once(..) => unreachable!("the write was just put into a memtable"),
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Once(table, _) => crate::commit::bytes(table),
            Self::Read(memtable) => memtable.bytes(),
        }
    }

    /// All writes, each key once, in key order.
    fn into_writes(self, keyspace: KeyspaceId) -> TableWrites {
        match self {
            Self::Once(table, _) => table,
            Self::Read(memtable) => {
                let (rows, kinds) = memtable.fold();
                let kinds = kinds.into_iter().filter_map(Kind::from_u8).collect();
                let delete_ranges = memtable.deleted_ranges();
                TableWrites { keyspace, kinds: Kinds::PerRow(kinds), rows, delete_ranges }
            }
        }
    }
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
        Ok(match self.entry(keyspace)?.info.shape.key {
            base::KeyShape::Words(_) => KeyRange::all_words(),
            base::KeyShape::Bytes => KeyRange::all_bytes(),
        })
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
            let table = overlay.into_writes(keyspace);
            debug_assert!(matches!(
                normalise(&table, &self.entry(keyspace)?.info.shape),
                Cow::Borrowed(_)
            ));
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
        SeqNo(self.held.seq)
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
            return Ok(SeqNo(self.held.seq));
        }
        let reads = self.reads.read();
        let validation = Validation { since: self.held.seq, reads: &reads };
        self.held.inner.commit(&batch, Some(&validation), None)
    }
}
