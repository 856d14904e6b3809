//! Reads one key: its newest visible version, combined with older ones if it is a merge.

use super::fold::{Fold, Outcome, WithValue};
use super::source::is_own_hidden;
use super::{ReadAt, SuperVersion, columns};
use crate::error::Result;
use crate::memtable::EntryRef;
use crate::table::read_values;
use base::{Batch, KeyRef, Kind, Projection, SeqNo};

pub(super) const DELETE: u8 = Kind::Delete as u8;
pub(super) const PUT: u8 = Kind::Put as u8;

impl SuperVersion {
    /// Appends the row of exactly this key to `out`, if it is there; returns whether it is.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn get(
        &self,
        key: KeyRef<'_>,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        if self.has_tombstones(at) {
            return self.get_folded(key, at, projection, out);
        }
        let own = at.own().and_then(|own| own.find(key, SeqNo::MAX));
        let entry = own.or_else(|| self.memtables().find_map(|m| m.find(key, at.snapshot)));
        if let Some(entry) = entry {
            return match entry.kind() {
                PUT => {
                    push_entry(entry, key, projection, out);
                    Ok(true)
                }
                DELETE => Ok(false),
                _ => self.get_folded(key, at, projection, out),
            };
        }
        for run in &self.runs {
            if let Some(found) = run.find_toward(key, at.snapshot, projection)? {
                return match found.block.kind(found.row) {
                    PUT => {
                        found.block.append_read(found.row..found.row + 1, projection, out)?;
                        Ok(true)
                    }
                    DELETE => Ok(false),
                    _ => self.get_folded(key, at, projection, out),
                };
            }
        }
        Ok(false)
    }

    /// As [`SuperVersion::get`], through all versions that count.
    fn get_folded(
        &self,
        key: KeyRef<'_>,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let mut fold = Fold::new();
        self.fold_key(key, at, projection, &mut fold)?;
        if fold.is_present() {
            fold.push(key, projection, out);
        }
        Ok(fold.is_present())
    }

    /// Folds the versions of one key that the reader sees.
    pub(super) fn fold_key(
        &self,
        key: KeyRef<'_>,
        at: ReadAt<'_>,
        projection: Projection,
        fold: &mut Fold,
    ) -> Result<()> {
        let shape = self.shape();
        let cover = match self.has_tombstones(at) {
            true => self.cover_over(key, at),
            false => SeqNo::ZERO,
        };
        fold.reset();
        if let Some(own) = at.own() {
            let tombstones = own.range_tombstones();
            let mut entry = own.find(key, SeqNo::MAX);
            while let Some(version) = entry.filter(|e| !is_own_hidden(&tombstones, *e)) {
                if let Some(whole) = version.whole() {
                    if fold.add(shape, projection, whole.kind, &whole) {
                        return Ok(());
                    }
                    break;
                }
                if fold.add(shape, projection, version.kind(), &version) {
                    return Ok(());
                }
                entry = version.next_older();
            }
        }
        for memtable in self.memtables() {
            let mut entry = memtable.find(key, at.snapshot);
            while let Some(version) = entry {
                if version.seq() < cover {
                    fold.end();
                    return Ok(());
                }
                if let Some(whole) = version.whole() {
                    if fold.add(shape, projection, whole.kind, &whole) {
                        return Ok(());
                    }
                    break;
                }
                if fold.add(shape, projection, version.kind(), &version) {
                    return Ok(());
                }
                entry = version.next_older();
            }
        }
        for run in &self.runs {
            let mut found = run.find_toward(key, at.snapshot, projection)?;
            while let Some(version) = found {
                if version.block.seq(version.row) < cover {
                    fold.end();
                    return Ok(());
                }
                let (block, row) = (&*version.block, version.row);
                let kind = block.kind(row);
                // Strings are those of the newest version.
                let is_newest = fold.outcome == Outcome::Unknown && kind != DELETE;
                let value = match is_newest && block.lacks(projection) {
                    true => read_values(&[(block, row)], true)?.pop(),
                    false => None,
                };
                if fold.add(shape, projection, kind, &WithValue { block, row, value }) {
                    return Ok(());
                }
                found = version.older(run)?;
            }
        }
        Ok(())
    }
}

/// Appends a version unchanged.
pub(super) fn push_entry(
    entry: EntryRef<'_>,
    key: KeyRef<'_>,
    projection: Projection,
    out: &mut Batch,
) {
    out.rows += 1;
    columns::push_key(&mut out.keys, key, projection);
    for (i, column) in out.values.iter_mut().enumerate() {
        if projection.value(i) {
            entry.append_value(i, column);
        }
    }
}
