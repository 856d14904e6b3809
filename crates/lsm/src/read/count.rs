//! Exact counts, and the distinct first words, at less than the cost of a scan where that can be.

use super::fold::Outcome;
use super::many::holds_many;
use super::runs::RunView;
use super::scan::{Plan, VisibleScan};
use super::source::{CHUNK_ROWS, MemSource, RunSource, Source};
use super::{Covers, ReadAt, SuperVersion};
use crate::error::Result;
use crate::table::Fill;
use base::{Batch, KeyRange, KeyShape, Keys, Projection};

impl SuperVersion {
    pub(super) fn all(&self) -> KeyRange {
        KeyRange::all(&self.shape().key)
    }

    /// Number of rows that the reader sees. If every row of the deepest run is visible unchanged,
    /// the cost is that of the sources above it; otherwise that of a scan without columns.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn count(&self, at: ReadAt<'_>) -> Result<u64> {
        let base = self.runs.split_last().filter(|(run, _)| run.is_plain_at(at.snapshot));
        match base {
            _ if self.has_tombstones(at) => self.count_in(&self.all(), at),
            None => self.count_in(&self.all(), at),
            Some((base, above)) => {
                let empty = above.is_empty() && at.own().is_none();
                if empty && self.memtables().next().is_none() {
                    return Ok(base.rows);
                }
                self.count_over(base, above, at)
            }
        }
    }

    /// Number of rows in a range that the reader sees, by a scan without columns.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn count_in(&self, range: &KeyRange, at: ReadAt<'_>) -> Result<u64> {
        let mut out = Batch::new(self.shape());
        self.scan_into(range, at, Projection::COUNT, usize::MAX, &mut out)?;
        Ok(out.rows as u64)
    }

    /// Rows of `base`, corrected by each key that lies above it.
    fn count_over(&self, base: &RunView, above: &[RunView], at: ReadAt<'_>) -> Result<u64> {
        let (range, p) = (self.all(), Projection::COUNT);
        let mut sources = Vec::new();
        if let Some(own) = at.own() {
            let own = MemSource::seen(own, range.clone(), at.snapshot, p, CHUNK_ROWS).into_own();
            sources.push(Source::Other(Box::new(own)));
        }
        for memtable in self.memtables() {
            let source = MemSource::seen(&**memtable, range.clone(), at.snapshot, p, CHUNK_ROWS);
            sources.push(Source::Other(Box::new(source)));
        }
        for (number, run) in above.iter().enumerate() {
            let tables = run.tables_in(&range, at.snapshot);
            let mut run = RunSource::projected(tables, range.clone(), p, Fill::Once, CHUNK_ROWS);
            run.is_passing = number < self.level0_runs;
            sources.push(Source::Run(Box::new(run)));
        }
        let mut scan = VisibleScan::new(self, sources, at.snapshot, Covers::default(), p)?;
        scan.heads.add_scan_debt_to(&self.scan_debt);
        let mut count = base.rows;
        let mut keys = Keys::new(self.shape().key);
        let mut rows: Vec<bool> = Vec::new();
        loop {
            let next = scan.decide()?;
            let ended = next.is_none();
            if let Some((key, outcome)) = next
                && outcome != Outcome::Unknown
            {
                keys.push(key.as_ref());
                rows.push(outcome != Outcome::Absent);
            }
            if ended || rows.len() >= CHUNK_ROWS {
                let below = holds_many(base, self.shape(), &keys, at.snapshot, self.thresholds)?;
                for (is_row, was_row) in rows.iter().zip(below) {
                    match (is_row, was_row) {
                        (true, false) => count += 1,
                        (false, true) => count -= 1,
                        _ => {}
                    }
                }
                keys.clear();
                rows.clear();
            }
            if ended {
                return Ok(count);
            }
        }
    }

    /// Hands the distinct first key words of the rows that the reader sees to `visit`, ascending,
    /// in slices. Does nothing for byte-string keys.
    ///
    /// # Errors
    /// A failed read, or corruption.
    pub fn first_words(&self, at: ReadAt<'_>, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
        let KeyShape::Words(_) = self.shape().key else { return Ok(()) };
        let range = self.all();
        match self.plan(&range, at) {
            Plan::Nothing => Ok(()),
            Plan::Run(run) => first_words_of(run, visit),
            Plan::Patch(_) | Plan::Merge => {
                let first = Projection { keys: 1, values: 0 };
                let mut scan = self.merged_scan(&range, at, first, usize::MAX)?;
                let mut out = Batch::new(self.shape());
                let mut last = None;
                loop {
                    out.clear();
                    scan.append(CHUNK_ROWS * 4, &mut out)?;
                    if out.rows == 0 {
                        return Ok(());
                    }
                    let Keys::Words(columns) = &mut out.keys else { return Ok(()) };
                    visit_new(&mut columns[0], &mut last, visit);
                }
            }
        }
    }
}

fn first_words_of(run: &RunView, visit: &mut dyn FnMut(&[u64])) -> Result<()> {
    let mut words = Vec::new();
    let mut last = None;
    for table in &run.tables {
        for block in 0..table.blocks() {
            words.clear();
            table.head(block, Fill::Once)?.first_words(&mut words);
            visit_new(&mut words, &mut last, visit);
        }
    }
    Ok(())
}

/// Visits ascending words, each once across calls.
fn visit_new(words: &mut Vec<u64>, last: &mut Option<u64>, visit: &mut dyn FnMut(&[u64])) {
    words.dedup();
    let start = usize::from(words.first() == last.as_ref() && last.is_some());
    if let Some(new) = words.get(start..).filter(|new| !new.is_empty()) {
        visit(new);
    }
    *last = words.last().copied().or(*last);
}
