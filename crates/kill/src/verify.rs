//! Compares a database after a kill with the states that it may have.

use crate::database::{graph_name, tiny_options};
use crate::files;
use crate::ops::{Columns, Edges, Op, STREAMS, State};
use crate::outcome::Outcome;
use crate::verifier::VerifyMode;
use quipu::{Database, Durability, Edges as EdgeColumns, ErrorKind, Options, Weights};
use std::path::Path;

/// The result of a verification.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    /// Edges compared, each in both directions.
    pub(crate) rows: u64,
    /// Table files that were not in the manifest at the open: the kill came while one was written.
    pub(crate) unfinished_tables: u64,
    /// Sorted runs that an import left.
    pub(crate) unfinished_imports: u64,
}

/// Compares everything, and updates `states` by the operations in flight that took effect.
///
/// `next` is the number of each stream's operation in flight, or about to start; it is updated,
/// too.
pub(crate) fn verify(
    folder: &Path,
    mode: VerifyMode,
    durability: Durability,
    plan: &Plan<'_>,
    states: &mut [State; STREAMS],
    next: &mut [u32; STREAMS],
) -> Outcome<Found> {
    let mut found = Found::default();
    let read_only = mode == VerifyMode::ReadOnly;
    let tables_before = files::names(&folder.join("tables"));
    found.unfinished_imports = files::names(&folder.join("tmp")).len() as u64;
    let options = Options { read_only, ..tiny_options(durability) };
    let db = match Database::open(folder, options) {
        Ok(db) => db,
        // The child was killed before the database existed.
        Err(error) if read_only && error.kind() == ErrorKind::InvalidInput => {
            let nothing = states.iter().all(|state| *state == State::default());
            return if nothing { Ok(found) } else { Err(format!("the database is gone: {error}")) };
        }
        Err(error) => return Err(format!("opening: {error}")),
    };
    if !read_only {
        let left = files::names(&folder.join("tables"));
        found.unfinished_tables = tables_before.difference(&left).count() as u64;
        let runs = files::names(&folder.join("tmp"));
        if !runs.is_empty() {
            return Err(format!("an interrupted import left {runs:?}"));
        }
    }
    for stream in 0..STREAMS {
        let state = read_stream(&db, stream)?;
        found.rows += state.rows() as u64;
        if state != states[stream] {
            let op = Op::of(plan.seed, stream, next[stream]);
            let mut with_next = states[stream].clone();
            op.apply(next[stream], plan.files, &mut with_next);
            if state != with_next {
                return Err(describe(
                    stream,
                    next[stream],
                    &op,
                    &states[stream],
                    &with_next,
                    &state,
                ));
            }
            states[stream] = with_next;
            next[stream] += 1;
        }
    }
    // The engine's own check, too: both directions, every checksum and the order of rows.
    db.check(&|_, _| true).map_err(|error| format!("check: {error}"))?;
    if mode == VerifyMode::Closed {
        db.close().map_err(|error| format!("closing: {error}"))?;
        drop(db);
        files::only_named_tables(folder)?;
    }
    Ok(found)
}

/// Seed and import files of a run.
pub(crate) struct Plan<'a> {
    pub(crate) seed: u64,
    pub(crate) files: &'a [Columns],
}

/// Reads both graphs of a stream, each in both directions.
pub(crate) fn read_stream(db: &Database, stream: usize) -> Outcome<State> {
    Ok(State { weighted: read_graph(db, stream, true)?, plain: read_graph(db, stream, false)? })
}

fn read_graph(db: &Database, stream: usize, weighted: bool) -> Outcome<Edges> {
    let name = graph_name(stream, weighted);
    let text = |error: quipu::Error| format!("reading {name}: {error}");
    let Some(graph) = db.existing_graph(&name).map_err(text)? else { return Ok(Edges::new()) };
    let mut forward = Edges::new();
    let mut scan = graph.scan_edges().map_err(text)?;
    let mut rows = EdgeColumns::default();
    let mut vertices = std::collections::BTreeSet::new();
    while scan.next_edges(8192, &mut rows).map_err(text)? || !rows.is_empty() {
        collect(&rows, &mut forward);
        vertices.extend(rows.dst.iter().copied());
    }
    let vertices: Vec<u64> = vertices.into_iter().collect();
    let mut offsets = Vec::new();
    graph.in_edges_many(&vertices, &mut offsets, &mut rows).map_err(text)?;
    let mut reverse = Edges::new();
    collect(&rows, &mut reverse);
    if forward != reverse {
        let difference = forward.iter().zip(&reverse).find(|(a, b)| a != b);
        return Err(format!(
            "WRONG: the directions of {name} disagree: {} edges forward, {} in reverse, at {difference:?}",
            forward.len(),
            reverse.len()
        ));
    }
    let count = graph.number_of_edges().map_err(text)?;
    if count != forward.len() as u64 {
        return Err(format!("WRONG: {name} counts {count} edges and has {}", forward.len()));
    }
    Ok(forward)
}

fn collect(rows: &EdgeColumns, into: &mut Edges) {
    for (row, (&u, &v)) in rows.src.iter().zip(&rows.dst).enumerate() {
        let weight = match &rows.weight {
            Weights::Float(weights) => weights[row],
            _ => 1.0,
        };
        into.insert((u, v), weight.to_bits());
    }
}

fn describe(stream: usize, number: u32, op: &Op, a: &State, b: &State, found: &State) -> String {
    let compare = |want: &Edges, found: &Edges| {
        let lost = want.iter().filter(|(edge, _)| !found.contains_key(edge)).count();
        let extra = found.iter().filter(|(edge, _)| !want.contains_key(edge)).count();
        let differ = want.iter().filter(|(e, w)| found.get(e).is_some_and(|f| f != *w)).count();
        format!("{lost} lost, {extra} too many, {differ} with another weight of {}", want.len())
    };
    format!(
        "WRONG: stream {stream} before operation {number} ({}):\n\
         without it: weighted {}; plain {}\nwith it: weighted {}; plain {}",
        op.name(),
        compare(&a.weighted, &found.weighted),
        compare(&a.plain, &found.plain),
        compare(&b.weighted, &found.weighted),
        compare(&b.plain, &found.plain),
    )
}
