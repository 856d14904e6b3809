//! The folders that contain a database's tables: `tables` in its own folder, and those that the
//! user adds.

use crate::convert::env_error;
use crate::folder::{TABLES, create_folder_within, create_private_folder, hold_within};
use env::{Env, HeldFolder};
use lsm::manifest::State;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Start of the names of table folders outside of the database's own folder.
const OUTER: &str = "quipu-";

/// Names of the table folders for the manifest: the database's own, the known ones, then the new
/// ones. The order never changes, because a table is found by the index of its folder.
///
/// In a folder that the user names, each database has a subfolder: opening removes tables that the
/// manifest does not name, and those must never belong to another database. The subfolder's name
/// does not derive from the database's path, because a moved database may have a successor at its
/// old path.
pub(crate) fn table_folder_names(
    state: &State,
    identity: u128,
    new: &[PathBuf],
) -> Result<Vec<String>> {
    let mut names = state.folders().to_vec();
    if names.is_empty() {
        names.push(TABLES.to_owned());
    }
    for path in new {
        let own = path.join(format!("{OUTER}{:016x}", (identity >> 64) as u64));
        let name = own.to_str().ok_or_else(|| {
            let message = format!("the table folder {} is not UTF-8", path.display());
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        // A known folder keeps its name.
        if !names.iter().any(|known| Path::new(known).parent() == Some(path)) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Paths of the folders with these names. Links are followed in the part that the user named, and
/// nowhere below.
pub(crate) fn table_folders(
    env: &dyn Env,
    database: &Path,
    names: &[String],
) -> Result<Vec<PathBuf>> {
    let path = |name: &String| {
        let path = Path::new(name);
        let own = path.file_name().and_then(|own| own.to_str());
        match (path.parent(), own) {
            _ if name == TABLES => Ok(database.join(TABLES)),
            (Some(above), Some(own)) if path.is_absolute() && own.starts_with(OUTER) => {
                Ok(env.resolved(above).map_err(env_error)?.join(own))
            }
            _ => Err(Error::new(
                ErrorKind::InvalidInput,
                format!(
                    "the manifest names {name:?} as a folder of tables, which is none of a database"
                ),
            )),
        }
    };
    names.iter().map(path).collect()
}

/// Creates the table folders. The manifest names the first `known` of them already. Returns holds
/// of those outside of the database's own folder.
pub(crate) fn make_table_folders(
    env: &dyn Env,
    folders: &[PathBuf],
    known: usize,
) -> Result<Vec<Arc<dyn HeldFolder>>> {
    let mut held = Vec::new();
    for (at, folder) in folders.iter().enumerate() {
        // The manifest named this folder only after its name was durable, so it exists unless
        // somebody removed it.
        if at < known && env.exists(folder) {
            create_folder_within(env, folder)?;
        } else {
            create_private_folder(env, folder)?;
        }
        if at > 0 {
            held.push(hold_within(env, folder)?);
        }
    }
    Ok(held)
}
