//! Names in the folder of a database, and functions that create and hold folders.

use crate::convert::env_error;
use env::{Env, EnvError, HeldFolder};
use std::io::ErrorKind as ErrorKindIo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Name of the file that the writing process locks.
pub(crate) const LOCK: &str = "LOCK";
/// Name of the folder of tables.
pub(crate) const TABLES: &str = "tables";
/// Name of the folder of the write-ahead log.
pub(crate) const WAL: &str = "wal";

/// Creates a folder and its parents and makes their names durable.
///
/// A file that was synced is lost if its folder's name is lost in a power cut. All names up to the
/// root are synced, also those of existing folders: an earlier process may have created them, and
/// failed to sync a name far up.
pub(crate) fn create_folder(env: &dyn Env, folder: &Path) -> Result<()> {
    create_folder_within(env, folder)?;
    folder.ancestors().skip(2).try_for_each(|above| sync_if_ours(env, above))
}

/// As [`create_folder`]; a new folder is readable by its owner alone.
pub(crate) fn create_private_folder(env: &dyn Env, folder: &Path) -> Result<()> {
    env.create_private_folder(folder).map_err(env_error)?;
    create_folder(env, folder)
}

/// Creates a folder and makes its name durable, in a parent whose own name is durable.
pub(crate) fn create_folder_within(env: &dyn Env, folder: &Path) -> Result<()> {
    env.create_folder(folder).map_err(env_error)?;
    // An existing folder's name is synced too: a process that was killed may have created it
    // without the sync.
    match folder.parent() {
        Some(parent) => env.sync_folder(or_here(parent)).map_err(env_error),
        None => Ok(()),
    }
}

/// Syncs the names in a folder if the process may do so.
pub(crate) fn sync_if_ours(env: &dyn Env, folder: &Path) -> Result<()> {
    match env.sync_folder(or_here(folder)) {
        // This process has no right to sync the folder, so it has created nothing in it.
        Err(EnvError::Io { source, .. })
            if matches!(
                source.kind(),
                ErrorKindIo::PermissionDenied
                    | ErrorKindIo::InvalidInput
                    | ErrorKindIo::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced.map_err(env_error),
    }
}

/// The parent of a relative path with one component is the current folder.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Holds a folder, and refuses a link to one.
pub(crate) fn hold_within(env: &dyn Env, folder: &Path) -> Result<Arc<dyn HeldFolder>> {
    let _above = env.hold(parent(folder)).map_err(env_error)?;
    env.hold(folder).map_err(env_error)
}

pub(crate) fn missing(folder: &Path) -> Error {
    Error::new(
        ErrorKind::InvalidInput,
        format!("there is no Quipu database in {}", folder.display()),
    )
}

/// The folder that contains a path.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().map_or(Path::new("/"), or_here)
}

/// `path` with `.ending` appended.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
