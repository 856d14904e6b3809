//! Measures an import of a graph, end to end: `cargo run --release -p quipu --example import_speed
//! FOLDER [edges] [memory MiB] [none|float|str]`. Writes `edges.csv` into FOLDER if it is missing,
//! imports it into a new database in FOLDER, prints the time of each phase, and checks the
//! database.

// An example reads the clock and files by itself.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use quipu::{
    Database, GraphOptions, ImportOptions, ImportProgress, Options, VertexType, WeightType,
};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A random vertex, of a fifth as many as there are edges. Small ones are more frequent.
fn vertex(state: &mut u64, edges: u64) -> u64 {
    let unit = (random(state) >> 11) as f64 / (1_u64 << 53) as f64;
    ((edges / 5).max(2) as f64 * unit * unit) as u64
}

fn write_csv(path: &Path, edges: u64, kind: &str) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut state = 42;
    for _ in 0..edges {
        let (a, b) = (vertex(&mut state, edges), vertex(&mut state, edges));
        match kind {
            "float" => writeln!(out, "{a},{b},{}", (random(&mut state) % 10_000) as f64 / 100.0)?,
            "str" => writeln!(out, "user{a},user{b}")?,
            _ => writeln!(out, "{a},{b}")?,
        }
    }
    out.flush()
}

/// A value of `/proc/self/status`; `?` if it is missing.
fn status(key: &str) -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("?").trim().to_owned()
}

/// Processor time of this process in seconds, user and system; 0 if the system does not report it.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(args.first().ok_or("give a folder to work in")?);
    let number = |i: usize, default| args.get(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (edges, memory_mib) = (number(1, 30_000_000), number(2, 1024));
    let kind = args.get(3).map_or("none", String::as_str);
    std::fs::create_dir_all(folder)?;
    let csv = folder.join(format!("edges-{edges}-{kind}.csv"));
    if !csv.exists() {
        write_csv(&csv, edges, kind)?;
    }
    let path = folder.join("speed.quipu");
    if path.exists() {
        std::fs::remove_dir_all(&path)?;
    }
    let db = Database::open(&path, Options::default())?;
    let (vertex, weight) = match kind {
        "float" => (VertexType::U64, WeightType::Float),
        "str" => (VertexType::Str, WeightType::None),
        _ => (VertexType::U64, WeightType::None),
    };
    let graph = db.graph("g", GraphOptions { vertex, weight, ..GraphOptions::default() })?;
    let options = ImportOptions { memory_limit_bytes: memory_mib << 20, ..db.import_options() };
    let (began, cpu_before) = (Instant::now(), processor_seconds());
    let phases = Mutex::new(Vec::new());
    let tell = |progress: &ImportProgress| {
        if let Ok(mut phases) = phases.lock()
            && phases.last().is_none_or(|(phase, _, _)| *phase != progress.phase)
        {
            phases.push((progress.phase, progress.seconds, processor_seconds()));
        }
        true
    };
    let report = graph.import_csv(db.env(), &csv, &options, &tell)?;
    let seconds = began.elapsed().as_secs_f64();
    let cpu = processor_seconds() - cpu_before;
    for (phase, at, cpu) in phases.into_inner()? {
        println!("{phase:?} began at {at:.2} s, {:.2} s of processor", cpu - cpu_before);
    }
    println!("{report:#?}");
    println!(
        "{:.2} M edges/s; {seconds:.2} s, processor {cpu:.2} s ({:.0} ns an edge); \
         {:.2} bytes an edge written; peak memory {}",
        report.rows as f64 / seconds / 1e6,
        cpu * 1e9 / report.rows as f64,
        report.bytes_written as f64 / report.edges as f64,
        status("VmHWM:"),
    );
    let check = db.check(&|_, _| true)?;
    println!(
        "checked: {} rows in {} files, {:?}",
        check.files.rows, check.files.files, check.graphs
    );
    Ok(())
}
