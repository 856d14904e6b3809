//! `ModelStore`, and its bulk loads.

use crate::history::{History, invalid};
use crate::overlay::Overlays;
use crate::transaction::ModelTransaction;
use base::{Batch, Key, KeyRange, KeyRef, Keys, KeyspaceId, Kind, Projection, SeqNo};
use env::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{
    BulkLoad, BulkWritten, CheckReport, Isolation, KeyspaceChange, KeyspaceInfo, KeyspaceStats,
    Kinds, NewKeyspace, Progress, Read, Result, Scan, Snapshot, SortedRows, Store, StoreStats,
    TableWrites, Transaction, WriteBatch,
};

/// A store of ordered maps under one lock that keeps every version forever.
///
/// Where the trait leaves a choice: a range delete counts as a write of every key in the range,
/// present or not; a transaction that wrote nothing always commits; a snapshot can read a keyspace
/// that was dropped after it, and reads a newer keyspace as empty.
pub struct ModelStore {
    history: Arc<Mutex<History>>,
    newest: ModelTransaction,
}

impl Default for ModelStore {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        let history = Arc::new(Mutex::new(History::default()));
        let newest = ModelTransaction::new(&history, None, Isolation::Snapshot);
        Self { history, newest }
    }
}

impl Store for ModelStore {
    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        self.history.lock().create(new)
    }

    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()> {
        self.history.lock().drop_spaces(ids)
    }

    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()> {
        self.history.lock().change_spaces(changes, dropped)
    }

    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        self.history.lock().live().map(|space| space.info.clone()).collect()
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let seq = self.history.lock().seq;
        Arc::new(ModelTransaction::new(&self.history, Some(seq), Isolation::Snapshot))
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        let seq = self.history.lock().seq;
        Box::new(ModelTransaction::new(&self.history, Some(seq), isolation))
    }

    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        let mut history = self.history.lock();
        let mut overlays = Overlays::new();
        history.overlays(batch, &mut overlays)?;
        if let Some(existed) = existed {
            for table in &batch.tables {
                let space = history.space(table.keyspace, SeqNo::MAX)?;
                let changes = &mut overlays.entry(table.keyspace).or_default().changes;
                let last: BTreeMap<Key, usize> =
                    (0..table.rows.rows).map(|i| (table.rows.keys.get(i), i)).collect();
                for i in 0..table.rows.rows {
                    let key = table.rows.keys.get(i);
                    let there = space.row(&key, SeqNo::MAX).is_some();
                    existed.push(there);
                    // Only the last write of a key takes effect.
                    if !there && last[&key] == i && table.kinds.get(i) == Kind::Delete {
                        changes.remove(&key);
                    }
                }
            }
        }
        history.commit(&overlays)
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        let history = Arc::clone(&self.history);
        Ok(Box::new(ModelBulk { history, batch: WriteBatch::default() }))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn compact_while(&self, _: &dyn Fn() -> bool) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> StoreStats {
        let history = self.history.lock();
        let keyspaces =
            history.live().map(|space| (space.info.clone(), KeyspaceStats::default())).collect();
        StoreStats { keyspaces, seq: history.seq, ..StoreStats::default() }
    }

    fn check(&self, _progress: Progress<'_>) -> Result<CheckReport> {
        Ok(CheckReport::default())
    }

    fn refresh(&self) -> Result<()> {
        Ok(())
    }

    fn is_read_only(&self) -> bool {
        false
    }

    fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// Reads the latest commit.
impl Read for ModelStore {
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
        // Through a snapshot, so that the loop over keys sees one state.
        self.snapshot().get_many(keyspace, keys, projection, present, out)
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
        self.snapshot().prefix_many(keyspace, first_words, projection, offsets, out)
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

    fn estimate(&self, keyspace: KeyspaceId, range: &KeyRange) -> Result<store::Estimate> {
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

/// A bulk load that writes all its rows as one batch.
struct ModelBulk {
    history: Arc<Mutex<History>>,
    batch: WriteBatch,
}

impl BulkLoad for ModelBulk {
    fn write(
        &mut self,
        keyspace: KeyspaceId,
        partitions: Vec<Box<dyn SortedRows>>,
    ) -> Result<BulkWritten> {
        if self.batch.tables.iter().any(|table| table.keyspace == keyspace) {
            return Err(invalid("a keyspace is loaded twice"));
        }
        let shape = self.history.lock().space(keyspace, SeqNo::MAX)?.info.shape.clone();
        let mut rows = Batch::new(&shape);
        for mut partition in partitions {
            while partition.next_rows(&mut rows)? {}
        }
        let keys: Vec<Key> = (0..rows.rows).map(|i| rows.keys.get(i)).collect();
        if !keys.is_sorted_by(|a, b| a < b) {
            return Err(invalid("rows of a bulk load do not ascend"));
        }
        let written = BulkWritten { rows: rows.rows as u64, bytes: 0 };
        let kinds = Kinds::Uniform(Kind::Put);
        let delete_ranges = Vec::new();
        self.batch.tables.push(TableWrites { keyspace, kinds, rows, delete_ranges });
        Ok(written)
    }

    fn commit(self: Box<Self>) -> Result<SeqNo> {
        let mut history = self.history.lock();
        let mut overlays = Overlays::new();
        history.overlays(&self.batch, &mut overlays)?;
        history.commit(&overlays)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::shape::int_to_word;
    use base::{Column, ColumnShape, KeyShape, Merge, Shape, WordColumn};
    use store::ErrorKind;

    fn counts() -> (ModelStore, KeyspaceId) {
        let store = ModelStore::new();
        let merge = Some(Merge::AddInt);
        let shape = Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge }] };
        let new = NewKeyspace { name: "counts".into(), shape, definition: Vec::new() };
        let id = store.create_keyspaces(&[new]).unwrap()[0];
        (store, id)
    }

    fn one(keyspace: KeyspaceId, kind: Kind, key: u64, count: i64) -> WriteBatch {
        let words = WordColumn { words: vec![int_to_word(count)], ..WordColumn::default() };
        let (keys, values) = (Keys::Words(vec![vec![key]]), vec![Column::Words(words)]);
        let rows = Batch { rows: 1, keys, values };
        let kinds = Kinds::Uniform(kind);
        WriteBatch { tables: vec![TableWrites { keyspace, kinds, rows, delete_ranges: vec![] }] }
    }

    #[track_caller]
    fn check(read: &dyn Read, keyspace: KeyspaceId, want: &[(u64, i64)]) {
        let values = vec![Column::Words(WordColumn::default())];
        let mut rows = Batch { rows: 0, keys: Keys::Words(vec![vec![]]), values };
        let all = KeyRange::all_words();
        read.scan_into(keyspace, &all, Projection::ALL, usize::MAX, &mut rows).unwrap();
        let words = rows.value_words(0).iter().map(|&word| base::shape::word_to_int(word));
        let found: Vec<_> = rows.key_words(0).iter().copied().zip(words).collect();
        assert_eq!(found, want);
    }

    #[test]
    fn a_snapshot_keeps_its_moment() {
        let (store, id) = counts();
        store.write(&one(id, Kind::Put, 1, 10), None).unwrap();
        let before = store.snapshot();
        store.write(&one(id, Kind::Merge, 1, 5), None).unwrap();
        check(&*before, id, &[(1, 10)]);
        check(&store, id, &[(1, 15)]);
        store.drop_keyspaces(&[id]).unwrap();
        check(&*before, id, &[(1, 10)]);
        assert_eq!(store.count(id).unwrap_err().kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn a_transaction_sees_its_writes_and_others_do_not() {
        let (store, id) = counts();
        store.write(&one(id, Kind::Put, 1, 10), None).unwrap();
        let transaction = store.begin(Isolation::Snapshot);
        transaction.write(&one(id, Kind::Merge, 1, 1)).unwrap();
        transaction.write(&one(id, Kind::Merge, 2, 1)).unwrap();
        transaction.write(&one(id, Kind::Merge, 2, 1)).unwrap();
        check(&*transaction, id, &[(1, 11), (2, 2)]);
        check(&store, id, &[(1, 10)]);
        transaction.commit().unwrap();
        check(&store, id, &[(1, 11), (2, 2)]);
    }

    #[test]
    fn merges_never_conflict_and_a_merge_and_a_put_do() {
        let (store, id) = counts();
        let merging = store.begin(Isolation::Snapshot);
        merging.write(&one(id, Kind::Merge, 1, 1)).unwrap();
        let putting = store.begin(Isolation::Snapshot);
        putting.write(&one(id, Kind::Put, 1, 100)).unwrap();
        store.write(&one(id, Kind::Merge, 1, 1), None).unwrap();
        merging.commit().unwrap();
        assert_eq!(putting.commit().unwrap_err().kind(), ErrorKind::Conflict);
        check(&store, id, &[(1, 2)]);
    }

    #[test]
    fn a_changed_read_fails_only_a_serializable_writer() {
        for (isolation, fails) in [(Isolation::Snapshot, false), (Isolation::Serializable, true)] {
            let (store, id) = counts();
            let transaction = store.begin(isolation);
            check(&*transaction, id, &[]);
            transaction.write(&one(id, Kind::Put, 1, 1)).unwrap();
            store.write(&one(id, Kind::Put, 2, 2), None).unwrap();
            assert_eq!(transaction.commit().is_err(), fails);
        }
    }

    #[test]
    fn a_range_delete_comes_before_the_rows_of_its_batch() {
        let (store, id) = counts();
        store.write(&one(id, Kind::Put, 1, 1), None).unwrap();
        let mut batch = one(id, Kind::Merge, 1, 7);
        batch.tables[0].delete_ranges.push(KeyRange::all_words());
        let mut existed = Vec::new();
        store.write(&batch, Some(&mut existed)).unwrap();
        assert_eq!(existed, [true]);
        check(&store, id, &[(1, 7)]);
    }

    #[test]
    fn a_bulk_load_is_visible_at_its_commit() {
        let (store, id) = counts();
        let rows = one(id, Kind::Put, 3, 4).tables.remove(0).rows;
        let mut bulk = store.begin_bulk().unwrap();
        bulk.write(id, vec![Box::new(crate::OneBatch(Some(rows)))]).unwrap();
        check(&store, id, &[]);
        bulk.commit().unwrap();
        check(&store, id, &[(3, 4)]);
    }
}
