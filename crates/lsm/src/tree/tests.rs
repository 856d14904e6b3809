use super::*;
use crate::context::TreeOptions;
use crate::error::Error;
use crate::manifest::{AddedKeyspace, Manifest, VersionEdit};
use crate::read::{ReadAt, ReadThresholds};
use crate::rows::Rows;
use crate::run_writer::RunWriter;
use crate::table::{BlockCache, TableOptions};
use crate::version::LEVEL_MAX;
use base::shape::{int_to_word, word_to_int};
use base::{
    Column, ColumnShape, Key, KeyRange, KeyRef, KeyShape, Kind, Merge, Projection, SeqNo, TableId,
};
use env::{Env, MemoryEnv};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const KEYS: u8 = 60;
const KEYSPACE: KeyspaceId = KeyspaceId(7);
const MERGE: Kinds<'_> = Kinds::Uniform(Kind::Merge);

/// A row: the sum, which ends where a word does, and which write's bytes.
type Row = (Option<i64>, Vec<u8>);
type Rowset = BTreeMap<Key, Row>;
/// Key, kind and word of one write.
type Write = (u8, Kind, Option<i64>);

/// A sequence number, and the rows and the deleted ranges that were written with it.
type Commit = (u64, Vec<Write>, Vec<(Key, Option<Key>)>);

/// The simplest database: everything that was ever written, in order.
#[derive(Default)]
struct Model {
    history: Vec<Commit>,
}

/// A tree with a manifest, the way the engine above runs it.
struct World {
    env: Arc<dyn Env>,
    shape: Shape,
    manifest: Manifest,
    tree: Tree,
    seq: u64,
    snapshots: Vec<SeqNo>,
    model: Model,
}

fn words_shape() -> Shape {
    let values = vec![ColumnShape::Word { merge: Some(Merge::AddInt) }, ColumnShape::Bytes];
    Shape { key: KeyShape::Words(2), values }
}

fn bytes_shape() -> Shape {
    Shape { key: KeyShape::Bytes, ..words_shape() }
}

fn key(shape: &Shape, n: u8) -> Key {
    match shape.key {
        KeyShape::Words(_) => Key::words(&[u64::from(n / 8), u64::from(n % 8) << 40]),
        KeyShape::Bytes => Key::bytes(&[b"k".repeat(usize::from(n % 3)), vec![n]].concat()),
    }
}

/// Bytes that a write of `seq` to key `n` carries: short, long or absent.
fn payload(n: u8, seq: u64) -> Vec<u8> {
    vec![n ^ seq as u8; (seq as usize * 7 + usize::from(n)) % 120]
}

fn options() -> TreeOptions {
    let table = TableOptions { block_rows_max: 8, ..TableOptions::default() };
    TreeOptions {
        table,
        table_bytes: 1024,
        level0_runs: 2,
        level1_bytes: 200,
        level_factor: 3,
        read: ReadThresholds::TINY,
        ..TreeOptions::default()
    }
}

fn context(env: &Arc<dyn Env>, next_table_id: TableId) -> Arc<Context> {
    let folders = vec![PathBuf::from("/db/a"), PathBuf::from("/db/b")];
    let cache = Arc::new(BlockCache::new(1 << 20));
    Arc::new(Context::new(env.clone(), cache, folders, options(), false, next_table_id))
}

impl Model {
    fn has_far_words(&self) -> bool {
        let mut words = self.history.iter().flat_map(|(_, writes, _)| writes);
        words.any(|(_, _, word)| word.is_some_and(|word| word.unsigned_abs() > 50))
    }

    fn at(&self, shape: &Shape, snapshot: SeqNo) -> Rowset {
        let mut rows = BTreeMap::<Key, (Option<i128>, Vec<u8>)>::new();
        for (seq, writes, ranges) in self.history.iter().filter(|(seq, ..)| SeqNo(*seq) <= snapshot)
        {
            for (lower, upper) in ranges {
                rows.retain(|key, _| key < lower || upper.as_ref().is_some_and(|u| key >= u));
            }
            for &(n, kind, word) in writes {
                let key = key(shape, n);
                let bytes = payload(n, *seq);
                let word = word.map(i128::from);
                match kind {
                    Kind::Delete => drop(rows.remove(&key)),
                    Kind::Put => drop(rows.insert(key, (word, bytes))),
                    Kind::Merge => {
                        let older = rows.get(&key).and_then(|(sum, _)| *sum);
                        let sum = match (older, word) {
                            (Some(a), Some(b)) => Some(a + b),
                            (a, b) => a.or(b),
                        };
                        rows.insert(key, (sum, bytes));
                    }
                }
            }
        }
        let in_a_word = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        rows.into_iter().map(|(key, (sum, bytes))| (key, (sum.map(in_a_word), bytes))).collect()
    }
}

impl World {
    fn new(shape: Shape) -> Self {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        env.create_folder(Path::new("/db/a")).unwrap();
        env.create_folder(Path::new("/db/b")).unwrap();
        let mut manifest = Manifest::create(env.clone(), Path::new("/db")).unwrap();
        let added = AddedKeyspace {
            id: KEYSPACE,
            name: "t".into(),
            shape: shape.clone(),
            definition: Vec::new(),
        };
        let folders = Some(vec!["a".into(), "b".into()]);
        let edit = VersionEdit { keyspaces_added: vec![added], folders, ..VersionEdit::default() };
        manifest.append(&edit).unwrap();
        let tree = Tree::open(context(&env, TableId(1)), KEYSPACE, shape.clone(), &[]).unwrap();
        let (snapshots, model) = (Vec::new(), Model::default());
        Self { env, shape, manifest, tree, seq: 0, snapshots, model }
    }

    fn batch(&self, writes: &[Write], seq: u64) -> (Batch, Vec<u8>) {
        let mut batch = Batch::new(&self.shape);
        let mut kinds = Vec::new();
        for &(n, kind, word) in writes {
            batch.rows += 1;
            batch.keys.push(key(&self.shape, n).as_ref());
            kinds.push(kind as u8);
            let gone = kind == Kind::Delete;
            let Column::Words(words) = &mut batch.values[0] else { unreachable!() };
            words.push(if gone { None } else { word.map(int_to_word) });
            let Column::Bytes(bytes) = &mut batch.values[1] else { unreachable!() };
            bytes.push((!gone).then_some(&payload(n, seq)[..]));
        }
        (batch, kinds)
    }

    fn write(&mut self, writes: &[Write]) {
        self.seq += 1;
        let (batch, kinds) = self.batch(writes, self.seq);
        self.tree.insert(&batch, Kinds::Each(&kinds), SeqNo(self.seq));
        self.model.history.push((self.seq, writes.to_vec(), Vec::new()));
    }

    fn delete_range(&mut self, from: u8, to: Option<u8>) {
        self.seq += 1;
        let (lower, upper) = (key(&self.shape, from), to.map(|to| key(&self.shape, to)));
        let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
        if !range.is_empty() {
            self.tree.delete_range(range, SeqNo(self.seq));
            self.model.history.push((self.seq, Vec::new(), vec![(lower, upper)]));
        }
    }

    fn install(&mut self, edit: &TreeEdit, drop_sealed: &[Arc<Memtable>]) {
        let edit_of_all = VersionEdit {
            last_seq: Some(SeqNo(self.seq)),
            next_table_id: Some(self.tree.context().next_table_id()),
            ..VersionEdit::of_tree(KEYSPACE, edit.clone())
        };
        self.manifest.append(&edit_of_all).unwrap();
        self.tree.install(edit, drop_sealed, SeqNo(self.seq)).unwrap();
    }

    fn flush(&mut self) {
        if let Some(flushed) = self.tree.flush_sealed(&self.snapshots, None).unwrap() {
            self.install(&flushed.edit, &flushed.memtables);
        }
    }

    fn flush_all(&mut self) {
        self.tree.seal();
        self.flush();
    }

    /// A compaction, with `meanwhile` between its work and its installation.
    fn compact(&mut self, choice: &Choice, meanwhile: impl FnOnce(&mut Self)) {
        let edit = self.tree.compact(choice, &self.snapshots, None, &|| true).unwrap();
        meanwhile(self);
        self.install(&edit, &[]);
    }

    /// Sorted rows bypass the memtables: one run, written by two writers.
    fn bulk_load(&mut self, keys: &[u8]) {
        self.flush_all();
        self.seq += 1;
        let mut sorted: Vec<u8> = keys.to_vec();
        sorted.sort_by_key(|&n| key(&self.shape, n));
        sorted.dedup();
        let writes: Vec<Write> =
            sorted.iter().map(|&n| (n, Kind::Put, Some(i64::from(n)))).collect();
        let bottom = self.tree.is_empty_of_tables();
        let mut edit = TreeEdit::default();
        let run = self.tree.next_run();
        for part in writes.chunks(writes.len().div_ceil(2).max(1)) {
            let (batch, _) = self.batch(part, self.seq);
            let mut rows = Rows::new(&self.shape);
            (rows.keys, rows.values) = (batch.keys, batch.values);
            let mut writer =
                RunWriter::new(self.tree.context(), &self.shape, bottom, SeqNo(self.seq));
            writer.add(&rows, 0..rows.len()).unwrap();
            let level = if bottom { LEVEL_MAX as u8 } else { 0 };
            let run = if bottom { 0 } else { run };
            let metas = writer.finish().unwrap().into_iter();
            edit.added.extend(metas.map(|meta| AddedTable { level, run, meta }));
        }
        self.model.history.push((self.seq, writes, Vec::new()));
        self.install(&edit, &[]);
    }

    fn reopen(&mut self) {
        self.flush_all();
        let (manifest, state) = Manifest::open(self.env.clone(), Path::new("/db")).unwrap();
        self.manifest = manifest;
        let tables = &state.keyspace("t").unwrap().tables;
        let context = context(&self.env, state.next_table_id());
        self.tree.collect_obsolete();
        self.tree = Tree::open(context, KEYSPACE, self.shape.clone(), tables).unwrap();
    }

    fn read(&self, snapshot: SeqNo) -> Rowset {
        let view = self.tree.view();
        let mut out = Batch::new(&self.shape);
        let range = KeyRange::all(&self.shape.key);
        view.scan_into(&range, ReadAt::snapshot(snapshot), Projection::ALL, usize::MAX, &mut out)
            .unwrap();
        rowset(&out)
    }

    fn check(&self) {
        for &snapshot in self.snapshots.iter().chain([&SeqNo(self.seq)]) {
            let want = self.model.at(&self.shape, snapshot);
            assert_eq!(self.read(snapshot), want, "scan at {snapshot}");
            let view = self.tree.view();
            for n in 0..KEYS {
                let key = key(&self.shape, n);
                let mut out = Batch::new(&self.shape);
                let at = ReadAt::snapshot(snapshot);
                let found = view.get(key.as_ref(), at, Projection::ALL, &mut out).unwrap();
                assert_eq!(found, want.contains_key(&key), "get {key:?} at {snapshot}");
                assert_eq!(rowset(&out).get(&key), want.get(&key), "get {key:?} at {snapshot}");
            }
        }
        self.tree.collect_obsolete();
        assert_eq!(self.files(), self.named(), "files are those that the manifest names");
        let verified = self.tree.verify(&mut |_| true).unwrap();
        assert_eq!(verified.tables, self.named().len() as u64);
    }

    fn files(&self) -> BTreeSet<TableId> {
        let folders = &self.tree.context().folders;
        let paths = folders.iter().flat_map(|folder| {
            self.env.list(folder).unwrap().into_iter().map(|name| folder.join(name))
        });
        paths.map(|path| crate::context::parse_table_file_name(&path).unwrap()).collect()
    }

    fn named(&self) -> BTreeSet<TableId> {
        self.manifest.state().tables().map(|table| table.meta.id).collect()
    }
}

fn rowset(batch: &Batch) -> Rowset {
    let (words, bytes) = (batch.values[0].as_words().unwrap(), batch.values[1].as_bytes().unwrap());
    let row = |i| (batch.keys.get(i), (words.get(i).map(word_to_int), bytes.get(i).to_vec()));
    (0..batch.rows).map(row).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Write>),
    DeleteRange(u8, Option<u8>),
    Seal,
    Flush,
    Compact,
    /// A compaction; rows are written and flushed before it is installed.
    CompactBeside(Vec<Write>),
    CompactAll,
    BulkLoad(Vec<u8>),
    Snapshot,
    Release(prop::sample::Index),
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let writes = || {
        let kind = prop::sample::select(vec![Kind::Put, Kind::Put, Kind::Delete, Kind::Merge]);
        // Near the ends of the range, so that sums pass it and come back. The ends are no sums.
        let far = prop::sample::select(vec![i64::MAX - 1, i64::MIN + 1, i64::MAX - 20]);
        let word = prop::option::weighted(0.9, prop_oneof![24 => -50..50_i64, 1 => far]);
        // Some writes are near each other, so that tables move past each other.
        let writes = prop::collection::btree_map(0..KEYS, (kind, word), 1..12);
        (writes, 0..KEYS, prop::sample::select(vec![1, 1, 9])).prop_map(|(writes, from, shrink)| {
            let near = writes.into_iter().map(|(n, (kind, word))| {
                let n = if shrink == 1 { n } else { (from + n / shrink) % KEYS };
                (n, (kind, word))
            });
            let distinct: BTreeMap<u8, _> = near.collect();
            distinct.into_iter().map(|(n, (kind, word))| (n, kind, word)).collect()
        })
    };
    prop_oneof![
        8 => writes().prop_map(Step::Write),
        2 => (0..KEYS, prop::option::weighted(0.8, 0..KEYS)).prop_map(|(a, b)| Step::DeleteRange(a, b)),
        2 => Just(Step::Seal),
        4 => Just(Step::Flush),
        4 => Just(Step::Compact),
        2 => writes().prop_map(Step::CompactBeside),
        1 => Just(Step::CompactAll),
        1 => prop::collection::vec(0..KEYS, 1..40).prop_map(Step::BulkLoad),
        2 => Just(Step::Snapshot),
        2 => any::<prop::sample::Index>().prop_map(Step::Release),
        1 => Just(Step::Reopen),
    ]
}

fn run(shape: Shape, steps: Vec<Step>) {
    let mut world = World::new(shape);
    for step in steps {
        match step {
            Step::Write(writes) => world.write(&writes),
            Step::DeleteRange(from, to) => world.delete_range(from, to),
            Step::Seal => drop(world.tree.seal()),
            Step::Flush => world.flush_all(),
            Step::Compact => {
                let choice = world.tree.choose_compaction();
                world.compact(&choice, |_| ());
            }
            Step::CompactBeside(writes) => {
                let mut choice = world.tree.choose_compaction();
                if choice == Choice::Nothing {
                    choice = world.tree.choose_full_compaction();
                }
                world.compact(&choice, |world| {
                    world.write(&writes);
                    world.flush_all();
                });
            }
            Step::CompactAll => {
                let choice = world.tree.choose_full_compaction();
                world.compact(&choice, |_| ());
            }
            Step::BulkLoad(keys) => world.bulk_load(&keys),
            Step::Snapshot => {
                if world.snapshots.last() != Some(&SeqNo(world.seq)) {
                    world.snapshots.push(SeqNo(world.seq));
                }
            }
            Step::Release(index) => {
                if !world.snapshots.is_empty() {
                    world.snapshots.remove(index.index(world.snapshots.len()));
                }
            }
            Step::Reopen => world.reopen(),
        }
        world.check();
    }
    // Once no snapshot needs more, compaction comes to an end and leaves one version a key.
    world.snapshots.clear();
    world.flush_all();
    for _ in 0..100 {
        let choice = world.tree.choose_compaction();
        if choice == Choice::Nothing {
            break;
        }
        world.compact(&choice, |_| ());
        world.check();
    }
    assert_eq!(world.tree.choose_compaction(), Choice::Nothing);
    let all = world.tree.choose_full_compaction();
    world.compact(&all, |_| ());
    world.check();
    let stats = world.tree.stats();
    let rows: u64 = stats.levels.iter().map(|level| level.rows).sum();
    let keys = world.read(SeqNo(world.seq)).len() as u64;
    // Versions whose sum no word holds stay apart.
    assert!(rows == keys || rows > keys && world.model.has_far_words(), "{stats:?}");
    assert_eq!(world.tree.choose_full_compaction(), Choice::Nothing);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn every_live_snapshot_reads_as_the_model_whatever_moves(
        steps in prop::collection::vec(step(), 1..60),
        of_bytes in any::<bool>(),
    ) {
        run(if of_bytes { bytes_shape() } else { words_shape() }, steps);
    }
}

fn put(n: u8) -> Write {
    (n, Kind::Put, Some(1))
}

#[test]
fn a_reader_keeps_the_files_of_its_version() {
    let mut world = World::new(words_shape());
    world.write(&[put(1), put(2)]);
    world.flush_all();
    world.write(&[put(2), put(3)]);
    world.flush_all();
    let view = world.tree.view_full();
    let before = world.files();
    let all = world.tree.choose_full_compaction();
    world.compact(&all, |_| ());
    assert_eq!(world.tree.collect_obsolete(), 0);
    assert!(before.is_subset(&world.files()));
    let mut out = Batch::new(&world.shape);
    let at = ReadAt::snapshot(SeqNo(1));
    assert!(view.get(key(&world.shape, 1).as_ref(), at, Projection::ALL, &mut out).unwrap());
    drop(view);
    assert_eq!(world.tree.collect_obsolete(), before.len());
    assert!(before.is_disjoint(&world.files()));
}

#[test]
fn a_cancelled_compaction_leaves_no_file() {
    let mut world = World::new(words_shape());
    for n in 0..KEYS {
        world.write(&[put(n), put((n + 7) % KEYS)]);
        world.flush_all();
    }
    let files = world.files();
    let choice = world.tree.choose_full_compaction();
    let cancelled = world.tree.compact(&choice, &[], None, &|| false);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
    assert_eq!(world.files(), files);
}

#[test]
fn a_dropped_tree_leaves_no_file() {
    let mut world = World::new(words_shape());
    world.write(&[put(1), put(2)]);
    world.flush_all();
    let mut obsolete = ObsoleteFiles::default();
    world.tree.retire(&mut obsolete);
    assert_eq!(obsolete.collect(world.tree.context()), 0, "the tree can still be read");
    let World { tree, .. } = world;
    let context = Arc::clone(tree.context());
    drop(tree);
    assert_eq!(obsolete.collect(&context), 1);
    assert!(obsolete.is_empty());
}

#[test]
fn growing_keys_go_to_the_bottom_and_are_not_written_again() {
    let mut world = World::new(words_shape());
    for round in 0..4_u64 {
        let mut batch = Batch::new(&world.shape);
        for i in 0..300 {
            batch.rows += 1;
            batch.keys.push(KeyRef::Words(&[round, i]));
            let Column::Words(words) = &mut batch.values[0] else { unreachable!() };
            words.push(Some(int_to_word(i as i64 * 77_777)));
            batch.values[1].push_null();
        }
        world.seq += 1;
        world.tree.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(world.seq));
        world.flush_all();
    }
    assert_eq!(world.tree.stats().levels[LEVEL_MAX].rows, 1200);
    assert_eq!(world.tree.choose_compaction(), Choice::Nothing);
    assert_eq!(world.tree.choose_full_compaction(), Choice::Nothing);
}

#[test]
fn sums_that_no_word_holds_are_rewritten_once_at_the_bottom() {
    let mut world = World::new(words_shape());
    let sum = |word| [(1, Kind::Merge, Some(word))];
    for word in [i64::MAX - 1, i64::MAX - 1, -5] {
        world.tree.insert(&world.batch(&sum(word), world.seq + 1).0, MERGE, SeqNo(world.seq + 1));
        world.seq += 1;
        world.flush_all();
    }
    let mut steps = 0;
    loop {
        let choice = world.tree.choose_compaction();
        if choice == Choice::Nothing {
            break;
        }
        steps += 1;
        assert!(steps < 5, "{choice:?} has nothing to drop");
        world.compact(&choice, |_| ());
    }
    let all = world.tree.choose_full_compaction();
    world.compact(&all, |_| ());
    assert_eq!(world.tree.stats().levels[LEVEL_MAX].rows, 2, "the two sums stay apart");
    assert_eq!(world.tree.choose_full_compaction(), Choice::Nothing);
    assert_eq!(world.tree.choose_compaction(), Choice::Nothing);
}

/// Versions that only a snapshot needs are dropped after that snapshot is released.
#[test]
fn a_bottom_table_that_a_snapshot_kept_stale_is_merged_again_without_it() {
    let mut world = World::new(words_shape());
    world.write(&[put(1)]);
    world.flush_all();
    world.snapshots.push(SeqNo(world.seq));
    world.write(&[put(1)]);
    world.flush_all();
    let all = world.tree.choose_full_compaction();
    world.compact(&all, |_| ());
    assert_eq!(world.tree.stats().levels[LEVEL_MAX].rows, 2);
    world.snapshots.clear();
    let all = world.tree.choose_full_compaction();
    world.compact(&all, |_| ());
    assert_eq!(world.tree.stats().levels[LEVEL_MAX].rows, 1);
}
