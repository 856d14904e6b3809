//! Fixed rules for centrality: degree, PageRank, closeness, betweenness, clustering.

use super::call::Call;
use super::options::rounds;
use super::projection::Projection;
use crate::error::Result;
use crate::value::cell::Cell;
use algo::Csr;
use std::borrow::Cow;

/// A row for each vertex: its cell, then the result of `cells`.
pub(super) fn by_vertex<const N: usize>(
    projection: &Projection<'_>,
    cells: impl Fn(usize) -> [Cell; N],
) -> Vec<Vec<Cell>> {
    let mut columns = vec![projection.vertices()];
    columns.extend((0..N).map(|_| Vec::with_capacity(projection.len())));
    for vertex in 0..projection.len() {
        for (column, cell) in columns.iter_mut().skip(1).zip(cells(vertex)) {
            column.push(cell);
        }
    }
    columns
}

/// The graph, or its symmetric closure if the option `undirected` is set.
pub(super) fn maybe_undirected<'p>(
    call: &Call<'_, '_>,
    projection: &'p Projection<'_>,
) -> Result<Cow<'p, Csr>> {
    Ok(match call.flag("undirected")? {
        true => Cow::Owned(symmetric(call, projection)?),
        false => Cow::Borrowed(projection.graph()),
    })
}

/// The graph with each edge in both directions.
pub(super) fn symmetric(call: &Call<'_, '_>, projection: &Projection<'_>) -> Result<Csr> {
    let both = projection.graph().symmetric(call.limits());
    both.map_err(|stopped| call.stopped(stopped))
}

/// Returns rows `vertex, edges, outgoing edges, incoming edges`.
pub(super) fn degree(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[1])?;
    let degrees = algo::degree::degrees(projection.graph(), call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    Ok(by_vertex(&projection, |vertex| {
        let degree = degrees[vertex];
        [call.int(degree.total()), call.int(degree.out_edges), call.int(degree.in_edges)]
    }))
}

/// Returns rows `vertex, rank`.
pub(super) fn pagerank(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let undirected = call.flag("undirected")?;
    let options = algo::pagerank::Options {
        theta: call.fraction("theta", 0.85)?,
        epsilon: call.fraction("epsilon", 1e-4)?,
        iterations: rounds(call.positive("iterations")?, 10),
    };
    let projection = call.projection(false, &[])?;
    let limits = call.limits();
    let graph = projection.graph();
    let run = || {
        let order = graph.scan_order(limits)?;
        if undirected {
            let both = graph.symmetric(limits)?;
            return algo::pagerank::pagerank(&both, &both, Some(&order), options, limits);
        }
        let incoming = graph.reverse(limits)?;
        algo::pagerank::pagerank(graph, &incoming, Some(&order), options, limits)
    };
    let ranks = run().map_err(|stopped| call.stopped(stopped))?;
    Ok(by_vertex(&projection, |vertex| [call.float(ranks[vertex])]))
}

/// Returns rows `vertex, closeness`.
pub(super) fn closeness(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    measured(call, algo::closeness::closeness)
}

/// Returns rows `vertex, betweenness`.
pub(super) fn betweenness(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    measured(call, algo::betweenness::betweenness)
}

type Measure = fn(&Csr, &dyn algo::Limits) -> std::result::Result<Vec<f64>, algo::Error>;

fn measured(call: &Call<'_, '_>, measure: Measure) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(true, &[])?;
    let graph = maybe_undirected(call, &projection)?;
    let found = measure(&graph, call.limits()).map_err(|error| call.failed(error, &projection))?;
    Ok(by_vertex(&projection, |vertex| [call.float(found[vertex])]))
}

/// Returns rows `vertex, coefficient, triangles, degree`.
pub(super) fn clustering(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let both = symmetric(call, &projection)?;
    let found = algo::clustering::clustering_coefficients(&both, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    Ok(by_vertex(&projection, |vertex| {
        let one = found[vertex];
        [call.float(one.coefficient), call.int(one.triangles), call.int(one.degree)]
    }))
}

/// Returns rows `vertex, coefficient`.
pub(super) fn weighted_clustering(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let undirected = call.flag("undirected")?;
    let projection = call.projection(true, &[])?;
    let limits = call.limits();
    let graph = match undirected {
        true => {
            let both = projection.graph().undirected(limits);
            Cow::Owned(both.map_err(|stopped| call.stopped(stopped))?)
        }
        false => Cow::Borrowed(projection.graph()),
    };
    let found = algo::weighted_clustering::weighted_clustering(
        &graph,
        !undirected,
        &algo::OneThread,
        limits,
    );
    let found = found.map_err(|error| call.failed(error, &projection))?;
    Ok(by_vertex(&projection, |vertex| [call.float(found[vertex])]))
}

/// Returns rows `vertex, betweenness`, each within the option `error`.
pub(super) fn approximate_betweenness(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let undirected = call.flag("undirected")?;
    let error = call.fraction("error", 0.01)?;
    let confidence = call.fraction("confidence", 0.9)?;
    let seed = call.count("seed")?.unwrap_or(0);
    let projection = call.projection(false, &[])?;
    let limits = call.limits();
    let graph = maybe_undirected(call, &projection)?;
    let reverse = match undirected {
        true => None,
        false => Some(graph.reverse(limits).map_err(|stopped| call.stopped(stopped))?),
    };
    let options = algo::kadabra::KadabraOptions {
        error,
        failure: 1.0 - confidence,
        seed,
        reverse: reverse.as_ref(),
    };
    let found = algo::kadabra::approximate_betweenness(&graph, &options, &algo::OneThread, limits)
        .map_err(|error| call.failed(error, &projection))?;
    Ok(by_vertex(&projection, |vertex| [call.float(found.values[vertex])]))
}
