//! Measures the sort of an import without the rest: `cargo run --release -p quipu-views --example
//! sort_speed [rows] [threads] [kind]`. The kind is `uniform` (default), `skewed`, `sorted` or
//! `wide`. Prints wall-clock nanoseconds a row for every step, with all threads together.

// An example reads the clock by itself.
#![allow(clippy::disallowed_methods)]

use std::sync::Arc;
use std::time::Instant;

const PIECE_ROWS: usize = 280_000;
const VERTICES: u64 = 5_000_000;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn pair(kind: &str, row: usize, rows: usize, state: &mut u64) -> (u64, u64) {
    let (a, b) = (random(state), random(state));
    match kind {
        "wide" => (a, b),
        "sorted" => (row as u64 * VERTICES / rows as u64, b % VERTICES),
        "skewed" => {
            // Half of the edges leave a thousandth of the vertices.
            let range = if a >> 63 == 1 { VERTICES / 1000 } else { VERTICES };
            ((a >> 1) % range, b % VERTICES)
        }
        _ => (a % VERTICES, b % VERTICES),
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (rows, threads) = (number(0, 30_000_000), number(1, 2));
    let kind = args.get(2).map_or("uniform", String::as_str);
    let env: Arc<dyn env::Env> = Arc::new(env::MemoryEnv::new(threads));
    let mut state = 42;
    let pieces: Vec<_> = (0..rows)
        .step_by(PIECE_ROWS)
        .map(|from| {
            let to = (from + PIECE_ROWS).min(rows);
            (from..to).map(|row| pair(kind, row, rows, &mut state)).unzip()
        })
        .collect();
    let began = Instant::now();
    let mut last = began;
    let lap = |step: &str| {
        let ns = last.elapsed().as_nanos() as f64 / rows as f64;
        println!("{step:>8}: {ns:5.1} ns a row");
        last = Instant::now();
    };
    let [forward, reverse] = quipu_views::import::bench::sort_pairs(&env, pieces, lap);
    assert_eq!(forward.1, reverse.1, "both directions have the same edges");
    let seconds = began.elapsed().as_secs_f64();
    println!("{rows} rows, {} distinct, {threads} threads: {seconds:.3} s", forward.1);
}
