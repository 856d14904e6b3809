//! The names beside the target of a restore, and the renames between them. Also completes or undoes
//! a restore that was interrupted.
//!
//! # Invariants
//! 1. At any time either the old database or the new one is whole, under the target's name or one
//!    of these names; each rename is durable before the next.
//! 2. Only folders with the restore's mark are removed.

use crate::convert::{env_error, invalid};
use crate::folder::{LOCK, TABLES, WAL, beside, create_folder_within, parent};
use crate::removal::{MARK, clear, remove_database, remove_outer_tables};
use base::mark::{self, Mark};
use env::{Env, FolderLock};
use lsm::manifest::CURRENT;
use std::path::{Path, PathBuf};
use store::{Error, ErrorKind, Result};

/// The names that a restore uses; see the header of `restore`.
pub(super) struct RestorePaths {
    pub(super) target: PathBuf,
    pub(super) new: PathBuf,
    pub(super) ready: PathBuf,
    pub(super) old: PathBuf,
    pub(super) lock: PathBuf,
}

impl RestorePaths {
    pub(super) fn of(target: &Path) -> Self {
        Self {
            target: target.to_owned(),
            new: beside(target, "restore-new"),
            ready: beside(target, "restore-ready"),
            old: beside(target, "restore-old"),
            lock: beside(target, "restore-lock"),
        }
    }

    pub(super) fn all(&self) -> [&Path; 3] {
        [&self.new, &self.ready, &self.old]
    }

    pub(super) fn lock<'a>(&self, env: &'a dyn Env) -> Result<RestoreLock<'a>> {
        let holder = format!("a restore by {}", env.process_line());
        let lock = env.lock(&self.lock, &holder).map_err(env_error)?;
        Ok(RestoreLock { env, path: self.lock.clone(), _lock: lock })
    }

    pub(super) fn rename(&self, env: &dyn Env, from: &Path, to: &Path) -> Result<()> {
        env.rename(from, to).map_err(env_error)?;
        env.sync_folder(parent(&self.target)).map_err(env_error)
    }

    /// Content of the mark in a folder that a restore to this target may remove.
    fn words(&self) -> String {
        let target = self.target.file_name().unwrap_or_default();
        format!("a restore to {} may remove this folder\n", target.to_string_lossy())
    }

    /// Marks a folder as one that a restore to this target may remove.
    pub(super) fn put_mark(&self, env: &dyn Env, folder: &Path) -> Result<()> {
        let mark = folder.join(MARK);
        if env.exists(&mark) {
            // It may have been truncated by a power cut.
            env.remove(&mark).map_err(env_error)?;
        }
        let mut file = env.create(&mark).map_err(env_error)?;
        file.append(self.words().as_bytes()).map_err(env_error)?;
        file.sync().map_err(env_error)?;
        env.sync_folder(folder).map_err(env_error)
    }

    /// Whether a restore to this target created or moved what is at `place`. An empty folder
    /// counts.
    pub(super) fn is_ours(&self, env: &dyn Env, place: &Path) -> bool {
        match env.list(place) {
            // The mark is created first and removed last; while it is written, nothing else is
            // there.
            Ok(names) if names.is_empty() || names == [MARK] => true,
            Ok(_) => {
                env.read_file(&place.join(MARK)).is_ok_and(|words| words == self.words().as_bytes())
            }
            Err(_) => false,
        }
    }

    /// Puts the finished new database at the target.
    pub(super) fn swap(&self, env: &dyn Env, old: &Old) -> Result<()> {
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
        // If this fails, the next opening for writing removes the mark.
        let _ = unmark(env, &self.target);
        Ok(())
    }

    /// Moves the finished new database into the target, an empty folder. Until `CURRENT` is there,
    /// the folder is not a database, and its mark allows a restore to empty it.
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
        // Both folders are synced: otherwise a power cut could undo the rename in one folder and
        // not in the other.
        env.sync_folder(&self.target).map_err(env_error)?;
        env.sync_folder(&self.new).map_err(env_error)
    }

    /// Empties the target where an interrupted restore was moving a database into it.
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

    /// Fails where one of the names that a restore needs is taken.
    pub(super) fn check_free(&self, env: &dyn Env) -> Result<()> {
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

    /// Leaves a whole database at the target if one of the names has it, and removes the other
    /// names. `locked` says whether the caller holds the old database's lock.
    pub(super) fn finish(&self, env: &dyn Env, locked: bool) -> Result<()> {
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
            // Another process may have opened the database under this name.
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
        // If a power cut undoes a removal, it is repeated later.
        let _ = env.sync_folder(parent(&self.target));
    }
}

/// Completes or undoes an interrupted restore to `target`; usually there is nothing to do.
///
/// # Errors
/// `Locked` where a restore is running; a failed rename; no target, but a database at one of the
/// names beside it that may be the right one.
pub(crate) fn finish_interrupted(env: &dyn Env, target: &Path) -> Result<()> {
    let paths = RestorePaths::of(target);
    if !paths.all().iter().any(|place| env.exists(place)) {
        return Ok(());
    }
    let _held = env.hold(parent(target)).map_err(env_error)?;
    let is_some_ours = paths.all().iter().any(|place| paths.is_ours(env, place));
    if !is_some_ours && env.exists(target) {
        return Ok(());
    }
    mark::hit(Mark::RestoreFound);
    let lock = paths.lock(env)?;
    let finished = paths.finish(env, false);
    drop(lock);
    finished
}

/// Removes the mark of a restore from the database in `folder`, which its opener has locked.
pub(crate) fn unmark(env: &dyn Env, folder: &Path) -> Result<()> {
    let mark = folder.join(MARK);
    if !env.exists(&mark) {
        return Ok(());
    }
    env.remove(&mark).map_err(env_error)?;
    env.sync_folder(folder).map_err(env_error)
}

/// The lock of a restore. Its file is removed while the lock is held, so that no other process's
/// lock is removed.
pub(super) struct RestoreLock<'a> {
    env: &'a dyn Env,
    path: PathBuf,
    _lock: Box<dyn FolderLock>,
}

impl Drop for RestoreLock<'_> {
    fn drop(&mut self) {
        // Best effort: a lock file that stays can be locked by the next restore.
        let _ = self.env.remove(&self.path);
    }
}

/// The previous contents of the target, locked until the restore ends.
pub(super) enum Old {
    Missing,
    /// A folder that contains only this lock's file.
    Empty(#[expect(dead_code, reason = "held")] Box<dyn FolderLock>),
    /// A database to replace, under its current name.
    Database(#[expect(dead_code, reason = "held")] Box<dyn FolderLock>),
}

/// Gives the files and folders of a new database the owner, group and mode of those that it
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
