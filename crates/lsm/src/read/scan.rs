//! Scans: the visible rows of a range in key order, appended to the caller's batch as columns.

use super::columns::append_rows;
use super::fold::Fold;
use super::merge::Heads;
use super::merge_order::MergeOrder;
use super::runs::RunView;
use super::source::{
    CHUNK_ROWS, MemSource, RunSource, Source, read_block, read_window, single_first_word, window,
};
use super::{Covers, ReadAt, SuperVersion};
use crate::error::Result;
use crate::memtable::Memtable;
use crate::table::{Block, Fill};
use base::{Batch, Key, KeyRange, KeyRef, Kind, Projection, SeqNo, Shape};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Blocks read at once that a lookup may need, and that are kept at once.
const KEPT_BLOCKS_MAX: usize = 4;

/// How much a scan appends at most.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Rows.
    pub rows: usize,
    /// Bytes of byte strings after which no further block is read.
    pub bytes: usize,
}

impl Most {
    /// So many rows, however long they are.
    #[must_use]
    pub fn rows(rows: usize) -> Self {
        Self { rows, bytes: usize::MAX }
    }
}

impl SuperVersion {
    /// Appends up to `limit` rows of the range to `out`, in key order.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn scan_into(
        &self,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        self.scan_within(range, at, projection, Most::rows(limit), out)
    }

    /// The same for at most this many rows. It reads no further block once these byte strings are
    /// long enough.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn scan_within(
        &self,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        most: Most,
        out: &mut Batch,
    ) -> Result<()> {
        let limit = most.rows;
        if self.append_layers(range, at, projection, limit, out)? {
            return Ok(());
        }
        match self.plan(range, at) {
            Plan::Nothing => return Ok(()),
            Plan::Run(run) => {
                return append_run(run, range, projection, most, Fill::of(limit), out);
            }
            Plan::Patch(patch) if limit == usize::MAX => {
                if patch.append(self, range, at, projection, out)? {
                    return Ok(());
                }
            }
            Plan::Patch(_) | Plan::Merge => {}
        }
        let mut scan = self.merged_scan(range, at, projection, limit)?;
        scan.bytes_max = most.bytes;
        scan.append(limit, out)
    }

    /// Where the rows of a range come from.
    pub(super) fn plan<'a>(&'a self, range: &KeyRange, at: ReadAt<'a>) -> Plan<'a> {
        if self.has_tombstones(at) {
            return Plan::Merge;
        }
        let lower = range.lower.as_ref();
        let word = single_first_word(range);
        let holds = |memtable: &Memtable| {
            if word.is_some_and(|word| !memtable.may_contain_first_word(word)) {
                return false;
            }
            let entry = memtable.entry_at(memtable.place_of(lower));
            entry.is_some_and(|entry| {
                range.upper.as_ref().is_none_or(|upper| entry.key().as_ref() < upper.as_ref())
            })
        };
        let mut above = None;
        for (memtable, snapshot) in self.layers_in_memory(at) {
            if holds(memtable) {
                if above.is_some() {
                    return Plan::Merge;
                }
                above = Some((memtable, snapshot));
            }
        }
        let mut only = None;
        for run in &self.runs {
            // Whether the last of several can be left out is not worth a look at its filter.
            if self.runs.len() > 1 && !run.may_reach(range, at.snapshot) {
                continue;
            }
            if only.is_some() || !run.is_plain_at(at.snapshot) {
                return Plan::Merge;
            }
            only = Some(run);
        }
        match (above, only) {
            (None, None) => Plan::Nothing,
            (None, Some(run)) => Plan::Run(run),
            (Some((memtable, snapshot)), run) => Plan::Patch(Patch { memtable, snapshot, run }),
        }
    }

    pub(super) fn merged_scan<'a>(
        &'a self,
        range: &KeyRange,
        at: ReadAt<'a>,
        projection: Projection,
        limit: usize,
    ) -> Result<VisibleScan<'a>> {
        let fill = Fill::of(limit);
        let chunk_rows = limit.clamp(16, CHUNK_ROWS);
        let mut sources = Vec::new();
        if let Some(own) = at.own() {
            let own = MemSource::seen(own, range.clone(), at.snapshot, projection, chunk_rows);
            let own = own.into_own();
            sources.push(Source::Other(Box::new(own)));
        }
        let mut runs = Vec::new();
        self.run_sources(range, at.snapshot, projection, fill, chunk_rows, &mut runs);
        let source = |memtable: &'a Arc<Memtable>| {
            MemSource::seen(&**memtable, range.clone(), at.snapshot, projection, chunk_rows)
        };
        self.shared_sources(source, runs, &mut sources);
        let covers = self.covers(at, range);
        let mut scan = VisibleScan::new(self, sources, at.snapshot, covers, projection)?;
        // Short ones would wait for each other at the number.
        if limit > CHUNK_ROWS {
            scan.heads.add_scan_debt_to(&self.scan_debt);
        }
        Ok(scan)
    }

    /// Appends the memtables, newest first, then the runs. The oldest memtable leaves out deletions
    /// if no run has rows of the range.
    fn shared_sources<'a, 's, M: Deref<Target = Memtable> + Send + 's>(
        &'a self,
        source: impl Fn(&'a Arc<Memtable>) -> MemSource<M>,
        mut runs: Vec<Source<'s>>,
        sources: &mut Vec<Source<'s>>,
    ) {
        let mut memtables = self.memtables().peekable();
        while let Some(memtable) = memtables.next() {
            let source = source(memtable);
            let is_last = runs.is_empty() && memtables.peek().is_none();
            let source = if is_last { source.into_last() } else { source };
            sources.push(Source::Other(Box::new(source)));
        }
        sources.append(&mut runs);
    }

    pub(super) fn run_sources(
        &self,
        range: &KeyRange,
        snapshot: SeqNo,
        projection: Projection,
        fill: Fill,
        chunk_rows: usize,
        sources: &mut Vec<Source<'_>>,
    ) {
        for (number, run) in self.runs.iter().enumerate() {
            let tables = run.tables_in(range, snapshot);
            if !tables.is_empty() {
                let range = range.clone();
                let plain = run.is_plain_at(snapshot);
                let mut run = RunSource::projected(tables, range, projection, fill, chunk_rows);
                run.is_plain = plain;
                run.is_passing = number < self.level0_runs;
                // Most rows of a short scan lie in the deepest run.
                if fill == Fill::Keep && number + 1 == self.runs.len() {
                    run.expect(chunk_rows);
                }
                sources.push(Source::Run(Box::new(run)));
            }
        }
    }

    /// As the scan of [`SuperVersion::scan_into`], keeping the super version alive.
    pub(super) fn shared_scan(
        &self,
        range: &KeyRange,
        snapshot: SeqNo,
        overlay: Option<&Arc<Memtable>>,
        projection: Projection,
    ) -> Result<VisibleScan<'static>> {
        let at = ReadAt { snapshot, overlay: overlay.map(|overlay| &**overlay) };
        let mut sources = Vec::new();
        let source = |memtable: &Arc<Memtable>| {
            MemSource::seen(Arc::clone(memtable), range.clone(), snapshot, projection, CHUNK_ROWS)
        };
        if let Some(own) = overlay.filter(|overlay| !overlay.is_empty()) {
            sources.push(Source::Other(Box::new(source(own).into_own())));
        }
        let mut runs = Vec::new();
        self.run_sources(range, snapshot, projection, Fill::Once, CHUNK_ROWS, &mut runs);
        self.shared_sources(source, runs, &mut sources);
        let covers = self.covers(at, range);
        let mut scan = VisibleScan::new(self, sources, snapshot, covers, projection)?;
        scan.heads.add_scan_debt_to(&self.scan_debt);
        Ok(scan)
    }
}

impl Fill {
    /// The cache policy of a scan for up to `limit` rows.
    pub(super) fn of(limit: usize) -> Self {
        if limit > CHUNK_ROWS { Self::Once } else { Self::Keep }
    }

    /// The same if this many blocks are read together. They are kept only once they are read again,
    /// because keeping them costs more than reading them.
    pub(super) fn of_blocks(self, blocks: usize) -> Self {
        if self == Self::Keep && blocks > KEPT_BLOCKS_MAX { Self::Range } else { self }
    }
}

/// How a range is read.
pub(super) enum Plan<'a> {
    Nothing,
    /// One run that has only visible rows.
    Run(&'a RunView),
    /// The same, perhaps, under one memtable.
    Patch(Patch<'a>),
    Merge,
}

/// Rows of one run that has only visible rows, under the entries of one memtable.
///
/// # Why apart from the merge
/// A few fresh rows are the common case while a relation is written. The other rows are copied from
/// the block to the caller in ranges between them, without any setup. Keys of two words are read
/// this way from any number of sources if their values are plain words (`layers.rs`). This handles
/// all others.
pub(super) struct Patch<'a> {
    memtable: &'a Memtable,
    snapshot: SeqNo,
    run: Option<&'a RunView>,
}

impl Patch<'_> {
    /// Appends the rows of `range` if they lie in one block; else returns `false`, nothing done.
    pub(super) fn append(
        &self,
        view: &SuperVersion,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        out: &mut Batch,
    ) -> Result<bool> {
        let mut below = None;
        if let Some(run) = self.run {
            let number = run.table_for(range.lower.as_ref());
            if let Some(table) = run.tables.get(number) {
                let blocks = table.blocks_overlapping(range);
                if blocks.len() > 1 || run.reaches_past(number, range) {
                    return Ok(false);
                }
                if !blocks.is_empty() {
                    let block = read_block(table, blocks.start, true, projection, Fill::Keep)?;
                    let rows = block.rows_in(range);
                    below = Some((block, rows));
                }
            }
        }
        let mut fold = Fold::new();
        let mut cursor = self.memtable.cursor(range.lower.as_ref());
        while let Some(entry) = cursor.entry() {
            let key = entry.key();
            let key = key.as_ref();
            if range.upper.as_ref().is_some_and(|upper| key >= upper.as_ref()) {
                break;
            }
            if let Some(version) = entry.seen_at(self.snapshot) {
                if let Some((block, rows)) = &mut below {
                    let to = block.lower_bound(key).clamp(rows.start, rows.end);
                    block.append_read(rows.start..to, projection, out)?;
                    let same = to < rows.end && block.key_eq(to, key);
                    rows.start = to + usize::from(same);
                }
                if version.kind() == Kind::Put as u8 {
                    super::get::push_entry(version, key, projection, out);
                } else if version.kind() == Kind::Merge as u8 {
                    view.fold_key(key, at, projection, &mut fold)?;
                    fold.push(key, projection, out);
                }
            }
            cursor.skip_key();
        }
        if let Some((block, rows)) = below {
            block.append_read(rows, projection, out)?;
        }
        Ok(true)
    }
}

/// Appends rows of a run that has only visible rows.
pub(super) fn append_run(
    run: &RunView,
    range: &KeyRange,
    projection: Projection,
    most: Most,
    fill: Fill,
    out: &mut Batch,
) -> Result<()> {
    let mut left = most.rows;
    let end_bytes = out.heap_bytes().saturating_add(most.bytes);
    let start = run.table_for(range.lower.as_ref());
    for table in run.tables.get(start..).unwrap_or_default() {
        let blocks = table.blocks_overlapping(range);
        if blocks.is_empty() {
            let first = table.meta().summary.first_key.as_ref();
            if range.upper.as_ref().is_some_and(|upper| first >= upper.as_ref()) {
                break;
            }
        }
        let mut blocks = blocks;
        while !blocks.is_empty() {
            if left == 0 || out.heap_bytes() >= end_bytes {
                return Ok(());
            }
            let window = window(table, &blocks, left);
            blocks.start = window.end;
            if window.len() == 1 {
                let block = read_block(table, window.start, true, projection, fill)?;
                left -= append_block(&block, range, projection, left, out)?;
                continue;
            }
            // Most rows of several blocks are wanted: they are read as they are.
            for block in read_window(table, window, false, projection, fill)? {
                if out.heap_bytes() >= end_bytes {
                    return Ok(());
                }
                left -= append_block(&block, range, projection, left, out)?;
            }
        }
    }
    Ok(())
}

/// Appends up to `limit` of a block's rows within a range; returns how many.
fn append_block(
    block: &Block,
    range: &KeyRange,
    projection: Projection,
    limit: usize,
    out: &mut Batch,
) -> Result<usize> {
    if limit >= block.rows() && !block.lacks(projection) {
        return Ok(block.append_range(range, projection, out).len());
    }
    let rows = block.rows_in(range);
    let rows = rows.start..rows.end.min(rows.start.saturating_add(limit));
    block.append_read(rows.clone(), projection, out)?;
    Ok(rows.len())
}

/// The rows that a reader sees, from merged sources.
pub(super) struct VisibleScan<'a> {
    pub(super) heads: Heads<'a>,
    shape: Shape,
    snapshot: SeqNo,
    covers: Covers,
    projection: Projection,
    fold: Fold,
    /// The key decided last: what else comes of it is older.
    done: Option<Key>,
    merge_order: MergeOrder,
    /// Bytes of byte strings after which [`VisibleScan::append`] returns.
    pub(super) bytes_max: usize,
    /// See [`ReadThresholds::long_rows`](super::ReadThresholds::long_rows).
    long_rows: usize,
}

impl<'a> VisibleScan<'a> {
    pub(super) fn new(
        version: &SuperVersion,
        sources: Vec<Source<'a>>,
        snapshot: SeqNo,
        covers: Covers,
        projection: Projection,
    ) -> Result<Self> {
        Ok(Self {
            // Under range tombstones a row that is seen may be deleted: then none decides.
            heads: Heads::new(version.shape(), sources, covers.is_empty().then_some(snapshot))?,
            shape: version.shape().clone(),
            snapshot,
            covers,
            projection,
            fold: Fold::new(),
            done: None,
            merge_order: MergeOrder::default(),
            bytes_max: usize::MAX,
            long_rows: version.thresholds.long_rows,
        })
    }

    /// Appends up to `limit` of the next rows.
    pub(super) fn append(&mut self, limit: usize, out: &mut Batch) -> Result<()> {
        let end = out.rows.saturating_add(limit);
        let end_bytes = out.heap_bytes().saturating_add(self.bytes_max);
        while out.rows < end && out.heap_bytes() < end_bytes {
            if self.heads.all_decide() {
                if self.heads.heads.is_empty() {
                    return Ok(());
                }
                self.append_decided(end - out.rows, out)?;
                continue;
            }
            let Some((first, second)) = self.heads.first_two() else { return Ok(()) };
            let run_end = self.heads.run_end(first, second);
            let plain = self.plain_rows(first, run_end, end - out.rows);
            if plain.is_empty() {
                if self.decide_next(first)? {
                    let key = self.done.take();
                    if let Some(key) = &key {
                        self.fold.push(key.as_ref(), self.projection, out);
                    }
                    self.done = key;
                }
                continue;
            }
            let head = &self.heads.heads[first];
            let rows = (&head.rows.keys, &head.rows.values[..]);
            append_rows(out, rows, plain.clone(), self.projection);
            self.done = Some(head.rows.keys.get(plain.end - 1));
            self.heads.advance(first, plain.end)?;
        }
        Ok(())
    }

    /// Appends the next rows, at most `limit`, where each that is at hand decides its key.
    fn append_decided(&mut self, limit: usize, out: &mut Batch) -> Result<()> {
        let before = out.rows;
        self.merge_order.find(&self.heads.heads, limit);
        self.merge_order.append(&self.heads.heads, self.projection, out);
        let (head, row) = self.merge_order.last;
        // Older versions may come with the next chunk of a source.
        self.done = Some(self.heads.heads[head].rows.keys.get(row));
        let mut ended = self.merge_order.ended;
        for head in (0..self.heads.heads.len()).rev() {
            if ended == Some(head) {
                continue;
            }
            let heads = self.heads.heads.len();
            self.heads.advance(head, self.merge_order.at[head])?;
            // A head that is at its end leaves the list.
            if self.heads.heads.len() < heads {
                ended = ended.map(|ended| ended - usize::from(head < ended));
            }
        }
        let Some(first) = ended else { return Ok(()) };
        self.append_blocks(first, limit - (out.rows - before), out)?;
        let end = self.heads.heads[first].len;
        self.heads.advance(first, end)
    }

    /// Appends the rows after the current chunk of `first`, at most `limit` rows, from its blocks
    /// to the batch. Does so only if it is a plain run and long ranges of it come before the
    /// current rows of the other heads. Going through a chunk would double the cost.
    fn append_blocks(&mut self, first: usize, limit: usize, out: &mut Batch) -> Result<()> {
        let upper = self.heads.least_but(first).map(|second| {
            let head = &self.heads.heads[second];
            head.rows.keys.get(head.at)
        });
        let Source::Run(run) = &mut self.heads.heads[first].source else { return Ok(()) };
        let mut left = if run.is_plain { limit } else { 0 };
        let end_bytes = out.heap_bytes().saturating_add(self.bytes_max);
        while left > 0 && out.heap_bytes() < end_bytes {
            let Some((block, rows)) = run.block()? else { break };
            let before = upper.as_ref().map_or(rows.end, |upper| block.lower_bound(upper.as_ref()));
            let end = before.clamp(rows.start, rows.end).min(rows.start.saturating_add(left));
            let is_last = end < rows.end;
            if is_last && end - rows.start < self.long_rows {
                break;
            }
            block.append_read(rows.start..end, self.projection, out)?;
            left -= end - rows.start;
            rows.start = end;
            if is_last {
                // The others come next, then perhaps another long piece.
                run.chunk_rows = self.long_rows;
                break;
            }
        }
        Ok(())
    }

    /// The rows at hand that are visible unchanged: no other source has their keys, no other
    /// version follows in the chunk, nothing lies over them.
    fn plain_rows(&self, first: usize, run_end: usize, limit: usize) -> Range<usize> {
        let head = &self.heads.heads[first];
        let rows = &head.rows;
        let at = head.at;
        if head.is_plain() && self.covers.is_empty() {
            return at..run_end.min(at.saturating_add(limit));
        }
        let mut buffer = [0; base::WORDS_MAX];
        let again = self.done.as_ref().is_some_and(|d| d.as_ref() == head.key(at, &mut buffer));
        if again || run_end == at {
            return at..at;
        }
        let end = run_end.min(at.saturating_add(limit));
        let mut row = at;
        while row < end {
            let seq = rows.seq(row);
            let visible = rows.kind(row) == Kind::Put as u8 && seq <= self.visible_max(seq);
            let repeated = row + 1 < head.len
                && crate::memtable::compare_rows(&rows.keys, row, row + 1).is_eq();
            if !visible || repeated || self.is_covered(head.key(row, &mut buffer), seq) {
                break;
            }
            row += 1;
        }
        at..row
    }

    /// A transaction's own rows carry the largest number there is and are seen by it.
    fn visible_max(&self, seq: SeqNo) -> SeqNo {
        if seq == crate::memtable::SEQ_STORED_MAX { seq } else { self.snapshot }
    }

    fn is_covered(&self, key: KeyRef<'_>, seq: SeqNo) -> bool {
        !self.covers.is_empty() && is_deleted(self.covers.over(key), seq)
    }

    /// Advances past all versions of the next key. [`VisibleScan::done`] is then that key, and the
    /// fold holds the visible version of it. Returns whether it is a row.
    pub(super) fn decide_next(&mut self, first: usize) -> Result<bool> {
        let head = &self.heads.heads[first];
        let key = head.rows.keys.get(head.at);
        let done = self.done.as_ref() == Some(&key);
        let cover =
            if self.covers.is_empty() { SeqNo::ZERO } else { self.covers.over(key.as_ref()) };
        self.fold.reset();
        let mut next = Some(first);
        while let Some(i) = next {
            let head = &self.heads.heads[i];
            let seq = head.seq();
            if !done && !self.fold.is_decided() && seq <= self.visible_max(seq) {
                if is_deleted(cover, seq) {
                    self.fold.end();
                } else {
                    let kind = head.rows.kind(head.at);
                    self.fold.add(&self.shape, self.projection, kind, &(&head.rows, head.at));
                }
            }
            let to = head.at + 1;
            self.heads.advance(i, to)?;
            next = self.heads.first_two().map(|(first, _)| first).filter(|&i| {
                let head = &self.heads.heads[i];
                let mut buffer = [0; base::WORDS_MAX];
                head.key(head.at, &mut buffer) == key.as_ref()
            });
        }
        self.done = Some(key);
        Ok(!done && self.fold.is_present())
    }

    /// Goes past the next key; `None` at the end.
    pub(super) fn decide(&mut self) -> Result<Option<(Key, super::fold::Outcome)>> {
        let Some((first, _)) = self.heads.first_two() else { return Ok(None) };
        self.decide_next(first)?;
        let key = self.done.clone();
        Ok(key.map(|key| (key, self.fold.outcome)))
    }
}

/// Whether a row with number `seq` lies under a tombstone with number `cover` (0: none).
pub(super) fn is_deleted(cover: SeqNo, seq: SeqNo) -> bool {
    // A transaction's own rows are hidden by its own tombstones before they come here.
    seq < cover && seq != crate::memtable::SEQ_STORED_MAX
}
