//! Makes a database out of a backup, beside the place where it is to be, and then moves it there.
//!
//! # Why bytes are copied, and never linked
//! A link would be quicker, but then one bad sector takes the database and its backup.
//!
//! # Invariants
//! 1. Nothing at the target is touched before the new database was read whole and found sound.
//! 2. At any moment either the old database or the new one is whole, under the target's name or under one
//!    that [`finish_interrupted`] knows; each renaming is durable before the next.
//! 3. All of it happens under `TARGET.restore-lock`, which goes when its holder ends.
//! 4. A database that is replaced leaves its mode, owner and group to the new one, folders and
//!    files. An empty folder stays the folder that it is (somebody's working folder, say): the
//!    files are moved into it, `CURRENT` last.
//!
//! # Names beside the target
//! | name | what it is | without a target |
//! | --- | --- | --- |
//! | `TARGET.restore-new` | not finished | removed |
//! | `TARGET.restore-ready` | sound, to replace the target | becomes the target |
//! | `TARGET.restore-old` | the database that was replaced | becomes the target if there is no `restore-ready` |
//!
//! # What is removed
//! A folder under one of these names may be somebody else's, and a database in use. Only one that holds the file
//! [`MARK`], with the target's name in it, is a restore's: it is put there before anything else, or before the old
//! database is renamed, and is the last file to go. No link is followed: the target's are, once, at the beginning.

use crate::Kv;
use crate::KvOptions;
use crate::backup::archive::{Reader, is_archive_name};
use crate::backup::list::{Entry, LIST, List, UNFINISHED};
use crate::backup::{misfit, read_all};
use crate::convert::{env_error, tree_error};
use crate::open::{
    LOCK, TABLES, WAL, create_folder, create_folder_within, create_private_folder, hold_within,
    table_folders,
};
use crate::outside::{check_is_folder, check_is_outside};
use base::mark::{self, Mark};
use base::{Checksummer, SeqNo};
use env::{AppendFile, Env, FolderLock, HeldFolder, ReadOptions};
use lsm::context::table_file_name;
use lsm::manifest::{CURRENT, Manifest};
use lsm::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};

/// Where imports of the layers above spill; removed with the rest of a database.
const SPILL: &str = "tmp";

/// Says that a restore may remove the folder in which it lies.
pub(crate) const MARK: &str = "RESTORING";

/// What a restore may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Replace a database that is at the target.
    pub replace: bool,
}

/// What was restored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestoreReport {
    /// Files.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Row versions that were read and found in order.
    pub rows: u64,
    /// The newest commit in it.
    pub seq: SeqNo,
    /// When the backup was taken, in microseconds since 1970-01-01T00:00:00Z.
    pub moment_us: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Makes the database at `target` out of a backup: a folder, or a file whose name ends in `.qbak`. Every
/// checksum is compared, and every row read, before anything at `target` changes. `progress` is told
/// bytes done and in all: each is copied and then read.
///
/// # Errors
/// `InvalidInput` where `backup` is none, or did not finish, or something is at `target` that may not be
/// replaced; `Corruption` with file and offset; `Locked` where a process has the database at `target` open;
/// `Cancelled`; a failed read or write. What was at `target` is whole then.
pub fn restore(
    env: &Arc<dyn Env>,
    backup: &Path,
    target: &Path,
    options: RestoreOptions,
    progress: Progress<'_>,
) -> Result<RestoreReport> {
    let began_us = env.monotonic_us();
    let backup = &env.resolved(backup).map_err(env_error)?;
    let target = &env.resolved(target).map_err(env_error)?;
    let source = Source::open(env, backup)?;
    if env.is_within(target, backup) || env.is_within(backup, target) {
        return Err(invalid(format!(
            "{} and {} lie in each other",
            backup.display(),
            target.display()
        )));
    }
    check_is_outside(&**env, target)?;
    create_folder(&**env, parent(target))?;
    let held = env.hold(parent(target)).map_err(env_error)?;
    let places = Places::of(target);
    let lock = places.lock(&**env)?;
    places.finish(&**env, false)?;
    places.check_free(&**env)?;
    let old = old_database(&**env, target, options)?;
    let made = make(env, source, &places, progress);
    let swapped = made.and_then(|report| {
        places.swap(&**env, &old)?;
        Ok(report)
    });
    if swapped.is_err() {
        // The caller is told that nothing was restored, so the old one comes back if it still can.
        if matches!(old, Old::Empty(_)) {
            clear(&**env, target);
        }
        if !env.exists(target) && places.is_ours(&**env, &places.old) {
            mark::hit(Mark::RestoreUndone);
            let _ = places.rename(&**env, &places.old, target);
        }
        // Best effort, as is all cleaning up: the next opening for writing or restore tries again.
        let _ = places.finish(&**env, !matches!(old, Old::Missing));
    }
    drop(old);
    drop(lock);
    drop(held);
    let mut report = swapped?;
    // It is made: who is told so can no longer stop it.
    let _ = progress(2 * report.bytes, 2 * report.bytes);
    report.seconds = env.monotonic_us().saturating_sub(began_us) as f64 / 1e6;
    Ok(report)
}

/// Ends what a restore to `target` that was cut short began; usually there is nothing to do.
///
/// # Errors
/// `Locked` where a restore is running; a failed renaming; no target, and a database at one of the names beside it
/// that may be the one.
pub(crate) fn finish_interrupted(env: &dyn Env, target: &Path) -> Result<()> {
    let places = Places::of(target);
    if !places.all().iter().any(|place| env.exists(place)) {
        return Ok(());
    }
    let _held = env.hold(parent(target)).map_err(env_error)?;
    let is_some_ours = places.all().iter().any(|place| places.is_ours(env, place));
    if !is_some_ours && env.exists(target) {
        return Ok(());
    }
    mark::hit(Mark::RestoreFound);
    let lock = places.lock(env)?;
    let finished = places.finish(env, false);
    drop(lock);
    finished
}

/// Removes what says that a restore may remove the database in `folder`, which its opener has locked.
pub(crate) fn unmark(env: &dyn Env, folder: &Path) -> Result<()> {
    let mark = folder.join(MARK);
    if !env.exists(&mark) {
        return Ok(());
    }
    env.remove(&mark).map_err(env_error)?;
    env.sync_folder(folder).map_err(env_error)
}

/// Removes a database that is not open; its folder too, unless something else is in it.
///
/// # Errors
/// `Locked` where a process has it open; a folder that cannot be opened.
pub fn remove(env: &dyn Env, folder: &Path) -> Result<()> {
    let folder = env.resolved(folder).map_err(env_error)?;
    let _held = env.hold(parent(&folder)).map_err(env_error)?;
    let _lock = env.lock(&folder.join(LOCK), &env.process_line()).map_err(env_error)?;
    remove_database(env, &folder, false);
    Ok(())
}

/// The list of the backup in a folder.
///
/// # Errors
/// `InvalidInput` where there is none, `Corruption` where it is damaged.
pub(crate) fn read_list(env: &dyn Env, folder: &Path) -> Result<List> {
    let path = folder.join(LIST);
    match env.read_file(&path) {
        Ok(bytes) => Ok(List::decode(&path, 0, &bytes)?),
        Err(error) if error.is_not_found() => {
            let what = folder.display();
            Err(invalid(if env.exists(&folder.join(UNFINISHED)) {
                mark::hit(Mark::BackupUnfinished);
                format!(
                    "{what} is a backup that did not finish\nhint: it cannot be used; remove it"
                )
            } else if env.exists(&folder.join(CURRENT)) {
                format!(
                    "{what} is a database, and no backup of one: there is no file {LIST} in it\n\
                     hint: `backup` makes one"
                )
            } else {
                format!("{what} is no backup: there is no file {LIST} in it")
            }))
        }
        Err(error) => Err(env_error(error)),
    }
}

/// `NAME` with an ending.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// The folder that a path lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) => Path::new("."),
        None => Path::new("/"),
    }
}

/// The names of a restore; see the module's header.
struct Places {
    target: PathBuf,
    new: PathBuf,
    ready: PathBuf,
    old: PathBuf,
    lock: PathBuf,
}

impl Places {
    fn of(target: &Path) -> Self {
        Self {
            target: target.to_owned(),
            new: beside(target, "restore-new"),
            ready: beside(target, "restore-ready"),
            old: beside(target, "restore-old"),
            lock: beside(target, "restore-lock"),
        }
    }

    fn all(&self) -> [&Path; 3] {
        [&self.new, &self.ready, &self.old]
    }

    fn lock<'a>(&self, env: &'a dyn Env) -> Result<RestoreLock<'a>> {
        let holder = format!("a restore by {}", env.process_line());
        let lock = env.lock(&self.lock, &holder).map_err(env_error)?;
        Ok(RestoreLock { env, path: self.lock.clone(), _lock: lock })
    }

    fn rename(&self, env: &dyn Env, from: &Path, to: &Path) -> Result<()> {
        env.rename(from, to).map_err(env_error)?;
        env.sync_folder(parent(&self.target)).map_err(env_error)
    }

    /// What the mark says in a folder that a restore to this target may remove.
    fn words(&self) -> String {
        let target = self.target.file_name().unwrap_or_default();
        format!("a restore to {} may remove this folder\n", target.to_string_lossy())
    }

    /// Makes a folder one that a restore to this target may remove.
    fn put_mark(&self, env: &dyn Env, folder: &Path) -> Result<()> {
        let mark = folder.join(MARK);
        if env.exists(&mark) {
            // Cut short perhaps, by a power cut.
            env.remove(&mark).map_err(env_error)?;
        }
        let mut file = env.create(&mark).map_err(env_error)?;
        file.append(self.words().as_bytes()).map_err(env_error)?;
        file.sync().map_err(env_error)?;
        env.sync_folder(folder).map_err(env_error)
    }

    /// Whether a restore made what is at `place`, or moved it there. An empty folder is nobody's.
    fn is_ours(&self, env: &dyn Env, place: &Path) -> bool {
        match env.list(place) {
            // The mark is first to come and last to go; beside it, while it is written, is nothing.
            Ok(names) if names.is_empty() || names == [MARK] => true,
            Ok(_) => {
                env.read_file(&place.join(MARK)).is_ok_and(|words| words == self.words().as_bytes())
            }
            Err(_) => false,
        }
    }

    /// Puts the finished new database in place of the target.
    fn swap(&self, env: &dyn Env, old: &Old) -> Result<()> {
        match old {
            Old::Missing => self.rename(env, &self.new, &self.target)?,
            Old::Empty(_) => {
                self.move_into(env)?;
                self.remove_left(env, false);
            }
            Old::Database(_) => {
                keep_access(env, &self.target, &self.new)?;
                self.rename(env, &self.new, &self.ready)?;
                self.put_mark(env, &self.target)?;
                self.rename(env, &self.target, &self.old)?;
                self.rename(env, &self.ready, &self.target)?;
                mark::hit(Mark::RestoreReplaced);
                self.remove_left(env, true);
            }
        }
        // The next opening for writing does it where this fails.
        let _ = unmark(env, &self.target);
        Ok(())
    }

    /// Moves the finished new database into the target, an empty folder. Until `CURRENT` is there
    /// it is no database, and its mark says that a restore may empty it.
    fn move_into(&self, env: &dyn Env) -> Result<()> {
        self.put_mark(env, &self.target)?;
        for inner in [TABLES, WAL] {
            let (from, to) = (self.new.join(inner), self.target.join(inner));
            create_folder_within(env, &to)?;
            for name in env.list(&from).map_err(env_error)? {
                env.rename(&from.join(&name), &to.join(&name)).map_err(env_error)?;
            }
            env.sync_folder(&to).map_err(env_error)?;
            env.sync_folder(&from).map_err(env_error)?;
        }
        for name in env.list(&self.new).map_err(env_error)? {
            if ![TABLES, WAL, MARK, LOCK, CURRENT].contains(&&*name) {
                let to = self.target.join(&name);
                env.rename(&self.new.join(&name), &to).map_err(env_error)?;
            }
        }
        env.sync_folder(&self.target).map_err(env_error)?;
        env.rename(&self.new.join(CURRENT), &self.target.join(CURRENT)).map_err(env_error)?;
        // Both: a name that comes back in the other folder may take it from this one.
        env.sync_folder(&self.target).map_err(env_error)?;
        env.sync_folder(&self.new).map_err(env_error)
    }

    /// Empties the target where a restore that was cut short was moving a database into it.
    fn clear_half_moved(&self, env: &dyn Env) {
        let marked = self.target.join(MARK);
        if env.exists(&self.target.join(CURRENT)) || !env.exists(&marked) {
            return;
        }
        if self.is_ours(env, &self.target)
            && let Ok(_lock) = env.lock(&self.target.join(LOCK), &env.process_line())
        {
            clear(env, &self.target);
        }
    }

    /// Fails where something is at the names that a restore needs.
    fn check_free(&self, env: &dyn Env) -> Result<()> {
        let Some(place) = self.all().into_iter().find(|place| env.exists(place)) else {
            return Ok(());
        };
        let (place, is_ours) = (place.display(), self.is_ours(env, place));
        Err(match is_ours {
            true => Error::new(
                ErrorKind::Io,
                format!(
                    "{place} is left from an earlier restore, and cannot be removed\n\
                     hint: close it where it is open, then restore again"
                ),
            ),
            false => invalid(format!(
                "{place} is in the way, and was not made by a restore to {}\n\
                 hint: rename it, or move it elsewhere",
                self.target.display()
            )),
        })
    }

    /// Leaves the target, whole, if one of the names has it, and none of the others. `locked`: the old database's lock
    /// is held by the caller.
    fn finish(&self, env: &dyn Env, locked: bool) -> Result<()> {
        if !locked {
            self.clear_half_moved(env);
        }
        if !env.exists(&self.target) {
            let ways = [(&self.ready, Mark::RestoreCarriedOn), (&self.old, Mark::RestoreUndone)];
            for (whole, mark) in ways {
                if !env.exists(&whole.join(CURRENT)) {
                    continue;
                }
                if !self.is_ours(env, whole) {
                    return Err(invalid(format!(
                        "there is nothing at {}, and {} may be the database that was there\n\
                         hint: rename it to that, or to another name",
                        self.target.display(),
                        whole.display()
                    )));
                }
                self.rename(env, whole, &self.target)?;
                mark::hit(mark);
                break;
            }
        }
        self.remove_left(env, locked);
        Ok(())
    }

    fn remove_left(&self, env: &dyn Env, locked: bool) {
        for place in self.all() {
            if !env.exists(place) || !self.is_ours(env, place) {
                continue;
            }
            // Somebody may have opened it where it is.
            let lock_file = place.join(LOCK);
            let lock = match !locked && env.exists(&lock_file) {
                true => Some(env.lock(&lock_file, &env.process_line())),
                false => None,
            };
            if matches!(lock, Some(Err(_))) {
                continue;
            }
            if place == self.old {
                remove_outer_tables(env, place, &self.target);
            }
            remove_database(env, place, false);
        }
        // Whatever comes back after a power cut is removed then.
        let _ = env.sync_folder(parent(&self.target));
    }
}

/// The lock of a restore. Its file goes with it: while it is held still, so that nobody's lock is
/// removed but its own.
struct RestoreLock<'a> {
    env: &'a dyn Env,
    path: PathBuf,
    _lock: Box<dyn FolderLock>,
}

impl Drop for RestoreLock<'_> {
    fn drop(&mut self) {
        // Best effort: one that stays is taken by the next restore.
        let _ = self.env.remove(&self.path);
    }
}

/// What is at the target, locked until the restore has ended.
enum Old {
    Missing,
    /// A folder with nothing in it but this lock.
    Empty(#[expect(dead_code, reason = "held")] Box<dyn FolderLock>),
    /// A database to replace, under whatever name it has.
    Database(#[expect(dead_code, reason = "held")] Box<dyn FolderLock>),
}

/// Makes sure that a new database may come to `target`, and locks what is there.
fn old_database(env: &dyn Env, target: &Path, options: RestoreOptions) -> Result<Old> {
    if !env.exists(target) {
        return Ok(Old::Missing);
    }
    check_is_folder(env, target)?;
    let lock = || env.lock(&target.join(LOCK), &env.process_line()).map_err(env_error);
    let names = env.list(target).map_err(env_error)?;
    // A restore into an empty folder that was killed while it copied leaves its lock there.
    if names.iter().all(|name| name == LOCK) {
        return Ok(Old::Empty(lock()?));
    }
    if let Some(name) = names.iter().find(|name| !is_of_database(name)) {
        return Err(invalid(format!(
            "{} holds \"{name}\", which is no file of a database\n\
             hint: a restore replaces nothing else; name a new folder",
            target.display()
        )));
    }
    if !options.replace {
        return Err(invalid(format!(
            "{} is there already\nhint: name a new folder, or say that it is to be replaced",
            target.display()
        )));
    }
    Ok(Old::Database(lock()?))
}

/// Empties a folder into which a database was moved, whole or in part.
fn clear(env: &dyn Env, folder: &Path) {
    // First what makes it a database: one without its tables must not be opened.
    let _ = env.remove(&folder.join(CURRENT));
    let _ = env.sync_folder(folder);
    remove_database(env, folder, true);
}

/// Gives the files and folders of a new database the owner, the group and the mode of those that it
/// replaces.
fn keep_access(env: &dyn Env, old: &Path, new: &Path) -> Result<()> {
    let copy = |from: &Path, to: &Path| env.copy_access(from, to).map_err(env_error);
    let file = old.join(CURRENT);
    let file = if env.exists(&file) { Some(file) } else { None };
    for inner in [TABLES, WAL] {
        let (from, to) = (old.join(inner), new.join(inner));
        for name in env.list(&to).map_err(env_error)? {
            file.iter().try_for_each(|file| copy(file, &to.join(&name)))?;
        }
        copy(if env.exists(&from) { &from } else { old }, &to)?;
    }
    for name in env.list(new).map_err(env_error)? {
        if ![TABLES, WAL].contains(&&*name) {
            file.iter().try_for_each(|file| copy(file, &new.join(&name)))?;
        }
    }
    copy(old, new)
}

/// Copies a backup to the folder `to`, and reads all of it.
fn make(
    env: &Arc<dyn Env>,
    mut source: Source,
    places: &Places,
    progress: Progress<'_>,
) -> Result<RestoreReport> {
    let list = source.list().clone();
    let total = 2 * list.bytes();
    let mut done = 0;
    let mut go_on = |more: u64| {
        done += more;
        let stopped = Error::new(ErrorKind::Cancelled, "the restore was cancelled");
        if progress(done, total) { Ok(()) } else { Err(stopped) }
    };
    go_on(0)?;
    let to = &*places.new;
    create_private_folder(&**env, to)?;
    places.put_mark(&**env, to)?;
    create_folder_within(&**env, &to.join(TABLES))?;
    create_folder_within(&**env, &to.join(WAL))?;
    match &mut source {
        Source::Folder { from, .. } => {
            for some in list.files.chunks(env.parallelism()) {
                let job =
                    |entry: &Entry| (Arc::clone(env), from.clone(), to.to_owned(), entry.clone());
                let jobs = some.iter().map(job).collect();
                for copied in env::parallel(&**env, jobs, copy) {
                    go_on(copied?)?;
                }
            }
        }
        Source::Archive(reader) => {
            for entry in &list.files {
                unpack(&**env, reader, to, entry, &mut go_on)?;
            }
            if reader.next()?.is_some() {
                return Err(reader.misfit("more content than the list names").into());
            }
        }
    }
    for folder in [to.join(TABLES), to.to_owned()] {
        env.sync_folder(&folder).map_err(env_error)?;
    }

    let options =
        KvOptions { read_only: true, create: false, cache_bytes: 1 << 20, ..KvOptions::default() };
    let kv = Kv::open(Arc::clone(env), to, options)?;
    let mut rows = 0;
    for tables in all_tables(&kv).chunks(env.parallelism()) {
        let verify = |table: Arc<Table>| table.verify(&mut |_| true);
        for sound in env::parallel(&**env, tables.to_vec(), verify) {
            sound.map_err(tree_error)?;
        }
        rows += tables.iter().map(|table| table.meta().summary.rows).sum::<u64>();
        go_on(tables.iter().map(|table| table.meta().summary.bytes).sum())?;
    }
    Ok(RestoreReport {
        files: list.files.len() as u64,
        bytes: list.bytes(),
        rows,
        seq: SeqNo(list.seq),
        moment_us: list.moment_us,
        seconds: 0.0,
    })
}

fn all_tables(kv: &Kv) -> Vec<Arc<Table>> {
    let mut all = Vec::new();
    for entry in kv.inner.trees.load().iter() {
        let version = Arc::clone(&entry.tree.view().version);
        all.extend(version.tables().map(|(_, _, table)| Arc::clone(table)));
    }
    all
}

/// Where the files come from.
enum Source {
    /// Held, so that nothing of it is read through a link.
    Folder {
        from: PathBuf,
        list: List,
        _held: Arc<dyn HeldFolder>,
    },
    Archive(Box<Reader>),
}

impl Source {
    fn open(env: &Arc<dyn Env>, backup: &Path) -> Result<Self> {
        if !env.exists(backup) {
            let unfinished = beside(backup, "unfinished");
            let hint = if is_archive_name(backup) && env.exists(&unfinished) {
                format!("\nhint: {} is of a backup that did not finish", unfinished.display())
            } else {
                String::new()
            };
            return Err(invalid(format!("there is no backup {}{hint}", backup.display())));
        }
        if env.list(backup).is_ok() {
            let _held = env.hold(backup).map_err(env_error)?;
            let list = read_list(&**env, backup)?;
            return Ok(Self::Folder { from: backup.to_owned(), list, _held });
        }
        Ok(Self::Archive(Box::new(Reader::open(env, backup)?)))
    }

    fn list(&self) -> &List {
        match self {
            Self::Folder { list, .. } => list,
            Self::Archive(reader) => &reader.list,
        }
    }
}

/// Copies one file of a folder and compares it with its entry; returns its length.
fn copy((env, from, to, entry): (Arc<dyn Env>, PathBuf, PathBuf, Entry)) -> Result<u64> {
    let path = from.join(&entry.name);
    let file = match env.open_read(&path, ReadOptions::default()) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => {
            return Err(misfit(&path, 0, format!("the file is missing, but {LIST} names it")));
        }
        Err(error) => return Err(env_error(error)),
    };
    let bytes = file.len_bytes().map_err(env_error)?;
    // Tables never change; of the others there is an innocent reason.
    let hint = match entry.fingerprint {
        Some(_) => "",
        None => "\nhint: a backup that was opened for writing is an ordinary database from then on",
    };
    if bytes != entry.bytes {
        let what = format!("the file has {bytes} bytes, {LIST} says {}{hint}", entry.bytes);
        return Err(misfit(&path, bytes.min(entry.bytes), what));
    }
    let mut out = New::create(&*env, &to, &entry)?;
    read_all(&*file, &mut |content| out.append(content))?;
    if out.finish()? != entry.checksum {
        return Err(misfit(&path, 0, format!("the file is not the one that {LIST} names{hint}")));
    }
    Ok(bytes)
}

/// Writes the next file of an archive and compares it with its entry.
fn unpack(
    env: &dyn Env,
    reader: &mut Reader,
    to: &Path,
    entry: &Entry,
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let mut out = New::create(env, to, entry)?;
    let mut left = entry.bytes;
    while left > 0 {
        let content = reader.next()?;
        let content = content.filter(|content| content.len() as u64 <= left);
        let content = content
            .ok_or_else(|| reader.misfit(&format!("the frames do not make up {}", entry.name)))?;
        out.append(&content)?;
        left -= content.len() as u64;
        go_on(content.len() as u64)?;
    }
    if out.finish()? != entry.checksum {
        return Err(reader.misfit(&format!("{} does not match its checksum", entry.name)).into());
    }
    Ok(())
}

/// A file being written, with its checksum.
struct New {
    file: Box<dyn AppendFile>,
    sum: Checksummer,
}

impl New {
    fn create(env: &dyn Env, folder: &Path, entry: &Entry) -> Result<Self> {
        let file = env.create(&folder.join(&entry.name)).map_err(env_error)?;
        Ok(Self { file, sum: Checksummer::default() })
    }

    fn append(&mut self, content: &[u8]) -> Result<()> {
        self.sum.update(content);
        self.file.append(content).map_err(env_error)
    }

    fn finish(mut self) -> Result<u64> {
        self.file.sync().map_err(env_error)?;
        Ok(self.sum.finish())
    }
}

/// Whether a file or folder of this name belongs to a database or a backup.
fn is_of_database(name: &str) -> bool {
    const NAMES: [&str; 8] = [LOCK, CURRENT, TABLES, WAL, SPILL, LIST, UNFINISHED, MARK];
    NAMES.contains(&name)
        || name.starts_with("MANIFEST-")
        || name == "CURRENT.new"
        || crate::reserve::is_reserve(name)
}

/// Removes a database or a backup with all its files, as far as it can; what is of neither stays, and the
/// folder with it. `keep_folder`: the folder itself stays.
pub(crate) fn remove_database(env: &dyn Env, folder: &Path, keep_folder: bool) {
    for inner in [TABLES, WAL, SPILL] {
        let inner = folder.join(inner);
        for name in env.list(&inner).unwrap_or_default() {
            let _ = env.remove(&inner.join(name));
        }
        let _ = env.remove_folder(&inner);
    }
    // Last: what tells an unfinished backup, and the lock.
    let mut names = env.list(folder).unwrap_or_default();
    names.sort_by_key(|name| (name == UNFINISHED, name == LOCK));
    for name in names.iter().filter(|name| is_of_database(name) && *name != MARK) {
        let _ = env.remove(&folder.join(name));
    }
    if names.iter().any(|name| name == MARK) {
        // What is left of it must stay marked.
        let rest = env.list(folder).unwrap_or_default();
        if rest == [MARK] && env.sync_folder(folder).is_ok() {
            let _ = env.remove(&folder.join(MARK));
        }
    }
    if !keep_folder {
        let _ = env.remove_folder(folder);
    }
    let _ = env.sync_folder(if keep_folder { folder } else { parent(folder) });
}

/// Removes the tables that a database has in folders outside of its own, but none that the database
/// `target` may have by now: opening that one removes them.
fn remove_outer_tables(env: &dyn Env, folder: &Path, target: &Path) {
    let Ok(old) = Manifest::read(env, folder) else { return };
    let Ok(new) = Manifest::read(env, target) else { return };
    let Ok(folders) = table_folders(env, folder, old.folders()) else { return };
    for (i, outer) in folders.iter().enumerate().skip(1) {
        if new.folders().contains(&old.folders()[i]) {
            continue;
        }
        let Ok(held) = hold_within(env, outer) else { continue };
        for table in old.tables().filter(|table| usize::from(table.meta.folder) == i) {
            let _ = env.remove(&outer.join(table_file_name(table.meta.id)));
        }
        drop(held);
        let _ = env.remove_folder(outer);
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
