//! All keyspaces with every version of every row.

use crate::overlay::{Overlay, Overlays};
use crate::rows::{Change, Row};
use base::{Key, KeyRange, KeyRef, KeyspaceId, SeqNo};
use std::collections::BTreeMap;
use std::ops::Bound;
use store::{Error, ErrorKind, KeyspaceChange, KeyspaceInfo, NewKeyspace, Result, WriteBatch};

/// A version of a row: the result of one commit.
pub(crate) struct Version {
    pub(crate) seq: SeqNo,
    pub(crate) is_merge: bool,
    /// The row after the commit; `None` where it was deleted.
    pub(crate) row: Option<Row>,
}

/// A keyspace with its history.
pub(crate) struct ModelKeyspace {
    pub(crate) info: KeyspaceInfo,
    /// The commit that dropped the keyspace: readers from it on do not see the keyspace.
    pub(crate) dropped: Option<SeqNo>,
    /// Versions, oldest first.
    pub(crate) rows: BTreeMap<Key, Vec<Version>>,
    /// Deleted ranges, with the commits that deleted them.
    pub(crate) deleted: Vec<(SeqNo, KeyRange)>,
}

/// All keyspaces, and the sequence number of the last commit.
#[derive(Default)]
pub(crate) struct History {
    pub(crate) seq: SeqNo,
    pub(crate) spaces: BTreeMap<KeyspaceId, ModelKeyspace>,
}

impl ModelKeyspace {
    /// The row of `key` as of `seq`.
    pub(crate) fn row(&self, key: &Key, seq: SeqNo) -> Option<&Row> {
        visible(self.rows.get(key)?, seq)
    }

    /// The rows of `range` as of `seq`, in key order.
    pub(crate) fn range(
        &self,
        range: &KeyRange,
        seq: SeqNo,
    ) -> impl Iterator<Item = (&Key, &Row)> + use<'_> {
        let bounds = if range.is_empty() {
            // `BTreeMap::range` panics on bounds that cross.
            (Bound::Included(range.lower.clone()), Bound::Excluded(range.lower.clone()))
        } else {
            let upper = range.upper.clone().map_or(Bound::Unbounded, Bound::Excluded);
            (Bound::Included(range.lower.clone()), upper)
        };
        self.rows
            .range(bounds)
            .filter_map(move |(key, versions)| Some((key, visible(versions, seq)?)))
    }

    /// Whether `key` was written after `seq`. For a writer that merges (`merging`), other merges do
    /// not count.
    pub(crate) fn key_changed(&self, key: KeyRef<'_>, seq: SeqNo, merging: bool) -> bool {
        let versions = self.rows.get(&Key::from(key)).into_iter().flatten();
        versions.rev().take_while(|v| v.seq > seq).any(|v| !(merging && v.is_merge))
            || self.deleted.iter().any(|(at, range)| *at > seq && range.contains(key))
    }

    /// Whether a key in `range` was written, or an overlapping range deleted, after `seq`.
    pub(crate) fn range_changed(&self, range: &KeyRange, seq: SeqNo) -> bool {
        let newest = |versions: &Vec<Version>| versions.last().is_some_and(|v| v.seq > seq);
        let overlap = |other: &KeyRange| {
            let lower = range.lower.clone().max(other.lower.clone());
            let upper = match (&range.upper, &other.upper) {
                (Some(a), Some(b)) => Some(a.min(b).clone()),
                (a, b) => a.clone().or_else(|| b.clone()),
            };
            !KeyRange { lower, upper }.is_empty()
        };
        self.rows.iter().any(|(key, versions)| range.contains(key.as_ref()) && newest(versions))
            || self.deleted.iter().any(|(at, other)| *at > seq && overlap(other))
    }

    fn commit(&mut self, seq: SeqNo, overlay: &Overlay) {
        for range in &overlay.deleted {
            for (key, versions) in &mut self.rows {
                if range.contains(key.as_ref()) && visible(versions, seq).is_some() {
                    versions.push(Version { seq, is_merge: false, row: None });
                }
            }
            self.deleted.push((seq, range.clone()));
        }
        for (key, change) in &overlay.changes {
            let row = change.apply(&self.info.shape, self.row(key, seq));
            let is_merge = matches!(change, Change::Merge(_));
            let versions = self.rows.entry(key.clone()).or_default();
            versions.push(Version { seq, is_merge, row });
        }
    }
}

fn visible(versions: &[Version], seq: SeqNo) -> Option<&Row> {
    versions.iter().rev().find(|version| version.seq <= seq)?.row.as_ref()
}

impl History {
    /// The keyspace, as visible at `seq`.
    pub(crate) fn space(&self, id: KeyspaceId, seq: SeqNo) -> Result<&ModelKeyspace> {
        let space = self.spaces.get(&id);
        space.filter(|space| space.dropped.is_none_or(|at| seq < at)).ok_or_else(|| unknown(id))
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &ModelKeyspace> {
        self.spaces.values().filter(|space| space.dropped.is_none())
    }

    pub(crate) fn create(&mut self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        for (i, one) in new.iter().enumerate() {
            let taken = self.live().any(|space| space.info.name == one.name)
                || new[..i].iter().any(|other| other.name == one.name);
            if taken {
                return Err(invalid(format!("the name {:?} is taken", one.name)));
            }
        }
        let mut ids = Vec::new();
        for NewKeyspace { name, shape, definition } in new.iter().cloned() {
            let id = KeyspaceId(self.spaces.len() as u32 + 1);
            let info = KeyspaceInfo { id, name, shape, definition };
            let space =
                ModelKeyspace { info, dropped: None, rows: BTreeMap::new(), deleted: Vec::new() };
            self.spaces.insert(id, space);
            ids.push(id);
        }
        Ok(ids)
    }

    pub(crate) fn drop_spaces(&mut self, ids: &[KeyspaceId]) -> Result<()> {
        for &id in ids {
            self.space(id, SeqNo::MAX)?;
        }
        self.seq.0 += 1;
        for id in ids {
            if let Some(space) = self.spaces.get_mut(id) {
                space.dropped = Some(self.seq);
            }
        }
        Ok(())
    }

    pub(crate) fn change_spaces(
        &mut self,
        changes: &[KeyspaceChange],
        dropped: &[KeyspaceId],
    ) -> Result<()> {
        for &id in dropped.iter().chain(changes.iter().map(|change| &change.id)) {
            self.space(id, SeqNo::MAX)?;
        }
        let stays = |id: &KeyspaceId| !dropped.contains(id);
        let of = |info: &KeyspaceInfo| {
            let change = changes.iter().find(|change| change.id == info.id);
            change.map_or(info.name.clone(), |change| change.name.clone())
        };
        let left = self.live().filter(|space| stays(&space.info.id));
        let mut names: Vec<String> = left.map(|space| of(&space.info)).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(invalid(format!("the name {:?} is taken", pair[0])));
        }
        if let Some(change) = changes.iter().find(|change| !stays(&change.id)) {
            return Err(unknown(change.id));
        }
        if !dropped.is_empty() {
            self.drop_spaces(dropped)?;
        }
        for KeyspaceChange { id, name, definition } in changes.iter().cloned() {
            if let Some(space) = self.spaces.get_mut(&id) {
                (space.info.name, space.info.definition) = (name, definition);
            }
        }
        Ok(())
    }

    /// Adds the writes of the batch to `overlays`.
    pub(crate) fn overlays(&self, batch: &WriteBatch, overlays: &mut Overlays) -> Result<()> {
        for writes in &batch.tables {
            self.space(writes.keyspace, SeqNo::MAX)?;
        }
        for writes in &batch.tables {
            let shape = &self.space(writes.keyspace, SeqNo::MAX)?.info.shape;
            assert_eq!(writes.rows.values.len(), shape.values.len(), "columns of another shape");
            assert!(
                writes.rows.values.iter().all(|column| column.len() == writes.rows.rows),
                "a column has another length than its batch"
            );
            assert_eq!(writes.rows.keys.len(), writes.rows.rows, "keys and rows differ in number");
            overlays.entry(writes.keyspace).or_default().add(shape, writes);
        }
        Ok(())
    }

    /// Fails where the sum of a commit's increments to one key does not fit into 64 bits.
    pub(crate) fn check_sums(&self, overlays: &Overlays) -> Result<()> {
        for (&id, overlay) in overlays {
            let shape = &self.space(id, SeqNo::MAX)?.info.shape;
            if overlay.changes.values().any(|change| change.is_past(shape)) {
                return Err(Error::new(
                    ErrorKind::Limit,
                    "the sum that one commit adds does not fit",
                ));
            }
        }
        Ok(())
    }

    pub(crate) fn commit(&mut self, overlays: &Overlays) -> Result<SeqNo> {
        self.check_sums(overlays)?;
        for &id in overlays.keys() {
            self.space(id, SeqNo::MAX)?;
        }
        self.seq.0 += 1;
        for (id, overlay) in overlays {
            if let Some(space) = self.spaces.get_mut(id) {
                space.commit(self.seq, overlay);
            }
        }
        Ok(self.seq)
    }
}

pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

fn unknown(id: KeyspaceId) -> Error {
    invalid(format!("there is no keyspace {}", id.0))
}
