//! Temporary files of blocks, which are read one after the other. Their offsets and checksums stay
//! in memory, since a file lives no longer than its import.

use super::spill::{Temporary, io};
use base::Corruption;
use env::{AppendFile, Env, RandomReadFile, ReadOptions};
use std::path::Path;
use std::sync::Arc;
use store::{Error, Result};

/// Approximate size of a block.
pub(super) const BLOCK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
struct Block {
    offset: u64,
    bytes: u32,
    checksum: u64,
}

/// A file being written.
pub(super) struct BlockWriter {
    file: Box<dyn AppendFile>,
    temporary: Temporary,
    blocks: Vec<Block>,
}

impl BlockWriter {
    /// Creates a file with a new name in `folder`; creates the folder too if necessary.
    pub(super) fn create(env: &Arc<dyn Env>, folder: &Path) -> Result<Self> {
        let (file, temporary) = Temporary::create(env, folder)?;
        Ok(Self { file, temporary, blocks: Vec::new() })
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.blocks.push(Block {
            offset: self.file.len_bytes(),
            bytes: bytes.len() as u32,
            checksum: base::checksum(bytes),
        });
        self.file.append(bytes).map_err(io)
    }

    pub(super) fn finish(mut self) -> Result<BlockFile> {
        self.file.flush().map_err(io)?;
        let Self { file, temporary, blocks } = self;
        let bytes = file.len_bytes();
        drop(file);
        let file = temporary.open(ReadOptions::default())?;
        Ok(BlockFile { file, _temporary: temporary, blocks, bytes })
    }
}

/// A complete file. It is removed when it is dropped.
pub(super) struct BlockFile {
    file: Arc<dyn RandomReadFile>,
    _temporary: Temporary,
    blocks: Vec<Block>,
    pub(super) bytes: u64,
}

impl BlockFile {
    /// Reads a block into `out`, in place of its content; false past the last block.
    ///
    /// # Errors
    /// A failed read; a block that differs from the one written.
    pub(super) fn read(&self, block: usize, out: &mut Vec<u8>) -> Result<bool> {
        let Some(block) = self.blocks.get(block) else { return Ok(false) };
        out.resize(block.bytes as usize, 0);
        self.file.read_at(out, block.offset).map_err(io)?;
        if base::checksum(out) == block.checksum {
            return Ok(true);
        }
        Err(self.corrupt(block.offset))
    }

    /// The error of a block whose bytes cannot be those that were written.
    pub(super) fn corrupt(&self, offset: u64) -> Error {
        let what = "a block of a temporary file fails its checksum";
        Error::from(Corruption::new(self.file.path(), offset, what))
    }
}
