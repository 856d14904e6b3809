//! A join reads a bounded number of rows by one call to the store, however many rows a key has; the
//! limits are checked between calls.

use crate::rows::run;
use base::{Batch, KeyRange, KeyRef, Keys, KeyspaceId, Projection, SeqNo};
use env::{Env, MemoryEnv};
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::Engine;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use store::{
    BulkLoad, CheckReport, Estimate, Isolation, KeyspaceChange, KeyspaceInfo, NewKeyspace,
    Progress, Read, Result, Scan, Snapshot, Store, StoreStats, Transaction, WriteBatch,
};

/// Rows of the long key.
const LONG: i64 = 400_000;

/// Most rows of one call for a query that may hold 16 MiB: a sixteenth of that, counting the words
/// that are read and their cells.
const CALL_ROWS_MAX: usize = 64 << 10;

/// The most rows that one call returned, and all rows returned.
#[derive(Default)]
struct Given {
    most: AtomicUsize,
    all: AtomicUsize,
}

impl Given {
    fn note(&self, rows: usize) {
        self.most.fetch_max(rows, Relaxed);
        self.all.fetch_add(rows, Relaxed);
    }
}

struct Noting<T> {
    inner: T,
    given: Arc<Given>,
}

struct NotedScan {
    inner: Box<dyn Scan>,
    given: Arc<Given>,
}

impl Scan for NotedScan {
    fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool> {
        let before = out.rows;
        let more = self.inner.next_batch(rows_max, out)?;
        self.given.note(out.rows - before);
        Ok(more)
    }
}

impl<T: std::ops::Deref<Target: Read> + Send + Sync> Read for Noting<T> {
    fn get(&self, id: KeyspaceId, key: KeyRef<'_>, p: Projection, out: &mut Batch) -> Result<bool> {
        self.inner.get(id, key, p, out)
    }

    fn get_many(
        &self,
        id: KeyspaceId,
        keys: &Keys,
        p: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        self.inner.get_many(id, keys, p, present, out)
    }

    fn scan_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        p: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        let before = out.rows;
        self.inner.scan_into(id, range, p, limit, out)?;
        self.given.note(out.rows - before);
        Ok(())
    }

    fn scan_back_into(
        &self,
        id: KeyspaceId,
        range: &KeyRange,
        p: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.inner.scan_back_into(id, range, p, limit, out)
    }

    fn prefix_many(
        &self,
        id: KeyspaceId,
        first_words: &[u64],
        p: Projection,
        offsets: &mut Vec<u64>,
        out: &mut Batch,
    ) -> Result<()> {
        let before = out.rows;
        self.inner.prefix_many(id, first_words, p, offsets, out)?;
        self.given.note(out.rows - before);
        Ok(())
    }

    fn scan(&self, id: KeyspaceId, range: KeyRange, p: Projection) -> Result<Box<dyn Scan>> {
        let inner = self.inner.scan(id, range, p)?;
        Ok(Box::new(NotedScan { inner, given: Arc::clone(&self.given) }))
    }

    fn count(&self, id: KeyspaceId) -> Result<u64> {
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
        p: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        self.inner.sample_into(id, rows, random, p, out)
    }

    fn first_words(&self, id: KeyspaceId, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        self.inner.first_words(id, visit)
    }
}

impl Snapshot for Noting<Arc<dyn Snapshot>> {
    fn seq(&self) -> SeqNo {
        self.inner.seq()
    }

    fn changed_at(&self, id: KeyspaceId) -> Result<SeqNo> {
        self.inner.changed_at(id)
    }

    fn changed_since(&self, id: KeyspaceId, since: SeqNo) -> Result<Option<Vec<u64>>> {
        self.inner.changed_since(id, since)
    }
}

impl Store for Noting<Arc<Kv>> {
    fn create_keyspaces(&self, new: &[NewKeyspace]) -> Result<Vec<KeyspaceId>> {
        self.inner.create_keyspaces(new)
    }

    fn drop_keyspaces(&self, ids: &[KeyspaceId]) -> Result<()> {
        self.inner.drop_keyspaces(ids)
    }

    fn change_keyspaces(&self, changes: &[KeyspaceChange], dropped: &[KeyspaceId]) -> Result<()> {
        self.inner.change_keyspaces(changes, dropped)
    }

    fn keyspaces(&self) -> Vec<KeyspaceInfo> {
        self.inner.keyspaces()
    }

    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(Noting { inner: self.inner.snapshot(), given: Arc::clone(&self.given) })
    }

    fn begin(&self, isolation: Isolation) -> Box<dyn Transaction> {
        self.inner.begin(isolation)
    }

    fn write(&self, batch: &WriteBatch, existed: Option<&mut Vec<bool>>) -> Result<SeqNo> {
        self.inner.write(batch, existed)
    }

    fn begin_bulk(&self) -> Result<Box<dyn BulkLoad>> {
        self.inner.begin_bulk()
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn compact_while(&self, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.inner.compact_while(go_on)
    }

    fn stats(&self) -> StoreStats {
        self.inner.stats()
    }

    fn check(&self, progress: Progress<'_>) -> Result<CheckReport> {
        self.inner.check(progress)
    }

    fn refresh(&self) -> Result<()> {
        self.inner.refresh()
    }

    fn is_read_only(&self) -> bool {
        self.inner.is_read_only()
    }

    fn close(&self) -> Result<()> {
        self.inner.close()
    }
}

/// An engine whose queries may hold 16 MiB, and the record of its store.
fn engine() -> (Engine, Arc<Given>) {
    let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
    let kv = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default()).unwrap();
    let given = Arc::new(Given::default());
    let store = Noting { inner: Arc::new(kv), given: Arc::clone(&given) };
    (Engine::new(Arc::new(store), env, 16 << 20), given)
}

/// Fills `name` with a long group and many short ones; `key` makes their keys.
fn load(engine: &Engine, name: &str, columns: &str, key: &str) {
    run(engine, &format!(":create {name} {{{columns}}}"));
    for from in (0..LONG).step_by(20_000) {
        let to = from + 20_000;
        run(
            engine,
            &format!(
                "?[a, b] := b in int_range({from}, {to}), n = 7, a = {key} :put {name} {{a, b}}"
            ),
        );
    }
    run(engine, &format!("?[a, b] := n in int_range(1000), b = n, a = {key} :put {name} {{a, b}}"));
}

/// Runs a script, compares its result, and checks the most rows that one call returned.
#[track_caller]
fn check(engine: &Engine, given: &Given, script: &str, want: i64) {
    given.most.store(0, Relaxed);
    let found = match run(engine, script).remove(0).remove(0) {
        Value::Float(sum) => sum as i64,
        Value::Int(count) => count,
        other => panic!("{other} is not a number"),
    };
    assert_eq!(found, want, "{script}");
    let most = given.most.load(Relaxed);
    assert!(most <= CALL_ROWS_MAX, "{most} rows by one call: {script}");
}

/// Found by an audit: neither memory limit nor timeout applied to the rows of one key.
#[test]
fn what_begins_with_one_key_is_read_in_pieces() {
    let (engine, given) = engine();
    let words = ("words", "a: Int, b: Int", "n");
    let texts = ("texts", "a: String, b: Int", "concat('key ', to_string(n))");
    for (name, columns, key) in [words, texts] {
        load(&engine, name, columns, key);
        let all = LONG * (LONG - 1) / 2;
        check(&engine, &given, &format!("?[sum(b)] := n = 7, a = {key}, *{name}{{a, b}}"), all);
        let body = format!("n in [5, 6, 7, 8, 9, 10], a = {key}, *{name}{{a, b}}");
        check(&engine, &given, &format!("?[sum(b)] := {body}"), all + 5 + 6 + 8 + 9 + 10);
        check(&engine, &given, &format!("?[sum(b)] := {body}, b >= 0"), all + 5 + 6 + 8 + 9 + 10);
        let body = format!("n in int_range(1000), a = {key}, *{name}{{a, b}}, b % 2 == 0");
        check(&engine, &given, &format!("?[count(b)] := {body}"), LONG / 2 + 500);
        let body = format!("n in int_range(2000), a = {key}, not *{name}{{a}}");
        check(&engine, &given, &format!("?[count(n)] := {body}"), 1000);
    }
}

/// Found by an audit: each input row read all rows of the same key.
#[test]
fn many_rows_that_look_for_the_same_key_share_no_call() {
    let (engine, given) = engine();
    load(&engine, "e", "a: Int, b: Int", "n");
    let script = "?[count(b)] := i in int_range(6), a = i - i + 7, *e{a, b}, b < 1000 + i * 0";
    check(&engine, &given, script, 6000);
    let script = "?[sum(b)] := a in int_range(100), *e{a, b}, b > 10, b < 2000";
    check(&engine, &given, script, (11..2000).sum::<i64>() + (11..100).sum::<i64>());
}

/// Found by an audit: all rows of a vertex were read where some hundred were enough.
#[test]
fn a_limit_ends_the_reading_of_what_begins_with_one_key() {
    let (engine, given) = engine();
    load(&engine, "e", "a: Int, b: Int", "n");
    given.all.store(0, Relaxed);
    assert_eq!(run(&engine, "?[b] := *e{a: 7, b} :limit 300").len(), 300);
    let all = given.all.load(Relaxed);
    assert!(all < 4_000, "{all} rows for 300");
}
