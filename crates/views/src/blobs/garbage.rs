//! Garbage collection of chunks that belong to no row.
//!
//! Such chunks arise in three ways. A process ended before it finished a value written in pieces. A
//! short value or a load replaced a long value, but had checked for long values just before the
//! first one was written. And [`Blobs::clear`] concurrent with steady writers leaves them for a
//! short time.
//!
//! A *note* marks an id whose chunks are being written and whose row is not there yet. Opening a
//! database removes the chunks of all notes ([`remove_unfinished`]). [`Blobs::collect_garbage`]
//! removes the others, and leaves chunks that have a note to their writer.

use super::large::{ChunkWrites, NOTES};
use super::rows::{empty_batch, large_ids};
use super::{Blobs, LARGE};
use crate::source::Source;
use crate::transaction::SharedTransaction;
use base::{Key, KeyRange, Projection};
use env::Env;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use relation::{BlobsPart, Definition};
use std::sync::Arc;
use store::{ErrorKind, Isolation, Result, Store, WriteBatch};

/// Rows read in one batch.
const ROWS_A_STEP: usize = 16 << 10;

/// Ranges deleted by one commit.
const RUNS_A_COMMIT: usize = 4096;

/// Whether adjacent ids of garbage form one range. Such a range may also cover ids that other
/// writers use in the meantime.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Joined,
    Apart,
}

/// Ids that belong to no row.
#[derive(Default)]
struct Garbage {
    count: u64,
    /// First and last id of each range, ascending.
    runs: Vec<(u64, u64)>,
}

/// Removes the chunks of values whose writers did not finish before the process ended. Call it just
/// after a database was opened for writing, before anyone writes a value in pieces.
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

    /// Ids that have a note: their rows are not written yet.
    pub(super) fn noted(&self) -> Result<Vec<u64>> {
        let mut notes = super::large::chunk_batch();
        let range = KeyRange::prefix_words(&[NOTES]);
        self.source.read(|read| {
            read.scan_into(self.core.large, &range, Projection::KEYS, usize::MAX, &mut notes)
        })?;
        Ok(notes.key_words(1).to_vec())
    }

    /// Removes chunks that belong to no row; returns the number of their ids. Reads the ids in the
    /// rows, not the values.
    ///
    /// # Errors
    /// Corruption, and failed writes.
    pub fn collect_garbage(&self) -> Result<u64> {
        if let Source::Store(store) = &self.source {
            // Deletes whole ranges of ids, validated at the commit: after a clear of millions of
            // values these are a few ranges instead of millions.
            let transaction = SharedTransaction::begin(&**store, Isolation::Snapshot);
            let inside = self.in_transaction(&transaction);
            let count = inside.delete_garbage(&inside.garbage(Runs::Joined)?)?;
            match transaction.commit() {
                // The clock was set back, and a new id lies between old ones.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done.map(|_| count),
            }
        }
        // An id that is garbage in one snapshot stays garbage.
        self.delete_garbage(&self.held().garbage(Runs::Apart)?)
    }

    /// The garbage in one snapshot.
    fn garbage(&self, runs: Runs) -> Result<Garbage> {
        // In a snapshot every id in use has its row or its note: a writer of chunks writes one of
        // them in the same commit or before.
        let mut live: HashSet<u64, RandomState> = self.noted()?.into_iter().collect();
        live.insert(NOTES);
        let mut garbage = Garbage::default();
        self.source.read(|read| {
            let all = crate::keys::range_of(self.core.def.key, None, None)?;
            let mut scan = read.scan(self.core.rows, all, LARGE)?;
            let mut rows = empty_batch(self.core.def.key);
            while scan.next_batch(ROWS_A_STEP, &mut rows)? {
                live.extend(large_ids(&rows));
                rows.clear();
            }
            let mut goes_on = false;
            read.first_words(self.core.large, &mut |ids| {
                for &id in ids {
                    let is_garbage = !live.contains(&id);
                    match garbage.runs.last_mut() {
                        _ if !is_garbage => {}
                        Some(run) if goes_on => run.1 = id,
                        _ => garbage.runs.push((id, id)),
                    }
                    garbage.count += u64::from(is_garbage);
                    goes_on = is_garbage && runs == Runs::Joined;
                }
            })
        })?;
        Ok(garbage)
    }

    /// Deletes garbage, in several commits if there is much. That is safe, since ids are never
    /// reused.
    fn delete_garbage(&self, garbage: &Garbage) -> Result<u64> {
        let range = |&(first, last): &(u64, u64)| KeyRange {
            lower: Key::words(&[first]),
            upper: KeyRange::prefix_words(&[last]).upper,
        };
        for runs in garbage.runs.chunks(RUNS_A_COMMIT) {
            let table = self.range_deletes(BlobsPart::Large, runs.iter().map(range).collect());
            self.source.apply(&WriteBatch { tables: vec![table] })?;
        }
        Ok(garbage.count)
    }
}
