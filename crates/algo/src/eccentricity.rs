//! Eccentricity of all vertices, and its derived measures: diameter, radius, periphery, center.

use crate::csr::Csr;
use crate::distance_counts::{Summary, distance_counts};
use crate::error::Error;
use crate::limits::Limits;
use crate::workers::Workers;

/// The greatest distance from each vertex to another. Distances are weights if the graph has
/// weights.
///
/// # Errors
/// [`Error::Disconnected`] if a vertex does not reach another, as in NetworkX;
/// [`Error::NegativeWeight`], [`Error::Stopped`].
pub fn eccentricities(
    graph: &Csr,
    workers: &dyn Workers,
    limits: &dyn Limits,
) -> Result<Vec<f64>, Error> {
    let empty = Farthest { reached: 0, distance: 0.0 };
    let found = distance_counts(graph, &empty, workers, limits)?;
    let all = u64::from(graph.vertices());
    match found.iter().position(|farthest| farthest.reached < all) {
        Some(vertex) => Err(Error::Disconnected { vertex: vertex as u32 }),
        None => Ok(found.into_iter().map(|farthest| farthest.distance).collect()),
    }
}

#[derive(Clone, Copy)]
struct Farthest {
    reached: u64,
    distance: f64,
}

impl Summary for Farthest {
    fn add(&mut self, distance: f64, count: u64) {
        self.reached += count;
        self.distance = self.distance.max(distance);
    }
}

/// The extremes of eccentricities.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// The greatest eccentricity.
    pub diameter: f64,
    /// The least eccentricity.
    pub radius: f64,
    /// The vertices whose eccentricity is the diameter, in ascending order.
    pub periphery: Vec<u32>,
    /// The vertices whose eccentricity is the radius, in ascending order.
    pub center: Vec<u32>,
}

/// The extremes of the result of [`eccentricities`].
///
/// # Errors
/// [`Error::NullGraph`] if there are none.
pub fn extent(eccentricities: &[f64]) -> Result<Extent, Error> {
    let diameter = eccentricities.iter().copied().max_by(f64::total_cmp).ok_or(Error::NullGraph)?;
    let radius = eccentricities.iter().copied().min_by(f64::total_cmp).ok_or(Error::NullGraph)?;
    let at = |value: f64| {
        let vertices = (0..).zip(eccentricities).filter(|&(_, &distance)| distance == value);
        vertices.map(|(v, _)| v).collect()
    };
    Ok(Extent { diameter, radius, periphery: at(diameter), center: at(radius) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Threads, edges, go, graph};
    use crate::workers::OneThread;

    #[test]
    fn the_middle_of_a_path_is_its_center() {
        let path = graph(4, "0-1 1-2 2-3").symmetric(&go).unwrap();
        let found = eccentricities(&path, &OneThread, &go).unwrap();
        assert_eq!(found, [3.0, 2.0, 2.0, 3.0]);
        let want = Extent { diameter: 3.0, radius: 2.0, periphery: vec![0, 3], center: vec![1, 2] };
        assert_eq!(extent(&found), Ok(want));
    }

    #[test]
    fn a_graph_in_parts_has_no_eccentricity() {
        let found = eccentricities(&graph(3, "0-1 1-0 0-2"), &OneThread, &go);
        assert_eq!(found, Err(Error::Disconnected { vertex: 2 }));
        assert_eq!(eccentricities(&Csr::default(), &OneThread, &go), Ok(vec![]));
        assert_eq!(extent(&[]), Err(Error::NullGraph));
        assert_eq!(eccentricities(&graph(1, ""), &OneThread, &go), Ok(vec![0.0]));
    }

    proptest! {
        #[test]
        fn an_eccentricity_is_the_maximum_of_a_row(edges in edges(), threads in 1..3_usize) {
            for (edges, graph) in [(edges.clone(), edges.graph()), (edges.hops(), edges.unweighted())] {
                let found = eccentricities(&graph, &Threads(threads), &go);
                let matrix = edges.distances();
                let max = |row: &Vec<f64>| row.iter().copied().fold(0.0, f64::max);
                let want: Vec<f64> = matrix.iter().map(max).collect();
                match want.iter().position(|distance| distance.is_infinite()) {
                    Some(v) => prop_assert_eq!(found, Err(Error::Disconnected { vertex: v as u32 })),
                    None => prop_assert_eq!(found, Ok(want)),
                }
            }
        }
    }
}
