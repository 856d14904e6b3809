//! Executes a choice: merges its tables, and returns an edit that replaces them. The caller writes
//! the edit to the manifest.

use super::below::Below;
use super::choose::Choice;
use super::rewrite::{Rules, rewrite};
use super::snapshots::Snapshots;
use super::tombstones::Pieces;
use crate::context::{Context, count_written};
use crate::error::{Error, Result};
use crate::read::{RowSource, RunSource, VersionMerger};
use crate::run_writer::RunWriter;
use crate::table::{RangeTombstone, SharedWriter, Table, TableMeta};
use crate::version::{AddedTable, LEVEL_MAX, TreeEdit, Version};
use base::{KeyRange, SeqNo, Shape, TableId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a compaction writes.
#[derive(Clone, Copy)]
pub(crate) struct Output<'a> {
    pub(crate) context: &'a Arc<Context>,
    /// A file that other trees share.
    pub(crate) shared: Option<&'a Arc<SharedWriter>>,
}

/// Writes what `choice` asks for; installs nothing.
pub(crate) fn compact(
    to: Output<'_>,
    shape: &Shape,
    version: &Version,
    choice: &Choice,
    snapshots: Snapshots<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<TreeEdit> {
    match choice {
        Choice::Nothing => Ok(TreeEdit::default()),
        Choice::Move { tables, into } => {
            let inputs = find(version, tables)?;
            let added = inputs.iter().map(|input| added(*into, input.table.meta().clone()));
            Ok(TreeEdit { added: added.collect(), removed: tables.clone() })
        }
        Choice::Merge { tables, into } => {
            let inputs = find(version, tables)?;
            let metas = merge(to, shape, version, inputs, *into, snapshots, go_on)?;
            let added = metas.into_iter().map(|meta| added(*into, meta)).collect();
            Ok(TreeEdit { added, removed: tables.clone() })
        }
    }
}

fn added(level: usize, meta: TableMeta) -> AddedTable {
    AddedTable { level: level as u8, run: 0, meta }
}

/// A table to merge and the run it is in: runs with smaller numbers hold newer versions.
struct Input {
    run: usize,
    table: Arc<Table>,
}

/// The tables of a choice, newest run first, in key order within a run.
fn find(version: &Version, tables: &[TableId]) -> Result<Vec<Input>> {
    let wanted: BTreeSet<TableId> = tables.iter().copied().collect();
    let mut inputs = Vec::new();
    for (run, of_run) in version.runs().enumerate() {
        let chosen = of_run.tables.iter().filter(|table| wanted.contains(&table.meta().id));
        inputs.extend(chosen.map(|table| Input { run, table: table.clone() }));
    }
    if inputs.len() != tables.len() {
        return Err(Error::Invalid("a table chosen for compaction is gone".into()));
    }
    Ok(inputs)
}

fn merge(
    to: Output<'_>,
    shape: &Shape,
    version: &Version,
    inputs: Vec<Input>,
    into: usize,
    snapshots: Snapshots<'_>,
    go_on: &dyn Fn() -> bool,
) -> Result<Vec<TableMeta>> {
    let tombstones: Vec<RangeTombstone> =
        inputs.iter().flat_map(|input| range_tombstones(&input.table)).collect();
    let summaries = || inputs.iter().map(|input| &input.table.meta().summary);
    let first = summaries().map(|summary| &summary.first_key).min();
    let last = summaries().map(|summary| &summary.last_key).max();
    let (Some(first), Some(last)) = (first, last) else { return Ok(Vec::new()) };
    let below = match version.overlaps_below(into, first.as_ref(), last.as_ref()) {
        true => version.runs_below(into).collect(),
        false => Below::nothing(),
    };
    let rules = Rules { shape, snapshots, tombstones: &Pieces::new(&tombstones), below: &below };
    let sources = inputs.chunk_by(|a, b| a.run == b.run).map(|run| {
        let tables = run.iter().map(|input| input.table.clone()).collect();
        Box::new(RunSource::new(tables, KeyRange::all(&shape.key))) as Box<dyn RowSource>
    });
    let mut versions = VersionMerger::new(shape, sources.collect())?;
    let mut writer =
        RunWriter::new(to.context, shape, into == LEVEL_MAX, SeqNo::ZERO).sharing(to.shared);
    rewrite(&mut versions, &rules, &mut writer, go_on)?;
    let metas = writer.finish()?;
    count_written(&to.context.written.merged, &metas);
    Ok(metas)
}

/// A table's range tombstones with the numbers they read as.
fn range_tombstones(table: &Table) -> impl Iterator<Item = RangeTombstone> {
    let global = table.meta().global_seq;
    table.range_tombstones().iter().map(move |tombstone| RangeTombstone {
        range: tombstone.range.clone(),
        seq: tombstone.seq.max(global),
    })
}
