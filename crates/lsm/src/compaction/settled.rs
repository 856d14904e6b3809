//! Remembers the tables at the bottom in which a merge left all that it could not drop. The tree
//! asks it for the levels from which a compaction is chosen.
//!
//! # Why
//! Two versions of a counter whose sum no word holds stay two ([`super::keep`]). Their table counts
//! them as stale, so compaction would merge it again and again, for nothing.
//!
//! # Invariants
//! 1. A settled table came from a merge into the bottom of all that overlapped there, and the
//!    oldest snapshot of that merge saw all of its versions. Another merge of it alone changes
//!    nothing.
//! 2. Nothing of this is on disk: after an opening such a table is merged once more.

use super::choose::{Choice, Levels, TableInfo};
use crate::version::{LEVEL_MAX, TreeEdit, Version};
use base::{SeqNo, TableId};
use env::sync::Mutex;
use std::collections::BTreeSet;

/// Ids of settled tables.
#[derive(Debug, Default)]
pub(crate) struct Settled(Mutex<BTreeSet<TableId>>);

impl Settled {
    /// Notes the tables that `choice` left stale though `oldest_snapshot` asked for none of their
    /// versions. The edit need not be installed: ids are used once.
    pub(crate) fn note(&self, choice: &Choice, edit: &TreeEdit, oldest_snapshot: SeqNo) {
        let Choice::Merge { into: LEVEL_MAX, .. } = choice else { return };
        let tables = edit.added.iter().map(|added| TableInfo::of(&added.meta));
        let stale = tables.filter(|table| {
            table.stale > 0 && table.range_tombstones == 0 && table.seq_max <= oldest_snapshot
        });
        self.0.lock().extend(stale.map(|table| table.id));
    }

    /// Forgets a table that left.
    pub(crate) fn remove(&self, id: TableId) {
        self.0.lock().remove(&id);
    }

    /// The levels of `version`, for the choice of a compaction.
    pub(crate) fn levels_of(&self, version: &Version) -> Levels {
        let settled = self.0.lock();
        Levels::of(version, &|id| settled.contains(&id))
    }
}
