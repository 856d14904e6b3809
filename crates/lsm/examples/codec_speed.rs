//! Measures the block encodings: bytes an edge, and nanoseconds a value.
//!
//! `cargo run --release -p quipu-lsm --example codec_speed -- [file of "source target" lines]...`
//! Without a file it measures a generated graph.
#![allow(clippy::disallowed_methods, reason = "a measuring program reads the clock itself")]

use quipu_lsm::codec::runs::{KeyReader, encode_keys};
use quipu_lsm::codec::words::{self, WordReader};
use std::hint::black_box;
use std::time::Instant;

const BLOCK_ROWS: usize = 4096;

/// Best of several rounds, in nanoseconds for one of `items`.
fn nanoseconds(items: usize, mut work: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    best / items as f64
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) >> 16
}

fn generated() -> Vec<(u64, u64)> {
    let mut state = 1;
    (0..1_770_000)
        .map(|_| {
            let skew = random(&mut state) % 100_000;
            (random(&mut state) % 100_000, skew * (random(&mut state) % 100_000) / 100_000)
        })
        .collect()
}

fn read(path: &str) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let lines = text.lines().filter(|line| !line.starts_with(['#', '%']));
    lines
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
        })
        .collect()
}

fn direction(mut edges: Vec<(u64, u64)>) -> f64 {
    edges.sort_unstable();
    edges.dedup();
    let columns: [Vec<u64>; 2] =
        [edges.iter().map(|edge| edge.0).collect(), edges.iter().map(|edge| edge.1).collect()];
    let starts: Vec<usize> = (0..edges.len()).step_by(BLOCK_ROWS).collect();
    let mut blocks = Vec::new();
    let encode_ns = nanoseconds(edges.len(), || {
        blocks.clear();
        for &start in &starts {
            let mut bytes = Vec::new();
            encode_keys(&columns, start..(start + BLOCK_ROWS).min(edges.len()), &mut bytes);
            blocks.push(bytes);
        }
    });
    let readers: Vec<KeyReader<'_>> = blocks
        .iter()
        .zip(&starts)
        .map(|(bytes, &start)| KeyReader::parse(bytes, 2, (edges.len() - start).min(BLOCK_ROWS)))
        .collect::<Result<_, _>>()
        .expect("what was encoded");
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    let runs: usize = readers.iter().map(KeyReader::runs).sum();

    let mut out = Vec::with_capacity(BLOCK_ROWS);
    let last_ns = nanoseconds(edges.len(), || {
        for reader in &readers {
            out.clear();
            reader.last_words(0..reader.rows(), &mut out);
            black_box(&out);
        }
    });
    let first_ns = nanoseconds(edges.len(), || {
        for reader in &readers {
            out.clear();
            reader.first_words(0..reader.rows(), &mut out);
            black_box(&out);
        }
    });

    // One block in the cache: what the codec costs, not the memory.
    let hot = readers.len() / 2;
    let (reader, rows) = (&readers[hot], &edges[hot * BLOCK_ROWS..]);
    let rows = &rows[..reader.rows()];
    let mut state = 7;
    let probes: Vec<(u64, u64)> =
        (0..20_000).map(|_| rows[random(&mut state) as usize % rows.len()]).collect();
    let vertices: Vec<u64> = (0..20_000)
        .map(|_| rows[0].0 + random(&mut state) % (rows[rows.len() - 1].0 - rows[0].0 + 1))
        .collect();
    let mut found = 0;
    let run_ns = nanoseconds(vertices.len(), || {
        found = 0;
        for &vertex in &vertices {
            out.clear();
            let range = reader.find_run(vertex);
            reader.last_words_of(&range, &mut out);
            found += out.len();
        }
    });
    let find_ns = nanoseconds(vertices.len(), || {
        for &vertex in &vertices {
            black_box(reader.find_run(vertex));
        }
    });
    let bound_ns = nanoseconds(probes.len(), || {
        for &(source, target) in &probes {
            black_box(reader.lower_bound(&[source, target]));
        }
    });
    let parse_ns = nanoseconds(probes.len(), || {
        for _ in &probes {
            black_box(KeyReader::parse(black_box(&blocks[hot]), 2, rows.len()).is_ok());
        }
    });
    println!(
        "  {:.3} bytes an edge, {:.1} rows a run; encode {encode_ns:.1} ns; last column {last_ns:.2} ns a value, \
         first {first_ns:.2}; find_run {find_ns:.0} ns, with its {:.1} neighbours {run_ns:.0} ns; \
         lower_bound {bound_ns:.0} ns; parse {parse_ns:.0} ns",
        bytes as f64 / edges.len() as f64,
        edges.len() as f64 / runs as f64,
        found as f64 / vertices.len() as f64,
    );
    bytes as f64 / edges.len() as f64
}

fn word_columns() {
    let mut state = 3;
    let frame: Vec<u64> = (0..BLOCK_ROWS).map(|_| random(&mut state) % 1_000_000).collect();
    let few: Vec<u64> = (0..BLOCK_ROWS)
        .map(|_| (random(&mut state) % 100).wrapping_mul(0x9e37_79b9_7f4a))
        .collect();
    let decimal: Vec<u64> = (0..BLOCK_ROWS)
        .map(|_| base::shape::float_to_word((random(&mut state) % 100_000) as f64 / 100.0))
        .collect();
    let raw: Vec<u64> = (0..BLOCK_ROWS).map(|_| random(&mut state) << 16).collect();
    for (name, values) in
        [("frame", frame), ("dictionary", few), ("decimal", decimal), ("raw", raw)]
    {
        let mut bytes = Vec::new();
        let encode_ns = nanoseconds(values.len() * 20, || {
            for _ in 0..20 {
                bytes.clear();
                words::encode(black_box(&values), &mut bytes);
            }
        });
        let reader = WordReader::parse(&bytes, values.len()).expect("what was encoded");
        let mut out = Vec::new();
        let read_ns = nanoseconds(values.len() * 20, || {
            for _ in 0..20 {
                out.clear();
                reader.read(0..values.len(), &mut out);
                black_box(&out);
            }
        });
        let get_ns = nanoseconds(values.len() * 20, || {
            for i in 0..values.len() * 20 {
                black_box(reader.get((i * 1327) % BLOCK_ROWS));
            }
        });
        println!(
            "{name} (tag {}): {:.2} bytes a word; encode {encode_ns:.2} ns, read {read_ns:.2} ns, get {get_ns:.2} ns",
            bytes[0],
            bytes.len() as f64 / values.len() as f64
        );
    }
}

fn main() {
    word_columns();
    let mut graphs: Vec<(String, Vec<(u64, u64)>)> =
        std::env::args().skip(1).map(|path| (path.clone(), read(&path))).collect();
    if graphs.is_empty() {
        graphs.push(("generated".into(), generated()));
    }
    for (name, edges) in graphs {
        println!("{name}: {} edges", edges.len());
        let reverse = edges.iter().map(|&(source, target)| (target, source)).collect();
        let both = direction(edges) + direction(reverse);
        println!("  both directions: {both:.3} bytes an edge");
    }
}
