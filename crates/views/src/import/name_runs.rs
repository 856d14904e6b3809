//! Sorted runs of names in temporary files, for imports with more names than fit in memory.
//!
//! # Format
//! A name is its text (a varint of its length, then its bytes) and a varint of its index in the
//! run: the order of first appearance. Names ascend by text. Blocks end between names.
//!
//! # Invariants
//! 1. A text is in a run at most once.
//! 2. The provisional id of a name is its index after the run's first id. The ids of a run follow
//!    those of the run before.

use super::block_file::{BLOCK_BYTES, BlockFile, BlockWriter};
use base::varint;
use env::Env;
use std::path::Path;
use std::sync::Arc;
use store::Result;

/// A sorted run being written.
pub(super) struct NameRunWriter {
    blocks: BlockWriter,
    block: Vec<u8>,
    first_id: u64,
    names: u64,
}

impl NameRunWriter {
    /// `first_id` is the provisional id of the name with index 0.
    pub(super) fn create(env: &Arc<dyn Env>, folder: &Path, first_id: u64) -> Result<Self> {
        let blocks = BlockWriter::create(env, folder)?;
        Ok(Self { blocks, block: Vec::with_capacity(BLOCK_BYTES), first_id, names: 0 })
    }

    /// Adds a name, whose text is after the one before.
    pub(super) fn push(&mut self, text: &[u8], index: u64) -> Result<()> {
        varint::put_bytes(&mut self.block, text);
        varint::put(&mut self.block, index);
        self.names += 1;
        if self.block.len() >= BLOCK_BYTES {
            self.blocks.append(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<NameRun> {
        if !self.block.is_empty() {
            self.blocks.append(&self.block)?;
        }
        let Self { blocks, first_id, names, .. } = self;
        Ok(NameRun { file: blocks.finish()?, first_id, names })
    }
}

/// A sorted run on disk.
pub(super) struct NameRun {
    file: BlockFile,
    /// The provisional id of the name with index 0.
    pub(super) first_id: u64,
    pub(super) names: u64,
}

impl NameRun {
    pub(super) fn bytes(&self) -> u64 {
        self.file.bytes
    }
}

/// Reads a run from its start.
pub(super) struct NameRunReader {
    run: Arc<NameRun>,
    block: Vec<u8>,
    next_block: usize,
    /// Position in `block`.
    at: usize,
}

impl NameRunReader {
    pub(super) fn new(run: &Arc<NameRun>) -> Self {
        Self { run: Arc::clone(run), block: Vec::new(), next_block: 0, at: 0 }
    }

    /// The next text and its index; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], u64)>> {
        if self.at == self.block.len() {
            if !self.run.file.read(self.next_block, &mut self.block)? {
                return Ok(None);
            }
            (self.next_block, self.at) = (self.next_block + 1, 0);
        }
        let mut rest = &self.block[self.at..];
        let name = varint::take_bytes(&mut rest).zip(varint::take(&mut rest));
        self.at = self.block.len() - rest.len();
        name.map(Some).ok_or_else(|| self.run.file.corrupt(0))
    }
}
