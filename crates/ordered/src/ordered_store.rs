//! [`OrderedStore`]: implements `store::Store` over a map. Engines call `open`; everything above
//! sees only the trait.

use crate::bulk::Load;
use crate::commit::Writing;
use crate::core::Core;
use crate::error::{invalid, unknown};
use crate::key::Prefix;
use crate::map::OrderedMap;
use crate::meta::{Figures, Meta, Space, read_loads};
use crate::options::{OrderedOptions, Writers};
use crate::overlay::Overlay;
use crate::record::{decode, header};
use crate::view::{Newest, OrderedSnapshot, OrderedTransaction};
use base::{Batch, Corruption, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use store::{
    BulkLoad, CheckFailed, CheckReport, Error, ErrorKind, Estimate, Isolation, KeyspaceChange,
    KeyspaceInfo, KeyspaceStats, NewKeyspace, Progress, Read, Result, Scan, Snapshot, Store,
    StoreStats, Transaction, WriteBatch,
};

/// A store over an ordered map.
pub struct OrderedStore {
    core: Arc<Core>,
    newest: Newest,
}

impl OrderedStore {
    /// Opens the store in a map, and creates it in an empty one if the options allow that.
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] if another process writes; [`ErrorKind::InvalidInput`] if there is no
    /// store, or one of a newer format; errors of the map.
    pub fn open(map: impl OrderedMap + 'static, options: OrderedOptions) -> Result<Self> {
        if !options.read_only && options.writers == Writers::One {
            map.claim()?;
        }
        let place = map.name();
        let is_there = Meta::read(&place, &mut *map.snapshot()?)?.is_some();
        if !is_there && (options.read_only || !options.create) {
            return Err(invalid(format!("{place} holds no quipu database")));
        }
        if !is_there {
            let mut writer = map.writer()?;
            // Another process may have been faster.
            if Meta::read(&place, &mut *writer)?.is_none() {
                let meta = Meta { seq: 1, next_id: 1, next_prefix: 1, ..Meta::default() };
                writer.put(&[meta.pair()])?;
                writer.commit()?;
            }
        }
        let core = Arc::new(Core::new(Box::new(map), options));
        if !core.options.read_only && core.options.writers == Writers::One {
            let unfinished = read_loads(&mut *core.map()?.snapshot()?)?;
            if !unfinished.is_empty() {
                Load::remove(&core, &unfinished)?;
            }
        }
        let newest = Newest(Arc::clone(&core));
        Ok(Self { core, newest })
    }

    /// The keyspaces of the newest commit; those last known if they cannot be read.
    fn catalog(&self) -> Arc<crate::meta::Catalog> {
        let newest = || {
            let is_alone =
                self.core.options.writers == Writers::One && !self.core.options.read_only;
            let known = self.core.known_catalog();
            if is_alone && known.seq > 0 {
                return Ok(known);
            }
            let mut map = self.core.map()?.snapshot()?;
            let meta = self.core.meta(&mut *map)?;
            self.core.catalog(&mut *map, &meta)
        };
        newest().unwrap_or_else(|_: Error| self.core.known_catalog())
    }
}

/// Fails if two keyspaces have one name.
fn check_names<'n>(names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(invalid(format!("the name {name:?} is taken")));
        }
    }
    Ok(())
}

impl Store for OrderedStore {
    fn check_process(&self) -> Result<()> {
        self.core.check_process()
    }

    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        self.replace_keyspaces(new, &[])
    }

    fn replace_keyspaces(
        &self,
        new: &[NewKeyspace],
        dropped: &[KeyspaceId],
    ) -> Result<Vec<KeyspaceId>> {
        let mut writing = Writing::begin(&self.core)?;
        let mut spaces = writing.catalog.spaces.clone();
        let names = spaces.values().map(|space| space.info.name.as_str());
        check_names(names.chain(new.iter().map(|one| one.name.as_str())))?;
        let mut removed = Vec::new();
        for &id in dropped {
            removed.push(spaces.remove(&id).ok_or_else(|| unknown(id))?);
        }
        let (mut ids, mut written) = (Vec::new(), Vec::new());
        for NewKeyspace { name, shape, definition } in new.iter().cloned() {
            let (id, prefix) = (writing.meta.next_id, writing.meta.next_prefix);
            if id == u32::MAX || prefix >= u32::MAX - 1 {
                return Err(Error::new(ErrorKind::Limit, "no number is left for a keyspace"));
            }
            (writing.meta.next_id, writing.meta.next_prefix) = (id + 1, prefix + 1);
            let info = KeyspaceInfo { id: KeyspaceId(id), name, shape, definition };
            let space = Space { info, prefix: Prefix(prefix) };
            // So that snapshots before it and after it differ.
            writing.figures_of(&space)?;
            let space = Arc::new(space);
            spaces.insert(space.info.id, Arc::clone(&space));
            ids.push(space.info.id);
            written.push(space);
        }
        if !ids.is_empty() || !removed.is_empty() {
            writing.finish_catalog(&removed, &written, spaces)?;
        }
        Ok(ids)
    }

    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()> {
        self.replace_keyspaces(&[], ids).map(drop)
    }

    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()> {
        let writing = Writing::begin(&self.core)?;
        let mut spaces = writing.catalog.spaces.clone();
        let mut removed = Vec::new();
        for &id in dropped {
            removed.push(spaces.remove(&id).ok_or_else(|| unknown(id))?);
        }
        let mut written = Vec::new();
        for KeyspaceChange { id, name, definition } in changes.iter().cloned() {
            let space = spaces.get_mut(&id).ok_or_else(|| unknown(id))?;
            let info = KeyspaceInfo { name, definition, ..space.info.clone() };
            *space = Arc::new(Space { info, prefix: space.prefix });
            written.push(Arc::clone(space));
        }
        check_names(spaces.values().map(|space| space.info.name.as_str()))?;
        writing.finish_catalog(&removed, &written, spaces).map(drop)
    }

    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        self.catalog().spaces.values().map(|space| space.info.clone()).collect()
    }

    fn keyspace_named(&self, name: &str) -> Option<KeyspaceInfo> {
        self.catalog().named(name).map(|space| space.info.clone())
    }

    fn keyspaces_named(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<KeyspaceInfo> {
        let catalog = self.catalog();
        let found = catalog.spaces.values().filter(|space| wanted(&space.info.name));
        found.map(|space| space.info.clone()).collect()
    }

    fn catalog_version(&self) -> Option<u64> {
        let is_alone = self.core.options.writers == Writers::One && !self.core.options.read_only;
        (!is_alone).then(|| self.catalog().seq)
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(OrderedSnapshot(self.core.pin().map(Arc::new)))
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        Box::new(OrderedTransaction::new(self.core.pin().map(Arc::new), isolation))
    }

    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        let mut writing = Writing::begin(&self.core)?;
        let mut overlay = Overlay::default();
        let catalog = Arc::clone(&writing.catalog);
        let find = |id| catalog.space(id).cloned();
        overlay.add(&find, batch, self.core.options.transaction_bytes_max)?;
        overlay.check_sums()?;
        let told = existed.as_ref().map_or(0, |existed| existed.len());
        if let Some(existed) = existed {
            match writing.existing(batch, existed) {
                Ok(absent) => overlay.changes.retain(|key, _| !absent.contains(key)),
                Err(error) => {
                    existed.truncate(told);
                    return Err(error);
                }
            }
        }
        writing.write(&overlay, None)?;
        writing.finish()
    }

    /// Commits wait for the writer's lock and for the map.
    fn commit_would_not_block(&self) -> bool {
        false
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        self.core.map()?;
        self.core.check_writable()?;
        Ok(Box::new(Load::new(&self.core)))
    }

    fn flush(&self) -> Result<()> {
        self.core.map()?.flush()
    }

    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        let stopped = || Err(Error::new(ErrorKind::Cancelled, "compaction was stopped"));
        if !go_on() {
            return stopped();
        }
        let mut writing = Writing::begin(&self.core)?;
        writing.remove_tombstones(true)?;
        writing.finish()?;
        if !go_on() {
            return stopped();
        }
        self.core.map()?.compact()
    }

    fn stats(&self) -> StoreStats {
        let stats = || {
            let pinned = self.core.pin()?;
            let mut keyspaces = Vec::new();
            for space in pinned.catalog.spaces.values() {
                let id = space.info.id;
                let figures = pinned.with(|map| Figures::read(&self.core.place, map, id))?;
                let stats = KeyspaceStats {
                    disk_bytes: figures.bytes,
                    disk_rows: figures.rows + figures.tombstones,
                    ..KeyspaceStats::default()
                };
                keyspaces.push((space.info.clone(), stats));
            }
            Ok(StoreStats { keyspaces, seq: SeqNo(pinned.meta.seq), ..StoreStats::default() })
        };
        stats().unwrap_or_else(|_: Error| StoreStats::default())
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        let place = self.core.place.clone();
        let damage = |what: String| Corruption::new(Path::new(&place), 0, what);
        self.core.map()?.problems()?.into_iter().for_each(|what| report.push(damage(what)));
        let pinned = Arc::new(self.core.pin()?);
        let total: u64 = {
            let figures = |space: &Arc<Space>| {
                pinned.with(|map| Figures::read(&place, map, space.info.id)).map(|one| one.rows)
            };
            pinned.catalog.spaces.values().map(figures).sum::<Result<u64>>()?
        };
        for space in pinned.catalog.spaces.values() {
            let figures = pinned.with(|map| Figures::read(&place, map, space.info.id))?;
            let (mut rows, mut tombstones) = (0, 0);
            let (mut lower, upper) = space.prefix.all();
            loop {
                let mut pairs = Vec::new();
                let order = crate::map::Order::Forward;
                pinned.with(|map| map.scan(&lower, &upper, order, 1000, &mut pairs))?;
                for (key, value) in &pairs {
                    report.bytes += (key.len() + value.len()) as u64;
                    let checked = header(&place, key, value).and_then(|(header, columns)| {
                        match header.is_tombstone {
                            true => tombstones += 1,
                            false => {
                                rows += 1;
                                decode(&place, key, &space.info.shape, columns)?;
                            }
                        }
                        Ok(())
                    });
                    if let Err(error) = checked {
                        report.push(damage(error.to_string()));
                    }
                }
                report.rows += pairs.len() as u64;
                if !progress(report.rows.min(total), total) {
                    return Err(Error::new(ErrorKind::Cancelled, "the check was stopped"));
                }
                let Some((last, _)) = pairs.last() else { break };
                lower = crate::key::successor(last);
            }
            if (rows, tombstones) != (figures.rows, figures.tombstones) && report.is_sound() {
                report.push(damage(format!(
                    "{:?} has {rows} rows and {tombstones} tombstones, its figures say {} and {}",
                    space.info.name, figures.rows, figures.tombstones
                )));
            }
        }
        match report.is_sound() {
            true => Ok(report),
            false => Err(Error::caused(ErrorKind::Corruption, CheckFailed(report))),
        }
    }

    /// Every snapshot is taken at the newest commit, so there is nothing to move.
    fn refresh(&self) -> Result<()> {
        self.core.map().map(drop)
    }

    fn is_read_only(&self) -> bool {
        self.core.options.read_only
    }

    fn check_open(&self) -> Result<()> {
        self.core.check_process()?;
        self.core.check_open()
    }

    fn holds(&self, path: &Path) -> bool {
        let file = self.core.file();
        file.is_some_and(|file| {
            path.parent() == file.parent()
                && path.file_name().zip(file.file_name()).is_some_and(|(name, file)| {
                    name.as_encoded_bytes().starts_with(file.as_encoded_bytes())
                })
        })
    }

    fn close(&self) -> Result<()> {
        let Ok(map) = self.core.map() else { return Ok(()) };
        if self.core.close() { map.close() } else { Ok(()) }
    }
}

/// Reads the newest commit at each call.
impl Read for OrderedStore {
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        self.newest.get(keyspace, key, projection, out)
    }

    fn get_many(
        &self,
        keyspace: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        self.newest.get_many(keyspace, keys, projection, present, out)
    }

    fn scan_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.newest.scan_into(keyspace, range, projection, limit, out)
    }

    fn scan_some_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        bytes_max: usize,
        out: &mut Batch,
    ) -> Result<bool> {
        self.newest.scan_some_into(keyspace, range, projection, limit, bytes_max, out)
    }

    fn scan_back_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.newest.scan_back_into(keyspace, range, projection, limit, out)
    }

    fn prefix_many(
        &self,
        keyspace: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        self.newest.prefix_many(keyspace, first_words, projection, offsets, out)
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
    ) -> Result<Box<dyn Scan>> {
        self.newest.scan(keyspace, range, projection)
    }

    fn count(&self, keyspace: KeyspaceId) -> Result<u64> {
        self.newest.count(keyspace)
    }

    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<Estimate> {
        self.newest.estimate(keyspace, range)
    }

    fn sample_into(
        &self,
        keyspace: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        self.newest.sample_into(keyspace, n, random, projection, out)
    }

    fn first_words(&self, keyspace: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        self.newest.first_words(keyspace, visit)
    }
}
