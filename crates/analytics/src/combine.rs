//! Forms of a graph: parallel edges combined, both directions, some vertices only.
//!
//! # Why parallel edges are combined before directions are joined
//! An undirected edge is in two rows, which must agree. Combined first, there are at most two edges
//! between two vertices, one for each direction, and both rows choose by the same rule.

use crate::options::{Parallel, ProjectOptions};
use crate::run::Run;
use algo::{Csr, Error, NO_VERTEX};

/// Vertices between two checks of the limits.
const VERTICES_UNCHECKED: u32 = 1 << 12;

/// The graph in the form that the options describe.
///
/// # Errors
/// [`Error::Stopped`]; [`Error::WeightNotFinite`] if a sum is not finite.
pub(crate) fn formed(graph: Csr, options: &ProjectOptions, run: &Run<'_>) -> Result<Csr, Error> {
    let parallel = options.parallel;
    let graph = match parallel.is_one() {
        true => combined(&graph, parallel, false, run)?.unwrap_or(graph),
        false => graph,
    };
    if !options.is_undirected {
        return Ok(graph);
    }
    let both = graph.undirected(run)?;
    drop(graph);
    Ok(match parallel.is_one() {
        true => combined(&both, parallel, true, run)?.unwrap_or(both),
        false => both,
    })
}

/// The graph with one edge for each group of parallel edges. `None` if that is the graph itself.
fn combined(
    graph: &Csr,
    parallel: Parallel,
    is_undirected: bool,
    run: &Run<'_>,
) -> Result<Option<Csr>, Error> {
    let counts = parallel == Parallel::Sum;
    let mut is_simple = true;
    let mut offsets = vec![0];
    let mut targets = Vec::new();
    let mut weights = (counts || graph.weights().is_some()).then(Vec::new);
    for v in 0..graph.vertices() {
        check(v, run)?;
        let row: Vec<(u32, f64)> = graph.weighted(v).collect();
        for group in row.chunk_by(|a, b| a.0 == b.0) {
            is_simple &= group.len() == 1;
            let to = group[0].0;
            let all = group.iter().map(|edge| edge.1);
            let weight = match parallel {
                Parallel::Sum => all.sum(),
                Parallel::Min => all.fold(f64::INFINITY, f64::min),
                // The row of the larger vertex has its own direction first.
                Parallel::First | Parallel::Keep => {
                    group[if is_undirected && v > to { group.len() - 1 } else { 0 }].1
                }
            };
            targets.push(to);
            if let Some(weights) = &mut weights {
                weights.push(weight);
            }
        }
        offsets.push(targets.len() as u64);
    }
    if is_simple && weights.is_some() == graph.weights().is_some() {
        return Ok(None);
    }
    Csr::from_rows(offsets, targets, weights, run).map(Some)
}

/// The graph of the vertices `kept` (ascending) and the edges between them, numbered by their place
/// in `kept`.
///
/// # Errors
/// [`Error::Stopped`].
pub(crate) fn induced(graph: &Csr, kept: &[u32], run: &Run<'_>) -> Result<Csr, Error> {
    let mut numbers = vec![NO_VERTEX; graph.vertices() as usize];
    for (number, &v) in (0..).zip(kept) {
        numbers[v as usize] = number;
    }
    let mut offsets = vec![0];
    let mut targets = Vec::new();
    let mut weights = graph.weights().map(|_| Vec::new());
    for (i, &v) in (0..).zip(kept) {
        check(i, run)?;
        for (to, weight) in graph.weighted(v) {
            let number = numbers[to as usize];
            if number == NO_VERTEX {
                continue;
            }
            targets.push(number);
            if let Some(weights) = &mut weights {
                weights.push(weight);
            }
        }
        offsets.push(targets.len() as u64);
    }
    Csr::from_rows(offsets, targets, weights, run)
}

fn check(vertex: u32, run: &Run<'_>) -> Result<(), Error> {
    use algo::Limits;
    if vertex.is_multiple_of(VERTICES_UNCHECKED) && !run.go_on() {
        return Err(Error::Stopped);
    }
    Ok(())
}
