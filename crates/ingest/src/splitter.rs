//! Cuts a stream into chunks at record boundaries, so that chunks can be parsed in parallel. The
//! import (`feed.rs` of `views`) calls it under a lock, and parses the chunks on all workers.
//!
//! This is the only sequential step of an import, so it does as little as possible per byte: it
//! reads, counts newlines, and looks for quotes. Only a chunk with quotes is scanned record by
//! record, and there only the records with quotes.
//!
//! # Invariants
//! 1. Every chunk but the last ends after a newline that ends a record.
//! 2. The chunks, in order, are exactly the stream.
//! 3. A chunk is larger than requested only if its first record is. It is then less than twice as
//!    large as this record.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use crate::dialect::Dialect;
use crate::error::{Error, InputError, Place, show};
use crate::sample::SNIFF_BYTES;
use crate::scan;

/// Target size of a chunk: large enough to make handing it to a worker cheap, small compared with
/// the memory of an import.
pub const CHUNK_BYTES: usize = 4 << 20;

/// Maximum length of a record in bytes. Without it a quote that is never closed would take all
/// memory.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Whole records of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Position among the chunks, from 0.
    pub seq: u64,
    /// Number of the line of the first byte, from 1.
    pub first_line: u64,
    /// Offset of the first byte in the decompressed stream.
    pub first_byte: u64,
    /// The records.
    pub bytes: Vec<u8>,
}

/// Cuts the bytes of a reader into [`Chunk`]s.
pub struct Splitter<R> {
    reader: R,
    file: String,
    chunk_bytes: usize,
    /// Bytes that were read but not returned.
    pending: Vec<u8>,
    ended: bool,
    /// Number, first line and first byte of the next chunk.
    seq: u64,
    line: u64,
    byte: u64,
}

impl<R: Read> Splitter<R> {
    /// A splitter of plain bytes, with chunks of about [`CHUNK_BYTES`]. `file` is for messages.
    pub fn new(reader: R, file: &str) -> Self {
        Self::with_chunk_bytes(reader, file, CHUNK_BYTES)
    }

    /// As [`Splitter::new`], with chunks of about `chunk_bytes`, which must be at least 1.
    pub fn with_chunk_bytes(reader: R, file: &str, chunk_bytes: usize) -> Self {
        Self {
            reader,
            file: file.to_owned(),
            chunk_bytes: chunk_bytes.clamp(1, 1 << 30),
            pending: Vec::new(),
            ended: false,
            seq: 0,
            line: 1,
            byte: 0,
        }
    }

    /// The next bytes of the stream, for [`crate::sniff`]: a chunk's worth, or all that remains.
    ///
    /// # Errors
    /// The reader fails.
    pub fn head(&mut self) -> Result<&[u8], Error> {
        let mut pending = std::mem::take(&mut self.pending);
        let filled = self.fill(&mut pending, self.chunk_bytes.max(SNIFF_BYTES));
        self.pending = pending;
        filled?;
        Ok(&self.pending)
    }

    /// The rest of the stream, from the bytes of [`Splitter::head`] on.
    pub fn into_reader(self) -> impl Read {
        io::Cursor::new(self.pending).chain(self.reader)
    }

    /// The next chunk, in `buffer`'s memory; `None` at the end of the stream.
    ///
    /// # Errors
    /// The reader fails, or a record is longer than [`RECORD_BYTES_MAX`]. The stream then ends.
    pub fn next(&mut self, dialect: &Dialect, buffer: Vec<u8>) -> Result<Option<Chunk>, Error> {
        let mut bytes = buffer;
        bytes.clear();
        std::mem::swap(&mut bytes, &mut self.pending);
        let spare = std::mem::take(&mut self.pending);
        let mut target = self.chunk_bytes;
        // Before the first record there are only lines that the dialect has interpreted: comments
        // and header.
        let start =
            dialect.data_start.saturating_sub(usize::try_from(self.byte).unwrap_or(usize::MAX));
        loop {
            self.fill(&mut bytes, target)?;
            if self.ended && bytes.len() <= target {
                break;
            }
            let until = bytes.len().min(target);
            let cut = match bytes.get(start..until) {
                Some(records) => start + last_boundary(records, dialect),
                None => 0,
            };
            if cut > 0 {
                self.pending = spare;
                self.pending.extend_from_slice(&bytes[cut..]);
                bytes.truncate(cut);
                break;
            }
            if target > RECORD_BYTES_MAX {
                self.ended = true;
                return Err(self.too_long(&bytes).into());
            }
            target *= 2;
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let chunk = Chunk { seq: self.seq, first_line: self.line, first_byte: self.byte, bytes };
        self.seq += 1;
        self.line += memchr_iter(b'\n', &chunk.bytes).count() as u64;
        self.byte += chunk.bytes.len() as u64;
        Ok(Some(chunk))
    }

    /// Reads until `bytes` has at least `target` bytes or the stream ends.
    fn fill(&mut self, bytes: &mut Vec<u8>, target: usize) -> Result<(), Error> {
        let missing = target.saturating_sub(bytes.len());
        if self.ended || missing == 0 {
            return Ok(());
        }
        bytes.reserve_exact(missing);
        let read = self.reader.by_ref().take(missing as u64).read_to_end(bytes);
        match read {
            Ok(read) => {
                self.ended = read < missing;
                Ok(())
            }
            Err(source) => {
                self.ended = true;
                Err(Error::Io { file: self.file.clone(), source })
            }
        }
    }

    fn too_long(&self, bytes: &[u8]) -> InputError {
        let expected = format!("a record of at most {} MiB", RECORD_BYTES_MAX >> 20);
        let error = InputError::whole(&self.file, expected, show(bytes));
        let hint = if memchr(b'"', bytes).is_some() {
            "a quote is opened here and not closed"
        } else {
            "is this a text with one edge on a line?"
        };
        error.at(Place::Line(self.line), 0).hint(hint)
    }
}

/// The end of the last complete record in `bytes`, which start with a record; 0 if there is none.
fn last_boundary(bytes: &[u8], dialect: &Dialect) -> usize {
    let mut at = 0;
    if !dialect.syntax.quotes {
        return memrchr(b'\n', bytes).map_or(0, |n| n + 1);
    }
    loop {
        let line_after = |newline: Option<usize>| newline.map_or(at, |n| at + n + 1);
        let Some(quote) = memchr(b'"', &bytes[at..]) else {
            return line_after(memrchr(b'\n', &bytes[at..]));
        };
        // Before the quote, every newline ends a record.
        let line = line_after(memrchr(b'\n', &bytes[at..at + quote]));
        match scan::record_end(bytes, line, dialect.syntax, dialect.comments()) {
            Some(end) => at = end,
            None => return line,
        }
    }
}
