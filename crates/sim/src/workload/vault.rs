//! What each backup of a run must hold, and what may lie where one was restored to.
//!
//! # Invariants
//! 1. A backup that was acknowledged holds the state of its moment for ever, whatever becomes of the database.
//! 2. One that was not is refused, or holds the state of some moment while it was being made.
//! 3. A restore that was acknowledged is what lies at its place; one that was cut short left the old or the new.

use crate::workload::model::{Model, State};
use crate::workload::read::Ids;
use crate::workload::spaces::{NAMES, Slot};
use base::KeyspaceId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// Where backups go.
const BACKUPS: &str = "/backups";
/// Where they are restored to.
const RESTORED: &str = "/restored";

/// Places that steps restore to.
pub const PLACES: u8 = 2;

/// What a backup is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A folder.
    Folder,
    /// A folder that shares tables with the one made so many before.
    Incremental(u8),
    /// One file.
    Archive,
}

/// A backup to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupStep {
    /// As what.
    pub way: Way,
    /// See [`kv::BackupOptions`].
    pub verify: bool,
    /// By the read-only process beside the writer.
    pub by_follower: bool,
    /// Cancelled when its progress is told so many times; 0 is never.
    pub stop_after: u8,
}

/// A restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreStep {
    /// Of the backup made so many before the newest.
    pub which: u8,
    /// Where to.
    pub place: u8,
    /// Whether it may replace what is there.
    pub replace: bool,
}

/// What became of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is being made.
    Making,
    /// It was acknowledged, with this moment.
    Made(u64),
    /// The call was an error, or never returned. Where the machine fails, `half_removed`: what was cleared away of it
    /// need not be what a check of it asks for first.
    Failed {
        /// See above.
        half_removed: bool,
    },
    /// It was removed.
    Gone,
}

/// A backup, and what it may hold.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Where it is.
    pub path: PathBuf,
    /// Not one file.
    pub is_folder: bool,
    /// What became of it.
    pub status: Status,
    /// Steps that read it now.
    pub readers: usize,
    /// States that it may hold, by moment; where it was made, that of its moment alone, once it is known.
    pub moments: BTreeMap<u64, State>,
    /// Keyspaces that it must have.
    must: Ids,
    /// Keyspaces that it may have.
    may: BTreeSet<KeyspaceId>,
    may_slots: BTreeSet<Slot>,
}

impl Backup {
    /// Judges which keyspaces it has.
    ///
    /// # Errors
    /// One too few or too many.
    pub fn judge_keyspaces(&self, found: &Ids) -> Result<(), String> {
        let name = |slot: &Slot| NAMES[usize::from(*slot)];
        if let Some((slot, id)) = self.must.iter().find(|(slot, id)| found.get(slot) != Some(id)) {
            return Err(format!("the backup lacks keyspace {} \"{}\"", id.0, name(slot)));
        }
        let may =
            |slot: &Slot, id: &KeyspaceId| self.may.contains(id) || self.may_slots.contains(slot);
        match found.iter().find(|(slot, id)| !may(slot, id)) {
            None => Ok(()),
            Some((slot, id)) => {
                Err(format!("the backup has keyspace {} \"{}\", which was not", id.0, name(slot)))
            }
        }
    }
}

/// What a restore put at a place: a backup, and its moment where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Number of the backup.
    pub backup: usize,
    /// Its moment.
    pub seq: Option<u64>,
}

/// Where backups are restored to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its folder.
    pub path: PathBuf,
    /// A step works on it.
    pub busy: bool,
    /// What may be there; `None` is nothing.
    pub possible: Vec<Option<Restored>>,
    /// A sync failed there: only the next life can tell what is on the disk.
    pub doubtful: bool,
}

/// All backups and places of a run.
#[derive(Debug, Default)]
pub struct Vault {
    /// In the order of their beginnings.
    pub backups: Vec<Backup>,
    places: BTreeMap<usize, Place>,
}

impl Vault {
    /// A backup begins.
    pub fn begin(&mut self, way: Way, model: &Model) -> usize {
        let number = self.backups.len();
        let is_folder = way != Way::Archive;
        let ending = if is_folder { "" } else { ".qbak" };
        let mut backup = Backup {
            path: format!("{BACKUPS}/{number}{ending}").into(),
            is_folder,
            status: Status::Making,
            readers: 0,
            moments: BTreeMap::new(),
            must: model.live.clone(),
            may: BTreeSet::new(),
            may_slots: BTreeSet::new(),
        };
        backup.may_have(model);
        self.backups.push(backup);
        number
    }

    /// It has ended, well or not.
    pub fn end(&mut self, number: usize, status: Status, model: &Model) {
        let backup = &mut self.backups[number];
        backup.status = status;
        backup.may_have(model);
        backup.must.retain(|_, id| !model.dropping.contains(id));
    }

    /// The backup made so many before the newest.
    #[must_use]
    pub fn pick(&self, which: u8, folders_only: bool) -> Option<usize> {
        let fits = |backup: &Backup| {
            !matches!(backup.status, Status::Making | Status::Gone)
                && (backup.is_folder || !folders_only)
        };
        let all: Vec<usize> = (0..self.backups.len()).filter(|n| fits(&self.backups[*n])).collect();
        let from_end = usize::from(which) % all.len().max(1);
        all.iter().rev().nth(from_end).copied()
    }

    /// A place; nothing is there before the first restore.
    pub fn place(&mut self, number: usize) -> &mut Place {
        self.places.entry(number).or_insert_with(|| Place {
            path: format!("{RESTORED}/{number}").into(),
            busy: false,
            possible: vec![None],
            doubtful: false,
        })
    }

    /// Numbers of the places used.
    #[must_use]
    pub fn used_places(&self) -> Vec<usize> {
        self.places.keys().copied().collect()
    }

    /// A new life begins: what the disk holds is what counts.
    pub fn new_life(&mut self) {
        self.places.values_mut().for_each(|place| place.doubtful = false);
    }
}

impl Backup {
    fn may_have(&mut self, model: &Model) {
        self.may.extend(model.live.values().chain(&model.dropping));
        self.may_slots.extend(&model.unsettled);
    }
}

impl fmt::Display for BackupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.way {
            Way::Folder => write!(f, "backup")?,
            Way::Incremental(which) => write!(f, "backup, incremental to the last but {which}")?,
            Way::Archive => write!(f, "backup to one file")?,
        }
        write!(f, "{}", if self.verify { "" } else { ", unverified" })?;
        write!(f, "{}", if self.by_follower { ", by the follower" } else { "" })?;
        match self.stop_after {
            0 => Ok(()),
            n => write!(f, ", cancelled after {n}"),
        }
    }
}

impl fmt::Display for RestoreStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "restore the last backup but {} to place {}", self.which, self.place)?;
        write!(f, "{}", if self.replace { ", replacing" } else { "" })
    }
}
