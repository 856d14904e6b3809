//! Common neighbors of two vertices.

use std::cmp::Ordering;
use std::ops::Range;

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::Ticker;

/// A row that is this many times as long as the other is searched for its members.
const SEARCH_RATIO: usize = 16;

/// Calls `found(i, j)` for each common target of the rows `a` and `b` of a graph, in ascending
/// order of targets. The rows are ranges of edges whose targets strictly ascend; `i` and `j` are
/// the edges from either one to the target.
#[inline]
pub(crate) fn common_targets(
    graph: &Csr,
    a: Range<usize>,
    b: Range<usize>,
    mut found: impl FnMut(usize, usize),
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    let targets = graph.targets();
    if a.len() / SEARCH_RATIO > b.len() {
        return search_long(targets, b, a, |j, i| found(i, j), ticker);
    }
    if b.len() / SEARCH_RATIO > a.len() {
        return search_long(targets, a, b, found, ticker);
    }
    let (mut i, mut j) = (a.start, b.start);
    while i < a.end && j < b.end {
        ticker.tick(1)?;
        match targets[i].cmp(&targets[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                found(i, j);
                i += 1;
                j += 1;
            }
        }
    }
    Ok(())
}

/// Searches the long row for each target of the short one, by halves.
fn search_long(
    targets: &[u32],
    short: Range<usize>,
    long: Range<usize>,
    mut found: impl FnMut(usize, usize),
    ticker: &mut Ticker<'_>,
) -> Result<(), Stopped> {
    let mut start = long.start;
    for i in short {
        ticker.tick(8)?;
        start += targets[start..long.end].partition_point(|&to| to < targets[i]);
        if start < long.end && targets[start] == targets[i] {
            found(i, start);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{go, graph};

    fn common(graph: &Csr, a: u32, b: u32) -> Vec<u32> {
        let mut all = Vec::new();
        let found = |i: usize, j: usize| {
            assert_eq!(graph.targets()[i], graph.targets()[j]);
            assert!(graph.row(a).contains(&i) && graph.row(b).contains(&j));
            all.push(graph.targets()[i]);
        };
        let ticker = &mut Ticker::new(&go).unwrap();
        common_targets(graph, graph.row(a), graph.row(b), found, ticker).unwrap();
        all
    }

    #[test]
    fn common_targets_are_found_in_rows_of_any_length() {
        let long: String = (0..100).map(|v| format!("0-{} ", 2 * v)).collect();
        let graph = graph(300, &format!("{long} 1-3 1-8 1-100 1-199 2-8 2-9 2-100 3-250"));
        assert_eq!(common(&graph, 0, 1), [8, 100]);
        assert_eq!(common(&graph, 1, 0), [8, 100]);
        assert_eq!(common(&graph, 1, 2), [8, 100]);
        assert_eq!(common(&graph, 0, 3), []);
        assert_eq!(common(&graph, 0, 4), []);
    }
}
