//! Fixed rules that measure a whole graph or take a part of it. None of them is in Cozo.

use super::call::{Call, RuleRows};
use super::centrality::symmetric;
use super::cohesion::simple_undirected;
use crate::error::Result;
use crate::value::cell::Cell;
use algo::OneThread;
use algo::subgraph::{EgoOptions, ego_graph, induced_subgraph};
use model::Value;

/// Returns rows `measure, value`.
pub(super) fn summary(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[1])?;
    let (graph, limits) = (projection.graph(), call.limits());
    let failed = |error| call.failed(error, &projection);
    let stopped = |stopped| call.stopped(stopped);
    let degrees = algo::degree::degrees(graph, limits).map_err(stopped)?;
    let (leaving, entering): (Vec<u64>, Vec<u64>) =
        degrees.iter().map(|degree| (degree.out_edges, degree.in_edges)).unzip();
    let correlation = algo::mixing::degree_assortativity(graph, &leaving, &entering, limits);
    let reciprocity = algo::mixing::reciprocity(graph, limits).map_err(stopped)?.overall;
    let both = simple_undirected(call, &projection)?;
    let triangles = algo::triangles::triangles(&both, &Default::default(), &OneThread, limits);
    let triangles = triangles.map_err(failed)?;
    let clustering = algo::weighted_clustering::average_clustering(&triangles.coefficients(), true);
    let float = |value: Option<f64>| {
        let value = value.filter(|value| !value.is_nan());
        value.map_or(Cell::NULL, |value| call.float(value))
    };
    let density = algo::mixing::density(graph.vertices(), graph.edges(), true);
    let mut answer = RuleRows::new(2);
    for (name, value) in [
        ("assortativity", float(Some(correlation.map_err(failed)?))),
        ("average_clustering", float(clustering)),
        ("density", float(Some(density))),
        ("edges", call.int(graph.edges())),
        ("reciprocity", float(reciprocity)),
        ("transitivity", float(Some(triangles.transitivity()))),
        ("triangles", call.int(triangles.total())),
        ("vertices", call.int(graph.vertices())),
    ] {
        answer.push([call.query.interner.take(Value::Str(name.to_owned())), value]);
    }
    Ok(answer.into_columns())
}

/// Returns rows `start, from, to, weight`: the edges between the vertices near each start.
pub(super) fn ego(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let undirected = call.flag("undirected")?;
    let options = EgoOptions {
        radius: call.size("radius", 1.0)?,
        weighted: call.flag("weighted")?,
        with_center: true,
    };
    let projection = call.projection(true, &[])?;
    let (graph, limits) = (projection.graph(), call.limits());
    let both = if undirected { Some(symmetric(call, &projection)?) } else { None };
    let mut answer = RuleRows::new(4);
    for start in projection.numbers(&call.cells(1)?) {
        let reach = both.as_ref().unwrap_or(graph);
        let part = ego_graph(reach, start, &options, &OneThread, limits);
        let mut part = part.map_err(|error| call.failed(error, &projection))?;
        if undirected {
            part = induced_subgraph(graph, &part.vertices, limits)
                .map_err(|error| call.failed(error, &projection))?;
        }
        for (number, &vertex) in (0_u32..).zip(&part.vertices) {
            for (to, weight) in part.graph.weighted(number) {
                let to = projection.cell(part.vertices[to as usize]);
                let from = projection.cell(vertex);
                answer.push([projection.cell(start), from, to, call.float(weight)]);
                call.check(&mut answer)?;
            }
        }
    }
    Ok(answer.into_columns())
}
