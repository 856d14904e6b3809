//! Builds a graph from columns of edges, such as the result of a query. `projector.rs` calls it.

use crate::budget::Reservation;
use crate::error::from_algo;
use crate::ids::{Naming, VertexIds};
use crate::numbering::{Numbering, distinct};
use crate::projection::bytes_for;
use crate::run::Run;
use algo::{Csr, NO_VERTEX};
use base::BytesColumn;
use base::shape::int_to_word;
use hashbrown::HashMap;
use store::{Error, ErrorKind, Result};
use views::graph::VertexColumn;

/// Columns of edges of one length.
#[derive(Clone, Debug)]
pub struct EdgeColumns {
    /// The source of each edge.
    pub sources: VertexColumn,
    /// The target of each edge, of the same type.
    pub targets: VertexColumn,
    /// The weight of each edge; `None` if all are 1.
    pub weights: Option<Vec<f64>>,
}

/// The ids and the graph of these edges, and their memory.
pub(crate) fn read(
    edges: EdgeColumns,
    reserve: &dyn Fn(u64) -> Result<Reservation>,
    run: &Run<'_>,
) -> Result<(VertexIds, Csr, Reservation)> {
    let EdgeColumns { sources, targets, weights } = edges;
    match (sources, targets) {
        (VertexColumn::U64(sources), VertexColumn::U64(targets)) => {
            number(&sources, &targets, weights.as_deref(), Naming::U64, reserve, run)
        }
        (VertexColumn::I64(sources), VertexColumn::I64(targets)) => {
            let words = |ids: Vec<i64>| ids.into_iter().map(int_to_word).collect::<Vec<_>>();
            let (sources, targets) = (words(sources), words(targets));
            number(&sources, &targets, weights.as_deref(), Naming::I64, reserve, run)
        }
        (VertexColumn::Str(sources), VertexColumn::Str(targets)) => {
            let (strings, [sources, targets]) = places([&sources, &targets], run)?;
            let naming = Naming::Strings(strings);
            number(&sources, &targets, weights.as_deref(), naming, reserve, run)
        }
        _ => {
            let what = "the ends of the edges are integers in one column and strings in the other";
            let hint = "to_string(…) or to_int(…) in the query makes them one type";
            Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")))
        }
    }
}

fn number(
    sources: &[u64],
    targets: &[u64],
    weights: Option<&[f64]>,
    naming: Naming,
    reserve: &dyn Fn(u64) -> Result<Reservation>,
    run: &Run<'_>,
) -> Result<(VertexIds, Csr, Reservation)> {
    run.check()?;
    let edges = sources.len() as u64;
    // The list of distinct words, before it is known how many they are.
    let listing = reserve(8 * (sources.len() + targets.len()) as u64)?;
    let mut words = distinct(&[sources, targets]);
    words.shrink_to_fit();
    drop(listing);
    let count = words.len();
    if count >= NO_VERTEX as usize {
        let what = format!("a projection has fewer than 2^32 vertices, the query has {count}");
        return Err(Error::new(ErrorKind::Limit, what));
    }
    run.check()?;
    let numbering = Numbering::new(&words);
    // The columns of numbers, and twice the graph where edges must be sorted.
    let beside = 8 * edges + bytes_for(count, edges, weights.is_some());
    let ids = VertexIds::new(Vec::new(), naming);
    let own = 8 * count as u64 + Numbering::bytes_max(count) + ids.bytes();
    let memory = reserve(bytes_for(count, edges, weights.is_some()) + beside + own)?;
    let [mut from, mut to] = [(); 2].map(|()| Vec::with_capacity(sources.len()));
    // Every word is in the list, so every word has a number.
    let _ = numbering.extend(sources, &mut from) && numbering.extend(targets, &mut to);
    let graph = Csr::from_edges(count, &from, &to, weights, run);
    let ids = ids.with_words(words);
    let graph = graph.map_err(|error| from_algo(error, &ids))?;
    Ok((ids, graph, memory))
}

/// The distinct strings of the columns, ascending, and the place of each string among them.
fn places(columns: [&BytesColumn; 2], run: &Run<'_>) -> Result<(BytesColumn, [Vec<u64>; 2])> {
    let mut found: HashMap<&[u8], u64, foldhash::fast::FixedState> = HashMap::default();
    for column in columns {
        for i in 0..column.len() {
            found.insert(column.get(i), 0);
        }
        run.check()?;
    }
    let mut strings: Vec<&[u8]> = found.keys().copied().collect();
    strings.sort_unstable();
    run.check()?;
    let mut sorted = BytesColumn::default();
    for (place, &string) in (0..).zip(&strings) {
        sorted.push(Some(string));
        found.insert(string, place);
    }
    let places = columns.map(|column| {
        (0..column.len()).map(|i| found.get(column.get(i)).copied().unwrap_or_default()).collect()
    });
    Ok((sorted, places))
}
