//! Checks that rows and chunks of blobs agree, and makes them agree after a repair.

use super::large::{ChunkWrites, NOTES, chunk_batch};
use super::rows::{RowContents, contents, empty_batch, push_key};
use super::{Blobs, VALUES, damaged};
use base::{Column, KeyRange, Keys, Kind, Projection};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use store::{Kinds, Read, Result};

/// Rows read in one batch.
const ROWS_A_STEP: usize = 4096;

/// Chunks read in one batch: 4 MiB.
const CHUNKS_A_STEP: usize = 16;

/// Report of a successful [`Blobs::check`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobsCheck {
    /// Number of blobs.
    pub rows: u64,
    /// Number of blobs whose values are split into chunks.
    pub large: u64,
    /// Ids of chunks that belong to no blob, or are being written. `compact` frees their space.
    pub unused: u64,
}

/// Report of [`Blobs::reconcile`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlobsReconciled {
    /// Blobs that are complete.
    pub rows: u64,
    /// Blobs removed because chunks of their values are lost.
    pub lost: u64,
}

/// The chunks found under an id.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Number of chunks found. If not `broken`, they are 0, 1, …, and all but the last are full.
    next: u64,
    bytes: u64,
    broken: bool,
}

impl Blobs {
    /// Reads all rows and chunks in one snapshot and compares them.
    ///
    /// # Errors
    /// [`store::ErrorKind::Corruption`]: a row without a value, or with incomplete chunks.
    pub fn check(&self) -> Result<BlobsCheck> {
        let held = self.held();
        let mut found = held.chunks_found()?;
        let mut check = BlobsCheck::default();
        held.each_row(|_, row| {
            check.rows += 1;
            match row {
                RowContents::Value(_) => {}
                RowContents::Large(id, bytes) => {
                    check.large += 1;
                    if !found.remove(&id).is_some_and(|found| found.is(bytes)) {
                        return Err(self.lost_chunk());
                    }
                }
                RowContents::Nothing => return Err(self.empty_row()),
            }
            Ok(())
        })?;
        check.unused = found.len() as u64;
        Ok(check)
    }

    /// Deletes rows with incomplete chunks, and chunks that belong to no row. Only for a database
    /// that a repair has made and that nobody else uses.
    ///
    /// # Errors
    /// Corruption of the remaining rows, and failed writes.
    pub fn reconcile(&self) -> Result<BlobsReconciled> {
        let held = self.held();
        let found = held.chunks_found()?;
        let mut done = BlobsReconciled::default();
        let mut keys = crate::keys::empty_keys(self.core.def.key);
        let mut chunks = ChunkWrites::new();
        held.each_row(|key, row| {
            let whole = match row {
                RowContents::Value(_) => true,
                RowContents::Large(id, bytes) => {
                    found.get(&id).is_some_and(|found| found.is(bytes))
                }
                RowContents::Nothing => false,
            };
            if whole {
                done.rows += 1;
            } else {
                done.lost += 1;
                push_key(&mut keys, key.0, key.1);
            }
            Ok(())
        })?;
        for id in held.noted()? {
            chunks.delete(NOTES, id);
        }
        let rows = super::write::deletes(self.core.def.key, keys);
        self.write_both(Kinds::Uniform(Kind::Delete), rows, chunks)?;
        self.collect_garbage()?;
        Ok(done)
    }

    /// Passes every row to `visit`, with the column and the index of its key.
    fn each_row(
        &self,
        mut visit: impl FnMut((&Keys, usize), RowContents<'_>) -> Result<()>,
    ) -> Result<()> {
        self.source.read(|read: &dyn Read| {
            let all = crate::keys::range_of(self.core.def.key, None, None)?;
            let projection = Projection { keys: u8::MAX, ..VALUES };
            let mut scan = read.scan(self.core.rows, all, projection)?;
            let mut rows = empty_batch(self.core.def.key);
            while scan.next_batch(ROWS_A_STEP, &mut rows)? {
                for i in 0..rows.rows {
                    visit((&rows.keys, i), contents(&rows, i))?;
                }
                rows.clear();
            }
            Ok(())
        })
    }

    /// The chunks found under each id.
    fn chunks_found(&self) -> Result<HashMap<u64, Found, RandomState>> {
        let mut found: HashMap<u64, Found, RandomState> = HashMap::default();
        let chunk_bytes = self.core.sizes.chunk_bytes as u64;
        self.source.read(|read| {
            let range = KeyRange { lower: base::Key::words(&[NOTES + 1]), upper: None };
            let mut scan = read.scan(self.core.large, range, Projection::ALL)?;
            let mut batch = chunk_batch();
            while scan.next_batch(CHUNKS_A_STEP, &mut batch)? {
                let Some(Column::Bytes(values)) = batch.values.first() else {
                    return Err(damaged("chunks without bytes"));
                };
                let keys = batch.key_words(0).iter().zip(batch.key_words(1));
                for (i, (&id, &chunk)) in keys.enumerate() {
                    let of = found.entry(id).or_default();
                    let full = of.bytes == of.next * chunk_bytes;
                    of.broken |= chunk != of.next || !full;
                    of.next += 1;
                    of.bytes += values.get(i).len() as u64;
                }
                batch.clear();
            }
            Ok(())
        })?;
        Ok(found)
    }
}

impl Found {
    /// Whether it is a complete value of `bytes` bytes.
    fn is(self, bytes: u64) -> bool {
        !self.broken && self.bytes == bytes
    }
}
