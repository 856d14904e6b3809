//! Tables against a plain sorted list of rows, and damaged tables against the promise that damage
//! is an error.

use super::*;
use crate::context::{Context, TreeOptions};
use crate::error::{Error, Result};
use crate::rows::Rows;
use base::{
    Batch, Column, ColumnShape, Key, KeyRange, KeyRef, KeyShape, Keys, Kind, Projection, SeqNo,
    Shape, TableId,
};
use env::{Env, MemoryEnv};
use proptest::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// One value of a row; `None` in a row's list: the row has none.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Word(u64),
    Bytes(Vec<u8>),
}

/// One version of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) seq: u64,
    pub(super) kind: u8,
    pub(super) values: Vec<Option<Value>>,
}

const WORD: ColumnShape = ColumnShape::Word { merge: None };

/// A context without tables, of one folder in memory.
pub(super) fn context(cache_bytes: u64) -> Context {
    let env = Arc::new(MemoryEnv::new(1));
    env.create_folder(Path::new("t")).unwrap();
    let cache = Arc::new(BlockCache::new(cache_bytes));
    Context::new(env, cache, vec!["t".into()], TreeOptions::default(), false, TableId(1))
}

fn to_rows(shape: &Shape, rows: &[Row]) -> Rows {
    let mut out = Rows::new(shape);
    for row in rows {
        out.keys.push(row.key.as_ref());
        for (column, value) in out.values.iter_mut().zip(&row.values) {
            match (column, value) {
                (column, None) => column.push_null(),
                (Column::Words(column), Some(Value::Word(word))) => column.push(Some(*word)),
                (Column::Bytes(column), Some(Value::Bytes(bytes))) => column.push(Some(bytes)),
                _ => unreachable!(),
            }
        }
    }
    if rows.iter().any(|row| row.seq != 0) {
        out.seqs = rows.iter().map(|row| row.seq).collect();
    }
    if rows.iter().any(|row| row.kind != Kind::Put as u8) {
        out.kinds = rows.iter().map(|row| row.kind).collect();
    }
    out
}

/// How a test's table is written.
#[derive(Clone, Debug)]
pub(super) struct How {
    pub(super) options: TableOptions,
    pub(super) bottom: bool,
    pub(super) global_seq: u64,
    /// Rows at which one input ends and the next begins.
    pub(super) cuts: Vec<usize>,
    pub(super) tombstones: Vec<RangeTombstone>,
}

impl Default for How {
    fn default() -> Self {
        let options = TableOptions {
            block_rows_max: 7,
            block_bytes_max: 100,
            block_string_bytes_max: 100,
            apart_bytes_max: 200,
            apart_value_bytes_min: u64::MAX,
            filter_bits: 10,
            compress: true,
        };
        Self { options, bottom: true, global_seq: 0, cuts: vec![], tombstones: vec![] }
    }
}

/// Writes the rows and describes the table.
pub(super) fn build(context: &Context, shape: &Shape, rows: &[Row], how: &How) -> TableMeta {
    let How { options, bottom, global_seq, cuts, tombstones } = how.clone();
    let (id, folder, path) = context.new_table();
    let file = context.env.create(&path).unwrap();
    let mut builder = TableBuilder::new(file, shape.clone(), options, bottom);
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.min(&rows.len()).to_owned()).collect();
    cuts.extend([0, rows.len()]);
    cuts.sort_unstable();
    for piece in cuts.windows(2) {
        // Each piece stands in the middle of an input of its own.
        let from = piece[0].saturating_sub(2);
        let input = to_rows(shape, &rows[from..]);
        builder.add(&input, piece[0] - from..piece[1] - from).unwrap();
    }
    for tombstone in tombstones {
        builder.add_range_tombstone(tombstone).unwrap();
    }
    let estimate = builder.bytes_estimate();
    let summary = builder.finish().unwrap();
    assert!(estimate <= 3 * summary.bytes + 1000 && summary.bytes <= 3 * estimate + 1000);
    TableMeta { id, folder, global_seq: SeqNo(global_seq), shared: None, summary: summary.into() }
}

/// Row `i` of `rows` as a model row.
fn row_of(rows: &Rows, i: usize) -> Row {
    let value = |column: &Column| match column {
        Column::Words(column) => column.get(i).map(Value::Word),
        Column::Bytes(column) => {
            column.validity.is_valid(i).then(|| Value::Bytes(column.get(i).to_vec()))
        }
    };
    let values = rows.values.iter().map(value).collect();
    Row { key: rows.keys.get(i), seq: rows.seq(i).0, kind: rows.kind(i), values }
}

/// Keys to ask for: those that are there, their prefixes and neighbours.
fn probes(shape: &Shape, rows: &[Row]) -> Vec<Key> {
    let mut probes = Vec::new();
    for row in rows {
        match &row.key {
            Key::Words { words, len } => {
                let words = &words[..usize::from(*len)];
                probes.extend((0..=words.len()).map(|n| Key::words(&words[..n])));
                for at in 0..words.len() {
                    for by in [1, u64::MAX] {
                        let mut near = words.to_vec();
                        near[at] = near[at].wrapping_add(by);
                        probes.push(Key::words(&near));
                    }
                }
            }
            Key::Bytes(bytes) => {
                probes.push(row.key.clone());
                probes.push(Key::Bytes([bytes, &b"\0"[..]].concat()));
                probes.push(Key::bytes(&bytes[..bytes.len() / 2]));
            }
        }
    }
    probes.push(if shape.key_words() == 0 { Key::bytes(b"") } else { Key::words(&[]) });
    probes.sort();
    probes.dedup();
    probes
}

fn starts_with(key: &Key, prefix: &Key) -> bool {
    match (key.as_ref(), prefix.as_ref()) {
        (KeyRef::Words(key), KeyRef::Words(prefix)) => key.starts_with(prefix),
        (KeyRef::Bytes(key), KeyRef::Bytes(prefix)) => key.starts_with(prefix),
        _ => unreachable!(),
    }
}

/// The prefix range and a range between two probes.
fn ranges(probes: &[Key]) -> Vec<KeyRange> {
    let mut ranges = Vec::new();
    for (i, probe) in probes.iter().enumerate() {
        ranges.push(match probe.as_ref() {
            KeyRef::Words(words) => KeyRange::prefix_words(words),
            KeyRef::Bytes(bytes) => KeyRange::prefix_bytes(bytes),
        });
        let upper = Some(probes[(i * 7 + 3) % probes.len()].clone());
        ranges.push(KeyRange { lower: probe.clone(), upper });
        ranges.push(KeyRange { lower: probe.clone(), upper: None });
    }
    ranges
}

/// Compares every method of every block with the rows.
fn check_blocks(table: &Table, shape: &Shape, rows: &[Row], projection: Projection) {
    let probes = probes(shape, rows);
    let ranges = ranges(&probes);
    let mut start = 0;
    let mut starts = Vec::new();
    for i in 0..table.blocks() {
        let block = table.block(i, if i % 2 == 0 { Fill::Keep } else { Fill::Once }).unwrap();
        assert_eq!(block.rows(), table.block_rows(i));
        let rows = &rows[start..start + block.rows()];
        starts.push(start);
        start += rows.len();
        check_block(&block, shape, rows, projection, &probes, &ranges);
    }
    assert_eq!(start, rows.len());
    starts.push(start);
    let block_of = |row: usize| starts.partition_point(|&start| start <= row) - 1;

    for probe in &probes {
        let first = rows.partition_point(|row| row.key < *probe);
        let block = table.block_for(probe.as_ref());
        match rows.get(first) {
            Some(row) if starts_with(&row.key, probe) => {
                assert_eq!(block, Some(block_of(first)), "{probe:?}");
                let whole = row.key == *probe;
                // Filters of byte strings know whole keys only.
                if whole || shape.key_words() > 0 {
                    assert!(table.may_contain_key(probe.as_ref()), "{probe:?}");
                }
                if let Key::Words { words, len: 1.. } = probe {
                    assert!(table.may_contain_first_word(words[0]));
                }
            }
            _ => assert!(block.is_none_or(|block| block == block_of(first)), "{probe:?}"),
        }
    }
    for range in &ranges {
        let inside = |row: &Row| range.contains(row.key.as_ref());
        let blocks = table.blocks_overlapping(range);
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| inside(row)) {
            assert!(blocks.contains(&block_of(i)), "{range:?} misses {:?}", row.key);
        }
    }
}

fn check_block(
    block: &Block,
    shape: &Shape,
    rows: &[Row],
    projection: Projection,
    probes: &[Key],
    ranges: &[KeyRange],
) {
    let mut versions = Rows::new(shape);
    // Two parts, so that columns continue.
    let middle = rows.len() / 3;
    block.append_versions(0..middle, Projection::ALL, &mut versions);
    block.append_versions(middle..rows.len(), Projection::ALL, &mut versions);
    let mut scratch = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row_of(&versions, i), *row);
        assert_eq!(block.key(i), row.key);
        assert!(block.key_eq(i, row.key.as_ref()));
        assert_eq!((block.seq(i), block.kind(i)), (SeqNo(row.seq), row.kind));
        assert!(block.seq_max() >= SeqNo(row.seq));
        for (column, value) in row.values.iter().enumerate() {
            match shape.values[column] {
                ColumnShape::Word { .. } => {
                    assert_eq!(block.word(column, i).map(Value::Word), *value);
                }
                ColumnShape::Bytes => {
                    let bytes = block.bytes(column, i, &mut scratch);
                    assert_eq!(bytes.map(|bytes| Value::Bytes(bytes.to_vec())), *value);
                }
            }
        }
    }
    for probe in probes {
        let first = rows.partition_point(|row| row.key < *probe);
        assert_eq!(block.lower_bound(probe.as_ref()), first, "{probe:?}");
        if let Some(row) = rows.get(first) {
            assert_eq!(block.compare_key(first, probe.as_ref()), row.key.cmp(probe));
        }
        let whole = match probe {
            Key::Words { len, .. } => usize::from(*len) == shape.key_words(),
            Key::Bytes(_) => true,
        };
        if whole {
            let want = rows.get(first).filter(|row| row.key == *probe).map(|_| first);
            assert_eq!(block.find(probe.as_ref()), want, "{probe:?}");
        }
    }
    for range in ranges {
        let start = rows.partition_point(|row| row.key < range.lower);
        let end = range.upper.as_ref().map_or(rows.len(), |u| rows.partition_point(|r| r.key < *u));
        let found = block.rows_in(range);
        assert_eq!(found.len(), end.saturating_sub(start), "{range:?}");
        if !found.is_empty() {
            assert_eq!(found, start..end, "{range:?}");
        }
    }
    for range in ranges {
        let (mut together, mut in_two) = (Batch::new(shape), Batch::new(shape));
        let found = block.append_range(range, projection, &mut together);
        block.append_to(found, projection, &mut in_two);
        assert_eq!(together, in_two, "{range:?}");
    }
    let plain = rows.iter().all(|row| row.kind == Kind::Put as u8 && row.seq == rows[0].seq)
        && rows.windows(2).all(|pair| pair[0].key != pair[1].key);
    assert_eq!(block.is_plain(), plain);
    if plain {
        assert_eq!(block.seq_max(), SeqNo(rows[0].seq));
    }
    let mut want: Vec<u64> = rows
        .iter()
        .filter_map(|row| match &row.key {
            Key::Words { words, .. } => Some(words[0]),
            Key::Bytes(_) => None,
        })
        .collect();
    want.dedup();
    let mut first_words = Vec::new();
    block.first_words(&mut first_words);
    assert_eq!(first_words, want);
    check_projection(block, shape, &to_rows(shape, rows), projection);
}

fn check_projection(block: &Block, shape: &Shape, rows: &Rows, projection: Projection) {
    let part = rows.len() / 4..rows.len() - rows.len() / 5;
    let mut batch = Batch::new(shape);
    block.append_to(part.clone(), projection, &mut batch);
    assert_eq!(batch.rows, part.len());
    match (&batch.keys, &rows.keys) {
        (Keys::Words(got), Keys::Words(want)) => {
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                let want = if projection.key(i) { &want[part.clone()] } else { &[] };
                assert_eq!(got, want);
            }
        }
        (Keys::Bytes(got), Keys::Bytes(want)) if projection.key(0) => {
            assert_eq!(got.len(), part.len());
            let wanted = part.clone().map(|row| want.get(row));
            assert!((0..got.len()).map(|i| got.get(i)).eq(wanted));
        }
        (Keys::Bytes(got), _) => assert!(got.is_empty()),
        _ => unreachable!(),
    }
    for (i, (got, want)) in batch.values.iter().zip(&rows.values).enumerate() {
        let mut wanted = Column::new(shape.values[i]);
        if projection.value(i) {
            part.clone().for_each(|row| wanted.push_from(want, row));
        }
        assert_eq!(got.len(), wanted.len());
        for row in 0..got.len() {
            let (mut one, mut other) = (Column::new(shape.values[i]), Column::new(shape.values[i]));
            one.push_from(got, row);
            other.push_from(&wanted, row);
            assert_eq!(one, other);
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    let column = prop_oneof![Just(WORD), Just(ColumnShape::Bytes)];
    let key = prop_oneof![4 => (1..=4_u8).prop_map(KeyShape::Words), 1 => Just(KeyShape::Bytes)];
    (key, prop::collection::vec(column, 0..4)).prop_map(|(key, values)| Shape { key, values })
}

fn word() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0..6_u64, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn string() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(0..3_u8, 0..4),
        prop::collection::vec(any::<u8>(), 0..40),
        (0..90_usize).prop_map(|len| vec![b'a'; len]),
    ]
}

/// A shape and rows of it in order; either with numbers and kinds, or as a bulk load makes them.
fn shaped_rows() -> impl Strategy<Value = (Shape, Vec<Row>)> {
    (shapes(), any::<bool>()).prop_flat_map(|(shape, versioned)| {
        let key = match shape.key {
            KeyShape::Words(n) => prop::collection::vec(word(), usize::from(n))
                .prop_map(|words| Key::words(&words))
                .boxed(),
            KeyShape::Bytes => string().prop_map(Key::Bytes).boxed(),
        };
        let values: Vec<_> = shape
            .values
            .iter()
            .map(|value| {
                let value = match value {
                    ColumnShape::Word { .. } => word().prop_map(Value::Word).boxed(),
                    ColumnShape::Bytes => string().prop_map(Value::Bytes).boxed(),
                };
                prop::option::weighted(0.9, value)
            })
            .collect();
        let row = (key, 0..9_u64, 0..3_u8, values).prop_map(move |(key, seq, kind, values)| {
            if !versioned {
                return Row { key, seq: 0, kind: Kind::Put as u8, values };
            }
            let gone = kind == Kind::Delete as u8;
            let values = if gone { vec![None; values.len()] } else { values };
            Row { key, seq, kind, values }
        });
        let rows = prop::collection::vec(row, 0..60).prop_map(|mut rows| {
            rows.sort_by(|a, b| a.key.cmp(&b.key).then(b.seq.cmp(&a.seq)));
            rows.dedup_by(|a, b| a.key == b.key && a.seq == b.seq);
            rows
        });
        (Just(shape), rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_table_gives_back_what_was_put_in(
        (shape, rows) in shaped_rows(),
        cuts in prop::collection::vec(0..60_usize, 0..4),
        bottom: bool,
        compress: bool,
        global in prop_oneof![Just(0_u64), 10..20_u64],
        cache_bytes in prop_oneof![Just(0_u64), 0..4000_u64, Just(1 << 20)],
        keys: u8,
        values: u64,
        filter_bits in prop_oneof![Just(0_u8), 1..20_u8],
        block_rows_max in 1..12_usize,
        block_bytes_max in 0..300_usize,
        apart_value_bytes_min in prop_oneof![Just(0_u64), 1..9_u64, Just(u64::MAX)],
        direct: bool,
    ) {
        let mut context = context(cache_bytes);
        context.direct_reads = direct;
        let options = TableOptions {
            block_rows_max,
            block_bytes_max,
            block_string_bytes_max: block_bytes_max,
            apart_bytes_max: 2 * block_bytes_max,
            apart_value_bytes_min,
            filter_bits,
            compress,
        };
        // A bulk load has no versions.
        let global = if rows.iter().all(|row| row.seq == 0) { global } else { 0 };
        let range = KeyRange { lower: Key::words(&[3]), upper: None };
        let tombstones = match shape.key {
            KeyShape::Words(_) => vec![RangeTombstone { range, seq: SeqNo(4) }],
            KeyShape::Bytes => vec![],
        };
        let how = How { options, bottom, global_seq: global, cuts, tombstones };
        let meta = build(&context, &shape, &rows, &how);
        let summary = &meta.summary;
        prop_assert_eq!(summary.rows, rows.len() as u64);
        let of_kind = |kind| rows.iter().filter(|row| row.kind == kind as u8).count() as u64;
        prop_assert_eq!(summary.deletes, of_kind(Kind::Delete));
        prop_assert_eq!(summary.merges, of_kind(Kind::Merge));
        let repeats = rows.windows(2).filter(|pair| pair[0].key == pair[1].key).count() as u64;
        prop_assert_eq!(summary.repeats, repeats);
        for row in &rows {
            prop_assert!(summary.first_key <= row.key && row.key <= summary.last_key);
            prop_assert!(summary.seq_min <= SeqNo(row.seq) && SeqNo(row.seq) <= summary.seq_max);
        }

        let table = Table::open(&context, &meta, &shape).unwrap();
        prop_assert_eq!(table.range_tombstones(), &how.tombstones[..]);
        let mut read = rows;
        read.iter_mut().for_each(|row| row.seq = if row.seq == 0 { global } else { row.seq });
        check_blocks(&table, &shape, &read, Projection { keys, values });
        super::apart_tests::check_heads(&table, &shape);
        let all: Vec<usize> = (0..table.blocks()).rev().chain(0..table.blocks()).collect();
        let blocks = table.read_blocks(&all, Fill::Once).unwrap();
        prop_assert!(blocks.iter().zip(&all).all(|(b, &i)| b.rows() == table.block_rows(i)));
        table.verify(&mut |_| true).unwrap();
        drop(table);
        prop_assert_eq!(context.cache.used_bytes(), 0);
    }
}

/// Rows of two words with a float and a string, some versions and deletes, in a few blocks.
fn sample() -> (Shape, Vec<Row>) {
    let shape = Shape { key: KeyShape::Words(2), values: vec![WORD, ColumnShape::Bytes] };
    let mut rows = Vec::new();
    for i in 0..40_u64 {
        for seq in (0..=(i % 3)).rev() {
            let gone = i % 11 == 5;
            let values = vec![
                (!gone).then(|| Value::Word((i as f64 / 4.0).to_bits() | 1 << 63)),
                (!gone).then(|| Value::Bytes(vec![b'x'; i as usize])),
            ];
            let kind = if gone { Kind::Delete } else { Kind::Put } as u8;
            rows.push(Row { key: Key::words(&[i / 5, i * 3]), seq: seq + 2, kind, values });
        }
    }
    (shape, rows)
}

/// Everything that a table's user can do, as long as it succeeds.
fn read_all(context: &Context, meta: &TableMeta, shape: &Shape) -> Result<Vec<Row>> {
    let table = Table::open(context, meta, shape)?;
    table.verify(&mut |_| true)?;
    let mut rows = Rows::new(shape);
    for i in 0..table.blocks() {
        let block = table.block(i, Fill::Keep)?;
        block.append_versions(0..block.rows(), Projection::ALL, &mut rows);
    }
    Ok((0..rows.len()).map(|i| row_of(&rows, i)).collect())
}

/// Writes `bytes` as the file of another table, which is described like this one.
pub(super) fn write_bytes(context: &Context, meta: &TableMeta, bytes: &[u8]) -> TableMeta {
    let (id, folder, path) = context.new_table();
    let mut file = context.env.create(&path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    TableMeta { id, folder, ..meta.clone() }
}

/// Writes `bytes` as the file of another table and opens that.
fn read_bytes(
    context: &Context,
    meta: &TableMeta,
    shape: &Shape,
    bytes: &[u8],
) -> Result<Vec<Row>> {
    read_all(context, &write_bytes(context, meta, bytes), shape)
}

/// The bytes of a table's file.
pub(super) fn file_of(context: &Context, meta: &TableMeta) -> Vec<u8> {
    context.env.read_file(&context.table_path(meta.id, meta.folder)).unwrap()
}

fn sample_table() -> (Context, TableMeta, Shape, Vec<Row>, Vec<u8>) {
    sample_table_with(TableOptions { ..How::default().options })
}

/// The same with separated values.
fn sample_table_apart() -> (Context, TableMeta, Shape, Vec<Row>, Vec<u8>) {
    sample_table_with(TableOptions { apart_value_bytes_min: 3, ..How::default().options })
}

fn sample_table_with(options: TableOptions) -> (Context, TableMeta, Shape, Vec<Row>, Vec<u8>) {
    let context = context(1 << 20);
    let (shape, rows) = sample();
    let range = KeyRange::prefix_words(&[3]);
    let tombstones = vec![RangeTombstone { range, seq: SeqNo(9) }];
    let how = How { options, bottom: false, tombstones, ..How::default() };
    let meta = build(&context, &shape, &rows, &how);
    let bytes = file_of(&context, &meta);
    assert_eq!(read_all(&context, &meta, &shape).unwrap(), rows);
    (context, meta, shape, rows, bytes)
}

#[test]
fn any_flipped_byte_is_corruption() {
    any_flip(sample_table());
}

#[test]
fn any_flipped_byte_is_corruption_where_values_stand_apart() {
    any_flip(sample_table_apart());
}

fn any_flip((context, meta, shape, _, bytes): (Context, TableMeta, Shape, Vec<Row>, Vec<u8>)) {
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            match read_bytes(&context, &meta, &shape, &damaged) {
                Err(Error::Corruption(corruption)) => {
                    assert!(corruption.offset <= at as u64, "{corruption} for byte {at}");
                }
                other => panic!("byte {at}: {other:?}"),
            }
        }
    }
}

#[test]
fn a_table_cut_short_anywhere_is_corruption() {
    for (context, meta, shape, _, bytes) in [sample_table(), sample_table_apart()] {
        for len in 0..bytes.len() {
            let read = read_bytes(&context, &meta, &shape, &bytes[..len]);
            assert!(matches!(read, Err(Error::Corruption(_))), "{len} bytes: {read:?}");
        }
    }
}

/// Found by the corruption tests: with its blocks no longer kept after one scan, a later reader met
/// the truncation by itself.
#[test]
#[allow(clippy::disallowed_types)] // who cuts files goes around the door
fn a_table_cut_short_while_it_is_open_is_corruption() {
    // On a real file: one in memory keeps its bytes for those that have it open.
    let folder = tempfile::tempdir().unwrap();
    let env = Arc::new(env::RealEnv::new(env::RealOptions::default()));
    let (cache, folders) = (Arc::new(BlockCache::new(1 << 20)), vec![folder.path().to_owned()]);
    let context = Context::new(env, cache, folders, TreeOptions::default(), false, TableId(1));
    let (shape, rows) = edges(100, 5);
    let meta = build(&context, &shape, &rows, &How::default());
    let table = Table::open(&context, &meta, &shape).unwrap();
    let path = context.table_path(meta.id, meta.folder);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(table.block_bytes(0) + 1).unwrap();
    assert_eq!(table.block(0, Fill::Keep).unwrap().rows(), table.block_rows(0));
    let is_corruption = |error: Error| matches!(error, Error::Corruption(_));
    assert!(is_corruption(table.block(1, Fill::Keep).unwrap_err()));
    assert!(is_corruption(table.read_blocks(&[1, 2, 4, 6], Fill::Once).unwrap_err()));
}

#[test]
fn another_table_under_this_name_is_corruption() {
    let (context, meta, shape, mut rows, _) = sample_table();
    rows[7].values[0] = Some(Value::Word(1));
    let other = build(&context, &shape, &rows, &How { bottom: false, ..How::default() });
    let swapped = TableMeta { id: other.id, ..meta.clone() };
    let read = read_all(&context, &swapped, &shape);
    assert!(matches!(read, Err(Error::Corruption(_))), "{read:?}");
    let wrong = Shape { key: KeyShape::Words(3), values: shape.values.clone() };
    assert!(matches!(read_all(&context, &meta, &wrong), Err(Error::Corruption(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// A checksum that fits by accident, or a bug of a writer: wrong rows at worst.
    #[test]
    fn a_damaged_block_that_passed_its_checksum_does_not_panic(
        (shape, rows) in shaped_rows().prop_filter("rows", |(_, rows)| !rows.is_empty()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        apart: bool,
    ) {
        let input = to_rows(&shape, &rows);
        let mut bytes = Vec::new();
        let strings = match encode::apart_column(&shape) {
            Some(_) if apart => encode::Strings::Apart { compress_keys: true },
            _ => encode::Strings::Compress,
        };
        encode::encode_block(&input, 0..rows.len(), strings, &mut bytes);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        // Counts are compared with the index, so other counts never come this far.
        if let Ok(block) = Block::parse(bytes, &shape, SeqNo(5))
            && block.rows() == rows.len()
        {
            let all: Range<usize> = 0..block.rows();
            block.append_versions(all.clone(), Projection::ALL, &mut Rows::new(&shape));
            block.append_to(all.clone(), Projection::ALL, &mut Batch::new(&shape));
            block.first_words(&mut Vec::new());
            for row in all {
                let _ = (block.key(row), block.seq(row), block.kind(row));
            }
            let probes = probes(&shape, &rows);
            for probe in &probes {
                let _ = block.lower_bound(probe.as_ref());
            }
            for row in &rows {
                let _ = block.find(row.key.as_ref());
            }
            for range in ranges(&probes) {
                let _ = block.rows_in(&range);
            }
        }
    }
}

#[test]
fn an_empty_table_and_one_of_tombstones_alone_open() {
    let context = context(0);
    let shape = Shape { key: KeyShape::Words(2), values: vec![] };
    let empty = build(&context, &shape, &[], &How::default());
    let table = Table::open(&context, &empty, &shape).unwrap();
    assert_eq!(table.blocks(), 0);
    assert_eq!(table.block_for(KeyRef::Words(&[1, 2])), None);

    let range = KeyRange { lower: Key::words(&[4]), upper: Some(Key::words(&[9])) };
    let tombstones = vec![RangeTombstone { range: range.clone(), seq: SeqNo(77) }];
    let how = How { tombstones: tombstones.clone(), ..How::default() };
    let meta = build(&context, &shape, &[], &how);
    assert_eq!(
        (&meta.summary.first_key, &meta.summary.last_key),
        (&range.lower, &Key::words(&[9]))
    );
    let table = Table::open(&context, &meta, &shape).unwrap();
    assert_eq!(table.range_tombstones(), tombstones);
    assert_eq!(table.blocks_overlapping(&KeyRange::all_words()), 0..0);
}

/// Rows `(i, j)` with `degree` rows for each of `sources` sources.
fn edges(sources: u64, degree: u64) -> (Shape, Vec<Row>) {
    let shape = Shape { key: KeyShape::Words(2), values: vec![] };
    let mut rows = Vec::new();
    for i in 0..sources {
        for j in 0..degree {
            let key = Key::words(&[i, j]);
            rows.push(Row { key, seq: 0, kind: Kind::Put as u8, values: vec![] });
        }
    }
    (shape, rows)
}

#[test]
fn an_adjacency_that_fits_lies_in_one_block() {
    let context = context(0);
    let (shape, rows) = edges(50, 9);
    let mut how = How { cuts: vec![33, 100], ..How::default() };
    how.options.block_rows_max = 80;
    let meta = build(&context, &shape, &rows, &how);
    let table = Table::open(&context, &meta, &shape).unwrap();
    for i in 0..50 {
        let blocks = table.blocks_overlapping(&KeyRange::prefix_words(&[i]));
        assert_eq!(blocks.len(), 1, "source {i}");
    }
}

/// Found by fuzzing: constant columns take no bytes however many rows they claim to have.
#[test]
fn a_block_has_no_more_rows_than_its_format_allows() {
    let (shape, rows) = edges(700, 100);
    let rows = to_rows(&shape, &rows);
    let most = super::block::BLOCK_ROWS_LIMIT;
    for (count, is_block) in [(most, true), (most + 1, false)] {
        let mut bytes = Vec::new();
        super::encode::encode_block(&rows, 0..count, encode::Strings::Keep, &mut bytes);
        assert_eq!(Block::parse(bytes, &shape, SeqNo::ZERO).is_ok(), is_block, "{count} rows");
    }
}

/// Found by fuzzing: fences may claim any number of rows, also more than a sum can hold.
#[test]
fn rows_of_blocks_that_fences_claim_are_summed_without_overflow() {
    let key = KeyShape::Words(1);
    let mut index = super::index::Index::new(key);
    for i in 0..3 {
        index.push(10, 0, u64::MAX / 2, 0, KeyRef::Words(&[i]), KeyRef::Words(&[i]));
    }
    let mut bytes = Vec::new();
    index.encode(&mut bytes);
    let read = super::index::Index::decode(&bytes, key, 30).unwrap();
    assert_eq!(read.rows_in_all(), u64::MAX);
}

#[test]
fn lookups_find_the_same_rows_before_and_after_a_block_is_sampled() {
    let shape = Shape { key: KeyShape::Words(1), values: vec![WORD] };
    let words: Vec<u64> = (0..1000).map(|i| i * i + i % 3).collect();
    let row = |&word: &u64| {
        let values = vec![Some(Value::Word(word.wrapping_mul(0x9e37_79b9_7f4a_7c15)))];
        Row { key: Key::words(&[word]), seq: 0, kind: Kind::Put as u8, values }
    };
    let rows: Vec<Row> = words.iter().map(row).collect();
    let mut how = How::default();
    (how.options.block_rows_max, how.options.block_bytes_max) = (1000, 1 << 20);
    let context = context(1 << 20);
    let meta = build(&context, &shape, &rows, &how);
    let table = Table::open(&context, &meta, &shape).unwrap();
    assert_eq!(table.blocks(), 1);
    let block = table.block(0, Fill::Keep).unwrap();
    for (row, &word) in words.iter().enumerate() {
        assert_eq!(block.find(Key::words(&[word]).as_ref()), Some(row), "{word}");
        let next = words.get(row + 1) == Some(&(word + 1));
        let expected = next.then_some(row + 1);
        assert_eq!(block.find(Key::words(&[word + 1]).as_ref()), expected, "{word} + 1");
    }
}

#[test]
fn a_scan_pushes_no_block_out() {
    let (shape, rows) = edges(200, 5);
    let mut context = context(40 << 10);
    context.direct_reads = true;
    let meta = build(&context, &shape, &rows, &How::default());
    let table = Table::open(&context, &meta, &shape).unwrap();
    table.block(0, Fill::Keep).unwrap();
    let misses = context.cache.misses();
    for i in 1..table.blocks() {
        table.block(i, Fill::Once).unwrap();
    }
    assert_eq!(context.cache.misses() - misses, table.blocks() as u64 - 1);
    table.block(0, Fill::Keep).unwrap();
    assert_eq!(context.cache.misses() - misses, table.blocks() as u64 - 1);
}

#[test]
fn blocks_of_tables_of_different_length_are_read_together() {
    let context = context(1 << 20);
    let (shape, rows) = edges(300, 5);
    let open = |rows: &[Row]| {
        let meta = build(&context, &shape, rows, &How::default());
        Table::open(&context, &meta, &shape).unwrap()
    };
    let (short, long) = (open(&rows[..20]), open(&rows));
    let last = long.blocks() - 1;
    assert!(last > 2 * short.blocks());
    let wanted =
        [(&*short, 0), (&*long, 1), (&*long, last), (&*short, 1), (&*short, 0), (&*long, 2)];
    for fill in [Fill::Once, Fill::Range, Fill::Keep] {
        let read = Table::read_across(&wanted, fill).unwrap();
        for (block, (table, i)) in read.iter().zip(wanted) {
            assert_eq!((block.rows(), block.key(0)), (table.block_rows(i), table.block_keys(i).0));
        }
    }
}

#[test]
fn a_block_that_the_kernel_keeps_too_is_kept_when_it_is_asked_for_again() {
    let (shape, rows) = edges(200, 5);
    for (direct, missed) in [(true, 1), (false, 2)] {
        let mut context = context(1 << 20);
        context.direct_reads = direct;
        let meta = build(&context, &shape, &rows, &How::default());
        let table = Table::open(&context, &meta, &shape).unwrap();
        (0..4).for_each(|_| drop(table.block(3, Fill::Keep).unwrap()));
        assert_eq!(context.cache.misses(), missed);
        table.prefetch(&[5, 6]).unwrap();
        (0..2).for_each(|_| drop(table.read_blocks(&[5, 6], Fill::Keep).unwrap()));
        assert_eq!(context.cache.misses(), missed + 2, "what was read ahead is there");
    }
}

#[test]
fn the_cache_keeps_its_budget_and_the_blocks_that_are_hit() {
    let (shape, rows) = edges(300, 5);
    let probe = context(1 << 30);
    let meta = build(&probe, &shape, &rows, &How::default());
    let fixed = {
        let _table = Table::open(&probe, &meta, &shape).unwrap();
        probe.cache.used_bytes()
    };
    let mut context = context(fixed + (8 << 10));
    context.direct_reads = true;
    let meta = build(&context, &shape, &rows, &How::default());
    let table = Table::open(&context, &meta, &shape).unwrap();
    table.block(3, Fill::Keep).unwrap();
    for i in 4..table.blocks() {
        table.block(i, Fill::Keep).unwrap();
        let misses = context.cache.misses();
        table.block(3, Fill::Keep).unwrap();
        assert_eq!(context.cache.misses(), misses, "a block hit again and again stays");
        assert!(context.cache.used_bytes() <= context.cache.budget_bytes());
    }
    drop(table);
    assert_eq!(context.cache.used_bytes(), 0);
}

#[test]
fn filters_past_their_share_are_left_out_and_nothing_is_denied() {
    let (shape, rows) = edges(300, 5);
    let mut context = context(1 << 20);
    let how = How { bottom: false, ..How::default() };
    let meta = build(&context, &shape, &rows, &how);
    let both = {
        let _table = Table::open(&context, &meta, &shape).unwrap();
        context.cache.filter_bytes()
    };
    assert!(both > 0);
    context.cache = Arc::new(BlockCache::with_filters(1 << 20, both + both / 2));
    let tables: Vec<_> = (0..3).map(|_| Table::open(&context, &meta, &shape).unwrap()).collect();
    assert!(context.cache.filter_bytes() <= both + both / 2, "{both}");
    assert!(tables[0].filters_whole_keys() && !tables[2].filters_whole_keys());
    for row in &rows {
        assert!(tables.iter().all(|table| table.may_contain_key(row.key.as_ref())));
    }
    let used = context.cache.used_bytes();
    assert!(used >= context.cache.filter_bytes());
    drop(tables);
    assert_eq!((context.cache.filter_bytes(), context.cache.used_bytes()), (0, 0));
}

#[test]
fn readers_on_many_threads_share_a_cache_that_is_too_small() {
    let (shape, rows) = edges(100, 5);
    let mut context = context(40 << 10);
    context.direct_reads = true;
    let meta = build(&context, &shape, &rows, &How::default());
    let table = Table::open(&context, &meta, &shape).unwrap();
    let env = MemoryEnv::new(4);
    env::parallel(&env, (0..4_u64).collect(), move |thread| {
        for step in 0..2000 {
            let key = [(step * 37 + thread * 11) % 100, step % 5];
            let block = table.block_for(KeyRef::Words(&key)).unwrap();
            let block = table.block(block, Fill::Keep).unwrap();
            let row = block.find(KeyRef::Words(&key)).unwrap();
            assert_eq!(block.key(row), Key::words(&key));
        }
    });
    assert!(context.cache.used_bytes() <= context.cache.budget_bytes());
}

#[test]
fn the_id_in_a_damaged_file_is_named() {
    let (context, meta, shape, _, mut bytes) = sample_table();
    bytes[0] ^= 1;
    let error = read_bytes(&context, &meta, &shape, &bytes).unwrap_err().to_string();
    let name = crate::context::table_file_name(TableId(meta.id.0 + 1));
    assert!(error.contains(&name) && error.contains("checksum"), "{error}");
}

/// The worked example of `docs/formats/sstable.md`, byte for byte.
#[test]
fn the_format_page_shows_what_is_written() {
    let context = context(0);
    let shape = Shape { key: KeyShape::Words(2), values: vec![WORD] };
    let rows: Vec<Row> = [(7, 20, 5), (7, 21, 5), (9, 4, 5)]
        .into_iter()
        .map(|(source, target, weight)| Row {
            key: Key::words(&[source, target]),
            seq: 0,
            kind: Kind::Put as u8,
            values: vec![Some(Value::Word(weight))],
        })
        .collect();
    let mut how = How::default();
    how.options.filter_bits = 0;
    let meta = build(&context, &shape, &rows, &how);
    let bytes = context.env.read_file(&context.table_path(meta.id, meta.folder)).unwrap();
    let hex: String = bytes
        .chunks(16)
        .map(|line| line.iter().map(|byte| format!("{byte:02x} ")).collect::<String>() + "\n")
        .collect();
    println!("{hex}");
    let page = include_str!("../../../../docs/formats/sstable.md");
    let shown: Vec<&str> = page
        .lines()
        .skip_while(|line| *line != "```hex")
        .skip(1)
        .take_while(|line| *line != "```")
        .map(|line| line.split('|').next().unwrap_or_default())
        .collect();
    let shown: Vec<&str> = shown.iter().flat_map(|line| line.split_whitespace()).collect();
    assert_eq!(shown, hex.split_whitespace().collect::<Vec<_>>());
    assert_eq!(read_all(&context, &meta, &shape).unwrap(), rows);
}
