//! Signatures compared with exact Jaccard similarities.

use super::bands::BandsWanted;
use super::{Bands, Shingles, Signature};
use crate::{Analyzer, Component};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn wanted(threshold: f64, positive: f64, negative: f64) -> BandsWanted {
    BandsWanted {
        values_max: 200,
        threshold,
        false_positive_weight: positive,
        false_negative_weight: negative,
    }
}

fn set(numbers: impl IntoIterator<Item = u32>) -> Shingles {
    let mut shingles = Shingles::default();
    numbers.into_iter().for_each(|number| shingles.insert(&number.to_le_bytes()));
    shingles
}

/// Words of a text, `n` at a time.
fn shingles(text: &str, n: usize) -> Shingles {
    let analyzer = Analyzer::new(&Component::new("Whitespace", Vec::new()), &[]).unwrap();
    Shingles::of_tokens(&analyzer.tokens(text), n)
}

/// The figures of CozoDB 0.7.6 for equal weights.
#[test]
fn bands_are_those_of_cozo() {
    for (threshold, positive, negative, bands, rows) in [
        (0.5, 1.0, 1.0, 33, 6),
        (0.7, 1.0, 1.0, 20, 10),
        (0.9, 1.0, 1.0, 8, 25),
        (0.5, 2.0, 2.0, 33, 6),
        (0.5, 0.2, 0.8, 40, 5),
        (0.9, 0.2, 0.8, 10, 20),
    ] {
        let found = Bands::choose(wanted(threshold, positive, negative)).unwrap();
        assert_eq!((found.bands(), found.rows()), (bands, rows), "{threshold} {positive}");
    }
}

#[test]
fn settings_out_of_range_are_refused() {
    for (wrong, message) in [
        (wanted(0.0, 1.0, 1.0), "`target_threshold` is between 0 and 1, not 0"),
        (wanted(1.0, 1.0, 1.0), "`target_threshold` is between 0 and 1, not 1"),
        (wanted(f64::NAN, 1.0, 1.0), "`target_threshold` is between 0 and 1, not NaN"),
        (wanted(0.5, -1.0, 1.0), "`false_positive_weight` is above 0, not -1"),
        (wanted(0.5, 1.0, f64::INFINITY), "`false_negative_weight` is above 0, not inf"),
        (
            BandsWanted { values_max: 0, ..wanted(0.5, 1.0, 1.0) },
            "`n_perm` is from 1 to 4096, not 0",
        ),
    ] {
        assert_eq!(Bands::choose(wrong).unwrap_err().what, message);
    }
    assert_eq!(Bands::new(0, 6), None);
    assert_eq!(Bands::new(usize::MAX, 2), None);
    assert_eq!(Bands::new(4096, 2), None);
}

#[test]
fn a_text_of_few_words_is_one_shingle_and_one_without_words_has_none() {
    assert_eq!(shingles("a b c", 2), shingles("b c a b", 2).without(&shingles("c a", 2)));
    assert_eq!(shingles("a b", 3), shingles("a b", 2));
    assert_ne!(shingles("a b", 3), shingles("b a", 3));
    let bands = Bands::new(4, 2).unwrap();
    assert_eq!(Signature::of(&shingles(" ", 3), bands), None);
    assert_eq!(
        Signature::of(&shingles("a b", 9), bands),
        Signature::of(&shingles("a b", 2), bands)
    );
}

impl Shingles {
    fn without(&self, other: &Self) -> Self {
        Self(self.0.difference(&other.0).copied().collect())
    }
}

/// These bytes are stored, so they never change (docs/formats/near-duplicates.md).
#[test]
fn the_hash_family_is_fixed() {
    let bands = Bands::new(2, 2).unwrap();
    let signature = Signature::of(&shingles("a quick brown fox", 2), bands).unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(&signature.to_bytes()), "df8a36322fa1e05c5474935b20065318");
    let keys: Vec<String> = signature.band_keys(bands).iter().map(|key| hex(key)).collect();
    assert_eq!(keys, ["00000c7085888ed5909f", "00013fa1eac4a58c405e"]);
    assert_eq!(Signature::of_bytes(&signature.to_bytes(), bands), Some(signature.clone()));
    assert_eq!(Signature::of_bytes(&signature.to_bytes()[1..], bands), None);
    assert_eq!(Signature::of_bytes(&[], bands), None);
}

/// Pairs of sets with a similarity of 0.1 to 0.9 each: how many are candidates is a binomial
/// variable, so a wrong hash family would differ by many standard deviations.
#[test]
fn pairs_are_candidates_as_often_as_their_similarity_says() {
    let bands = Bands::choose(wanted(0.5, 1.0, 1.0)).unwrap();
    let pairs = 300;
    for tenths in 1..10 {
        // |A ∩ B| = 2 · tenths, |A ∪ B| = 20.
        let similarity = f64::from(tenths) / 10.0;
        let mut candidates = 0;
        for pair in 0..pairs {
            let at = 1000 * pair + 100 * tenths;
            let a = Signature::of(&set(at..at + 10 + tenths), bands).unwrap();
            let b = Signature::of(&set(at + 10 - tenths..at + 20), bands).unwrap();
            let keys: BTreeSet<_> = a.band_keys(bands).into_iter().collect();
            let is_candidate = b.band_keys(bands).iter().any(|key| keys.contains(key));
            candidates += u32::from(is_candidate);
        }
        let chance = 1.0 - bands.missed(similarity);
        let expected = chance * f64::from(pairs);
        let deviation = (expected * (1.0 - chance)).sqrt();
        let off = (f64::from(candidates) - expected).abs();
        assert!(off <= 4.0 * deviation + 1.0, "{similarity}: {candidates}, expected {expected}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Six standard errors of 198 values: one of 10⁸ pairs is further off.
    #[test]
    fn the_share_of_equal_values_is_near_the_exact_similarity(
        a in prop::collection::btree_set(0_u32..60, 1..50),
        b in prop::collection::btree_set(0_u32..60, 1..50),
    ) {
        let bands = Bands::new(33, 6).unwrap();
        let exact = a.intersection(&b).count() as f64 / a.union(&b).count() as f64;
        let (a, b) = (Signature::of(&set(a), bands), Signature::of(&set(b), bands));
        let found = a.unwrap().similarity(&b.unwrap());
        prop_assert!((found - exact).abs() <= 6.0 * 0.5 / 198_f64.sqrt(), "{found} for {exact}");
    }

    #[test]
    fn the_order_and_repetition_of_shingles_do_not_matter(words in "([a-d] ){1,12}") {
        let bands = Bands::new(5, 3).unwrap();
        let mut sorted: Vec<&str> = words.split_whitespace().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let sorted = shingles(&sorted.join(" "), 1);
        prop_assert_eq!(Signature::of(&shingles(&words, 1), bands), Signature::of(&sorted, bands));
    }
}
