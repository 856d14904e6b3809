//! Reads of table files. A table in a shared file is read through a [`Section`], as if it had its
//! own file.

use base::Corruption;
use env::{EnvError, FileRead, RandomReadFile, ReadRequest};
use std::path::Path;
use std::sync::Arc;

/// A part of a file, read as if it were a file.
#[derive(Debug)]
pub(crate) struct Section {
    file: Arc<dyn RandomReadFile>,
    start: u64,
    bytes: u64,
}

impl Section {
    /// `bytes` from `start` on.
    pub(crate) fn new(file: Arc<dyn RandomReadFile>, start: u64, bytes: u64) -> Self {
        Self { file, start, bytes }
    }

    /// Where `bytes` at `offset` lie in the file.
    fn within(&self, offset: u64, bytes: usize) -> env::Result<u64> {
        let end = offset.checked_add(bytes as u64).filter(|end| *end <= self.bytes);
        let place = end.and_then(|_| self.start.checked_add(offset));
        place.ok_or_else(|| {
            let error = std::io::ErrorKind::UnexpectedEof.into();
            EnvError::io("read", self.file.path(), error)
        })
    }
}

impl RandomReadFile for Section {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> env::Result<()> {
        self.file.read_at(buf, self.within(offset, buf.len())?)
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> env::Result<()> {
        for request in requests.iter_mut() {
            request.offset = self.within(request.offset, request.buf.len())?;
        }
        self.file.read_batch(requests)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn may_read(&self) -> env::Result<()> {
        self.file.may_read()
    }

    fn read_ahead(&self, offset: u64, bytes: u64) {
        if let Some(start) = self.start.checked_add(offset) {
            self.file.read_ahead(start, bytes.min(self.bytes.saturating_sub(offset)));
        }
    }

    /// Less than the table has where the file was cut.
    fn len_bytes(&self) -> env::Result<u64> {
        Ok(self.file.len_bytes()?.saturating_sub(self.start).min(self.bytes))
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// The whole file that a table's file is a part of.
#[must_use]
pub fn whole_file(file: &Arc<dyn RandomReadFile>) -> Arc<dyn RandomReadFile> {
    let section = file.as_any().and_then(|any| any.downcast_ref::<Section>());
    Arc::clone(section.map_or(file, |section| &section.file))
}

/// As [`env::read_files`], for tables' files. Some of them may be sections.
pub(crate) fn read_files(reads: &mut [FileRead]) -> env::Result<()> {
    let offsets: Vec<u64> = reads.iter().map(|read| read.offset).collect();
    for read in reads.iter_mut() {
        let section = read.file.as_any().and_then(|any| any.downcast_ref::<Section>());
        if let Some(section) = section {
            let offset = section.within(read.offset, read.buf.len())?;
            (read.file, read.offset) = (Arc::clone(&section.file), offset);
        }
    }
    let done = env::read_files(reads);
    // Callers compare the offsets with places in the table.
    reads.iter_mut().zip(offsets).for_each(|(read, offset)| read.offset = offset);
    done
}

/// Damage of a table at `offset`. It names the place in the file that has the path.
pub(crate) fn damaged_at(
    file: &dyn RandomReadFile,
    offset: u64,
    what: impl Into<String>,
) -> Corruption {
    let section = file.as_any().and_then(|any| any.downcast_ref::<Section>());
    let start = section.map_or(0, |section| section.start);
    Corruption::new(file.path(), start.saturating_add(offset), what)
}

/// Where a file that became shorter than it was ends before a block.
pub(super) const CUT_BLOCK: &str = "the file ends before the block does";

/// Whether a read failed because the file, which had at least `end` bytes, became shorter.
pub(super) fn ends_before(file: &dyn RandomReadFile, end: u64, error: &EnvError) -> bool {
    error.is_past_end() && file.len_bytes().is_ok_and(|len| len < end)
}
