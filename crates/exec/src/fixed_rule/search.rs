//! Fixed rules for searches and random walks, whose steps depend on expressions over columns.

use super::call::{Call, Row, RuleRows};
use super::options::rounds;
use super::paths::keep;
use super::projection::Projection;
use crate::error::{Error, Result};
use crate::expr::{Compiled, Computer};
use crate::value::cell::Cell;
use algo::{NO_VERTEX, Stopped};
use hashbrown::HashSet;
use plan::Id;
use syntax::Span;

/// The row of each vertex in a relation whose first column is the vertex.
struct Properties {
    columns: Vec<Vec<Cell>>,
    row_of: Vec<u32>,
    span: Span,
    /// Whether more than the vertex is read from a row.
    is_read: bool,
    arity: usize,
}

impl Properties {
    /// Reads an input; `wanted` are the columns that an expression reads.
    fn new(
        call: &Call<'_, '_>,
        number: usize,
        projection: &Projection<'_>,
        wanted: impl Iterator<Item = usize>,
    ) -> Result<Self> {
        let arity = call.arity(number)?;
        let (mut is_read, span) = (false, call.input_span(number));
        wanted.for_each(|column| is_read |= column > 0);
        let (mut columns, mut row_of) = (Vec::new(), Vec::new());
        if is_read {
            columns = call.columns(number)?;
            row_of = vec![NO_VERTEX; projection.len()];
            let keys = columns.first().map_or(&[][..], Vec::as_slice);
            for (row, &cell) in (0_u32..).zip(keys) {
                let Some(vertex) = projection.number(cell) else { continue };
                // If a vertex has several rows, the first one counts.
                if let Some(place) = row_of.get_mut(vertex as usize)
                    && *place == NO_VERTEX
                {
                    *place = row;
                }
            }
        }
        Ok(Self { columns, row_of, span, is_read, arity })
    }

    /// Appends the row of a vertex.
    fn append(
        &self,
        vertex: u32,
        call: &Call<'_, '_>,
        projection: &Projection<'_>,
        out: &mut Vec<Cell>,
    ) -> Result<()> {
        if !self.is_read {
            let from = out.len();
            out.push(projection.cell(vertex));
            out.resize(from + self.arity, Cell::NULL);
            return Ok(());
        }
        let row = self.row_of.get(vertex as usize).copied().unwrap_or(NO_VERTEX);
        if row == NO_VERTEX {
            let value = projection.value(vertex);
            let what = format!("{} needs the row of {value}, and there is none", call.name());
            let hint = "each vertex that is reached has a row in this relation";
            return Err(Error::hinted(what, self.span, hint));
        }
        out.extend(self.columns.iter().map(|column| column[row as usize]));
        Ok(())
    }
}

/// An option that is an expression over the columns of several inputs.
struct Formula {
    expr: Compiled,
    span: Span,
    /// Columns that it reads.
    read: Vec<usize>,
}

impl Formula {
    /// Compiles it over two lists of names; of a repeated name the right one counts.
    fn new(
        call: &Call<'_, '_>,
        expr: &syntax::Expr,
        left: Vec<String>,
        right: Vec<String>,
    ) -> Result<Self> {
        let shadowed = |name: String| if right.contains(&name) { String::new() } else { name };
        let mut names: Vec<String> = left.into_iter().map(shadowed).collect();
        names.extend(right);
        let (resolved, compiled) = call.over(expr, &names)?;
        let mut read = Vec::new();
        resolved.each_var(&mut |var| read.push(var.place()));
        Ok(Self { expr: compiled, span: expr.span(), read })
    }

    fn number(&self, name: &str, computer: &Computer<'_>, row: &[Cell]) -> Result<f64> {
        let cell = computer.compute(&self.expr, &Row(row), 0)?;
        if let Some(number) = cell.as_plain_float() {
            return Ok(number);
        }
        computer.interner.with(cell, super::options::float).ok_or_else(|| {
            let found = computer.interner.value(cell);
            Error::value(format!("`{name}` is a number, found {found}"), self.span)
        })
    }
}

type Search = fn(
    &algo::Csr,
    &[u32],
    usize,
    &mut algo::traverse::Condition<'_>,
    &dyn algo::Limits,
    &mut algo::traverse::Output<'_>,
) -> std::result::Result<(), Stopped>;

/// Returns rows `start, vertex, path`, found breadth first.
pub(super) fn breadth_first(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    search(call, algo::traverse::breadth_first)
}

/// Returns rows `start, vertex, path`, found depth first.
pub(super) fn depth_first(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    search(call, algo::traverse::depth_first)
}

fn search(call: &Call<'_, '_>, search: Search) -> Result<Vec<Vec<Cell>>> {
    let hint =
        "`condition` says of the columns of the second relation which vertices are looked for";
    let condition = call.required("condition", hint)?;
    let condition = Formula::new(call, condition, call.names(1)?, Vec::new())?;
    let limit = call.positive("limit")?.unwrap_or(1);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let starts = if call.has_input(2) { 2 } else { 1 };
    let projection = call.projection(false, &[starts])?;
    let starts = projection.numbers(&call.cells(starts)?);
    let properties = Properties::new(call, 1, &projection, condition.read.iter().copied())?;
    let computer = call.query.computer();
    let mut answer = RuleRows::new(3);
    let mut row = Vec::new();
    let mut failed = None;
    let mut is_wanted = |vertex: u32| -> Result<bool> {
        row.clear();
        properties.append(vertex, call, &projection, &mut row)?;
        let cell = computer.compute(&condition.expr, &Row(&row), 0)?;
        computer.truth(cell, "condition", condition.span)
    };
    call.guarded(&projection, |stopped_by| {
        let ran = search(
            projection.graph(),
            &starts,
            limit,
            &mut |vertex| keep(is_wanted(vertex), &mut failed),
            call.limits(),
            &mut |start, vertex, path| {
                let path = call.path(&projection, path);
                answer.push([projection.cell(start), projection.cell(vertex), path]);
                keep(call.check(&mut answer), stopped_by)
            },
        );
        if stopped_by.is_none() {
            *stopped_by = failed.take();
        }
        Ok(ran?)
    })?;
    Ok(answer.into_columns())
}

/// Returns rows `start, goal, cost, path`, found with an estimate of the remaining cost.
pub(super) fn a_star(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let hint = "`heuristic` estimates from the columns of the second and the fourth relation what \
                remains to the goal; 0 is always right";
    let heuristic = call.required("heuristic", hint)?;
    let arity = call.arity(1)?;
    let heuristic = Formula::new(call, heuristic, call.names(1)?, call.names(3)?)?;
    let projection = call.projection(true, &[2, 3])?;
    let starts = projection.numbers(&call.cells(2)?);
    let goals = projection.numbers(&call.cells(3)?);
    let of_vertex = heuristic.read.iter().copied().filter(|&column| column < arity);
    let vertices = Properties::new(call, 1, &projection, of_vertex)?;
    let of_goal = heuristic.read.iter().filter_map(|&column| column.checked_sub(arity));
    let targets = Properties::new(call, 3, &projection, of_goal)?;
    let computer = call.query.computer();
    let mut row = Vec::new();
    let mut failed = None;
    let mut estimate = |vertex: u32, goal: u32| -> Result<f64> {
        row.clear();
        vertices.append(vertex, call, &projection, &mut row)?;
        targets.append(goal, call, &projection, &mut row)?;
        heuristic.number("heuristic", &computer, &row)
    };
    let columns = super::paths::weighted(call, &projection, |out| {
        let mut estimate = |vertex, goal| keep(estimate(vertex, goal), &mut failed);
        let (graph, limits) = (projection.graph(), call.limits());
        algo::astar::a_star(graph, &starts, &goals, &mut estimate, limits, out)
    });
    match failed {
        Some(error) => Err(error),
        None => columns,
    }
}

/// The projection of a walk whose weights depend on the rows of the edges, and the columns of these
/// rows. Each edge's weight is the number of its row, which is exact below 2^53.
fn edge_rows<'c>(call: &'c Call<'_, '_>) -> Result<(Projection<'c>, Vec<Vec<Cell>>)> {
    let rows = call.columns(0)?;
    let mut edges = call.edges(false, &[2])?;
    edges.weights = Some((0..edges.sources.len()).map(|row| row as f64).collect());
    Ok((call.project(edges)?, rows))
}

fn walk_options(call: &Call<'_, '_>) -> Result<algo::random_walk::Options> {
    call.required("steps", "`steps` is how long a walk gets")?;
    Ok(algo::random_walk::Options {
        steps: rounds(call.positive("steps")?, 1) as usize,
        iterations: call.positive("iterations")?.unwrap_or(1),
    })
}

/// The vertices that walks start from.
///
/// # Errors
/// One of them is not among the vertices of the second input.
fn walk_starts(call: &Call<'_, '_>) -> Result<Vec<Cell>> {
    let starts = call.cells(2)?;
    let known: HashSet<Cell> = call.cells(1)?.into_iter().collect();
    if let Some(&stranger) = starts.iter().find(|&start| !known.contains(start)) {
        let value = call.query.interner.value(stranger);
        let what = format!("{value} is none of the nodes, so no walk starts there");
        return Err(Error::value(what, call.input_span(2)));
    }
    Ok(starts)
}

/// Returns rows `number, start, path`.
pub(super) fn random_walk(call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let options = walk_options(call)?;
    let arity = call.arity(1)?;
    let weight = match call.option("weight") {
        Some(expr) => Some(Formula::new(call, expr, call.names(1)?, call.names(0)?)?),
        None => None,
    };
    let reads_edges = weight.as_ref().is_some_and(|one| one.read.iter().any(|&c| c >= arity));
    let (projection, rows) = match reads_edges {
        true => edge_rows(call)?,
        false => (call.projection(false, &[2])?, Vec::new()),
    };
    let starts = walk_starts(call)?;
    let of_vertex = weight.iter().flat_map(|one| one.read.iter().copied());
    let of_vertex = of_vertex.filter(|&column| column < arity);
    let properties = Properties::new(call, 1, &projection, of_vertex)?;
    let computer = call.query.computer();
    let starts = projection.numbers(&starts);
    let mut answer = RuleRows::new(3);
    let mut row = Vec::new();
    let mut failed = None;
    let mut weight_at = |weight: &Formula, from: u32, place: usize| -> Result<f64> {
        row.clear();
        properties.append(from, call, &projection, &mut row)?;
        let edge = projection.graph().weights().and_then(|all| all.get(place));
        if let Some(&edge) = edge {
            row.extend(rows.iter().map(|column| column[edge as usize]));
        }
        weight.number("weight", &computer, &row)
    };
    call.guarded(&projection, |stopped_by| {
        let ran = {
            let mut by_weight = weight.as_ref().map(|weight| {
                let (weight_at, failed) = (&mut weight_at, &mut failed);
                move |from: u32, _: u32, place: usize| keep(weight_at(weight, from, place), failed)
            });
            algo::random_walk::random_walks(
                projection.graph(),
                &starts,
                options,
                &mut || call.query.ambient.random(),
                by_weight
                    .as_mut()
                    .map(|weight_at| weight_at as &mut algo::random_walk::StepWeight<'_>),
                call.limits(),
                &mut |number, start, path| {
                    let path = call.path(&projection, path);
                    answer.push([call.int(number), projection.cell(start), path]);
                    keep(call.check(&mut answer), stopped_by)
                },
            )
        };
        if stopped_by.is_none() {
            *stopped_by = failed.take();
        }
        ran
    })?;
    Ok(answer.into_columns())
}
