//! Writes one file for the tables of many small trees.
//!
//! # Why
//! A flush, or a compaction, of 10,000 trees with a row each would write 10,000 files, and sync
//! each: eleven seconds, where one file with the same bytes takes a third of one. Such a file is a
//! plain concatenation of tables. Each has its own index and footer, and is read through a
//! [`Section`](super::section::Section), so a table does not know whether it has a file of its own.
//!
//! # Invariants
//! 1. A shared file is written once, by one flush or compaction, and synced before the manifest
//!    names a table in it.
//! 2. Until [`SharedWriter::finish`] returns, dropping the writer removes every file that it made.
//!    No table in such a file counts then.
//! 3. The file is removed with the last of its tables. `shared_file` counts those that are left, in
//!    the process that alone removes files.

use super::meta::{SharedPlace, TableMeta};
use crate::context::Context;
use crate::error::Result;
use base::TableId;
use env::AppendFile;
use env::sync::Mutex;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file is closed at about this many bytes. A few tables that stay keep the whole file, so it is
/// not long.
const FILE_BYTES: u64 = 4 << 20;

/// Writes shared files, one table after the other.
#[derive(Debug)]
pub struct SharedWriter {
    context: Arc<Context>,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    open: Option<Open>,
    closed: Vec<Written>,
    finished: bool,
}

#[derive(Debug)]
struct Open {
    file: Arc<Mutex<Box<dyn AppendFile>>>,
    written: Written,
}

/// A file, and the counts of its tables.
#[derive(Debug)]
struct Written {
    id: TableId,
    folder: u16,
    path: PathBuf,
    tables: Vec<TableMeta>,
}

/// A table that is about to be written.
pub(crate) struct Begun {
    pub(crate) id: TableId,
    pub(crate) folder: u16,
    pub(crate) place: SharedPlace,
    pub(crate) file: Box<dyn AppendFile>,
}

impl SharedWriter {
    /// No file is created before the first table.
    #[must_use]
    pub fn new(context: &Arc<Context>) -> Arc<Self> {
        Arc::new(Self { context: Arc::clone(context), inner: Mutex::default() })
    }

    /// Begins a table behind all others. The one begun before is complete, or is never named.
    pub(crate) fn begin(&self) -> Result<Begun> {
        let mut inner = self.inner.lock();
        if inner.open.as_ref().is_some_and(|open| open.file.lock().len_bytes() >= FILE_BYTES) {
            self.close(&mut inner)?;
        }
        let open = match inner.open.take() {
            Some(open) => open,
            None => self.create()?,
        };
        let open = inner.open.insert(open);
        let start = open.file.lock().len_bytes();
        let Written { id, folder, ref path, .. } = open.written;
        let file = SectionWriter { file: Arc::clone(&open.file), path: path.clone(), start };
        Ok(Begun {
            id: self.context.new_table_id(),
            folder,
            place: SharedPlace { file: id, offset: start },
            file: Box::new(file),
        })
    }

    /// Notes that a table is complete.
    pub(crate) fn wrote(&self, table: &TableMeta) {
        if let Some(open) = &mut self.inner.lock().open {
            open.written.tables.push(table.clone());
        }
    }

    /// Makes everything durable, and counts the tables of each file.
    ///
    /// # Errors
    /// A failed write or sync; no file is left then.
    pub fn finish(&self) -> Result<()> {
        self.sync()?;
        self.count()
    }

    /// As [`SharedWriter::finish`], for several writers: all of them, or none.
    ///
    /// # Errors
    /// A failed write or sync; no file of any is left then.
    pub fn finish_all(writers: &[Arc<Self>]) -> Result<()> {
        writers.iter().try_for_each(|writer| writer.sync())?;
        writers.iter().try_for_each(|writer| writer.count())
    }

    fn sync(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        self.close(&mut inner)?;
        for Written { folder, .. } in &inner.closed {
            self.context.env.sync_folder(&self.context.folders[usize::from(*folder)])?;
        }
        Ok(())
    }

    /// The files stay, and their tables count.
    fn count(&self) -> Result<()> {
        let mut inner = self.inner.lock();
        inner.finished = true;
        for Written { folder, tables, path, .. } in &inner.closed {
            let bytes = tables.iter().map(|table| table.summary.bytes).sum();
            self.context.table_written(*folder, bytes);
            if tables.is_empty() {
                self.context.env.remove(path)?;
            }
            tables.iter().for_each(|table| self.context.shared.add(table));
        }
        Ok(())
    }

    fn create(&self) -> Result<Open> {
        let (id, folder, path) = self.context.new_table();
        let created = self.context.env.create(&path);
        let file = created.inspect_err(|_| self.context.table_written(folder, 0))?;
        let written = Written { id, folder, path, tables: Vec::new() };
        Ok(Open { file: Arc::new(Mutex::new(file)), written })
    }

    fn close(&self, inner: &mut Inner) -> Result<()> {
        if let Some(Open { file, written }) = inner.open.take() {
            // Listed first: also a file that cannot be synced is removed.
            inner.closed.push(written);
            file.lock().sync()?;
        }
        Ok(())
    }
}

impl Drop for SharedWriter {
    fn drop(&mut self) {
        let inner = std::mem::take(&mut *self.inner.lock());
        if inner.finished {
            return;
        }
        let open = inner.open.map(|open| open.written);
        // Best effort: opening the database removes files that the manifest does not name.
        for Written { folder, path, .. } in inner.closed.into_iter().chain(open) {
            self.context.table_written(folder, 0);
            let _ = self.context.env.remove(&path);
        }
    }
}

/// Appends a table to a shared file. Its length counts from the table's start.
#[derive(Debug)]
struct SectionWriter {
    file: Arc<Mutex<Box<dyn AppendFile>>>,
    path: PathBuf,
    start: u64,
}

impl AppendFile for SectionWriter {
    fn append(&mut self, bytes: &[u8]) -> env::Result<()> {
        self.file.lock().append(bytes)
    }

    fn flush(&mut self) -> env::Result<()> {
        self.file.lock().flush()
    }

    /// The whole file is synced once, by [`SharedWriter::finish`].
    fn sync(&mut self) -> env::Result<()> {
        Ok(())
    }

    fn len_bytes(&self) -> u64 {
        self.file.lock().len_bytes() - self.start
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::TreeOptions;
    use crate::rows::Rows;
    use crate::run_writer::RunWriter;
    use crate::table::{Fill, Table, tests};
    use base::{KeyRef, KeyShape, Projection, SeqNo, Shape};

    fn context() -> Arc<Context> {
        Arc::new(tests::context(1 << 20).with_names_that_stay())
    }

    fn shape() -> Shape {
        Shape { key: KeyShape::Words(1), values: Vec::new() }
    }

    fn rows(keys: std::ops::Range<u64>) -> Rows {
        let mut rows = Rows::new(&shape());
        for key in keys {
            rows.keys.push(KeyRef::Words(&[key]));
            rows.seqs.push(7);
        }
        rows
    }

    fn write(context: &Arc<Context>, shared: &Arc<SharedWriter>, rows: &Rows) -> TableMeta {
        let mut writer = RunWriter::new(context, &shape(), true, SeqNo::ZERO).sharing(Some(shared));
        writer.add(rows, 0..rows.len()).unwrap();
        writer.finish().unwrap().remove(0)
    }

    fn read(context: &Context, meta: &TableMeta) -> Rows {
        let table = Table::open(context, meta, &shape()).unwrap();
        table.verify(&mut |_| true).unwrap();
        let blocks: Vec<usize> = (0..table.blocks()).collect();
        let mut found = Rows::new(&shape());
        for block in table.read_blocks(&blocks, Fill::Once).unwrap() {
            block.append_versions(0..block.rows(), Projection::ALL, &mut found);
        }
        found
    }

    fn files(context: &Context) -> usize {
        context.env.list(&context.folders[0]).unwrap().len()
    }

    #[test]
    fn tables_in_one_file_read_as_if_each_had_its_own() {
        let context = context();
        let shared = SharedWriter::new(&context);
        let want: Vec<Rows> = (0..50_u64).map(|i| rows(i..i + 1 + i * i)).collect();
        let metas: Vec<_> = want.iter().map(|rows| write(&context, &shared, rows)).collect();
        shared.finish().unwrap();
        assert_eq!(files(&context), 1);
        for (meta, want) in metas.iter().zip(&want) {
            assert_eq!(&read(&context, meta), want);
        }
        // All of them in one batch, some with a file of their own.
        let mut writer = RunWriter::new(&context, &shape(), true, SeqNo::ZERO);
        writer.add(&want[9], 0..want[9].len()).unwrap();
        let own = writer.finish().unwrap().remove(0);
        let all = metas[..9].iter().chain([&own]).chain(&metas[10..]);
        let tables: Vec<_> =
            all.map(|meta| Table::open(&context, meta, &shape()).unwrap()).collect();
        let first: Vec<_> = tables.iter().map(|table| (&**table, 0)).collect();
        for (block, want) in Table::read_across(&first, Fill::Once).unwrap().iter().zip(&want) {
            assert_eq!(block.key(0).as_ref(), want.keys.get(0).as_ref());
        }
    }

    #[test]
    fn a_shared_file_goes_with_the_last_of_its_tables() {
        let context = context();
        let shared = SharedWriter::new(&context);
        let metas: Vec<_> = (0..3).map(|i| write(&context, &shared, &rows(i..i + 9))).collect();
        shared.finish().unwrap();
        context.remove_table(&metas[1]).unwrap();
        assert!(!context.shared.is_sparse(&metas[0], 0));
        context.remove_table(&metas[0]).unwrap();
        assert!(context.shared.is_sparse(&metas[2], 0));
        assert!(!context.shared.is_sparse(&metas[2], 1 << 20));
        assert_eq!(read(&context, &metas[2]), rows(2..11));
        context.remove_table(&metas[2]).unwrap();
        assert_eq!(files(&context), 0);
        // As when the database is opened again.
        let shared = SharedWriter::new(&context);
        let metas = [write(&context, &shared, &rows(0..5)), write(&context, &shared, &rows(1..2))];
        shared.finish().unwrap();
        let again = Context::new(
            Arc::clone(&context.env),
            Arc::clone(&context.cache),
            context.folders.clone(),
            TreeOptions::default(),
            false,
            base::TableId(1),
        );
        let again = again.with_names_that_stay();
        metas.iter().for_each(|meta| again.note_table(meta));
        assert!(again.next_table_id() > metas[1].id.max(metas[1].file_id()));
        again.remove_table(&metas[0]).unwrap();
        assert_eq!(files(&again), 1);
        again.remove_table(&metas[1]).unwrap();
        assert_eq!(files(&again), 0);
    }

    #[test]
    fn a_shared_file_that_is_not_finished_is_removed() {
        let context = context();
        let shared = SharedWriter::new(&context);
        write(&context, &shared, &rows(0..5));
        let mut cut = RunWriter::new(&context, &shape(), true, SeqNo::ZERO).sharing(Some(&shared));
        cut.add(&rows(0..9), 0..9).unwrap();
        drop(cut);
        write(&context, &shared, &rows(0..7));
        assert_eq!(files(&context), 1);
        drop(shared);
        assert_eq!(files(&context), 0);
        SharedWriter::new(&context).finish().unwrap();
        assert_eq!(files(&context), 0);
    }

    #[test]
    fn a_long_file_is_followed_by_another() {
        let context = context();
        let shared = SharedWriter::new(&context);
        let long = rows(0..1_500_000);
        let metas: Vec<_> = (0..4).map(|_| write(&context, &shared, &long)).collect();
        shared.finish().unwrap();
        let bytes: u64 = metas.iter().map(|meta| meta.summary.bytes).sum();
        assert!(bytes > FILE_BYTES, "{bytes}");
        assert!(files(&context) > 1);
        assert!(metas.iter().all(|meta| read(&context, meta).len() == long.len()));
    }

    /// Damage is reported where it is in the file that bears the name.
    #[test]
    fn damage_names_its_place_in_the_whole_file() {
        let context = context();
        let shared = SharedWriter::new(&context);
        write(&context, &shared, &rows(0..100));
        let meta = write(&context, &shared, &rows(0..100));
        shared.finish().unwrap();
        let path = context.path_of(&meta);
        let mut bytes = context.env.read_file(&path).unwrap();
        let place = meta.shared.unwrap();
        assert!(place.offset > 0);
        bytes[place.offset as usize] ^= 1;
        context.env.remove(&path).unwrap();
        context.env.create(&path).unwrap().append(&bytes).unwrap();
        let table = Table::open(&context, &meta, &shape()).unwrap();
        let error = table.verify(&mut |_| true).unwrap_err();
        let crate::error::Error::Corruption(found) = error else { panic!("{error}") };
        assert_eq!((found.offset, &found.file), (place.offset, &path));
    }
}
