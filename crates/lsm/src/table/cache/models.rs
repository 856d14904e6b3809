//! Concurrency models: threads that fill, hit and close the cache at the same time. `make models`
//! runs them for longer.

use super::*;
use crate::rows::Rows;
use crate::table::apart::Home;
use crate::table::encode::{Strings, encode_block};
use base::{Column, ColumnShape, KeyRef, KeyShape, SeqNo, Shape};
use env::Env as _;
use env::model::explore;
use shuttle::thread;

/// A block that tells by its one row which it is.
fn block(number: u64) -> Arc<Block> {
    let shape = Shape { key: KeyShape::Words(1), values: Vec::new() };
    let mut rows = Rows::new(&shape);
    rows.keys.push(KeyRef::Words(&[7]));
    let mut bytes = Vec::new();
    encode_block(&rows, 0..1, Strings::Keep, &mut bytes);
    bytes.shrink_to_fit();
    Arc::new(Block::parse(bytes, &shape, SeqNo(number)).expect("a block of our own"))
}

/// The block through the cache, as a table reads it.
fn read(cache: &BlockCache, slots: &Arc<Slots>, table: u64, index: usize, fill: Fill) {
    let number = 10 * table + index as u64;
    let got = slots.get(index, Part::Whole, fill).unwrap_or_else(|| {
        slots.count_miss();
        cache.insert(slots, index, block(number), fill)
    });
    assert_eq!(got.seq(0), SeqNo(number), "the block that was asked for");
}

/// Blocks and bytes that filled slots hold now; nobody else is at work.
fn held(tables: &[Arc<Slots>]) -> (u64, u64) {
    let blocks = tables.iter().flat_map(|table| table.slots.iter());
    let blocks = blocks.filter_map(|slot| slot.block.load_full());
    blocks.fold((0, 0), |(mut n, mut bytes), block| {
        for value in block.apart().into_iter().flat_map(Apart::all) {
            (n, bytes) = (n + 1, bytes + apart::memory_bytes(&value));
        }
        (n + 1, bytes + block.memory_bytes())
    })
}

fn counted(cache: &BlockCache) -> (u64, u64) {
    (cache.counters.entries.load(Relaxed), cache.used_bytes())
}

#[test]
fn a_cache_that_is_too_small_counts_right_and_hands_out_the_right_blocks() {
    explore("cache, evictions", || {
        let cache = Arc::new(BlockCache::new(2 * block(0).memory_bytes()));
        let tables = [cache.slots(2), cache.slots(2)];
        let readers: Vec<_> = (0..3_u64)
            .map(|reader| {
                let (cache, tables) = (Arc::clone(&cache), tables.clone());
                thread::spawn(move || {
                    for step in 0..3 {
                        let table = (reader + step) % 2;
                        let index = (reader * step % 2) as usize;
                        let fill = if reader == 2 { Fill::Once } else { Fill::Keep };
                        read(&cache, &tables[table as usize], table, index, fill);
                    }
                })
            })
            .collect();
        readers.into_iter().for_each(|reader| reader.join().expect("a reader ends well"));
        assert_eq!(counted(&cache), held(&tables), "each block is counted once");
        assert!(cache.used_bytes() <= cache.budget_bytes(), "the budget holds");
        drop(tables);
        assert_eq!(counted(&cache), (0, 0), "closed tables take nothing");
    });
}

#[test]
fn a_table_that_is_closed_beside_readers_gives_back_what_it_took() {
    explore("cache, closing", || {
        let cache = Arc::new(BlockCache::new(2 * block(0).memory_bytes() + 100));
        let (stays, goes) = (cache.slots(2), cache.slots(2));
        let other = {
            let (cache, stays) = (Arc::clone(&cache), Arc::clone(&stays));
            thread::spawn(move || {
                (0..2).for_each(|index| read(&cache, &stays, 0, index, Fill::Keep));
                let reserved = cache.reserve(100);
                read(&cache, &stays, 0, 0, Fill::Keep);
                drop(reserved);
            })
        };
        (0..2).for_each(|index| read(&cache, &goes, 1, index, Fill::Keep));
        drop(goes);
        other.join().expect("the reader ends well");
        assert_eq!(counted(&cache), held(&[Arc::clone(&stays)]), "each block is counted once");
        assert!(cache.used_bytes() <= cache.budget_bytes(), "the budget holds");
        drop(stays);
        assert_eq!(counted(&cache), (0, 0));
    });
}

/// A head of two rows whose values are not here.
fn head(slots: &Arc<Slots>, index: usize) -> Arc<Block> {
    let shape = Shape { key: KeyShape::Words(1), values: vec![ColumnShape::Bytes] };
    let mut rows = Rows::new(&shape);
    for key in [7, 8] {
        rows.keys.push(KeyRef::Words(&[key]));
        if let Column::Bytes(column) = &mut rows.values[0] {
            column.push(Some(b"a value"));
        }
    }
    let mut bytes = Vec::new();
    let encoded = encode_block(&rows, 0..2, Strings::Apart { compress_keys: false }, &mut bytes);
    let heap = 0..7 * 2;
    bytes.truncate(encoded.head_bytes);
    bytes.shrink_to_fit();
    let machine = env::MemoryEnv::new(1);
    drop(machine.create("values".as_ref()).expect("a file in memory"));
    let file = machine.open_read("values".as_ref(), env::ReadOptions::default());
    let file = file.expect("the file");
    let slots: Weak<Slots> = Arc::downgrade(slots);
    let home = Home { keeper: slots, index, direct: true };
    let apart = |column, _, _| Some(Apart::new(column, file, heap, home, 2));
    Arc::new(Block::parse_head(bytes, &shape, SeqNo::ZERO, apart).expect("a head of our own"))
}

#[test]
fn values_that_are_kept_beside_evictions_are_counted_as_long_as_their_head_is_there() {
    explore("cache, values", || {
        let cache = Arc::new(BlockCache::new(0));
        let slots = cache.slots(2);
        let value = Value::from(*b"a value");
        let one = head(&slots, 0).memory_bytes() + apart::memory_bytes(&value);
        let cache = Arc::new(BlockCache::new(one + one / 2));
        let slots = cache.slots(2);
        let readers: Vec<_> = (0..2_usize)
            .map(|reader| {
                let (cache, slots, value) =
                    (Arc::clone(&cache), Arc::clone(&slots), Arc::clone(&value));
                thread::spawn(move || {
                    for step in 0..3 {
                        let index = (reader + step) % 2;
                        let found = slots.get(index, Part::Head, Fill::Keep);
                        let block = found.unwrap_or_else(|| {
                            let block = head(&slots, index);
                            cache.insert(&slots, index, block, Fill::Keep)
                        });
                        let values = block.apart().expect("the block is a head");
                        cache.insert_value(&slots, index, values, step % 2, &value);
                    }
                })
            })
            .collect();
        readers.into_iter().for_each(|reader| reader.join().expect("a reader ends well"));
        assert_eq!(counted(&cache), held(&[Arc::clone(&slots)]), "each value is counted once");
        assert!(cache.used_bytes() <= cache.budget_bytes(), "the budget holds");
        drop(slots);
        assert_eq!(counted(&cache), (0, 0), "closed tables take nothing");
    });
}
