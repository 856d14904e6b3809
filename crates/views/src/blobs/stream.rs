//! Writes and reads long values in pieces, so that none is in memory as a whole.
//!
//! # Why chunks are not synced
//! No reader looks for a chunk before its row exists, and the sync that makes the row's commit
//! durable makes all earlier commits durable too. So a value of a gibibyte is 4096 chunks and one
//! sync. If a power cut loses some of the chunks, their value never existed, and its note marks the
//! rest as garbage.

use super::large::{ChunkWrites, NOTES, chunk_batch};
use super::rows::{RowContents, contents, empty_batch};
use super::{Blobs, Sizes, VALUE_BYTES_MAX, VALUES, damaged};
use crate::keys::{KeyOf, empty_keys, with_key};
use crate::owner::check_process;
use crate::source::Source;
use base::fault_switch::{Switch, is_on};
use base::{Column, Key, KeyRef, Keys, Projection};
use env::Owner;
use relation::invalid;
use std::io::{self, Seek, SeekFrom, Write};
use store::{Error, ErrorKind, Result, WriteBatch};

impl Blobs {
    /// Begins to write a value in pieces. It becomes visible when [`BlobWriter::finish`] returns.
    /// If the writer is dropped before, the key is unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::ReadOnly`] at a snapshot.
    pub fn writer<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<BlobWriter> {
        if matches!(self.source, Source::Snapshot(_)) {
            let what = "a snapshot cannot be written";
            return Err(Error::new(ErrorKind::ReadOnly, what));
        }
        let mut keys = empty_keys(self.core.def.key);
        with_key(self.core.def.key, key.into(), |key| {
            keys.push(key);
            Ok(())
        })?;
        self.source.check_open()?;
        Ok(BlobWriter {
            owner: Owner::here(),
            blobs: self.clone(),
            keys,
            id: None,
            next: 0,
            piece: Vec::new(),
            done: false,
        })
    }

    /// Opens the value of a key for reading in pieces, at a snapshot taken now; `None` if there is
    /// none. If the blobs are in a transaction that changes the key later, the rest of a long value
    /// becomes unreadable, see [`BlobReader::take_bytes`].
    pub fn reader<'k>(&self, key: impl Into<KeyOf<'k>>) -> Result<Option<BlobReader>> {
        let blobs = self.held();
        let mut row = empty_batch(self.core.def.key);
        let key = with_key(self.core.def.key, key.into(), |key| Ok(Key::from(key)))?;
        let found =
            blobs.source.read(|read| read.get(self.core.rows, key.as_ref(), VALUES, &mut row))?;
        if !found {
            return Ok(None);
        }
        let (id, len, piece) = match contents(&row, 0) {
            RowContents::Value(value) => (None, value.len() as u64, value.to_vec()),
            RowContents::Large(id, bytes) => (Some(id), bytes, Vec::new()),
            RowContents::Nothing => return Err(self.empty_row()),
        };
        Ok(Some(BlobReader {
            owner: Owner::here(),
            blobs,
            key,
            id,
            len,
            at: 0,
            piece,
            piece_at: 0,
        }))
    }
}

/// Writes one value in pieces. It implements [`Write`].
#[derive(Debug)]
pub struct BlobWriter {
    owner: Owner,
    blobs: Blobs,
    keys: Keys,
    /// Id of its chunks, once the first is written.
    id: Option<u64>,
    /// Index of the next chunk.
    next: u64,
    /// Bytes that are not in a chunk yet, fewer than a chunk has.
    piece: Vec<u8>,
    done: bool,
}

impl BlobWriter {
    /// Appends bytes to the value.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] beyond [`VALUE_BYTES_MAX`], and failed writes.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        check_process(self.owner)?;
        let Sizes { chunk_bytes, .. } = self.blobs.core.sizes;
        let len = self.next * chunk_bytes as u64 + (self.piece.len() + bytes.len()) as u64;
        if len > VALUE_BYTES_MAX {
            let what = format!("a value of {len} bytes, the limit is {VALUE_BYTES_MAX}");
            return Err(Error::new(ErrorKind::Limit, what));
        }
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(chunk_bytes - self.piece.len()));
            self.piece.extend_from_slice(now);
            bytes = rest;
            if self.piece.len() == chunk_bytes {
                self.write_chunk()?;
            }
        }
        Ok(())
    }

    /// Makes the value visible; it replaces an earlier value of the key.
    ///
    /// # Errors
    /// Failed writes; [`ErrorKind::Conflict`] if other writers keep changing the same key.
    pub fn finish(mut self) -> Result<()> {
        check_process(self.owner)?;
        let Sizes { large_bytes_min, chunk_bytes } = self.blobs.core.sizes;
        let len = self.next as usize * chunk_bytes + self.piece.len();
        if len < large_bytes_min {
            let mut values = base::BytesColumn::default();
            values.push(Some(&self.piece));
            self.done = true;
            return self.blobs.put_checked(&self.keys, &values);
        }
        if !self.piece.is_empty() {
            self.write_chunk()?;
        }
        let id = self.id.ok_or_else(|| damaged("a long value has no chunks"))?;
        self.blobs.in_own_transaction(|blobs| blobs.put_id(&self.keys, id, len as u64))?;
        self.done = true;
        Ok(())
    }

    fn write_chunk(&mut self) -> Result<()> {
        let id = match self.id {
            Some(id) => id,
            None => {
                let id = self.blobs.in_own_transaction(|blobs| {
                    let id = blobs.source.read(|read| blobs.free_id(read))?;
                    let mut note = ChunkWrites::new();
                    if !is_on(Switch::ForgetNote) {
                        note.put(NOTES, id, &[]);
                    }
                    blobs.source.apply(&WriteBatch { tables: vec![note.into_table(blobs)] })?;
                    Ok(id)
                })?;
                *self.id.insert(id)
            }
        };
        let mut chunk = ChunkWrites::new();
        chunk.put(id, self.next, &self.piece);
        let writes = WriteBatch { tables: vec![chunk.into_table(&self.blobs)] };
        match &self.blobs.source {
            Source::Store(store) => drop(store.write_unsynced(&writes)?),
            source => source.apply(&writes)?,
        }
        self.next += 1;
        self.piece.clear();
        Ok(())
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        if let (false, Some(id)) = (self.done, self.id) {
            // Best effort: the next opening removes chunks that still have a note.
            let mut writes = ChunkWrites::new();
            (0..self.next).for_each(|chunk| writes.delete(id, chunk));
            writes.delete(NOTES, id);
            let table = writes.into_table(&self.blobs);
            let _ = self.blobs.source.apply(&WriteBatch { tables: vec![table] });
        }
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    /// Does nothing: only [`BlobWriter::finish`] makes the value visible.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads one value in pieces, at the snapshot taken when it was opened. It implements [`io::Read`]
/// and [`Seek`].
#[derive(Debug)]
pub struct BlobReader {
    owner: Owner,
    blobs: Blobs,
    key: Key,
    /// Id of its chunks; `None` for a short value, which is in `piece`.
    id: Option<u64>,
    len: u64,
    at: u64,
    /// Bytes of the value from position `piece_at` on.
    piece: Vec<u8>,
    piece_at: u64,
}

impl BlobReader {
    /// Length of the value in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the value is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Replaces `out` by the next bytes, at most `bytes_max`; empty at the end of the value.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the value is read in a transaction that has changed it since;
    /// corruption, and failed reads.
    pub fn take_bytes(&mut self, bytes_max: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        while out.len() < bytes_max {
            let piece = self.rest_of_piece()?;
            if piece.is_empty() {
                break;
            }
            let taken = piece.len().min(bytes_max - out.len());
            out.extend_from_slice(&piece[..taken]);
            self.at += taken as u64;
        }
        Ok(())
    }

    /// The bytes in memory from the current position on; reads a chunk if necessary. Empty at the
    /// end.
    fn rest_of_piece(&mut self) -> Result<&[u8]> {
        check_process(self.owner)?;
        if self.at >= self.len {
            return Ok(&[]);
        }
        let inside = self.at >= self.piece_at && self.at < self.piece_at + self.piece.len() as u64;
        if let (false, Some(id)) = (inside, self.id) {
            let chunk_bytes = self.blobs.core.sizes.chunk_bytes as u64;
            let chunk = self.at / chunk_bytes;
            let mut batch = chunk_batch();
            let key = [id, chunk];
            let blobs = &self.blobs;
            let found = blobs.source.read(|read| {
                let bytes = Projection { keys: 0, values: 1 };
                read.get(blobs.core.large, KeyRef::Words(&key), bytes, &mut batch)
            })?;
            self.piece = match batch.values.pop() {
                Some(Column::Bytes(bytes)) if found => bytes.heap,
                _ => Vec::new(),
            };
            self.piece_at = chunk * chunk_bytes;
            if self.at >= self.piece_at + self.piece.len() as u64 {
                return Err(self.missing_chunk(id));
            }
        }
        Ok(&self.piece[(self.at - self.piece_at) as usize..])
    }

    /// The error of a missing chunk under `id`. A snapshot keeps all it sees, but a transaction
    /// does not keep what its own writes replace.
    fn missing_chunk(&self, id: u64) -> Error {
        let Blobs { core, source } = &self.blobs;
        if !matches!(source, Source::Transaction(_)) {
            return self.blobs.lost_chunk();
        }
        let mut row = empty_batch(core.def.key);
        let found = source.read(|read| read.get(core.rows, self.key.as_ref(), VALUES, &mut row));
        match found {
            Ok(true) if matches!(contents(&row, 0), RowContents::Large(now, _) if now == id) => {
                self.blobs.lost_chunk()
            }
            Ok(_) => invalid(format!(
                "the value of {:?} that is being read was changed by this transaction since\n\
                 hint: read it to its end before it is put or deleted, or open another reader",
                self.blobs.name()
            )),
            Err(error) => error,
        }
    }
}

impl io::Read for BlobReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let piece = self.rest_of_piece().map_err(io::Error::other)?;
        let read = piece.len().min(buf.len());
        buf[..read].copy_from_slice(&piece[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for BlobReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(offset) => self.len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.at.checked_add_signed(offset),
        };
        self.at = at.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a place before the value's begin")
        })?;
        Ok(self.at)
    }
}
