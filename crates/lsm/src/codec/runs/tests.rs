use super::*;
use proptest::prelude::*;

fn columns(rows: &[Vec<u64>], words: usize) -> Vec<Vec<u64>> {
    (0..words).map(|c| rows.iter().map(|row| row[c]).collect()).collect()
}

fn encoded(rows: &[Vec<u64>], words: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_keys(&columns(rows, words), 0..rows.len(), &mut bytes);
    bytes
}

/// Compares every question with a sorted vector of rows.
fn check(rows: &[Vec<u64>], words: usize, keys: &[Vec<u64>]) {
    let bytes = encoded(rows, words);
    let reader = KeyReader::parse(&bytes, words, rows.len()).unwrap();
    let plain = columns(rows, words);
    for start in [0, rows.len() / 3, rows.len() / 2, rows.len().saturating_sub(1)] {
        for end in
            [start, (start + 1).min(rows.len()), start + (rows.len() - start) / 2, rows.len()]
        {
            for (c, want) in plain.iter().enumerate() {
                let mut out = vec![1];
                reader.column(c, start..end, &mut out);
                assert_eq!(out[1..], want[start..end], "word {c} of rows {start}..{end}");
            }
        }
    }
    for row in (0..rows.len()).step_by(7) {
        let got: Vec<u64> = (0..words).map(|c| reader.get(c, row)).collect();
        assert_eq!(got, rows[row]);
    }
    for key in keys.iter().chain(rows.iter().step_by(5)) {
        for len in 1..=words {
            let key = &key[..len];
            let low = rows.partition_point(|row| &row[..len] < key);
            let high = rows.partition_point(|row| &row[..len] <= key);
            assert_eq!(reader.lower_bound(key), low, "{key:?}");
            if len == words {
                let found = reader.find(key);
                assert_eq!(found, low..high, "{key:?}");
                let first = (low < high).then_some(low);
                assert_eq!(reader.find_first(key), first, "{key:?}");
                assert_eq!(reader.find_first_from(key, reader.seek(key, None)), first, "{key:?}");
            } else {
                let found = reader.find_prefix(key);
                assert_eq!(found.rows, low..high, "{key:?}");
                let mut out = Vec::new();
                reader.last_words_of(&found, &mut out);
                assert_eq!(out, plain[words - 1][low..high]);
            }
            if len == 1 {
                assert_eq!(reader.find_run(key[0]).rows, low..high);
            }
        }
    }
    let mut first = plain[0].clone();
    first.dedup();
    let mut out = Vec::new();
    reader.distinct_first_words(&mut out);
    assert_eq!(out, first);
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        8 => 0..12_u64,
        4 => (0..12_u64).prop_map(|x| x * 1000 + 5),
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

fn keys(rows: usize) -> impl Strategy<Value = (usize, Vec<Vec<u64>>)> {
    (1..=4_usize).prop_flat_map(move |words| {
        let key = prop::collection::vec(word(), words);
        (Just(words), prop::collection::vec(key, 0..rows))
    })
}

proptest! {
    #[test]
    fn every_question_is_answered_like_by_a_sorted_vector(
        (words, mut rows) in keys(700),
        probes in prop::collection::vec(prop::collection::vec(word(), 4), 8),
    ) {
        rows.sort();
        let probes: Vec<_> = probes.iter().map(|key| key[..words].to_vec()).collect();
        check(&rows, words, &probes);
    }

    #[test]
    fn damaged_bytes_never_panic(
        (words, mut rows) in keys(400),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
        cut in 0..12_usize,
        other in 0..400_usize,
        probe in prop::collection::vec(word(), 4),
    ) {
        rows.sort();
        let mut bytes = encoded(&rows, words);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let shorter = &bytes[..bytes.len() - cut];
        for (bytes, count) in [(&bytes[..], rows.len()), (&bytes[..], other), (shorter, other)] {
            let Ok(reader) = KeyReader::parse(bytes, words, count) else { continue };
            let mut out = Vec::new();
            for c in 0..words {
                reader.column(c, 0..count, &mut out);
                reader.column(c, count / 2..count, &mut out);
                prop_assert!(out.len() <= (c + 1) * 2 * count);
            }
            (0..count).step_by(9).for_each(|row| { reader.get(words - 1, row); });
            reader.distinct_first_words(&mut out);
            for key in rows.iter().step_by(11).chain([&probe]) {
                let found = reader.find_run(key[0]);
                prop_assert!(found.rows.end <= count);
                reader.last_words_of(&found, &mut out);
                prop_assert!(reader.find(&key[..words]).end <= count);
                prop_assert!(reader.find_first(&key[..words]).is_none_or(|row| row < count));
                reader.prefetch_entries();
                let seek = reader.seek(&key[..words], None);
                let first = reader.find_first_from(&key[..words], seek);
                prop_assert!(first.is_none_or(|row| row < count));
            }
        }
    }
}

#[test]
fn a_block_of_one_row_has_no_gaps_to_look_into() {
    check(&[vec![5]], 1, &[vec![4], vec![5], vec![6]]);
}

#[test]
fn a_hub_and_its_small_neighbours_are_found() {
    let mut rows = Vec::new();
    for v in 0..50_u64 {
        let degree = if v == 20 { 3000 } else { v % 4 + 1 };
        rows.extend((0..degree).map(|i| vec![1000 + v * 2, i * i % 99_991 + i * 40]));
    }
    rows.sort();
    let probes: Vec<_> = (0..200).map(|i| vec![1040, i * 613]).collect();
    check(&rows, 2, &probes);
}

#[test]
fn versions_of_one_key_are_all_found() {
    let mut rows: Vec<_> =
        (0..300_u64).flat_map(|i| vec![vec![i / 50, i]; i as usize % 7]).collect();
    rows.extend(vec![vec![9, 9]; 500]);
    check(&rows, 2, &[vec![9, 8], vec![9, 10]]);
}
