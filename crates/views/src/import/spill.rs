//! Sorted runs in temporary files, for rows that exceed the memory limit.
//!
//! # Format
//! A run is a sequence of blocks of distinct pairs in ascending order. A block consists of: number
//! of rows (u32); bits of a first end's delta, of a second end and of a weight (u8 each); a zero
//! byte; the first end before the first row (u64); the smallest second end (u64); the smallest
//! weight (u64); then deltas, second ends and weights, bit-packed. Integers are little-endian. The
//! index of blocks stays in memory, since a run lives no longer than its import. It also has their
//! checksums: a block that the disk wrote to another place would fit a checksum beside it.
//!
//! # Why runs and not buckets
//! Buckets would need splitters before everything is read, and ids often grow through a file. A run
//! can be split along any splitters later, and deltas between sorted first ends need few bits: a
//! run takes about half the space that its rows take in memory.

use super::rows::{Pair, Span, mask};
use super::sorter::RunRows;
use super::splitters::Bounds;
use base::{Batch, Corruption};
use env::{Env, EnvError, RandomReadFile, ReadOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Maximum number of rows in a block.
const BLOCK_ROWS: usize = 4096;

/// Blocks that are read at once when a run is read whole.
const BLOCKS_AT_ONCE: usize = 16;

const HEADER_BYTES: usize = 4 + 4 + 3 * 8;

/// Prefix of the names of run files.
const PREFIX: &str = "import-";
const SUFFIX: &str = ".run";

/// Removes run files that a killed process left in `folder`. The caller must hold the database's
/// lock and call it before the first import.
///
/// # Errors
/// The folder cannot be read, or a file cannot be removed. A missing folder is not an error.
pub fn remove_stale_runs(env: &dyn Env, folder: &Path) -> Result<()> {
    if !env.exists(folder) {
        return Ok(());
    }
    for name in env.list(folder).map_err(io)? {
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            env.remove(&folder.join(name)).map_err(io)?;
        }
    }
    Ok(())
}

pub(super) fn io(error: EnvError) -> Error {
    match error {
        EnvError::Forked { .. } => Error::caused(ErrorKind::Forked, error),
        _ => Error::caused(ErrorKind::Io, error),
    }
}

/// A temporary file, removed when it is dropped.
pub(super) struct Temporary {
    env: Arc<dyn Env>,
    path: PathBuf,
}

impl Temporary {
    /// Creates a file with a new name in `folder`; creates the folder too if necessary.
    pub(super) fn create(
        env: &Arc<dyn Env>,
        folder: &Path,
    ) -> Result<(Box<dyn env::AppendFile>, Self)> {
        env.create_folder(folder).map_err(io)?;
        let path = folder.join(format!("{PREFIX}{:016x}{SUFFIX}", env.random_u64()));
        let file = env.create(&path).map_err(io)?;
        Ok((file, Self { env: Arc::clone(env), path }))
    }

    pub(super) fn open(&self, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        self.env.open_read(&self.path, options).map_err(io)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Best effort: the next opening of the database removes files that stay.
        let _ = self.env.remove(&self.path);
    }
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first: Pair,
    offset: u64,
    bytes: u32,
    rows: u32,
    checksum: u64,
}

/// Encoded blocks that are not in a file yet.
#[derive(Default)]
pub(super) struct Blocks {
    bytes: Vec<u8>,
    /// Offsets relative to `bytes`.
    blocks: Vec<Block>,
}

impl Blocks {
    /// Encodes sorted rows.
    pub(super) fn add(&mut self, rows: &Batch) {
        let (first, second) = (rows.key_words(0), rows.key_words(1));
        let weights = rows.value_words(0);
        for from in (0..first.len()).step_by(BLOCK_ROWS) {
            let range = from..(from + BLOCK_ROWS).min(first.len());
            let block_weights = if weights.is_empty() { &[] } else { &weights[range.clone()] };
            self.block(&first[range.clone()], &second[range], block_weights);
        }
    }

    fn block(&mut self, first: &[u64], second: &[u64], weights: &[u64]) {
        let start = self.bytes.len();
        let before = first[0];
        let steps: Vec<u64> = std::iter::once(&before)
            .chain(first)
            .zip(first)
            .map(|(before, first)| first - before)
            .collect();
        let (step, end, weight) = (Span::of(&steps), Span::of(second), Span::of(weights));
        let step = Span { min: 0, ..step };
        let weight = if weights.is_empty() { Span { min: 0, max: 0 } } else { weight };
        self.bytes.extend_from_slice(&(first.len() as u32).to_le_bytes());
        let bits = [step.bits() as u8, end.bits() as u8, weight.bits() as u8, 0];
        self.bytes.extend_from_slice(&bits);
        for word in [before, end.min, weight.min] {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
        let mut packer = Packer { bytes: &mut self.bytes, held: 0, bits: 0 };
        for (words, span) in [(&steps[..], step), (second, end), (weights, weight)] {
            for word in words {
                packer.push(word - span.min, span.bits());
            }
        }
        packer.finish();
        let block = &self.bytes[start..];
        self.blocks.push(Block {
            first: (first[0], second[0]),
            offset: start as u64,
            bytes: block.len() as u32,
            rows: first.len() as u32,
            checksum: base::checksum(block),
        });
    }
}

/// A sorted run being written.
pub(super) struct RunWriter {
    file: Box<dyn env::AppendFile>,
    temporary: Temporary,
    blocks: Vec<Block>,
}

impl RunWriter {
    /// Creates a file with a new name in `folder`; creates the folder too if necessary.
    pub(super) fn create(env: &Arc<dyn Env>, folder: &Path) -> Result<Self> {
        let (file, temporary) = Temporary::create(env, folder)?;
        Ok(Self { file, temporary, blocks: Vec::new() })
    }

    pub(super) fn append(&mut self, blocks: &Blocks) -> Result<()> {
        let base = self.file.len_bytes();
        self.file.append(&blocks.bytes).map_err(io)?;
        let moved = |block: &Block| Block { offset: base + block.offset, ..*block };
        self.blocks.extend(blocks.blocks.iter().map(moved));
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<RunFile> {
        self.file.flush().map_err(io)?;
        let Self { file, temporary, blocks } = self;
        let bytes = file.len_bytes();
        drop(file);
        let file = temporary.open(ReadOptions::default())?;
        Ok(RunFile { file, _temporary: temporary, blocks, bytes })
    }
}

/// A sorted run on disk. The file is removed when it is dropped.
pub(super) struct RunFile {
    file: Arc<dyn RandomReadFile>,
    _temporary: Temporary,
    blocks: Vec<Block>,
    pub(super) bytes: u64,
}

impl RunFile {
    /// The first pair of every block, as a sample for the block's rows.
    pub(super) fn sample(&self, out: &mut Vec<(Pair, u64)>) {
        out.extend(self.blocks.iter().map(|block| (block.first, u64::from(block.rows))));
    }

    /// The blocks that may contain rows inside the bounds.
    fn inside(&self, bounds: Bounds) -> &[Block] {
        let from = self.blocks.partition_point(|block| block.first <= bounds.lower);
        let to = match bounds.upper {
            Some(upper) => self.blocks.partition_point(|block| block.first < upper),
            None => self.blocks.len(),
        };
        // The block before the first that starts inside may reach into the bounds.
        &self.blocks[from.saturating_sub(1)..to.max(from.saturating_sub(1))]
    }

    /// Estimated number of rows inside the bounds.
    pub(super) fn rows_about(&self, bounds: Bounds) -> u64 {
        let inside = self.inside(bounds);
        let rows: u64 = inside.iter().map(|block| u64::from(block.rows)).sum();
        // On average half of the first and the last block is outside.
        if inside.len() > 1 { rows - rows / inside.len() as u64 } else { rows }
    }

    /// Appends the rows inside the bounds.
    pub(super) fn read(&self, bounds: Bounds, weighted: bool, out: &mut RunRows) -> Result<()> {
        self.read_blocks(self.inside(bounds), bounds, weighted, out)
    }

    /// Appends the rows of some blocks from block `from` on, at most a few ten thousand rows.
    /// Returns the number of the block after them; `None` past the last one.
    pub(super) fn read_from(
        &self,
        from: usize,
        weighted: bool,
        out: &mut RunRows,
    ) -> Result<Option<usize>> {
        let to = (from + BLOCKS_AT_ONCE).min(self.blocks.len());
        if from == to {
            return Ok(None);
        }
        let all = Bounds { lower: (0, 0), upper: None };
        self.read_blocks(&self.blocks[from..to], all, weighted, out)?;
        Ok(Some(to))
    }

    fn read_blocks(
        &self,
        inside: &[Block],
        bounds: Bounds,
        weighted: bool,
        out: &mut RunRows,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return Ok(()) };
        let end = last.offset + u64::from(last.bytes);
        let mut bytes = std::mem::take(&mut out.bytes);
        bytes.resize((end - first.offset) as usize, 0);
        self.file.read_at(&mut bytes, first.offset).map_err(io)?;
        for block in inside {
            let from = (block.offset - first.offset) as usize;
            let block_bytes = &bytes[from..from + block.bytes as usize];
            let is_whole = base::checksum(block_bytes) == block.checksum;
            let decoded = is_whole.then(|| decode(block_bytes, bounds, weighted, out)).flatten();
            decoded.ok_or_else(|| {
                let what = "a block of sorted rows fails its checksum";
                Error::from(Corruption::new(self.file.path(), block.offset, what))
            })?;
        }
        out.bytes = bytes;
        Ok(())
    }
}

/// Appends the rows of a block, whose checksum matched, that are inside the bounds; `None` if it is
/// shorter than a header.
fn decode(block: &[u8], bounds: Bounds, weighted: bool, out: &mut RunRows) -> Option<()> {
    let (header, packed) = block.split_at_checked(HEADER_BYTES)?;
    let rows = u32::from_le_bytes(header.first_chunk().copied()?);
    let [step_bits, end_bits, weight_bits] = [4, 5, 6].map(|at| u32::from(header[at]));
    let word = |at: usize| -> Option<u64> {
        Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?))
    };
    let (mut first, end_min, weight_min) = (word(8)?, word(16)?, word(24)?);
    let mut ends = Unpacker::new(packed, u64::from(rows) * u64::from(step_bits));
    let mut weights =
        Unpacker::new(packed, u64::from(rows) * (u64::from(step_bits) + u64::from(end_bits)));
    let mut steps = Unpacker::new(packed, 0);
    for _ in 0..rows {
        first += steps.next(step_bits);
        let pair = (first, end_min + ends.next(end_bits));
        let weight = weight_min + weights.next(weight_bits);
        if bounds.contains(pair) {
            out.pairs.push(pair);
            if weighted {
                out.weights.push(weight);
            }
        }
    }
    Some(())
}

struct Packer<'a> {
    bytes: &'a mut Vec<u8>,
    held: u128,
    bits: u32,
}

impl Packer<'_> {
    fn push(&mut self, word: u64, bits: u32) {
        self.held |= u128::from(word) << self.bits;
        self.bits += bits;
        if self.bits >= u64::BITS {
            self.bytes.extend_from_slice(&(self.held as u64).to_le_bytes());
            self.held >>= u64::BITS;
            self.bits -= u64::BITS;
        }
    }

    fn finish(self) {
        let bytes = (self.held as u64).to_le_bytes();
        self.bytes.extend_from_slice(&bytes[..self.bits.div_ceil(8) as usize]);
    }
}

struct Unpacker<'a> {
    bytes: &'a [u8],
    /// Position in bits.
    at: u64,
}

impl<'a> Unpacker<'a> {
    fn new(bytes: &'a [u8], at: u64) -> Self {
        Self { bytes, at }
    }

    fn next(&mut self, bits: u32) -> u64 {
        let byte = (self.at / 8) as usize;
        let shift = (self.at % 8) as u32;
        self.at += u64::from(bits);
        let rest = self.bytes.get(byte..).unwrap_or_default();
        let word = match rest.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk),
            None => {
                let mut chunk = [0; 16];
                chunk[..rest.len()].copy_from_slice(rest);
                u128::from_le_bytes(chunk)
            }
        };
        (word >> shift) as u64 & mask(bits)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base::{KeyRef, KeyShape, Shape};
    use env::MemoryEnv;

    fn run(env: &Arc<dyn Env>, from: u64) -> RunFile {
        let shape = Shape { key: KeyShape::Words(2), values: Vec::new() };
        let mut rows = Batch::new(&shape);
        for i in 0..10 {
            rows.keys.push(KeyRef::Words(&[from, i]));
            rows.rows += 1;
        }
        let mut blocks = Blocks::default();
        blocks.add(&rows);
        let mut writer = RunWriter::create(env, Path::new("/runs")).unwrap();
        writer.append(&blocks).unwrap();
        writer.finish().unwrap()
    }

    /// Found by simulation: the block of another place was taken for the one that was asked for,
    /// and its rows lay outside of the bounds of the import.
    #[test]
    fn a_block_that_was_written_to_another_place_is_corruption() {
        let env: Arc<dyn Env> = Arc::new(MemoryEnv::new(1));
        let (one, other) = (run(&env, 7), run(&env, 9));
        let bounds = Bounds { lower: (0, 0), upper: None };
        let mut rows = RunRows::default();
        one.read(bounds, false, &mut rows).unwrap();
        assert_eq!(rows.pairs.len(), 10);
        let bytes = env.read_file(other.file.path()).unwrap();
        env.remove(one.file.path()).unwrap();
        env.create(one.file.path()).unwrap().append(&bytes).unwrap();
        let file = env.open_read(one.file.path(), ReadOptions::default()).unwrap();
        let misdirected = RunFile { file, ..one };
        let error = misdirected.read(bounds, false, &mut rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
    }
}
