//! Rows drawn at random, each row as likely as any other. Statistics of the planner, samples of
//! blobs and the largest counters call it through `store::Read::sample_into`.
//!
//! # Why rejection
//! The number of rows before a key is not known once versions of it lie in several sources. But
//! versions can be drawn uniformly: a row of a block by the counts beside the fences, an entry of a
//! memtable by a slot of its tree. A version is rejected if it is not the newest of its key that
//! the reader sees, or if it is a delete. So each row is drawn through exactly one version.
//!
//! # Invariants
//! 1. In one memtable or run no two versions of a key have one sequence number.
//! 2. The cost of a draw is bounded by a multiple of the number of requested rows and by the cost
//!    of counting all versions. If nearly all draws are rejected, rows are counted and then visited
//!    in order.

use super::columns::push_row;
use super::fold::Fold;
use super::get::{DELETE, PUT, push_entry};
use super::runs::RunView;
use super::source::CHUNK_ROWS;
use super::{ReadAt, SuperVersion};
use crate::error::Result;
use crate::memtable::{Drawn, EntryRef, Memtable, SlotSpace};
use crate::table::{Block, Fill, Table, read_values};
use base::{Batch, KeyRef, Projection, SeqNo};

/// Versions drawn before their blocks are read, at most.
const ROUND_DRAWS: usize = 1024;
/// Blocks read at once, at most.
const BLOCKS_HELD: usize = 256;
/// Failed draws for each requested row, and in total, before the rows are counted instead. An empty
/// slot costs one draw. A rejected version costs [`REJECTED_DRAWS`], because its key is looked up.
const DRAWS_A_ROW: u64 = 512;
const DRAWS_MIN: u64 = 4096;
const REJECTED_DRAWS: u64 = 16;
/// Failed draws that cost as much as one version when all are counted and then visited in order.
const COUNTED_DRAWS: u64 = 2;

/// Where versions are drawn from.
enum Part<'a> {
    /// Number among the memtables (newest first), the memtable, its slots.
    Memtable(usize, &'a Memtable, SlotSpace),
    /// Run and table.
    Table(usize, usize),
}

/// All versions, one part behind the other.
struct Population<'a> {
    parts: Vec<Part<'a>>,
    /// Where each part ends.
    ends: Vec<u64>,
    /// Without the slots that are empty.
    versions: u64,
}

/// A version of a table that was drawn.
struct TableDraw {
    /// Which draw it was.
    number: u64,
    run: usize,
    table: usize,
    row: u64,
}

/// Rows that were drawn and not rejected.
struct Picked {
    rows: Batch,
    /// Which draw each was.
    numbers: Vec<u64>,
}

/// Draws of one sample, and the rows of the current round.
struct Sampler<'a> {
    view: &'a SuperVersion,
    at: ReadAt<'a>,
    projection: Projection,
    population: Population<'a>,
    /// Failed draws that are left before the rows are counted instead.
    budget: u64,
    picked: Picked,
}

impl Sampler<'_> {
    /// One round of draws. False if there is nothing to draw from.
    fn draw(&mut self, draws: u64, random: &mut dyn FnMut() -> u64) -> Result<bool> {
        self.picked.rows.clear();
        self.picked.numbers.clear();
        let mut in_tables = Vec::new();
        for number in 0..draws {
            let total = self.population.places();
            if total == 0 {
                return Ok(false);
            }
            let (part, index) = self.population.part_at(below(random, total));
            match *part {
                Part::Table(run, table) => {
                    in_tables.push(TableDraw { number, run, table, row: index });
                }
                Part::Memtable(place, memtable, ref space) => {
                    match memtable.slot_in(space, index) {
                        Drawn::Empty => self.spend(1),
                        Drawn::Changed => {
                            self.spend(1);
                            self.population = self.view.population(self.at);
                        }
                        Drawn::Place(slot) => {
                            let entry = memtable.entry_at(Some(slot));
                            self.pick(number, place, entry)?;
                        }
                    }
                }
            }
        }
        let drawn = in_tables.len();
        let before = self.picked.numbers.len();
        self.view.pick_from_tables(in_tables, self.at, self.projection, &mut self.picked)?;
        let rejected = drawn - (self.picked.numbers.len() - before);
        self.spend(rejected as u64 * REJECTED_DRAWS);
        Ok(true)
    }

    /// Takes or rejects the version that draw `number` found in a memtable.
    fn pick(&mut self, number: u64, memtable: usize, entry: Option<EntryRef<'_>>) -> Result<()> {
        let rows = &mut self.picked.rows;
        match entry {
            Some(entry)
                if self.view.pick_entry(memtable, entry, self.at, self.projection, rows)? =>
            {
                self.picked.numbers.push(number);
            }
            _ => self.spend(REJECTED_DRAWS),
        }
        Ok(())
    }

    fn spend(&mut self, draws: u64) {
        self.budget = self.budget.saturating_sub(draws);
    }
}

impl SuperVersion {
    /// Appends `n` rows drawn uniformly, with replacement, in the order drawn; none if there are no
    /// rows. `random` returns uniform words.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn sample_into(
        &self,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let mut left = n;
        let population = self.population(at);
        let most = (n as u64).saturating_mul(DRAWS_A_ROW).saturating_add(DRAWS_MIN);
        let budget = most.min(population.counted_draws(n as u64));
        let picked = Picked { rows: Batch::new(self.shape()), numbers: Vec::new() };
        let mut sampler = Sampler { view: self, at, projection, population, budget, picked };
        while left > 0 && sampler.budget > 0 {
            let draws = (left + left / 4 + 8).min(ROUND_DRAWS);
            if !sampler.draw(draws as u64, random)? {
                return Ok(());
            }
            left -= sampler.picked.append_to(left, projection, out);
        }
        match left {
            0 => Ok(()),
            left => self.sample_counted(left, random, at, projection, out),
        }
    }

    fn population<'a>(&'a self, at: ReadAt<'a>) -> Population<'a> {
        let mut population = Population { parts: Vec::new(), ends: Vec::new(), versions: 0 };
        for (place, memtable) in self.sampled_memtables(at) {
            let space = memtable.slot_space();
            let slots = space.slots;
            population.versions += memtable.rows();
            population.push(Part::Memtable(place, memtable, space), slots);
        }
        for (number, run) in self.runs.iter().enumerate() {
            for (table, open) in run.tables.iter().enumerate() {
                if open.meta().global_seq <= at.snapshot {
                    let rows = open.meta().summary.rows;
                    population.versions += rows;
                    population.push(Part::Table(number, table), rows);
                }
            }
        }
        population
    }

    /// Memtables with their places from the newest on; the reader's own is first.
    fn sampled_memtables<'a>(
        &'a self,
        at: ReadAt<'a>,
    ) -> impl Iterator<Item = (usize, &'a Memtable)> {
        let others = std::iter::once(&self.active).chain(&self.sealed).map(|memtable| &**memtable);
        let all = std::iter::once(at.own()).chain(others.map(Some)).enumerate();
        all.filter_map(|(place, memtable)| Some((place, memtable?)))
    }

    /// Appends a row if `entry` of memtable `place` is the newest visible version of it.
    fn pick_entry(
        &self,
        place: usize,
        entry: EntryRef<'_>,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let key = entry.key();
        let key = key.as_ref();
        for (newer, memtable) in self.sampled_memtables(at).take_while(|(i, _)| *i <= place) {
            let snapshot = if newer == 0 { SeqNo::MAX } else { at.snapshot };
            let found = memtable.find(key, snapshot);
            // In its own memtable it has to be what is found; in newer ones nothing may be.
            if found.map(|found| found.seq()) != (newer == place).then(|| entry.seq()) {
                return Ok(false);
            }
        }
        match entry.kind() {
            DELETE => Ok(false),
            PUT if !self.has_tombstones(at) => {
                push_entry(entry, key, projection, out);
                Ok(true)
            }
            _ => self.pick_folded(key, at, projection, out),
        }
    }

    fn pick_folded(
        &self,
        key: KeyRef<'_>,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let mut fold = Fold::new();
        self.fold_key(key, at, projection, &mut fold)?;
        if fold.is_present() {
            fold.push(key, projection, out);
        }
        Ok(fold.is_present())
    }

    /// Reads the blocks of these draws, each once, and appends the rows that are not rejected.
    fn pick_from_tables(
        &self,
        mut draws: Vec<TableDraw>,
        at: ReadAt<'_>,
        projection: Projection,
        picked: &mut Picked,
    ) -> Result<()> {
        draws.sort_unstable_by_key(|draw| (draw.run, draw.table, draw.row));
        // Run, table and block of each draw, and the row in the block.
        let mut places = Vec::with_capacity(draws.len());
        for of_table in draws.chunk_by(|a, b| (a.run, a.table) == (b.run, b.table)) {
            let TableDraw { run, table, .. } = of_table[0];
            let open = &self.runs[run].tables[table];
            let (mut block, mut start) = (0, 0);
            for draw in of_table {
                while draw.row - start >= open.block_rows(block) as u64 {
                    start += open.block_rows(block) as u64;
                    block += 1;
                }
                places.push(((run, table, block), (draw.row - start) as usize));
            }
        }
        let mut blocks: Vec<(usize, usize, usize)> = places.iter().map(|(at, _)| *at).collect();
        blocks.dedup();
        let mut drawn = draws.iter().zip(places).peekable();
        for window in blocks.chunks(BLOCKS_HELD) {
            let wanted = window.iter().map(|&(run, table, i)| (&*self.runs[run].tables[table], i));
            let read = Table::heads_across(&wanted.collect::<Vec<_>>(), Fill::Once)?;
            let mut ahead = drawn.clone();
            let mut lacked = Vec::new();
            for (place, block) in window.iter().zip(&read) {
                while let Some((_, (_, row))) = ahead.next_if(|(_, (at, _))| at == place) {
                    if block.lacks(projection) {
                        lacked.push((&**block, row));
                    }
                }
            }
            // Separated values, in the order of the draws, in one read. Those of rejected rows are
            // read too.
            let mut values = read_values(&lacked, false)?.into_iter();
            for (place, block) in window.iter().zip(&read) {
                while let Some((draw, (_, row))) = drawn.next_if(|(_, (at, _))| at == place) {
                    let value = if block.lacks(projection) { values.next() } else { None };
                    let row = (&**block, row, value.as_deref());
                    if self.pick_row(*place, row, at, projection, &mut picked.rows)? {
                        picked.numbers.push(draw.number);
                    }
                }
            }
        }
        Ok(())
    }

    /// Appends a row if this row of a block is the newest visible version of it. `value`
    /// is its value if that is separated.
    fn pick_row(
        &self,
        (run, table, block_number): (usize, usize, usize),
        (block, row, value): (&Block, usize, Option<&[u8]>),
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let kind = block.kind(row);
        if kind == DELETE || block.seq(row) > at.snapshot {
            return Ok(false);
        }
        let key = block.key(row);
        let key = key.as_ref();
        if !self.runs[run].is_newest(table, block_number, block, row, key, at.snapshot)? {
            return Ok(false);
        }
        for (place, memtable) in self.sampled_memtables(at) {
            let snapshot = if place == 0 { SeqNo::MAX } else { at.snapshot };
            if memtable.find(key, snapshot).is_some() {
                return Ok(false);
            }
        }
        for newer in &self.runs[..run] {
            if newer.find(key, at.snapshot)?.is_some() {
                return Ok(false);
            }
        }
        if kind == PUT && !self.has_tombstones(at) {
            match value {
                Some(value) => block.append_with(row, value, projection, out),
                None => block.append_to(row..row + 1, projection, out),
            }
            return Ok(true);
        }
        self.pick_folded(key, at, projection, out)
    }

    /// As [`SuperVersion::sample_into`], for the case that few versions are rows: counts them,
    /// draws their numbers, and visits them in order.
    pub(super) fn sample_counted(
        &self,
        n: usize,
        random: &mut dyn FnMut() -> u64,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<()> {
        let rows = self.count(at)?;
        if rows == 0 {
            return Ok(());
        }
        let mut wanted: Vec<(u64, u64)> =
            (0..n as u64).map(|number| (below(random, rows), number)).collect();
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        let mut picked = Picked { rows: Batch::new(self.shape()), numbers: Vec::new() };
        let mut scan = self.merged_scan(&self.all(), at, projection, usize::MAX)?;
        let mut chunk = Batch::new(self.shape());
        let mut before = 0;
        while wanted.peek().is_some() {
            chunk.clear();
            scan.append(CHUNK_ROWS, &mut chunk)?;
            if chunk.rows == 0 {
                break;
            }
            let end = before + chunk.rows as u64;
            while let Some((row, number)) = wanted.next_if(|(row, _)| *row < end) {
                push_row(&mut picked.rows, &chunk, (row - before) as usize, projection);
                picked.numbers.push(number);
            }
            before = end;
        }
        picked.append_to(n, projection, out);
        Ok(())
    }
}

impl<'a> Population<'a> {
    /// Number of positions in all parts.
    fn places(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The part at a position, and the position within it.
    fn part_at(&self, position: u64) -> (&Part<'a>, u64) {
        let part = self.ends.partition_point(|&end| end <= position);
        let before = part.checked_sub(1).map_or(0, |before| self.ends[before]);
        (&self.parts[part], position - before)
    }

    /// Failed draws that cost as much as counting. Does not include the empty slots that `n` rows
    /// meet even if nothing is rejected.
    fn counted_draws(&self, n: u64) -> u64 {
        let slots_a_version = self.places() / self.versions.max(1);
        n.saturating_mul(slots_a_version)
            .saturating_add(self.versions.saturating_mul(COUNTED_DRAWS))
    }

    fn push(&mut self, part: Part<'a>, versions: u64) {
        let before = self.ends.last().copied().unwrap_or(0);
        if versions > 0 {
            self.parts.push(part);
            self.ends.push(before.saturating_add(versions));
        }
    }
}

impl Picked {
    /// Appends the first rows, at most `limit`, in the order drawn; returns how many.
    fn append_to(&self, limit: usize, projection: Projection, out: &mut Batch) -> usize {
        let mut order: Vec<usize> = (0..self.numbers.len()).collect();
        order.sort_unstable_by_key(|&row| self.numbers[row]);
        order.truncate(limit);
        order.iter().for_each(|&row| push_row(out, &self.rows, row, projection));
        order.len()
    }
}

impl RunView {
    /// Whether the run has no newer version of this row's key that the snapshot sees.
    fn is_newest(
        &self,
        table: usize,
        block_number: usize,
        block: &Block,
        row: usize,
        key: KeyRef<'_>,
        snapshot: SeqNo,
    ) -> Result<bool> {
        if self.tables[table].meta().summary.repeats == 0 {
            return Ok(true);
        }
        if let Some(before) = row.checked_sub(1) {
            // Versions of a key follow one another, newest first: if this one is not visible, none
            // is.
            return Ok(!block.key_eq(before, key) || block.seq(before) > snapshot);
        }
        match block_number.checked_sub(1).map(|before| self.tables[table].block_keys(before).1) {
            Some(last) if last.as_ref() == key => {
                let found = self.find(key, snapshot)?;
                Ok(found.is_some_and(|found| (found.block_number, found.row) == (block_number, 0)))
            }
            _ => Ok(true),
        }
    }
}

/// A uniform number below `bound`, which is not 0.
fn below(random: &mut dyn FnMut() -> u64, bound: u64) -> u64 {
    let uneven = bound.wrapping_neg() % bound;
    let mut product = 0;
    // Uniform words are refused once in two times at worst; words that are not must not hold us up.
    for _ in 0..256 {
        product = u128::from(random()) * u128::from(bound);
        if product as u64 >= uneven {
            break;
        }
    }
    (product >> 64) as u64
}
