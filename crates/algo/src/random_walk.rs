//! Random walks along edges, uniform or with weights from a callback.
//!
//! Random numbers come from the caller, so that a seed reproduces a walk.

use crate::csr::Csr;
use crate::error::{Error, Stopped};
use crate::limits::{Limits, Ticker, refuse_large};
use crate::random::{below, weighted};

/// Number of vertices in a walk between two checks of the memory limit.
const ASKED_VERTICES: usize = 1 << 12;

/// Bytes per vertex of a walk: its number here, with up to half of the capacity unused, and a value
/// in the result.
const VERTEX_BYTES: u64 = 2 * 4 + 40;

/// Returns 64 independent random bits.
pub type Words<'a> = dyn FnMut() -> u64 + 'a;

/// Returns the weight of a step: source, target, and index of the edge in [`Csr::targets`]. An
/// error ends the walks.
pub type StepWeight<'a> = dyn FnMut(u32, u32, usize) -> Result<f64, Stopped> + 'a;

/// Receives a walk: its number, from 1, its start, and its vertices including the start. An error
/// ends the walks.
pub type Output<'a> = dyn FnMut(u64, u32, &[u32]) -> Result<(), Stopped> + 'a;

/// Number and length of the walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Maximum number of steps. A walk ends earlier at a vertex without outgoing edges.
    pub steps: usize,
    /// Number of walks from each start.
    pub iterations: u64,
}

/// Random walks from each of `starts`. Starts that are not in the graph are ignored.
///
/// Without `step_weight` all outgoing edges are equally likely; parallel edges count separately,
/// and the graph's weights are ignored. A step of weight zero is never taken. If all weights are
/// zero, the walk ends.
///
/// # Errors
/// [`Error::NegativeWeight`] and [`Error::WeightNotFinite`] for results of `step_weight`,
/// [`Error::TooLarge`] if a walk exceeds the memory limit, [`Error::Stopped`].
pub fn random_walks(
    graph: &Csr,
    starts: &[u32],
    options: Options,
    words: &mut Words<'_>,
    mut step_weight: Option<&mut StepWeight<'_>>,
    limits: &dyn Limits,
    output: &mut Output<'_>,
) -> Result<(), Error> {
    let ticker = &mut Ticker::new(limits)?;
    let mut number = 0;
    let mut walk = Vec::new();
    let mut weights = Vec::new();
    for &start in starts.iter().filter(|&&start| start < graph.vertices()) {
        for _ in 0..options.iterations {
            walk.clear();
            walk.push(start);
            let mut at = start;
            for _ in 0..options.steps {
                ticker.tick(1)?;
                let row = graph.neighbors(at);
                let step = match &mut step_weight {
                    None => even(row.len(), words),
                    Some(step_weight) => {
                        weights.clear();
                        for (&to, edge) in row.iter().zip(graph.row(at)) {
                            ticker.tick(1)?;
                            weights.push(checked(at, to, step_weight(at, to, edge)?)?);
                        }
                        weighted(&weights, &mut *words)
                    }
                };
                let Some(&to) = step.and_then(|step| row.get(step)) else { break };
                walk.push(to);
                if walk.len().is_multiple_of(ASKED_VERTICES) {
                    refuse_large(VERTEX_BYTES * walk.len() as u64, limits)?;
                }
                at = to;
            }
            number += 1;
            ticker.tick(1)?;
            output(number, start, &walk)?;
        }
    }
    Ok(())
}

fn checked(source: u32, target: u32, weight: f64) -> Result<f64, Error> {
    if !weight.is_finite() {
        Err(Error::WeightNotFinite { source, target, weight })
    } else if weight < 0.0 {
        Err(Error::NegativeWeight { source, target, weight })
    } else {
        Ok(weight)
    }
}

/// A uniform index below `count`, as exactly as 64 bits allow. `None` if `count` is 0.
fn even(count: usize, words: &mut Words<'_>) -> Option<usize> {
    (count > 0).then(|| below(words(), count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Random;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    fn words(seed: u64) -> impl FnMut() -> u64 {
        let mut random = Random::from_seed(seed);
        move || random.bits()
    }

    fn walks(
        graph: &Csr,
        starts: &[u32],
        options: Options,
        step_weight: Option<&mut StepWeight<'_>>,
    ) -> Result<Vec<(u64, u32, Vec<u32>)>, Error> {
        let mut found = Vec::new();
        random_walks(
            graph,
            starts,
            options,
            &mut words(7),
            step_weight,
            &go,
            &mut |number, start, walk| {
                found.push((number, start, walk.to_vec()));
                Ok(())
            },
        )?;
        Ok(found)
    }

    #[test]
    fn a_walk_that_may_not_be_held_ends_before_it_is_made() {
        struct Small;
        impl Limits for Small {
            fn go_on(&self) -> bool {
                true
            }
            fn may_hold(&self, bytes: u64) -> bool {
                bytes < 1 << 20
            }
        }
        let around = graph(2, "0-1 1-0");
        let run = |steps| {
            let options = Options { steps, iterations: 1 };
            let output = &mut |_: u64, _: u32, _: &[u32]| Ok(());
            random_walks(&around, &[0], options, &mut words(7), None, &Small, output)
        };
        assert_eq!(run(10_000), Ok(()));
        assert!(matches!(run(usize::MAX), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_walk_ends_where_no_edge_leads_on() {
        let options = Options { steps: 5, iterations: 2 };
        let found = walks(&graph(3, "0-1 1-2"), &[0, 9, 2], options, None).unwrap();
        let want = [(1, 0, vec![0, 1, 2]), (2, 0, vec![0, 1, 2]), (3, 2, vec![2]), (4, 2, vec![2])];
        assert_eq!(found, want);
        assert_eq!(walks(&Csr::default(), &[0], options, None).unwrap(), []);
    }

    #[test]
    fn steps_are_taken_as_often_as_they_weigh() {
        let star = graph(4, "0-1 0-2 0-3");
        let options = Options { steps: 1, iterations: 10_000 };
        let ends = |step_weight: Option<&mut StepWeight<'_>>| {
            let mut count = [0; 4];
            for (_, _, walk) in walks(&star, &[0], options, step_weight).unwrap() {
                count[walk[walk.len() - 1] as usize] += 1;
            }
            count
        };
        let even = ends(None);
        assert!(even[1..].iter().all(|count| (3100..3600).contains(count)), "{even:?}");
        let huge = ends(Some(&mut |_, to, edge| {
            assert_eq!(star.targets()[edge], to);
            Ok([0.0, 0.0, 0.25, 0.75][to as usize] * f64::MAX)
        }));
        assert_eq!((huge[0], huge[1]), (0, 0));
        assert!((2300..2700).contains(&huge[2]), "{huge:?}");
        let nowhere = ends(Some(&mut |_, _, _| Ok(0.0)));
        assert_eq!(nowhere, [10_000, 0, 0, 0]);
    }

    #[test]
    fn what_is_no_weight_is_refused() {
        let options = Options { steps: 1, iterations: 1 };
        let refused = |weight: f64| {
            walks(&graph(2, "0-1"), &[0], options, Some(&mut |_, _, _| Ok(weight))).unwrap_err()
        };
        let negative = Error::NegativeWeight { source: 0, target: 1, weight: -1.0 };
        assert_eq!(refused(-1.0), negative);
        let infinite = Error::WeightNotFinite { source: 0, target: 1, weight: f64::INFINITY };
        assert_eq!(refused(f64::INFINITY), infinite);
        assert!(matches!(refused(f64::NAN), Error::WeightNotFinite { .. }));
    }

    #[test]
    fn walks_can_be_stopped() {
        let path = long_path(300_000);
        let options = Options { steps: 300_000, iterations: 1 };
        let result = random_walks(
            &path,
            &[0],
            options,
            &mut words(1),
            None,
            &stop_after(2),
            &mut |_, _, _| Ok(()),
        );
        assert_eq!(result, Err(Error::Stopped));
    }

    proptest! {
        #[test]
        fn walks_follow_edges(edges in edges(), steps in 0..20_usize) {
            let graph = edges.graph();
            let options = Options { steps, iterations: 3 };
            let all: Vec<u32> = (0..edges.vertices).collect();
            for is_weighted in [false, true] {
                let by_weight: &mut StepWeight<'_> =
                    &mut |_, _, edge| Ok(graph.weights().map_or(1.0, |weights| weights[edge]));
                let found = walks(&graph, &all, options, is_weighted.then_some(by_weight)).unwrap();
                prop_assert_eq!(found.len(), all.len() * 3);
                for (_, start, walk) in found {
                    prop_assert_eq!(walk[0], start);
                    prop_assert!(walk.windows(2).all(|e| graph.neighbors(e[0]).contains(&e[1])));
                    let last = walk[walk.len() - 1];
                    let stuck = graph.weighted(last).all(|(_, weight)| is_weighted && weight == 0.0);
                    prop_assert!(walk.len() == steps + 1 || stuck);
                }
            }
        }
    }
}
