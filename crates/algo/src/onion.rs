//! Layers of the onion decomposition: the round in which the core decomposition removes each vertex
//! of an undirected graph.
//!
//! Hébert-Dufresne, Grochow and Allard, "Multi-scale structure and topological anomaly detection
//! via a new network statistic: The onion decomposition" (2016), as NetworkX's `onion_layers`.

use crate::cores::core_numbers;
use crate::csr::Csr;
use crate::error::Error;
use crate::limits::{Limits, Ticker};

/// The layer of each vertex, from 1. A round removes all vertices that have at most as many
/// neighbors left as the core has that is removed.
///
/// `both` is a symmetric graph without parallel edges.
///
/// # Errors
/// [`Error::SelfLoop`], [`Error::Stopped`].
pub fn onion_layers(both: &Csr, limits: &dyn Limits) -> Result<Vec<u32>, Error> {
    let cores = core_numbers(both, limits)?;
    let ticker = &mut Ticker::new(limits)?;
    let mut by_core: Vec<u32> = (0..both.vertices()).collect();
    by_core.sort_by_key(|&v| cores[v as usize]);
    let mut degrees: Vec<usize> = (0..both.vertices()).map(|v| both.degree(v)).collect();
    let mut layers = vec![0; cores.len()];
    let mut layer = 0;
    let (mut removed, mut next) = (Vec::new(), Vec::new());
    for core in by_core.chunk_by(|&a, &b| cores[a as usize] == cores[b as usize]) {
        let k = core.first().map_or(0, |&v| cores[v as usize] as usize);
        removed.extend(core.iter().copied().filter(|&v| degrees[v as usize] <= k));
        while !removed.is_empty() {
            layer += 1;
            removed.iter().for_each(|&v| layers[v as usize] = layer);
            for v in removed.drain(..) {
                ticker.tick(1)?;
                for &to in both.neighbors(v) {
                    ticker.tick(1)?;
                    let degree = &mut degrees[to as usize];
                    *degree -= 1;
                    if layers[to as usize] == 0 && *degree == k {
                        next.push(to);
                    }
                }
            }
            std::mem::swap(&mut removed, &mut next);
        }
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{edges, go, graph, long_path, stop_after};

    /// Layers of NetworkX 3.6.1.
    #[test]
    fn layers_are_those_of_networkx() {
        let text = "0-1 0-2 1-2 1-3 2-3 0-3 3-4 4-5 5-6 6-4 6-7 8-9 9-10";
        let both = graph(12, text).symmetric(&go).unwrap();
        assert_eq!(onion_layers(&both, &go).unwrap(), NX_LAYERS);
        let loops = graph(2, "0-0").symmetric(&go).unwrap();
        assert_eq!(onion_layers(&loops, &go), Err(Error::SelfLoop { vertex: 0 }));
        let path = long_path(300_000).symmetric(&go).unwrap();
        assert_eq!(onion_layers(&path, &stop_after(20)), Err(Error::Stopped));
    }

    const NX_LAYERS: [u32; 12] = [6, 6, 6, 6, 5, 4, 4, 2, 2, 3, 2, 1];

    proptest! {
        #[test]
        fn layers_are_rounds_of_removals(edges in edges()) {
            let both = edges.unweighted().simple_undirected(&go).unwrap();
            let mut left: Vec<u32> = (0..edges.vertices).collect();
            let mut want = vec![0; left.len()];
            let (mut layer, mut core) = (0, 0);
            while !left.is_empty() {
                let degree = |v: u32| both.neighbors(v).iter().filter(|to| left.contains(to)).count();
                core = left.iter().map(|&v| degree(v)).min().unwrap().max(core);
                layer += 1;
                let weak: Vec<u32> = left.iter().copied().filter(|&v| degree(v) <= core).collect();
                weak.iter().for_each(|&v| want[v as usize] = layer);
                left.retain(|v| !weak.contains(v));
            }
            prop_assert_eq!(onion_layers(&both, &go).unwrap(), want);
        }
    }
}
