//! Checks on paths that the user names for a backup, restore, repair or export: they must not lie
//! in a database.
//!
//! # Why every database above the path counts, not only the open one
//! A file among the tables of a database, or in a backup, is removed or taken for damage at the
//! next opening. Nobody intends that; a path with `..` or a link in it leads there by mistake.

use crate::convert::invalid;
use crate::folder::{TABLES, WAL};
use env::Env;
use lsm::manifest::CURRENT;
use std::path::{Path, PathBuf};
use store::Result;

/// Returns the folder of the database or backup that contains `path`, at any depth. Links in `path`
/// must be resolved; `exists` tells which paths exist.
#[must_use]
pub fn database_around(path: &Path, exists: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let is_one =
        |above: &&Path| [CURRENT, TABLES, WAL].iter().all(|name| exists(&above.join(name)));
    path.ancestors().skip(1).find(is_one).map(Path::to_owned)
}

/// Refuses a resolved path within the folder of any database or backup.
pub(crate) fn check_is_outside(env: &dyn Env, path: &Path) -> Result<()> {
    match database_around(path, &|path| env.exists(path)) {
        None => Ok(()),
        Some(folder) => Err(invalid(format!(
            "{} lies in {}, which is a database or a backup\nhint: name a folder elsewhere",
            path.display(),
            folder.display()
        ))),
    }
}

/// Refuses an existing path that is not a folder.
pub(crate) fn check_is_folder(env: &dyn Env, path: &Path) -> Result<()> {
    let Err(env::EnvError::Io { source, .. }) = env.list(path) else { return Ok(()) };
    use std::io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    match source.kind() {
        NotADirectory | InvalidInput | NotFound if env.exists(path) => {
            Err(invalid(format!("{} is a file, and not a folder", path.display())))
        }
        // Other errors are left to the operation that uses the path next.
        _ => Ok(()),
    }
}
