//! The manifest: which keyspaces exist and which tables they are made of, as a log of edits.
//!
//! # Why a log
//! A flush, a compaction or a bulk load replaces some tables by others. One checksummed record does
//! so for any number of trees at once, so a crash leaves the database before the edit or after it.
//!
//! # Invariants
//! 1. `CURRENT` names a manifest file whose first record, a snapshot of all before it, was synced
//!    before `CURRENT` was.
//! 2. [`Manifest::append`] returns after the record is synced; only then may files that the edit
//!    removed be deleted, and only then may readers see what it added.
//! 3. `CURRENT` also says how long the file was when the last edit was acknowledged, so that damage
//!    to such an edit is never taken for an append that a crash cut short. It is replaced after the
//!    record is synced and before [`Manifest::append`] returns. A power cut may undo the
//!    replacement, but never the record. What [`Manifest::append_unsynced`] wrote counts after a
//!    crash only as far as it is found in order and without a gap.
//! 4. After a failed write or sync nothing more is appended.
//! 5. Bytes count as acknowledged only after a sync of them succeeded in the process that wrote
//!    them. What an opening finds behind them may live in the page cache alone, and a sync would
//!    not help: after a failed sync, Linux treats the pages as clean. So such an opening appends
//!    nothing to the file. It writes all it read to a new file, synced before `CURRENT` names it,
//!    and only then is anything removed or built on it.

mod edit;
mod log;
mod salvage;
mod state;

pub use edit::{AddedKeyspace, ChangedKeyspace, VersionEdit};
pub use salvage::SalvagedManifest;
pub use state::{KeyspaceState, State};

use crate::error::{Error, Result};
use base::{Corruption, checksum};
use env::{AppendFile, Env};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names the manifest file in use, and how many of its bytes were acknowledged.
pub const CURRENT: &str = "CURRENT";
const CURRENT_NEW: &str = "CURRENT.new";
const PREFIX: &str = "MANIFEST-";

/// A file shorter than this is not rotated, however small its snapshot would be.
const ROTATE_BYTES: u64 = 4 << 20;
/// A file is rotated once it is this many times its snapshot.
const ROTATE_FACTOR: u64 = 4;

/// The manifest of an open database. One writer; readers use [`Manifest::read`].
#[derive(Debug)]
pub struct Manifest {
    env: Arc<dyn Env>,
    folder: PathBuf,
    number: u64,
    file: Box<dyn AppendFile>,
    state: State,
    /// Bytes of the newest snapshot that was encoded, so that not every append encodes one.
    snapshot_bytes: u64,
    rotate_bytes: u64,
    /// Bytes of the file that are synced.
    synced_bytes: u64,
    broken: bool,
}

impl Manifest {
    /// Starts the manifest of a new database in `folder`, which exists.
    ///
    /// # Errors
    /// A manifest that already exists, or a failed write.
    pub fn create(env: Arc<dyn Env>, folder: &Path) -> Result<Self> {
        if env.exists(&folder.join(CURRENT)) {
            return Err(Error::Invalid(format!("{} holds a database already", folder.display())));
        }
        // Left by a creation that a crash cut short: nothing points to it.
        remove_others(&*env, folder, None)?;
        let state = State::default();
        let (file, snapshot_bytes) = begin_file(&*env, folder, 1, &state)?;
        let folder = folder.to_owned();
        Ok(Self {
            env,
            folder,
            number: 1,
            synced_bytes: file.len_bytes(),
            file,
            state,
            snapshot_bytes,
            rotate_bytes: ROTATE_BYTES,
            broken: false,
        })
    }

    /// Writes the manifest of a backup, a database whose tables all exist already. The last step
    /// makes the folder a database, all or nothing. Its name and the names in it are durable then.
    ///
    /// # Errors
    /// A manifest that already exists, or a failed write.
    pub fn create_with(env: &dyn Env, folder: &Path, state: &State) -> Result<()> {
        if env.exists(&folder.join(CURRENT)) {
            return Err(Error::Invalid(format!("{} holds a database already", folder.display())));
        }
        begin_file(env, folder, 1, state)?;
        Ok(())
    }

    /// Opens the manifest to append to it, and returns the state after all edits; they are on the
    /// disk then. If the file ends in an append that was not acknowledged, a new file is begun.
    /// Files that `CURRENT` does not name are removed.
    ///
    /// # Errors
    /// Corruption with file and offset; a missing `CURRENT` is `NotFound` of the environment.
    pub fn open(env: Arc<dyn Env>, folder: &Path) -> Result<(Self, State)> {
        let Current { number, bytes } = read_current(&*env, folder)?;
        let path = folder.join(file_name(number));
        let content = env.read_file(&path).map_err(|error| missing(error, &path))?;
        let found = read_state(&path, &content, bytes)?;
        if found.sound_bytes < content.len() as u64 {
            base::mark::hit(base::mark::Mark::ManifestTail);
        }
        remove_others(&*env, folder, Some(number))?;
        let (number, file, snapshot_bytes) = if bytes == content.len() as u64 {
            let mut file = env.open_append(&path, bytes)?;
            // It was synced already, unless the folder is a copy.
            file.sync()?;
            env.sync_folder(folder)?;
            (number, file, found.first_record_bytes)
        } else {
            base::mark::hit(base::mark::Mark::ManifestRewritten);
            let (file, snapshot_bytes) = begin_file(&*env, folder, number + 1, &found.state)?;
            env.remove(&path)?;
            (number + 1, file, snapshot_bytes)
        };
        let manifest = Self {
            env,
            folder: folder.to_owned(),
            number,
            synced_bytes: file.len_bytes(),
            file,
            state: found.state.clone(),
            snapshot_bytes,
            rotate_bytes: ROTATE_BYTES,
            broken: false,
        };
        Ok((manifest, found.state))
    }

    /// Reads the current state without changing anything: for readers beside the writer, and
    /// for checking. An append in progress is not seen.
    ///
    /// # Errors
    /// As [`Manifest::open`].
    pub fn read(env: &dyn Env, folder: &Path) -> Result<State> {
        loop {
            let Current { number, bytes } = read_current(env, folder)?;
            let path = folder.join(file_name(number));
            match env.read_file(&path) {
                Ok(content) => return Ok(read_state(&path, &content, bytes)?.state),
                // The writer has begun a new file in between: look again, as long as `CURRENT`
                // really moved on.
                Err(error) if error.is_not_found() => {
                    if read_current(env, folder)?.number == number {
                        return Err(missing(error, &path));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Makes one edit durable, and applies it to [`Manifest::state`].
    ///
    /// # Errors
    /// `Invalid`, nothing changed, for an edit that contradicts the state; after a failed write the
    /// manifest takes no more edits.
    pub fn append(&mut self, edit: &VersionEdit) -> Result<()> {
        self.append_unsynced(edit)?;
        self.sync()
    }

    /// Makes all edits durable that were written.
    ///
    /// # Errors
    /// After a failed sync the manifest takes no more edits.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        if self.is_synced() {
            return Ok(());
        }
        self.broken = true;
        self.file.sync()?;
        self.synced_bytes = self.file.len_bytes();
        point_to(&*self.env, &self.folder, self.number, self.synced_bytes)?;
        self.broken = false;
        Ok(())
    }

    /// As [`Manifest::append`], but a power cut may take the edit back, with all that come behind
    /// it, until [`Manifest::sync`] or the next [`Manifest::append`] returns. A killed process does
    /// not.
    ///
    /// # Errors
    /// As [`Manifest::append`].
    pub fn append_unsynced(&mut self, edit: &VersionEdit) -> Result<()> {
        self.check()?;
        let at = self.file.len_bytes();
        let bytes = match self.is_synced() {
            true => edit.encode(),
            false => {
                let synced_bytes = Some(self.synced_bytes);
                VersionEdit { synced_bytes, ..edit.clone() }.encode()
            }
        };
        let mut record = Vec::new();
        log::put_record(&mut record, at, &bytes)
            .ok_or_else(|| Error::Invalid("a version edit is longer than 4 GiB".into()))?;
        drop(bytes);
        self.state.apply(edit).map_err(Error::Invalid)?;
        self.broken = true;
        self.file.append(&record)?;
        self.file.flush()?;
        self.rotate_if_due()?;
        self.broken = false;
        Ok(())
    }

    fn check(&self) -> Result<()> {
        if self.broken {
            let path = self.folder.join(file_name(self.number));
            return Err(Error::Invalid(format!(
                "an earlier write to {} failed; close the database and open it again",
                path.display()
            )));
        }
        Ok(())
    }

    /// Whether all that was written is synced.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced_bytes == self.file.len_bytes()
    }

    /// The state after all edits so far.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Path of the file in use.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.join(file_name(self.number))
    }

    /// Begins a new file, synced, where the present one has grown.
    fn rotate_if_due(&mut self) -> Result<()> {
        let bytes = self.file.len_bytes();
        if bytes < self.rotate_bytes || bytes < ROTATE_FACTOR * self.snapshot_bytes {
            return Ok(());
        }
        self.snapshot_bytes = self.state.snapshot().encode().len() as u64;
        if bytes < ROTATE_FACTOR * self.snapshot_bytes {
            return Ok(());
        }
        base::mark::hit(base::mark::Mark::ManifestRotated);
        let number = self.number + 1;
        let (file, snapshot_bytes) = begin_file(&*self.env, &self.folder, number, &self.state)?;
        let old = self.path();
        self.number = number;
        self.synced_bytes = file.len_bytes();
        self.file = file;
        self.snapshot_bytes = snapshot_bytes;
        self.env.remove(&old)?;
        Ok(())
    }
}

/// The contents of a manifest file.
struct Found {
    state: State,
    /// Behind these lies an append that a crash cut short.
    sound_bytes: u64,
    first_record_bytes: u64,
}

/// The contents of `CURRENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Current {
    /// Number of the manifest file in use.
    number: u64,
    /// How long that file was, in bytes, when the last edit was acknowledged.
    bytes: u64,
}

fn read_state(path: &Path, bytes: &[u8], acknowledged: u64) -> Result<Found> {
    let mut state = State::default();
    let mut first_record_bytes = 0;
    let sound_bytes =
        log::read_records(path, bytes, acknowledged, synced_bytes, |offset, edit| {
            if first_record_bytes == 0 {
                first_record_bytes = edit.len() as u64;
            }
            let damaged = |what| Corruption::new(path, offset, what);
            let edit = VersionEdit::decode(edit).map_err(damaged)?;
            state.apply(&edit).map_err(damaged)
        })?;
    Ok(Found { state, sound_bytes, first_record_bytes })
}

/// How many bytes of the file an edit that stands at `offset` calls synced.
fn synced_bytes(offset: u64, edit: &[u8]) -> u64 {
    // One that cannot be read is damage itself, and tells of none.
    VersionEdit::decode(edit).map_or(0, |edit| edit.synced_bytes.unwrap_or(offset).min(offset))
}

/// Writes a file that holds one snapshot, and makes `CURRENT` name it, durably. Returns the file
/// and its length in bytes.
fn begin_file(
    env: &dyn Env,
    folder: &Path,
    number: u64,
    state: &State,
) -> Result<(Box<dyn AppendFile>, u64)> {
    let mut bytes = log::file_header();
    let offset = bytes.len() as u64;
    log::put_record(&mut bytes, offset, &state.snapshot().encode())
        .ok_or_else(|| Error::Invalid("the manifest is longer than 4 GiB".into()))?;
    let mut file = env.create(&folder.join(file_name(number)))?;
    file.append(&bytes)?;
    file.sync()?;
    env.sync_folder(folder)?;
    point_to(env, folder, number, bytes.len() as u64)?;
    env.sync_folder(folder)?;
    Ok((file, bytes.len() as u64))
}

/// Replaces `CURRENT` at one stroke. Durable after the folder is synced; until then a power cut may
/// leave the one before, which is as true.
fn point_to(env: &dyn Env, folder: &Path, number: u64, bytes: u64) -> Result<()> {
    let said = format!("{} {bytes}", file_name(number));
    let line = format!("{said} {:016x}\n", checksum(said.as_bytes()));
    let new = folder.join(CURRENT_NEW);
    let mut file = env.create(&new)?;
    file.append(line.as_bytes())?;
    file.sync()?;
    drop(file);
    env.rename(&new, &folder.join(CURRENT))?;
    Ok(())
}

fn read_current(env: &dyn Env, folder: &Path) -> Result<Current> {
    let path = folder.join(CURRENT);
    let line = env.read_file(&path)?;
    let what = "it does not name a manifest, its length and their checksum";
    Ok(parse_current(&line).ok_or_else(|| Corruption::new(&path, 0, what))?)
}

fn parse_current(line: &[u8]) -> Option<Current> {
    let line = std::str::from_utf8(line).ok()?;
    let (said, check) = line.strip_suffix('\n')?.rsplit_once(' ')?;
    if check != format!("{:016x}", checksum(said.as_bytes())) {
        return None;
    }
    let (name, bytes) = said.split_once(' ')?;
    Some(Current { number: parse_file_name(name)?, bytes: bytes.parse().ok()? })
}

/// `CURRENT` names the file, so that it is not there is damage.
fn missing(error: env::EnvError, path: &Path) -> Error {
    if error.is_not_found() {
        return Corruption::new(path, 0, "the manifest is missing, but CURRENT names it").into();
    }
    error.into()
}

/// Removes manifest files but that of number `keep`, and a `CURRENT` that was never renamed.
fn remove_others(env: &dyn Env, folder: &Path, keep: Option<u64>) -> Result<()> {
    let mut names = env.list(folder)?;
    names.retain(|name| {
        let number = parse_file_name(name);
        name == CURRENT_NEW || number.is_some() && number != keep
    });
    if !names.is_empty() {
        // The process that renamed `CURRENT` may have been killed before it synced the folder, and
        // a power cut would then restore the previous one.
        env.sync_folder(folder)?;
    }
    names.iter().try_for_each(|name| Ok(env.remove(&folder.join(name))?))
}

fn file_name(number: u64) -> String {
    format!("{PREFIX}{number:06}")
}

fn parse_file_name(name: &str) -> Option<u64> {
    let number = name.strip_prefix(PREFIX)?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

#[cfg(test)]
mod tests;
