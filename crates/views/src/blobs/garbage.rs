//! Chunks that belong to no row.
//!
//! They come about in three ways: a value written in pieces was not finished, because the process
//! ended; or a short value, or a load, replaced a long one in the instant in which the long one was
//! the first of its blobs, and did not look. And a [`Blobs::clear`] beside others who write without
//! a pause leaves them for a moment.

use super::large::{ChunkWrites, NOTES};
use super::rows::{empty_batch, large_ids};
use super::{Blobs, LARGE};
use crate::SharedTransaction;
use crate::source::Source;
use base::{Key, KeyRange, Projection};
use env::Env;
use foldhash::fast::RandomState;
use hashbrown::HashSet;
use relation::{BlobsPart, Definition};
use std::sync::Arc;
use store::{ErrorKind, Isolation, Result, Store, WriteBatch};

/// Rows looked at in one step.
const ROWS_A_STEP: usize = 16 << 10;

/// Ranges deleted by one commit.
const RUNS_A_COMMIT: usize = 4096;

/// Whether one range goes over neighbours with nothing between them, also over what others may
/// write there meanwhile.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    Joined,
    Apart,
}

/// Values that belong to no row.
#[derive(Default)]
struct Garbage {
    count: u64,
    /// First and last ids, ascending.
    runs: Vec<(u64, u64)>,
}

/// Removes what values left that were written in pieces when the process ended. For a database that
/// was just opened for writing: nobody writes such a value yet.
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

    /// Removes chunks that belong to no row; how many values they were of. Reads the rows' ids, not
    /// their values.
    ///
    /// # Errors
    /// Corruption, and failed writes.
    pub fn collect_garbage(&self) -> Result<u64> {
        if let Source::Store(store) = &self.source {
            // Whole runs of ids, checked at the commit: a clear of millions of values leaves a few
            // ranges, not millions.
            let transaction = SharedTransaction::begin(&**store, Isolation::Snapshot);
            let inside = self.in_transaction(&transaction);
            let count = inside.delete_garbage(&inside.garbage(Runs::Joined)?)?;
            match transaction.commit() {
                // The clock was put back, and a new id lies between old ones.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                done => return done.map(|_| count),
            }
        }
        // What is garbage at one moment stays so.
        self.delete_garbage(&self.held().garbage(Runs::Apart)?)
    }

    /// What belongs to no row at one moment.
    fn garbage(&self, runs: Runs) -> Result<Garbage> {
        // At one moment every id has its row or its note: whoever writes chunks writes one of them
        // along or before.
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

    /// Ids are never used again, so where it is more than a commit may hold some of it may go
    /// before the rest.
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
