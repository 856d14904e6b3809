//! Sequential reading in environments where every file has a length.

use crate::error::Result;
use crate::files::{RandomReadFile, StreamFile};
use std::sync::Arc;

/// A file and the position up to which it was read.
#[derive(Debug)]
pub(crate) struct InOrder {
    file: Arc<dyn RandomReadFile>,
    at: u64,
    len_bytes: u64,
}

impl InOrder {
    /// Starts at the beginning of the file.
    pub(crate) fn new(file: Arc<dyn RandomReadFile>) -> Result<Self> {
        let len_bytes = file.len_bytes()?;
        Ok(Self { file, at: 0, len_bytes })
    }
}

impl StreamFile for InOrder {
    fn read_some(&mut self, buf: &mut [u8], _: u64) -> Result<Option<usize>> {
        let left = usize::try_from(self.len_bytes - self.at).unwrap_or(usize::MAX);
        let bytes = buf.len().min(left);
        self.file.read_at(&mut buf[..bytes], self.at)?;
        self.at += bytes as u64;
        Ok(Some(bytes))
    }

    fn len_bytes(&self) -> Option<u64> {
        Some(self.len_bytes)
    }
}
