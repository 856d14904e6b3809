//! Fixed rules for maximum flows and minimum cuts. None of them is in Cozo.

use super::call::{Call, RuleRows};
use super::projection::Projection;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use algo::max_flow::MaxFlow;

/// Returns rows `from, to, flow` for edges with a flow.
pub(super) fn maximum_flow(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let mut answer = RuleRows::new(3);
    let Some((projection, found)) = flow(call)? else { return Ok(answer.into_columns()) };
    each_edge(&projection, |place, source, target, _| {
        let flow = found.flows.get(place).copied().unwrap_or(0.0);
        if flow > 0.0 {
            answer.push([projection.cell(source), projection.cell(target), call.float(flow)]);
        }
        call.check(&mut answer)
    })?;
    Ok(answer.into_columns())
}

/// Returns rows `from, to, capacity` for the edges of the cut.
pub(super) fn minimum_cut(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let mut answer = RuleRows::new(3);
    let Some((projection, found)) = flow(call)? else { return Ok(answer.into_columns()) };
    let is_source_side = |v: u32| found.is_source_side.get(v as usize) == Some(&true);
    each_edge(&projection, |_, source, target, capacity| {
        if is_source_side(source) && !is_source_side(target) {
            answer.push([projection.cell(source), projection.cell(target), call.float(capacity)]);
        }
        call.check(&mut answer)
    })?;
    Ok(answer.into_columns())
}

/// Calls `visit` with the place, the ends and the weight of each edge.
fn each_edge(
    projection: &Projection<'_>,
    mut visit: impl FnMut(usize, u32, u32, f64) -> Result<()>,
) -> Result<()> {
    let graph = projection.graph();
    let mut place = 0;
    for source in 0..graph.vertices() {
        for (target, weight) in graph.weighted(source) {
            visit(place, source, target, weight)?;
            place += 1;
        }
    }
    Ok(())
}

/// The flow between the vertices of the second and the third relation; `None` if one of them is on
/// no edge.
fn flow<'c>(call: &'c Call<'_, '_>) -> Result<Option<(Projection<'c>, MaxFlow<f64>)>> {
    let projection = call.projection(true, &[])?;
    let (Some(source), Some(sink)) = (end(call, &projection, 1)?, end(call, &projection, 2)?)
    else {
        return Ok(None);
    };
    let graph = projection.graph();
    let ones;
    let capacities = match graph.weights() {
        Some(weights) => weights,
        None => {
            ones = vec![1.0; graph.targets().len()];
            &ones
        }
    };
    let found = algo::max_flow::max_flow(graph, capacities, source, sink, call.limits())
        .map_err(|error| call.failed(error, &projection))?;
    Ok(Some((projection, found)))
}

/// The vertex of an input with one row.
fn end(call: &Call<'_, '_>, projection: &Projection<'_>, number: usize) -> Result<Option<u32>> {
    match call.cells(number)?[..] {
        [cell] => Ok(projection.number(cell)),
        ref cells => {
            let what = format!("{} reads one vertex here, found {}", call.name(), cells.len());
            Err(Error::value(what, call.input_span(number)))
        }
    }
}
