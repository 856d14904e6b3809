//! Concurrency models: readers beside the writer, at every place where the tree grows. `make
//! models` runs them for longer.

use super::*;
use base::WordColumn;
use env::model::explore;
use shuttle::thread;

/// The value of each key, a function of the key, so that a torn or foreign row shows.
fn value_of(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn words() -> Shape {
    Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Word { merge: None }] }
}

fn strings() -> Shape {
    Shape { key: KeyShape::Bytes, values: vec![ColumnShape::Bytes, ColumnShape::Bytes] }
}

fn batch(shape: &Shape, keys: &[u64]) -> Batch {
    let mut batch = Batch::new(shape);
    for &key in keys {
        batch.rows += 1;
        // The first eight bytes are alike, so that keys are compared where they lie.
        let long = [b"prefix__".as_slice(), &key.to_be_bytes()].concat();
        match shape.key {
            KeyShape::Words(_) => batch.keys.push(KeyRef::Words(&[key])),
            KeyShape::Bytes => batch.keys.push(KeyRef::Bytes(&long)),
        }
        for column in &mut batch.values {
            match column {
                Column::Words(column) => column.push(Some(value_of(key))),
                Column::Bytes(column) => column.push(Some(&value_of(key).to_le_bytes())),
            }
        }
    }
    batch
}

fn key_of(entry: EntryRef<'_>) -> u64 {
    match entry.key() {
        EntryKey::Words(words, _) => words[0],
        EntryKey::Bytes(bytes) => {
            u64::from_be_bytes(bytes[8..].try_into().expect("prefix and a word"))
        }
    }
}

fn check_row(entry: EntryRef<'_>) {
    let want = value_of(key_of(entry));
    match entry.memtable.columns.len() {
        1 => assert_eq!(entry.word(0), Some(want), "a row is whole"),
        columns => (0..columns).for_each(|column| {
            assert_eq!(entry.bytes(column), Some(&want.to_le_bytes()[..]), "a row is whole");
        }),
    }
}

/// Starts with a memtable that holds `present`. A writer adds `added` one by one and publishes
/// each, while two readers scan and look up. A reader finds everything that was published before it
/// started, in order, once and whole.
fn grow(shape: &Shape, present: &[u64], added: &[u64]) {
    let memtable = Arc::new(Memtable::new(shape));
    memtable.insert(&batch(shape, present), Kinds::Uniform(Kind::Put), SeqNo(1));
    let published = Arc::new(AtomicU64::new(0));
    let all: Arc<[u64]> = present.iter().chain(added).copied().collect();
    let first = present.len();
    let readers: Vec<_> = (0..2)
        .map(|reader| {
            let (memtable, published) = (Arc::clone(&memtable), Arc::clone(&published));
            let all = Arc::clone(&all);
            thread::spawn(move || {
                let before = first + published.load(Acquire) as usize;
                let mut want: Vec<u64> = all[..before].to_vec();
                if reader == 0 {
                    let mut cursor = memtable.cursor_at_start();
                    let mut found = Vec::new();
                    while let Some(entry) = cursor.entry() {
                        check_row(entry);
                        found.push(key_of(entry));
                        cursor.advance();
                    }
                    assert!(found.is_sorted_by(|a, b| a < b), "in order and once: {found:?}");
                    found.retain(|key| all[..before].contains(key));
                    want.sort_unstable();
                    assert_eq!(found, want, "what was published is found");
                } else {
                    // The newest, its neighbours and the ends: where nodes are replaced.
                    want.reverse();
                    want.truncate(3);
                    for key in want {
                        let one = batch(&memtable.shape, &[key]);
                        let entry = memtable.find(one.keys.get(0).as_ref(), SeqNo::MAX);
                        let entry = entry.expect("what was published is found");
                        assert_eq!(key_of(entry), key);
                        check_row(entry);
                    }
                }
            })
        })
        .collect();
    for (i, &key) in added.iter().enumerate() {
        memtable.insert(&batch(shape, &[key]), Kinds::Uniform(Kind::Put), SeqNo(2 + i as u64));
        published.store(i as u64 + 1, Release);
    }
    readers.into_iter().for_each(|reader| reader.join().expect("a reader finds all"));
}

/// `count` keys, ten apart, from 1000.
fn tens(count: u64) -> Vec<u64> {
    (0..count).map(|i| 1000 + 10 * i).collect()
}

#[test]
fn a_leaf_that_is_split_in_the_middle_loses_no_row() {
    explore("split in the middle", || grow(&words(), &tens(14), &[1065, 1066, 1067, 1064]));
}

#[test]
fn leaves_added_at_either_end_are_found() {
    explore("leaf at the end", || grow(&words(), &tens(14), &[1141, 1142, 1143]));
    explore("leaf at the front", || grow(&words(), &tens(14), &[999, 998, 997]));
}

#[test]
fn an_inner_node_that_is_split_loses_no_row() {
    // Filled in order, 15 leaves of 15 entries fill an inner node. A row in the middle splits a
    // leaf and that node.
    explore("inner node", || grow(&words(), &tens(225), &[2005, 2006]));
}

#[test]
fn byte_strings_are_there_before_the_rows_that_name_them() {
    explore("byte strings", || grow(&strings(), &tens(14), &[1065, 1066, 1067]));
}

#[test]
fn a_deleted_range_is_seen_by_whoever_comes_after_it_was_published() {
    explore("deleted range", || {
        let memtable = Arc::new(Memtable::new(&words()));
        let published = Arc::new(AtomicU64::new(0));
        let reader = {
            let (memtable, published) = (Arc::clone(&memtable), Arc::clone(&published));
            thread::spawn(move || {
                for _ in 0..2 {
                    let before = published.load(Acquire);
                    let seen = if memtable.has_range_tombstones() {
                        memtable.range_tombstones().len() as u64
                    } else {
                        0
                    };
                    assert!(seen >= before, "{seen} of {before}");
                }
            })
        };
        for seq in 1..=2 {
            memtable.delete_range(KeyRange::prefix_words(&[seq]), SeqNo(seq));
            published.store(seq, Release);
        }
        reader.join().expect("the reader sees them");
    });
}

#[test]
fn an_entry_that_was_found_stays_as_it_was() {
    explore("entries never change", || {
        let memtable = Arc::new(Memtable::new(&words()));
        memtable.insert(&batch(&words(), &tens(15)), Kinds::Uniform(Kind::Put), SeqNo(1));
        let reader = {
            let memtable = Arc::clone(&memtable);
            thread::spawn(move || {
                let held = memtable.find(KeyRef::Words(&[1070]), SeqNo(1)).expect("it is there");
                for _ in 0..3 {
                    assert_eq!((key_of(held), held.seq()), (1070, SeqNo(1)));
                    check_row(held);
                    thread::yield_now();
                }
                let older = memtable.find(KeyRef::Words(&[1070]), SeqNo(1)).expect("it stays");
                assert_eq!(older.seq(), SeqNo(1));
            })
        };
        // Newer versions of the same key split its leaf.
        for seq in 2..4 {
            let mut newer = batch(&words(), &[1070]);
            newer.values = vec![Column::Words(WordColumn::default())];
            newer.values[0].push_null();
            memtable.insert(&newer, Kinds::Uniform(Kind::Put), SeqNo(seq));
        }
        reader.join().expect("the reader's entry stays");
    });
}
