//! Entry functions of the algorithms that search (see `table.rs`): distances, paths,
//! eccentricities, walks.

use crate::call::{Call, floats, weighted_tree};
use crate::failure::no_path;
use crate::result::{Found, Numbers, Tree};
use algo::bfs::{BfsOptions, NO_LEVEL};
use algo::bidirectional::{fewest_hops, least_weight};
use algo::eccentricity::{Extent, eccentricities, extent};
use algo::node2vec::WalkOptions;
use algo::sssp::SsspOptions;
use model::Value;
use store::Result;

pub(crate) fn bfs(call: &Call<'_>) -> Result<Found> {
    let sources = call.given.vertices("source")?.unwrap_or_default();
    let depth = call.given.maybe_int("depth_limit")?;
    let depth_max = depth.map(|depth| u32::try_from(depth).unwrap_or(u32::MAX));
    // The reverse pays where it already exists; making it takes longer than the search.
    let reverse = (!call.projection.is_directed()).then(|| call.graph());
    let options = BfsOptions { reverse, depth_max };
    let tree = algo::bfs::bfs(call.graph(), &sources, &options, call.run, call.run);
    let tree = call.check(tree)?;
    let is_complete = call.given.choice("variant")? == "ldbc";
    let is_reached = tree.levels.iter().map(|&level| level != NO_LEVEL).collect();
    let distances = match is_complete {
        false => Numbers::Small(tree.levels),
        true => {
            let level = |level| if level == NO_LEVEL { i64::MAX } else { i64::from(level) };
            Numbers::Int(tree.levels.into_iter().map(level).collect())
        }
    };
    Ok(Found::Tree(Tree {
        name: "level",
        distances,
        parents: tree.parents,
        is_reached,
        is_complete,
    }))
}

pub(crate) fn shortest_paths(call: &Call<'_>) -> Result<Found> {
    let sources = call.given.vertices("source")?.unwrap_or_default();
    let goals = call.given.vertices("targets")?;
    let distance_max = call.given.maybe_float("cutoff")?.unwrap_or(f64::INFINITY);
    let options = SsspOptions { distance_max, goals: goals.as_deref() };
    let tree = call.check(algo::sssp::sssp(call.graph(), &sources, &options, call.run))?;
    Ok(weighted_tree(tree, call.given.choice("variant")? == "ldbc"))
}

pub(crate) fn bellman_ford(call: &Call<'_>) -> Result<Found> {
    let sources = call.given.vertices("source")?.unwrap_or_default();
    let tree = algo::bellman_ford::bellman_ford(call.graph(), &sources, call.run);
    Ok(weighted_tree(call.check(tree)?, false))
}

pub(crate) fn shortest_path(call: &Call<'_>) -> Result<Found> {
    let (source, target) = (call.given.vertex("source")?, call.given.vertex("target")?);
    let reverse = call.reverse()?;
    let found = match call.graph().weights() {
        Some(_) => call.check(least_weight(call.graph(), &reverse, source, target, call.run))?,
        None => call
            .check(fewest_hops(call.graph(), &reverse, source, target, call.run))?
            .map(|path| ((path.len() - 1) as f64, path)),
    };
    let Some((length, path)) = found else { return Err(missing(call, source, target)?) };
    Ok(Found::Paths { paths: vec![path], lengths: vec![length] })
}

fn missing(call: &Call<'_>, source: u32, target: u32) -> Result<store::Error> {
    let ids = call.projection.ids();
    Ok(no_path(&ids.value(source)?, &ids.value(target)?))
}

pub(crate) fn all_shortest_paths(call: &Call<'_>) -> Result<Found> {
    let (source, target) = (call.given.vertex("source")?, call.given.vertex("target")?);
    let count_max = call.given.maybe_int("limit")?.unwrap_or(u64::MAX);
    let dag = algo::path_dag::path_dag(call.graph(), source, target, call.run);
    let dag = call.check(dag)?;
    let (mut paths, mut bytes) = (Vec::new(), 0);
    for path in dag.paths().take(usize::try_from(count_max).unwrap_or(usize::MAX)) {
        bytes += 4 * path.capacity() as u64 + 32;
        paths.push(path);
        if !algo::Limits::may_hold(call.run, bytes) {
            return call.check(Err(algo::Error::TooLarge { bytes }));
        }
        call.run.check()?;
    }
    if paths.is_empty() && count_max > 0 {
        return Err(missing(call, source, target)?);
    }
    let lengths = vec![dag.distance; paths.len()];
    Ok(Found::Paths { paths, lengths })
}

pub(crate) fn astar_path(call: &Call<'_>) -> Result<Found> {
    let (source, target) = (call.given.vertex("source")?, call.given.vertex("target")?);
    let rest = call.given.vertex_values("heuristic")?.unwrap_or_default();
    let mut estimate = |v: u32, _: u32| Ok(rest.get(v as usize).copied().unwrap_or_default());
    let (mut paths, mut lengths) = (Vec::new(), Vec::new());
    let found = algo::astar::a_star(
        call.graph(),
        &[source],
        &[target],
        &mut estimate,
        call.run,
        &mut |path| {
            if path.cost.is_finite() {
                paths.push(path.vertices.to_vec());
                lengths.push(path.cost);
            }
            Ok(())
        },
    );
    call.check(found)?;
    if paths.is_empty() {
        return Err(missing(call, source, target)?);
    }
    Ok(Found::Paths { paths, lengths })
}

pub(crate) fn all_pairs(call: &Call<'_>) -> Result<Found> {
    let starts = call.given.vertices("sources")?;
    let starts = starts.unwrap_or_else(|| (0..call.vertices()).collect());
    let distance_max = call.given.maybe_float("cutoff")?.unwrap_or(f64::MAX);
    let (mut sources, mut targets, mut distances) = (Vec::new(), Vec::new(), Vec::new());
    let mut too_large = None;
    let found = algo::all_distances::all_distances(
        call.graph(),
        &starts,
        call.run,
        call.run,
        &mut |source, row| {
            for (target, &distance) in (0..).zip(row) {
                if distance <= distance_max {
                    sources.push(source);
                    targets.push(target);
                    distances.push(distance);
                }
            }
            let bytes = 8 * (sources.capacity() + distances.capacity()) as u64;
            if algo::Limits::may_hold(call.run, bytes) {
                return Ok(());
            }
            too_large = Some(bytes);
            Err(algo::Stopped)
        },
    );
    if let Some(bytes) = too_large {
        return call.check(Err(algo::Error::TooLarge { bytes }));
    }
    call.check(found)?;
    Ok(Found::Edges { sources, targets, values: Some(("distance", Numbers::Float(distances))) })
}

pub(crate) fn k_shortest_paths(call: &Call<'_>) -> Result<Found> {
    let (source, target) = (call.given.vertex("source")?, call.given.vertex("target")?);
    let k = call.given.int("k")? as usize;
    let (mut paths, mut lengths) = (Vec::new(), Vec::new());
    let found = algo::k_shortest_paths::k_shortest_paths(
        call.graph(),
        &[source],
        &[target],
        k,
        call.run,
        &mut |path| {
            paths.push(path.vertices.to_vec());
            lengths.push(path.cost);
            Ok(())
        },
    );
    call.check(found)?;
    if paths.is_empty() && k > 0 {
        return Err(missing(call, source, target)?);
    }
    Ok(Found::Paths { paths, lengths })
}

fn distances(call: &Call<'_>) -> Result<Vec<f64>> {
    call.check(eccentricities(call.graph(), call.run, call.run))
}

pub(crate) fn eccentricity(call: &Call<'_>) -> Result<Found> {
    Ok(floats("eccentricity", distances(call)?))
}

fn extremes(call: &Call<'_>) -> Result<Extent> {
    call.check(extent(&distances(call)?))
}

pub(crate) fn diameter(call: &Call<'_>) -> Result<Found> {
    Ok(Found::Scalar(Value::Float(extremes(call)?.diameter)))
}

pub(crate) fn radius(call: &Call<'_>) -> Result<Found> {
    Ok(Found::Scalar(Value::Float(extremes(call)?.radius)))
}

pub(crate) fn center(call: &Call<'_>) -> Result<Found> {
    Ok(Found::Vertices(extremes(call)?.center))
}

pub(crate) fn periphery(call: &Call<'_>) -> Result<Found> {
    Ok(Found::Vertices(extremes(call)?.periphery))
}

pub(crate) fn random_walks(call: &Call<'_>) -> Result<Found> {
    let given = &call.given;
    let starts = given.vertices("starts")?.unwrap_or_else(|| (0..call.vertices()).collect());
    let width = given.int("length")? as usize;
    let options = WalkOptions {
        vertices_max: width,
        walks: given.int("walks")? as usize,
        return_parameter: given.float("p")?,
        in_out_parameter: given.float("q")?,
        seed: given.maybe_int("seed")?.unwrap_or_default(),
    };
    let found = algo::node2vec::node2vec_walks(call.graph(), &starts, &options, call.run, call.run);
    Ok(Found::Walks { width, vertices: call.check(found)? })
}
