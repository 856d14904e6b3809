//! Many keys at once: sorted, grouped by block, blocks read in batches.

use super::fold::Fold;
use super::get::{DELETE, PUT, push_entry};
use super::runs::RunView;
use super::{ReadAt, SuperVersion, columns};
use crate::Result;
use crate::memtable::{EntryRef, is_sorted, key_at, sort};
use crate::table::{Block, Fill};
use base::{Batch, Keys, Projection, WORDS_MAX};
use std::sync::Arc;

/// Keys looked up together: bounds the blocks held at once.
const CHUNK_KEYS: usize = 1024;

/// Where the row of a key was found.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    /// Not decided by the sources so far.
    Open,
    Absent,
    Memtable(EntryRef<'a>),
    /// Index into the blocks held, and the row.
    Block(u32, u32),
    /// Several versions count.
    Fold,
}

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
        let chunk_keys = if sorted || len <= CHUNK_KEYS { CHUNK_KEYS } else { len };
        // Rows come out in the order of the keys as given: sorted keys go chunk by chunk, others are
        // first looked up all, and blocks are then held as long as the result is built.
        let mut places = vec![Place::Open; len];
        let mut blocks: Vec<Arc<Block>> = Vec::new();
        for (number, chunk) in order.chunks(chunk_keys.max(1)).enumerate() {
            for piece in chunk.chunks(CHUNK_KEYS) {
                self.locate(keys, piece, at, &mut places, &mut blocks)?;
            }
            let emit = if sorted {
                number * chunk_keys..number * chunk_keys + chunk.len()
            } else {
                0..len
            };
            self.emit(keys, emit, &places, &blocks, at, projection, (present, out))?;
            blocks.clear();
        }
        Ok(())
    }

    /// Finds the places of the keys numbered in `piece`, which ascend.
    fn locate<'a>(
        &'a self,
        keys: &Keys,
        piece: &[u32],
        at: ReadAt<'a>,
        places: &mut [Place<'a>],
        blocks: &mut Vec<Arc<Block>>,
    ) -> Result<()> {
        if self.has_tombstones(at) {
            piece.iter().for_each(|&i| places[i as usize] = Place::Fold);
            return Ok(());
        }
        let mut open: Vec<u32> = piece.to_vec();
        let mut buffer = [0; WORDS_MAX];
        let own = at.own().map(|own| (own, u64::MAX));
        let memtables = self.memtables().map(|memtable| (&**memtable, at.snapshot));
        for (memtable, snapshot) in own.into_iter().chain(memtables) {
            open.retain(|&i| {
                let entry = memtable.find(key_at(keys, i as usize, &mut buffer), snapshot);
                let Some(entry) = entry else { return true };
                places[i as usize] = match entry.kind() {
                    PUT => Place::Memtable(entry),
                    DELETE => Place::Absent,
                    _ => Place::Fold,
                };
                false
            });
        }
        for run in &self.runs {
            if open.is_empty() {
                break;
            }
            locate_in_run(run, keys, &mut open, at.snapshot, places, blocks)?;
        }
        open.iter().for_each(|&i| places[i as usize] = Place::Absent);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn emit(
        &self,
        keys: &Keys,
        range: std::ops::Range<usize>,
        places: &[Place<'_>],
        blocks: &[Arc<Block>],
        at: ReadAt<'_>,
        projection: Projection,
        (present, out): (&mut Vec<bool>, &mut Batch),
    ) -> Result<()> {
        let mut buffer = [0; WORDS_MAX];
        let mut fold = Fold::new();
        let values = Projection { keys: 0, ..projection };
        for i in range {
            let key = key_at(keys, i, &mut buffer);
            let is_present = match places[i] {
                Place::Memtable(entry) => {
                    push_entry(entry, key, projection, out);
                    true
                }
                Place::Block(block, row) => {
                    columns::push_key(&mut out.keys, key, projection);
                    let row = row as usize;
                    blocks[block as usize].append_to(row..row + 1, values, out);
                    true
                }
                Place::Fold => {
                    self.fold_key(key, at, projection, &mut fold)?;
                    if fold.is_present() {
                        fold.push(key, projection, out);
                    }
                    fold.is_present()
                }
                Place::Open | Place::Absent => false,
            };
            if !is_present {
                columns::push_absent(out, key, projection);
            }
            present.push(is_present);
        }
        Ok(())
    }
}

/// Takes from `open` the keys, of places not decided yet, that the run decides.
fn locate_in_run(
    run: &RunView,
    keys: &Keys,
    open: &mut Vec<u32>,
    snapshot: u64,
    places: &mut [Place<'_>],
    blocks: &mut Vec<Arc<Block>>,
) -> Result<()> {
    let mut buffer = [0; WORDS_MAX];
    let mut wanted: Vec<(u32, u32)> = Vec::new();
    // Table and block; keys ascend, so the keys of a block follow one another.
    let mut needed: Vec<(usize, usize)> = Vec::new();
    // A loop of its own, in which the filters' cache misses pass beside each other.
    let mut asked = Vec::with_capacity(open.len());
    for &i in &*open {
        let key = key_at(keys, i as usize, &mut buffer);
        let number = run.table_for(key);
        let may = run.tables.get(number).is_some_and(|table| table.may_contain_key(key));
        asked.push((number as u32, may));
    }
    for (&i, (number, may)) in open.iter().zip(asked) {
        let key = key_at(keys, i as usize, &mut buffer);
        let number = number as usize;
        match run.tables.get(number) {
            // May go on in the next table: looked at by itself.
            Some(_) if run.ends_at(number, key) => {
                if let Some(found) = run.find(key, snapshot)? {
                    places[i as usize] = hold(blocks, found.block, found.row);
                }
            }
            Some(table)
                if may
                    && table.meta().global_seq <= snapshot
                    && let Some(block) = table.block_for(key) =>
            {
                if needed.last() != Some(&(number, block)) {
                    needed.push((number, block));
                }
                wanted.push((i, needed.len() as u32 - 1));
            }
            _ => {}
        }
    }
    let held = blocks.len();
    match needed[..] {
        [] => {}
        [(table, block)] => blocks.push(run.tables[table].block(block, Fill::Keep)?),
        _ => blocks.extend(run.read_blocks(&needed, Fill::Keep)?),
    }
    for &(i, block) in &wanted {
        let block = block + held as u32;
        let key = key_at(keys, i as usize, &mut buffer);
        let found_in = &blocks[block as usize];
        match found_in.find(key) {
            Some(row) if found_in.seq_max() <= snapshot => {
                places[i as usize] = place_of(found_in, block, row);
            }
            None => {}
            // An older version may be seen, perhaps in the next block.
            Some(_) => {
                if let Some(found) = run.find(key, snapshot)? {
                    places[i as usize] = hold(blocks, found.block, found.row);
                }
            }
        }
    }
    open.retain(|&i| matches!(places[i as usize], Place::Open));
    Ok(())
}

/// Keeps a block for as long as its row is wanted.
fn hold(blocks: &mut Vec<Arc<Block>>, block: Arc<Block>, row: usize) -> Place<'static> {
    let place = place_of(&block, blocks.len() as u32, row);
    blocks.push(block);
    place
}

fn place_of(block: &Block, number: u32, row: usize) -> Place<'static> {
    match block.kind(row) {
        PUT => Place::Block(number, row as u32),
        DELETE => Place::Absent,
        _ => Place::Fold,
    }
}

/// Whether the run holds each of these keys, which ascend, as a row that the snapshot sees.
pub(super) fn holds_many(run: &RunView, keys: &Keys, snapshot: u64) -> Result<Vec<bool>> {
    let mut open: Vec<u32> = (0..keys.len() as u32).collect();
    let mut places = vec![Place::Open; keys.len()];
    let mut blocks = Vec::new();
    locate_in_run(run, keys, &mut open, snapshot, &mut places, &mut blocks)?;
    Ok(places.iter().map(|place| !matches!(place, Place::Absent | Place::Open)).collect())
}
