//! Fixed rules for community detection: Louvain, Leiden and label propagation.
//!
//! The table in `mod.rs` names these functions. Each reads its options, projects its input, calls a
//! kernel of `algo` and returns columns. Names and columns of the results are part of the language:
//! `docs/reference/algorithms.md`.

use super::call::{Call, RuleRows};
use super::centrality::{by_vertex, maybe_undirected, symmetric};
use super::options::rounds;
use crate::error::Result;
use crate::value::cell::Cell;
use model::Value;

/// Returns rows `labels, vertex`: a vertex's communities, the largest first.
pub(super) fn louvain(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let undirected = call.flag("undirected")?;
    let options = algo::louvain::Options {
        max_iter: rounds(call.positive("max_iter")?, 10),
        delta: call.size("delta", 1e-4)?,
        visits: algo::louvain::Visits::InScanOrder,
    };
    let depth = call.count("keep_depth")?;
    let depth = depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
    let projection = call.projection(true, &[])?;
    let limits = call.limits();
    let found = algo::louvain::louvain(projection.graph(), undirected, options, limits)
        .map_err(|error| call.failed(error, &projection))?;
    let mut answer = RuleRows::new(2);
    for (vertex, cell) in (0_u32..).zip(projection.vertices()) {
        let labels =
            found.labels(vertex).into_iter().take(depth).map(|label| Value::Int(label.into()));
        answer.push([call.query.interner.take(Value::List(labels.collect())), cell]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}

/// Returns rows `community, vertex`.
pub(super) fn leiden(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let options = algo::leiden::LeidenOptions {
        resolution: call.size("resolution", 1.0)?,
        seed: call.count("seed")?,
        ..Default::default()
    };
    let projection = call.projection(true, &[])?;
    let limits = call.limits();
    let both = projection.graph().undirected(limits).map_err(|stopped| call.stopped(stopped))?;
    let found = algo::leiden::leiden(&both, &options, limits)
        .map_err(|error| call.failed(error, &projection))?;
    let mut columns = by_vertex(&projection, |vertex| [call.int(found[vertex])]);
    columns.reverse();
    Ok(columns)
}

/// Returns rows `label, vertex`.
pub(super) fn label_propagation(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let rounds = rounds(call.positive("max_iter")?, 10);
    let projection = call.projection(true, &[])?;
    let graph = maybe_undirected(call, &projection)?;
    let reverse = if call.flag("undirected")? { Some(&*graph) } else { None };
    let labels = algo::label_propagation::label_propagation(&graph, reverse, rounds, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    let mut columns = by_vertex(&projection, |vertex| [call.int(labels[vertex])]);
    columns.reverse();
    Ok(columns)
}

/// Returns rows `label, vertex`: synchronous label propagation. A label is a vertex.
pub(super) fn synchronous(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let rounds = rounds(call.positive("max_iter")?, 10);
    let projection = call.projection(false, &[1])?;
    let both = symmetric(call, &projection)?;
    let labels = algo::cdlp::cdlp(&both, rounds, &algo::OneThread, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    let mut columns = by_vertex(&projection, |vertex| [projection.cell(labels[vertex])]);
    columns.reverse();
    Ok(columns)
}
