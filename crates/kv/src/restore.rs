//! Makes a database from a backup beside the target, and then moves it there.
//!
//! `quipu` calls [`restore`]. An opening for writing completes an interrupted one ([`paths`]).
//!
//! # Why bytes are copied, and never linked
//! A link would be faster, but then one bad sector destroys both the database and its backup.
//!
//! # Invariants
//! 1. Nothing at the target changes before the new database was read completely and found sound.
//! 2. At any time either the old database or the new one is whole, under the target's name or one
//!    that [`paths::finish_interrupted`] knows; each rename is durable before the next.
//! 3. All of it happens under `TARGET.restore-lock`, which is removed when its holder ends.
//! 4. A replaced database passes its mode, owner and group on to the new one, folders and files. An
//!    empty folder is kept (it may be somebody's working folder): the files are moved into it,
//!    `CURRENT` last.
//!
//! # Names beside the target
//! | name | what it is | without a target |
//! | --- | --- | --- |
//! | `TARGET.restore-new` | not finished | removed |
//! | `TARGET.restore-ready` | sound, to replace the target | becomes the target |
//! | `TARGET.restore-old` | the replaced database | the target, unless `restore-ready` exists |
//!
//! # Removed files
//! A folder with one of these names may belong to somebody else, as a database in use. Only a
//! folder with the file `RESTORING`, which contains the target's name, belongs to a restore. The
//! file is created first in a new folder, and before the old database is renamed; it is removed
//! last. Links in the target's path are resolved once, at the beginning; no other link is followed.

use crate::backup::archive::{Reader, is_archive_name, read_all};
use crate::backup::list::{Entry, LIST, List, misfit, read_list};
use crate::convert::{env_error, invalid, tree_error};
use crate::folder::{
    LOCK, TABLES, WAL, beside, create_folder, create_folder_within, create_private_folder, parent,
};
use crate::kv::Kv;
use crate::options::KvOptions;
use crate::outside::{check_is_folder, check_is_outside};
use crate::removal::{clear, is_of_database};
use base::mark::{self, Mark};
use base::{Checksummer, SeqNo};
use env::{AppendFile, Env, HeldFolder, ReadOptions};
use lsm::table::Table;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};

pub(crate) mod paths;

use paths::{Old, RestorePaths};

/// Whether to replace a database at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RestoreOptions {
    /// Replace a database that is at the target.
    pub replace: bool,
}

/// Report of [`restore`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RestoreReport {
    /// Files.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Row versions that were read and checked.
    pub rows: u64,
    /// The newest commit in the database.
    pub seq: SeqNo,
    /// When the backup was taken, in microseconds since 1970-01-01T00:00:00Z.
    pub moment_us: u64,
    /// How long it took.
    pub seconds: f64,
}

/// Makes the database at `target` from a backup: a folder, or a file whose name ends in `.qbak`.
///
/// Every checksum is compared, and every row read, before anything at `target` changes. `progress`
/// gets the bytes done and the total; each byte is copied and then read.
///
/// # Errors
/// `InvalidInput` where `backup` is not a finished backup, or something at `target` may not be
/// replaced; `Corruption` with file and offset; `Locked` where a process has the database at
/// `target` open; `Cancelled`; a failed read or write. Then `target` is as before.
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
    let paths = RestorePaths::of(target);
    let lock = paths.lock(&**env)?;
    paths.finish(&**env, false)?;
    paths.check_free(&**env)?;
    let old = old_database(&**env, target, options)?;
    let made = make(env, source, &paths, progress);
    let swapped = made.and_then(|report| {
        paths.swap(&**env, &old)?;
        Ok(report)
    });
    if swapped.is_err() {
        // The caller gets an error, so the old database is moved back if possible.
        if matches!(old, Old::Empty(_)) {
            clear(&**env, target);
        }
        if !env.exists(target) && paths.is_ours(&**env, &paths.old) {
            mark::hit(Mark::RestoreUndone);
            let _ = paths.rename(&**env, &paths.old, target);
        }
        // Best effort: the next restore or opening for writing tries again.
        let _ = paths.finish(&**env, !matches!(old, Old::Missing));
    }
    drop(old);
    drop(lock);
    drop(held);
    let mut report = swapped?;
    // The restore is complete and can no longer be cancelled.
    let _ = progress(2 * report.bytes, 2 * report.bytes);
    report.seconds = env.monotonic_us().saturating_sub(began_us) as f64 / 1e6;
    Ok(report)
}

/// Checks that a restore may write to `target`, and locks the database that it replaces.
fn old_database(env: &dyn Env, target: &Path, options: RestoreOptions) -> Result<Old> {
    if !env.exists(target) {
        return Ok(Old::Missing);
    }
    check_is_folder(env, target)?;
    let lock = || env.lock(&target.join(LOCK), &env.process_line()).map_err(env_error);
    let names = env.list(target).map_err(env_error)?;
    // A restore into an empty folder that was killed while copying leaves its lock there.
    if names.iter().all(|name| name == LOCK) {
        return Ok(Old::Empty(lock()?));
    }
    if let Some(name) = names.iter().find(|name| !is_of_database(name)) {
        return Err(invalid(format!(
            "{} holds \"{name}\", which is not a file of a database\n\
             hint: a restore replaces nothing else; name a new folder",
            target.display()
        )));
    }
    if !options.replace {
        return Err(invalid(format!(
            "{} already exists\nhint: name a new folder, or say that it is to be replaced",
            target.display()
        )));
    }
    Ok(Old::Database(lock()?))
}

/// Copies a backup to the folder `to`, and reads all of it.
fn make(
    env: &Arc<dyn Env>,
    mut source: Source,
    paths: &RestorePaths,
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
    let to = &*paths.new;
    create_private_folder(&**env, to)?;
    paths.put_mark(&**env, to)?;
    create_folder_within(&**env, &to.join(TABLES))?;
    create_folder_within(&**env, &to.join(WAL))?;
    match &mut source {
        Source::Folder { from, .. } => copy_files(env, from, to, &list, &mut go_on)?,
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
    let rows = verify_rows(env, to, &mut go_on)?;
    Ok(RestoreReport {
        files: list.files.len() as u64,
        bytes: list.bytes(),
        rows,
        seq: list.seq,
        moment_us: list.moment_us,
        seconds: 0.0,
    })
}

/// Copies the files that `list` names, several at a time. `go_on` gets the bytes of each.
fn copy_files(
    env: &Arc<dyn Env>,
    from: &Path,
    to: &Path,
    list: &List,
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    for some in list.files.chunks(env.parallelism()) {
        let job = |entry: &Entry| (Arc::clone(env), from.to_owned(), to.to_owned(), entry.clone());
        for copied in env::parallel(&**env, some.iter().map(job).collect(), copy) {
            go_on(copied?)?;
        }
    }
    Ok(())
}

/// Reads every table of the database in a folder; returns the number of row versions. `go_on` gets
/// the bytes of the tables.
fn verify_rows(
    env: &Arc<dyn Env>,
    folder: &Path,
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<u64> {
    let options =
        KvOptions { read_only: true, create: false, cache_bytes: 1 << 20, ..KvOptions::default() };
    let kv = Kv::open(Arc::clone(env), folder, options)?;
    let mut rows = 0;
    for tables in all_tables(&kv).chunks(env.parallelism()) {
        let verify = |table: Arc<Table>| table.verify(&mut |_| true);
        for sound in env::parallel(&**env, tables.to_vec(), verify) {
            sound.map_err(tree_error)?;
        }
        rows += tables.iter().map(|table| table.meta().summary.rows).sum::<u64>();
        go_on(tables.iter().map(|table| table.meta().summary.bytes).sum())?;
    }
    Ok(rows)
}

fn all_tables(kv: &Kv) -> Vec<Arc<Table>> {
    let mut all = Vec::new();
    for entry in kv.inner.trees.load().iter() {
        let version = Arc::clone(&entry.tree.view().version);
        all.extend(version.tables().map(|(_, _, table)| Arc::clone(table)));
    }
    all
}

/// Source of a backup's files.
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

/// Copies one file of a folder and compares it with its list entry; returns its length in bytes.
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
    // A table never changes. The manifest does if the backup was opened for writing.
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

/// Writes the next file of an archive and compares it with its list entry.
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

/// A file that is being written, with its checksum.
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
