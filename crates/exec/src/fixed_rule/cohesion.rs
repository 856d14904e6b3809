//! Fixed rules for the cohesion of undirected graphs: bridges, articulation points,
//! biconnected components, trusses. None of them is in Cozo.
//!
//! The table in `mod.rs` names these functions. Each reads its options, projects its input, calls a
//! kernel of `algo` and returns columns. Names and columns of the results are part of the language:
//! `docs/reference/algorithms.md`.

use super::call::{Call, RuleRows};
use super::projection::Projection;
use crate::error::Result;
use crate::value::cell::Cell;
use algo::biconnected::Biconnected;
use algo::{Csr, OneThread};

/// Returns rows `from, to`.
pub(super) fn bridges(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let (projection, found) = biconnected(call)?;
    let mut answer = RuleRows::new(2);
    for &(source, target) in &found.bridges {
        answer.push([projection.cell(source), projection.cell(target)]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}

/// Returns rows `vertex`.
pub(super) fn articulation_points(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let (projection, found) = biconnected(call)?;
    Ok(vec![found.articulation_points.iter().map(|&vertex| projection.cell(vertex)).collect()])
}

/// Returns rows `vertex, component`.
pub(super) fn biconnected_components(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let (projection, found) = biconnected(call)?;
    let mut answer = RuleRows::new(2);
    for component in 0..found.components() {
        for &vertex in found.component(component) {
            answer.push([projection.cell(vertex), call.int(component)]);
            call.check(&mut answer)?;
        }
    }
    Ok(answer.into_columns())
}

fn biconnected<'c>(call: &'c Call<'_, '_>) -> Result<(Projection<'c>, Biconnected)> {
    let projection = call.projection(false, &[])?;
    let both = simple_undirected(call, &projection)?;
    let found = algo::biconnected::biconnected(&both, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    Ok((projection, found))
}

/// Returns rows `from, to, truss`.
pub(super) fn trusses(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let both = simple_undirected(call, &projection)?;
    let edges = algo::truss::truss_numbers(&both, &OneThread, call.limits())
        .map_err(|error| call.failed(error, &projection))?;
    let mut answer = RuleRows::new(3);
    for edge in edges {
        let (source, target) = (projection.cell(edge.source), projection.cell(edge.target));
        answer.push([source, target, call.int(edge.truss)]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}

/// The distinct neighbors of each vertex in either direction.
pub(super) fn simple_undirected(call: &Call<'_, '_>, projection: &Projection<'_>) -> Result<Csr> {
    let both = projection.graph().simple_undirected(call.limits());
    both.map_err(|stopped| call.stopped(stopped))
}
