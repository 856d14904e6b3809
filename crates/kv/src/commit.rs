//! The commit path: check, append to the log, insert into memtables, publish.
//!
//! `Store::write` and transactions call it.
//!
//! # Why there is no writer queue
//! Everything under the writer lock takes about a microsecond: the log is mapped memory and the
//! memtables are memory. Only the sync is slow, and it happens outside the lock. While one thread
//! syncs, others append; the next one to get the sync lock syncs for all of them (group commit),
//! without handing batches between threads. Lookups that a caller asks for are made before the lock
//! is taken (`existence.rs`).

use crate::inner::{Inner, Writer};
use crate::maintenance::ToldOfPanic;
use crate::normalise::normalise;
use crate::record;
use crate::trees::{Entry, Trees};
use base::fault_switch::{Switch, is_on, pause};
use base::mark::{Mark, hit};
use base::{Batch, KeyRange, KeyspaceId, Kind, SeqNo};
use env::sync::atomic::Ordering;
use std::borrow::Cow;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Kinds, Result, TableWrites, WriteBatch};

/// Most bytes of one commit in the log: the tables of a record carry their lengths in 32 bits.
const COMMIT_BYTES_MAX: u64 = 1 << 30;

/// Bytes that a write without a transaction may always take, whatever the limit: a chunk of a long
/// value, or some thousand buffered increments.
const FREE_BYTES: u64 = 1 << 20;

/// Longest record whose memory the writer keeps for the next one. A longer one costs more to write
/// than to allocate.
const PAYLOAD_KEPT_BYTES_MAX: usize = 4 << 20;

/// Attempts to take the writer's lock, some ten nanoseconds each. Most commits end within all of
/// them together.
const COMMIT_LOOKS: usize = 500;

/// The snapshot and the read ranges against which a transaction's commit is validated.
pub(crate) struct Validation<'a> {
    /// The snapshot it read.
    pub(crate) since: SeqNo,
    /// Ranges it read, under `serializable`.
    pub(crate) reads: &'a [(KeyspaceId, KeyRange)],
}

impl Inner {
    /// Commits a batch; see [`store::Store::write`].
    pub(crate) fn commit(
        self: &Arc<Self>,
        batch: &WriteBatch,
        validation: Option<&Validation<'_>>,
        existed: Option<&mut Vec<bool>>,
    ) -> Result<SeqNo> {
        let seq = self.commit_unsynced(batch, validation, existed)?;
        match batch.is_empty() {
            true => Ok(seq),
            false => self.acknowledge(seq),
        }
    }

    /// As [`Inner::commit`] without its sync. The commit becomes durable with the next sync, which
    /// covers all older records.
    pub(crate) fn commit_unsynced(
        self: &Arc<Self>,
        batch: &WriteBatch,
        validation: Option<&Validation<'_>>,
        existed: Option<&mut Vec<bool>>,
    ) -> Result<SeqNo> {
        self.check_writable()?;
        if batch.is_empty() {
            return Ok(self.snapshots.visible());
        }
        if validation.is_none() {
            // A transaction was checked at each write.
            let bytes = batch.tables.iter().map(bytes).sum();
            if bytes > FREE_BYTES {
                self.check_bytes(bytes, &batch.tables)?;
            }
        }
        self.slow_down();
        self.wait_for_room()?;
        let looked_up = match existed {
            Some(existed) => Some((self.look_up(batch)?, existed)),
            None => None,
        };
        let mut guard = self.writer.lock();
        // Checked again under the lock: the store may have been closed meanwhile.
        self.check_writable()?;
        let writer = &mut *guard;
        let trees = self.trees.load();
        let mut tables = checked(&trees, batch)?;
        if let Some(validation) = validation
            && let Err(conflict) = validate(&trees, &tables, validation, writer.last_seq)
        {
            // A retry begins at a snapshot that includes the conflicting commit only once that is
            // synced and published. Returned earlier, the conflict would repeat.
            let seq = writer.last_seq;
            drop(guard);
            self.acknowledge(seq)?;
            return Err(conflict);
        }
        if let Some((mut existence, existed)) = looked_up {
            existence.correct(&trees, batch, &tables, writer.last_seq)?;
            existence.drop_absent(&trees, &mut tables)?;
            existence.tell(existed);
            if tables.iter().all(|t| t.rows.rows == 0 && t.delete_ranges.is_empty()) {
                // The flags may depend on commits that are not synced yet; the caller waits for
                // their sync.
                return Ok(writer.last_seq);
            }
        }
        let seq = writer.last_seq.next();
        let _told = ToldOfPanic::of(self, "a commit");
        self.apply(writer, &trees, &tables, seq)?;
        Ok(seq)
    }

    /// Fails where one commit's writes would exceed the memory limit; `newest` are the last of
    /// them.
    pub(crate) fn check_bytes(&self, bytes: u64, newest: &[TableWrites]) -> Result<()> {
        let limit = self.options.transaction_bytes_max;
        // Deletes that clean up after a write that had no room need a little more.
        let slack = if newest.iter().all(only_deletes) { limit / 8 } else { 0 };
        if bytes <= limit.saturating_add(slack) {
            return Ok(());
        }
        let what = format!("what one commit writes would take {bytes} bytes, the limit is {limit}");
        let hint = "commit in smaller steps, or import in bulk";
        Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")))
    }

    /// Returns `seq` once all commits up to it are as durable as the options promise.
    fn acknowledge(&self, seq: SeqNo) -> Result<SeqNo> {
        if self.options.durability == Durability::Sync {
            self.sync_to(seq)?;
        }
        Ok(seq)
    }

    /// Appends to the log and inserts into the memtables. The commit cannot be undone after the
    /// append.
    pub(crate) fn apply(
        self: &Arc<Self>,
        writer: &mut Writer,
        trees: &Trees,
        tables: &[Cow<'_, TableWrites>],
        seq: SeqNo,
    ) -> Result<()> {
        // A non-blocking call must fail before this point: it is retried in full, and nothing below
        // may happen twice.
        if !env::wait_from_here() {
            let what = "a file would have to be read, and was not to be waited for";
            return Err(Error::new(ErrorKind::Io, what));
        }
        if is_on(Switch::PublishBeforeLog) {
            insert(trees, tables, seq)?;
            self.snapshots.publish(seq);
            pause();
        }
        let logged_bytes = self.log(writer, tables, seq)?;
        if is_on(Switch::HalfCommitVisible) {
            self.snapshots.publish(seq);
            insert_by_halves(trees, tables, seq)?;
        }
        let rows = if is_on(Switch::PublishBeforeLog) { 0 } else { insert(trees, tables, seq)? };
        writer.last_seq = seq;
        if self.options.durability != Durability::Sync {
            self.snapshots.publish(seq);
        }
        // An estimate: about a hundred bytes a row, plus the values, whose bytes are those of the
        // log's record where there is one. The exact sum is computed only when the estimate reaches
        // the limit.
        let added = logged_bytes.unwrap_or_else(|| value_bytes(tables)) + 128 * rows;
        let active = self.active_bytes.fetch_add(added, Ordering::Relaxed) + added;
        if self.sealed.load(Ordering::Acquire) {
            self.throttle.owe(added, active, self.options.memtable_bytes);
        } else if active >= self.options.memtable_bytes {
            let true_bytes: u64 = trees.iter().map(|entry| entry.tree.active_bytes()).sum();
            self.active_bytes.store(true_bytes, Ordering::Relaxed);
            if true_bytes >= self.options.memtable_bytes && self.reserve.may_flush(true_bytes) {
                self.seal(writer)?;
                self.queue_flush();
            }
        }
        Ok(())
    }

    /// Appends a commit to the log and returns the bytes of its record; `None` if there is no log.
    fn log(
        &self,
        writer: &mut Writer,
        tables: &[Cow<'_, TableWrites>],
        seq: SeqNo,
    ) -> Result<Option<u64>> {
        let Some(wal) = &mut writer.wal else { return Ok(None) };
        let mut payload = std::mem::take(&mut writer.payload);
        payload.clear();
        record::encode(tables, &mut payload);
        let bytes = payload.len() as u64;
        if bytes > COMMIT_BYTES_MAX {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "the commit takes {bytes} bytes, the limit is {COMMIT_BYTES_MAX}\n\
                     hint: commit in smaller steps, or import in bulk"
                ),
            ));
        }
        wal.append(&[&seq.0.to_le_bytes(), &payload])
            .map_err(|error| self.poisoned(error.into()))?;
        if payload.capacity() <= PAYLOAD_KEPT_BYTES_MAX {
            writer.payload = payload;
        }
        Ok(Some(bytes))
    }

    /// Returns once the log is synced up to `seq` and published. A thread that waited for another's
    /// sync usually finds its own commit synced too.
    pub(crate) fn sync_to(&self, seq: SeqNo) -> Result<()> {
        let _told = ToldOfPanic::of(self, "a sync");
        let mut synced = self.synced.lock();
        if *synced >= seq {
            hit(Mark::SyncShared);
            return Ok(());
        }
        self.poison.check()?;
        let (file, upto) = {
            let writer = self.writer.lock();
            (writer.wal.as_ref().map(crate::wal::Wal::sync_handle), writer.last_seq)
        };
        if let Some(file) = file {
            if !is_on(Switch::SkipSync) {
                file.sync().map_err(|error| self.poisoned_by_env(error))?;
            }
            // Another sync may have failed meanwhile, and then this one proves nothing (see
            // `poison`).
            self.poison.check()?;
            // Marked before the commit is acknowledged, so that recovery never takes damage to it
            // for a crash.
            if let Some(wal) = &mut self.writer.lock().wal {
                wal.mark().map_err(|error| self.poisoned(error.into()))?;
            }
        }
        *synced = upto;
        self.snapshots.publish(upto);
        Ok(())
    }

    /// Throttles writers that outrun compaction: up to a millisecond a commit where level 0 has too
    /// many runs.
    fn slow_down(&self) {
        let (runs, soft) = (self.level0_runs.load(Ordering::Relaxed), self.level0_soft());
        if runs > soft && self.compaction_error.lock().is_none() {
            hit(Mark::WriterSlowed);
            let delay_us = 50 * ((runs - soft) as u64).min(20);
            self.progress.wait_until_timeout(delay_us, &mut || {
                self.level0_runs.load(Ordering::Relaxed) <= soft
            });
        }
    }

    /// Number of level-0 runs above which writers are throttled.
    fn level0_soft(&self) -> usize {
        3 * self.options.tree.level0_runs
    }

    /// Whether a commit would be neither throttled nor stopped, and the writer's lock is not held
    /// for longer than a commit takes; bulk loads and flushes hold it longer.
    pub(crate) fn commit_would_not_block(&self) -> bool {
        let is_free = |_| {
            std::hint::spin_loop();
            self.writer.try_lock().is_some()
        };
        self.has_room()
            && !self.throttle.is_due()
            && self.level0_runs.load(Ordering::Relaxed) <= self.level0_soft()
            && (0..COMMIT_LOOKS).any(is_free)
    }

    /// Throttles writers that outrun a flush (`throttle.rs`), and stops them while twice the
    /// memtable budget is unflushed.
    pub(crate) fn wait_for_room(self: &Arc<Self>) -> Result<()> {
        let delay_us = self.throttle.due_us();
        if delay_us == 0 && self.has_room() {
            return Ok(());
        }
        let start_us = self.env.monotonic_us();
        let waited = self.wait_for_flush(delay_us);
        self.activity.count_stall(self.env.monotonic_us().saturating_sub(start_us));
        waited
    }

    /// Waits as long as the throttle says, then until there is room.
    fn wait_for_flush(self: &Arc<Self>, delay_us: u64) -> Result<()> {
        if delay_us > 0 {
            hit(Mark::WriterPaced);
            self.progress.wait_until_timeout(delay_us, &mut || {
                !self.sealed.load(Ordering::Acquire) || self.poison.check().is_err()
            });
        }
        if !self.has_room() {
            hit(Mark::WriterStalled);
            // Also if an explicit flush has failed, and waits for descriptors.
            self.queue_flush();
            let waits = || self.flush_waits.lock().is_some();
            self.progress
                .wait_until(&mut || self.has_room() || waits() || self.poison.check().is_err());
            self.poison.check()?;
            if let Some(error) = self.flush_waits.lock().take() {
                // The flush is tried again; the next writer finds room or gets the flush's error.
                self.queue_flush();
                if !self.has_room() {
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Whether less than twice the memtable budget is unflushed.
    pub(crate) fn has_room(&self) -> bool {
        !self.sealed.load(Ordering::Acquire)
            || self.active_bytes.load(Ordering::Relaxed) < self.options.memtable_bytes
    }
}

/// The writes of a batch, normalised. Fails where they do not fit their keyspaces.
fn checked<'b>(trees: &Trees, batch: &'b WriteBatch) -> Result<Vec<Cow<'b, TableWrites>>> {
    let mut tables = Vec::with_capacity(batch.tables.len());
    for table in &batch.tables {
        let entry = trees.get(table.keyspace)?;
        check_shape(table, entry)?;
        let table = normalise(table, &entry.info.shape);
        check_sums(&table, entry)?;
        tables.push(table);
    }
    Ok(tables)
}

/// Inserts a commit into the memtables; returns its number of rows and ranges.
fn insert(trees: &Trees, tables: &[Cow<'_, TableWrites>], seq: SeqNo) -> Result<u64> {
    let mut rows = 0;
    for table in tables {
        let tree = &trees.get(table.keyspace)?.tree;
        for range in &table.delete_ranges {
            tree.delete_range(range.clone(), seq);
            rows += 1;
        }
        if table.rows.rows > 0 {
            crate::convert::insert(tree, table, seq);
            rows += table.rows.rows as u64;
        }
    }
    Ok(rows)
}

/// Bytes of the byte strings in the values.
fn value_bytes(tables: &[Cow<'_, TableWrites>]) -> u64 {
    tables.iter().map(|table| values_bytes(&table.rows)).sum()
}

fn values_bytes(rows: &Batch) -> u64 {
    let strings = rows.values.iter().filter_map(base::Column::as_bytes);
    strings.map(|column| column.heap.len() as u64).sum()
}

/// Approximate memory of a write, in bytes, for the limit.
pub(crate) fn bytes(table: &TableWrites) -> u64 {
    let keys = match &table.rows.keys {
        base::Keys::Words(words) => 8 * words.len() * table.rows.rows,
        base::Keys::Bytes(keys) => keys.heap.len(),
    };
    let parts = table.rows.rows + 2 * table.delete_ranges.len();
    keys as u64 + values_bytes(&table.rows) + 64 * parts as u64
}

/// Whether all rows are deletes.
fn only_deletes(table: &TableWrites) -> bool {
    match &table.kinds {
        Kinds::Uniform(kind) => *kind == Kind::Delete,
        Kinds::PerRow(kinds) => kinds.iter().all(|kind| *kind == Kind::Delete),
    }
}

/// As [`insert`], row by row with pauses for readers: for [`Switch::HalfCommitVisible`].
fn insert_by_halves(trees: &Trees, tables: &[Cow<'_, TableWrites>], seq: SeqNo) -> Result<()> {
    for table in tables {
        let entry = trees.get(table.keyspace)?;
        for i in 0..table.rows.rows {
            crate::convert::insert(&entry.tree, &select(table, entry, &[i]), seq);
            pause();
        }
    }
    Ok(())
}

pub(crate) fn check_shape(table: &TableWrites, entry: &Entry) -> Result<()> {
    let fits = match (&table.rows.keys, entry.info.shape.key) {
        (base::Keys::Words(columns), base::KeyShape::Words(n)) => {
            columns.len() == n as usize && columns.iter().all(|c| c.len() == table.rows.rows)
        }
        (base::Keys::Bytes(column), base::KeyShape::Bytes) => column.len() == table.rows.rows,
        _ => false,
    };
    let kinds = match &table.kinds {
        Kinds::Uniform(_) => true,
        Kinds::PerRow(kinds) => kinds.len() == table.rows.rows,
    };
    let values = table.rows.values.len() == entry.info.shape.values.len()
        && table.rows.values.iter().all(|column| column.len() == table.rows.rows);
    if fits && kinds && values {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!("the rows written to keyspace \"{}\" do not have its shape", entry.info.name),
    ))
}

/// Whether the sum of integer increments in `table`, which may repeat a key, may overflow a word.
pub(crate) fn may_pass(table: &TableWrites, entry: &Entry) -> bool {
    let columns = entry.info.shape.values.iter().zip(&table.rows.values);
    let mut sums = columns.filter_map(|column| match column {
        (
            base::ColumnShape::Word { merge: Some(base::Merge::AddInt) },
            base::Column::Words(sums),
        ) => Some(sums),
        _ => None,
    });
    sums.any(|column| {
        let size = |&word: &u64| u128::from(base::word_to_int(word).unsigned_abs());
        column.words.iter().map(size).sum::<u128>() >= u128::from(i64::MAX.unsigned_abs())
    })
}

/// Refuses a number, or the sum of one key's increments, that does not fit a word. A key has one
/// version in a commit, so the increments cannot be kept as several.
pub(crate) fn check_sums(table: &TableWrites, entry: &Entry) -> Result<()> {
    for (shape, column) in entry.info.shape.values.iter().zip(&table.rows.values) {
        let (base::ColumnShape::Word { merge: Some(merge) }, base::Column::Words(words)) =
            (shape, column)
        else {
            continue;
        };
        // Most have none. Placeholders of deletes and nulls may match, so rows are checked below.
        if !words.words.iter().any(|&word| merge.is_past(word)) {
            continue;
        }
        let is_past = |&row: &usize| {
            table.kinds.get(row) != Kind::Delete
                && words.get(row).is_some_and(|word| merge.is_past(word))
        };
        if let Some(row) = (0..table.rows.rows).find(is_past) {
            let what = format!(
                "the sum that one commit adds to the key {:?} of {:?} is outside of int64 or one of its two ends",
                table.rows.keys.get(row),
                entry.info.name
            );
            let hint = "split the increments into several commits, or count in float64";
            return Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")));
        }
    }
    Ok(())
}

/// First committer wins: fails where a written row, or under `serializable` a read range, has a
/// version newer than the snapshot.
fn validate(
    trees: &Trees,
    tables: &[Cow<'_, TableWrites>],
    validation: &Validation<'_>,
    last_seq: SeqNo,
) -> Result<()> {
    let since = validation.since;
    if last_seq == since {
        return Ok(()); // no commit since the snapshot
    }
    let written = if is_on(Switch::SkipConflictCheck) { &[] } else { tables };
    for table in written {
        let entry = trees.get(table.keyspace)?;
        let view = entry.tree.view();
        for i in 0..table.rows.rows {
            let key = table.rows.keys.get(i);
            let kind = table.kinds.get(i);
            if view.conflicts(key.as_ref(), since, kind).map_err(crate::convert::tree_error)? {
                return Err(conflict(entry));
            }
        }
        for range in &table.delete_ranges {
            if view.changed_in(range, since).map_err(crate::convert::tree_error)? {
                return Err(conflict(entry));
            }
        }
    }
    let read = if is_on(Switch::SkipReadValidation) { &[] } else { validation.reads };
    for (keyspace, range) in read {
        let entry = trees.get(*keyspace)?;
        if entry.tree.view().changed_in(range, since).map_err(crate::convert::tree_error)? {
            hit(Mark::ConflictOfRead);
            return Err(conflict(entry));
        }
    }
    Ok(())
}

fn conflict(entry: &Entry) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "another transaction changed rows of \"{}\" that this one wrote or read\n\
             hint: nothing was written; run the transaction again",
            entry.info.name
        ),
    )
}

/// Copies the rows with these indexes out of `table`.
pub(crate) fn select(table: &TableWrites, entry: &Entry, rows: &[usize]) -> TableWrites {
    let mut out = Batch::new(&entry.info.shape);
    out.rows = rows.len();
    for &i in rows {
        out.keys.push(table.rows.keys.get(i).as_ref());
        for (to, from) in out.values.iter_mut().zip(&table.rows.values) {
            to.push_from(from, i);
        }
    }
    TableWrites {
        keyspace: table.keyspace,
        kinds: Kinds::PerRow(rows.iter().map(|&i| table.kinds.get(i)).collect()),
        rows: out,
        delete_ranges: table.delete_ranges.clone(),
    }
}
