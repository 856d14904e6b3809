//! Measures the speed of the text parser on one core.
//!
//! `cargo run --release --example parse_speed -p quipu-ingest -- FILE [float|int] [i64|str]`
//!
//! The words after FILE are the types of weights (default: none) and of vertices (default: `u64`).
//! Prints the speeds of splitting and of parsing separately: an import splits on one worker and
//! parses on all of them.

// Measures real files in real time, outside of the engine.
#![allow(clippy::disallowed_types, clippy::disallowed_methods)]

use std::{env::args, fs::File, time::Instant};

use quipu_ingest::{
    EdgeChunk, EdgeOptions, Splitter, TextOptions, VertexType, WeightType, decompressor,
    parse_chunk, sniff,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = args().nth(1).ok_or("usage: parse_speed FILE [float|int] [i64|str]")?;
    let has = |word: &str| args().skip(2).any(|a| a == word);
    let weight = match (has("float"), has("int")) {
        (true, _) => WeightType::Float,
        (_, true) => WeightType::Int,
        _ => WeightType::None,
    };
    let vertex = match (has("i64"), has("str")) {
        (true, _) => VertexType::I64,
        (_, true) => VertexType::Str,
        _ => VertexType::U64,
    };
    let edges = EdgeOptions { weight, vertex, ..EdgeOptions::default() };
    let options = TextOptions { edges, ..TextOptions::default() };
    for _ in 0..3 {
        let (_, reader) = decompressor(File::open(&path)?)?;
        let mut splitter = Splitter::new(reader, &path);
        let dialect = sniff(splitter.head()?, &path, &options)?;
        let (mut buffer, mut out) = (Vec::new(), EdgeChunk::default());
        let (mut bytes, mut edges, mut sum) = (0, 0, 0_u64);
        let (mut split_s, mut parse_s) = (0.0, 0.0);
        loop {
            let start = Instant::now();
            let Some(chunk) = splitter.next(&dialect, buffer)? else { break };
            split_s += start.elapsed().as_secs_f64();
            let start = Instant::now();
            parse_chunk(&dialect, &chunk, &mut out)?;
            parse_s += start.elapsed().as_secs_f64();
            bytes += chunk.bytes.len();
            edges += out.len();
            sum = out.src.iter().zip(&out.dst).fold(sum, |s, (a, b)| s.wrapping_add(a ^ b));
            buffer = chunk.bytes;
        }
        let rate = |s: f64| format!("{:.0} MB/s", bytes as f64 / s / 1e6);
        println!(
            "{edges} edges, {bytes} bytes, check {sum:x}: read and split {}, parse {}, {:.1} M edges/s",
            rate(split_s),
            rate(parse_s),
            edges as f64 / parse_s / 1e6,
        );
    }
    Ok(())
}
