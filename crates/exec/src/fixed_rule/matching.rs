//! Fixed rules that choose edges or vertices apart from each other: matchings, colorings,
//! independent sets. None of them is in Cozo.

use super::call::{Call, RuleRows};
use super::centrality::by_vertex;
use super::cohesion::simple_undirected;
use super::projection::Projection;
use crate::error::Result;
use crate::value::cell::Cell;
use algo::coloring::ColoringOrder;
use model::Value;

/// The orders of colorings by name.
const ORDERS: [(&str, ColoringOrder); 3] = [
    ("largest_first", ColoringOrder::LargestFirst),
    ("smallest_last", ColoringOrder::SmallestLast),
    ("saturation", ColoringOrder::Saturation),
];

/// Returns rows `from, to`: pairs of a maximum matching of a bipartite graph.
pub(super) fn bipartite(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let limits = call.limits();
    // Self-loops are kept, so that they are refused.
    let both = projection.graph().undirected(limits).map_err(|stopped| call.stopped(stopped))?;
    let failed = |error| call.failed(error, &projection);
    let sides = algo::bipartite::bipartite_sides(&both, limits).map_err(failed)?;
    let mates = algo::bipartite::maximum_bipartite_matching(&both, &sides, limits);
    pairs(call, &projection, &mates.map_err(failed)?)
}

/// Returns rows `from, to`: pairs of a maximal matching.
pub(super) fn maximal(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let both = simple_undirected(call, &projection)?;
    let mates = algo::matching::maximal_matching(&both, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    pairs(call, &projection, &mates)
}

/// Returns rows `from, to`: pairs of a matching of the greatest weight.
pub(super) fn heaviest(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let max_cardinality = call.flag("max_cardinality")?;
    let projection = call.projection(true, &[])?;
    let limits = call.limits();
    let both = projection.graph().undirected(limits).map_err(|stopped| call.stopped(stopped))?;
    let mates = algo::max_weight_matching::max_weight_matching(&both, max_cardinality, limits);
    pairs(call, &projection, &mates.map_err(|error| call.failed(error, &projection))?)
}

/// A row for each pair, in the direction of its edge.
fn pairs(
    call: &Call<'_, '_>,
    projection: &Projection<'_>,
    mates: &[u32],
) -> Result<Vec<Vec<Cell>>> {
    let mut answer = RuleRows::new(2);
    for (vertex, &mate) in (0_u32..).zip(mates) {
        if mate != algo::NO_VERTEX && vertex < mate {
            let is_there = projection.graph().neighbors(vertex).binary_search(&mate).is_ok();
            let (source, target) = if is_there { (vertex, mate) } else { (mate, vertex) };
            answer.push([projection.cell(source), projection.cell(target)]);
            call.check(&mut answer)?;
        }
    }
    Ok(answer.into_columns())
}

/// Returns rows `vertex, color`.
pub(super) fn coloring(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let order = order(call)?;
    let projection = call.projection(false, &[1])?;
    let both = simple_undirected(call, &projection)?;
    let colors = algo::coloring::greedy_coloring(&both, order, call.limits())
        .map_err(|stopped| call.stopped(stopped))?;
    Ok(by_vertex(&projection, |vertex| [call.int(colors[vertex])]))
}

fn order(call: &Call<'_, '_>) -> Result<ColoringOrder> {
    let Some(name) = call.text("order")? else { return Ok(ColoringOrder::LargestFirst) };
    let found = ORDERS.iter().find(|(known, _)| *known == name);
    found.map(|&(_, order)| order).ok_or_else(|| {
        let names = ORDERS.map(|(name, _)| format!("'{name}'"));
        let wanted = format!("one of {}", names.join(", "));
        let span = call.option("order").map_or(call.fixed.span, syntax::Expr::span);
        call.wrong("order", &wanted, &Value::Str(name), span)
    })
}

/// Returns rows `vertex`: a maximal independent set.
pub(super) fn independent(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let seed = call.count("seed")?.unwrap_or(0);
    let projection = call.projection(false, &[1])?;
    let both = simple_undirected(call, &projection)?;
    let found = algo::coloring::maximal_independent_set(&both, &[], seed, call.limits())
        .map_err(|error| call.failed(error, &projection))?;
    Ok(vec![found.into_iter().map(|vertex| projection.cell(vertex)).collect()])
}
