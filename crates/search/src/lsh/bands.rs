//! How a signature is divided into bands.

use crate::component::SettingError;

/// Most values of a signature.
const VALUES_MAX: usize = 4096;

/// Parts of the interval that is integrated over by Simpson's rule. 32 give the bands that 512 give
/// for all thresholds that `lsh::tests` tries.
const PARTS: usize = 64;

/// A division of a signature: two sets are candidates if the values of at least one band are all
/// equal. With similarity s, that has the probability 1 - (1 - sʳ)ᵇ for b bands of r rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bands {
    bands: usize,
    rows: usize,
}

/// The purpose that bands are chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandsWanted {
    /// Most values of a signature, from 1 on.
    pub values_max: usize,
    /// Similarity from which on two sets should be candidates, between 0 and 1.
    pub threshold: f64,
    /// Weight of candidates that are less similar.
    pub false_positive_weight: f64,
    /// Weight of similar sets that are no candidates.
    pub false_negative_weight: f64,
}

impl Bands {
    /// A division into bands of some rows each; `None` if it is empty or too large.
    #[must_use]
    pub fn new(bands: usize, rows: usize) -> Option<Self> {
        let values = bands.checked_mul(rows)?;
        (1..=VALUES_MAX).contains(&values).then_some(Self { bands, rows })
    }

    /// The division with the least weighted probability of errors: that of candidates below the
    /// threshold, plus that of missed sets above it, each integrated over the similarity. This is
    /// how datasketch and CozoDB choose; of equal ones the first is taken, with fewer bands.
    ///
    /// # Errors
    /// A number that is out of range.
    pub fn choose(wanted: BandsWanted) -> Result<Self, SettingError> {
        wanted.check()?;
        let BandsWanted { values_max, threshold, .. } = wanted;
        let mut best = (f64::INFINITY, Self { bands: 1, rows: 1 });
        for bands in 1..=values_max {
            for rows in 1..=values_max / bands {
                let found = Self { bands, rows };
                let positive = integral(0.0, threshold, |s| 1.0 - found.missed(s));
                let negative = integral(threshold, 1.0, |s| found.missed(s));
                let error = wanted.false_positive_weight * positive
                    + wanted.false_negative_weight * negative;
                if error < best.0 {
                    best = (error, found);
                }
            }
        }
        Ok(best.1)
    }

    /// Number of bands.
    #[must_use]
    pub fn bands(self) -> usize {
        self.bands
    }

    /// Values of each band.
    #[must_use]
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Values of a signature.
    #[must_use]
    pub fn values(self) -> usize {
        self.bands * self.rows
    }

    /// The probability that two sets of this similarity are no candidates.
    #[must_use]
    pub fn missed(self, similarity: f64) -> f64 {
        let all_equal = similarity.powi(self.rows as i32);
        (1.0 - all_equal).powi(self.bands as i32)
    }
}

impl BandsWanted {
    fn check(&self) -> Result<(), SettingError> {
        let wrong = |what: String, hint: &str| Err(SettingError::new(what, hint));
        if !(1..=VALUES_MAX).contains(&self.values_max) {
            let what = format!("`n_perm` is from 1 to {VALUES_MAX}, not {}", self.values_max);
            return wrong(what, "more permutations find more exactly; the default is 200");
        }
        if !(self.threshold > 0.0 && self.threshold < 1.0) {
            let what = format!("`target_threshold` is between 0 and 1, not {}", self.threshold);
            return wrong(what, "it is a Jaccard similarity; the default is 0.9");
        }
        let weights = [self.false_positive_weight, self.false_negative_weight];
        for (name, weight) in ["false_positive_weight", "false_negative_weight"].iter().zip(weights)
        {
            if !(weight > 0.0 && weight.is_finite()) {
                return wrong(format!("`{name}` is above 0, not {weight}"), "the default is 1");
            }
        }
        Ok(())
    }
}

/// The integral of a function by Simpson's rule.
fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    let step = (to - from) / PARTS as f64;
    let inner = (1..PARTS).map(|part| {
        let weight = if part % 2 == 1 { 4.0 } else { 2.0 };
        weight * of(from + part as f64 * step)
    });
    (of(from) + of(to) + inner.sum::<f64>()) * step / 3.0
}
