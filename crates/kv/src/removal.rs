//! Removes the files of a database that is not open, or of a backup.

use crate::backup::list::{LIST, UNFINISHED};
use crate::convert::env_error;
use crate::folder::{LOCK, TABLES, WAL, hold_within, parent};
use crate::reserve::is_reserve;
use crate::table_folders::table_folders;
use env::Env;
use lsm::context::table_file_name;
use lsm::manifest::{CURRENT, Manifest};
use std::path::Path;
use store::Result;

/// Folder in which imports of `quipu` spill; removed with the rest of a database.
const SPILL: &str = "tmp";

/// File that allows a restore to remove the folder it is in.
pub(crate) const MARK: &str = "RESTORING";

/// Removes a database that is not open, and its folder unless something else is in it.
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

/// Removes the files of a database or a backup, as far as possible. Other files stay, and the
/// folder with them. `keep_folder` keeps the folder in any case.
pub(crate) fn remove_database(env: &dyn Env, folder: &Path, keep_folder: bool) {
    for inner in [TABLES, WAL, SPILL] {
        let inner = folder.join(inner);
        for name in env.list(&inner).unwrap_or_default() {
            let _ = env.remove(&inner.join(name));
        }
        let _ = env.remove_folder(&inner);
    }
    // Removed last: the mark of an unfinished backup, and the lock.
    let mut names = env.list(folder).unwrap_or_default();
    names.sort_by_key(|name| (name == UNFINISHED, name == LOCK));
    for name in names.iter().filter(|name| is_of_database(name) && *name != MARK) {
        let _ = env.remove(&folder.join(name));
    }
    if names.iter().any(|name| name == MARK) {
        // Files that could not be removed must stay marked.
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

/// Empties a folder into which a database was moved, completely or in part.
pub(crate) fn clear(env: &dyn Env, folder: &Path) {
    // `CURRENT` first: a database without its tables must not be opened.
    let _ = env.remove(&folder.join(CURRENT));
    let _ = env.sync_folder(folder);
    remove_database(env, folder, true);
}

/// Removes a database's tables in folders outside of its own, except those that `target` may own by
/// now: opening that one removes them if it does not.
pub(crate) fn remove_outer_tables(env: &dyn Env, folder: &Path, target: &Path) {
    let Ok(old) = Manifest::read(env, folder) else { return };
    let Ok(new) = Manifest::read(env, target) else { return };
    let Ok(folders) = table_folders(env, folder, old.folders()) else { return };
    for (i, outer) in folders.iter().enumerate().skip(1) {
        if new.folders().contains(&old.folders()[i]) {
            continue;
        }
        let Ok(held) = hold_within(env, outer) else { continue };
        for table in old.tables().filter(|table| usize::from(table.meta.folder) == i) {
            let _ = env.remove(&outer.join(table_file_name(table.meta.file_id())));
        }
        drop(held);
        let _ = env.remove_folder(outer);
    }
}

/// Whether a file or folder with this name belongs to a database or a backup.
pub(crate) fn is_of_database(name: &str) -> bool {
    const NAMES: [&str; 8] = [LOCK, CURRENT, TABLES, WAL, SPILL, LIST, UNFINISHED, MARK];
    NAMES.contains(&name)
        || name.starts_with("MANIFEST-")
        || name == "CURRENT.new"
        || is_reserve(name)
}
