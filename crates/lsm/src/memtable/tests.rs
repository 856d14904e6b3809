#![allow(clippy::disallowed_methods, reason = "readers beside a writer need real threads")]

use super::*;
use base::{BytesColumn, SeqNo, WordColumn, int_to_word};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn edge_shape() -> Shape {
    Shape {
        key: KeyShape::Words(2),
        values: vec![ColumnShape::Word { merge: None }, ColumnShape::Bytes],
    }
}

fn edges(rows: &[(u64, u64, Option<u64>)]) -> Batch {
    let mut batch = Batch::new(&edge_shape());
    for &(src, dst, weight) in rows {
        batch.rows += 1;
        batch.keys.push(KeyRef::Words(&[src, dst]));
        if let Column::Words(column) = &mut batch.values[0] {
            column.push(weight);
        }
        if let Column::Bytes(column) = &mut batch.values[1] {
            column.push(weight.map(|w| w.to_le_bytes()).as_ref().map(|b| &b[..3]));
        }
    }
    batch
}

#[test]
fn a_reader_sees_the_newest_version_of_its_snapshot() {
    let memtable = Memtable::new(&edge_shape());
    memtable.insert(&edges(&[(1, 2, Some(10)), (1, 3, None)]), Kinds::Uniform(Kind::Put), SeqNo(5));
    memtable.insert(&edges(&[(1, 2, Some(11))]), Kinds::Uniform(Kind::Put), SeqNo(7));
    memtable.insert(&edges(&[(1, 2, None)]), Kinds::Uniform(Kind::Delete), SeqNo(9));
    let key = KeyRef::Words(&[1, 2]);
    assert!(memtable.find(key, SeqNo(4)).is_none());
    assert_eq!(memtable.find(key, SeqNo(6)).and_then(|e| e.word(0)), Some(10));
    assert_eq!(memtable.find(key, SeqNo(8)).and_then(|e| e.word(0)), Some(11));
    let newest = memtable.find(key, SeqNo(9)).unwrap();
    assert_eq!((newest.kind(), newest.seq()), (Kind::Delete as u8, SeqNo(9)));
    let older: Vec<u64> =
        std::iter::successors(Some(newest), EntryRef::next_older).map(|e| e.seq().0).collect();
    assert_eq!(older, [9, 7, 5]);
    let null = memtable.find(KeyRef::Words(&[1, 3]), SeqNo(9)).unwrap();
    assert_eq!((null.word(0), null.bytes(1)), (None, None));
    assert!(memtable.find(KeyRef::Words(&[1, 4]), SeqNo(9)).is_none());
}

#[test]
fn of_two_equal_versions_the_later_counts_as_newer() {
    let memtable = Memtable::new(&edge_shape());
    for weight in 1..=3 {
        memtable.insert(&edges(&[(1, 2, Some(weight))]), Kinds::Uniform(Kind::Put), SeqNo::MAX);
    }
    let newest = memtable.find(KeyRef::Words(&[1, 2]), SeqNo::MAX).unwrap();
    assert_eq!((newest.word(0), newest.seq()), (Some(3), SEQ_STORED_MAX));
}

#[test]
fn readers_beside_a_writer_see_whole_entries_in_order() {
    const ENTRIES: u64 = if cfg!(miri) { 40 } else { 20_000 };
    let memtable = Memtable::new(&edge_shape());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..ENTRIES {
                let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let batch = edges(&[(key, key + 1, Some(key))]);
                memtable.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(i + 1));
            }
        });
        scope.spawn(|| {
            let mut seen = 0;
            while seen < ENTRIES {
                let before = memtable.rows();
                let mut cursor = memtable.cursor(KeyRef::Words(&[]));
                let (mut last, mut count) = (0, 0);
                while let Some(entry) = cursor.entry() {
                    let EntryKey::Words(words, 2) = entry.key() else { panic!("two words") };
                    assert!(words[0] >= last && words[1] == words[0] + 1);
                    assert_eq!(entry.word(0), Some(words[0]));
                    assert_eq!(entry.bytes(1), Some(&words[0].to_le_bytes()[..3]));
                    (last, count) = (words[0], count + 1);
                    cursor.advance();
                }
                assert!(count >= before);
                seen = count;
            }
        });
    });
}

/// Whatever lies between a fence and the bound it was asked for is little and is not nothing.
#[test]
fn a_fence_cuts_off_a_few_entries_before_a_key() {
    const ENTRIES: u64 = if cfg!(miri) { 100 } else { 5_000 };
    for arrival in [Arrival::Ascending, Arrival::Descending, Arrival::Scattered] {
        let memtable = Memtable::new(&edge_shape());
        for i in 0..ENTRIES {
            let key = arrival.key(i);
            memtable.insert(&edges(&[(key, 1, None)]), Kinds::Uniform(Kind::Put), SeqNo(i + 1));
        }
        for wanted in [1, 40, 10_000] {
            let mut upper: Option<Key> = None;
            let mut met = 0;
            loop {
                let fence = memtable.fence_below(upper.as_ref().map(Key::as_ref), wanted);
                let mut cursor = match &fence {
                    Some(fence) => memtable.cursor(fence.as_ref()),
                    None => memtable.cursor_at_start(),
                };
                let mut behind = 0;
                while let Some(entry) = cursor.entry()
                    && upper.as_ref().is_none_or(|upper| entry.key().as_ref() < upper.as_ref())
                {
                    behind += 1;
                    cursor.advance();
                }
                assert!(behind <= wanted as u64 + 16 && behind <= 226, "{behind} of {wanted}");
                met += behind;
                let Some(fence) = fence else { break };
                assert!(behind > 0 || fence.as_ref() == KeyRef::Words(&[0, 0]));
                upper = Some(fence);
            }
            assert_eq!(met, ENTRIES, "{arrival:?}, {wanted} wanted");
        }
    }
}

#[test]
fn an_estimate_of_entries_is_wrong_by_three_at_most() {
    const ENTRIES: u64 = if cfg!(miri) { 100 } else { 20_000 };
    for arrival in [Arrival::Ascending, Arrival::Descending, Arrival::Scattered] {
        let memtable = Memtable::new(&edge_shape());
        let mut keys: Vec<u64> = (0..ENTRIES).map(|i| arrival.key(i)).collect();
        for (i, key) in keys.iter().enumerate() {
            memtable.insert(
                &edges(&[(*key, 1, None)]),
                Kinds::Uniform(Kind::Put),
                SeqNo(i as u64 + 1),
            );
        }
        keys.sort_unstable();
        let all = memtable.estimate_versions(&KeyRange::all_words());
        assert_eq!(all, ENTRIES);
        for from in (0..keys.len()).step_by(keys.len() / 40) {
            for to in (from..keys.len()).step_by(keys.len() / 40) {
                let (lower, upper) = (Key::words(&[keys[from]]), Key::words(&[keys[to]]));
                let exact = keys.partition_point(|key| *key < keys[to])
                    - keys.partition_point(|key| *key < keys[from]);
                let found = memtable.estimate_versions(&KeyRange { lower, upper: Some(upper) });
                let (low, high) = (exact as u64 / 3, exact as u64 * 3);
                assert!((low..=high).contains(&found), "{arrival:?}: {found} of {exact}");
            }
        }
    }
}

/// The order in which a test's keys are inserted: each grows the tree in its own way.
#[derive(Clone, Copy, Debug)]
enum Arrival {
    Ascending,
    Descending,
    Scattered,
}

impl Arrival {
    /// Key of the `i`-th version written. In the scattered order, every seventh key repeats an
    /// earlier one.
    fn key(self, i: u64) -> u64 {
        match self {
            Self::Ascending => i,
            Self::Descending => u64::MAX - i,
            Self::Scattered => {
                let i = if i % 7 == 6 { i / 2 } else { i };
                i.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            }
        }
    }
}

/// The versions that a reader of the first `published` ones must find from `from` on, at most
/// `count` versions.
fn check_prefix(memtable: &Memtable, arrival: Arrival, published: u64, from: u64, count: usize) {
    let mut cursor = memtable.cursor(KeyRef::Words(&[from]));
    let (mut found, mut last, mut highest) = (0, None, from);
    while let Some(entry) = cursor.entry()
        && found < count
    {
        let EntryKey::Words(words, 2) = entry.key() else { panic!("two words") };
        let (key, seq) = (words[0], entry.seq().0);
        assert!(key >= from && last < Some((key, u64::MAX - seq)), "in order, and each once");
        assert_eq!((key, words[1]), (arrival.key(seq - 1), !key), "the key of its number");
        assert_eq!(entry.word(0), Some(seq * 3));
        assert_eq!(entry.bytes(1), Some(&seq.to_le_bytes()[..]));
        (last, highest) = (Some((key, u64::MAX - seq)), key);
        found += usize::from(seq <= SeqNo(published).0);
        cursor.advance();
    }
    let whole = cursor.entry().is_none();
    let wanted = (0..published)
        .filter(|&i| (from..=if whole { u64::MAX } else { highest }).contains(&arrival.key(i)))
        .count();
    // Where the scan stopped in the middle of a key's versions, the rest of them was not asked for.
    assert!(
        found == wanted || !whole && found <= wanted && wanted - found < 3,
        "{found} of {wanted}"
    );
}

#[test]
fn three_readers_beside_a_writer_see_all_that_was_published_before_they_came() {
    // Miri is slow, and tries other interleavings and old values with each of its many seeds.
    const VERSIONS: u64 = if cfg!(miri) { 20 } else { 1500 };
    const READERS: u64 = 3;
    const PASSES: u64 = if cfg!(miri) { 3 } else { u64::MAX / READERS };
    for arrival in [Arrival::Ascending, Arrival::Descending, Arrival::Scattered] {
        let memtable = Memtable::new(&edge_shape());
        let published = AtomicU64::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut i = 0;
                while i < VERSIONS {
                    let mut batch = Batch::new(&edge_shape());
                    batch.rows = 1;
                    let key = arrival.key(i);
                    batch.keys.push(KeyRef::Words(&[key, !key]));
                    i += 1;
                    let Column::Words(words) = &mut batch.values[0] else { unreachable!() };
                    words.push(Some(i * 3));
                    let Column::Bytes(bytes) = &mut batch.values[1] else { unreachable!() };
                    bytes.push(Some(&i.to_le_bytes()));
                    memtable.insert(&batch, Kinds::Uniform(Kind::Put), SeqNo(i));
                    published.store(i, Release);
                }
            });
            for reader in 0..READERS {
                let (memtable, published) = (&memtable, &published);
                scope.spawn(move || {
                    let (mut pass, mut all) = (reader, false);
                    while !all && pass < PASSES * READERS {
                        let now = published.load(Acquire);
                        all = now == VERSIONS;
                        // Everything, a range, and single keys.
                        check_prefix(memtable, arrival, now, 0, usize::MAX);
                        let some = |n: u64| n.wrapping_mul(0xd134_2543_de82_ef95) % now.max(1);
                        check_prefix(memtable, arrival, now, arrival.key(some(pass)), 40);
                        for n in 0..if cfg!(miri) { 3 } else { 20 }.min(now) {
                            let i = some(pass + n * READERS);
                            let key = arrival.key(i);
                            let entry = memtable.find(KeyRef::Words(&[key, !key]), SeqNo(i + 1));
                            let entry = entry.expect("what was published is found");
                            assert_eq!(
                                (entry.seq(), entry.word(0)),
                                (SeqNo(i + 1), Some(3 * (i + 1)))
                            );
                        }
                        pass += READERS;
                    }
                });
            }
        });
    }
}

/// Keys by number: a few, close together, with shared prefixes.
fn key_of(shape: KeyShape, i: u64) -> Key {
    match shape {
        KeyShape::Words(n) => {
            let words = [i / 3 % 4, i % 3, i % 2 * u64::MAX, i % 5];
            Key::words(&words[..n as usize])
        }
        KeyShape::Bytes => Key::Bytes(format!("common{}", "x".repeat(i as usize % 9)).into_bytes()),
    }
}

proptest! {
    /// Whatever is inserted, in whatever order, comes back in order and by key.
    #[test]
    fn a_memtable_is_an_ordered_map_of_versions(
        key_shape in prop_oneof![(1..=4_u8).prop_map(KeyShape::Words), Just(KeyShape::Bytes)],
        batches in prop::collection::vec(
            prop::collection::btree_map(0..60_u64, (0..3_u8, any::<u64>()), 0..20), 0..20),
    ) {
        let shape = Shape {
            key: key_shape,
            values: vec![ColumnShape::Bytes, ColumnShape::Word { merge: None }],
        };
        let memtable = Memtable::new(&shape);
        let mut model = BTreeMap::new();
        for (number, rows) in batches.iter().enumerate() {
            let seq = number as u64 + 1;
            let mut batch = Batch::new(&shape);
            let (mut words, mut strings) = (WordColumn::default(), BytesColumn::default());
            let mut kinds = Vec::new();
            let mut seen = std::collections::BTreeSet::new();
            // Backwards, so that the memtable has to sort.
            for (&i, &(kind, value)) in rows.iter().rev() {
                let key = key_of(key_shape, i);
                if !seen.insert(key.clone()) {
                    continue;
                }
                batch.rows += 1;
                batch.keys.push(key.as_ref());
                let word = (value % 3 != 0).then_some(value);
                let string = (value % 5 != 0).then(|| value.to_be_bytes()[..(value % 7) as usize].to_vec());
                words.push(word);
                strings.push(string.as_deref());
                kinds.push(kind);
                let row = if kind == Kind::Delete as u8 { (None, None) } else { (word, string) };
                model.insert((key, u64::MAX - seq), (kind, row));
            }
            batch.values = vec![Column::Bytes(strings), Column::Words(words)];
            memtable.insert(&batch, Kinds::Each(&kinds), SeqNo(seq));
        }
        let read = |e: EntryRef<'_>| (e.kind(), (e.word(1), e.bytes(0).map(<[u8]>::to_vec)));
        let mut cursor = memtable.cursor_at_start();
        for ((key, inverse), row) in &model {
            let entry = cursor.entry().expect("as many as in the model");
            prop_assert_eq!((entry.key().to_key(), entry.seq()), (key.clone(), SeqNo(u64::MAX - inverse)));
            prop_assert_eq!(&read(entry), row);
            cursor.advance();
        }
        prop_assert!(cursor.entry().is_none());
        prop_assert_eq!(memtable.rows() as usize, model.len());
        for i in 0..60 {
            for snapshot in 0..=batches.len() as u64 {
                let key = key_of(key_shape, i);
                let want = model.range((key.clone(), u64::MAX - snapshot)..).next();
                let want = want.filter(|((k, _), _)| *k == key).map(|(_, row)| row.clone());
                prop_assert_eq!(memtable.find(key.as_ref(), SeqNo(snapshot)).map(read), want);
            }
        }
    }
}

/// Found by an audit: a read of a counter added all its increments up.
#[test]
fn an_increment_knows_what_it_makes_with_all_before_it() {
    for merge in [Merge::AddInt, Merge::Max] {
        let shape = Shape {
            key: KeyShape::Words(1),
            values: vec![ColumnShape::Word { merge: Some(merge) }],
        };
        let memtable = Memtable::new(&shape);
        // Of each key the kind and the word, from the first version on.
        let mut model: Vec<Vec<(Kind, Option<u64>)>> = vec![Vec::new(); 5];
        for seq in 1..2000_u64 {
            let key = seq * 7919 % 5;
            let kind = match seq * 31 % 97 {
                0 => Kind::Put,
                1 => Kind::Delete,
                _ => Kind::Merge,
            };
            let word = (seq % 53 > 0 && kind != Kind::Delete).then(|| int_to_word(seq as i64 % 11));
            let mut batch = Batch::new(&shape);
            batch.rows = 1;
            batch.keys.push(KeyRef::Words(&[key]));
            let Column::Words(column) = &mut batch.values[0] else { unreachable!("a word") };
            column.push(word);
            memtable.insert(&batch, Kinds::Uniform(kind), SeqNo(seq));
            let versions = &mut model[key as usize];
            versions.push((kind, word));
            let newest = memtable.find(KeyRef::Words(&[key]), SeqNo(seq)).unwrap();
            assert_eq!(newest.seq(), SeqNo(seq));
            if kind != Kind::Merge {
                assert_eq!(newest.whole(), None);
                continue;
            }
            let last = versions.iter().rposition(|(kind, _)| *kind != Kind::Merge);
            let words = versions[last.unwrap_or(0)..].iter().filter_map(|(_, word)| *word);
            let wanted =
                words.reduce(|older, newer| merge.apply(older, newer).expect("small numbers"));
            // One without a value is nothing to add to.
            let has_nulls =
                versions[last.map_or(0, |last| last + 1)..].iter().any(|v| v.1.is_none());
            let kind = if last.is_some() { Kind::Put } else { Kind::Merge } as u8;
            let wanted = (!has_nulls).then(|| Whole { word: wanted.unwrap(), kind });
            assert_eq!(newest.whole(), wanted, "number {seq}");
            let next = newest.next_key().map(|place| memtable.entry(place).key().to_key());
            assert!(next.is_none_or(|next| next > Key::words(&[key])));
        }
        let add = |key: u64, int: i64, seq: u64| {
            let mut batch = Batch::new(&shape);
            batch.rows = 1;
            batch.keys.push(KeyRef::Words(&[key]));
            let Column::Words(column) = &mut batch.values[0] else { unreachable!("a word") };
            column.push(Some(int_to_word(int)));
            memtable.insert(&batch, Kinds::Uniform(Kind::Merge), SeqNo(seq));
            memtable.first_version(KeyRef::Words(&[key])).unwrap().whole()
        };
        if merge == Merge::AddInt {
            let most = i64::MAX - 1;
            assert!(add(30, most, 2000).is_some());
            assert_eq!(add(30, most, 2001), None, "it may come back, added up in another order");
        }
        memtable.delete_range(KeyRange::prefix_words(&[1]), SeqNo(2002));
        let put = |word: u64| Some(Whole { word, kind: Kind::Put as u8 });
        let (five, seven) = (int_to_word(5), int_to_word(7));
        assert_eq!(add(1, 5, 2003), put(five), "what lies before it is deleted");
        assert_eq!(add(1, 7, 2004), put(merge.apply(five, seven).unwrap()));
        let other = Whole { word: five, kind: Kind::Merge as u8 };
        assert_eq!(add(9, 5, 2005), Some(other), "of others nothing is");
        (2006..2016)
            .for_each(|seq| memtable.delete_range(KeyRange::prefix_words(&[20]), SeqNo(seq)));
        assert_eq!(add(9, 5, 2020), None, "of many ranges none is looked at");
    }
}
