//! Entry functions of the algorithms that rank vertices and edges (see `table.rs`). Each reads its
//! arguments, calls a kernel of `algo`, and returns values by vertex or edge.

use crate::call::{Call, floats};
use crate::failure::invalid;
use crate::result::{Found, Numbers};
use algo::brandes::{BetweennessOptions, betweenness_centrality, edge_betweenness_centrality};
use algo::distance_centrality::{self, ClosenessOptions};
use algo::pagerank_power::{PagerankOptions, Rounds, pagerank_power};
use algo::spectral::{
    EigenvectorOptions, HitsOptions, KatzOptions, eigenvector_centrality, hits, katz_centrality,
};
use store::Result;

pub(crate) fn pagerank(call: &Call<'_>) -> Result<Found> {
    let given = &call.given;
    let rounds_max = given.int("max_iter")?;
    let rounds = match given.choice("variant")? {
        "ldbc" => Rounds::Fixed(rounds_max),
        _ => Rounds::Until { tolerance: given.float("tol")?, rounds_max },
    };
    let personalization = given.vertex_values("personalization")?;
    let dangling = given.vertex_values("dangling")?;
    let start = given.vertex_values("nstart")?;
    let options = PagerankOptions {
        alpha: given.float("alpha")?,
        personalization: personalization.as_deref(),
        dangling: dangling.as_deref(),
        start: start.as_deref(),
        rounds,
    };
    let ranks = pagerank_power(call.graph(), &*call.reverse()?, &options, call.run, call.run);
    Ok(floats("rank", call.check(ranks)?))
}

pub(crate) fn eigenvector(call: &Call<'_>) -> Result<Found> {
    let start = call.given.vertex_values("nstart")?;
    let options = EigenvectorOptions {
        start: start.as_deref(),
        tolerance: call.given.float("tol")?,
        rounds_max: call.given.int("max_iter")?,
    };
    let values = eigenvector_centrality(&*call.reverse()?, &options, call.run, call.run);
    Ok(floats("centrality", call.check(values)?))
}

pub(crate) fn katz(call: &Call<'_>) -> Result<Found> {
    let start = call.given.vertex_values("nstart")?;
    let options = KatzOptions {
        alpha: call.given.float("alpha")?,
        beta: call.given.float("beta")?,
        betas: None,
        start: start.as_deref(),
        normalized: call.given.bool("normalized")?,
        tolerance: call.given.float("tol")?,
        rounds_max: call.given.int("max_iter")?,
    };
    let values = katz_centrality(&*call.reverse()?, &options, call.run, call.run);
    Ok(floats("centrality", call.check(values)?))
}

pub(crate) fn hubs_and_authorities(call: &Call<'_>) -> Result<Found> {
    let start = call.given.vertex_values("nstart")?;
    let options = HitsOptions {
        start: start.as_deref(),
        tolerance: call.given.float("tol")?,
        rounds_max: call.given.int("max_iter")?,
        normalized: call.given.bool("normalized")?,
    };
    let found = hits(call.graph(), &*call.reverse()?, &options, call.run, call.run);
    let found = call.check(found)?;
    let (hubs, authorities) = (Numbers::Float(found.hubs), Numbers::Float(found.authorities));
    Ok(Found::Values(vec![("hub", hubs), ("authority", authorities)]))
}

pub(crate) fn betweenness(call: &Call<'_>) -> Result<Found> {
    let sources = sources(call)?;
    let options = BetweennessOptions {
        sources: sources.as_deref(),
        normalized: call.given.bool("normalized")?,
        endpoints: call.given.bool("endpoints")?,
        undirected: !call.projection.is_directed(),
    };
    let values = betweenness_centrality(call.graph(), &options, call.run, call.run);
    Ok(floats("centrality", call.check(values)?))
}

pub(crate) fn edge_betweenness(call: &Call<'_>) -> Result<Found> {
    let sources = sources(call)?;
    let is_undirected = !call.projection.is_directed();
    let options = BetweennessOptions {
        sources: sources.as_deref(),
        normalized: call.given.bool("normalized")?,
        endpoints: false,
        undirected: is_undirected,
    };
    let graph = call.graph();
    let all = edge_betweenness_centrality(graph, &options, call.run, call.run);
    let all = call.check(all)?;
    if !is_undirected {
        let (sources, targets) = (sources_of(graph), graph.targets().to_vec());
        return Ok(edges(sources, targets, all));
    }
    let (mut from, mut to, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for ((source, &target), value) in sources_of(graph).into_iter().zip(graph.targets()).zip(all) {
        // The other direction has the same value.
        if source <= target {
            from.push(source);
            to.push(target);
            values.push(value);
        }
    }
    Ok(edges(from, to, values))
}

fn edges(sources: Vec<u32>, targets: Vec<u32>, values: Vec<f64>) -> Found {
    Found::Edges { sources, targets, values: Some(("centrality", Numbers::Float(values))) }
}

/// The source of each edge.
fn sources_of(graph: &algo::Csr) -> Vec<u32> {
    let mut sources = Vec::with_capacity(graph.targets().len());
    for v in 0..graph.vertices() {
        sources.resize(sources.len() + graph.degree(v), v);
    }
    sources
}

/// The given sources of shortest paths, or a sample of `k`; `None`: all vertices.
fn sources(call: &Call<'_>) -> Result<Option<Vec<u32>>> {
    if let Some(mut sources) = call.given.vertices("sources")? {
        sources.sort_unstable();
        sources.dedup();
        return Ok(Some(sources));
    }
    let Some(k) = call.given.maybe_int("k")? else { return Ok(None) };
    let n = call.vertices();
    if k > u64::from(n) {
        let what = format!("k is {k}, the projection has {n} vertices");
        return Err(invalid(&what, "without k, all vertices are sources"));
    }
    let seed = call.given.maybe_int("seed")?.unwrap_or_default();
    Ok(Some(sample(n, k as u32, seed)))
}

/// `k` of the first `n` numbers, ascending: Floyd's sample (Bentley and Floyd, "A sample of
/// brilliance", 1987) with SplitMix64.
fn sample(n: u32, k: u32, seed: u64) -> Vec<u32> {
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut state = seed;
    let mut chosen = std::collections::BTreeSet::new();
    for last in n - k..n {
        state = state.wrapping_add(STEP);
        let mut bits = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        let one = ((u128::from(bits) * (u128::from(last) + 1)) >> 64) as u32;
        if !chosen.insert(one) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

pub(crate) fn closeness(call: &Call<'_>) -> Result<Found> {
    let options = ClosenessOptions { wf_improved: call.given.bool("wf_improved")? };
    let reverse = call.reverse()?;
    let values = distance_centrality::closeness_centrality(&reverse, &options, call.run, call.run);
    Ok(floats("centrality", call.check(values)?))
}

pub(crate) fn harmonic(call: &Call<'_>) -> Result<Found> {
    let values = distance_centrality::harmonic_centrality(&*call.reverse()?, call.run, call.run);
    Ok(floats("centrality", call.check(values)?))
}

pub(crate) fn degree(call: &Call<'_>) -> Result<Found> {
    Ok(shares(call, call.degrees()?))
}

pub(crate) fn in_degree(call: &Call<'_>) -> Result<Found> {
    if !call.projection.is_directed() {
        return degree(call);
    }
    let degrees = call.check(algo::degree::degrees(call.graph(), call.run))?;
    Ok(shares(call, degrees.into_iter().map(|degree| degree.in_edges).collect()))
}

pub(crate) fn out_degree(call: &Call<'_>) -> Result<Found> {
    if !call.projection.is_directed() {
        return degree(call);
    }
    let degrees = (0..call.vertices()).map(|v| call.graph().degree(v) as u64);
    Ok(shares(call, degrees.collect()))
}

/// Degrees as shares of the possible number; 1 for a vertex that is alone in the graph.
fn shares(call: &Call<'_>, degrees: Vec<u64>) -> Found {
    let n = call.vertices();
    // As NetworkX does: multiplied by the inverse, so that the last bits are the same.
    let factor = 1.0 / (f64::from(n) - 1.0);
    let share = |degree: u64| if n <= 1 { 1.0 } else { degree as f64 * factor };
    floats("centrality", degrees.into_iter().map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_distinct_members_and_follows_from_the_seed() {
        for (n, k) in [(0, 0), (5, 0), (5, 5), (1000, 10)] {
            let one = sample(n, k, 7);
            assert_eq!(one.len(), k as usize);
            assert!(one.is_sorted() && one.iter().all(|&v| v < n));
            assert_eq!(one, sample(n, k, 7));
        }
        assert_ne!(sample(1000, 10, 7), sample(1000, 10, 8));
    }
}
