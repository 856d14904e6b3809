//! Reads the intact edits of a damaged manifest.
//!
//! # Proof
//! Every record has a checksum, and each edit was true when it was written. So the sound records
//! before the first damage describe a state that the database once had. Later changes are not
//! known, and the user of the state must say so.

use super::edit::VersionEdit;
use super::{CURRENT, Manifest, State, file_name, log, parse_file_name, synced_bytes};
use crate::error::{Error, Result};
use base::Corruption;
use env::Env;
use std::path::{Path, PathBuf};

/// The result of [`Manifest::salvage`].
#[derive(Debug)]
pub struct SalvagedManifest {
    /// The fold of all sound records before the first damage.
    pub state: State,
    /// The file read.
    pub file: PathBuf,
    /// The damages found; empty if there were none.
    pub damages: Vec<Corruption>,
    /// Whether `state` is that of the last edit, and not an earlier one.
    pub is_newest: bool,
}

impl Manifest {
    /// Reads the manifest, or as much of it as is sound. Changes nothing.
    ///
    /// # Errors
    /// [`Error::Corruption`] where no manifest file has a sound first record; a failed read.
    pub fn salvage(env: &dyn Env, folder: &Path) -> Result<SalvagedManifest> {
        let mut damages = Vec::new();
        let whole = Self::read(env, folder);
        let current = folder.join(CURRENT);
        match &whole {
            Ok(_) => {}
            Err(Error::Corruption(corruption)) => damages.push(corruption.clone()),
            Err(Error::Env(error)) if error.is_not_found() => {
                damages.push(Corruption::new(
                    &current,
                    0,
                    "it is missing, or the file it names is",
                ));
            }
            Err(error) => return Err(error.clone()),
        }
        let names = env.list(folder)?;
        let mut numbers: Vec<u64> = names.iter().filter_map(|name| parse_file_name(name)).collect();
        numbers.sort_unstable();
        if let Ok(state) = whole {
            let file =
                folder.join(numbers.last().map_or_else(|| CURRENT.into(), |n| file_name(*n)));
            return Ok(SalvagedManifest { state, file, damages, is_newest: true });
        }
        for number in numbers.into_iter().rev() {
            let file = folder.join(file_name(number));
            let mut state = State::default();
            let mut records = 0_u64;
            let read = log::read_records(
                &file,
                &env.read_file(&file)?,
                0,
                synced_bytes,
                |offset, edit| {
                    let damaged = |what| Corruption::new(&file, offset, what);
                    let edit = VersionEdit::decode(edit).map_err(damaged)?;
                    state.apply(&edit).map_err(damaged)?;
                    records += 1;
                    Ok(())
                },
            );
            // Only `CURRENT` proves that the last record is present; without it an edit may be cut
            // off.
            let is_newest = read.is_ok() && !damages.iter().any(|damage| damage.file == file);
            if let Err(corruption) = read
                && !damages.contains(&corruption)
            {
                damages.push(corruption);
            }
            if records > 0 {
                return Ok(SalvagedManifest { state, file, damages, is_newest });
            }
        }
        let what = "no manifest file has a sound first record, so nothing says what the tables are";
        Err(damages.pop().unwrap_or_else(|| Corruption::new(&current, 0, what)).into())
    }
}
