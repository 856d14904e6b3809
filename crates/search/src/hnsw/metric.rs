//! Distances between vectors.
//!
//! # Why there are two of each
//! Searches are steered by sums of 32-bit floats in lanes, which the compiler turns into vector
//! instructions. What a caller gets are sums of 64-bit floats in order, so that they equal those
//! of the functions `l2_dist`, `cos_dist` and `ip_dist`.

use super::lanes::{dot, squares};

/// How distances are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// The squared Euclidean distance.
    L2,
    /// 1 minus the cosine of the angle.
    Cosine,
    /// 1 minus the inner product.
    InnerProduct,
}

/// A vector that distances are measured from.
#[derive(Clone, Debug)]
pub struct Query {
    pub(super) vector: Vec<f32>,
    pub(super) inverse_norm: f32,
}

impl Metric {
    /// The metric with this name: `L2`, `Cosine` or `IP`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "L2" => Some(Self::L2),
            "Cosine" => Some(Self::Cosine),
            "IP" => Some(Self::InnerProduct),
            _ => None,
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L2 => "L2",
            Self::Cosine => "Cosine",
            Self::InnerProduct => "IP",
        }
    }

    /// A vector, ready to measure from.
    #[must_use]
    pub fn query(self, vector: Vec<f32>) -> Query {
        let inverse_norm = self.inverse_norm(&vector);
        Query { vector, inverse_norm }
    }

    /// 1 divided by the length of a vector, where the metric needs it; 0 for the zero vector.
    pub(super) fn inverse_norm(self, vector: &[f32]) -> f32 {
        if self != Self::Cosine {
            return 1.0;
        }
        let squares: f64 = vector.iter().map(|&item| f64::from(item) * f64::from(item)).sum();
        if squares > 0.0 { squares.sqrt().recip() as f32 } else { 0.0 }
    }

    /// The distance of two vectors of one length by which searches are steered, and which links
    /// have. Infinite where it is not a number.
    #[must_use]
    pub fn steering_distance(self, a: &[f32], b: &[f32]) -> f32 {
        self.distance((a, self.inverse_norm(a)), (b, self.inverse_norm(b)))
    }

    /// The distance of two vectors of one length, with their [`Metric::inverse_norm`]. Infinite
    /// where it is not a number.
    #[inline]
    pub(super) fn distance(self, a: (&[f32], f32), b: (&[f32], f32)) -> f32 {
        let distance = match self {
            Self::L2 => squares(a.0, b.0),
            Self::InnerProduct => 1.0 - dot(a.0, b.0),
            // The product of the norms first, so that the distance is the same in both directions.
            Self::Cosine => 1.0 - dot(a.0, b.0) * (a.1 * b.1),
        };
        if distance.is_nan() { f32::INFINITY } else { distance }
    }

    /// The distance of two vectors of one length in 64-bit floats. Not a number for the cosine of a
    /// zero vector.
    #[must_use]
    pub fn exact(self, a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
        let (mut squares, mut dots, mut norms) = (0.0, 0.0, (0.0, 0.0));
        for (a, b) in a.zip(b) {
            match self {
                Self::L2 => squares += (a - b) * (a - b),
                Self::InnerProduct => dots += a * b,
                Self::Cosine => {
                    dots += a * b;
                    norms = (norms.0 + a * a, norms.1 + b * b);
                }
            }
        }
        let distance = match self {
            Self::L2 => squares,
            Self::InnerProduct => 1.0 - dots,
            Self::Cosine => 1.0 - dots / f64::sqrt(norms.0 * norms.1),
        };
        // The processor's NaN may be a negative one, which would sort before all numbers.
        if distance.is_nan() { f64::NAN } else { distance }
    }
}
