//! Expected content of each backup of a run, and of the places that backups were restored to.
//!
//! # Invariants
//! 1. An acknowledged backup always holds the state of its snapshot, whatever happens to the
//!    database.
//! 2. Another one is refused, or holds some state from the time while it was made.
//! 3. After an acknowledged restore its place holds the backup; after an interrupted one, the old
//!    content or the new.

use crate::workload::model::{Model, State};
use crate::workload::spaces::{Ids, NAMES, Slot};
use base::KeyspaceId;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

/// Folder of the backups.
const BACKUPS: &str = "/backups";
/// Folder of the restored databases.
const RESTORED: &str = "/restored";

/// Number of places that steps restore to.
pub const PLACES: u8 = 2;

/// Form of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A folder.
    Folder,
    /// A folder that shares tables with an earlier backup, counted back from the newest.
    Incremental(u8),
    /// One file.
    Archive,
}

/// A step that takes a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupStep {
    /// Form of the backup.
    pub way: Way,
    /// See [`kv::BackupOptions`].
    pub verify: bool,
    /// Whether the follower makes it.
    pub by_follower: bool,
    /// Number of progress calls after which it is cancelled; 0 for never.
    pub stop_after: u8,
}

/// A step that restores a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreStep {
    /// The backup, counted back from the newest.
    pub which: u8,
    /// Number of the place.
    pub place: u8,
    /// Whether it may replace a database there.
    pub replace: bool,
}

/// State of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is being made.
    Making,
    /// It was acknowledged, with this sequence number.
    Made(u64),
    /// The call failed or never returned. With `half_removed` on a machine with faults: some files
    /// are removed, not necessarily the one that a check looks for first.
    Failed {
        /// Whether some of its files may be removed.
        half_removed: bool,
    },
    /// It was removed.
    Gone,
}

/// A backup and its possible content.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Path of the backup.
    pub path: PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its state.
    pub status: Status,
    /// Number of steps that are reading it.
    pub readers: usize,
    /// Possible states by sequence number. Once an acknowledged backup's number is known, only that
    /// one.
    pub states: BTreeMap<u64, State>,
    /// Keyspaces that it must have.
    must: Ids,
    /// Keyspaces that it may have.
    may: BTreeSet<KeyspaceId>,
    may_slots: BTreeSet<Slot>,
}

impl Backup {
    /// Checks its keyspaces.
    ///
    /// # Errors
    /// A missing or surplus keyspace.
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

/// The content of a place: a backup, and its sequence number if known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Number of the backup.
    pub backup: usize,
    /// Its sequence number.
    pub seq: Option<u64>,
}

/// A place that backups are restored to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its folder.
    pub path: PathBuf,
    /// Whether a step is using it.
    pub busy: bool,
    /// Its possible content; `None` for nothing.
    pub possible: Vec<Option<Restored>>,
    /// Whether a sync failed there: only the next life can tell what is on disk.
    pub doubtful: bool,
}

/// All backups and places of a run.
#[derive(Debug, Default)]
pub struct Vault {
    /// Backups in the order in which they began.
    pub backups: Vec<Backup>,
    places: BTreeMap<usize, Place>,
}

impl Vault {
    /// Begins a backup. If it may lag, it need not have any keyspace.
    pub fn begin(&mut self, way: Way, model: &Model, may_lag: bool) -> usize {
        let number = self.backups.len();
        let is_folder = way != Way::Archive;
        let ending = if is_folder { "" } else { ".qbak" };
        let mut backup = Backup {
            path: format!("{BACKUPS}/{number}{ending}").into(),
            is_folder,
            status: Status::Making,
            readers: 0,
            states: BTreeMap::new(),
            must: if may_lag { Ids::new() } else { model.live.clone() },
            may: BTreeSet::new(),
            may_slots: BTreeSet::new(),
        };
        backup.may_have(model);
        self.backups.push(backup);
        number
    }

    /// Ends a backup, successfully or not.
    pub fn end(&mut self, number: usize, status: Status, model: &Model) {
        let backup = &mut self.backups[number];
        backup.status = status;
        backup.may_have(model);
        backup.must.retain(|_, id| !model.dropping.contains(id));
    }

    /// Number of a backup, counted back from the newest.
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

    /// A place; empty before the first restore.
    pub fn place(&mut self, number: usize) -> &mut Place {
        self.places.entry(number).or_insert_with(|| Place {
            path: format!("{RESTORED}/{number}").into(),
            busy: false,
            possible: vec![None],
            doubtful: false,
        })
    }

    /// Numbers of the places in use.
    #[must_use]
    pub fn used_places(&self) -> Vec<usize> {
        self.places.keys().copied().collect()
    }

    /// A new life begins: the disk shows the true content of all places.
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
