//! Numbers of shortest paths from one source, and the dependency of the source on each vertex.
//!
//! Brandes, "A faster algorithm for betweenness centrality" (2001): paths are counted from the
//! nearest vertex to the farthest, then dependencies are added from the farthest to the nearest,
//! over the edges of shortest paths.
//!
//! # Edges of weight zero
//! They connect vertices at equal distance and may form cycles. Then the edges of shortest paths
//! alone give no order in which to add. So an edge counts only if the search settled its source
//! before its target. Shortest paths over other edges of weight zero are not counted.

use crate::csr::Csr;
use crate::error::Stopped;
use crate::limits::Ticker;

/// The shortest paths that a search found.
pub(crate) struct ShortestPaths<'a, L> {
    pub(crate) graph: &'a Csr,
    /// The reached vertices as the search settled them: the source first.
    pub(crate) order: &'a [u32],
    /// Whether the edge from one vertex to another, of a weight, is on a shortest path and leads to
    /// a later vertex of `order`.
    pub(crate) leads: L,
}

impl<L: Fn(u32, u32, f64) -> bool> ShortestPaths<'_, L> {
    /// Writes the number of paths to each reached vertex to `counts`.
    pub(crate) fn count<C: Count>(
        &self,
        counts: &mut [C],
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        self.order.iter().for_each(|&v| counts[v as usize] = C::NONE);
        self.order.iter().take(1).for_each(|&source| counts[source as usize] = C::ONE);
        for &v in self.order {
            let count = counts[v as usize];
            for (to, weight) in self.graph.weighted(v) {
                ticker.tick(1)?;
                if (self.leads)(v, to, weight) {
                    counts[to as usize].add(count);
                }
            }
        }
        Ok(())
    }

    /// Writes the dependency on each reached vertex to `dependencies`. Passes that on each edge
    /// to `output`, with its index in the columns of the graph.
    #[inline]
    pub(crate) fn depend<C: Count>(
        &self,
        counts: &[C],
        dependencies: &mut [f64],
        mut output: impl FnMut(usize, f64),
        ticker: &mut Ticker<'_>,
    ) -> Result<(), Stopped> {
        for &v in self.order.iter().rev() {
            let mut sum = 0.0;
            for (edge, (to, weight)) in self.graph.row(v).zip(self.graph.weighted(v)) {
                ticker.tick(1)?;
                if (self.leads)(v, to, weight) {
                    let fraction = counts[v as usize].fraction_of(counts[to as usize]);
                    let dependency = fraction * (1.0 + dependencies[to as usize]);
                    output(edge, dependency);
                    sum += dependency;
                }
            }
            dependencies[v as usize] = sum;
        }
        Ok(())
    }
}

/// A number of shortest paths.
pub(crate) trait Count: Copy {
    const NONE: Self;
    const ONE: Self;
    fn add(&mut self, other: Self);
    /// The fraction of `all` that these are.
    fn fraction_of(self, all: Self) -> f64;
}

impl Count for f64 {
    const NONE: Self = 0.0;
    const ONE: Self = 1.0;

    #[inline]
    fn add(&mut self, other: Self) {
        *self += other;
    }

    #[inline]
    fn fraction_of(self, all: Self) -> f64 {
        self / all
    }
}

/// A number of paths that may exceed the range of `f64`: a chain of a thousand diamonds has 2^1000
/// paths, and infinity divided by infinity would be NaN.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths {
    /// Less than [`Paths::STEP`] after each addition.
    count: f64,
    /// Number of times that the count was divided by [`Paths::STEP`].
    steps: u32,
}

impl Paths {
    /// A power of two, so that dividing by it is exact.
    const STEP: f64 = (1_u128 << 100) as f64;

    /// The count divided by `STEP` a number of times more.
    #[inline]
    fn scaled(self, steps: u32) -> f64 {
        match steps {
            0 => self.count,
            1 => self.count / Self::STEP,
            _ => 0.0,
        }
    }
}

impl Count for Paths {
    const NONE: Self = Self { count: 0.0, steps: 0 };
    const ONE: Self = Self { count: 1.0, steps: 0 };

    #[inline]
    fn add(&mut self, other: Self) {
        let (big, small) = if self.steps >= other.steps { (*self, other) } else { (other, *self) };
        *self = Self { count: big.count + small.scaled(big.steps - small.steps), ..big };
        if self.count >= Self::STEP {
            self.count /= Self::STEP;
            self.steps += 1;
        }
    }

    #[inline]
    fn fraction_of(self, all: Self) -> f64 {
        self.scaled(all.steps.saturating_sub(self.steps)) / all.count
    }
}
