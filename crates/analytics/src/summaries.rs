//! Entry functions of the algorithms that choose, color or match vertices, or measure assortativity
//! (see `table.rs`).

use crate::call::{Call, floats, groups};
use crate::result::{Found, Numbers};
use algo::NO_VERTEX;
use algo::coloring::{ColoringOrder, greedy_coloring};
use algo::kadabra::{KadabraOptions, approximate_betweenness};
use model::Value;
use store::Result;

pub(crate) fn greedy_color(call: &Call<'_>) -> Result<Found> {
    let order = match call.given.choice("strategy")? {
        "smallest_last" => ColoringOrder::SmallestLast,
        "saturation_largest_first" => ColoringOrder::Saturation,
        _ => ColoringOrder::LargestFirst,
    };
    let both = call.undirected()?;
    Ok(groups(call.check(greedy_coloring(&both, order, call.run))?))
}

pub(crate) fn maximal_independent_set(call: &Call<'_>) -> Result<Found> {
    let required = call.given.vertices("required")?.unwrap_or_default();
    let seed = call.given.maybe_int("seed")?.unwrap_or_default();
    let both = call.undirected()?;
    let chosen = algo::coloring::maximal_independent_set(&both, &required, seed, call.run);
    Ok(Found::Vertices(call.check(chosen)?))
}

pub(crate) fn maximal_matching(call: &Call<'_>) -> Result<Found> {
    let both = call.undirected()?;
    let mates = call.check(algo::matching::maximal_matching(&both, call.run))?;
    let pairs = (0..).zip(mates).filter(|&(v, mate)| mate != NO_VERTEX && v < mate);
    let (sources, targets) = pairs.unzip();
    Ok(Found::Edges { sources, targets, values: None })
}

pub(crate) fn is_bipartite(call: &Call<'_>) -> Result<Found> {
    let both = call.undirected()?;
    let is_bipartite = match algo::bipartite::bipartite_sides(&both, call.run) {
        Ok(_) => true,
        Err(algo::Error::NotBipartite { .. }) => false,
        Err(error) => return call.check(Err(error)),
    };
    Ok(Found::Scalar(Value::Bool(is_bipartite)))
}

pub(crate) fn overall_reciprocity(call: &Call<'_>) -> Result<Found> {
    let found = call.check(algo::mixing::reciprocity(call.graph(), call.run))?;
    // NetworkX refuses a graph without edges.
    match found.overall {
        Some(overall) => Ok(Found::Scalar(Value::Float(overall))),
        None => call.check(Err(algo::Error::ZeroSum)),
    }
}

pub(crate) fn degree_assortativity(call: &Call<'_>) -> Result<Found> {
    let (graph, run) = (call.graph(), call.run);
    let found = if call.projection.is_directed() {
        let degrees = call.check(algo::degree::degrees(graph, run))?;
        let out: Vec<u64> = degrees.iter().map(|degree| degree.out_edges).collect();
        let incoming: Vec<u64> = degrees.iter().map(|degree| degree.in_edges).collect();
        algo::mixing::degree_assortativity(graph, &out, &incoming, run)
    } else {
        let degrees = call.degrees()?;
        algo::mixing::degree_assortativity(graph, &degrees, &degrees, run)
    };
    Ok(Found::Scalar(Value::Float(call.check(found)?)))
}

pub(crate) fn approximate(call: &Call<'_>) -> Result<Found> {
    let given = &call.given;
    let reverse = call.reverse()?;
    // The graph of an undirected projection is its own reverse.
    let options = KadabraOptions {
        error: given.float("error")?,
        failure: given.float("failure")?,
        seed: given.maybe_int("seed")?.unwrap_or_default(),
        reverse: call.projection.is_directed().then_some(&*reverse),
    };
    let found = approximate_betweenness(call.graph(), &options, call.run, call.run);
    Ok(floats("centrality", call.check(found)?.values))
}

pub(crate) fn onion_layers(call: &Call<'_>) -> Result<Found> {
    let both = call.check(call.graph().simple_undirected(call.run))?;
    // Only self-loops are refused; parallel edges and directions have no effect.
    let loops = (0..call.vertices()).find(|&v| call.projection.loops(v) > 0);
    if let Some(vertex) = loops {
        return call.check(Err(algo::Error::SelfLoop { vertex }));
    }
    let layers = call.check(algo::onion::onion_layers(&both, call.run))?;
    Ok(Found::Values(vec![("layer", Numbers::Small(layers))]))
}
