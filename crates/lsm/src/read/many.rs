//! Many keys at once: sorted, grouped by block, blocks read in batches.
//!
//! # Invariants
//! 1. Rows come out in the order of the keys as given. Sorted keys are processed piece by piece.
//!    Others are all looked up first.
//! 2. A batch holds [`ReadThresholds::held_bytes_max`] of blocks and values that are not in the
//!    result yet, and what one piece adds, however many keys it has. Past that, the rows found so
//!    far are copied.

use super::row_locations::{Place, RowLocations};
use super::runs::RunView;
use super::{ReadAt, ReadThresholds, SuperVersion};
use crate::error::Result;
use crate::memtable::{Memtable, compare_rows, is_sorted, sort};
use crate::rows::key_at;
use crate::table::{Fill, Table};
use base::{Batch, KeyRef, Keys, Projection, SeqNo, Shape, WORDS_MAX};
use std::sync::Arc;

/// Keys looked up together: bounds the blocks held at once.
const CHUNK_KEYS: usize = 1024;

impl SuperVersion {
    /// For each key appends to `out` a row with the key's values, or one without values where there
    /// is no such row, and to `present` which it is.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn get_many(
        &self,
        keys: &Keys,
        at: ReadAt<'_>,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) -> Result<()> {
        let len = keys.len();
        let mut order: Vec<u32> = (0..len as u32).collect();
        if !is_sorted(keys) {
            sort(keys, &mut order);
        }
        let sorted = order.iter().enumerate().all(|(i, &row)| i == row as usize);
        let mut places = RowLocations::new(self.shape(), len);
        let mut settled = 0;
        for (number, piece) in order.chunks(CHUNK_KEYS).enumerate() {
            let start = number * CHUNK_KEYS;
            self.locate(keys, piece, at, projection, &mut places)?;
            if sorted {
                let rows = start..start + piece.len();
                rows.for_each(|i| places.emit(keys, i, projection, present, out));
                places.let_go();
            } else if places.held_bytes() > self.thresholds.held_bytes_max
                && start + piece.len() < len
            {
                places.settle(&order[settled..start + piece.len()], projection);
                settled = start + piece.len();
            }
        }
        if !sorted {
            (0..len).for_each(|i| places.emit(keys, i, projection, present, out));
        }
        Ok(())
    }

    /// Finds the places of the keys numbered in `piece`, which ascend.
    fn locate<'a>(
        &'a self,
        keys: &Keys,
        piece: &[u32],
        at: ReadAt<'a>,
        projection: Projection,
        places: &mut RowLocations<'a>,
    ) -> Result<()> {
        // Keys that are asked more than once, as frequent ones are, are looked up once.
        let mut asked: Vec<u32> = Vec::with_capacity(piece.len());
        let mut again: Vec<(u32, u32)> = Vec::new();
        let mut buffer = [0; WORDS_MAX];
        for &i in piece {
            match asked.last() {
                Some(&first) if compare_rows(keys, first as usize, i as usize).is_eq() => {
                    again.push((i, first));
                }
                _ => asked.push(i),
            }
        }
        let held = places.blocks.len();
        // A transaction's own deleted ranges hide some of its own rows.
        if at.overlay.is_some_and(Memtable::has_range_tombstones) {
            asked.iter().for_each(|&i| places.of[i as usize] = Place::Several);
        } else {
            if self.has_tombstones(at) {
                let over = |i: u32| self.cover_over(key_at(keys, i as usize, &mut buffer), at);
                places.set_covers(&asked, over);
            }
            self.look_up(keys, asked.clone(), at, places)?;
        }
        places.finish(self, keys, &asked, held, at, projection)?;
        for (i, first) in again {
            places.of[i as usize] = places.of[first as usize];
        }
        Ok(())
    }

    /// Asks all sources for the keys numbered in `open`, which ascend.
    fn look_up<'a>(
        &'a self,
        keys: &Keys,
        mut open: Vec<u32>,
        at: ReadAt<'a>,
        places: &mut RowLocations<'a>,
    ) -> Result<()> {
        let mut buffer = [0; WORDS_MAX];
        for (memtable, snapshot) in self.layers_in_memory(at) {
            let is_own = at.own().is_some_and(|own| std::ptr::eq(own, memtable));
            open.retain(|&i| {
                let entry = memtable.find(key_at(keys, i as usize, &mut buffer), snapshot);
                let Some(entry) = entry else { return true };
                places.add_entry(i, entry, is_own);
                places.is_open(i)
            });
        }
        for run in &self.runs {
            if open.is_empty() {
                break;
            }
            locate_in_run(run, keys, &mut open, at.snapshot, places, self.thresholds)?;
        }
        Ok(())
    }
}

/// Whether to check keys against the tables' filters, given the numbers of their tables; the
/// filters are then prefetched. They are not checked if all of a sample of the keys may be present:
/// each check waits for a cache line, and hardly any would save a block search.
fn asks_filters(
    run: &RunView,
    keys: &Keys,
    open: &[u32],
    numbers: &[usize],
    thresholds: ReadThresholds,
) -> bool {
    let asked = |step| {
        let sample = open.iter().zip(numbers).step_by(step);
        sample.filter_map(|(&i, &number)| Some((i as usize, run.tables.get(number)?)))
    };
    let prefetch = |step| {
        for (i, table) in asked(step) {
            table.prefetch_filter(key_at(keys, i, &mut [0; WORDS_MAX]));
        }
    };
    let may_be_there = |(i, table): (usize, &Arc<Table>)| {
        table.may_contain_key(key_at(keys, i, &mut [0; WORDS_MAX]))
    };
    if open.len() >= thresholds.filter_sample_min {
        prefetch(thresholds.filter_step);
        if asked(thresholds.filter_step).all(may_be_there) {
            return false;
        }
    }
    prefetch(1);
    true
}

/// Takes from `open` the keys, of places not decided yet, that the run decides.
fn locate_in_run(
    run: &RunView,
    keys: &Keys,
    open: &mut Vec<u32>,
    snapshot: SeqNo,
    places: &mut RowLocations<'_>,
    thresholds: ReadThresholds,
) -> Result<()> {
    let lookup = RunLookup { run, keys, snapshot };
    let wanted = lookup.wanted_blocks(open, places, thresholds)?;
    let held = places.blocks.len();
    lookup.read_blocks(&wanted, places)?;
    lookup.search_blocks(&wanted, held, places)?;
    open.retain(|&i| places.is_open(i));
    Ok(())
}

/// A lookup of ascending keys in one run, in three phases of loops in which cache misses overlap.
#[derive(Clone, Copy)]
struct RunLookup<'a> {
    run: &'a RunView,
    keys: &'a Keys,
    snapshot: SeqNo,
}

/// The blocks that may hold keys.
#[derive(Default)]
struct WantedBlocks {
    /// Key, and index in `blocks`.
    keys: Vec<(u32, u32)>,
    /// Table and block; keys ascend, so the keys of a block follow one another.
    blocks: Vec<(usize, usize)>,
}

impl RunLookup<'_> {
    /// Finds the block of each key. A key whose versions may go on in the next table is looked up
    /// by itself.
    fn wanted_blocks(
        &self,
        open: &[u32],
        places: &mut RowLocations<'_>,
        thresholds: ReadThresholds,
    ) -> Result<WantedBlocks> {
        let Self { run, keys, snapshot } = *self;
        let mut buffer = [0; WORDS_MAX];
        let mut wanted = WantedBlocks::default();
        let WantedBlocks { keys: wanted_keys, blocks } = &mut wanted;
        let table_of = |&i: &u32| run.table_for(key_at(keys, i as usize, &mut buffer));
        let numbers: Vec<usize> = open.iter().map(table_of).collect();
        let asks_filters = asks_filters(run, keys, open, &numbers, thresholds);
        for (&i, number) in open.iter().zip(numbers) {
            let key = key_at(keys, i as usize, &mut buffer);
            match run.tables.get(number) {
                Some(_) if run.ends_at(number, key) => places.find(run, i, key, snapshot)?,
                Some(table)
                    if table.meta().global_seq <= snapshot
                        && (!asks_filters || table.may_contain_key(key)) =>
                {
                    let last = blocks.last().copied();
                    let from =
                        last.filter(|(table, _)| *table == number).map_or(0, |(_, block)| block);
                    let Some(block) = table.block_for_from(from, key) else { continue };
                    if last != Some((number, block)) {
                        blocks.push((number, block));
                    }
                    wanted_keys.push((i, blocks.len() as u32 - 1));
                }
                _ => {}
            }
        }
        Ok(wanted)
    }

    /// Appends the wanted blocks to those that `places` holds.
    fn read_blocks(&self, wanted: &WantedBlocks, places: &mut RowLocations<'_>) -> Result<()> {
        let run = self.run;
        wanted.blocks.iter().for_each(|&(table, block)| run.tables[table].prefetch_block(block));
        match wanted.blocks[..] {
            [] => {}
            [(table, block)] => places.blocks.push(run.tables[table].head(block, Fill::Keep)?),
            _ => places.blocks.extend(run.read_heads(&wanted.blocks, Fill::Keep)?),
        }
        Ok(())
    }

    /// Finds the keys in the wanted blocks, which `places` holds from index `held` on.
    fn search_blocks(
        &self,
        wanted: &WantedBlocks,
        held: usize,
        places: &mut RowLocations<'_>,
    ) -> Result<()> {
        let Self { run, keys, snapshot } = *self;
        let mut buffer = [0; WORDS_MAX];
        let blocks = &places.blocks[held..];
        blocks.iter().for_each(|block| block.prefetch_columns());
        blocks.iter().for_each(|block| block.prefetch_keys());
        for &(i, number) in &wanted.keys {
            blocks[number as usize].prefetch_key(key_at(keys, i as usize, &mut buffer));
        }
        let seek = |&(i, number): &(u32, u32)| {
            blocks[number as usize].seek(key_at(keys, i as usize, &mut buffer))
        };
        let seeks: Vec<_> = wanted.keys.iter().map(seek).collect();
        for (&(i, number), seek) in wanted.keys.iter().zip(seeks) {
            let block = number + held as u32;
            let key = key_at(keys, i as usize, &mut buffer);
            let found_in = &places.blocks[block as usize];
            match found_in.find_from(key, seek) {
                Some(row) if found_in.seq_max() <= snapshot => {
                    let table = &run.tables[wanted.blocks[number as usize].0];
                    places.add_row(i, block, row, table.meta().summary.repeats > 0);
                }
                None => {}
                // An older version may be seen, perhaps in the next block.
                Some(_) => places.find(run, i, key, snapshot)?,
            }
        }
        Ok(())
    }
}

impl RowLocations<'_> {
    /// Looks a key up in a run by itself.
    fn find(&mut self, run: &RunView, i: u32, key: KeyRef<'_>, snapshot: SeqNo) -> Result<()> {
        if let Some(found) = run.find(key, snapshot)? {
            let repeats = run.tables[found.table].meta().summary.repeats > 0;
            let block = self.hold(found.block);
            self.add_row(i, block, found.row, repeats);
        }
        Ok(())
    }
}

/// Whether the run holds each of these keys, which ascend, as a row that the snapshot sees.
pub(super) fn holds_many(
    run: &RunView,
    shape: &Shape,
    keys: &Keys,
    snapshot: SeqNo,
    thresholds: ReadThresholds,
) -> Result<Vec<bool>> {
    let mut open: Vec<u32> = (0..keys.len() as u32).collect();
    let mut places = RowLocations::new(shape, keys.len());
    locate_in_run(run, keys, &mut open, snapshot, &mut places, thresholds)?;
    Ok(places.of.iter().map(|place| !matches!(place, Place::Absent | Place::Open)).collect())
}
