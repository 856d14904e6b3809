//! Flushes that are triggered by scan debt.
//!
//! `reader.rs` calls [`Inner::flush_if_passed_often`] before scans and counts.
//!
//! # Why
//! A row in a memtable costs a scan some ten times as much as a row in a table. Keyspaces with many
//! writes are flushed because memtables fill. A keyspace that is written now and then and scanned
//! again and again would keep its rows in memory for long, and every scan would pay. So scans count
//! the rows of memtables and level 0 that they pass (the scan debt). Once the debt equals the cost
//! of a flush and a merge of level 0, both are done. Together that is at most twice the cost of an
//! optimal choice made in advance (the rent-or-buy rule; Karlin, Manasse, Rudolph and Sleator,
//! Algorithmica 1988). `docs/decisions/0020-flushes-for-scans.md` has figures.
//!
//! # Invariants
//! 1. A reader never waits for it: the work is a background job.
//! 2. The flush and the compaction are like all others; only when they happen is decided here.

use crate::inner::Inner;
use crate::maintenance::ToldOfPanic;
use crate::trees::Entry;
use base::KeyspaceId;
use base::mark::{Mark, hit};
use env::JobKind;
use env::sync::atomic::Ordering;
use lsm::read::SuperVersion;
use std::sync::Arc;

/// Rows that a compaction merges at the cost of one row passed by a scan. A flush of one row costs
/// about as much as passing it. (`lsm/examples/compaction_speed`.)
const MERGED_A_PASSED: u64 = 2;

impl Inner {
    /// Called before a long scan of `view`. Queues a flush where the debt of earlier scans is large
    /// enough.
    #[inline]
    pub(crate) fn flush_if_passed_often(self: &Arc<Self>, entry: &Entry, view: &SuperVersion) {
        let passed = view.scan_debt();
        if passed >= self.options.read_flush_rows && passed >= view.scan_debt_due() {
            self.weigh_read_flush(entry, view, passed);
        }
    }

    #[cold]
    fn weigh_read_flush(self: &Arc<Self>, entry: &Entry, view: &SuperVersion, passed: u64) {
        if self.options.read_only
            || !self.options.auto_compaction
            || entry.tree.merges_level0_next()
            || self.check_writable().is_err()
            || self.compaction_error.lock().is_some()
            // A dropped keyspace is not flushed, even if snapshots still read it.
            || self.trees.load().get(entry.info.id).is_err()
        {
            return view.reset_scan_debt();
        }
        if self.read_flush_queued.load(Ordering::Acquire) {
            return;
        }
        let in_memory = entry.tree.rows_in_memory();
        let cost = self.read_flush_cost(entry, in_memory);
        if passed < cost {
            return view.set_scan_debt_due(cost);
        }
        if self.read_flush_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        // The debt is reset now, because the view may stay current until the merge has its turn.
        // Scans must pay the full cost again before the next flush.
        view.reset_scan_debt();
        hit(Mark::FlushedForScans);
        let (inner, keyspace) = (Arc::clone(self), entry.info.id);
        let job = move || {
            let _told = ToldOfPanic::of(&inner, "a flush");
            // A failure has poisoned the store, so the next writer gets the error.
            let _ = inner.flush_for_scans(keyspace, in_memory > 0);
            inner.read_flush_queued.store(false, Ordering::Release);
            inner.progress.notify();
            inner.release_memory();
        };
        self.env.spawn(JobKind::Flush, Box::new(job));
    }

    fn flush_for_scans(self: &Arc<Self>, keyspace: KeyspaceId, flushes: bool) -> store::Result<()> {
        self.check_writable()?;
        let merge = || {
            // The keyspace may have been dropped meanwhile.
            if let Ok(entry) = self.trees.load().get(keyspace) {
                entry.tree.merge_level0_next();
            }
            Ok(())
        };
        if flushes {
            return self.flush_all_and(merge);
        }
        merge()?;
        self.queue_compaction();
        Ok(())
    }

    /// Cost of flush and merge, in rows passed by a scan: the files, the rows flushed, and the rows
    /// merged. Other keyspaces are flushed too; each adds its files, its rows, and this flush's
    /// part of its next merge.
    fn read_flush_cost(&self, entry: &Entry, in_memory: u64) -> u64 {
        let files = self.options.read_flush_rows;
        let cost = files + in_memory + entry.tree.rows_with_level0() / MERGED_A_PASSED;
        if in_memory == 0 {
            return cost;
        }
        let flushes_a_merge = self.options.tree.level0_runs.max(1) as u64;
        let share = MERGED_A_PASSED * flushes_a_merge;
        let of_other = |other: &Arc<Entry>| match other.tree.rows_in_memory() {
            0 => 0,
            _ if other.info.id == entry.info.id => 0,
            rows => files / 4 + rows + other.tree.rows_with_level0() / share,
        };
        cost + self.trees.load().iter().map(of_other).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::Ordering;
    use crate::{Kv, KvOptions};
    use base::{Batch, ColumnShape, Key, KeyRange, KeyShape, KeyspaceId, Kind, Projection, Shape};
    use env::{Env, MemoryEnv};
    use std::path::Path;
    use std::sync::Arc;
    use store::{Durability, Kinds, NewKeyspace, Read, Store, TableWrites, WriteBatch};

    fn shape() -> Shape {
        Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge: None }] }
    }

    fn open(read_flush_rows: u64) -> (Kv, [KeyspaceId; 2]) {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let durability = Durability::Os;
        let options = KvOptions { durability, read_flush_rows, ..KvOptions::default() };
        let kv = Kv::open(env, Path::new("/db"), options).unwrap();
        let new = ["read", "other"].map(|name| NewKeyspace {
            name: name.into(),
            shape: shape(),
            definition: Vec::new(),
        });
        let ids = kv.create_keyspaces(&new).unwrap();
        (kv, [ids[0], ids[1]])
    }

    fn write(kv: &Kv, keyspace: KeyspaceId, keys: impl IntoIterator<Item = u64>) {
        let mut rows = Batch::new(&shape());
        for key in keys {
            rows.rows += 1;
            rows.keys.push(Key::words(&[key]).as_ref());
            let base::Column::Words(column) = &mut rows.values[0] else { panic!("of words") };
            column.push(Some(key));
        }
        let table =
            TableWrites { keyspace, kinds: Kinds::Uniform(Kind::Put), rows, delete_ranges: vec![] };
        kv.write(&WriteBatch { tables: vec![table] }, None).unwrap();
    }

    fn scan(read: &dyn Read, keyspace: KeyspaceId) -> usize {
        let mut out = Batch::new(&shape());
        let mut scan = read.scan(keyspace, KeyRange::all_words(), Projection::ALL).unwrap();
        while scan.next_batch(1 << 20, &mut out).unwrap() {}
        out.rows
    }

    /// Rows in memtables, in level 0 and in deeper levels.
    fn rows(kv: &Kv, keyspace: KeyspaceId) -> [u64; 3] {
        let trees = kv.inner.trees.load();
        let stats = trees.get(keyspace).unwrap().tree.stats();
        let below = stats.levels[1..].iter().map(|level| level.rows).sum();
        [stats.memtable_rows, stats.levels[0].rows, below]
    }

    fn wait(kv: &Kv, keyspace: KeyspaceId, wanted: [u64; 3]) {
        let inner = &kv.inner;
        inner.progress.wait_until_timeout(20_000_000, &mut || rows(kv, keyspace) == wanted);
        assert_eq!(rows(kv, keyspace), wanted);
    }

    #[test]
    fn rows_that_scans_pass_again_and_again_go_where_scans_are_cheap() {
        let (kv, [read, other]) = open(1000);
        write(&kv, read, 0..100);
        write(&kv, other, 0..10);
        kv.compact().unwrap();
        write(&kv, read, (0..100).map(|key| 3 * key));
        write(&kv, other, 5..15);
        assert_eq!(rows(&kv, read), [100, 0, 100]);
        // Files cost 1000 rows, those of the other keyspace 250. Rows in memory cost one each,
        // merged rows a half; the other keyspace is merged at every fourth flush.
        let cost = 1000 + 250 + (100 + 10) + 100 / 2 + 10 / 2 / 4;
        for _ in 0..cost / 100 + 1 {
            assert_eq!(scan(&kv, read), 166);
            assert_eq!(rows(&kv, read), [100, 0, 100]);
        }
        assert_eq!(scan(&kv, read), 166);
        wait(&kv, read, [0, 0, 166]);
        wait(&kv, other, [0, 10, 10]);
        assert_eq!((scan(&kv, read), scan(&kv, other)), (166, 15));
    }

    #[test]
    fn counts_are_scans_of_what_changed() {
        let (kv, [read, _]) = open(1000);
        write(&kv, read, 0..100);
        kv.compact().unwrap();
        write(&kv, read, 50..150);
        for sixties in 0..20 {
            let rows = 150 + 60 * sixties;
            assert_eq!(kv.count(read).unwrap(), rows);
            // More changes than the row-count cache counts incrementally.
            write(&kv, read, rows..rows + 60);
        }
        let is_below = &mut || rows(&kv, read)[2] > 100;
        kv.inner.progress.wait_until_timeout(20_000_000, is_below);
        assert!(is_below());
        assert_eq!(kv.count(read).unwrap(), 1350);
    }

    #[test]
    fn a_count_that_nothing_changed_passes_nothing() {
        let (kv, [read, other]) = open(1000);
        write(&kv, read, 0..100);
        kv.compact().unwrap();
        write(&kv, read, 50..150);
        for more in 0..200 {
            assert_eq!(kv.count(read).unwrap(), 150 + more);
            write(&kv, other, 0..1);
            assert_eq!(kv.count(read).unwrap(), 150 + more);
            write(&kv, read, 150 + more..151 + more);
        }
        assert_eq!(rows(&kv, read), [300, 0, 100]);
    }

    #[test]
    fn level_0_is_merged_for_scans_too() {
        let (kv, [read, _]) = open(1000);
        write(&kv, read, 0..100);
        kv.compact().unwrap();
        write(&kv, read, 50..150);
        kv.flush().unwrap();
        assert_eq!(rows(&kv, read), [0, 100, 100]);
        for _ in 0..20 {
            assert_eq!(scan(&kv, read), 150);
        }
        wait(&kv, read, [0, 0, 150]);
    }

    /// Found by review: the super version of a tree with empty memtables stays until its merge is
    /// done, and each scan queued another flush.
    #[test]
    fn while_a_merge_waits_scans_ask_for_no_more() {
        let (kv, [read, other]) = open(1000);
        write(&kv, read, 0..100);
        kv.compact().unwrap();
        write(&kv, read, 50..150);
        kv.flush().unwrap();
        let busy = kv.inner.compacting.lock();
        let passed = || kv.inner.trees.load().get(read).unwrap().tree.view().scan_debt();
        let mut spent = false;
        while !spent {
            let before = passed();
            assert_eq!(scan(&kv, read), 150);
            spent = passed() < before;
        }
        // Scans add debt until the job has run. This test is about the time after it, while the
        // merge waits.
        let queued = || kv.inner.read_flush_queued.load(Ordering::Acquire);
        kv.inner.progress.wait_until_timeout(20_000_000, &mut || !queued());
        assert!(!queued(), "the job waits for no merge");
        for round in 0..100 {
            write(&kv, other, round..round + 1);
            assert_eq!(scan(&kv, read), 150);
        }
        assert!(passed() < 3000, "the scan debt was reset");
        assert!(!queued());
        assert_eq!(rows(&kv, other), [100, 0, 0], "other keyspaces were not flushed");
        drop(busy);
        wait(&kv, read, [0, 0, 150]);
    }

    #[test]
    fn a_transactions_own_rows_do_not_count() {
        let (kv, [read, _]) = open(100);
        write(&kv, read, 0..100);
        kv.compact().unwrap();
        let transaction = kv.begin(store::Isolation::Snapshot);
        let mut rows_of = Batch::new(&shape());
        for key in 0..1000 {
            rows_of.rows += 1;
            rows_of.keys.push(Key::words(&[key]).as_ref());
            rows_of.values[0].push_null();
        }
        let table = TableWrites {
            keyspace: read,
            kinds: Kinds::Uniform(Kind::Put),
            rows: rows_of,
            delete_ranges: vec![],
        };
        transaction.write(&WriteBatch { tables: vec![table] }).unwrap();
        for _ in 0..10 {
            assert_eq!(scan(&*transaction, read), 1000);
        }
        let trees = kv.inner.trees.load();
        assert_eq!(trees.get(read).unwrap().tree.view().scan_debt(), 0);
    }
}
