//! Paths that the user names for a backup, a restore, a repair or an export: what must not be
//! there.
//!
//! # Why every database above counts, and not only the one that is open
//! A file that is put among the tables of a database, or into a backup, is removed or taken for
//! damage by whoever opens it next. Nobody means to do that; a path with `..` or a link in it leads
//! there by mistake.

use crate::open::{TABLES, WAL};
use env::Env;
use lsm::manifest::CURRENT;
use std::path::{Path, PathBuf};
use store::{Error, ErrorKind, Result};

/// The database or the backup in whose folder a file at `path` would lie, at any depth. The links
/// of `path` are followed already; `exists` says what is there.
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

/// Refuses what is there and no folder.
pub(crate) fn check_is_folder(env: &dyn Env, path: &Path) -> Result<()> {
    let Err(env::EnvError::Io { source, .. }) = env.list(path) else { return Ok(()) };
    use std::io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    match source.kind() {
        NotADirectory | InvalidInput | NotFound if env.exists(path) => {
            Err(invalid(format!("{} is a file, and not a folder", path.display())))
        }
        // Whatever is wrong with it, its next user meets that too.
        _ => Ok(()),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
