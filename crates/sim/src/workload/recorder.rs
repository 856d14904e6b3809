//! A store around the engine that records the sequence number of its last commit, because views do
//! not return it. With a [`Teller`] it also announces each commit to the model before it is made.
//!
//! Calls of graphs wrap the store without a teller (`task/graph`), writes of blobs, counters and
//! combined values with one (`world_views`, `task/counters`). Transactions are wrapped by `Noting`,
//! which records what they read and write.

use crate::workload::model::SpaceWrites;
use crate::workload::read::exactly;
use crate::workload::teller::{Noted, Recorded, Teller, rows_of};
use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::sync::Mutex;
use kv::Kv;
use relation::Definition;
use std::sync::Arc;
use store::{
    BulkLoad, BulkWritten, CheckReport, Estimate, Isolation, KeyspaceChange, KeyspaceInfo,
    NewKeyspace, Progress, Read, Result, Savepoint, Scan, Snapshot, SortedRows, Store, StoreStats,
    Transaction, WriteBatch,
};
use views::SharedTransaction;

/// Shared record of a transaction's reads and writes.
pub type NotedBy = Arc<Mutex<Noted>>;

/// Wraps a store for one call of a view, so that what it records belongs to that call. Clones share
/// the record.
#[derive(Clone)]
pub struct Recorder {
    kv: Arc<Kv>,
    last: Arc<Mutex<Recorded>>,
    teller: Option<Teller>,
    /// Record of the transaction that began last.
    noted: Arc<Mutex<NotedBy>>,
}

impl Recorder {
    /// A recorder without a commit yet.
    #[must_use]
    pub fn new(kv: Arc<Kv>) -> Self {
        let noted = Arc::new(Mutex::new(noting(Isolation::Snapshot)));
        Self { kv, last: Arc::default(), teller: None, noted }
    }

    /// A recorder that reports commits to the model.
    #[must_use]
    pub fn telling(kv: Arc<Kv>, teller: Teller) -> Self {
        Self { teller: Some(teller), ..Self::new(kv) }
    }

    /// A scheduling point, if there is a teller.
    fn step(&self) {
        if let Some(teller) = &self.teller {
            teller.step();
        }
    }

    /// Begins a transaction that spans several steps. Returns it with the record of its reads and
    /// writes.
    #[must_use]
    pub fn begin_noted(kv: &Arc<Kv>, isolation: Isolation) -> (Arc<SharedTransaction>, NotedBy) {
        let recorder = Self::new(Arc::clone(kv));
        let shared = SharedTransaction::begin(&recorder, isolation);
        let noted = Arc::clone(&recorder.noted.lock());
        (shared, noted)
    }

    /// Announces a write to the model, makes it, and records its outcome.
    fn told(
        &self,
        batch: &WriteBatch,
        unsynced: bool,
        write: impl FnOnce() -> (Result<SeqNo>, Option<Vec<bool>>),
    ) -> Result<SeqNo> {
        self.step();
        // An empty batch is not a commit.
        let teller = self.teller.as_ref().filter(|_| !batch.is_empty());
        let announced = teller.and_then(|teller| teller.announce(batch, unsynced));
        let (done, existed) = write();
        if let Some(announced) = announced {
            announced.ended(&done, existed.as_deref(), &mut self.last.lock());
            self.step();
            return done;
        }
        let seq = done?;
        let existed = existed.unwrap_or_default();
        *self.last.lock() = Recorded { seq: Some(seq), existed, at: None };
        Ok(seq)
    }

    /// The shared record.
    #[must_use]
    pub fn recorded(&self) -> Arc<Mutex<Recorded>> {
        Arc::clone(&self.last)
    }
}

impl Read for Recorder {
    fn get(&self, id: KeyspaceId, key: KeyRef<'_>, p: Projection, out: &mut Batch) -> Result<bool> {
        self.step();
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
        self.step();
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
        // The last lookup of a view before it writes without one.
        let estimate = self.kv.estimate(id, range);
        self.step();
        estimate
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

    /// Without the plain keyspaces of the workload, which a real database does not have: views must
    /// be able to decode all definitions.
    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        let mut all = self.kv.keyspaces();
        all.retain(|info| Definition::decode(info).is_ok());
        all
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let snapshot = self.kv.snapshot();
        self.step();
        snapshot
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        // Each transaction has its own record: several may be under way.
        let noted = noting(isolation);
        *self.noted.lock() = Arc::clone(&noted);
        Box::new(Noting {
            inner: self.kv.begin(isolation),
            noted,
            teller: self.teller.clone(),
            last: self.recorded(),
            saved: Mutex::default(),
        })
    }

    fn write(&self, batch: &WriteBatch, mut existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        let from = existed.as_ref().map_or(0, |existed| existed.len());
        self.told(batch, false, || {
            let done = self.kv.write(batch, existed.as_deref_mut());
            (done, existed.as_deref().map(|existed| existed[from..].to_vec()))
        })
    }

    fn write_unsynced(&self, batch: &WriteBatch) -> Result<SeqNo> {
        self.told(batch, true, || (self.kv.write_unsynced(batch), None))
    }

    fn wait_for_room(&self) -> Result<()> {
        self.step();
        self.kv.wait_for_room()
    }

    fn has_room(&self) -> bool {
        self.step();
        self.kv.has_room()
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        Ok(Box::new(Load { load: self.kv.begin_bulk()?, last: self.recorded() }))
    }

    fn flush(&self) -> Result<()> {
        self.kv.flush()
    }

    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.kv.compact_while(go_on)
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

fn noting(isolation: Isolation) -> NotedBy {
    Arc::new(Mutex::new(Noted::new(isolation)))
}

/// A transaction whose reads and writes are recorded.
struct Noting {
    inner: Box<dyn Transaction>,
    noted: NotedBy,
    teller: Option<Teller>,
    last: Arc<Mutex<Recorded>>,
    /// Savepoints, with the number of writes before each.
    saved: Mutex<Vec<(Savepoint, usize)>>,
}

impl Noting {
    fn note(&self, id: KeyspaceId, ranges: impl IntoIterator<Item = KeyRange>) {
        let mut noted = self.noted.lock();
        noted.reads.extend(ranges.into_iter().map(|range| (id, range)));
    }
}

/// A range that covers all keys: in the order of keys, strings come after all words.
fn all() -> [KeyRange; 1] {
    [KeyRange::all_words()]
}

impl Read for Noting {
    fn get(&self, id: KeyspaceId, key: KeyRef<'_>, p: Projection, out: &mut Batch) -> Result<bool> {
        self.note(id, [exactly(key)]);
        self.inner.get(id, key, p, out)
    }

    fn get_many(
        &self,
        id: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(id, (0..keys.len()).map(|i| exactly(keys.get(i).as_ref())));
        self.inner.get_many(id, keys, projection, present, out)
    }

    fn scan_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(id, [range.clone()]);
        self.inner.scan_into(id, range, projection, limit, out)
    }

    fn scan_back_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(id, [range.clone()]);
        self.inner.scan_back_into(id, range, projection, limit, out)
    }

    fn prefix_many(
        &self,
        id: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(id, first_words.iter().map(|word| KeyRange::prefix_words(&[*word])));
        self.inner.prefix_many(id, first_words, projection, offsets, out)
    }

    fn scan(&self, id: KeyspaceId, range: KeyRange, p: Projection) -> Result<Box<dyn Scan>> {
        self.note(id, [range.clone()]);
        self.inner.scan(id, range, p)
    }

    fn count(&self, id: KeyspaceId) -> Result<u64> {
        self.note(id, all());
        self.inner.count(id)
    }

    fn estimate(&self, id: KeyspaceId, range: &KeyRange) -> Result<Estimate> {
        self.inner.estimate(id, range)
    }

    fn sample_into(
        &self,
        id: KeyspaceId,
        rows: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        self.note(id, all());
        self.inner.sample_into(id, rows, random, projection, out)
    }

    fn first_words(&self, id: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        self.note(id, all());
        self.inner.first_words(id, visit)
    }
}

impl Transaction for Noting {
    fn seq(&self) -> SeqNo {
        self.inner.seq()
    }

    fn write(&self, batch: &WriteBatch) -> Result<()> {
        self.inner.write(batch)?;
        let written: Vec<SpaceWrites> = rows_of(batch);
        self.noted.lock().written.extend(written);
        Ok(())
    }

    fn savepoint(&self) -> Savepoint {
        let savepoint = self.inner.savepoint();
        let written = self.noted.lock().written.len();
        self.saved.lock().push((savepoint, written));
        savepoint
    }

    fn roll_back_to(&self, savepoint: Savepoint) {
        self.inner.roll_back_to(savepoint);
        let mut saved = self.saved.lock();
        if let Some(at) = saved.iter().position(|(one, _)| *one == savepoint) {
            self.noted.lock().written.truncate(saved[at].1);
            saved.truncate(at + 1);
        }
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        let Self { inner, noted, teller, last, .. } = *self;
        match teller {
            None => inner.commit(),
            Some(teller) => {
                let noted = noted.lock().clone();
                let mut recorded = last.lock().clone();
                let done = teller.commit(inner, noted, &mut recorded);
                *last.lock() = recorded;
                done
            }
        }
    }
}
