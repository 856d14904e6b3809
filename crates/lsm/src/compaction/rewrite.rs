//! Runs versions through the rules of a merge into tables. Flushes and compactions share it.

use super::below::Below;
use super::keep::{Bottom, Keep};
use super::snapshots::Snapshots;
use super::tombstones::Pieces;
use crate::error::{Error, Result};
use crate::read::VersionMerger;
use crate::rows::{Rows, same_key};
use crate::run_writer::RunWriter;
use base::{KeyRange, KeyRef, Shape};

/// Rows read before the rules are applied. Cancelling waits for one such step.
const STEP_ROWS: usize = 16 << 10;

/// The versions that a rewrite may drop.
pub(crate) struct Rules<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) snapshots: Snapshots<'a>,
    /// All range tombstones among the input.
    pub(crate) tombstones: &'a Pieces,
    /// The runs that are older than the input.
    pub(crate) below: &'a Below<'a>,
}

/// Writes what `versions` and the rules leave.
///
/// # Errors
/// A failed read or write, [`Error::Cancelled`]. The caller drops the writer, which removes its
/// files.
pub(crate) fn rewrite(
    versions: &mut VersionMerger<'_>,
    rules: &Rules<'_>,
    writer: &mut RunWriter,
    go_on: &dyn Fn() -> bool,
) -> Result<()> {
    let below = rules.below;
    let is_bottom = |range: &KeyRange| below.holds_none_of(range);
    writer.set_range_tombstones(rules.tombstones.needed(rules.snapshots, is_bottom));
    let stretch_at = |key: KeyRef<'_>| below.stretch_at(key);
    let bottom = if below.is_nothing() { Bottom::Everywhere } else { Bottom::Where(&stretch_at) };
    let mut keep = Keep::new(rules.shape, rules.snapshots, rules.tombstones, bottom);
    let mut rows = Rows::new(rules.shape);
    let mut rest = Rows::new(rules.shape);
    let mut kept = Vec::new();
    loop {
        if !go_on() {
            return Err(Error::Cancelled);
        }
        let more = versions.next_chunk(STEP_ROWS, &mut rows)?;
        // The last key may go on in the next step.
        let whole = if more { start_of_last_key(&rows) } else { rows.len() };
        kept.clear();
        keep.pass(&mut rows, 0..whole, true, &mut kept);
        for range in &kept {
            writer.add(&rows, range.clone())?;
        }
        if !more {
            return Ok(());
        }
        kept.clear();
        let len = rows.len();
        keep.pass(&mut rows, whole..len, false, &mut kept);
        rest.clear();
        for row in kept.iter().cloned().flatten() {
            rest.push_from(&rows, row);
        }
        std::mem::swap(&mut rows, &mut rest);
        rest.release_long();
    }
}

fn start_of_last_key(rows: &Rows) -> usize {
    let Some(last) = rows.len().checked_sub(1) else { return 0 };
    (0..last).rev().find(|&row| !same_key(&rows.keys, row, last)).map_or(0, |row| row + 1)
}
