//! Compactions in background jobs: which trees, and how they become visible.
//!
//! # Why small trees together
//! Ten thousand trees with a few rows each become due together, because one flush adds a run to all
//! of them. One by one, each would write a file, sync it, and append an edit to the manifest. So
//! trees that are small as a whole are compacted in one step: their tables share a file, and one
//! edit names them.

use crate::convert::{env_error, tree_error};
use crate::inner::Inner;
use crate::merging::{Announced, announce};
use crate::shared_files::SharedWriters;
use crate::trees::Entry;
use base::SeqNo;
use base::mark::{Mark, hit};
use env::JobKind;
use env::sync::atomic::Ordering;
use lsm::compaction::Choice;
use lsm::manifest::VersionEdit;
use lsm::table::TableMeta;
use lsm::tree::Tree;
use lsm::version::TreeEdit;
use std::sync::Arc;
use store::Result;

/// A step takes further small trees until their tables have this many bytes.
const SMALL_BYTES_A_STEP: u64 = 4 << 20;
/// A step takes at most this many trees.
const TREES_A_STEP: usize = 4096;

/// The input of a compaction step.
struct Chosen<'a> {
    entry: &'a Arc<Entry>,
    announced: Announced<'a>,
}

impl Inner {
    /// Queues compaction until nothing is due, unless it is queued or switched off.
    pub(crate) fn queue_compaction(self: &Arc<Self>) {
        self.compactions_asked.fetch_add(1, Ordering::AcqRel);
        if !self.options.auto_compaction
            || self.compaction_error.lock().is_some()
            || self.closing.load(Ordering::Acquire)
            || self.compaction_queued.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let inner = Arc::clone(self);
        let job = move || {
            let asked = inner.compactions_asked.load(Ordering::Acquire);
            let step = inner.compact_step();
            inner.compaction_queued.store(false, Ordering::Release);
            match step {
                // One compaction per job, so that the environment can schedule other work in
                // between.
                Ok(true) => inner.queue_compaction(),
                // A request that came after the check found the job queued, and relies on it.
                Ok(false) if asked != inner.compactions_asked.load(Ordering::Acquire) => {
                    inner.queue_compaction();
                }
                Ok(false) => {}
                Err(error) => {
                    // Reads and writes continue without compaction; stats and check report the
                    // cause.
                    let passes = error
                        .cause::<env::EnvError>()
                        .is_some_and(env::EnvError::is_out_of_descriptors);
                    if error.kind() != store::ErrorKind::Cancelled && !passes {
                        *inner.compaction_error.lock() = Some(error);
                    }
                }
            }
            inner.progress.notify();
        };
        self.env.spawn(JobKind::Compaction, Box::new(job));
    }

    /// Runs the compaction with the largest score, and small ones of other trees with it; false
    /// where none is due.
    pub(crate) fn compact_step(self: &Arc<Self>) -> Result<bool> {
        let mut last = self.compacting.lock();
        if self.closing.load(Ordering::Acquire) {
            return Ok(false); // another process may own the folder now
        }
        self.poison.check()?;
        let trees = self.trees.load_full();
        let mut in_order = crate::compaction_order::in_order(trees.iter(), *last).into_iter();
        let chosen = self.choose_some(&mut in_order, Tree::choose_compaction);
        let Some(newest) = chosen.last() else {
            hit(Mark::CompactionFoundNothing);
            return Ok(false);
        };
        *last = newest.entry.info.id;
        self.compact_some(&chosen, &|| true)?;
        Ok(true)
    }

    /// Chooses for the first tree that has something to do, and for small trees after it.
    fn choose_some<'a>(
        &'a self,
        trees: &mut dyn Iterator<Item = &'a Arc<Entry>>,
        choose: fn(&Tree) -> Choice,
    ) -> Vec<Chosen<'a>> {
        let (mut chosen, mut bytes) = (Vec::new(), 0);
        for entry in trees {
            let table_bytes = entry.tree.table_bytes();
            let is_small = table_bytes <= self.context.options.shared_bytes_max;
            if !chosen.is_empty() && !is_small {
                continue; // it has its own turn
            }
            let announced = announce(&self.merging, entry, || choose(&entry.tree));
            let Some(announced) = announced else { continue };
            bytes += table_bytes;
            chosen.push(Chosen { entry, announced });
            if !is_small || bytes >= SMALL_BYTES_A_STEP || chosen.len() == TREES_A_STEP {
                break;
            }
        }
        chosen
    }

    /// Executes the choice, and makes all of it visible by one edit.
    fn compact_some(&self, chosen: &[Chosen<'_>], go_on: &dyn Fn() -> bool) -> Result<()> {
        let protected = self.snapshots.protected();
        let newest = protected.last().copied().unwrap_or(SeqNo::ZERO);
        let go_on = || !self.closing.load(Ordering::Relaxed) && go_on();
        let mut edits = Vec::with_capacity(chosen.len());
        if let Err(error) = self.write_chosen(chosen, &protected, &go_on, &mut edits) {
            let own = |edit: &TreeEdit| self.discard(edit, |meta| meta.shared.is_none());
            // Best effort: the next opening removes remaining files.
            let _ = edits.iter().try_for_each(|(_, edit)| own(edit));
            return Err(tree_error(error));
        }
        let _guard = self.maintenance.lock();
        let (mut done, trees) = (Vec::new(), self.trees.load_full());
        for (entry, edit) in edits {
            if trees.get(entry.info.id).is_ok() {
                done.push((entry, edit));
            } else {
                // The keyspace was dropped meanwhile: no manifest edit will name the new tables.
                hit(Mark::CompactedDropped);
                self.discard(&edit, |_| true)?;
            }
        }
        if done.is_empty() {
            return Ok(());
        }
        self.sync_table_folders().map_err(|error| self.poisoned_by(error))?;
        self.log_edit(&VersionEdit {
            trees: done.iter().map(|(entry, edit)| (entry.info.id, edit.clone())).collect(),
            next_table_id: Some(self.context.next_table_id()),
            ..VersionEdit::default()
        })?;
        for (entry, edit) in done {
            entry.tree.install(&edit, &[], newest).map_err(|error| self.poisoned_by(error))?;
        }
        self.activity.count_compaction();
        self.after_install();
        // A compaction's memory was in its thread's arena and stayed resident: 30 MiB with a limit
        // of 64 MiB.
        self.release_memory();
        Ok(())
    }

    /// Writes the new tables. Where it fails, `edits` has the trees whose tables were written, and
    /// no shared file is left.
    fn write_chosen<'a>(
        &self,
        chosen: &[Chosen<'a>],
        protected: &[SeqNo],
        go_on: &dyn Fn() -> bool,
        edits: &mut Vec<(&'a Arc<Entry>, TreeEdit)>,
    ) -> lsm::Result<()> {
        let mut shared = (chosen.len() > 1).then(|| SharedWriters::new(&self.context));
        for Chosen { entry, announced } in chosen {
            let shared = shared.as_mut().filter(|_| entry.tree.is_small());
            let shared = shared.map(|shared| shared.of(&entry.info.name));
            edits.push((entry, entry.tree.compact(&announced.choice, protected, shared, go_on)?));
        }
        shared.map_or(Ok(()), |shared| shared.finish())
    }

    /// Removes the new tables of an edit that no manifest will name, of those that `which` says.
    fn discard(&self, edit: &TreeEdit, which: fn(&TableMeta) -> bool) -> Result<()> {
        let new = edit.added.iter().map(|added| &added.meta);
        // A table that only moves still belongs to its tree.
        for meta in new.filter(|meta| !edit.removed.contains(&meta.id) && which(meta)) {
            self.context.discard_table(meta).map_err(env_error)?;
        }
        Ok(())
    }

    /// Compacts every keyspace into one run.
    pub(crate) fn compact_everything(self: &Arc<Self>, go_on: &dyn Fn() -> bool) -> Result<()> {
        self.check_writable()?;
        self.flush_all()?;
        let _one = self.compacting.lock();
        self.check_writable()?;
        let trees = self.trees.load_full();
        let mut left = trees.iter();
        loop {
            let chosen = self.choose_some(&mut left, Tree::choose_full_compaction);
            if chosen.is_empty() {
                break;
            }
            self.compact_some(&chosen, go_on)?;
        }
        *self.compaction_error.lock() = None;
        Ok(())
    }
}
