//! Promises about reads.

use super::Place;
use super::data::{Random, Rows, Space, WORD, bytes, counters, create, int, rows_of};
use crate::rows::Cell;
use base::{Batch, ColumnShape, Key, KeyRange, KeyShape, Keys, Kind, Projection, float_to_word};
use store::{Read, Store};

/// Keys of two words, with few first words and the extremes of both.
fn pairs(store: &dyn Store) -> (Space, Rows) {
    let space = create(store, "pairs", KeyShape::Words(2), &[WORD, ColumnShape::Bytes]);
    let firsts = [0, 1, 2, 7, 1 << 40, u64::MAX];
    let mut rows = Rows::new();
    for (i, first) in firsts.into_iter().enumerate() {
        for second in (0..=i as u64 * 3).chain([u64::MAX]) {
            let text = format!("{first}:{second}");
            let row = vec![Cell::Word(second ^ first), bytes(text.as_bytes())];
            rows.push((Key::words(&[first, second]), row));
        }
    }
    let shuffled: Rows = [&rows[rows.len() / 2..], &rows[..rows.len() / 2]].concat();
    store.write(&space.one(Kind::Put, &shuffled), None).unwrap();
    (space, rows)
}

/// Words compare as unsigned numbers, byte strings bytewise; the empty string is a key.
pub fn rows_come_in_key_order_for_every_shape_of_keys(place: &dyn Place) {
    let store = place.open();
    let ends = [0, 1, 255, 256, 1 << 32, 1 << 63, u64::MAX];
    for words in 1..=4_u8 {
        let space = create(&*store, &format!("w{words}"), KeyShape::Words(words), &[WORD]);
        let mut rows = Rows::new();
        for (i, &first) in ends.iter().enumerate() {
            let mut key = vec![first; usize::from(words)];
            for &last in &ends[i % 3..] {
                key[usize::from(words) - 1] = last;
                rows.push((Key::words(&key), vec![Cell::Word(last)]));
            }
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.dedup_by(|a, b| a.0 == b.0);
        let reversed: Rows = rows.iter().rev().cloned().collect();
        store.write(&space.one(Kind::Put, &reversed), None).unwrap();
        assert_eq!(space.rows(&*store), rows, "keys of {words} words");
    }
    let space = create(&*store, "strings", KeyShape::Bytes, &[WORD]);
    let keys: [&[u8]; 9] =
        [b"", b"\0", b"\0\0", b"\0\x01", b"a", b"a\0", b"ab", b"\xff", b"\xff\xff"];
    let rows: Rows = keys.iter().map(|&key| (Key::bytes(key), vec![Cell::Word(1)])).collect();
    let reversed: Rows = rows.iter().rev().cloned().collect();
    store.write(&space.one(Kind::Put, &reversed), None).unwrap();
    assert_eq!(space.rows(&*store), rows, "byte strings");
    store.close().unwrap();
}

fn ranges() -> Vec<KeyRange> {
    let range = |lower: &[u64], upper: Option<&[u64]>| KeyRange {
        lower: Key::words(lower),
        upper: upper.map(Key::words),
    };
    vec![
        KeyRange::all_words(),
        KeyRange::prefix_words(&[2]),
        KeyRange::prefix_words(&[u64::MAX]),
        KeyRange::prefix_words(&[3]),
        range(&[1, 2], Some(&[7, 4])),
        range(&[7, 5], None),
        range(&[2, 3], Some(&[2, 3])),
        range(&[7], Some(&[1])),
        KeyRange::of_key(Key::words(&[u64::MAX, u64::MAX]).as_ref()),
    ]
}

/// Lower bounds are inclusive, upper bounds exclusive, both may be prefixes.
pub fn ranges_and_limits_select_what_they_say(place: &dyn Place) {
    let store = place.open();
    let (space, rows) = pairs(&*store);
    for range in ranges() {
        for limit in [0, 1, 3, usize::MAX] {
            let mut out = Batch::new(&space.shape);
            store.scan_into(space.id, &range, Projection::ALL, limit, &mut out).unwrap();
            let inside = rows.iter().filter(|(key, _)| range.contains(key.as_ref()));
            let want: Rows = inside.take(limit).cloned().collect();
            assert_eq!(rows_of(&out), want, "{range:?}, limit {limit}");
            let mut some = Batch::new(&space.shape);
            let more = store
                .scan_some_into(space.id, &range, Projection::ALL, limit.max(1), 16, &mut some)
                .unwrap();
            let inside = rows.iter().filter(|(key, _)| range.contains(key.as_ref()));
            let whole: Rows = inside.cloned().collect();
            assert_eq!(rows_of(&some), whole[..some.rows], "{range:?}, some rows");
            assert!(more || some.rows == whole.len(), "rows are left in {range:?}");
            assert!(some.rows > 0 || whole.is_empty(), "at least one row");
        }
    }
    store.close().unwrap();
}

/// In any range and with any limit.
pub fn a_backward_scan_is_the_forward_scan_reversed(place: &dyn Place) {
    let store = place.open();
    let (space, rows) = pairs(&*store);
    for range in ranges() {
        for limit in [1, 4, usize::MAX] {
            let mut out = Batch::new(&space.shape);
            store.scan_back_into(space.id, &range, Projection::ALL, limit, &mut out).unwrap();
            let inside = rows.iter().rev().filter(|(key, _)| range.contains(key.as_ref()));
            let want: Rows = inside.take(limit).cloned().collect();
            assert_eq!(rows_of(&out), want, "{range:?} back, limit {limit}");
        }
    }
    store.close().unwrap();
}

/// Also across its pages, and under a filter that it may ignore.
pub fn a_stream_returns_what_a_scan_returns(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "many");
    let rows: Rows = (0..3000).map(|i| (Key::words(&[i * 3]), vec![int(i as i64)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    for rows_max in [7, 1000, 10_000] {
        let range = KeyRange { lower: Key::words(&[30]), upper: Some(Key::words(&[8000])) };
        let mut stream = store.scan(space.id, range.clone(), Projection::ALL).unwrap();
        let mut out = Batch::new(&space.shape);
        while stream.next_batch(rows_max, &mut out).unwrap() {}
        let before = out.rows;
        assert!(!stream.next_batch(rows_max, &mut out).unwrap(), "the end stays the end");
        assert_eq!(out.rows, before, "nothing is appended at the end");
        assert_eq!(rows_of(&out), space.scan(&*store, &range), "{rows_max} rows at a time");
    }
    store.close().unwrap();
}

/// Absent keys give fillers; a key that is asked twice is answered twice.
pub fn many_lookups_keep_the_order_asked(place: &dyn Place) {
    let store = place.open();
    let (space, rows) = pairs(&*store);
    let mut keys = Keys::new(space.shape.key);
    let mut want = Vec::new();
    let mut random = Random(7);
    for _ in 0..300 {
        let absent = random.below(3) == 0;
        let (key, row) = &rows[random.below(rows.len() as u64) as usize];
        let asked = match (absent, key) {
            (true, Key::Words { words, .. }) => Key::words(&[words[0], 1 << 50]),
            _ => key.clone(),
        };
        keys.push(asked.as_ref());
        want.push((!absent).then(|| row.clone()));
    }
    let (mut present, mut out) = (Vec::new(), Batch::new(&space.shape));
    let projection = Projection { keys: 0, values: u64::MAX };
    store.get_many(space.id, &keys, projection, &mut present, &mut out).unwrap();
    assert_eq!(out.rows, 300);
    for (i, want) in want.iter().enumerate() {
        assert_eq!(present[i], want.is_some(), "key {i}");
        let found = crate::rows::row_at(&out, i);
        assert_eq!(found, want.clone().unwrap_or(vec![Cell::Null, Cell::Null]), "key {i}");
        let mut one = Batch::new(&space.shape);
        let key = keys.get(i);
        let there = store.get(space.id, key.as_ref(), Projection::ALL, &mut one).unwrap();
        assert_eq!((there, one.rows), (want.is_some(), usize::from(want.is_some())));
    }
    store.close().unwrap();
}

/// The number of rows is there without any column.
pub fn a_projection_leaves_other_columns_empty(place: &dyn Place) {
    let store = place.open();
    let (space, rows) = pairs(&*store);
    for (keys, values) in [(0, 0), (1, 0), (2, 1), (3, 2), (0, 3)] {
        let projection = Projection { keys, values };
        let mut out = Batch::new(&space.shape);
        store.scan_into(space.id, &space.all(), projection, usize::MAX, &mut out).unwrap();
        assert_eq!(out.rows, rows.len());
        let full = |wanted: bool| if wanted { rows.len() } else { 0 };
        for i in 0..2 {
            assert_eq!(out.key_words(i).len(), full(projection.key(i)), "key word {i}");
            assert_eq!(out.values[i].len(), full(projection.value(i)), "value column {i}");
        }
    }
    store.close().unwrap();
}

/// First words may repeat, be absent, and come in any order.
pub fn prefixes_return_their_rows_in_the_order_asked(place: &dyn Place) {
    let store = place.open();
    let (space, rows) = pairs(&*store);
    let firsts = [7, 0, u64::MAX, 3, 7, 1 << 40];
    let (mut offsets, mut out) = (Vec::new(), Batch::new(&space.shape));
    store.prefix_many(space.id, &firsts, Projection::ALL, &mut offsets, &mut out).unwrap();
    let (mut want, mut ends) = (Rows::new(), vec![0]);
    for first in firsts {
        let range = KeyRange::prefix_words(&[first]);
        want.extend(rows.iter().filter(|(key, _)| range.contains(key.as_ref())).cloned());
        ends.push(want.len() as u64);
    }
    assert_eq!((rows_of(&out), offsets), (want, ends));
    let (mut offsets, mut none) = (Vec::new(), Batch::new(&space.shape));
    store.prefix_many(space.id, &[], Projection::ALL, &mut offsets, &mut none).unwrap();
    assert_eq!((offsets, none.rows), (vec![0], 0));
    store.close().unwrap();
}

/// Whether a word has one row or thousands.
pub fn first_words_are_distinct_and_ascend(place: &dyn Place) {
    let store = place.open();
    let space = create(&*store, "edges", KeyShape::Words(2), &[]);
    let mut rows = Rows::new();
    for (first, count) in [(0, 3000), (1, 1), (5, 700), (6, 1), (u64::MAX, 2)] {
        rows.extend((0..count).map(|second| (Key::words(&[first, second]), vec![])));
    }
    rows.extend((10..2000).map(|first| (Key::words(&[first * 2, 0]), vec![])));
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    let mut words = Vec::new();
    store.first_words(space.id, &mut |some| words.extend_from_slice(some)).unwrap();
    let mut want = vec![0, 1, 5, 6];
    want.extend((10..2000).map(|first| first * 2));
    want.push(u64::MAX);
    assert_eq!(words, want);
    store.close().unwrap();
}

/// In word columns and in columns of byte strings.
pub fn nulls_differ_from_empty_strings_and_zeros(place: &dyn Place) {
    let store = place.open();
    let columns = [WORD, ColumnShape::Bytes, WORD, ColumnShape::Bytes];
    let space = create(&*store, "nulls", KeyShape::Bytes, &columns);
    let word = |word| Cell::Word(word);
    let cells = [
        vec![word(0), bytes(b""), Cell::Null, Cell::Null],
        vec![Cell::Null, Cell::Null, word(u64::MAX), bytes(b"\0")],
        vec![Cell::Null, Cell::Null, Cell::Null, Cell::Null],
        vec![word(float_to_word(-0.0)), bytes(b"\xff\0x"), word(1), bytes(&[7; 300])],
    ];
    let rows: Rows =
        cells.into_iter().zip(b'a'..).map(|(row, key)| (Key::bytes(&[key]), row)).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    assert_eq!(space.rows(&*store), rows);
    let wide = create(&*store, "wide", KeyShape::Words(1), &[WORD; 70]);
    let row = (0..70).map(|i| if i % 3 == 0 { Cell::Null } else { word(i) }).collect();
    let rows: Rows = vec![(Key::words(&[1]), row)];
    store.write(&wide.one(Kind::Put, &rows), None).unwrap();
    assert_eq!(wide.rows(&*store), rows, "more columns than a word has bits");
    store.close().unwrap();
}

/// Three megabytes in one value, and a key of 500 bytes.
pub fn long_values_come_back_whole(place: &dyn Place) {
    let store = place.open();
    let space = create(&*store, "long", KeyShape::Bytes, &[ColumnShape::Bytes]);
    let mut random = Random(1);
    let rows: Rows = [0, 1, 1000, 70_000, 3 << 20]
        .into_iter()
        .map(|len| {
            let value: Vec<u8> = (0..len).map(|_| random.word() as u8).collect();
            (Key::bytes(&[b'k'; 500][..len.min(499) + 1]), vec![Cell::Bytes(value)])
        })
        .collect();
    let mut distinct = rows.clone();
    distinct.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = later.1.clone();
        }
        same
    });
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    assert!(space.rows(&*store) == distinct, "long values were changed");
    store.close().unwrap();
}

/// Before and after deletes. Samples of an empty keyspace are empty.
pub fn counts_are_exact_and_samples_are_rows(place: &dyn Place) {
    let store = place.open();
    let space = counters(&*store, "counted");
    let mut random = Random(3);
    let check = |read: &dyn Read, random: &mut Random| {
        let rows = space.rows(read);
        assert_eq!(read.count(space.id).unwrap(), rows.len() as u64);
        let mut drawn = Batch::new(&space.shape);
        let mut draw = || random.word();
        read.sample_into(space.id, 40, &mut draw, Projection::ALL, &mut drawn).unwrap();
        assert_eq!(drawn.rows, if rows.is_empty() { 0 } else { 40 });
        assert!(rows_of(&drawn).iter().all(|row| rows.contains(row)), "only rows are drawn");
        let estimate = read.estimate(space.id, &space.all()).unwrap();
        assert!(estimate.rows > 0 || rows.is_empty(), "an estimate of 0 rows is exact");
    };
    check(&*store, &mut random);
    let rows: Rows = (0..900).map(|i| (Key::words(&[i]), vec![int(1)])).collect();
    store.write(&space.one(Kind::Put, &rows), None).unwrap();
    check(&*store, &mut random);
    store.write(&space.one(Kind::Put, &rows[..200]), None).unwrap();
    store.write(&space.one(Kind::Delete, &rows[100..300]), None).unwrap();
    store.write(&space.delete_range(400, 850), None).unwrap();
    check(&*store, &mut random);
    let transaction = store.begin(store::Isolation::Snapshot);
    transaction.write(&space.one(Kind::Delete, &rows[..50])).unwrap();
    transaction.write(&space.one(Kind::Merge, &rows[80..160])).unwrap();
    transaction.write(&space.delete_range(860, 880)).unwrap();
    check(&*transaction, &mut random);
    transaction.commit().unwrap();
    check(&*store, &mut random);
    store.write(&space.delete_range(0, u64::MAX), None).unwrap();
    check(&*store, &mut random);
    store.close().unwrap();
}
