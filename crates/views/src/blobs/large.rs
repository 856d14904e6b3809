//! Chunks of long values.

use super::{Blobs, damaged};
use base::sabotage::{Switch, is_on};
use base::{Batch, BytesColumn, Column, Key, KeyRange, KeyRef, Keys, Kind, Projection};
use store::{Kinds, Read, Result, TableWrites};

/// Chunks read at once: 4 MiB.
const CHUNKS_A_STEP: u64 = 16;

/// Column `bytes` alone.
const BYTES: Projection = Projection { keys: 0, values: 1 };

/// Key of the note of an id whose row is not written yet, after the 0.
pub(super) const NOTES: u64 = 0;

/// An empty batch of the shape of chunks.
pub(super) fn chunk_batch() -> Batch {
    Batch {
        rows: 0,
        keys: Keys::Words(vec![Vec::new(), Vec::new()]),
        values: vec![Column::Bytes(BytesColumn::default())],
    }
}

/// Writes to the keyspace of chunks.
#[derive(Debug)]
pub(super) struct ChunkWrites {
    kinds: Vec<Kind>,
    rows: Batch,
}

impl ChunkWrites {
    pub(super) fn new() -> Self {
        Self { kinds: Vec::new(), rows: chunk_batch() }
    }

    /// A chunk, or the note `{0, id}` without bytes.
    pub(super) fn put(&mut self, id: u64, chunk: u64, bytes: &[u8]) {
        self.push(Kind::Put, id, chunk, bytes);
    }

    pub(super) fn delete(&mut self, id: u64, chunk: u64) {
        self.push(Kind::Delete, id, chunk, &[]);
    }

    /// All chunks of a value.
    pub(super) fn put_all(&mut self, id: u64, value: &[u8], chunk_bytes: usize) {
        for (chunk, bytes) in (0..).zip(value.chunks(chunk_bytes)) {
            self.put(id, chunk, bytes);
        }
        if is_on(Switch::ForgetPiece) && value.len() > chunk_bytes {
            self.delete(id, (value.len() - 1) as u64 / chunk_bytes as u64);
        }
    }

    fn push(&mut self, kind: Kind, id: u64, chunk: u64, bytes: &[u8]) {
        self.kinds.push(kind);
        self.rows.keys.push(KeyRef::Words(&[id, chunk]));
        if let Column::Bytes(column) = &mut self.rows.values[0] {
            column.push(Some(bytes));
        }
        self.rows.rows += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    pub(super) fn into_table(self, blobs: &Blobs) -> TableWrites {
        TableWrites {
            keyspace: blobs.core.large,
            kinds: Kinds::PerRow(self.kinds),
            rows: self.rows,
            delete_ranges: Vec::new(),
        }
    }
}

impl Blobs {
    /// Appends the value of so many bytes under `id`.
    pub(super) fn read_large(
        &self,
        read: &dyn Read,
        id: u64,
        bytes: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let mut batch = chunk_batch();
        let chunk_bytes = self.core.sizes.chunk_bytes as u64;
        let (start, chunks) = (out.len(), bytes.div_ceil(chunk_bytes));
        // Whatever the row says, no more is taken than a value may have.
        out.reserve(bytes.min(super::VALUE_BYTES_MAX) as usize);
        let mut next = 0;
        while next < chunks {
            batch.clear();
            let end = (next + CHUNKS_A_STEP).min(chunks);
            let range =
                KeyRange { lower: Key::words(&[id, next]), upper: Some(Key::words(&[id, end])) };
            read.scan_into(self.core.large, &range, BYTES, usize::MAX, &mut batch)?;
            if let Some(Column::Bytes(chunks)) = batch.values.first() {
                out.extend_from_slice(&chunks.heap);
            }
            next = end;
            if (out.len() - start) as u64 != bytes.min(end * chunk_bytes) {
                return Err(self.lost_chunk());
            }
        }
        Ok(())
    }

    /// Chunks are missing or of the wrong length.
    pub(super) fn lost_chunk(&self) -> store::Error {
        damaged(format!("a value of {:?} has lost a chunk", self.name()))
    }

    /// Deletes the chunks under `id`.
    pub(super) fn delete_large(
        &self,
        read: &dyn Read,
        id: u64,
        writes: &mut ChunkWrites,
    ) -> Result<()> {
        let mut batch = chunk_batch();
        let range = KeyRange::prefix_words(&[id]);
        read.scan_into(self.core.large, &range, Projection::KEYS, usize::MAX, &mut batch)?;
        batch.key_words(1).iter().for_each(|&chunk| writes.delete(id, chunk));
        Ok(())
    }

    /// An id that no value has: it ascends with the clock, so that later values lie behind earlier
    /// ones. That it is free is looked up; that no other takes it at the same time, the commit's
    /// check for conflicts sees to.
    pub(super) fn free_id(&self, read: &dyn Read) -> Result<u64> {
        let mut batch = chunk_batch();
        loop {
            let env = &self.core.env;
            let id = env.wall_us() << 12 | env.random_u64() & 0xfff;
            if id == NOTES {
                continue;
            }
            for key in [[id, 0], [NOTES, id]] {
                read.get(self.core.large, KeyRef::Words(&key), Projection::COUNT, &mut batch)?;
            }
            if batch.rows == 0 {
                return Ok(id);
            }
            batch.clear();
        }
    }

    /// Whether there is any chunk or note.
    pub(super) fn holds_large(&self) -> Result<bool> {
        let (all, mut batch) = (KeyRange::all_words(), chunk_batch());
        self.source
            .read(|read| read.scan_into(self.core.large, &all, Projection::KEYS, 1, &mut batch))?;
        Ok(batch.rows > 0)
    }

    /// Whether there may be any chunk.
    pub(super) fn may_hold_large(&self) -> Result<bool> {
        let all = KeyRange::all_words();
        // Not the estimate's rows: from them each delete takes off what it may hide, and it may
        // hide nothing.
        Ok(self.source.read(|read| read.estimate(self.core.large, &all))?.bytes > 0)
    }
}
