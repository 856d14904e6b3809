//! Tests of separated values: they read the same alone as with their block, are refused when they
//! are damaged, and stay within the budget.

use super::tests::{How, Row, Value, build, context, file_of, write_bytes};
use super::{BlockCache, Fill, Table, TableMeta, TableOptions, read_values};
use crate::context::Context;
use crate::error::Error;
use base::{Batch, Column, ColumnShape, Key, KeyShape, Kind, Projection, Shape};
use std::sync::Arc;

/// Rows of the heads of all blocks are those of the whole blocks, whichever are in the cache.
pub(super) fn check_heads(table: &Table, shape: &Shape) {
    let numbers: Vec<usize> = (0..table.blocks()).collect();
    for block in table.read_heads(&numbers, Fill::Once).unwrap() {
        assert!(block.rows() > 0);
    }
    for (round, fill) in [Fill::Keep, Fill::Once, Fill::Keep].into_iter().enumerate() {
        for &i in &numbers {
            let head = table.head(i, fill).unwrap();
            let whole = if round == 1 {
                table.block(i, fill).unwrap()
            } else {
                Arc::new(table.load(i).unwrap())
            };
            assert!(!whole.is_head());
            let rows = whole.rows();
            assert_eq!(head.rows(), rows);
            for piece in [0..rows, 0..0, 0..1, rows - 1..rows, rows / 3..rows / 3 + rows / 2] {
                for projection in
                    [Projection::ALL, Projection::KEYS, Projection { keys: 0, values: 2 }]
                {
                    let (mut want, mut found) = (Batch::new(shape), Batch::new(shape));
                    whole.append_to(piece.clone(), projection, &mut want);
                    head.append_read(piece.clone(), projection, &mut found).unwrap();
                    assert_eq!(found, want);
                }
            }
            if !head.is_head() {
                continue;
            }
            let wanted: Vec<_> = (0..rows).rev().map(|row| (&*head, row)).collect();
            let values = read_values(&wanted, true).unwrap();
            let (mut want, mut found) = (Batch::new(shape), Batch::new(shape));
            for (row, value) in (0..rows).rev().zip(values) {
                whole.append_to(row..row + 1, Projection::ALL, &mut want);
                head.append_with(row, &value, Projection::ALL, &mut found);
            }
            assert_eq!(found, want);
        }
    }
}

const ROWS: u64 = 300;

fn value_of(key: u64) -> Vec<u8> {
    let mut state = key;
    let mut noise = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..900 + key % 200).map(|_| noise()).collect()
}

/// Keys, in the order of their numbers, with strings of these lengths that no compression shrinks.
fn noise_of(context: &Context, key: KeyShape, lengths: &[u64]) -> (Shape, TableMeta) {
    let shape = Shape { key, values: vec![ColumnShape::Bytes] };
    let row = |(i, &len): (usize, &u64)| Row {
        key: match key {
            KeyShape::Words(_) => Key::words(&[i as u64]),
            KeyShape::Bytes => Key::bytes(format!("documents/of-a-user/{i:08}").as_bytes()),
        },
        seq: 0,
        kind: Kind::Put as u8,
        values: vec![Some(Value::Bytes(value_of(i as u64)[..len as usize].to_vec()))],
    };
    let rows: Vec<Row> = lengths.iter().enumerate().map(row).collect();
    let how = How { options: TableOptions::default(), ..How::default() };
    let meta = build(context, &shape, &rows, &how);
    (shape, meta)
}

/// The values of [`value_of`], whole.
fn pages(context: &Context) -> (Shape, TableMeta) {
    let lengths: Vec<u64> = (0..ROWS).map(|key| value_of(key).len() as u64).collect();
    noise_of(context, KeyShape::Words(1), &lengths)
}

/// The version of the format that a table's file says it has.
fn version_of(context: &Context, meta: &TableMeta) -> u32 {
    let bytes = file_of(context, meta);
    let version = bytes[bytes.len() - 24..].first_chunk::<4>();
    u32::from_le_bytes(*version.unwrap())
}

fn get(table: &Table, shape: &Shape, key: u64) -> Result<Vec<u8>, Error> {
    let key = Key::words(&[key]);
    let i = table.block_for(key.as_ref()).unwrap();
    let block = table.head(i, Fill::Keep)?;
    let row = block.find(key.as_ref()).unwrap();
    let mut out = Batch::new(shape);
    block.append_read(row..row + 1, Projection::ALL, &mut out)?;
    match &out.values[0] {
        Column::Bytes(column) => Ok(column.get(0).to_vec()),
        Column::Words(_) => unreachable!("a column of strings"),
    }
}

#[test]
fn long_values_stand_apart_in_large_blocks_and_text_that_shrinks_does_not() {
    let context = context(1 << 20);
    let (shape, meta) = pages(&context);
    let table = Table::open(&context, &meta, &shape).unwrap();
    let apart = (0..table.blocks()).filter(|&i| table.head(i, Fill::Keep).unwrap().is_head());
    assert_eq!(apart.count(), table.blocks());
    assert!(table.blocks() < 20, "{} blocks", table.blocks());
    // With statistics of its blocks.
    assert_eq!(version_of(&context, &meta), 3);

    let text = |key| Row {
        key: Key::words(&[key]),
        seq: 0,
        kind: Kind::Put as u8,
        values: vec![Some(Value::Bytes(format!("page {key} ").repeat(200).into_bytes()))],
    };
    let rows: Vec<Row> = (0..ROWS).map(text).collect();
    let how = How { options: TableOptions::default(), ..How::default() };
    let meta = build(&context, &shape, &rows, &how);
    let table = Table::open(&context, &meta, &shape).unwrap();
    assert!((0..table.blocks()).all(|i| !table.head(i, Fill::Keep).unwrap().is_head()));
    assert_eq!(version_of(&context, &meta), 3);
    // Tables of few blocks have none.
    for (bytes, version) in [(100, 1), (900, 2)] {
        let (_, meta) = noise_of(&context, KeyShape::Words(1), &[bytes; 3]);
        assert_eq!(version_of(&context, &meta), version);
    }
}

#[test]
fn kept_values_and_heads_stay_within_the_budget_and_are_given_back() {
    for (direct, budget) in
        [(true, 40 << 10), (false, 40 << 10), (true, 1 << 20), (false, 1 << 20), (true, 6000)]
    {
        let mut context = context(0);
        context.cache = Arc::new(BlockCache::new(budget));
        context.direct_reads = direct;
        let (shape, meta) = pages(&context);
        let table = Table::open(&context, &meta, &shape).unwrap();
        let fixed = context.cache.used_bytes();
        let mut state = 7_u64;
        for step in 0..6000_u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (state >> 33) % ROWS;
            assert_eq!(get(&table, &shape, key).unwrap(), value_of(key));
            // Now and then the whole of a block comes by, and may take the place of its head.
            if step % 97 == 0 {
                let i = (state >> 20) as usize % table.blocks();
                assert!(!table.block(i, Fill::Keep).unwrap().is_head());
            }
            assert!(context.cache.used_bytes() <= budget.max(fixed), "step {step}");
        }
        if budget == 1 << 20 {
            // All of it is kept: a file that is gone is not missed.
            let kept = context.cache.misses();
            (0..ROWS).for_each(|key| assert_eq!(get(&table, &shape, key).unwrap(), value_of(key)));
            assert_eq!(context.cache.misses(), kept);
            assert!(context.cache.used_bytes() > ROWS * 900);
        }
        drop(table);
        assert_eq!(context.cache.used_bytes(), 0);
    }
}

#[test]
fn a_damaged_value_is_corruption_and_its_neighbours_are_read() {
    let context = context(1 << 20);
    let (shape, meta) = pages(&context);
    let bytes = file_of(&context, &meta);
    let value = value_of(123);
    let at = bytes.windows(value.len()).position(|window| window == value).unwrap();
    for flip_at in [at, at + 1, at + value.len() / 2, at + value.len() - 1] {
        let mut damaged = bytes.clone();
        damaged[flip_at] ^= 4;
        let damaged = write_bytes(&context, &meta, &damaged);
        let table = Table::open(&context, &damaged, &shape).unwrap();
        for key in 0..ROWS {
            match get(&table, &shape, key) {
                Ok(value) => assert!(key != 123 && value == value_of(key)),
                Err(Error::Corruption(corruption)) => {
                    assert!(key == 123 && corruption.offset <= flip_at as u64, "{corruption}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        let key = Key::words(&[123]);
        let i = table.block_for(key.as_ref()).unwrap();
        let head = table.head(i, Fill::Keep).unwrap();
        let row = head.find(key.as_ref()).unwrap();
        assert!(matches!(read_values(&[(&head, row)], true), Err(Error::Corruption(_))));
        assert_eq!(read_values(&[(&head, row + 1)], true).unwrap()[0][..], value_of(124)[..]);
        let mut out = Batch::new(&shape);
        let range = head.append_read(0..head.rows(), Projection::ALL, &mut out);
        assert!(matches!(range, Err(Error::Corruption(_))));
        assert!(matches!(table.block(i, Fill::Once), Err(Error::Corruption(_))));
        assert!(matches!(table.verify(&mut |_| true), Err(Error::Corruption(_))));
    }
}

#[test]
fn around_the_kernels_cache_a_neighbour_of_what_is_kept_brings_those_beside_it() {
    let mut context = context(1 << 20);
    context.direct_reads = true;
    let (shape, meta) = pages(&context);
    let table = Table::open(&context, &meta, &shape).unwrap();
    let blocks = (0..table.blocks()).map(|i| table.head(i, Fill::Keep).unwrap());
    let block = blocks.max_by_key(|block| block.rows()).unwrap();
    let Key::Words { words: [first, ..], .. } = block.key(0) else { unreachable!("keys of words") };
    let ask = |row: usize| {
        let mut out = Batch::new(&shape);
        block.append_read(row..row + 1, Projection::ALL, &mut out).unwrap();
        let Column::Bytes(found) = &out.values[0] else { unreachable!("a column of strings") };
        assert_eq!(found.get(0), value_of(first + row as u64));
        let apart = block.apart().unwrap();
        (0..block.rows()).filter(|&row| apart.is_kept(row)).collect::<Vec<_>>()
    };
    assert_eq!(ask(10), [10], "alone");
    assert_eq!(ask(20), [10, 20], "alone");
    let before = ask(9);
    assert!([8, 9, 10, 20].iter().all(|row| before.contains(row)), "{before:?}");
    assert!(before.len() <= 7, "{before:?}");
    let both = ask(11);
    assert!(both.contains(&12) && both.len() > before.len() + 1, "{both:?}");
    for &row in &both {
        assert_eq!(ask(row), both, "each is its own value");
    }
}

#[test]
fn a_block_is_long_only_where_its_values_stand_apart() {
    let context = context(1 << 20);
    let lengths: Vec<u64> =
        (0..3000).map(|i| if i % 1000 < 500 { 900 } else { 30 + i % 50 }).collect();
    let (shape, meta) = noise_of(&context, KeyShape::Words(1), &lengths);
    let table = Table::open(&context, &meta, &shape).unwrap();
    let is_head = |i: usize| table.head(i, Fill::Once).unwrap().is_head();
    assert!((0..table.blocks()).any(is_head) && !(0..table.blocks()).all(is_head));
    for i in 0..table.blocks() {
        assert!(is_head(i) || table.block_bytes(i) < 12 << 10, "{} bytes", table.block_bytes(i));
    }
}

#[test]
fn values_stand_apart_though_their_keys_compress() {
    let context = context(1 << 20);
    let (shape, meta) = noise_of(&context, KeyShape::Bytes, &[900; 1000]);
    let table = Table::open(&context, &meta, &shape).unwrap();
    assert!((0..table.blocks()).all(|i| table.head(i, Fill::Once).unwrap().is_head()));
    assert!(table.blocks() < 40, "{} blocks", table.blocks());
    check_heads(&table, &shape);
}

#[test]
fn few_rows_in_a_row_are_kept_and_a_read_that_fails_leaves_the_batch_as_it_was() {
    let context = context(1 << 20);
    let (shape, meta) = pages(&context);
    let table = Table::open(&context, &meta, &shape).unwrap();
    let head = table.head(table.blocks() - 1, Fill::Keep).unwrap();
    let rows = 0..head.rows().min(5);
    let ask = || {
        let mut out = Batch::new(&shape);
        head.append_read(rows.clone(), Projection::ALL, &mut out).unwrap();
        let kept = |row: &usize| head.apart().unwrap().is_kept(*row);
        (out, rows.clone().filter(kept).count())
    };
    let (first, kept) = ask();
    assert_eq!(kept, 0, "asked for once");
    assert_eq!(ask(), (first.clone(), rows.len()), "asked for twice");
    assert_eq!(ask(), (first, rows.len()), "from memory");

    let mut bytes = file_of(&context, &meta);
    let value = value_of(7);
    let at = bytes.windows(value.len()).position(|window| window == value).unwrap();
    bytes[at] ^= 1;
    let damaged = write_bytes(&context, &meta, &bytes);
    let table = Table::open(&context, &damaged, &shape).unwrap();
    let head = table.head(0, Fill::Keep).unwrap();
    let mut out = Batch::new(&shape);
    head.append_read(0..3, Projection::ALL, &mut out).unwrap();
    let before = out.clone();
    let last = head.find(Key::words(&[7]).as_ref()).unwrap();
    assert!(head.append_read(0..last + 1, Projection::ALL, &mut out).is_err());
    assert!(head.append_read(last..last + 1, Projection::ALL, &mut out).is_err());
    assert_eq!(out, before);
}

#[test]
fn a_value_that_is_guessed_well_or_badly_or_is_damaged_is_itself_or_an_error() {
    let mut context = context(1 << 20);
    context.direct_reads = true;
    let shape = Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] };
    // A third of the way between two keys is a third of the way into the block, or near its end.
    for (power, guessed_min) in [(1, 290), (6, 60)] {
        let row = |i: u64| Row {
            key: Key::words(&[i.pow(power)]),
            seq: 0,
            kind: Kind::Put as u8,
            values: vec![Some(Value::Bytes(value_of(i)))],
        };
        let rows: Vec<Row> = (0..ROWS).map(row).collect();
        let how = How { options: TableOptions::default(), ..How::default() };
        let meta = build(&context, &shape, &rows, &how);
        let damaged_value = 7;
        let mut bytes = file_of(&context, &meta);
        let value = value_of(damaged_value);
        let at = bytes.windows(value.len()).position(|window| window == value).unwrap();
        bytes[at] ^= 1;
        let meta = write_bytes(&context, &meta, &bytes);
        let mut guessed = 0;
        for i in 0..ROWS {
            // Nothing is in the cache.
            let table = Table::open(&context, &meta, &shape).unwrap();
            let key = Key::words(&[i.pow(power)]);
            let block = table.block_for(key.as_ref()).unwrap();
            let head = table.head_toward(block, key.as_ref(), Projection::ALL).unwrap();
            let row = head.find(key.as_ref()).unwrap();
            guessed += usize::from(head.apart().unwrap().is_kept(row));
            let mut out = Batch::new(&shape);
            let read = head.append_read(row..row + 1, Projection::ALL, &mut out);
            let Column::Bytes(found) = &out.values[0] else { unreachable!("a column of strings") };
            match i == damaged_value {
                true => assert!(matches!(read, Err(Error::Corruption(_))) && found.is_empty()),
                false => assert_eq!(found.get(0), value_of(i)),
            }
        }
        assert!((guessed_min..ROWS as usize).contains(&guessed), "{guessed} of {ROWS}");
    }
}

#[test]
fn a_value_is_read_though_what_was_guessed_beside_it_cannot_be() {
    let mut context = context(0);
    context.direct_reads = true;
    let (shape, meta) = pages(&context);
    let table = Table::open(&context, &meta, &shape).unwrap();
    let bytes = file_of(&context, &meta);
    // A long one.
    let number = table.blocks() - 2;
    let cut = table.index.bytes(number).end as usize - 20_000;
    drop(context.env.open_append(&context.table_path(meta.id, meta.folder), cut as u64).unwrap());
    let (mut there, mut gone) = (0, 0);
    for i in 0..ROWS {
        let key = Key::words(&[i]);
        if table.block_for(key.as_ref()) != Some(number) {
            continue;
        }
        let value = value_of(i);
        let at = bytes.windows(value.len()).position(|window| window == value).unwrap();
        let head = table.head_toward(number, key.as_ref(), Projection::ALL).unwrap();
        let row = head.find(key.as_ref()).unwrap();
        let mut out = Batch::new(&shape);
        let read = head.append_read(row..row + 1, Projection::ALL, &mut out);
        let Column::Bytes(found) = &out.values[0] else { unreachable!("a column of strings") };
        if at + value.len() <= cut {
            assert_eq!(found.get(0), value, "{read:?}");
            there += 1;
        } else {
            assert!(matches!(read, Err(Error::Corruption(_))), "{read:?}");
            gone += 1;
        }
    }
    assert!(there >= 10 && gone >= 10, "{there} and {gone}");
}
