//! Sums over pairs of 32-bit floats, side by side in lanes that become vector instructions.
//!
//! # Bit by bit the same everywhere
//! Links have these distances, and a graph that is made again must be the same one. So the order of
//! additions is fixed, and no product is fused with a sum.
//!
//! # Why unsafe here
//! AVX2 is chosen at run time; its instructions add eight floats instead of four. Safe code cannot
//! call a function for instructions that the processor may lack. Of 4,000 vectors of 384 numbers, a
//! graph was built in 0.84 of the time, and half were removed in 0.74 of it; of 48 numbers, in 0.97
//! and 0.88 (`bench/results/2026-11-28-search.md`).
#![allow(unsafe_code)]

/// Sums that are added up side by side.
const LANES: usize = 16;

/// The inner product of two vectors of one length.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: The processor has these instructions.
        return unsafe { dot_avx2(a, b) };
    }
    products(a, b)
}

/// The squared Euclidean distance of two vectors of one length.
pub(super) fn squares(a: &[f32], b: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: The processor has these instructions.
        return unsafe { squares_avx2(a, b) };
    }
    squared_differences(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dot_avx2(a: &[f32], b: &[f32]) -> f32 {
    products(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn squares_avx2(a: &[f32], b: &[f32]) -> f32 {
    squared_differences(a, b)
}

#[inline(always)]
fn products(a: &[f32], b: &[f32]) -> f32 {
    sum_in_lanes(a, b, |a, b| a * b)
}

#[inline(always)]
fn squared_differences(a: &[f32], b: &[f32]) -> f32 {
    sum_in_lanes(a, b, |a, b| (a - b) * (a - b))
}

#[inline(always)]
fn sum_in_lanes(a: &[f32], b: &[f32], item: impl Fn(f32, f32) -> f32) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += item(a[lane], b[lane]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(&a, &b)| item(a, b)).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_instructions_give_the_same_bits() {
        let number = |seed: u32| (seed.wrapping_mul(2_654_435_761) >> 7) as f32 / 1e6 - 16.0;
        for len in [0, 1, 7, 8, 15, 16, 17, 48, 100, 384] {
            let a: Vec<f32> = (0..len).map(number).collect();
            let b: Vec<f32> = (0..len).map(|at| number(at + 1_000)).collect();
            assert_eq!(dot(&a, &b).to_bits(), products(&a, &b).to_bits(), "{len}");
            let plain = squared_differences(&a, &b);
            assert_eq!(squares(&a, &b).to_bits(), plain.to_bits(), "{len}");
        }
    }
}
