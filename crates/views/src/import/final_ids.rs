//! Final ids of names that were spilled: merges the runs of an import.
//!
//! # Why ids are provisional first
//! A table of all names would not fit in memory. Each run has a table of its own, so a name that
//! appears while several runs are filled has a provisional id in each of them. Edges are written
//! with these. After the last one the runs are merged by text: each name keeps its id of the
//! earliest run. The edges of a run only have ids of this run, so its final ids fit in memory as
//! its names did, and its edges are rewritten in one pass (`row_collector.rs`).
//!
//! # Invariants
//! 1. Final ids are those of an import that has all names in memory: consecutive, in order of first
//!    appearance.
//! 2. Names of the first run keep their ids.

use super::block_file::{BLOCK_BYTES, BlockFile, BlockWriter};
use super::name_runs::{NameRun, NameRunReader};
use super::names::STEP_ROWS;
use super::progress::Counters;
use base::{Batch, Column, Keys};
use env::Env;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::Path;
use std::sync::Arc;
use store::{Result, SortedRows};

/// Bits of a word of a set.
const BITS: u64 = u64::BITS as u64;

/// The final ids of the names in all runs.
pub(super) struct FinalIds {
    runs: Vec<RunIds>,
    /// The id after the last one.
    pub(super) next_id: u64,
}

/// The final ids of one run in memory.
pub(super) struct IdsOfRun {
    first_id: u64,
    /// Final ids by index.
    ids: Vec<u64>,
}

impl IdsOfRun {
    /// The final id for an id of the run. Lower ids are of names stored before the import.
    pub(super) fn final_id(&self, id: u64) -> u64 {
        id.checked_sub(self.first_id).map_or(id, |index| self.ids[index as usize])
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.ids.len() * size_of::<u64>()) as u64
    }
}

/// The final ids of a run.
struct RunIds {
    run: Arc<NameRun>,
    /// The names that no earlier run has, as a set of their indexes.
    new: Vec<u64>,
    /// The final id of the first new name at or after each word of `new`.
    ids: Vec<u64>,
    /// For each name, in the order of the run: the provisional id in the earliest run that has it,
    /// as little-endian words. The first run needs none.
    earliest: Option<BlockFile>,
}

impl RunIds {
    fn is_new(&self, index: u64) -> bool {
        self.new[(index / BITS) as usize] >> (index % BITS) & 1 == 1
    }

    /// The final id of a new name.
    fn id(&self, index: u64) -> u64 {
        let word = (index / BITS) as usize;
        let before = self.new[word] & ((1 << (index % BITS)) - 1);
        self.ids[word] + u64::from(before.count_ones())
    }
}

impl FinalIds {
    /// Merges runs, which are in the order of their ids.
    ///
    /// # Errors
    /// Failed reads and writes of temporary files; cancellation.
    pub(super) fn merge(
        env: &Arc<dyn Env>,
        folder: &Path,
        runs: &[Arc<NameRun>],
        counters: &Counters,
    ) -> Result<Self> {
        let mut new: Vec<Vec<u64>> =
            runs.iter().map(|run| vec![0; run.names.div_ceil(BITS) as usize]).collect();
        let mut earliest = Vec::new();
        for _ in runs.iter().skip(1) {
            earliest.push((BlockWriter::create(env, folder)?, Vec::with_capacity(BLOCK_BYTES)));
        }
        let (mut merge, mut first_id, mut steps) = (Merge::new(runs)?, 0, 0_u32);
        while let Some(name) = merge.next()? {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(1 << 16) {
                counters.check()?;
            }
            if name.is_first {
                new[name.run][(name.index / BITS) as usize] |= 1 << (name.index % BITS);
                first_id = runs[name.run].first_id + name.index;
            }
            if let Some((writer, block)) = name.run.checked_sub(1).map(|at| &mut earliest[at]) {
                block.extend_from_slice(&first_id.to_le_bytes());
                if block.len() >= BLOCK_BYTES {
                    writer.append(block)?;
                    block.clear();
                }
            }
        }
        let mut files = vec![None];
        for (mut writer, block) in earliest {
            if !block.is_empty() {
                writer.append(&block)?;
            }
            files.push(Some(writer.finish()?));
        }
        Ok(Self::numbered(runs, new, files))
    }

    fn numbered(runs: &[Arc<NameRun>], new: Vec<Vec<u64>>, files: Vec<Option<BlockFile>>) -> Self {
        let mut next_id = runs.first().map_or(0, |run| run.first_id);
        let runs = runs.iter().zip(new).zip(files).map(|((run, new), earliest)| {
            let number = |word: &u64| {
                let id = next_id;
                next_id += u64::from(word.count_ones());
                id
            };
            let ids = new.iter().map(number).collect();
            RunIds { run: Arc::clone(run), new, ids, earliest }
        });
        let runs = runs.collect();
        Self { runs, next_id }
    }

    /// Final ids for the ids of edges that were read while this run was filled.
    ///
    /// # Errors
    /// Failed reads of temporary files; cancellation.
    pub(super) fn of_run(&self, run: usize, counters: &Counters) -> Result<IdsOfRun> {
        let ids = &self.runs[run];
        let mut found = vec![0; ids.run.names as usize];
        let mut names = NameRunReader::new(&ids.run);
        let (mut block, mut next_block, mut at) = (Vec::new(), 0, 0);
        while let Some((_, index)) = names.next()? {
            let earliest = match &ids.earliest {
                None => ids.run.first_id + index,
                Some(file) => {
                    if at == block.len() {
                        counters.check()?;
                        if !file.read(next_block, &mut block)? {
                            return Err(file.corrupt(0));
                        }
                        (next_block, at) = (next_block + 1, 0);
                    }
                    let word = block.get(at..).and_then(|rest| rest.first_chunk());
                    at += size_of::<u64>();
                    u64::from_le_bytes(*word.ok_or_else(|| file.corrupt(0))?)
                }
            };
            found[index as usize] = self.final_id(earliest);
        }
        Ok(IdsOfRun { first_id: ids.run.first_id, ids: found })
    }

    /// The final id of a name, from its provisional id in the earliest run.
    fn final_id(&self, earliest: u64) -> u64 {
        let after = self.runs.partition_point(|ids| ids.run.first_id <= earliest);
        let ids = &self.runs[after - 1];
        ids.id(earliest - ids.run.first_id)
    }

    /// The new rows `string => id` and `id => string`.
    ///
    /// # Errors
    /// A failed read of a temporary file.
    pub(super) fn rows(self: &Arc<Self>) -> Result<[Box<dyn SortedRows>; 2]> {
        let runs: Vec<_> = self.runs.iter().map(|ids| Arc::clone(&ids.run)).collect();
        let by_text = ByText { ids: Arc::clone(self), merge: Merge::new(&runs)? };
        let by_id =
            ById { ids: Arc::clone(self), next_run: 0, heap: Vec::new(), names: Vec::new(), at: 0 };
        Ok([Box::new(by_text), Box::new(by_id)])
    }
}

/// A name of a run, as a merge yields it.
struct Merged {
    run: usize,
    index: u64,
    /// Whether no earlier run has it.
    is_first: bool,
}

/// Yields the names of all runs by text, those of equal text by run.
struct Merge {
    readers: Vec<NameRunReader>,
    heads: BinaryHeap<Head>,
    /// The text of the name that was yielded last.
    text: Vec<u8>,
    is_begun: bool,
}

/// The next name of a run.
#[derive(PartialEq, Eq)]
struct Head {
    text: Vec<u8>,
    run: usize,
    index: u64,
}

/// The greatest head is the one that is yielded next.
impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        (&other.text, other.run).cmp(&(&self.text, self.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Merge {
    fn new(runs: &[Arc<NameRun>]) -> Result<Self> {
        let mut readers: Vec<_> = runs.iter().map(NameRunReader::new).collect();
        let mut heads = BinaryHeap::new();
        for (run, reader) in readers.iter_mut().enumerate() {
            if let Some((text, index)) = reader.next()? {
                heads.push(Head { text: text.to_vec(), run, index });
            }
        }
        Ok(Self { readers, heads, text: Vec::new(), is_begun: false })
    }

    fn next(&mut self) -> Result<Option<Merged>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let is_first = !self.is_begun || head.text != self.text;
        if is_first {
            self.text.clone_from(&head.text);
        }
        self.is_begun = true;
        let merged = Merged { run: head.run, index: head.index, is_first };
        match self.readers[merged.run].next()? {
            Some((text, index)) => {
                head.text.clear();
                head.text.extend_from_slice(text);
                head.index = index;
            }
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(merged))
    }
}

/// The rows `string => id`.
struct ByText {
    ids: Arc<FinalIds>,
    merge: Merge,
}

impl SortedRows for ByText {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        let before = out.rows;
        while out.rows - before < STEP_ROWS {
            let Some(name) = self.merge.next()? else { break };
            if !name.is_first {
                continue;
            }
            let (Keys::Bytes(keys), Some(Column::Words(ids))) =
                (&mut out.keys, out.values.first_mut())
            else {
                unreachable!("rows of a dictionary have one key and one value")
            };
            keys.push(Some(&self.merge.text));
            ids.words.push(self.ids.runs[name.run].id(name.index));
            out.rows += 1;
        }
        Ok(out.rows > before)
    }
}

/// The rows `id => string`, run by run.
struct ById {
    ids: Arc<FinalIds>,
    next_run: usize,
    /// The texts of the new names of a run.
    heap: Vec<u8>,
    /// Their indexes, and the first and last byte of each text, by index.
    names: Vec<(u64, usize, usize)>,
    /// Position in `names`.
    at: usize,
}

impl ById {
    /// Reads the new names of the next run.
    fn load(&mut self) -> Result<()> {
        let ids = &self.ids.runs[self.next_run];
        (self.next_run, self.at) = (self.next_run + 1, 0);
        self.heap.clear();
        self.names.clear();
        let mut names = NameRunReader::new(&ids.run);
        while let Some((text, index)) = names.next()? {
            if ids.is_new(index) {
                let start = self.heap.len();
                self.heap.extend_from_slice(text);
                self.names.push((index, start, self.heap.len()));
            }
        }
        self.names.sort_unstable();
        Ok(())
    }
}

impl SortedRows for ById {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        while self.at == self.names.len() {
            if self.next_run == self.ids.runs.len() {
                return Ok(false);
            }
            self.load()?;
        }
        let ids = &self.ids.runs[self.next_run - 1];
        let rest = &self.names[self.at..];
        let step = &rest[..rest.len().min(STEP_ROWS)];
        let (Keys::Words(keys), Some(Column::Bytes(texts))) =
            (&mut out.keys, out.values.first_mut())
        else {
            unreachable!("rows of a dictionary have one key and one value")
        };
        for &(index, start, end) in step {
            keys[0].push(ids.id(index));
            texts.push(Some(&self.heap[start..end]));
        }
        out.rows += step.len();
        self.at += step.len();
        Ok(true)
    }
}
