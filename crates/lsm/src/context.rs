//! The state that all trees of a database share: options, cache, open files, shared files. `kv`
//! makes one.

use crate::read::thresholds::ReadThresholds;
use crate::table::cache::BlockCache;
use crate::table::meta::TableMeta;
use crate::table::open_files::OpenFiles;
use crate::table::options::TableOptions;
use crate::table::section::Section;
use crate::table::shared_file::SharedFiles;
use base::TableId;
use env::sync::Mutex;
use env::sync::atomic::{AtomicU64, Ordering};
use env::{Env, RandomReadFile, ReadOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bounds and choices of a tree. Tests make them tiny so that rare branches run.
#[derive(Clone, Debug)]
pub struct TreeOptions {
    /// Blocks, filters, compression of the tables written.
    pub table: TableOptions,
    /// A table is closed at about this many bytes.
    pub table_bytes: u64,
    /// Runs in level 0 that make a compaction due.
    pub level0_runs: usize,
    /// Bytes of level 1; each deeper level holds `level_factor` times more.
    pub level1_bytes: u64,
    /// Growth from level to level.
    pub level_factor: u64,
    /// Several trees that have at most this many bytes each to write share a file; 0: none does.
    pub shared_bytes_max: u64,
    /// When a read takes which way.
    pub read: ReadThresholds,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            table: TableOptions::default(),
            table_bytes: 32 << 20,
            level0_runs: 4,
            level1_bytes: 128 << 20,
            level_factor: 10,
            shared_bytes_max: 64 << 10,
            read: ReadThresholds::default(),
        }
    }
}

/// Bytes of tables that were written since the start.
#[derive(Debug, Default)]
pub struct WrittenBytes {
    /// By flushes.
    pub flushed: AtomicU64,
    /// By bulk loads.
    pub loaded: AtomicU64,
    /// By compactions.
    pub merged: AtomicU64,
}

/// Adds the bytes of tables that were written.
pub fn count_written(bytes: &AtomicU64, tables: &[TableMeta]) {
    let written = tables.iter().map(|meta| meta.summary.bytes).sum();
    bytes.fetch_add(written, Ordering::Relaxed);
}

/// Shared by all trees: the environment, the block cache, table ids and table folders.
#[derive(Debug)]
pub struct Context {
    /// The door to the machine.
    pub env: Arc<dyn Env>,
    /// Blocks in memory, one budget for all trees.
    pub cache: Arc<BlockCache>,
    /// Folders that hold tables; a table's `folder` field is an index into this list.
    pub folders: Vec<PathBuf>,
    /// Bounds and choices.
    pub options: TreeOptions,
    /// Reads of tables go around the page cache.
    pub direct_reads: bool,
    /// The files of tables that are open.
    pub files: Arc<OpenFiles>,
    /// Files that hold tables of several trees.
    pub shared: SharedFiles,
    /// No table's file is removed as long as one of these trees' readers holds it.
    names_stay: bool,
    /// Bytes of the tables that were written, by whom.
    pub written: WrittenBytes,
    next_table_id: AtomicU64,
    /// Bytes of the tables in each folder. A table that is being written counts as a full one. This
    /// is a leaf lock, taken once or twice for each table.
    folder_bytes: Mutex<Vec<u64>>,
}

impl Context {
    /// Table ids start at `next_table_id`.
    #[must_use]
    pub fn new(
        env: Arc<dyn Env>,
        cache: Arc<BlockCache>,
        folders: Vec<PathBuf>,
        options: TreeOptions,
        direct_reads: bool,
        next_table_id: TableId,
    ) -> Self {
        let folder_bytes = Mutex::new(vec![0; folders.len()]);
        let (next_table_id, written) = (next_table_id.0.into(), WrittenBytes::default());
        let files = Arc::new(OpenFiles::new(Arc::clone(&env), env.open_files_max()));
        Self {
            env,
            cache,
            folders,
            options,
            direct_reads,
            files,
            shared: SharedFiles::default(),
            names_stay: false,
            written,
            next_table_id,
            folder_bytes,
        }
    }

    /// For the process that alone removes tables: their files may be closed and opened again while
    /// they are held.
    #[must_use]
    pub fn with_names_that_stay(self) -> Self {
        Self { names_stay: true, ..self }
    }

    /// Opens a table's file.
    pub(crate) fn open_table(&self, meta: &TableMeta) -> env::Result<Arc<dyn RandomReadFile>> {
        let path = self.path_of(meta);
        let options = ReadOptions { direct: self.direct_reads };
        let open = || self.files.open(&path, options, self.names_stay);
        let Some(place) = meta.shared else { return open() };
        let file = self.shared.handle(place.file, open)?;
        Ok(Arc::new(Section::new(file, place.offset, meta.summary.bytes)))
    }

    /// Returns a fresh id and the folder for it. The folder is the one whose tables have the fewest
    /// bytes, so that folders fill evenly whatever lengths tables have. Ties are broken in turn.
    pub fn new_table(&self) -> (TableId, u16, PathBuf) {
        let id = self.next_table_id.fetch_add(1, Ordering::Relaxed);
        let count = self.folders.len();
        let turn = (id % count as u64) as usize;
        let mut folder = turn;
        if count > 1 {
            let mut bytes = self.folder_bytes.lock();
            let in_turn = (turn..count).chain(0..turn);
            folder = in_turn.min_by_key(|&folder| bytes[folder]).unwrap_or(turn);
            // Others choose before it is written.
            bytes[folder] += self.options.table_bytes;
        }
        (TableId(id), folder as u16, self.table_path(TableId(id), folder as u16))
    }

    /// Returns a fresh id for a table in a shared file.
    pub(crate) fn new_table_id(&self) -> TableId {
        TableId(self.next_table_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Records the final length of a table that [`Context::new_table`] assigned; 0 if it was given
    /// up.
    pub(crate) fn table_written(&self, folder: u16, bytes: u64) {
        self.count_bytes(folder, self.options.table_bytes, bytes);
    }

    /// A table leaves its folder.
    pub fn table_leaves(&self, table: &TableMeta) {
        self.count_bytes(table.folder, table.summary.bytes, 0);
    }

    fn count_bytes(&self, folder: u16, less: u64, more: u64) {
        // A read-only caller may name more folders than it knows, and never chooses one.
        if self.folders.len() > 1
            && let Some(bytes) = self.folder_bytes.lock().get_mut(usize::from(folder))
        {
            *bytes = bytes.saturating_sub(less) + more;
        }
    }

    /// First id not given out yet.
    #[must_use]
    pub fn next_table_id(&self) -> TableId {
        TableId(self.next_table_id.load(Ordering::Relaxed))
    }

    /// Takes an existing table into account: its id is not assigned again, and its bytes count for
    /// its folder.
    pub fn note_table(&self, table: &TableMeta) {
        let newest = table.id.max(table.file_id());
        self.next_table_id.fetch_max(newest.next().0, Ordering::Relaxed);
        self.count_bytes(table.folder, 0, table.summary.bytes);
        // A follower removes nothing, and sees tables come and go.
        if self.names_stay {
            self.shared.add(table);
        }
    }

    /// Removes a table that no manifest names, and its file.
    ///
    /// # Errors
    /// As [`Context::remove_table`].
    pub fn discard_table(&self, table: &TableMeta) -> env::Result<()> {
        self.table_leaves(table);
        self.remove_table(table)
    }

    /// Removes the file of a table that left and that nothing reads any more; a shared file with
    /// the last of its tables.
    ///
    /// # Errors
    /// A file that cannot be removed. It can be tried again.
    pub fn remove_table(&self, table: &TableMeta) -> env::Result<()> {
        self.shared.release(table, || self.env.remove(&self.path_of(table)))
    }

    /// Path of the file that a table is in.
    #[must_use]
    pub fn path_of(&self, table: &TableMeta) -> PathBuf {
        self.table_path(table.file_id(), table.folder)
    }

    /// Path of the file with this id.
    #[must_use]
    pub fn table_path(&self, id: TableId, folder: u16) -> PathBuf {
        self.folders[folder as usize].join(table_file_name(id))
    }
}

/// File name of a table.
#[must_use]
pub fn table_file_name(id: TableId) -> String {
    format!("{id}.sst")
}

/// The id in a table's file name, if it is one.
#[must_use]
pub fn parse_table_file_name(path: &Path) -> Option<TableId> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".sst")?;
    stem.parse().ok().map(TableId)
}
