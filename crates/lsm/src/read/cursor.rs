//! A stream of rows that keeps its super version alive.

use super::scan::{Plan, VisibleScan};
use super::source::RunSource;
use super::{ReadAt, SuperVersion};
use crate::context::Context;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::table::Fill;
use base::{Batch, BlockFilter, KeyRange, Projection, SeqNo};
use std::sync::Arc;

/// Bytes of byte strings in a batch, about: where rows are long a batch holds few.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of a range, batch by batch, as of one moment.
pub struct Cursor {
    state: State,
}

enum State {
    /// One run that has only visible rows: columns are copied from its blocks to the batch.
    Plain(Box<RunSource>, Projection),
    Merged(Box<VisibleScan<'static>>),
    Failed(Option<crate::error::Error>),
}

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cursor").finish_non_exhaustive()
    }
}

impl SuperVersion {
    /// A stream over the rows of `range`. It holds its memtables and tables; blocks it reads do not
    /// push others out of the cache. A failed first read is reported by the first batch.
    ///
    /// Blocks that `filter` excludes are not read where one run has all rows of the range, as after
    /// a compaction. Otherwise a row of such a block may hide an older one in another run.
    #[must_use]
    pub fn cursor(
        self: &Arc<Self>,
        _: &Context,
        range: KeyRange,
        snapshot: SeqNo,
        overlay: Option<Arc<Memtable>>,
        projection: Projection,
        filter: Option<&Arc<BlockFilter>>,
    ) -> Cursor {
        let at = ReadAt { snapshot, overlay: overlay.as_deref() };
        let run = match self.plan(&range, at) {
            Plan::Nothing => Some(Vec::new()),
            Plan::Run(run) => Some(run.tables_in(&range, snapshot)),
            Plan::Patch(_) | Plan::Merge => None,
        };
        let state = match run {
            Some(tables) => {
                let fill = Fill::Once;
                let mut source = RunSource::projected(tables, range, projection, fill, usize::MAX);
                if let Some(filter) = filter {
                    source.skip_by(Arc::clone(filter));
                }
                State::Plain(Box::new(source), projection)
            }
            None => match self.shared_scan(&range, snapshot, overlay.as_ref(), projection) {
                Ok(mut scan) => {
                    scan.bytes_max = BATCH_BYTES;
                    State::Merged(Box::new(scan))
                }
                Err(error) => State::Failed(Some(error)),
            },
        };
        Cursor { state }
    }
}

impl Cursor {
    /// Appends up to `rows_max` of the next rows to `out`, fewer if they are long; `false` if there
    /// was none left.
    ///
    /// # Errors
    /// A failed read, or corruption; the cursor is then at its end.
    pub fn next_batch(&mut self, rows_max: usize, out: &mut Batch) -> Result<bool> {
        let before = out.rows;
        let result = match &mut self.state {
            State::Plain(source, projection) => append_plain(source, *projection, rows_max, out),
            State::Merged(scan) => scan.append(rows_max, out),
            State::Failed(error) => error.take().map_or(Ok(()), Err),
        };
        if let Err(error) = result {
            self.state = State::Failed(None);
            return Err(error);
        }
        Ok(out.rows > before)
    }
}

fn append_plain(
    source: &mut RunSource,
    projection: Projection,
    rows_max: usize,
    out: &mut Batch,
) -> Result<()> {
    let mut left = rows_max;
    let end_bytes = out.heap_bytes() + BATCH_BYTES;
    while left > 0 && out.heap_bytes() < end_bytes {
        let Some((block, rows)) = source.block()? else { return Ok(()) };
        let end = rows.end.min(rows.start.saturating_add(left));
        left -= end - rows.start;
        block.append_read(rows.start..end, projection, out)?;
        rows.start = end;
    }
    Ok(())
}
