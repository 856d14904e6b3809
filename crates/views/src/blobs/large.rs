//! Chunks of long values: encodes, reads and deletes them, for `read.rs`, `write.rs` and
//! `stream.rs`. The invariants of chunks are in `mod.rs`.

use super::{Blobs, damaged};
use base::fault_switch::{Switch, is_on};
use base::{Batch, BytesColumn, Column, Key, KeyRange, KeyRef, Keys, Kind, Projection};
use store::{Kinds, Read, Result, TableWrites};

/// Chunks read in one batch: 4 MiB.
const CHUNKS_A_STEP: u64 = 16;

/// Projection of the column `bytes` only.
const BYTES: Projection = Projection { keys: 0, values: 1 };

/// First key word of the notes `{0, id}` of ids whose rows are not written yet.
pub(super) const NOTES: u64 = 0;

/// An empty batch in the shape of chunks.
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

    /// Puts a chunk, or the note `{0, id}` with no bytes.
    pub(super) fn put(&mut self, id: u64, chunk: u64, bytes: &[u8]) {
        self.push(Kind::Put, id, chunk, bytes);
    }

    pub(super) fn delete(&mut self, id: u64, chunk: u64) {
        self.push(Kind::Delete, id, chunk, &[]);
    }

    /// Puts all chunks of a value.
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
    /// Appends the value under `id`, which has `bytes` bytes.
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
        // A damaged row may claim any length, so no more than the maximum is reserved.
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

    /// The error of chunks that are missing or have the wrong length.
    pub(super) fn lost_chunk(&self) -> store::Error {
        damaged(format!("a value of {:?} has lost a chunk", self.name()))
    }

    /// Adds deletes of all chunks under `id` to `writes`.
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

    /// An unused id. Ids ascend with the clock, so later values come after earlier ones. This
    /// checks that the id is free; the commit's conflict check prevents that two writers take it.
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

    /// Whether there is a chunk or a note.
    pub(super) fn holds_large(&self) -> Result<bool> {
        let (all, mut batch) = (KeyRange::all_words(), chunk_batch());
        self.source
            .read(|read| read.scan_into(self.core.large, &all, Projection::KEYS, 1, &mut batch))?;
        Ok(batch.rows > 0)
    }

    /// Whether there may be a chunk. False is exact.
    pub(super) fn may_hold_large(&self) -> Result<bool> {
        let all = KeyRange::all_words();
        // The estimated rows do not serve: they subtract one row for each delete, which may hide no
        // row at all.
        Ok(self.source.read(|read| read.estimate(self.core.large, &all))?.bytes > 0)
    }
}
