//! Concurrency models: readers, a writer, a flush and a compaction of one tree at the same time.
//! `make models` runs them for longer.

use super::*;
use crate::context::TreeOptions;
use crate::read::{ReadAt, ReadThresholds};
use crate::table::{BlockCache, TableOptions};
use base::{Column, ColumnShape, KeyRange, KeyRef, KeyShape, Kind, Projection};
use env::Env;
use env::model::{ModelEnv, explore};
use shuttle::thread;
use std::path::Path;

/// The snapshots that readers may hold and that a flush and a compaction must preserve.
const READERS: [SeqNo; 3] = [SeqNo(6), SeqNo(7), SeqNo(8)];

fn shape() -> Shape {
    Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge: None }] }
}

fn tree() -> Arc<Tree> {
    let env = Arc::new(ModelEnv::new());
    env.create_folder(Path::new("/t")).expect("a folder in memory");
    let table = TableOptions { block_rows_max: 2, ..TableOptions::default() };
    let options = TreeOptions {
        table,
        table_bytes: 400,
        level0_runs: 2,
        level1_bytes: 200,
        level_factor: 3,
        read: ReadThresholds::TINY,
        ..TreeOptions::default()
    };
    let cache = Arc::new(BlockCache::new(1 << 10));
    let context = Context::new(env, cache, vec!["/t".into()], options, false, base::TableId(1));
    Arc::new(Tree::open(Arc::new(context), KeyspaceId(1), shape(), &[]).expect("an empty tree"))
}

/// Writes row `seq`, which says `seq`, with that number.
fn write(tree: &Tree, seq: u64) {
    let mut batch = Batch::new(&shape());
    batch.rows = 1;
    // Not in order, so that runs overlap.
    batch.keys.push(KeyRef::Words(&[seq.reverse_bits()]));
    let Column::Words(column) = &mut batch.values[0] else { unreachable!("a word") };
    column.push(Some(seq));
    tree.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(seq));
}

/// A view sees all rows up to `published`, and its files are there.
fn check(tree: &Tree, published: u64) {
    let view = tree.view_full();
    let files = |there: &str| {
        for (_, _, table) in view.version.tables() {
            let path = tree.context.table_path(table.meta().id, table.meta().folder);
            assert!(tree.context.env.exists(&path), "{there}: a file of a view that is held");
        }
    };
    files("before");
    let mut out = Batch::new(&shape());
    let at = ReadAt::snapshot(SeqNo(published));
    let range = KeyRange::all(&shape().key);
    view.scan_into(&range, at, Projection::ALL, usize::MAX, &mut out).expect("a sound tree");
    let mut found: Vec<u64> = out.values[0].as_words().expect("words").words.clone();
    found.sort_unstable();
    assert_eq!(found, (1..=published).collect::<Vec<u64>>());
    if published > 0 {
        out = Batch::new(&shape());
        let key = published.reverse_bits();
        let there = view.get(KeyRef::Words(&[key]), at, Projection::ALL, &mut out);
        assert!(there.expect("a sound tree"), "the newest row");
    }
    files("after");
}

/// Writes the sealed memtable to a table.
fn flush(tree: &Tree) {
    let flushed = tree.flush_sealed(&READERS, None).expect("a disk in memory");
    let flushed = flushed.expect("something to flush");
    tree.install(&flushed.edit, &flushed.memtables, SeqNo::ZERO).expect("it fits");
}

#[test]
fn a_view_is_whole_while_memtables_become_tables_and_tables_are_merged() {
    explore("version swap", || {
        let tree = tree();
        let published = Arc::new(AtomicU64::new(0));
        // Runs enough in level 0 that a compaction is due.
        for seq in 1..=6 {
            write(&tree, seq);
            if seq % 2 == 0 {
                tree.seal();
                flush(&tree);
            }
        }
        published.store(6, Ordering::Release);
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (tree, published) = (Arc::clone(&tree), Arc::clone(&published));
                thread::spawn(move || {
                    for _ in 0..2 {
                        check(&tree, published.load(Ordering::Acquire));
                        tree.collect_obsolete();
                    }
                })
            })
            .collect();
        let compaction = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || {
                let choice = tree.choose_compaction();
                assert!(!matches!(choice, Choice::Nothing), "two runs are too many");
                let edit =
                    tree.compact(&choice, &READERS, None, &|| true).expect("a disk in memory");
                tree.install(&edit, &[], SeqNo::ZERO).expect("it fits");
                tree.collect_obsolete();
            })
        };
        // The writer, and between two rows the flush of the first.
        write(&tree, 7);
        published.store(7, Ordering::Release);
        let sealed = tree.seal().is_some();
        assert!(sealed, "there was a row");
        let flush = {
            let tree = Arc::clone(&tree);
            thread::spawn(move || flush(&tree))
        };
        write(&tree, 8);
        published.store(8, Ordering::Release);
        for thread in readers.into_iter().chain([compaction, flush]) {
            thread.join().expect("all end well");
        }
        check(&tree, 8);
        tree.collect_obsolete();
        let view = tree.view_full();
        let files = tree.context.env.list(Path::new("/t")).expect("a folder in memory");
        assert_eq!(files.len(), view.version.tables().count(), "no file without a name stays");
    });
}
