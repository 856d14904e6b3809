//! Snapshots and transactions: reads at a sequence number, with uncommitted writes on top;
//! transactions record what they read.

use crate::history::{History, ModelKeyspace};
use crate::overlay::{Overlay, Overlays};
use crate::rows::{Change, Row, append};
use base::{Batch, Key, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    Error, ErrorKind, Isolation, Read, Result, Savepoint, Scan, Snapshot, Transaction, WriteBatch,
};

/// The keys and ranges that a serializable transaction read.
#[derive(Default)]
struct Reads {
    keys: Vec<(KeyspaceId, Key)>,
    ranges: Vec<(KeyspaceId, KeyRange)>,
}

/// A transaction; without writes of its own, a snapshot.
pub(crate) struct ModelTransaction {
    history: Arc<Mutex<History>>,
    /// `None` reads the latest commit.
    seq: Option<SeqNo>,
    isolation: Isolation,
    overlays: Mutex<Overlays>,
    /// A copy of the overlays at each savepoint.
    saved: Mutex<Vec<Overlays>>,
    reads: Mutex<Reads>,
}

impl ModelTransaction {
    pub(crate) fn new(
        history: &Arc<Mutex<History>>,
        seq: Option<SeqNo>,
        isolation: Isolation,
    ) -> Self {
        Self {
            history: Arc::clone(history),
            seq,
            isolation,
            overlays: Mutex::default(),
            saved: Mutex::default(),
            reads: Mutex::default(),
        }
    }

    /// Calls `f` with the keyspace, the sequence number and the transaction's writes to the
    /// keyspace.
    fn with<R>(
        &self,
        keyspace: KeyspaceId,
        f: impl FnOnce(&ModelKeyspace, SeqNo, Option<&Overlay>) -> R,
    ) -> Result<R> {
        let history = self.history.lock();
        let seq = self.seq.unwrap_or(history.seq);
        let space = history.space(keyspace, seq)?;
        Ok(f(space, seq, self.overlays.lock().get(&keyspace)))
    }

    fn note_key(&self, keyspace: KeyspaceId, key: &Key) {
        if self.isolation == Isolation::Serializable {
            self.reads.lock().keys.push((keyspace, key.clone()));
        }
    }

    fn note_range(&self, keyspace: KeyspaceId, range: &KeyRange) {
        if self.isolation == Isolation::Serializable {
            self.reads.lock().ranges.push((keyspace, range.clone()));
        }
    }

    fn row(&self, keyspace: KeyspaceId, key: &Key) -> Result<Option<Row>> {
        self.note_key(keyspace, key);
        self.with(keyspace, |space, seq, own| {
            let Some(own) = own else { return space.row(key, seq).cloned() };
            let below = space.row(key, seq).filter(|_| !own.is_deleted(key.as_ref()));
            match own.changes.get(key) {
                Some(change) => change.apply(&space.info.shape, below),
                None => below.cloned(),
            }
        })
    }

    fn rows(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<(Key, Row)>> {
        self.note_range(keyspace, range);
        self.with(keyspace, |space, seq, own| {
            let below = space.range(range, seq);
            let Some(own) = own else {
                return below.take(limit).map(|(k, r)| (k.clone(), r.clone())).collect();
            };
            let mut rows: BTreeMap<Key, Row> = below
                .filter(|(key, _)| !own.is_deleted(key.as_ref()))
                .map(|(k, r)| (k.clone(), r.clone()))
                .collect();
            for (key, change) in &own.changes {
                if !range.contains(key.as_ref()) {
                    continue;
                }
                match change.apply(&space.info.shape, rows.get(key)) {
                    Some(row) => rows.insert(key.clone(), row),
                    None => rows.remove(key),
                };
            }
            rows.into_iter().take(limit).collect()
        })
    }

    /// The conflict that prevents the commit, if there is one.
    fn conflict(&self, history: &History, seq: SeqNo) -> Result<Option<String>> {
        for (&id, overlay) in &*self.overlays.lock() {
            let space = history.space(id, SeqNo::MAX)?;
            for (key, change) in &overlay.changes {
                if space.key_changed(key.as_ref(), seq, matches!(change, Change::Merge(_))) {
                    return Ok(Some(format!("{key:?} of {:?} was written", space.info.name)));
                }
            }
            if overlay.deleted.iter().any(|range| space.range_changed(range, seq)) {
                return Ok(Some(format!("a range of {:?} was written", space.info.name)));
            }
        }
        let reads = self.reads.lock();
        for (id, key) in &reads.keys {
            if history.space(*id, SeqNo::MAX)?.key_changed(key.as_ref(), seq, false) {
                return Ok(Some(format!("{key:?} was read and then changed")));
            }
        }
        for (id, range) in &reads.ranges {
            if history.space(*id, SeqNo::MAX)?.range_changed(range, seq) {
                return Ok(Some("a range was read and then changed".to_owned()));
            }
        }
        Ok(None)
    }
}

impl Read for ModelTransaction {
    fn get(
        &self,
        keyspace: KeyspaceId,
        key: KeyRef<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let row = self.row(keyspace, &Key::from(key))?;
        if let Some(row) = &row {
            append(out, Some(key), Some(row), projection);
        }
        Ok(row.is_some())
    }

    fn get_many(
        &self,
        keyspace: KeyspaceId,
        keys: &Keys,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        for i in 0..keys.len() {
            let row = self.row(keyspace, &keys.get(i))?;
            present.push(row.is_some());
            append(out, None, row.as_ref(), projection);
        }
        Ok(())
    }

    fn scan_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        for (key, row) in self.rows(keyspace, range, limit)? {
            append(out, Some(key.as_ref()), Some(&row), projection);
        }
        Ok(())
    }

    fn scan_back_into(
        &self,
        keyspace: KeyspaceId,
        range: &KeyRange,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        let rows = self.rows(keyspace, range, usize::MAX)?;
        for (key, row) in rows.into_iter().rev().take(limit) {
            append(out, Some(key.as_ref()), Some(&row), projection);
        }
        Ok(())
    }

    fn prefix_many(
        &self,
        keyspace: KeyspaceId,
        first_words: &[u64],
        projection: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        let before = out.rows;
        offsets.push(0);
        for &word in first_words {
            let range = KeyRange::prefix_words(&[word]);
            self.scan_into(keyspace, &range, projection, usize::MAX, out)?;
            offsets.push((out.rows - before) as u64);
        }
        Ok(())
    }

    fn scan(
        &self,
        keyspace: KeyspaceId,
        range: KeyRange,
        projection: Projection,
    ) -> Result<Box<dyn Scan>> {
        let rows = self.rows(keyspace, &range, usize::MAX)?.into_iter();
        Ok(Box::new(ModelScan { rows, projection }))
    }

    fn count(&self, keyspace: KeyspaceId) -> Result<u64> {
        Ok(self.rows(keyspace, &KeyRange::all_words(), usize::MAX)?.len() as u64)
    }

    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<store::Estimate> {
        // Not through `self.rows`, which would record the range as read.
        let snapshot = Self::new(&self.history, self.seq, Isolation::Snapshot);
        let rows = snapshot.rows(keyspace, range, usize::MAX)?.len() as u64;
        Ok(store::Estimate { rows, bytes: rows * 32 })
    }

    fn sample_into(
        &self,
        keyspace: KeyspaceId,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let rows = self.rows(keyspace, &KeyRange::all_words(), usize::MAX)?;
        for _ in 0..if rows.is_empty() { 0 } else { n } {
            let (key, row) = &rows[(random() % rows.len() as u64) as usize];
            append(out, Some(key.as_ref()), Some(row), projection);
        }
        Ok(())
    }

    fn first_words(&self, keyspace: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        let rows = self.rows(keyspace, &KeyRange::all_words(), usize::MAX)?;
        let mut words: Vec<u64> = rows
            .iter()
            .map(|(key, _)| match key.as_ref() {
                KeyRef::Words(words) => words[0],
                KeyRef::Bytes(_) => panic!("keys of bytes have no first word"),
            })
            .collect();
        words.dedup();
        // Slices of an unusual length, to find callers that rely on their length.
        words.chunks(7).for_each(visit);
        Ok(())
    }
}

impl Snapshot for ModelTransaction {
    fn seq(&self) -> SeqNo {
        self.seq.unwrap_or_default()
    }

    /// Every commit counts as a change of every keyspace.
    fn changed_at(&self, keyspace: KeyspaceId) -> Result<SeqNo> {
        self.with(keyspace, |_, seq, _| seq)
    }

    fn changed_since(&self, keyspace: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>> {
        self.with(keyspace, |_, seq, _| (since == seq).then(Vec::new))
    }
}

impl Transaction for ModelTransaction {
    fn seq(&self) -> SeqNo {
        self.seq.unwrap_or_default()
    }

    fn write(&self, batch: &WriteBatch) -> Result<()> {
        let history = self.history.lock();
        let mut alone = Overlays::new();
        history.overlays(batch, &mut alone)?;
        history.check_sums(&alone)?;
        history.overlays(batch, &mut self.overlays.lock())
    }

    fn savepoint(&self) -> Savepoint {
        let mut saved = self.saved.lock();
        saved.push(self.overlays.lock().clone());
        Savepoint(saved.len() as u64 - 1)
    }

    fn roll_back_to(&self, savepoint: Savepoint) {
        *self.overlays.lock() = self.saved.lock()[savepoint.0 as usize].clone();
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        let mut history = self.history.lock();
        let seq = self.seq.unwrap_or_default();
        if self.overlays.lock().is_empty() {
            // A transaction that wrote nothing is serialized at its snapshot.
            return Ok(seq);
        }
        history.check_sums(&self.overlays.lock())?;
        if let Some(why) = self.conflict(&history, seq)? {
            let message = format!("another transaction won: {why} since this one began");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        history.commit(&self.overlays.lock())
    }
}

struct ModelScan {
    rows: std::vec::IntoIter<(Key, Row)>,
    projection: Projection,
}

impl Scan for ModelScan {
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool> {
        let before = out.rows;
        for (key, row) in self.rows.by_ref().take(rows_max.max(1)) {
            append(out, Some(key.as_ref()), Some(&row), self.projection);
        }
        Ok(out.rows > before)
    }
}
