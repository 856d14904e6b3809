//! Fixed rules for connectivity: components, cores, onion layers, spanning forests and trees,
//! topological order.

use super::call::{Call, RuleRows};
use super::centrality::{by_vertex, symmetric};
use super::cohesion::simple_undirected;
use super::projection::Projection;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use algo::spanning_forest::TreeEdge;

/// Returns rows `vertex, component`.
pub(super) fn connected(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    numbered(call, algo::components::connected_components)
}

/// Returns rows `vertex, component`.
pub(super) fn strong(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    numbered(call, algo::strong_components::strong_components)
}

type Components = fn(&algo::Csr, &dyn algo::Limits) -> std::result::Result<Vec<u32>, algo::Stopped>;

fn numbered(call: &Call<'_, '_>, components: Components) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[1])?;
    let found =
        components(projection.graph(), call.limits()).map_err(|stopped| call.stopped(stopped))?;
    Ok(by_vertex(&projection, |vertex| [call.int(found[vertex])]))
}

/// Returns rows `vertex, core`.
pub(super) fn cores(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    peeled(call, algo::cores::core_numbers)
}

/// Returns rows `vertex, layer`.
pub(super) fn onion(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    peeled(call, algo::onion::onion_layers)
}

type Peeling = fn(&algo::Csr, &dyn algo::Limits) -> std::result::Result<Vec<u32>, algo::Error>;

fn peeled(call: &Call<'_, '_>, peeling: Peeling) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[1])?;
    let both = simple_undirected(call, &projection)?;
    let found = peeling(&both, call.limits()).map_err(|error| call.failed(error, &projection))?;
    Ok(by_vertex(&projection, |vertex| [call.int(found[vertex])]))
}

/// Returns rows `from, to, weight`.
pub(super) fn forest(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(true, &[])?;
    let edges = algo::spanning_forest::minimum_spanning_forest(projection.graph(), call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    tree_rows(call, &projection, &edges)
}

/// Returns rows `from, to, weight`.
pub(super) fn tree(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(true, &[])?;
    let start = match call.has_input(1) {
        true => {
            let starts = call.cells(1)?;
            let Some(&start) = starts.first() else {
                let what = format!("{} is given no vertex to start from", call.name());
                return Err(Error::value(what, call.input_span(1)));
            };
            let number = projection.number(start);
            Some(number.ok_or_else(|| {
                let value = call.query.interner.value(start);
                let what = format!("{value} is on no edge, so no tree starts there");
                Error::value(what, call.input_span(1))
            })?)
        }
        false => {
            let met = projection.graph().scan_order(call.limits());
            met.map_err(|stopped| call.stopped(stopped))?.first().copied()
        }
    };
    let Some(start) = start else { return Ok(RuleRows::new(3).into_columns()) };
    let both = symmetric(call, &projection)?;
    let edges = algo::spanning_tree::minimum_spanning_tree(&both, start, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    tree_rows(call, &projection, &edges)
}

fn tree_rows(
    call: &Call<'_, '_>,
    projection: &Projection<'_>,
    edges: &[TreeEdge],
) -> Result<Vec<Vec<Cell>>> {
    let mut answer = RuleRows::new(3);
    for edge in edges {
        let (source, target) = (projection.cell(edge.source), projection.cell(edge.target));
        answer.push([source, target, call.float(edge.weight)]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}

/// Returns rows `place, vertex`.
pub(super) fn top_sort(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let order = algo::top_sort::topological_order(projection.graph(), call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    let mut answer = RuleRows::new(2);
    for (place, vertex) in order.into_iter().enumerate() {
        answer.push([call.int(place), projection.cell(vertex)]);
        call.check(&mut answer)?;
    }
    Ok(answer.into_columns())
}
