//! Core numbers: how deep each vertex lies in the dense parts of an undirected graph.
//!
//! Batagelj and Zaveršnik, "An O(m) algorithm for cores decomposition of networks" (2003): vertices
//! are removed in the order of their degrees, which one counting sort keeps up to date (`peel.rs`).

use crate::csr::Csr;
use crate::error::Error;
use crate::limits::{Limits, STRIDE, Ticker};
use crate::peel::PeelQueue;

/// The core number of each vertex: the largest `k` such that the vertex belongs to a subgraph in
/// which every vertex has at least `k` neighbors.
///
/// `both` is a symmetric graph. Parallel edges count separately, so the [`Csr::symmetric`] of a
/// directed graph gives NetworkX's core numbers of directed graphs (degree is in plus out).
///
/// # Errors
/// [`Error::SelfLoop`], [`Error::Stopped`].
pub fn core_numbers(both: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Error> {
    let ticker = &mut Ticker::new(limits)?;
    refuse_self_loops(both, ticker)?;
    // Parallel edges could exceed `u32`; a vertex has at most that many neighbors otherwise.
    let degree = |v| u32::try_from(both.degree(v)).unwrap_or(u32::MAX - 1);
    let degrees = (0..both.vertices()).map(degree).collect();
    let mut queue = PeelQueue::new(degrees, ticker)?;
    for i in 0..both.vertices() as usize {
        let v = queue.item(i);
        for part in both.neighbors(v).chunks(STRIDE) {
            for &to in part {
                if queue.degree(to) > queue.degree(v) {
                    queue.lower(to);
                }
            }
            ticker.tick(part.len())?;
        }
        ticker.tick(1)?;
    }
    Ok(queue.into_degrees())
}

pub(crate) fn refuse_self_loops(graph: &Csr, ticker: &mut Ticker<'_>) -> Result<(), Error> {
    for vertex in 0..graph.vertices() {
        if graph.neighbors(vertex).binary_search(&vertex).is_ok() {
            return Err(Error::SelfLoop { vertex });
        }
        ticker.tick(1)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn both(n: u32, text: &str) -> Csr {
        graph(n, text).symmetric(&go).unwrap()
    }

    #[test]
    fn a_triangle_with_a_tail_has_cores_two_and_one() {
        let found = core_numbers(&both(5, "0-1 1-2 2-0 2-3"), &go).unwrap();
        assert_eq!(found, [2, 2, 2, 1, 0]);
        assert_eq!(core_numbers(&Csr::default(), &go), Ok(vec![]));
    }

    #[test]
    fn a_self_loop_is_refused() {
        let found = core_numbers(&both(3, "0-1 2-2"), &go);
        assert_eq!(found, Err(Error::SelfLoop { vertex: 2 }));
    }

    #[test]
    fn peeling_can_be_stopped() {
        let both = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(core_numbers(&both, &stop_after(2)), Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn cores_are_what_repeated_removal_leaves(mut edges in edges()) {
            edges.list.retain(|e| e.0 != e.1);
            let n = edges.vertices as usize;
            let mut want = vec![0; n];
            for k in 1..=2 * edges.list.len() as u32 {
                let mut left = vec![true; n];
                loop {
                    let mut degrees = vec![0; n];
                    for &(a, b, _) in &edges.list {
                        if left[a as usize] && left[b as usize] {
                            degrees[a as usize] += 1;
                            degrees[b as usize] += 1;
                        }
                    }
                    let weak = (0..n).filter(|&v| left[v] && degrees[v] < k).collect::<Vec<_>>();
                    weak.iter().for_each(|&v| left[v] = false);
                    if weak.is_empty() {
                        break;
                    }
                }
                (0..n).filter(|&v| left[v]).for_each(|v| want[v] = k);
            }
            let both = edges.unweighted().symmetric(&go).unwrap();
            prop_assert_eq!(core_numbers(&both, &go).unwrap(), want);
        }
    }
}
