//! Fixed rules for paths from starts to goals: shortest path, Dijkstra, Yen.

use super::call::{Call, RuleRows};
use super::centrality::maybe_undirected;
use super::projection::Projection;
use crate::error::{Error, Result};
use crate::value::cell::Cell;
use algo::Stopped;
use algo::dijkstra::{Path, Ties};

/// Returns rows `start, goal, path`; the path is null where there is none.
pub(super) fn shortest(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(false, &[])?;
    let (starts, goals) = (call.cells(1)?, call.cells(2)?);
    let mut answer = RuleRows::new(3);
    let (from, to) = (projection.numbers(&starts), projection.numbers(&goals));
    call.guarded(&projection, |stopped_by| {
        let limits = call.limits();
        algo::paths::shortest_paths(
            projection.graph(),
            &from,
            &to,
            limits,
            &mut |start, goal, path| {
                let path = path.map_or(Cell::NULL, |path| call.path(&projection, path));
                answer.push([projection.cell(start), projection.cell(goal), path]);
                keep(call.check(&mut answer), stopped_by)
            },
        )?;
        Ok(())
    })?;
    // Vertices without edges are on no path.
    for &start in &starts {
        let is_known = projection.number(start).is_some();
        for &goal in &goals {
            if !(is_known && projection.number(goal).is_some()) {
                answer.push([start, goal, Cell::NULL]);
                call.check(&mut answer)?;
            }
        }
    }
    Ok(answer.into_columns())
}

/// Returns rows `start, goal, cost, path`. Without a third relation every vertex is a goal.
pub(super) fn dijkstra(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let ties = if call.flag("keep_ties")? { Ties::All } else { Ties::One };
    let projection = call.projection(true, &[])?;
    let graph = maybe_undirected(call, &projection)?;
    let starts = projection.numbers(&call.cells(1)?);
    let goals = match call.has_input(2) {
        true => Some(projection.numbers(&call.cells(2)?)),
        false => None,
    };
    weighted(call, &projection, |out| {
        let limits = call.limits();
        algo::dijkstra::dijkstra(&graph, &starts, goals.as_deref(), ties, limits, out)
    })
}

/// Returns rows `start, goal, cost, path`.
pub(super) fn yen(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let hint = "`k` is how many paths there are to be for each pair";
    call.required("k", hint)?;
    let k = call.positive("k")?.unwrap_or(1);
    let k = usize::try_from(k).unwrap_or(usize::MAX);
    let projection = call.projection(true, &[])?;
    let graph = maybe_undirected(call, &projection)?;
    let starts = projection.numbers(&call.cells(1)?);
    let goals = projection.numbers(&call.cells(2)?);
    weighted(call, &projection, |out| {
        let limits = call.limits();
        algo::k_shortest_paths::k_shortest_paths(&graph, &starts, &goals, k, limits, out)
    })
}

/// Returns rows `start, vertex, level, parent`, where the level is the number of edges.
pub(super) fn levels(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let limit = call.count("limit")?.map_or(f64::INFINITY, |limit| limit as f64);
    reached(call, false, limit, |level| call.int(level as i64))
}

/// Returns rows `start, vertex, distance, parent`.
pub(super) fn distances(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let limit = call.size("limit", f64::INFINITY)?;
    reached(call, true, limit, |distance| call.float(distance))
}

/// Collects the vertices within a distance of each start.
fn reached(
    call: &Call<'_, '_>,
    is_weighted: bool,
    distance_max: f64,
    distance: impl Fn(f64) -> Cell,
) -> Result<Vec<Vec<Cell>>> {
    let projection = call.projection(is_weighted, &[])?;
    let graph = maybe_undirected(call, &projection)?;
    let starts = call.cells(1)?;
    let mut answer = RuleRows::new(4);
    // A vertex without edges reaches itself.
    for &start in starts.iter().filter(|&&start| projection.number(start).is_none()) {
        answer.push([start, start, distance(0.0), Cell::NULL]);
    }
    let numbers = projection.numbers(&starts);
    call.guarded(&projection, |stopped_by| {
        algo::distances::distances(&graph, &numbers, distance_max, call.limits(), &mut |row| {
            let parent = row.parent.map_or(Cell::NULL, |parent| projection.cell(parent));
            let (start, vertex) = (projection.cell(row.start), projection.cell(row.vertex));
            answer.push([start, vertex, distance(row.distance), parent]);
            keep(call.check(&mut answer), stopped_by)
        })
    })?;
    Ok(answer.into_columns())
}

/// Collects the rows of paths with costs.
pub(super) fn weighted(
    call: &Call<'_, '_>,
    projection: &Projection<'_>,
    run: impl FnOnce(&mut algo::dijkstra::Output<'_>) -> std::result::Result<(), algo::Error>,
) -> Result<Vec<Vec<Cell>>> {
    let mut answer = RuleRows::new(4);
    call.guarded(projection, |stopped_by| {
        run(&mut |path: Path<'_>| {
            let (start, goal) = (projection.cell(path.start), projection.cell(path.goal));
            let way = call.path(projection, path.vertices);
            answer.push([start, goal, call.float(path.cost), way]);
            keep(call.check(&mut answer), stopped_by)
        })
    })?;
    Ok(answer.into_columns())
}

/// Stops an algorithm with an error, which is kept in `stopped_by`.
pub(super) fn keep<T>(
    result: Result<T>,
    stopped_by: &mut Option<Error>,
) -> std::result::Result<T, Stopped> {
    result.map_err(|error| {
        *stopped_by = Some(error);
        Stopped
    })
}
