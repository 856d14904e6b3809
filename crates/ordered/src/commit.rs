//! Commits: the check for conflicts, then the writes, all under the map's one writer.

use crate::cell::Change;
use crate::core::{Core, Pinned};
use crate::error::{conflict, unknown};
use crate::key::{Prefix, Span, contains, overlap, successor};
use crate::map::{MapWriter, Order, Pair};
use crate::meta::{Catalog, DeletedRange, Figures, Meta, Space, Spaces};
use crate::options::Writers;
use crate::overlay::Overlay;
use crate::reads::Reads;
use crate::record::{Header, decode, encode, header};
use base::{KeyspaceId, Kind, SeqNo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::{KeyspaceInfo, Result, WriteBatch};

/// Keys read or written at once.
const CHUNK: usize = 1000;

/// Commits of other processes' transactions may be this far behind, where several may write.
const BEHIND_MAX: u64 = 10_000;

/// Tombstones that are always kept, so that they are not removed one by one.
const TOMBSTONES_KEPT: u64 = 1000;

/// Number of commits after which old deleted ranges are removed.
const RANGES_REMOVED_EVERY: u64 = 256;

/// A commit under way. Dropped before [`Writing::finish`], it writes nothing.
pub(crate) struct Writing<'c> {
    core: &'c Core,
    pub(crate) map: Box<dyn MapWriter + 'c>,
    pub(crate) meta: Meta,
    pub(crate) catalog: Arc<Catalog>,
    figures: BTreeMap<KeyspaceId, Figures>,
    ranges: u32,
}

/// Pages of all pairs of a span.
pub(crate) fn each_page(
    map: &mut dyn MapWriter,
    span: &Span,
    mut visit: impl FnMut(&mut dyn MapWriter, Vec<Pair>) -> Result<()>,
) -> Result<()> {
    let mut lower = span.0.clone();
    while lower < span.1 {
        let mut pairs = Vec::new();
        map.scan(&lower, &span.1, Order::Forward, CHUNK, &mut pairs)?;
        let last = (pairs.len() == CHUNK).then(|| pairs.last().map(|(key, _)| successor(key)));
        visit(map, pairs)?;
        match last.flatten() {
            Some(next) => lower = next,
            None => break,
        }
    }
    Ok(())
}

impl<'c> Writing<'c> {
    /// Becomes the writer.
    pub(crate) fn begin(core: &'c Core) -> Result<Self> {
        core.check_may_wait()?;
        core.check_writable()?;
        let mut map = core.map()?.writer()?;
        let meta = core.meta(&mut *map)?;
        let catalog = core.catalog(&mut *map, &meta)?;
        Ok(Self { core, map, meta, catalog, figures: BTreeMap::new(), ranges: 0 })
    }

    /// The number of this commit.
    pub(crate) fn seq(&self) -> u64 {
        self.meta.seq + 1
    }

    /// Fails if a row or range that a transaction wrote or read has changed since its snapshot.
    pub(crate) fn check(&mut self, since: &Pinned, own: &Overlay, reads: &Reads) -> Result<()> {
        let place = &self.core.place;
        self.check_keyspaces(since, own, reads)?;
        let seq = since.meta.seq;
        if self.meta.floor > seq {
            return Err(conflict("too much was deleted"));
        }
        let deleted = DeletedRange::read_since(place, &mut *self.map, seq)?;
        let is_deleted = |key: &[u8]| deleted.iter().any(|range| contains(&range.span, key));
        let deletes = |span: &Span| deleted.iter().any(|range| overlap(&range.span, span));
        if own.changes.keys().any(|key| is_deleted(key)) || own.deleted.iter().any(deletes) {
            return Err(conflict("a range with a row that it wrote was deleted"));
        }
        if reads.keys.iter().any(|key| is_deleted(key)) || reads.spans.iter().any(deletes) {
            return Err(conflict("a range that it read was deleted"));
        }
        let keys: Vec<_> = reads.keys.iter().cloned().collect();
        for keys in keys.chunks(CHUNK) {
            let mut values = Vec::new();
            self.map.get(keys, &mut values)?;
            for (key, value) in keys.iter().zip(&values) {
                if let Some(value) = value
                    && header(place, key, value)?.0.seq > seq
                {
                    return Err(conflict("a row that it read was written"));
                }
            }
        }
        let spans = reads.spans.iter().map(|span| (span, "a range that it read was written"));
        let deleted = own.deleted.iter().map(|span| (span, "a range that it deletes was written"));
        for (span, why) in spans.chain(deleted) {
            each_page(&mut *self.map, span, |_, pairs| {
                for (key, value) in &pairs {
                    if header(place, key, value)?.0.seq > seq {
                        return Err(conflict(why));
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Fails if a keyspace is gone, or a load has replaced its rows.
    fn check_keyspaces(&self, since: &Pinned, own: &Overlay, reads: &Reads) -> Result<()> {
        if self.core.options.writers == Writers::Many && since.catalog.seq != self.catalog.seq {
            self.check_definitions(since, own)?;
        }
        let written = own.changes.keys().chain(own.deleted.iter().map(|span| &span.0));
        let read = reads.keys.iter().chain(reads.spans.iter().map(|span| &span.0));
        let prefixes: BTreeSet<_> = written.chain(read).map(|key| Prefix::of(key)).collect();
        for prefix in prefixes {
            if self.catalog.with_prefix(prefix).is_some() {
                continue;
            }
            let known = since.catalog.with_prefix(prefix).or(own.spaces.get(&prefix));
            let id = known.map(|space| space.info.id);
            return match id {
                Some(id) if self.catalog.spaces.contains_key(&id) => {
                    Err(conflict("the rows of a keyspace were replaced"))
                }
                id => Err(unknown(id.unwrap_or(KeyspaceId(0)))),
            };
        }
        Ok(())
    }

    /// Fails if another process changed a keyspace that was written, or created or dropped one that
    /// belongs to it, such as an index.
    fn check_definitions(&self, since: &Pinned, own: &Overlay) -> Result<()> {
        for space in own.spaces.values() {
            let (name, parts) = (&space.info.name, format!("{}:", space.info.name));
            let belonging = |catalog: &Catalog| -> Vec<KeyspaceInfo> {
                let infos = catalog.spaces.values().map(|space| &space.info);
                let is_part =
                    |info: &KeyspaceInfo| info.name == *name || info.name.starts_with(&parts);
                infos.filter(|info| is_part(info)).cloned().collect()
            };
            let is_new = !since.catalog.spaces.contains_key(&space.info.id);
            if !is_new && belonging(&since.catalog) != belonging(&self.catalog) {
                return Err(conflict("a keyspace that it wrote was changed"));
            }
        }
        Ok(())
    }

    /// Pushes, for each row of the batch, whether its key exists. Returns the absent keys.
    pub(crate) fn existing(
        &mut self,
        batch: &WriteBatch,
        existed: &mut Vec<bool>,
    ) -> Result<BTreeSet<Vec<u8>>> {
        let mut absent = BTreeSet::new();
        for table in &batch.tables {
            let prefix = self.catalog.space(table.keyspace)?.prefix;
            let rows: Vec<usize> = (0..table.rows.rows).collect();
            for rows in rows.chunks(CHUNK) {
                let key = |&row: &usize| prefix.key(table.rows.keys.get(row).as_ref());
                let keys: Vec<_> = rows.iter().map(key).collect();
                let mut values = Vec::new();
                self.map.get(&keys, &mut values)?;
                for ((key, value), row) in keys.into_iter().zip(values).zip(rows) {
                    let there = match &value {
                        Some(value) => !header(&self.core.place, &key, value)?.0.is_tombstone,
                        None => false,
                    };
                    existed.push(there);
                    // Only the last write of a key takes effect.
                    match !there && table.kinds.get(*row) == Kind::Delete {
                        true => absent.insert(key),
                        false => absent.remove(&key),
                    };
                }
            }
        }
        Ok(absent)
    }

    /// Writes ranges and rows. With `since`, fails if another commit wrote one of the rows.
    pub(crate) fn write(&mut self, own: &Overlay, since: Option<u64>) -> Result<()> {
        for span in &own.deleted {
            self.delete_span(span)?;
        }
        let changes: Vec<_> = own.changes.iter().collect();
        for changes in changes.chunks(CHUNK) {
            let keys: Vec<_> = changes.iter().map(|(key, _)| (*key).clone()).collect();
            let mut values = Vec::new();
            self.map.get(&keys, &mut values)?;
            let mut pairs = Vec::with_capacity(changes.len());
            for ((key, change), old) in changes.iter().zip(values) {
                let value = self.changed(key, change, old.as_deref(), since)?;
                pairs.push(((*key).clone(), value));
            }
            self.map.put(&pairs)?;
        }
        Ok(())
    }

    /// The new value of a key.
    fn changed(
        &mut self,
        key: &[u8],
        change: &Change,
        old: Option<&[u8]>,
        since: Option<u64>,
    ) -> Result<Vec<u8>> {
        let (place, seq) = (&self.core.place, self.seq());
        let catalog = Arc::clone(&self.catalog);
        let prefix = Prefix::of(key);
        let space = catalog.with_prefix(prefix).ok_or_else(|| unknown(KeyspaceId(0)))?;
        let shape = &space.info.shape;
        let (mut before, mut plain_seq) = (None, 0);
        let is_merge = matches!(change, Change::Merge(_));
        let stored = old.map(|old| header(place, key, old)).transpose()?;
        if let Some((found, columns)) = stored {
            let newest = if is_merge { found.plain_seq } else { found.seq };
            if since.is_some_and(|since| newest > since) {
                return Err(conflict("a row that it wrote was written"));
            }
            plain_seq = found.plain_seq;
            if is_merge && !found.is_tombstone {
                before = Some(decode(place, key, shape, columns)?);
            }
        }
        let row = change.apply(shape, before.as_ref());
        let plain_seq = if is_merge { plain_seq } else { seq };
        let header = Header { seq, plain_seq, is_tombstone: row.is_none() };
        let value = encode(key, header, shape, row.as_ref());
        let bytes = |value: &[u8]| (key.len() + value.len()) as u64;
        let figures = self.figures_of(space)?;
        match stored {
            Some((found, _)) if found.is_tombstone => figures.tombstones -= 1,
            Some(_) => {
                figures.rows -= 1;
                figures.bytes = figures.bytes.saturating_sub(bytes(old.unwrap_or_default()));
            }
            None => {}
        }
        match row {
            Some(_) => {
                figures.rows += 1;
                figures.bytes += bytes(&value);
            }
            None => figures.tombstones += 1,
        }
        Ok(value)
    }

    /// Figures of a keyspace, which this commit changes.
    pub(crate) fn figures_of(&mut self, space: &Space) -> Result<&mut Figures> {
        let (id, seq) = (space.info.id, self.seq());
        if !self.figures.contains_key(&id) {
            let figures = Figures::read(&self.core.place, &mut *self.map, id)?;
            self.figures.insert(id, Figures { changed_at: seq, ..figures });
        }
        Ok(self.figures.entry(id).or_default())
    }

    /// Removes the rows of a span, and remembers the span.
    fn delete_span(&mut self, span: &Span) -> Result<()> {
        let catalog = Arc::clone(&self.catalog);
        let Some(space) = catalog.with_prefix(Prefix::of(&span.0)) else { return Ok(()) };
        let (place, mut rows, mut tombstones, mut bytes) = (&self.core.place, 0, 0, 0);
        each_page(&mut *self.map, span, |_, pairs| {
            for (key, value) in &pairs {
                match header(place, key, value)?.0.is_tombstone {
                    true => tombstones += 1,
                    false => {
                        rows += 1;
                        bytes += (key.len() + value.len()) as u64;
                    }
                }
            }
            Ok(())
        })?;
        self.map.delete_range(&span.0, &span.1)?;
        let record = DeletedRange { seq: self.seq(), span: span.clone() };
        self.map.put(&[record.pair(self.ranges)])?;
        self.ranges += 1;
        let figures = self.figures_of(space)?;
        figures.rows -= rows;
        figures.tombstones -= tombstones;
        figures.bytes = figures.bytes.saturating_sub(bytes);
        Ok(())
    }

    /// The newest commit that no open transaction began before.
    fn floor(&self) -> u64 {
        let mine = self.core.oldest_open().unwrap_or(u64::MAX);
        match self.core.options.writers {
            Writers::One => mine.min(self.seq()),
            Writers::Many => mine.min(self.seq().saturating_sub(BEHIND_MAX)),
        }
    }

    /// Removes tombstones and records of deleted ranges that no open transaction needs: all, or
    /// where there are many.
    pub(crate) fn remove_tombstones(&mut self, all: bool) -> Result<()> {
        let floor = self.floor();
        let catalog = Arc::clone(&self.catalog);
        let ids: Vec<_> = match all {
            true => catalog.spaces.keys().copied().collect(),
            false => self.figures.keys().copied().collect(),
        };
        for id in ids {
            let Ok(space) = catalog.space(id) else { continue };
            let figures = Figures::read(&self.core.place, &mut *self.map, id)?;
            let figures = self.figures.get(&id).copied().unwrap_or(figures);
            let kept = if all { 0 } else { TOMBSTONES_KEPT + figures.rows };
            if figures.tombstones <= kept {
                continue;
            }
            let place = &self.core.place;
            let mut removed = 0;
            each_page(&mut *self.map, &space.prefix.all(), |map, pairs| {
                let mut keys = Vec::new();
                for (key, value) in pairs {
                    let header = header(place, &key, &value)?.0;
                    if header.is_tombstone && header.seq <= floor {
                        keys.push(key);
                    }
                }
                removed += keys.len() as u64;
                map.delete(&keys)
            })?;
            if removed > 0 {
                self.figures
                    .insert(id, Figures { tombstones: figures.tombstones - removed, ..figures });
                self.meta.floor = self.meta.floor.max(floor);
            }
        }
        if all || self.seq().is_multiple_of(RANGES_REMOVED_EVERY) {
            let (lower, upper) = DeletedRange::records_until(floor);
            self.map.delete_range(&lower, &upper)?;
            self.meta.floor = self.meta.floor.max(floor);
        }
        Ok(())
    }

    /// Commits.
    pub(crate) fn finish(mut self) -> Result<SeqNo> {
        if self.figures.values().any(|figures| figures.tombstones > TOMBSTONES_KEPT)
            || self.seq().is_multiple_of(RANGES_REMOVED_EVERY)
        {
            self.remove_tombstones(false)?;
        }
        self.meta.seq = self.seq();
        let mut pairs: Vec<_> =
            self.figures.iter().map(|(&id, figures)| figures.pair(id)).collect();
        pairs.push(self.meta.pair());
        self.map.put(&pairs)?;
        self.map.commit()?;
        Ok(SeqNo(self.meta.seq))
    }

    /// Commits changes of the catalog: entries to remove and to write, and the new keyspaces.
    pub(crate) fn finish_catalog(
        mut self,
        removed: &[Arc<Space>],
        written: &[Arc<Space>],
        spaces: Spaces,
    ) -> Result<SeqNo> {
        for space in removed {
            let (lower, upper) = space.prefix.all();
            self.map.discard(&lower, &upper)?;
            self.map.delete(&space.keys())?;
            self.figures.remove(&space.info.id);
        }
        let pairs: Vec<_> = written.iter().map(|space| space.pair()).collect();
        self.map.put(&pairs)?;
        self.meta.catalog_seq = self.seq();
        let (core, catalog) = (self.core, Arc::new(Catalog::new(self.seq(), spaces)));
        let seq = self.finish()?;
        core.learn(&catalog);
        Ok(seq)
    }
}
