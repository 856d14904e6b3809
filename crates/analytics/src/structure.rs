//! Entry functions of the algorithms on structure (see `table.rs`): components, communities, cores,
//! triangles, orders.

use crate::call::{Call, floats, groups, renumbered};
use crate::result::{Found, Numbers};
use algo::component_order::strong_components_in_order;
use algo::cores::core_numbers;
use algo::dag::{is_dag, topological_generations};
use algo::leiden::LeidenOptions;
use algo::partition::ModularityOptions;
use algo::similarity::Similarity;
use algo::triangles::{TriangleMeaning, Triangles, TrianglesOptions};
use algo::weak_components::{WeakComponentsOptions, weak_components};
use algo::weighted_clustering::weighted_clustering;
use model::Value;
use store::Result;

pub(crate) fn connected_components(call: &Call<'_>) -> Result<Found> {
    // Making the reverse takes longer than reading every edge once.
    let is_symmetric = !call.projection.is_directed();
    let options = WeakComponentsOptions { reverse: is_symmetric.then(|| call.graph()) };
    let labels = weak_components(call.graph(), &options, call.run, call.run);
    Ok(groups(call.check(labels)?))
}

pub(crate) fn strong_components(call: &Call<'_>) -> Result<Found> {
    Ok(groups(call.check(strong_components_in_order(call.graph(), call.run))?))
}

pub(crate) fn topological_sort(call: &Call<'_>) -> Result<Found> {
    let found = call.check(topological_generations(call.graph(), call.run))?;
    Ok(Found::Vertices(found.order))
}

pub(crate) fn is_directed_acyclic(call: &Call<'_>) -> Result<Found> {
    // An undirected edge is a cycle of two directions, and NetworkX says no for any such graph.
    let is_directed = call.projection.is_directed();
    let is_acyclic = is_directed && call.check(is_dag(call.graph(), call.run))?;
    Ok(Found::Scalar(Value::Bool(is_acyclic)))
}

pub(crate) fn core_number(call: &Call<'_>) -> Result<Found> {
    let both = call.projection.symmetric(call.run)?;
    let cores = call.check(core_numbers(&both, call.run))?;
    Ok(Found::Values(vec![("core", Numbers::Small(cores))]))
}

fn count(call: &Call<'_>, meaning: TriangleMeaning) -> Result<Triangles> {
    let options = TrianglesOptions { meaning };
    let graph = match meaning {
        TriangleMeaning::Undirected => &*call.undirected()?,
        TriangleMeaning::Fagiolo | TriangleMeaning::Ldbc => call.graph(),
    };
    call.check(algo::triangles::triangles(graph, &options, call.run, call.run))
}

pub(crate) fn triangles(call: &Call<'_>) -> Result<Found> {
    let found = count(call, TriangleMeaning::Undirected)?;
    let counts = found.counts.into_iter().map(u64::cast_signed).collect();
    Ok(Found::Values(vec![("triangles", Numbers::Int(counts))]))
}

fn coefficients(call: &Call<'_>) -> Result<Vec<f64>> {
    let is_directed = call.projection.is_directed();
    if call.graph().weights().is_some() && call.given.choice("variant")? == "networkx" {
        let graph = call.graph();
        return call.check(weighted_clustering(graph, is_directed, call.run, call.run));
    }
    let meaning = match (is_directed, call.given.choice("variant")?) {
        (false, _) => TriangleMeaning::Undirected,
        (true, "ldbc") => TriangleMeaning::Ldbc,
        (true, _) => TriangleMeaning::Fagiolo,
    };
    Ok(count(call, meaning)?.coefficients())
}

pub(crate) fn clustering(call: &Call<'_>) -> Result<Found> {
    Ok(floats("coefficient", coefficients(call)?))
}

pub(crate) fn average_clustering(call: &Call<'_>) -> Result<Found> {
    let all = coefficients(call)?;
    if all.is_empty() {
        return call.check(Err(algo::Error::NullGraph));
    }
    let average = all.iter().sum::<f64>() / all.len() as f64;
    Ok(Found::Scalar(Value::Float(average)))
}

pub(crate) fn transitivity(call: &Call<'_>) -> Result<Found> {
    let found = count(call, TriangleMeaning::Undirected)?;
    Ok(Found::Scalar(Value::Float(found.transitivity())))
}

pub(crate) fn louvain(call: &Call<'_>) -> Result<Found> {
    let options = algo::louvain::Options {
        max_iter: call.given.int("max_iter")?,
        delta: call.given.float("threshold")?,
        visits: algo::louvain::Visits::ByDegree,
    };
    // An undirected projection is symmetric, so its directed modularity is the undirected one.
    let found = call.check(algo::louvain::louvain(call.graph(), false, options, call.run))?;
    let none = || (0..call.vertices()).collect();
    Ok(renumbered(found.levels().last().unwrap_or_else(none)))
}

pub(crate) fn leiden(call: &Call<'_>) -> Result<Found> {
    let options = LeidenOptions {
        resolution: call.given.float("resolution")?,
        seed: call.given.maybe_int("seed")?,
        levels_max: call.given.int("max_level")?,
    };
    let labels = algo::leiden::leiden(&*call.undirected()?, &options, call.run);
    Ok(groups(call.check(labels)?))
}

pub(crate) fn label_propagation(call: &Call<'_>) -> Result<Found> {
    let rounds = call.given.int("max_iter")?;
    let both = call.undirected()?;
    let labels = algo::label_propagation::label_propagation(&both, Some(&both), rounds, call.run);
    Ok(renumbered(call.check(labels)?))
}

pub(crate) fn modularity(call: &Call<'_>) -> Result<Found> {
    let labels = call.given.communities("communities")?;
    let options = ModularityOptions { resolution: call.given.float("resolution")? };
    let found = algo::partition::modularity(&*call.undirected()?, &labels, &options, call.run);
    Ok(Found::Scalar(Value::Float(call.check(found)?)))
}

pub(crate) fn conductance(call: &Call<'_>) -> Result<Found> {
    let mut labels = vec![0; call.vertices() as usize];
    for vertex in call.given.vertices("group")?.unwrap_or_default() {
        labels[vertex as usize] = 1;
    }
    let found = algo::partition::conductance(&*call.undirected()?, &labels, call.run);
    let conductance = call.check(found)?.get(1).copied().unwrap_or_default();
    Ok(Found::Scalar(Value::Float(conductance)))
}

pub(crate) fn minimum_spanning_forest(call: &Call<'_>) -> Result<Found> {
    let edges = algo::spanning_forest::minimum_spanning_forest(call.graph(), call.run);
    let edges = call.check(edges)?;
    let weights = edges.iter().map(|edge| edge.weight).collect();
    Ok(Found::Edges {
        sources: edges.iter().map(|edge| edge.source).collect(),
        targets: edges.iter().map(|edge| edge.target).collect(),
        values: Some(("weight", Numbers::Float(weights))),
    })
}

pub(crate) fn bridges(call: &Call<'_>) -> Result<Found> {
    let found = call.check(algo::biconnected::biconnected(&*call.undirected()?, call.run))?;
    let (sources, targets) = found.bridges.into_iter().unzip();
    Ok(Found::Edges { sources, targets, values: None })
}

pub(crate) fn biconnected_components(call: &Call<'_>) -> Result<Found> {
    let both = call.undirected()?;
    let found = call.check(algo::biconnected::biconnected(&both, call.run))?;
    let (mut sources, mut targets, mut components) = (Vec::new(), Vec::new(), Vec::new());
    for v in 0..both.vertices() {
        call.run.check()?;
        for &to in both.neighbors(v) {
            let Some(component) = found.component_of_edge(v, to) else { continue };
            let is_parallel = sources.last() == Some(&v) && targets.last() == Some(&to);
            if v < to && !is_parallel {
                sources.push(v);
                targets.push(to);
                components.push(component);
            }
        }
    }
    let values = Some(("component", Numbers::Small(components)));
    Ok(Found::Edges { sources, targets, values })
}

pub(crate) fn articulation_points(call: &Call<'_>) -> Result<Found> {
    let found = call.check(algo::biconnected::biconnected(&*call.undirected()?, call.run))?;
    Ok(Found::Vertices(found.articulation_points))
}

pub(crate) fn cdlp(call: &Call<'_>) -> Result<Found> {
    let rounds = call.given.int("max_iter")?;
    let both = call.projection.symmetric(call.run)?;
    Ok(renumbered(call.check(algo::cdlp::cdlp(&both, rounds, call.run, call.run))?))
}

pub(crate) fn truss_number(call: &Call<'_>) -> Result<Found> {
    let edges = algo::truss::truss_numbers(&*call.undirected()?, call.run, call.run);
    let edges = call.check(edges)?;
    Ok(Found::Edges {
        sources: edges.iter().map(|edge| edge.source).collect(),
        targets: edges.iter().map(|edge| edge.target).collect(),
        values: Some(("truss", Numbers::Small(edges.iter().map(|edge| edge.truss).collect()))),
    })
}

pub(crate) fn most_similar(call: &Call<'_>) -> Result<Found> {
    let measure = match call.given.choice("measure")? {
        "common_neighbors" => Similarity::CommonNeighbors,
        "overlap" => Similarity::Overlap,
        "adamic_adar" => Similarity::AdamicAdar,
        "resource_allocation" => Similarity::ResourceAllocation,
        _ => Similarity::Jaccard,
    };
    let vertices = call.given.vertices("vertices")?;
    let vertices = vertices.unwrap_or_else(|| (0..call.vertices()).collect());
    let k = call.given.int("k")? as usize;
    let both = call.undirected()?;
    let found = algo::similarity::most_similar(&both, &vertices, k, measure, call.run, call.run);
    let (mut sources, mut targets, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for (vertex, row) in vertices.into_iter().zip(call.check(found)?) {
        for similar in row {
            sources.push(vertex);
            targets.push(similar.vertex);
            scores.push(similar.score);
        }
    }
    Ok(Found::Edges { sources, targets, values: Some(("score", Numbers::Float(scores))) })
}
