//! Chunks that belong to no row.
//!
//! They come about in two ways: a value written in pieces was not finished, because the process ended; or a short
//! value, or a load, replaced a long one in the instant in which the long one was the first of its blobs, and did not look.

use super::large::{ChunkWrites, NOTES};
use super::rows::{empty_batch, large_ids};
use super::{Blobs, LARGE};
use base::{KeyRange, Projection};
use env::Env;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use relation::{BlobsPart, Definition};
use std::sync::Arc;
use store::{Result, Store, WriteBatch};

/// Rows looked at in one step.
const ROWS_A_STEP: usize = 16 << 10;

/// Removes what values left that were written in pieces when the process ended. For a database that was just
/// opened for writing: nobody writes such a value yet.
///
/// # Errors
/// Corruption, and failed writes.
pub fn remove_unfinished(store: &Arc<dyn Store>, env: &Arc<dyn Env>) -> Result<()> {
    for info in store.keyspaces() {
        if let Definition::Blobs(def, BlobsPart::Rows) = Definition::decode(&info)? {
            let blobs = Blobs::find(Arc::clone(store), Arc::clone(env), &def.name)?;
            blobs.iter().try_for_each(Blobs::remove_noted)?;
        }
    }
    Ok(())
}

impl Blobs {
    fn remove_noted(&self) -> Result<()> {
        let mut ids = self.noted()?;
        ids.sort_unstable();
        for id in ids {
            let mut chunks = ChunkWrites::new();
            self.source.read(|read| self.delete_large(read, id, &mut chunks))?;
            chunks.delete(NOTES, id);
            self.source.apply(&WriteBatch { tables: vec![chunks.into_table(self)] })?;
        }
        Ok(())
    }

    /// Ids whose rows are not written yet.
    pub(super) fn noted(&self) -> Result<Vec<u64>> {
        let mut notes = super::large::chunk_batch();
        let range = KeyRange::prefix_words(&[NOTES]);
        self.source.read(|read| {
            read.scan_into(self.core.large, &range, Projection::KEYS, usize::MAX, &mut notes)
        })?;
        Ok(notes.key_words(1).to_vec())
    }

    /// Removes chunks that belong to no row; how many values they were of. Reads the rows' ids, not their values.
    ///
    /// # Errors
    /// Corruption, and failed writes.
    pub fn collect_garbage(&self) -> Result<u64> {
        // At one moment every id has its row or its note: whoever writes chunks writes one of them along or before.
        let held = self.held();
        let mut live: HashSet<u64, RandomState> = held.noted()?.into_iter().collect();
        live.insert(NOTES);
        let mut garbage = Vec::new();
        held.source.read(|read| {
            let all = crate::keys::range_of(self.core.def.key, None, None)?;
            let mut scan = read.scan(self.core.rows, all, LARGE)?;
            let mut rows = empty_batch(self.core.def.key);
            while scan.next_batch(ROWS_A_STEP, &mut rows)? {
                live.extend(large_ids(&rows));
                rows.clear();
            }
            read.first_words(self.core.large, &mut |ids| {
                garbage.extend(ids.iter().filter(|id| !live.contains(*id)));
            })
        })?;
        if !garbage.is_empty() {
            // Ids are never used again, so what is garbage at that moment stays so.
            let ranges = garbage.iter().map(|&id| KeyRange::prefix_words(&[id])).collect();
            let table = self.range_deletes(BlobsPart::Large, ranges);
            self.source.apply(&WriteBatch { tables: vec![table] })?;
        }
        Ok(garbage.len() as u64)
    }
}
