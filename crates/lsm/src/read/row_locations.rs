//! Where the rows of many keys were found, newest source first; versions that combine are chained.
//!
//! # Invariants
//! 1. The links of a chain go from the newest version to older ones; all but the last are merges.
//! 2. A key is looked up in a source while [`RowLocations::is_open`] is true for it. Sources
//!    are searched in their order.

use super::fold::Fold;
use super::get::{DELETE, PUT, push_entry};
use super::{ReadAt, SuperVersion, columns};
use crate::error::Result;
use crate::memtable::{EntryRef, Whole};
use crate::rows::key_at;
use crate::table::{Block, Found, read_values};
use base::{Batch, Keys, Projection, SeqNo, Shape, WORDS_MAX};
use std::sync::Arc;

/// Where the row of a key was found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place<'a> {
    /// Not decided by the sources so far.
    Open,
    Absent,
    Memtable(EntryRef<'a>),
    /// Index into the blocks held, and the row.
    Block(u32, u32),
    /// The same, and index into the separated values.
    Apart(u32, u32, u32),
    /// Merges only so far, from the first link to the last: older versions count.
    Merging(u32, u32),
    /// Versions from this link on; older ones do not count.
    Merged(u32),
    /// Several versions count, to be looked up by themselves.
    Several,
    /// Row of the combined values.
    Combined(u32),
}

/// One version in a chain.
#[derive(Clone, Copy, Debug)]
struct Link<'a> {
    version: Version<'a>,
    kind: u8,
    /// The next older one; [`NO_LINK`] after the last.
    older: u32,
}

#[derive(Clone, Copy, Debug)]
enum Version<'a> {
    Memtable(EntryRef<'a>),
    /// And all that is older in its memtable.
    Whole(Whole),
    Block(u32, u32),
}

const NO_LINK: u32 = u32::MAX;

/// The places of many keys, and the blocks they point to.
#[derive(Debug)]
pub(super) struct RowLocations<'a> {
    /// Of each key.
    pub(super) of: Vec<Place<'a>>,
    pub(super) blocks: Vec<Arc<Block>>,
    values: Vec<Found>,
    links: Vec<Link<'a>>,
    /// Values of the keys whose versions were combined, and of those whose blocks were let go.
    combined: Batch,
    /// For each key the number below which a range tombstone deletes versions. Empty if there are
    /// no range tombstones.
    covers: Vec<SeqNo>,
    /// Bytes of the blocks and values.
    held_bytes: u64,
}

impl<'a> RowLocations<'a> {
    pub(super) fn new(shape: &Shape, keys: usize) -> Self {
        Self {
            of: vec![Place::Open; keys],
            blocks: Vec::new(),
            values: Vec::new(),
            links: Vec::new(),
            combined: Batch::new(shape),
            covers: Vec::new(),
            held_bytes: 0,
        }
    }

    /// Sets, for the keys numbered in `asked`, the number below which their versions are deleted; 0
    /// if none are.
    pub(super) fn set_covers(&mut self, asked: &[u32], mut over: impl FnMut(u32) -> SeqNo) {
        self.covers.resize(self.of.len(), SeqNo::ZERO);
        asked.iter().for_each(|&i| self.covers[i as usize] = over(i));
    }

    fn cover(&self, i: u32) -> SeqNo {
        self.covers.get(i as usize).copied().unwrap_or(SeqNo::ZERO)
    }

    /// Bytes that the locations so far point to, without memtables.
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Copies the values of the keys numbered in `found`, and releases the blocks.
    pub(super) fn settle(&mut self, found: &[u32], projection: Projection) {
        let values = Projection { keys: 0, ..projection };
        for &i in found {
            let (block, row, value) = match self.of[i as usize] {
                Place::Block(block, row) => (&self.blocks[block as usize], row as usize, None),
                Place::Apart(block, row, value) => {
                    let value = &self.values[value as usize];
                    (&self.blocks[block as usize], row as usize, Some(value))
                }
                _ => continue,
            };
            self.of[i as usize] = Place::Combined(self.combined.rows as u32);
            match value {
                Some(value) => block.append_with(row, value, values, &mut self.combined),
                None => block.append_to(row..row + 1, values, &mut self.combined),
            }
        }
        self.let_blocks_go();
    }

    fn let_blocks_go(&mut self) {
        self.blocks.clear();
        self.values.clear();
        self.held_bytes = 0;
    }

    /// Forgets blocks and combined values. The rows of all places so far must have been emitted.
    pub(super) fn let_go(&mut self) {
        self.let_blocks_go();
        self.combined.clear();
    }

    /// Whether older sources count for a key.
    pub(super) fn is_open(&self, i: u32) -> bool {
        matches!(self.of[i as usize], Place::Open | Place::Merging(..))
    }

    /// Records a key's newest version in a memtable, and the older ones there that count. Range
    /// tombstones do not delete a transaction's own versions (`is_own`).
    pub(super) fn add_entry(&mut self, i: u32, entry: EntryRef<'a>, is_own: bool) {
        let cover = if is_own { SeqNo::ZERO } else { self.cover(i) };
        let mut entry = Some(entry);
        while let Some(version) = entry.filter(|_| self.is_open(i)) {
            if version.seq() < cover {
                return self.add(i, Version::Memtable(version), DELETE);
            }
            if let Some(whole) = version.whole() {
                return self.add(i, Version::Whole(whole), whole.kind);
            }
            self.add(i, Version::Memtable(version), version.kind());
            entry = version.next_older();
        }
    }

    /// Records a key's newest version in a run. `repeats` says whether older ones may follow it
    /// there.
    pub(super) fn add_row(&mut self, i: u32, block: u32, row: usize, repeats: bool) {
        let found_in = &self.blocks[block as usize];
        let cover = self.cover(i);
        let is_deleted = cover > SeqNo::ZERO && found_in.seq(row) < cover;
        let kind = if is_deleted { DELETE } else { found_in.kind(row) };
        self.add(i, Version::Block(block, row as u32), kind);
        if repeats && self.is_merging(i) {
            self.of[i as usize] = Place::Several;
        }
    }

    /// Keeps a block for as long as its rows are wanted; returns its index.
    pub(super) fn hold(&mut self, block: Arc<Block>) -> u32 {
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    fn is_merging(&self, i: u32) -> bool {
        matches!(self.of[i as usize], Place::Merging(..))
    }

    /// Records the next older version of a key.
    fn add(&mut self, i: u32, version: Version<'a>, kind: u8) {
        let place = &mut self.of[i as usize];
        let (first, last) = match (*place, kind, version) {
            (Place::Open, PUT, Version::Memtable(entry)) => return *place = Place::Memtable(entry),
            (Place::Open, PUT, Version::Block(block, row)) => {
                return *place = Place::Block(block, row);
            }
            (Place::Open, DELETE, _) => return *place = Place::Absent,
            (Place::Merging(first, _), DELETE, _) => return *place = Place::Merged(first),
            (Place::Merging(first, last), ..) => (first, Some(last)),
            _ => (self.links.len() as u32, None),
        };
        let link = self.links.len() as u32;
        self.links.push(Link { version, kind, older: NO_LINK });
        if let Some(last) = last {
            self.links[last as usize].older = link;
        }
        *place = if kind == PUT { Place::Merged(first) } else { Place::Merging(first, link) };
    }

    /// After all sources: combines the versions of the keys numbered in `asked` that have several.
    /// The first `held` blocks belong to other keys.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub(super) fn finish(
        &mut self,
        view: &SuperVersion,
        keys: &Keys,
        asked: &[u32],
        held: usize,
        at: ReadAt<'_>,
        projection: Projection,
    ) -> Result<()> {
        let values = Projection { keys: 0, ..projection };
        // A loop of its own, so that the cache misses of the combined rows overlap.
        for link in &self.links {
            if let Version::Block(block, row) = link.version {
                self.blocks[block as usize].touch_row(row as usize, values);
            }
        }
        let mut buffer = [0; WORDS_MAX];
        let mut fold = Fold::new();
        for &i in asked {
            let key = key_at(keys, i as usize, &mut buffer);
            match self.of[i as usize] {
                Place::Merging(first, _) | Place::Merged(first)
                    if self.links_from(first).all(|link| !self.lacks(link, values)) =>
                {
                    self.fold(first, view.shape(), values, &mut fold);
                }
                Place::Merging(..) | Place::Merged(_) | Place::Several => {
                    view.fold_key(key, at, values, &mut fold)?
                }
                Place::Open => {
                    self.of[i as usize] = Place::Absent;
                    continue;
                }
                Place::Block(block, row) => {
                    self.blocks[block as usize].prefetch_row(row as usize, values);
                    continue;
                }
                _ => continue,
            }
            self.of[i as usize] = match fold.is_present() {
                true => Place::Combined(self.combined.rows as u32),
                false => Place::Absent,
            };
            if fold.is_present() {
                fold.push(key, values, &mut self.combined);
            }
        }
        if !self.links.is_empty() {
            self.let_unused_go(asked, held);
        }
        self.links.clear();
        self.read_apart(asked, values)?;
        let new = &self.blocks[held.min(self.blocks.len())..];
        self.held_bytes += new.iter().map(|block| block.memory_bytes()).sum::<u64>();
        Ok(())
    }

    /// Reads the separated values of the keys in `asked`.
    fn read_apart(&mut self, asked: &[u32], values: Projection) -> Result<()> {
        let mut wanted = Vec::new();
        let first = self.values.len();
        for &i in asked {
            if let Place::Block(block, row) = self.of[i as usize]
                && self.blocks[block as usize].lacks(values)
            {
                let value = (first + wanted.len()) as u32;
                wanted.push((&*self.blocks[block as usize], row as usize));
                self.of[i as usize] = Place::Apart(block, row, value);
            }
        }
        if !wanted.is_empty() {
            let read = read_values(&wanted, true)?;
            self.held_bytes += read.iter().map(|value| value.len() as u64).sum::<u64>();
            self.values.extend(read);
        }
        Ok(())
    }

    fn lacks(&self, link: &Link<'_>, values: Projection) -> bool {
        matches!(link.version, Version::Block(block, _) if self.blocks[block as usize].lacks(values))
    }

    fn links_from(&self, first: u32) -> impl Iterator<Item = &Link<'a>> {
        let link = |number: u32| self.links.get(number as usize);
        std::iter::successors(link(first), move |before| link(before.older))
    }

    /// Drops the blocks from `first` on that were held for the keys in `asked` but contain none of
    /// their rows.
    fn let_unused_go(&mut self, asked: &[u32], first: usize) {
        let mut numbers = vec![None; self.blocks.len() - first];
        let mut next = first as u32;
        for &i in asked {
            if let Place::Block(block, _) = &mut self.of[i as usize] {
                let number = numbers[*block as usize - first].get_or_insert_with(|| {
                    next += 1;
                    next - 1
                });
                *block = *number;
            }
        }
        let new = self.blocks.drain(first..).zip(numbers);
        let mut new: Vec<_> = new.filter_map(|(block, number)| Some((number?, block))).collect();
        new.sort_unstable_by_key(|(number, _)| *number);
        self.blocks.extend(new.into_iter().map(|(_, block)| block));
    }

    /// Appends the row of key `i`, and whether it is there.
    pub(super) fn emit(
        &self,
        keys: &Keys,
        i: usize,
        projection: Projection,
        present: &mut Vec<bool>,
        out: &mut Batch,
    ) {
        let mut buffer = [0; WORDS_MAX];
        let key = key_at(keys, i, &mut buffer);
        let values = Projection { keys: 0, ..projection };
        present.push(!matches!(self.of[i], Place::Absent));
        match self.of[i] {
            Place::Memtable(entry) => push_entry(entry, key, projection, out),
            Place::Block(block, row) => {
                columns::push_key(&mut out.keys, key, projection);
                let row = row as usize;
                self.blocks[block as usize].append_to(row..row + 1, values, out);
            }
            Place::Apart(block, row, value) => {
                columns::push_key(&mut out.keys, key, projection);
                let value = &self.values[value as usize];
                self.blocks[block as usize].append_with(row as usize, value, values, out);
            }
            Place::Combined(row) => {
                columns::push_key(&mut out.keys, key, projection);
                columns::push_row(out, &self.combined, row as usize, values);
            }
            Place::Absent => columns::push_absent(out, key, projection),
            Place::Open | Place::Merging(..) | Place::Merged(_) | Place::Several => {
                unreachable!("every key was looked up")
            }
        }
    }

    fn fold(&self, first: u32, shape: &Shape, values: Projection, fold: &mut Fold) {
        fold.reset();
        for link in self.links_from(first) {
            match link.version {
                Version::Memtable(entry) => fold.add(shape, values, link.kind, &entry),
                Version::Whole(whole) => fold.add(shape, values, link.kind, &whole),
                Version::Block(block, row) => {
                    let version = (&*self.blocks[block as usize], row as usize);
                    fold.add(shape, values, link.kind, &version)
                }
            };
        }
    }
}
