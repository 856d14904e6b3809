//! One tree: where its parts meet.
//!
//! # Concurrent calls
//! Any number of threads read. One at a time inserts and seals (the caller's write path), one at a
//! time flushes and installs, and one at a time compacts. These three do not wait for each other,
//! except for an instant while the super version is swapped.
//!
//! # Invariants
//! 1. A super version is replaced whole; a reader keeps the one it loaded.
//! 2. A flush or compaction installs nothing until its edit is in the manifest. The caller writes
//!    the edit between [`Tree::flush_sealed`] or [`Tree::compact`] and [`Tree::install`].
//! 3. The file of a table that left is removed only when no reader's version holds the table.

mod obsolete;

pub use obsolete::ObsoleteFiles;

use crate::changes::Changes;
use crate::compaction::snapshots::Snapshots;
use crate::compaction::{
    Choice, Levels, Output, Settled, choose, choose_all, choose_level0, compact, compaction_score,
    rows_with_level0,
};
use crate::context::Context;
use crate::counted::Counted;
use crate::error::Result;
use crate::flush::flush;
use crate::memtable::{Kinds, Memtable};
use crate::read::SuperVersion;
use crate::table::{SharedWriter, Table};
use crate::version::{AddedTable, TreeEdit, Version};
use base::{Batch, Key, KeyRange, KeyspaceId, SeqNo, Shape, TableId};
use env::sync::Mutex;
use env::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use env::sync::{ArcSwap, Guard};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A keyspace's rows: memtables over tables.
#[derive(Debug)]
pub struct Tree {
    context: Arc<Context>,
    keyspace: KeyspaceId,
    shape: Shape,
    state: ArcSwap<SuperVersion>,
    /// Held while a new super version is made from the present one.
    swap: Mutex<()>,
    /// Held while tables change; a tree opens the new ones meanwhile.
    install: Mutex<()>,
    next_run: AtomicU64,
    /// Oldest snapshot that the newest flush or compaction minded.
    oldest_snapshot: AtomicU64,
    obsolete: Mutex<ObsoleteFiles>,
    settled: Settled,
    /// Level 0 is to be merged once, be it full or not.
    merges_level0: AtomicBool,
    changes: Changes,
    counted: Counted,
}

/// The result of a flush.
#[derive(Clone, Debug)]
pub struct Flushed {
    /// For the manifest, then for [`Tree::install`].
    pub edit: TreeEdit,
    /// The memtables whose rows are in the edit's tables.
    pub memtables: Vec<Arc<Memtable>>,
}

/// Figures of one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Tables.
    pub tables: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Row versions in them.
    pub rows: u64,
}

/// Figures of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// Level 0 and deeper.
    pub levels: Vec<LevelStats>,
    /// Runs in level 0.
    pub level0_runs: u64,
    /// Bytes of all memtables.
    pub memtable_bytes: u64,
    /// Row versions in all memtables.
    pub memtable_rows: u64,
    /// Tables that left but may still be read.
    pub obsolete_tables: u64,
}

/// The result of [`Tree::verify`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Tables read.
    pub tables: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// Row versions in them.
    pub rows: u64,
}

impl Tree {
    /// Opens the tables that the manifest names.
    ///
    /// # Errors
    /// A missing or damaged table; `Invalid` where the tables break the version's invariants.
    pub fn open(
        context: Arc<Context>,
        keyspace: KeyspaceId,
        shape: Shape,
        tables: &[AddedTable],
    ) -> Result<Self> {
        let edit = TreeEdit { added: tables.to_vec(), removed: Vec::new() };
        let version =
            Version::empty().apply(&edit, &mut |meta| Table::open(&context, meta, &shape))?;
        tables.iter().for_each(|table| context.note_table(&table.meta));
        let next_run = version.next_run();
        let active = Arc::new(Memtable::new(&shape));
        let state = SuperVersion::new(
            active,
            Vec::new(),
            Arc::new(version),
            SeqNo::ZERO,
            context.options.read,
        );
        Ok(Self {
            context,
            keyspace,
            shape,
            state: ArcSwap::from_pointee(state),
            swap: Mutex::new(()),
            install: Mutex::new(()),
            next_run: next_run.into(),
            oldest_snapshot: 0.into(),
            obsolete: Mutex::default(),
            settled: Settled::default(),
            merges_level0: false.into(),
            changes: Changes::default(),
            counted: Counted::default(),
        })
    }

    /// The newest view, for a short read.
    #[must_use]
    pub fn view(&self) -> Guard<Arc<SuperVersion>> {
        self.state.load()
    }

    /// The newest view, to keep.
    #[must_use]
    pub fn view_full(&self) -> Arc<SuperVersion> {
        self.state.load_full()
    }

    /// The shape of its rows.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its keyspace.
    #[must_use]
    pub fn keyspace(&self) -> KeyspaceId {
        self.keyspace
    }

    /// The state that it shares with other trees.
    #[must_use]
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Writes rows into the active memtable, all with one sequence number. No reader sees that
    /// number yet.
    pub fn insert(&self, writes: &Batch, kinds: Kinds<'_>, seq: SeqNo) {
        self.changes.note(&writes.keys, seq);
        self.state.load().active.insert(writes, kinds, seq);
    }

    /// Deletes every key of `range` older than `seq`.
    pub fn delete_range(&self, range: KeyRange, seq: SeqNo) {
        self.changes.note_unlisted(seq);
        self.state.load().active.delete_range(range, seq);
    }

    /// Sequence number of the newest commit that changed a row, published or not; 0 if there was
    /// none since the tree was opened.
    #[must_use]
    pub fn newest_change(&self) -> SeqNo {
        self.changes.newest()
    }

    /// The distinct first key words of rows that commits after `since` up to `upto` changed,
    /// ascending. Returns `None` if that is not known. The first call starts the recording of later
    /// changes.
    #[must_use]
    pub fn changed_between(&self, since: SeqNo, upto: SeqNo) -> Option<Vec<u64>> {
        self.changes.between(since, upto)
    }

    /// Number of rows in `view` that a reader at `snapshot` without writes of its own sees. Cheap
    /// if little or nothing has changed since the last call.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn count(&self, view: &Arc<SuperVersion>, snapshot: SeqNo) -> Result<u64> {
        self.counted.count(view, &self.changes, snapshot)
    }

    /// Bytes of the active memtable.
    #[must_use]
    pub fn active_bytes(&self) -> u64 {
        self.state.load().active.bytes()
    }

    /// Runs in level 0: each costs one read per lookup.
    #[must_use]
    pub fn level0_runs(&self) -> usize {
        self.state.load().version.level0.len()
    }

    /// Whether there is no table. (There may be rows in memtables.)
    #[must_use]
    pub fn is_empty_of_tables(&self) -> bool {
        self.state.load().version.is_empty()
    }

    /// Whether a table of any level holds, or may hold, keys from `first` to `last`.
    pub fn reaches_into(&self, first: &Key, last: &Key) -> bool {
        let state = self.state.load();
        let version = &state.version;
        let runs = version.level0.iter().map(|(_, run)| run).chain(&version.levels);
        let mut tables = runs.flat_map(|run| &run.tables).map(|table| &table.meta().summary);
        tables.any(|table| table.first_key <= *last && *first <= table.last_key)
    }

    /// A number for a run of level 0 that is newer than all runs so far.
    pub fn next_run(&self) -> u64 {
        self.next_run.fetch_add(1, Ordering::Relaxed)
    }

    /// Makes the active memtable a sealed one, if it is not empty, and begins a new one.
    pub fn seal(&self) -> Option<Arc<Memtable>> {
        let _swap = self.swap.lock();
        let now = self.state.load();
        if now.active.is_empty() {
            return None;
        }
        let active = now.active.clone();
        let sealed = [&active].into_iter().chain(&now.sealed).cloned().collect();
        self.state.store(Arc::new(SuperVersion::new(
            Arc::new(Memtable::new(&self.shape)),
            sealed,
            now.version.clone(),
            now.oldest_readable,
            self.context.options.read,
        )));
        Some(active)
    }

    /// Writes the sealed memtables into tables; `None` if there are none. For each key it keeps the
    /// versions that `snapshots`, ascending, or a reader newer than all rows see. If rows are newer
    /// than a reader that may still start (committed, not published), `snapshots` must contain that
    /// reader's number. The tables go into a file of `shared`, if it is given.
    ///
    /// # Errors
    /// A failed write; no file is left then.
    pub fn flush_sealed(
        &self,
        snapshots: &[SeqNo],
        shared: Option<&Arc<SharedWriter>>,
    ) -> Result<Option<Flushed>> {
        let now = self.state.load_full();
        if now.sealed.is_empty() {
            return Ok(None);
        }
        self.note_snapshots(snapshots);
        let memtables = now.sealed.clone();
        let run = self.next_run();
        let to = Output { context: &self.context, shared };
        let edit = flush(to, &self.shape, &now.version, &memtables, run, snapshots)?;
        Ok(Some(Flushed { edit, memtables }))
    }

    /// Whether there are sealed memtables, with so few bytes that their table should share a file.
    #[must_use]
    pub fn has_little_sealed(&self) -> bool {
        let sealed = &self.state.load().sealed;
        !sealed.is_empty() && self.is_little(sealed)
    }

    fn is_little(&self, memtables: &[Arc<Memtable>]) -> bool {
        let bytes: u64 = memtables.iter().map(|memtable| memtable.bytes()).sum();
        bytes <= self.context.options.shared_bytes_max
    }

    /// Writes the rows of all memtables as tables of another database. `context` says where its
    /// tables lie and how they are numbered; small ones go into files of `shared`. Below them lie
    /// copies of this tree's tables. Nothing is changed here. The tree must not be written to
    /// meanwhile.
    ///
    /// # Errors
    /// A failed write; no file is left then.
    pub fn flush_into(
        &self,
        context: &Arc<Context>,
        shared: &Arc<SharedWriter>,
    ) -> Result<TreeEdit> {
        let now = self.state.load_full();
        let memtables: Vec<_> = [&now.active].into_iter().chain(&now.sealed).cloned().collect();
        if memtables.iter().all(|memtable| memtable.is_empty()) {
            return Ok(TreeEdit::default());
        }
        // Of each key the newest version is enough: the other database has no readers yet.
        let shared = self.is_little(&memtables).then_some(shared);
        let to = Output { context, shared };
        flush(to, &self.shape, &now.version, &memtables, now.version.next_run(), &[])
    }

    /// Makes an edit that is in the manifest visible. `drop_sealed`: memtables whose rows the edit
    /// holds. `oldest_readable`: readers with older snapshots that are not protected must load a
    /// newer view.
    ///
    /// # Errors
    /// A new table that cannot be opened, or an edit that does not fit; nothing was changed.
    pub fn install(
        &self,
        edit: &TreeEdit,
        drop_sealed: &[Arc<Memtable>],
        oldest_readable: SeqNo,
    ) -> Result<()> {
        let _install = self.install.lock();
        // Tables with a number of their own are a bulk load's.
        let loaded =
            edit.added.iter().map(|table| table.meta.global_seq).max().unwrap_or(SeqNo::ZERO);
        if loaded > self.changes.newest() {
            self.changes.note_unlisted(loaded);
        }
        let before = self.state.load().version.clone();
        let version = before
            .apply(edit, &mut |meta| Table::open(&self.context, meta, &self.shape))
            .map(Arc::new)?;
        self.next_run.fetch_max(version.next_run(), Ordering::Relaxed);
        {
            let _swap = self.swap.lock();
            let now = self.state.load();
            let stays = |memtable: &&Arc<Memtable>| {
                !drop_sealed.iter().any(|dropped| Arc::ptr_eq(dropped, memtable))
            };
            let sealed = now.sealed.iter().filter(stays).cloned().collect();
            let oldest = now.oldest_readable.max(oldest_readable);
            let next = SuperVersion::new(
                now.active.clone(),
                sealed,
                version.clone(),
                oldest,
                self.context.options.read,
            );
            self.state.store(Arc::new(next));
        }
        let still: BTreeSet<TableId> = version.tables().map(|(_, _, t)| t.meta().id).collect();
        let gone = before.tables().filter(|(_, _, table)| !still.contains(&table.meta().id));
        let mut obsolete = self.obsolete.lock();
        for (_, _, table) in gone {
            self.settled.remove(table.meta().id);
            obsolete.add(&self.context, table.clone());
        }
        Ok(())
    }

    /// The levels, for the choice of a compaction.
    fn levels(&self) -> Levels {
        self.settled.levels_of(&self.state.load().version)
    }

    /// The most urgent compaction.
    #[must_use]
    pub fn choose_compaction(&self) -> Choice {
        let oldest = SeqNo(self.oldest_snapshot.load(Ordering::Relaxed));
        let levels = self.levels();
        if self.merges_level0.swap(false, Ordering::AcqRel) {
            let choice = choose_level0(&levels, &self.context.options);
            if choice != Choice::Nothing {
                return choice;
            }
        }
        match choose(&levels, &self.context.options, oldest) {
            Choice::Nothing => self.choose_sparse(),
            choice => choice,
        }
    }

    /// A table whose file is kept for it and a few others, although most of the file is unused: to
    /// another file.
    fn choose_sparse(&self) -> Choice {
        let state = self.state.load();
        let mut tables = state.version.tables();
        let unused = self.context.options.shared_bytes_max;
        let sparse = tables.find(|(.., table)| self.context.shared.is_sparse(table.meta(), unused));
        match sparse {
            None => Choice::Nothing,
            Some((0, ..)) => choose_level0(&self.levels(), &self.context.options),
            Some((into, _, table)) => Choice::Merge { tables: vec![table.meta().id], into },
        }
    }

    /// Bytes of its tables.
    #[must_use]
    pub fn table_bytes(&self) -> u64 {
        let state = self.state.load();
        state.version.tables().map(|(.., table)| table.meta().summary.bytes).sum()
    }

    /// Whether its tables have so few bytes that they should share a file with others.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.table_bytes() <= self.context.options.shared_bytes_max
    }

    /// The next compaction that is chosen merges level 0, be it full or not.
    pub fn merge_level0_next(&self) {
        self.merges_level0.store(true, Ordering::Release);
    }

    /// Whether [`Tree::merge_level0_next`] waits for its compaction.
    #[must_use]
    pub fn merges_level0_next(&self) -> bool {
        self.merges_level0.load(Ordering::Acquire)
    }

    /// Versions in memtables.
    #[must_use]
    pub fn rows_in_memory(&self) -> u64 {
        let now = self.state.load();
        now.sealed.iter().chain([&now.active]).map(|memtable| memtable.rows()).sum()
    }

    /// How full the fullest level is, in thousandths; see [`compaction_score`].
    #[must_use]
    pub fn compaction_score(&self) -> u64 {
        compaction_score(&self.levels(), &self.context.options)
    }

    /// Rows that a merge of level 0 reads if it has keys from everywhere.
    #[must_use]
    pub fn rows_with_level0(&self) -> u64 {
        rows_with_level0(&self.levels(), &self.context.options)
    }

    /// Everything into one run at the bottom; `Nothing` if it is that already. Rows in memtables
    /// stay there: flush first.
    #[must_use]
    pub fn choose_full_compaction(&self) -> Choice {
        match choose_all(&self.levels()) {
            Choice::Nothing => self.choose_sparse(),
            choice => choice,
        }
    }

    /// First and last key of the tables of a choice; `None` where it has none.
    #[must_use]
    pub fn span_of(&self, choice: &Choice) -> Option<(Key, Key)> {
        let (Choice::Move { tables: chosen, .. } | Choice::Merge { tables: chosen, .. }) = choice
        else {
            return None;
        };
        let state = self.state.load();
        let tables = state.version.tables().map(|(_, _, table)| table.meta());
        let spans = tables.filter(|meta| chosen.contains(&meta.id)).map(|meta| &meta.summary);
        spans.fold(None, |span, summary| {
            let (first, last) = (&summary.first_key, &summary.last_key);
            Some(match span {
                None => (first.clone(), last.clone()),
                Some((least, most)) => (least.min(first.clone()), most.max(last.clone())),
            })
        })
    }

    /// Carries out a choice: writes tables, installs nothing. `snapshots` as for
    /// [`Tree::flush_sealed`], and `shared` too; `go_on` is asked between steps of some thousand
    /// rows.
    ///
    /// # Errors
    /// A failed read or write, corruption, or [`crate::Error::Cancelled`]; no file is left then.
    pub fn compact(
        &self,
        choice: &Choice,
        snapshots: &[SeqNo],
        shared: Option<&Arc<SharedWriter>>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<TreeEdit> {
        self.note_snapshots(snapshots);
        let now = self.state.load_full();
        let snapshots = Snapshots::new(snapshots);
        let to = Output { context: &self.context, shared };
        let edit = compact(to, &self.shape, &now.version, choice, snapshots, go_on)?;
        self.settled.note(choice, &edit, snapshots.oldest());
        Ok(edit)
    }

    /// The keyspace was dropped: all its tables are obsolete once the last reader and the tree
    /// itself are gone. Their files are then removed by `obsolete`.
    pub fn retire(&self, obsolete: &mut ObsoleteFiles) {
        let _install = self.install.lock();
        obsolete.append(&mut self.obsolete.lock());
        let now = self.state.load();
        now.version.tables().for_each(|(_, _, t)| obsolete.add(&self.context, t.clone()));
    }

    /// Drops the rows in memtables (of a dropped keyspace). Readers keep the super version they
    /// loaded.
    pub fn drop_memory(&self) {
        let _swap = self.swap.lock();
        let now = self.state.load();
        let active = Arc::new(Memtable::new(&self.shape));
        let next = SuperVersion::new(
            active,
            Vec::new(),
            now.version.clone(),
            now.oldest_readable,
            self.context.options.read,
        );
        self.state.store(Arc::new(next));
    }

    /// Removes files of tables that left and that no reader holds; returns how many.
    pub fn collect_obsolete(&self) -> usize {
        self.obsolete.lock().collect(&self.context)
    }

    /// Figures of now.
    #[must_use]
    pub fn stats(&self) -> TreeStats {
        let now = self.state.load();
        let mut stats = TreeStats {
            levels: vec![LevelStats::default(); 1 + crate::version::LEVEL_MAX],
            level0_runs: now.version.level0.len() as u64,
            obsolete_tables: self.obsolete.lock().len() as u64,
            ..TreeStats::default()
        };
        for (level, _, table) in now.version.tables() {
            let summary = &table.meta().summary;
            stats.levels[level].tables += 1;
            stats.levels[level].bytes += summary.bytes;
            stats.levels[level].rows += summary.rows;
        }
        for memtable in now.sealed.iter().chain([&now.active]) {
            stats.memtable_bytes += memtable.bytes();
            stats.memtable_rows += memtable.rows();
        }
        stats
    }

    /// Reads every table and checks checksums and order. `progress` gets the bytes checked so far
    /// and returns whether to go on. (That runs do not overlap was checked when the version was
    /// made.)
    ///
    /// # Errors
    /// The first damage, a failed read, or [`crate::Error::Cancelled`].
    pub fn verify(&self, progress: &mut dyn FnMut(u64) -> bool) -> Result<Verified> {
        let now = self.state.load_full();
        let mut verified = Verified::default();
        for (_, _, table) in now.version.tables() {
            table.verify(&mut |bytes| progress(verified.bytes + bytes))?;
            verified.tables += 1;
            verified.bytes += table.meta().summary.bytes;
            verified.rows += table.meta().summary.rows;
        }
        Ok(verified)
    }

    fn note_snapshots(&self, snapshots: &[SeqNo]) {
        let oldest = Snapshots::new(snapshots).oldest();
        self.oldest_snapshot.store(oldest.0, Ordering::Relaxed);
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod models;
#[cfg(test)]
mod tests;
