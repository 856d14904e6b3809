use super::*;
use crate::rows::same_key;
use crate::table::RangeTombstone;
use base::shape::{int_to_word, word_to_int};
use base::{Key, KeyRange, KeyShape, SeqNo};
use proptest::prelude::*;

const KEYS: u64 = 4;

/// (key, sequence number, kind, word)
type Version = (u64, u64, Kind, Option<i64>);

fn shape() -> Shape {
    let values = vec![ColumnShape::Word { merge: Some(Merge::AddInt) }, ColumnShape::Bytes];
    Shape { key: KeyShape::Words(1), values }
}

fn rows(versions: &[Version]) -> Rows {
    let mut rows = Rows::new(&shape());
    for &(key, seq, kind, word) in versions {
        rows.keys.push(KeyRef::Words(&[key]));
        rows.seqs.push(seq);
        rows.kinds.push(kind as u8);
        let word = if kind == Kind::Delete { None } else { word };
        let Column::Words(words) = &mut rows.values[0] else { unreachable!() };
        words.push(word.map(int_to_word));
        let Column::Bytes(bytes) = &mut rows.values[1] else { unreachable!() };
        bytes.push((kind != Kind::Delete).then_some(&seq.to_le_bytes()[..]));
    }
    rows
}

/// The values that a reader finds: the sum, and which write's bytes.
fn read(
    rows: &Rows,
    kept: &[Range<usize>],
    tombstones: &[RangeTombstone],
    base: &[u64],
    key: u64,
    snapshot: SeqNo,
) -> Option<(Option<i64>, Vec<u8>)> {
    let key_ref = [key];
    let key_ref = KeyRef::Words(&key_ref);
    let covers = |t: &&RangeTombstone| t.range.contains(key_ref) && t.seq <= snapshot;
    let gone = tombstones.iter().filter(covers).map(|t| t.seq).max().unwrap_or(SeqNo::ZERO);
    let mut found: Option<(Option<i64>, Vec<u8>)> = None;
    let mut add = |word: Option<i64>, bytes: &[u8]| match &mut found {
        None => found = Some((word, bytes.to_vec())),
        Some((sum, _)) => {
            *sum = match (*sum, word) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            }
        }
    };
    for row in kept.iter().cloned().flatten() {
        if rows.keys.get(row).as_ref() != key_ref || rows.seq(row) > snapshot {
            continue;
        }
        if rows.seq(row) < gone || rows.kind(row) == Kind::Delete as u8 {
            return found;
        }
        let word = rows.values[0].as_words().unwrap().get(row).map(word_to_int);
        add(word, rows.values[1].as_bytes().unwrap().get(row));
        if rows.kind(row) == Kind::Put as u8 {
            return found;
        }
    }
    // A deeper level holds only older writes.
    if base.contains(&key) && gone == SeqNo::ZERO {
        add(Some(1000), b"base");
    }
    found
}

prop_compose! {
    fn versions()(
        versions in prop::collection::btree_map(
            (0..KEYS, (1..30_u64).prop_map(std::cmp::Reverse)),
            (
                prop::sample::select(vec![Kind::Put, Kind::Delete, Kind::Merge, Kind::Merge]),
                prop::option::weighted(0.8, 1..50_i64),
            ),
            0..30,
        )
    ) -> Vec<Version> {
        versions.into_iter().map(|((key, seq), (kind, word))| (key, seq.0, kind, word)).collect()
    }
}

prop_compose! {
    fn tombstones()(
        list in prop::collection::vec((0..KEYS, 1..=KEYS, 1..30_u64), 0..3)
    ) -> Vec<RangeTombstone> {
        let one = |(lower, upper, seq)| RangeTombstone {
            range: KeyRange { lower: Key::words(&[lower]), upper: Some(Key::words(&[upper])) },
            seq: SeqNo(seq),
        };
        list.into_iter().map(one).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn every_snapshot_reads_the_same_and_no_version_is_there_without_need(
        versions in versions(),
        tombstones in tombstones(),
        snapshots in prop::collection::btree_set(1..30_u64, 0..4),
        base in prop::collection::vec(0..KEYS, 0..3),
        split in any::<prop::sample::Index>(),
    ) {
        let snapshots: Vec<SeqNo> = snapshots.into_iter().map(SeqNo).collect();
        let before = rows(&versions);
        let mut after = before.clone();
        let pieces = Pieces::new(&tombstones);
        let mut held: Vec<[u64; 1]> = base.iter().map(|&key| [key]).collect();
        held.sort_unstable();
        let stretch_at = |key: KeyRef<'_>| Stretch::among(&held, key);
        let no_base_in = |range: &KeyRange| {
            !base.iter().any(|&b| range.contains(KeyRef::Words(&[b])))
        };
        let bottom = || if base.is_empty() { Bottom::Everywhere } else { Bottom::Where(&stretch_at) };
        let stripes = Snapshots::new(&snapshots);
        let mut kept = Vec::new();
        // An incomplete pass over the first versions of a key changes nothing that the final one
        // needs.
        let part = split.index(after.len() + 1);
        if part > 0 {
            let same = |&row: &usize| same_key(&after.keys, row, part - 1);
            let start = part - (0..part).rev().take_while(same).count();
            let mut keep = Keep::new(&shape(), stripes, &pieces, bottom());
            keep.pass(&mut after, start..part, false, &mut kept);
            let mut fewer = Rows::new(&shape());
            for row in (0..start).chain(kept.drain(..).flatten()).chain(part..after.len()) {
                fewer.push_from(&after, row);
            }
            after = fewer;
        }
        let all = 0..after.len();
        Keep::new(&shape(), stripes, &pieces, bottom()).pass(&mut after, all.clone(), true, &mut kept);
        let needed = pieces.needed(stripes, no_base_in);
        let whole = 0..before.len();
        for key in 0..KEYS {
            for &snapshot in snapshots.iter().chain([&SeqNo::MAX]) {
                let want = read(&before, std::slice::from_ref(&whole), &tombstones, &base, key, snapshot);
                let got = read(&after, &kept, &needed, &base, key, snapshot);
                prop_assert_eq!(got, want, "key {} at {}", key, snapshot);
            }
            let of_key = |&row: &usize| after.keys.get(row) == Key::words(&[key]);
            let left = kept.iter().cloned().flatten().filter(of_key).count();
            prop_assert!(left <= snapshots.len() + 1);
            if snapshots.is_empty() && base.is_empty() {
                let row = kept.iter().cloned().flatten().find(|row| of_key(row));
                prop_assert!(row.is_none_or(|r| after.seq(r) == SeqNo::ZERO && after.kind(r) == 1));
            }
        }
        if snapshots.is_empty() && base.is_empty() {
            prop_assert!(needed.is_empty());
        }
    }
}

#[test]
fn plain_rows_are_passed_on_as_one_range() {
    let versions: Vec<Version> = (0..1000).map(|key| (key, 5, Kind::Put, Some(1))).collect();
    let mut rows = rows(&versions);
    rows.kinds.clear();
    let pieces = Pieces::default();
    let mut kept = Vec::new();
    let mut keep = Keep::new(&shape(), Snapshots::new(&[SeqNo(7)]), &pieces, Bottom::Everywhere);
    keep.pass(&mut rows, 0..1000, true, &mut kept);
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0], 0..1000);
    assert!(rows.seqs.iter().all(|&seq| seq == 0));
}
