//! Writes rows in key order as tables of a bounded length.
//!
//! # Why one writer for all
//! Flush, compaction and bulk load differ in where rows come from. They share when a table is full,
//! that no key's versions are split, where range tombstones are cut, and that a failure leaves no
//! files. So that is here, once.
//!
//! # Invariants
//! 1. The tables of one writer do not overlap: each has a window of keys, and range tombstones are
//!    cut at the windows' bounds.
//! 2. Until [`RunWriter::finish`] returns, dropping the writer removes every file it made.

use crate::context::Context;
use crate::error::Result;
use crate::rows::{Rows, same_key};
use crate::table::{RangeTombstone, SharedPlace, SharedWriter, TableBuilder, TableMeta};
use base::{Column, Key, KeyRange, Keys, SeqNo, Shape, TableId};
use env::AppendFile;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Takes rows in (key ascending, sequence number descending) order and writes tables.
#[derive(Debug)]
pub struct RunWriter {
    context: Arc<Context>,
    shape: Shape,
    bottom: bool,
    global_seq: SeqNo,
    tombstones: Vec<RangeTombstone>,
    /// Where the tables go, if not into files of their own.
    shared: Option<Arc<SharedWriter>>,
    open: Option<Open>,
    /// Where the window of the open table begins; `None`: at the smallest key.
    window_start: Option<Key>,
    /// Key of the last row added.
    last_key: Option<Key>,
    done: Vec<TableMeta>,
    finished: bool,
}

#[derive(Debug)]
struct Open {
    id: TableId,
    folder: u16,
    at: At,
    /// `None` once closing began: the file is there all the same.
    builder: Option<TableBuilder>,
}

/// Where an open table is written.
#[derive(Debug)]
enum At {
    /// Into this file.
    Own(PathBuf),
    /// Into a file with others, which the [`SharedWriter`] removes if need be.
    Shared(SharedPlace),
}

impl RunWriter {
    /// A writer of tables of this shape. `bottom`: no deeper level lies below the output.
    /// `global_seq`, if not 0, is what every row's number 0 reads as.
    #[must_use]
    pub fn new(context: &Arc<Context>, shape: &Shape, bottom: bool, global_seq: SeqNo) -> Self {
        Self {
            context: context.clone(),
            shape: shape.clone(),
            bottom,
            global_seq,
            tombstones: Vec::new(),
            shared: None,
            open: None,
            window_start: None,
            last_key: None,
            done: Vec::new(),
            finished: false,
        }
    }

    /// Writes into files that `shared` has. The rows count once that is finished, too.
    #[must_use]
    pub fn sharing(mut self, shared: Option<&Arc<SharedWriter>>) -> Self {
        self.shared = shared.map(Arc::clone);
        self
    }

    /// Range tombstones that the tables are to hold, cut at the tables' bounds. They must be known
    /// before the first table is full, so callers give them before any row.
    pub fn set_range_tombstones(&mut self, tombstones: Vec<RangeTombstone>) {
        debug_assert!(self.last_key.is_none(), "range tombstones come before rows");
        self.tombstones = tombstones;
    }

    /// Adds these rows, which come after all earlier ones.
    ///
    /// # Errors
    /// A failed write, or a row that a table cannot hold. The writer can then only be dropped.
    pub fn add(&mut self, rows: &Rows, range: Range<usize>) -> Result<()> {
        let mut at = range.start;
        while at < range.end {
            if self.is_full() {
                let boundary = self.first_other_key(rows, at..range.end);
                self.append(rows, at..boundary)?;
                if boundary == range.end {
                    break;
                }
                self.close(Some(rows.keys.get(boundary)))?;
                at = boundary;
            }
            let end = self.step(rows, at..range.end);
            self.append(rows, at..end)?;
            at = end;
        }
        Ok(())
    }

    /// Closes the last table; the names of all that have files of their own are durable when this
    /// returns.
    ///
    /// # Errors
    /// A failed write or sync; no file is left then.
    pub fn finish(mut self) -> Result<Vec<TableMeta>> {
        // Freed before the table is closed, because closing needs memory for long keys.
        self.last_key = None;
        if self.open.is_some() || !self.tombstones.is_empty() {
            self.builder()?;
            self.close(None)?;
        }
        let own = self.done.iter().filter(|meta| meta.shared.is_none());
        let folders: BTreeSet<u16> = own.map(|meta| meta.folder).collect();
        for folder in folders {
            self.context.env.sync_folder(&self.context.folders[usize::from(folder)])?;
        }
        self.finished = true;
        Ok(std::mem::take(&mut self.done))
    }

    /// Rows added so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let open = self.open.as_ref().and_then(|open| open.builder.as_ref());
        let done: u64 = self.done.iter().map(|meta| meta.summary.rows).sum();
        done + open.map_or(0, TableBuilder::rows)
    }

    fn is_full(&self) -> bool {
        let builder = self.open.as_ref().and_then(|open| open.builder.as_ref());
        builder.is_some_and(|b| b.bytes_estimate() >= self.context.options.table_bytes)
    }

    /// First row of the range that has not the key of the row before it.
    fn first_other_key(&self, rows: &Rows, range: Range<usize>) -> usize {
        let Some(last) = &self.last_key else { return range.start };
        if rows.keys.get(range.start) != *last {
            return range.start;
        }
        (range.start + 1..range.end)
            .find(|&row| !same_key(&rows.keys, row, row - 1))
            .unwrap_or(range.end)
    }

    /// How many rows may be added before the table's length is looked at again.
    fn step(&self, rows: &Rows, range: Range<usize>) -> usize {
        let options = &self.context.options;
        let mut end = range.end.min(range.start + options.table.block_rows_max.max(1));
        // Long values fill a table in few rows.
        while end - range.start > 1 && heap_bytes(rows, range.start..end) > options.table_bytes / 4
        {
            end = range.start + (end - range.start) / 2;
        }
        end
    }

    fn append(&mut self, rows: &Rows, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let last = range.end - 1;
        self.builder()?.add(rows, range)?;
        self.last_key = Some(rows.keys.get(last));
        Ok(())
    }

    /// The builder of the open table, which is created if there is none.
    fn builder(&mut self) -> Result<&mut TableBuilder> {
        let open = match self.open.take() {
            Some(open) => open,
            None => {
                let (id, folder, at, file) = self.create()?;
                let options = self.context.options.table.clone();
                let builder = TableBuilder::new(file, self.shape.clone(), options, self.bottom);
                Open { id, folder, at, builder: Some(builder) }
            }
        };
        let open = self.open.insert(open);
        open.builder.as_mut().ok_or_else(|| {
            crate::error::Error::Invalid("a table that failed to close takes no more rows".into())
        })
    }

    /// A file, or a part of one, for another table.
    fn create(&self) -> Result<(TableId, u16, At, Box<dyn AppendFile>)> {
        if let Some(shared) = &self.shared {
            let begun = shared.begin()?;
            return Ok((begun.id, begun.folder, At::Shared(begun.place), begun.file));
        }
        let (id, folder, path) = self.context.new_table();
        let created = self.context.env.create(&path);
        let file = created.inspect_err(|_| self.context.table_written(folder, 0))?;
        Ok((id, folder, At::Own(path), file))
    }

    /// Closes the open table, whose window ends where the next table's first key is.
    fn close(&mut self, window_end: Option<Key>) -> Result<()> {
        let Some(mut builder) = self.open.as_mut().and_then(|open| open.builder.take()) else {
            return Ok(());
        };
        let mut tombstones = 0;
        for RangeTombstone { range, seq } in &self.tombstones {
            if let Some(range) = clip(range, self.window_start.as_ref(), window_end.as_ref()) {
                builder.add_range_tombstone(RangeTombstone { range, seq: *seq })?;
                tombstones += 1;
            }
        }
        let is_empty = builder.rows() == 0 && tombstones == 0;
        let summary = builder.finish()?;
        let Some(open) = self.open.take() else { return Ok(()) };
        let Open { id, folder, at, .. } = open;
        let shared = match &at {
            At::Own(_) => {
                self.context.table_written(folder, if is_empty { 0 } else { summary.bytes });
                None
            }
            At::Shared(place) => Some(*place),
        };
        let summary = Arc::new(summary);
        let meta = TableMeta { id, folder, global_seq: self.global_seq, shared, summary };
        match (is_empty, at) {
            (true, At::Own(path)) => self.context.env.remove(&path)?,
            // Bytes that nothing names.
            (true, At::Shared(_)) => {}
            (false, _) => {
                if let Some(shared) = &self.shared {
                    shared.wrote(&meta);
                }
                self.done.push(meta);
            }
        }
        self.window_start = window_end;
        Ok(())
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // Best effort: opening the database removes files that the manifest does not name.
        for meta in self.done.iter().filter(|meta| meta.shared.is_none()) {
            let _ = self.context.discard_table(meta);
        }
        if let Some(Open { folder, at: At::Own(path), builder, .. }) = self.open.take() {
            self.context.table_written(folder, 0);
            drop(builder);
            let _ = self.context.env.remove(&path);
        }
    }
}

/// Bytes of the byte strings of these rows.
fn heap_bytes(rows: &Rows, range: Range<usize>) -> u64 {
    let bytes = |column: &base::BytesColumn| match column.offsets.get(range.end) {
        Some(end) => end - column.offsets[range.start],
        None => 0,
    };
    let keys = match &rows.keys {
        Keys::Bytes(column) => bytes(column),
        Keys::Words(_) => 0,
    };
    keys + rows.values.iter().filter_map(Column::as_bytes).map(bytes).sum::<u64>()
}

/// The part of a range between two keys; `None` where there is none. A missing bound is open.
fn clip(range: &KeyRange, from: Option<&Key>, to: Option<&Key>) -> Option<KeyRange> {
    let lower = match from {
        Some(from) if *from > range.lower => from.clone(),
        _ => range.lower.clone(),
    };
    let upper = match (&range.upper, to) {
        (Some(upper), Some(to)) => Some(upper.min(to).clone()),
        (upper, to) => upper.as_ref().or(to).cloned(),
    };
    let clipped = KeyRange { lower, upper };
    (!clipped.is_empty()).then_some(clipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::TreeOptions;
    use crate::table::{BlockCache, Table, TableOptions};
    use base::{ColumnShape, KeyRef, KeyShape, Projection};
    use env::{Env, MemoryEnv};
    use std::path::Path;

    fn context() -> Arc<Context> {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let folders = vec![PathBuf::from("/a"), PathBuf::from("/b")];
        folders.iter().for_each(|folder| env.create_folder(folder).unwrap());
        let table = TableOptions { block_rows_max: 8, ..TableOptions::default() };
        let options = TreeOptions { table, table_bytes: 1000, ..TreeOptions::default() };
        let cache = Arc::new(BlockCache::new(1 << 20));
        Arc::new(Context::new(env, cache, folders, options, false, base::TableId(1)))
    }

    fn shape() -> Shape {
        Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] }
    }

    /// `versions` of each of `keys`, whose strings no encoding makes short.
    fn rows(keys: Range<u64>, versions: u64) -> Rows {
        let mut rows = Rows::new(&shape());
        for key in keys {
            for seq in (1..=versions).rev() {
                rows.keys.push(KeyRef::Words(&[key]));
                rows.seqs.push(seq);
                let mixed = base::checksum(&[key as u8, seq as u8]).to_le_bytes();
                let Column::Bytes(bytes) = &mut rows.values[0] else { unreachable!() };
                bytes.push(Some(&mixed));
            }
        }
        rows
    }

    fn write(context: &Arc<Context>, keys: Range<u64>) -> RunWriter {
        let rows = rows(keys, 1);
        let mut writer = RunWriter::new(context, &shape(), true, SeqNo::ZERO);
        writer.add(&rows, 0..rows.len()).unwrap();
        writer
    }

    fn tombstone(lower: u64, upper: Option<u64>) -> RangeTombstone {
        let upper = upper.map(|upper| Key::words(&[upper]));
        RangeTombstone { range: KeyRange { lower: Key::words(&[lower]), upper }, seq: SeqNo(9) }
    }

    fn open(context: &Context, metas: &[TableMeta]) -> Vec<Arc<Table>> {
        metas.iter().map(|meta| Table::open(context, meta, &shape()).unwrap()).collect()
    }

    fn files(context: &Context) -> usize {
        ["/a", "/b"].iter().map(|f| context.env.list(Path::new(f)).unwrap().len()).sum()
    }

    #[test]
    fn tables_end_between_keys_and_hold_every_row() {
        for versions in [1, 3, 50] {
            let context = context();
            let rows = rows(0..100, versions);
            let mut writer = RunWriter::new(&context, &shape(), false, SeqNo::ZERO);
            // In pieces that end within keys.
            for start in (0..rows.len()).step_by(7) {
                writer.add(&rows, start..rows.len().min(start + 7)).unwrap();
            }
            assert_eq!(writer.rows(), rows.len() as u64);
            let metas = writer.finish().unwrap();
            assert!(metas.len() > 1);
            let between = |pair: &[TableMeta]| pair[0].summary.last_key < pair[1].summary.first_key;
            assert!(metas.windows(2).all(between));
            let mut found = Rows::new(&shape());
            for table in open(&context, &metas) {
                for i in 0..table.blocks() {
                    let block = table.block(i, crate::table::Fill::Once).unwrap();
                    block.append_versions(0..block.rows(), Projection::ALL, &mut found);
                }
            }
            assert_eq!(found, rows);
        }
    }

    #[test]
    fn range_tombstones_are_cut_where_tables_end_and_lose_nothing() {
        let context = context();
        let rows = rows(100..200, 1);
        let mut writer = RunWriter::new(&context, &shape(), false, SeqNo::ZERO);
        writer.set_range_tombstones(vec![tombstone(5, Some(150)), tombstone(300, None)]);
        writer.add(&rows, 0..rows.len()).unwrap();
        let metas = writer.finish().unwrap();
        assert!(metas.len() > 2);
        let in_order = |pair: &[TableMeta]| pair[0].summary.last_key <= pair[1].summary.first_key;
        assert!(metas.windows(2).all(in_order));
        let tables = open(&context, &metas);
        for key in [0, 5, 99, 120, 149, 150, 199, 299, 300, u64::MAX] {
            let covers = |t: &&RangeTombstone| t.range.contains(KeyRef::Words(&[key]));
            let times = tables.iter().flat_map(|t| t.range_tombstones()).filter(covers).count();
            assert_eq!(times == 1, (5..150).contains(&key) || key >= 300, "key {key}");
        }
    }

    #[test]
    fn range_tombstones_alone_make_a_table() {
        let context = context();
        let mut writer = RunWriter::new(&context, &shape(), false, SeqNo::ZERO);
        writer.set_range_tombstones(vec![tombstone(5, Some(6))]);
        let metas = writer.finish().unwrap();
        assert_eq!(open(&context, &metas)[0].range_tombstones(), [tombstone(5, Some(6))]);
        let writer = RunWriter::new(&context, &shape(), false, SeqNo::ZERO);
        assert_eq!(writer.finish().unwrap(), []);
    }

    #[test]
    fn a_writer_that_is_dropped_leaves_no_file() {
        let context = context();
        let rows = rows(0..100, 1);
        let mut writer = RunWriter::new(&context, &shape(), true, SeqNo::ZERO);
        writer.add(&rows, 0..rows.len()).unwrap();
        assert!(files(&context) > 1);
        drop(writer);
        assert_eq!(files(&context), 0);
    }

    #[test]
    fn a_table_lies_where_the_fewest_bytes_are_of_those_that_stay() {
        let context = context();
        let table = |keys| {
            let mut metas = write(&context, keys).finish().unwrap();
            assert_eq!(metas.len(), 1);
            metas.remove(0)
        };
        let long = table(0..20);
        let others = [table(20..21), table(21..22)];
        assert!(others.iter().all(|other| other.folder != long.folder), "{others:?}");
        // Tables of an abandoned run do not count, nor do removed ones.
        drop(write(&context, 0..100));
        assert_ne!(table(23..24).folder, long.folder);
        context.table_leaves(&long);
        assert_eq!(table(24..25).folder, long.folder);
    }

    #[test]
    fn tables_that_are_written_at_the_same_time_lie_in_different_folders() {
        let context = context();
        drop(write(&context, 0..1));
        let both = [write(&context, 30..31), write(&context, 31..32)];
        let folders = both.map(|writer| writer.finish().unwrap()[0].folder);
        assert_ne!(folders[0], folders[1]);
    }

    #[test]
    fn a_failed_table_leaves_no_file() {
        let context = context();
        let rows = rows(0..100, 1);
        let mut writer = RunWriter::new(&context, &shape(), true, SeqNo::ZERO);
        writer.add(&rows, 0..50).unwrap();
        // The next file already exists, in either folder, so creating it fails.
        let before = files(&context);
        for id in context.next_table_id().0..context.next_table_id().0 + 3 {
            for folder in 0..2 {
                let path = context.table_path(base::TableId(id), folder);
                context.env.create(&path).unwrap();
            }
        }
        assert!(writer.add(&rows, 50..100).is_err());
        drop(writer);
        assert!(before > 0);
        assert_eq!(files(&context), 6, "those of others stay");
    }

    #[test]
    fn clipping_keeps_what_lies_between() {
        let key = |word| Key::words(&[word]);
        let range =
            |lower, upper: Option<u64>| KeyRange { lower: key(lower), upper: upper.map(key) };
        let open = range(3, None);
        assert_eq!(clip(&open, None, Some(&key(3))), None);
        assert_eq!(clip(&open, Some(&key(5)), None), Some(range(5, None)));
        assert_eq!(clip(&open, Some(&key(1)), Some(&key(4))), Some(range(3, Some(4))));
    }
}
