//! Copies a database as of one commit, while writers continue.
//!
//! # Why it flushes instead of copying the log
//! After a flush all rows up to one commit are in tables, and tables never change. So holding the
//! tables holds the snapshot: an open table keeps its file ([`lsm::tree::ObsoleteFiles`]). The copy
//! needs no lock and has no deadline. A read-only process cannot flush; it writes the rows of the
//! log into an additional table of the backup.
//!
//! # Invariants
//! 1. A folder gets its list, and an archive its name, only when everything in it is synced. An
//!    interrupted backup has neither, and is not accepted as one.
//! 2. The database is changed only by the flush; a failure at the target does not poison it.
//! 3. The tables of a backup are those of its manifest, all in one folder.

pub(crate) mod archive;
pub(crate) mod list;

use crate::convert::{env_error, invalid, tree_error};
use crate::folder::{
    TABLES, WAL, beside, create_folder, create_folder_within, create_private_folder, parent,
};
use crate::inner::{Inner, closed};
use crate::kv::Kv;
use crate::outside::{check_is_folder, check_is_outside};
use crate::removal::remove_database;
use crate::shared_files::SharedWriters;
use archive::{CONTENT_BYTES_MAX, Writer, is_archive_name, read_all};
use base::mark::{self, Mark};
use base::{Checksummer, SeqNo, TableId};
use env::sync::atomic::Ordering;
use env::{Env, HeldFolder, MemoryEnv, RandomReadFile, ReadOptions};
use list::{Entry, LIST, List, UNFINISHED, read_list};
use lsm::context::{Context, table_file_name};
use lsm::manifest::{CURRENT, Manifest, State, VersionEdit};
use lsm::table::{BlockCache, Table, whole_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};

/// Cache bytes of the temporary trees of a read-only process: nothing is read twice there.
const SCRATCH_CACHE_BYTES: u64 = 1 << 20;

/// Options of a backup.
#[derive(Clone, Debug)]
pub struct BackupOptions {
    /// The folder of an earlier backup of the same database. Tables that it already has are linked
    /// from it.
    pub earlier: Option<PathBuf>,
    /// Whether to check every block of every table, and the checksums of tables linked from an
    /// earlier backup: damage is found now, not when the backup is needed.
    pub verify: bool,
}

impl Default for BackupOptions {
    fn default() -> Self {
        Self { earlier: None, verify: true }
    }
}

/// Report of a backup: its contents and its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BackupReport {
    /// Number of files, without the list.
    pub files: u64,
    /// Table files that are hard links to the database's.
    pub linked: u64,
    /// Table files whose bytes were copied.
    pub copied: u64,
    /// Table files that are hard links to an earlier backup's.
    pub reused: u64,
    /// Bytes written for this backup.
    pub bytes_written: u64,
    /// Bytes of all its files, uncompressed.
    pub bytes_total: u64,
    /// The newest commit in the backup.
    pub seq: SeqNo,
    /// How long it took.
    pub seconds: f64,
}

impl Kv {
    /// Writes a snapshot of the latest commit to `target` of `env`: a new or empty folder, or a
    /// file where the name ends in `.qbak`. Writers continue meanwhile. `progress` gets the bytes
    /// done and the total.
    ///
    /// # Errors
    /// `InvalidInput` where something is at `target`, or `earlier` is not a backup of this
    /// database; `Corruption` where a table is damaged; `Cancelled`; a failed read or write. Then
    /// `target` is removed if possible, and in no case passes for a backup.
    pub fn backup(
        &self,
        env: &Arc<dyn Env>,
        target: &Path,
        options: &BackupOptions,
        progress: Progress<'_>,
    ) -> Result<BackupReport> {
        let inner = &self.inner;
        inner.check_process()?;
        let began_us = env.monotonic_us();
        let target = &env.resolved(target).map_err(env_error)?;
        if is_same(&inner.env, env) && env.is_within(target, &inner.folder) {
            return Err(invalid(format!(
                "{} lies in the folder of the database itself",
                target.display()
            )));
        }
        check_is_outside(&**env, target)?;
        // `close` waits for this lock; another process may own the folder afterwards.
        let _running = inner.loading.read();
        let point = BackupPoint::now(inner)?;
        let job = Backup { inner, env, point: &point, options, progress };
        let made = if is_archive_name(target) { job.archive(target) } else { job.folder(target) };
        drop(point);
        inner.collect_obsolete();
        let mut report = made?;
        // The backup is complete and can no longer be cancelled.
        let _ = progress(report.bytes_total, report.bytes_total);
        report.seconds = env.monotonic_us().saturating_sub(began_us) as f64 / 1e6;
        Ok(report)
    }
}

/// The state of the database at one commit, with its tables held open.
struct BackupPoint {
    /// Content of the backup's manifest.
    state: State,
    tables: Vec<Arc<Table>>,
    taken_us: u64,
}

impl BackupPoint {
    fn now(inner: &Arc<Inner>) -> Result<Self> {
        if inner.options.read_only { Self::of_reader(inner) } else { Self::of_writer(inner) }
    }

    fn of_writer(inner: &Arc<Inner>) -> Result<Self> {
        inner.check_writable()?;
        // The tables are opened under the maintenance lock: a compaction could replace them
        // otherwise.
        let state = inner.flush_all_and(|| {
            let manifest = inner.manifest.lock();
            let manifest = manifest.as_ref().ok_or_else(closed)?;
            let state = manifest.state().clone();
            let tables = pinned(inner, &state)?;
            Ok((state, tables))
        })?;
        let (state, tables) = state;
        Ok(Self { state: gathered(&state)?, tables, taken_us: inner.env.wall_us() })
    }

    fn of_reader(inner: &Arc<Inner>) -> Result<Self> {
        if inner.closing.load(Ordering::Acquire) {
            return Err(closed());
        }
        crate::follower::refresh(inner)?;
        // Held until the memtables are written: the next refresh would add rows to them.
        let position = inner.follower.lock();
        let position = position.as_ref().ok_or_else(closed)?;
        let mut state = position.state.clone();
        let mut tables = pinned(inner, &state)?;
        let scratch: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let context = Arc::new(Context::new(
            scratch,
            Arc::new(BlockCache::new(SCRATCH_CACHE_BYTES)),
            vec![PathBuf::from("/")],
            inner.options.tree.clone(),
            false,
            state.next_table_id(),
        ));
        let mut edit = VersionEdit { last_seq: Some(position.last_seq), ..VersionEdit::default() };
        let mut shared = SharedWriters::new(&context);
        let trees = inner.trees.load();
        for entry in trees.iter() {
            let shared = shared.of(&entry.info.name);
            let new = entry.tree.flush_into(&context, shared).map_err(tree_error)?;
            if !new.added.is_empty() {
                edit.trees.push((entry.info.id, new));
            }
        }
        shared.finish().map_err(tree_error)?;
        for (id, new) in &edit.trees {
            let shape = &trees.get(*id)?.info.shape;
            for added in &new.added {
                tables.push(Table::open(&context, &added.meta, shape).map_err(tree_error)?);
            }
        }
        edit.next_table_id = Some(context.next_table_id());
        state.apply(&edit).map_err(invalid)?;
        Ok(Self { state: gathered(&state)?, tables, taken_us: inner.env.wall_us() })
    }

    fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.meta().summary.bytes).sum()
    }

    /// The files that the tables are in, each once.
    fn files(&self) -> Vec<TableFile> {
        let mut files: BTreeMap<TableId, Vec<Arc<Table>>> = BTreeMap::new();
        for table in &self.tables {
            files.entry(table.meta().file_id()).or_default().push(Arc::clone(table));
        }
        files.into_iter().map(|(id, tables)| TableFile { id, tables }).collect()
    }

    fn list(&self, files: Vec<Entry>) -> List {
        List {
            identity: self.state.identity().unwrap_or(0),
            seq: self.state.last_seq(),
            moment_us: self.taken_us,
            files,
        }
    }
}

/// A file of tables: one, or several that share it.
#[derive(Clone)]
struct TableFile {
    id: TableId,
    tables: Vec<Arc<Table>>,
}

impl TableFile {
    /// Name in a backup.
    fn name(&self) -> String {
        format!("{TABLES}/{}", table_file_name(self.id))
    }

    /// All of it, including bytes that no table uses any more.
    fn content(&self) -> Arc<dyn RandomReadFile> {
        whole_file(self.tables[0].file())
    }

    /// Bytes of its tables.
    fn table_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.meta().summary.bytes).sum()
    }

    /// Distinguishes files with one id in backups of different histories. A file that several
    /// tables share has none.
    fn fingerprint(&self) -> Option<u64> {
        let meta = self.tables[0].meta();
        meta.shared.is_none().then_some(meta.summary.fingerprint)
    }

    fn verify(&self) -> Result<()> {
        let check = |table: &Arc<Table>| table.verify_checksums(&|| true).map_err(tree_error);
        self.tables.iter().try_for_each(check)
    }
}

/// Opens the tables that `state` names. The caller keeps the trees from changing.
fn pinned(inner: &Inner, state: &State) -> Result<Vec<Arc<Table>>> {
    let mut open: BTreeMap<TableId, Arc<Table>> = BTreeMap::new();
    for entry in inner.trees.load().iter() {
        let version = Arc::clone(&entry.tree.view().version);
        open.extend(version.tables().map(|(_, _, table)| (table.meta().id, Arc::clone(table))));
    }
    let named = state.tables().map(|table| {
        let id = table.meta.id;
        open.remove(&id).ok_or_else(|| {
            Error::new(ErrorKind::Poisoned, format!("table {id} of the manifest is not open"))
        })
    });
    named.collect()
}

/// The same tables, all in one folder, without a log.
fn gathered(state: &State) -> Result<State> {
    let mut edit = state.snapshot();
    for (_, tree) in &mut edit.trees {
        tree.added.iter_mut().for_each(|table| table.meta.folder = 0);
    }
    edit.folders = Some(vec![TABLES.to_owned()]);
    edit.wal_first_live = Some(0);
    let mut gathered = State::default();
    gathered.apply(&edit).map_err(invalid)?;
    Ok(gathered)
}

/// A backup that is being written.
struct Backup<'a> {
    inner: &'a Arc<Inner>,
    /// Environment of the target.
    env: &'a Arc<dyn Env>,
    point: &'a BackupPoint,
    options: &'a BackupOptions,
    progress: Progress<'a>,
}

impl Backup<'_> {
    fn go_on(&self, done: u64, total: u64) -> Result<()> {
        let stopped = self.inner.closing.load(Ordering::Acquire) || !(self.progress)(done, total);
        if stopped {
            Err(Error::new(ErrorKind::Cancelled, "the backup was cancelled"))
        } else {
            Ok(())
        }
    }

    fn folder(&self, target: &Path) -> Result<BackupReport> {
        let env = &**self.env;
        let earlier = match &self.options.earlier {
            Some(folder) => Some(Arc::new(Earlier::read(env, folder, &self.point.state)?)),
            None => None,
        };
        let was_there = env.exists(target);
        if was_there {
            check_is_folder(env, target)?;
            let names = env.list(target).map_err(env_error)?;
            if let Some(name) = names.first() {
                let cut = names.iter().any(|name| name == UNFINISHED);
                let hint = if cut {
                    "hint: a backup to it did not finish; remove the folder, or name another"
                } else {
                    "hint: name an empty or a new folder"
                };
                let target = target.display();
                return Err(invalid(format!("{target} is not empty: it holds \"{name}\"\n{hint}")));
            }
        }
        create_private_folder(env, target)?;
        let _held = env.hold(target).map_err(env_error)?;
        let made = self.fill(target, earlier.as_ref());
        if made.is_err() {
            mark::hit(Mark::BackupClearedAway);
            // Best effort: a folder that cannot be removed has no list.
            remove_database(env, target, was_there);
        }
        made
    }

    fn fill(&self, target: &Path, earlier: Option<&Arc<Earlier>>) -> Result<BackupReport> {
        let env = &**self.env;
        let unfinished = target.join(UNFINISHED);
        // No database can be created in a folder with a foreign file.
        let mut list_file = env.create(&unfinished).map_err(env_error)?;
        list_file.sync().map_err(env_error)?;
        env.sync_folder(target).map_err(env_error)?;
        let tables = target.join(TABLES);
        create_folder_within(env, &tables)?;
        // A database has a log folder; this one stays empty, because all rows are in tables.
        create_folder_within(env, &target.join(WAL))?;

        let mut report = BackupReport { seq: self.point.state.last_seq(), ..Default::default() };
        let mut files = Vec::new();
        let (mut done, total) = (0, self.point.bytes());
        self.go_on(0, total)?;
        for some in self.point.files().chunks(self.env.parallelism()) {
            let jobs = some.iter().map(|file| self.keep(file, &tables, earlier)).collect();
            done += some.iter().map(TableFile::table_bytes).sum::<u64>();
            for kept in env::parallel(env, jobs, Keep::run) {
                let (entry, how) = kept?;
                match how {
                    How::Linked => report.linked += 1,
                    How::Reused => report.reused += 1,
                    How::Copied => {
                        report.copied += 1;
                        report.bytes_written += entry.bytes;
                    }
                }
                files.push(entry);
            }
            self.go_on(done, total)?;
        }
        env.sync_folder(&tables).map_err(env_error)?;

        Manifest::create_with(env, target, &self.point.state).map_err(tree_error)?;
        for (name, content) in small_files(env, target)? {
            report.bytes_written += content.len() as u64;
            files.push(entry_of(name, &content));
        }
        let list = self.point.list(files);
        let text = list.encode();
        list_file.append(text.as_bytes()).map_err(env_error)?;
        list_file.sync().map_err(env_error)?;
        drop(list_file);
        env.rename(&unfinished, &target.join(LIST)).map_err(env_error)?;
        env.sync_folder(target).map_err(env_error)?;
        report.bytes_written += text.len() as u64;
        (report.files, report.bytes_total) = (list.files.len() as u64, list.bytes());
        Ok(report)
    }

    fn keep(&self, file: &TableFile, tables: &Path, earlier: Option<&Arc<Earlier>>) -> Keep {
        // Tables of the temporary environment have no file that could be linked.
        let path = file.content().path().to_owned();
        let folders = &self.inner.context.folders;
        let own = folders.iter().any(|folder| path.parent() == Some(folder));
        let link = own && is_same(&self.inner.env, self.env);
        Keep {
            env: Arc::clone(self.env),
            file: file.clone(),
            to: tables.join(table_file_name(file.id)),
            link: link.then_some(path),
            earlier: earlier.cloned(),
            verify: self.options.verify,
        }
    }

    fn archive(&self, target: &Path) -> Result<BackupReport> {
        let env = &**self.env;
        if self.options.earlier.is_some() {
            return Err(invalid(
                "a backup to one file cannot share tables with an earlier one\n\
                 hint: name a folder, without the ending .qbak"
                    .to_owned(),
            ));
        }
        let unfinished = beside(target, "unfinished");
        for path in [target, &unfinished] {
            if env.exists(path) {
                return Err(invalid(format!(
                    "{} already exists\nhint: remove it, or name another file",
                    path.display()
                )));
            }
        }
        let folder = parent(target);
        create_folder(env, folder)?;
        let made = self.pack(&unfinished).and_then(|report| {
            env.rename(&unfinished, target).map_err(env_error)?;
            env.sync_folder(folder).map_err(env_error)?;
            Ok(report)
        });
        if made.is_err() {
            mark::hit(Mark::BackupClearedAway);
            // Best effort: only an archive with its final name counts.
            let _ = env.remove(&unfinished);
            let _ = env.remove(target);
            let _ = env.sync_folder(folder);
        }
        made
    }

    fn pack(&self, path: &Path) -> Result<BackupReport> {
        let env = &**self.env;
        let mut writer = Writer::create(self.env, path)?;
        let mut files = Vec::new();
        let (mut done, total) = (0, self.point.bytes());
        self.go_on(0, total)?;
        let table_files = self.point.files();
        for some in table_files.chunks(self.env.parallelism()) {
            if self.options.verify {
                for sound in env::parallel(env, some.to_vec(), |file: TableFile| file.verify()) {
                    sound?;
                }
            }
            for file in some {
                let mut sum = Checksummer::default();
                let before = done;
                let bytes = read_all(&*file.content(), &mut |content| {
                    sum.update(content);
                    // A shared file may have bytes that are not counted in the total.
                    done = total.min(done + content.len() as u64);
                    writer.push(content.to_vec())?;
                    self.go_on(done, total)
                })?;
                done = before + file.table_bytes();
                let (name, fingerprint) = (file.name(), file.fingerprint());
                files.push(Entry { name, bytes, checksum: sum.finish(), fingerprint });
            }
        }
        let scratch = MemoryEnv::new(1);
        Manifest::create_with(&scratch, Path::new("/"), &self.point.state).map_err(tree_error)?;
        for (name, content) in small_files(&scratch, Path::new("/"))? {
            files.push(entry_of(name, &content));
            for piece in content.chunks(CONTENT_BYTES_MAX) {
                writer.push(piece.to_vec())?;
            }
        }
        let list = self.point.list(files);
        Ok(BackupReport {
            files: list.files.len() as u64,
            copied: table_files.len() as u64,
            bytes_written: writer.finish(&list)?,
            bytes_total: list.bytes(),
            seq: list.seq,
            ..BackupReport::default()
        })
    }
}

/// An earlier backup, from which tables are linked.
struct Earlier {
    folder: PathBuf,
    _held: Arc<dyn HeldFolder>,
    tables: BTreeMap<String, Entry>,
}

impl Earlier {
    fn read(env: &dyn Env, folder: &Path, state: &State) -> Result<Self> {
        let folder = env.resolved(folder).map_err(env_error)?;
        if !env.exists(&folder) {
            read_list(env, &folder)?;
        }
        check_is_folder(env, &folder)?;
        let _held = env.hold(&folder).map_err(env_error)?;
        let list = read_list(env, &folder)?;
        if list.identity != state.identity().unwrap_or(0) {
            return Err(invalid(format!(
                "{} is a backup of another database\nhint: name an earlier backup of this one",
                folder.display()
            )));
        }
        let files = list.files.into_iter().map(|file| (file.name.clone(), file));
        Ok(Self { folder, _held, tables: files.collect() })
    }
}

/// How a file of tables was brought into the backup.
enum How {
    Linked,
    Reused,
    Copied,
}

/// A job that brings one file of tables into the backup's folder.
struct Keep {
    /// Environment of the target.
    env: Arc<dyn Env>,
    file: TableFile,
    to: PathBuf,
    /// The file's path, where it may be linked.
    link: Option<PathBuf>,
    earlier: Option<Arc<Earlier>>,
    verify: bool,
}

impl Keep {
    fn run(self) -> Result<(Entry, How)> {
        let (name, fingerprint) = (self.file.name(), self.file.fingerprint());
        let content = self.file.content();
        let bytes = match fingerprint {
            Some(_) => self.file.table_bytes(),
            None => content.len_bytes().map_err(env_error)?,
        };
        let entry = |checksum| Entry { name: name.clone(), bytes, checksum, fingerprint };
        if let Some(earlier) = &self.earlier
            && let Some(there) = earlier.tables.get(&name)
            && there.bytes == bytes
            && *there == entry(self.expected(there, &*content)?)
            && self.reuse(earlier, there)?
        {
            mark::hit(Mark::BackupReused);
            return Ok((entry(there.checksum), How::Reused));
        }
        if self.verify {
            self.file.verify()?;
        }
        if let Some(path) = &self.link {
            match self.env.link_if_possible(path, &self.to) {
                Ok(true) => {
                    mark::hit(Mark::BackupLinked);
                    let file = self.env.open_read(&self.to, ReadOptions::default());
                    return Ok((entry(checksum_of(&*file.map_err(env_error)?)?), How::Linked));
                }
                Ok(false) => {}
                // The writer has removed the name since; the open file can still be read.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(env_error(error)),
            }
        }
        mark::hit(Mark::BackupCopied);
        let mut to = self.env.create(&self.to).map_err(env_error)?;
        let mut sum = Checksummer::default();
        read_all(&*content, &mut |content| {
            sum.update(content);
            to.append(content).map_err(env_error)
        })?;
        to.sync().map_err(env_error)?;
        Ok((entry(sum.finish()), How::Copied))
    }

    /// The checksum that a file of an earlier backup must have. A fingerprint says as much as one.
    fn expected(&self, there: &Entry, content: &dyn RandomReadFile) -> Result<u64> {
        match self.file.fingerprint() {
            Some(_) => Ok(there.checksum),
            None => checksum_of(content),
        }
    }

    /// Links the table from the earlier backup; false where it has changed there.
    fn reuse(&self, earlier: &Earlier, there: &Entry) -> Result<bool> {
        let path = earlier.folder.join(&there.name);
        if !self.is_sound(&path, there)? {
            mark::hit(Mark::BackupEarlierUnsound);
            return Ok(false);
        }
        match self.env.link_if_possible(&path, &self.to) {
            Ok(linked) => Ok(linked),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(env_error(error)),
        }
    }

    fn is_sound(&self, path: &Path, there: &Entry) -> Result<bool> {
        let file = match self.env.open_read(path, ReadOptions::default()) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => return Err(env_error(error)),
        };
        Ok(file.len_bytes().map_err(env_error)? == there.bytes
            && (!self.verify || checksum_of(&*file)? == there.checksum))
    }
}

fn checksum_of(file: &dyn RandomReadFile) -> Result<u64> {
    let mut sum = Checksummer::default();
    read_all(file, &mut |content| {
        sum.update(content);
        Ok(())
    })?;
    Ok(sum.finish())
}

/// Reads the manifest and `CURRENT` of a folder, just after they were written.
fn small_files(env: &dyn Env, folder: &Path) -> Result<Vec<(String, Vec<u8>)>> {
    let names = env.list(folder).map_err(env_error)?.into_iter();
    let names = names.filter(|name| name == CURRENT || name.starts_with("MANIFEST-"));
    let read = |name: String| {
        let content = env.read_file(&folder.join(&name)).map_err(env_error)?;
        Ok((name, content))
    };
    names.map(read).collect()
}

fn entry_of(name: String, content: &[u8]) -> Entry {
    let checksum = base::checksum(content);
    Entry { name, bytes: content.len() as u64, checksum, fingerprint: None }
}

/// Whether two handles are one environment: only then does a path mean the same file in both.
fn is_same(a: &Arc<dyn Env>, b: &Arc<dyn Env>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(a), Arc::as_ptr(b))
}
