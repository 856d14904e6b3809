//! Rows of a range, the last first.
//!
//! # Why pieces and no backward cursors
//! The visible version of a key is found from its newest version to its oldest, and that is
//! forward in every source. So the range is cut below its upper end, at a key that every source
//! finds without a search from the front. The forward code reads the piece behind it, so visibility
//! is implemented once. A short scan reads one block per source, as a forward scan does.
//!
//! # Invariants
//! 1. A piece begins at a key, never between two versions of one.
//! 2. A piece holds at most about the wanted number of versions of each source, and at least one of
//!    some source, or reaches down to the range's lower end.

use super::columns::append_reversed;
use super::runs::RunView;
use super::scan::{Most, Plan, append_run};
use super::source::{CHUNK_ROWS, WINDOW_BLOCKS, WINDOW_BYTES, read_window};
use super::{ReadAt, SuperVersion};
use crate::error::Result;
use crate::table::{Fill, Table};
use base::{Batch, Key, KeyRange, Projection, SeqNo};
use std::ops::Range;
use std::sync::Arc;

/// Versions of a source in the first piece, at least.
const WANTED_MIN: usize = 16;
/// Pieces double up to this while their rows are hidden.
const WANTED_MAX: usize = 4 * CHUNK_ROWS;

impl SuperVersion {
    /// Appends the last `limit` rows of the range to `out`, the last first.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn scan_back_into(
        &self,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        let wanted = limit.clamp(WANTED_MIN, CHUNK_ROWS);
        self.scan_back_in_pieces(range, at, projection, limit, wanted, out)
    }

    /// As [`SuperVersion::scan_back_into`]; the first piece holds about `wanted` versions of a
    /// source.
    pub(super) fn scan_back_in_pieces(
        &self,
        range: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        limit: usize,
        mut wanted: usize,
        out: &mut Batch,
    ) -> Result<()> {
        let mut rest = range.clone();
        let mut left = limit;
        let mut rows = Batch::new(self.shape());
        while left > 0 && !rest.is_empty() {
            match self.plan(&rest, at) {
                Plan::Nothing => return Ok(()),
                Plan::Run(run) => {
                    let fill = Fill::of(limit);
                    return append_run_back(run, &rest, projection, left, fill, &mut rows, out);
                }
                Plan::Patch(_) | Plan::Merge => {}
            }
            let fence = self.fence(&rest, at, wanted, Fill::of(limit))?;
            let lower = fence.filter(|fence| *fence > rest.lower);
            let last = lower.is_none();
            let lower = lower.unwrap_or_else(|| rest.lower.clone());
            let piece = KeyRange { lower, upper: rest.upper.take() };
            rows.clear();
            self.append_piece(&piece, at, projection, limit.max(wanted), &mut rows)?;
            left -= append_reversed(out, &rows, left, projection);
            if last {
                return Ok(());
            }
            rest.upper = Some(piece.lower);
            wanted = (wanted * 2).min(WANTED_MAX);
        }
        Ok(())
    }

    /// Appends the rows of a piece, in key order.
    fn append_piece(
        &self,
        piece: &KeyRange,
        at: ReadAt<'_>,
        projection: Projection,
        limit: usize,
        out: &mut Batch,
    ) -> Result<()> {
        match self.plan(piece, at) {
            Plan::Nothing => return Ok(()),
            Plan::Run(run) => {
                return append_run(
                    run,
                    piece,
                    projection,
                    Most::rows(usize::MAX),
                    Fill::of(limit),
                    out,
                );
            }
            Plan::Patch(patch) => {
                if patch.append(self, piece, at, projection, out)? {
                    return Ok(());
                }
            }
            Plan::Merge => {}
        }
        self.merged_scan(piece, at, projection, limit)?.append(usize::MAX, out)
    }

    /// The largest of the keys that the sources name such that about `wanted` of their versions lie
    /// from there to the end of `rest`; `None` where all that is left is one piece.
    fn fence(
        &self,
        rest: &KeyRange,
        at: ReadAt<'_>,
        wanted: usize,
        fill: Fill,
    ) -> Result<Option<Key>> {
        let upper = rest.upper.as_ref().map(Key::as_ref);
        let memtables = at.own().into_iter().chain(self.memtables().map(|memtable| &**memtable));
        let mut fence = memtables.filter_map(|memtable| memtable.fence_below(upper, wanted)).max();
        for run in &self.runs {
            fence = fence.max(run.fence_below(rest, at.snapshot, wanted, fill)?);
        }
        Ok(fence)
    }
}

impl RunView {
    /// Tables that may hold keys of `range`, the last first.
    pub(super) fn tables_back<'a>(
        &'a self,
        range: &'a KeyRange,
    ) -> impl Iterator<Item = &'a Arc<Table>> {
        let end = match &range.upper {
            None => self.tables.len(),
            Some(upper) => self
                .tables
                .partition_point(|table| table.meta().summary.first_key.as_ref() < upper.as_ref()),
        };
        let reaches = |table: &&Arc<Table>| table.meta().summary.last_key >= range.lower;
        self.tables[..end].iter().rev().take_while(reaches)
    }

    /// A key of `rest`, or one before it, such that at most `wanted` versions of the run, or one
    /// block, lie from there to the end of `rest`. `None` if there are none.
    fn fence_below(
        &self,
        rest: &KeyRange,
        snapshot: SeqNo,
        wanted: usize,
        fill: Fill,
    ) -> Result<Option<Key>> {
        for table in self.tables_back(rest).filter(|table| table.meta().global_seq <= snapshot) {
            let blocks = table.blocks_overlapping(rest);
            let Some(last) = blocks.clone().next_back() else { continue };
            // A long scan takes whole blocks, and the cache does not keep them before they are read
            // again.
            if fill == Fill::Keep && table.block_rows(last) > wanted {
                let block = table.head(last, fill)?;
                let rows = block.rows_in(rest);
                let first = rows.start.max(rows.end.saturating_sub(wanted));
                return Ok((first < rows.end).then(|| block.key(first)));
            }
            let first = window_back(table, &blocks, wanted).start;
            return Ok(Some(table.block_keys(first).0));
        }
        Ok(None)
    }
}

/// The last of these blocks: as many as hold at most `rows` rows and are read together, at least
/// one.
fn window_back(table: &Table, blocks: &Range<usize>, rows: usize) -> Range<usize> {
    let mut first = blocks.end - 1;
    let mut held = table.block_rows(first);
    let mut bytes = table.block_bytes(first);
    while first > blocks.start && blocks.end - first < WINDOW_BLOCKS {
        held = held.saturating_add(table.block_rows(first - 1));
        bytes = bytes.saturating_add(table.block_bytes(first - 1));
        if held > rows || bytes > WINDOW_BYTES {
            break;
        }
        first -= 1;
    }
    first..blocks.end
}

/// Appends the last rows of a run that has only visible rows.
fn append_run_back(
    run: &RunView,
    range: &KeyRange,
    projection: Projection,
    limit: usize,
    fill: Fill,
    rows: &mut Batch,
    out: &mut Batch,
) -> Result<()> {
    let mut left = limit;
    for table in run.tables_back(range) {
        let mut blocks = table.blocks_overlapping(range);
        while !blocks.is_empty() && left > 0 {
            let window = window_back(table, &blocks, left);
            blocks.end = window.start;
            let few = window.len() == 1;
            for block in read_window(table, window, few, projection, fill)?.iter().rev() {
                let found = block.rows_in(range);
                let found = found.start.max(found.end.saturating_sub(left))..found.end;
                rows.clear();
                block.append_read(found, projection, rows)?;
                left -= append_reversed(out, rows, left, projection);
            }
        }
    }
    Ok(())
}
