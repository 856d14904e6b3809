//! A store that remembers where its last commit stands in the order: views do not tell.

use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::sync::Mutex;
use kv::Kv;
use std::sync::Arc;
use store::{
    BulkLoad, BulkWritten, CheckReport, Estimate, Isolation, KeyspaceChange, KeyspaceInfo,
    NewKeyspace, Progress, Read, Result, Scan, Snapshot, SortedRows, Store, StoreStats,
    Transaction, WriteBatch,
};

/// The last commit through one [`Recorder`].
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Its place; `None` where there was none.
    pub seq: Option<SeqNo>,
    /// What the store told about the keys, where it was asked.
    pub existed: Vec<bool>,
}

/// Made for one call of a view, so that what it remembers is that call's.
pub struct Recorder {
    kv: Arc<Kv>,
    last: Arc<Mutex<Recorded>>,
}

impl Recorder {
    /// Nothing was committed yet.
    #[must_use]
    pub fn new(kv: Arc<Kv>) -> Self {
        Self { kv, last: Arc::default() }
    }

    /// Where what is remembered can be read.
    #[must_use]
    pub fn recorded(&self) -> Arc<Mutex<Recorded>> {
        Arc::clone(&self.last)
    }
}

impl Read for Recorder {
    fn get(&self, id: KeyspaceId, key: KeyRef<'_>, p: Projection, out: &mut Batch) -> Result<bool> {
        self.kv.get(id, key, p, out)
    }

    fn get_many(
        &self,
        id: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        self.kv.get_many(id, keys, projection, present, out)
    }

    fn scan_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.kv.scan_into(id, range, projection, limit, out)
    }

    fn scan_back_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.kv.scan_back_into(id, range, projection, limit, out)
    }

    fn prefix_many(
        &self,
        id: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        self.kv.prefix_many(id, first_words, projection, offsets, out)
    }

    fn scan(&self, id: KeyspaceId, range: KeyRange, p: Projection) -> Result<Box<dyn Scan>> {
        self.kv.scan(id, range, p)
    }

    fn count(&self, id: KeyspaceId) -> Result<u64> {
        self.kv.count(id)
    }

    fn estimate(&self, id: KeyspaceId, range: &KeyRange) -> Result<Estimate> {
        self.kv.estimate(id, range)
    }

    fn sample_into(
        &self,
        id: KeyspaceId,
        rows: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        self.kv.sample_into(id, rows, random, projection, out)
    }

    fn first_words(&self, id: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        self.kv.first_words(id, visit)
    }
}

impl Store for Recorder {
    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        self.kv.create_keyspaces(new)
    }

    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()> {
        self.kv.drop_keyspaces(ids)
    }

    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()> {
        self.kv.change_keyspaces(changes, dropped)
    }

    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        self.kv.keyspaces()
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        self.kv.snapshot()
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        self.kv.begin(isolation)
    }

    fn write(&self, batch: &WriteBatch, mut existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        let from = existed.as_ref().map_or(0, |existed| existed.len());
        let seq = self.kv.write(batch, existed.as_deref_mut())?;
        let existed = existed.map_or(Vec::new(), |existed| existed[from..].to_vec());
        *self.last.lock() = Recorded { seq: Some(seq), existed };
        Ok(seq)
    }

    fn wait_for_room(&self) -> Result<()> {
        self.kv.wait_for_room()
    }

    fn has_room(&self) -> bool {
        self.kv.has_room()
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        Ok(Box::new(Load { load: self.kv.begin_bulk()?, last: self.recorded() }))
    }

    fn flush(&self) -> Result<()> {
        self.kv.flush()
    }

    fn compact(&self) -> Result<()> {
        self.kv.compact()
    }

    fn lend_cache(&self, bytes: u64) -> Box<dyn Send> {
        self.kv.lend_cache(bytes)
    }

    fn stats(&self) -> StoreStats {
        self.kv.stats()
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        self.kv.check(progress)
    }

    fn refresh(&self) -> Result<()> {
        self.kv.refresh()
    }

    fn is_read_only(&self) -> bool {
        self.kv.is_read_only()
    }

    fn close(&self) -> Result<()> {
        self.kv.close()
    }
}

struct Load {
    load: Box<dyn BulkLoad>,
    last: Arc<Mutex<Recorded>>,
}

impl BulkLoad for Load {
    fn write(&mut self, id: KeyspaceId, parts: Vec<Box<dyn SortedRows>>) -> Result<BulkWritten> {
        self.load.write(id, parts)
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        let seq = self.load.commit()?;
        self.last.lock().seq = Some(seq);
        Ok(seq)
    }
}
