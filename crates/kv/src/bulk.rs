//! Bulk load: writes tables directly, past log and memtables, and makes them visible by one
//! manifest edit.
//!
//! # Invariants
//! 1. Until the edit is in the manifest, it names none of the tables: a crash leaves only files
//!    that the next opening removes.
//! 2. The tables carry no sequence numbers; the manifest gives them one for all (`global_seq`), so
//!    a snapshot from before the load does not see them.
//! 3. Memtables are flushed before the tables are installed. Their older rows would otherwise
//!    shadow the loaded ones.
//! 4. Tables go to the bottom level where no table of any level and no compaction's output can
//!    overlap with them (`merging.rs`). Elsewhere they are the newest run of level 0.

use crate::convert::tree_error;
use crate::inner::Inner;
use base::mark::{Mark, hit};
use base::{KeyspaceId, SeqNo};
use env::sync::atomic::{AtomicBool, Ordering};
use lsm::manifest::VersionEdit;
use lsm::rows::Rows;
use lsm::run_writer::RunWriter;
use lsm::table::TableMeta;
use lsm::tree::Tree;
use lsm::version::{AddedTable, LEVEL_MAX, TreeEdit};
use std::sync::Arc;
use store::{BulkLoad, BulkWritten, Error, ErrorKind, Result, SortedRows};

/// Tables of a load go to the bottom level only if they have on average at least this fraction of a
/// full table's bytes.
const LEAST_SHARE: u64 = 16;

/// Most rows taken from a source at once.
const ROWS_A_STEP: usize = 16 << 10;
/// A step ends after this many bytes of strings.
const BYTES_A_STEP: usize = 4 << 20;

/// A bulk load in progress.
pub(crate) struct KvBulk {
    inner: Arc<Inner>,
    written: Vec<(KeyspaceId, Vec<TableMeta>)>,
    /// Whether a write failed, so that rows are missing.
    failed: bool,
}

impl KvBulk {
    pub(crate) fn new(inner: &Arc<Inner>) -> Result<Self> {
        inner.check_writable()?;
        Ok(Self { inner: Arc::clone(inner), written: Vec::new(), failed: false })
    }

    fn remove_files(&mut self) {
        let inner = Arc::clone(&self.inner);
        let _loading = inner.loading.read();
        if inner.closing.load(Ordering::Acquire) {
            return; // the next opening removes them, and may reuse their ids
        }
        for (_, tables) in self.written.drain(..) {
            for table in tables {
                // Best effort: the next opening removes tables that the manifest does not name.
                let _ = inner.context.discard_table(&table);
            }
        }
    }
}

impl Drop for KvBulk {
    fn drop(&mut self) {
        // A forked child has a copy of a load that continues in its parent.
        if self.inner.owner.is_here() {
            self.remove_files();
        }
    }
}

impl BulkLoad for KvBulk {
    fn write(
        &mut self,
        keyspace: KeyspaceId,
        partitions: Vec<Box<dyn SortedRows>>,
    ) -> Result<BulkWritten> {
        if self.written.iter().any(|(id, _)| *id == keyspace) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("keyspace {} was written already in this load", keyspace.0),
            ));
        }
        let inner = Arc::clone(&self.inner);
        let _loading = inner.loading.read();
        inner.check_writable()?;
        let trees = self.inner.trees.load_full();
        let entry = trees.get(keyspace)?;
        let bottom = entry.tree.is_empty_of_tables();
        let shape = entry.info.shape.clone();
        let context = Arc::clone(&self.inner.context);
        // A failed partition stops the others at their next step.
        let stop = Arc::new(AtomicBool::new(false));
        let closing = Arc::clone(&inner.closing);
        let results = env::parallel(&*self.inner.env, partitions, move |mut rows| {
            let result = write_partition(&context, &shape, bottom, &mut *rows, &[&stop, &closing]);
            if result.is_err() {
                stop.store(true, Ordering::Relaxed);
            }
            result
        });
        let mut tables = Vec::new();
        let mut failed: Option<Error> = None;
        for result in results {
            match result {
                Ok(more) => tables.extend(more),
                // Reports the first cause, not the cancellations that followed from it.
                Err(error) => match &failed {
                    Some(first) if first.kind() != ErrorKind::Cancelled => {}
                    _ => failed = Some(error),
                },
            }
        }
        let written = BulkWritten {
            rows: tables.iter().map(|table| table.summary.rows).sum(),
            bytes: tables.iter().map(|table| table.summary.bytes).sum(),
        };
        self.written.push((keyspace, tables));
        self.failed |= failed.is_some();
        failed.map_or(Ok(written), Err)
    }

    fn commit(mut self: Box<Self>) -> Result<SeqNo> {
        let inner = Arc::clone(&self.inner);
        inner.check_writable()?;
        if self.failed {
            let what = "a part of the load failed, so it cannot be committed";
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        for (keyspace, tables) in &self.written {
            check_order(*keyspace, tables)?;
        }
        let _maintenance = inner.maintenance.lock();
        // The database may have been closed while this waited: a write to closed files would fail
        // and poison it.
        inner.check_writable()?;
        inner.flush_sealed()?;
        // No commit may come between here and the publication: it would shadow rows of the load
        // that are newer. The price is a flush of the memtables, once per load.
        let mut writer = inner.writer.lock();
        // A commit may have sealed a generation meanwhile.
        inner.flush_sealed_with(&mut writer)?;
        inner.seal(&mut writer)?;
        inner.flush_sealed_with(&mut writer)?;
        let seq = writer.last_seq.next();
        let trees = inner.trees.load_full();
        let merging = inner.merging.lock();
        let mut edit = VersionEdit { last_seq: Some(seq), ..VersionEdit::default() };
        for (keyspace, tables) in &mut self.written {
            let tree = &trees.get(*keyspace)?.tree;
            let is_apart = || merging.iter().all(|merging| merging.is_apart(*keyspace, tables));
            let table_bytes = inner.context.options.table_bytes;
            let (level, run) = place(tree, tables, table_bytes, is_apart);
            let mut change = TreeEdit::default();
            for meta in tables {
                meta.global_seq = seq;
                change.added.push(AddedTable { level, run, meta: meta.clone() });
            }
            edit.trees.push((*keyspace, change));
        }
        inner.sync_table_folders().map_err(|error| inner.poisoned_by(error))?;
        edit.next_table_id = Some(inner.context.next_table_id());
        // The manifest owns the files from now on, also where the append fails: then it is unknown
        // whether the edit is on disk. If it is not, the next opening removes the files.
        self.written.clear();
        inner.log_edit(&edit)?;
        let newest = inner.snapshots.visible();
        for (keyspace, change) in &edit.trees {
            let tree = &trees.get(*keyspace)?.tree;
            tree.install(change, &[], newest).map_err(|error| inner.poisoned_by(error))?;
        }
        drop(merging);
        writer.last_seq = seq;
        inner.snapshots.publish(seq);
        drop(writer);
        inner.after_install();
        drop(_maintenance);
        inner.queue_compaction();
        Ok(seq)
    }
}

/// Level and run for the tables of a load (invariant 4). `is_apart`: no compaction's output
/// overlaps with them.
fn place(
    tree: &Tree,
    tables: &[TableMeta],
    table_bytes: u64,
    is_apart: impl FnOnce() -> bool,
) -> (u8, u64) {
    if tree.is_empty_of_tables() {
        hit(Mark::BulkAtBottom);
        return (LEVEL_MAX as u8, 0);
    }
    let is_free =
        |table: &TableMeta| !tree.reaches_into(&table.summary.first_key, &table.summary.last_key);
    // Short tables in the bottom level would stay forever if nothing merges them.
    let bytes: u64 = tables.iter().map(|table| table.summary.bytes).sum();
    let is_long = bytes >= tables.len() as u64 * (table_bytes / LEAST_SHARE);
    if is_long && is_apart() && tables.iter().all(is_free) {
        hit(Mark::BulkBeside);
        (LEVEL_MAX as u8, 0)
    } else {
        hit(Mark::BulkOnTop);
        (0, tree.next_run())
    }
}

/// Fails where partitions overlap: a manifest with such tables would not open.
fn check_order(keyspace: KeyspaceId, tables: &[TableMeta]) -> Result<()> {
    let mut sorted: Vec<_> = tables.iter().map(|table| &table.summary).collect();
    sorted.sort_by(|a, b| a.first_key.cmp(&b.first_key));
    match sorted.windows(2).find(|pair| pair[0].last_key >= pair[1].first_key) {
        None => Ok(()),
        Some(_) => Err(Error::new(
            ErrorKind::InvalidInput,
            format!("partitions loaded into keyspace {} overlap", keyspace.0),
        )),
    }
}

fn write_partition(
    context: &Arc<lsm::context::Context>,
    shape: &base::Shape,
    bottom: bool,
    source: &mut dyn SortedRows,
    stop: &[&AtomicBool],
) -> Result<Vec<TableMeta>> {
    let mut out = RunWriter::new(context, shape, bottom, SeqNo::ZERO);
    let mut batch = base::Batch::new(shape);
    let mut rows = Rows::new(shape);
    loop {
        if stop.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
        }
        batch.clear();
        while batch.rows < ROWS_A_STEP
            && string_bytes(&batch) < BYTES_A_STEP
            && source.next_rows(&mut batch)?
        {}
        if batch.rows == 0 {
            break;
        }
        std::mem::swap(&mut rows.keys, &mut batch.keys);
        std::mem::swap(&mut rows.values, &mut batch.values);
        let count = batch.rows;
        out.add(&rows, 0..count).map_err(tree_error)?;
        std::mem::swap(&mut rows.keys, &mut batch.keys);
        std::mem::swap(&mut rows.values, &mut batch.values);
    }
    let metas = out.finish().map_err(tree_error)?;
    lsm::context::count_written(&context.written.loaded, &metas);
    Ok(metas)
}

/// Bytes of the byte strings in the values.
fn string_bytes(batch: &base::Batch) -> usize {
    batch.values.iter().filter_map(base::Column::as_bytes).map(|column| column.heap.len()).sum()
}
