//! Moves memtables into tables.
//!
//! # Where they go
//! Into a run of level 0, newer than all others. If every key lies behind all keys of the tree, as
//! in an empty tree or one whose keys grow, nothing lies below. If the tree is empty or the rows
//! fill a table, they then go straight to the bottom and are never merged again. A compaction that
//! runs meanwhile writes only keys that the tree already spans, so the two do not overlap.
//!
//! # Invariants
//! 1. Memtables are flushed oldest first, or all in one flush: a run of level 0 is older than every
//!    memtable.
//! 2. Nothing is installed here.

use crate::compaction::Output;
use crate::compaction::below::Below;
use crate::compaction::rewrite::{Rules, rewrite};
use crate::compaction::snapshots::Snapshots;
use crate::compaction::tombstones::Pieces;
use crate::context::count_written;
use crate::error::Result;
use crate::memtable::Memtable;
use crate::read::{MemSource, RowSource, VersionMerger};
use crate::run_writer::RunWriter;
use crate::table::RangeTombstone;
use crate::version::{AddedTable, LEVEL_MAX, TreeEdit, Version};
use base::{Key, KeyRange, SeqNo, Shape};
use std::sync::Arc;

/// Writes `memtables`, newest first, as one run: number `run` if it becomes one of level 0.
pub(crate) fn flush(
    to: Output<'_>,
    shape: &Shape,
    version: &Version,
    memtables: &[Arc<Memtable>],
    run: u64,
    snapshots: &[SeqNo],
) -> Result<TreeEdit> {
    let context = to.context;
    let mut tombstones: Vec<RangeTombstone> = Vec::new();
    for memtable in memtables {
        tombstones.extend(memtable.range_tombstones().iter().cloned());
    }
    let below = match is_behind(version, memtables, &tombstones) {
        true => Below::nothing(),
        false => version.runs().collect(),
    };
    let bytes: u64 = memtables.iter().map(|memtable| memtable.bytes()).sum();
    let fills = version.is_empty() || bytes >= context.options.table_bytes;
    let level = if below.is_nothing() && fills { LEVEL_MAX } else { 0 };
    let rules = Rules {
        shape,
        snapshots: Snapshots::new(snapshots),
        tombstones: &Pieces::new(&tombstones),
        below: &below,
    };
    let sources = memtables.iter().map(|memtable| {
        Box::new(MemSource::new(&**memtable, KeyRange::all(&shape.key))) as Box<dyn RowSource + '_>
    });
    let mut versions = VersionMerger::new(shape, sources.collect())?;
    let mut writer =
        RunWriter::new(context, shape, level == LEVEL_MAX, SeqNo::ZERO).sharing(to.shared);
    // A flush is short and awaited; it is not cancelled.
    rewrite(&mut versions, &rules, &mut writer, &|| true)?;
    let run = if level == 0 { run } else { 0 };
    let metas = writer.finish()?;
    count_written(&context.written.flushed, &metas);
    let added =
        metas.into_iter().map(|meta| AddedTable { level: level as u8, run, meta }).collect();
    Ok(TreeEdit { added, removed: Vec::new() })
}

/// Whether every key of the memtables is larger than all keys of the tree.
fn is_behind(
    version: &Version,
    memtables: &[Arc<Memtable>],
    tombstones: &[RangeTombstone],
) -> bool {
    let Some((_, last)) = version.hull() else { return true };
    let first_rows = memtables.iter().filter_map(|memtable| memtable.cursor_at_start().entry());
    let first = first_rows.map(|entry| Key::from(entry.key().as_ref())).min();
    first.is_none_or(|first| first.as_ref() > last)
        && tombstones.iter().all(|tombstone| tombstone.range.lower.as_ref() > last)
}
