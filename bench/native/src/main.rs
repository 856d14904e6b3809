//! Runs one workload of one engine in this process and prints the results as lines of JSON.
//! `run.py` and `long.py`, next to this crate, start it for each engine in turn.

#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // real clocks, files, threads

mod counts;
mod engines;
mod figures;
mod grow;
mod keys;
mod kv;
mod object;
mod steady;
mod store;

use clap::{Args, Parser, Subcommand};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use store::{Kind, Result, Settings};

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    family: Family,
}

#[derive(Subcommand)]
enum Family {
    /// One UCSB workload: keys of 8 bytes, values of 1 KiB.
    Kv {
        #[command(flatten)]
        common: Common,
        /// init, read, batch-read, range-select, scan, read-update-50-50, read-upsert-95-5,
        /// batch-upsert or remove.
        #[arg(long)]
        workload: String,
        #[arg(long, default_value_t = 1_000_000)]
        records: u64,
        /// Operations, as a multiple of the specification's.
        #[arg(long, default_value_t = 1.0)]
        factor: f64,
    },
    /// One count-db test.
    Counts {
        #[command(flatten)]
        common: Common,
        #[arg(long)]
        test: counts::Test,
        /// Number of increments, and of the reads that follow.
        #[arg(long, default_value_t = 4 << 20)]
        items: usize,
        /// Increments before the parallel test.
        #[arg(long, default_value_t = 8 << 20)]
        fill: usize,
        /// Count the bigrams of this text file instead of generated keys.
        #[arg(long)]
        text: Option<PathBuf>,
        /// One key per call instead of 10 000.
        #[arg(long)]
        single: bool,
    },
    /// The cost of each operation as the data grows.
    Grow {
        #[command(flatten)]
        common: Common,
        /// Numbers of keys at which operations are measured, ascending.
        #[arg(long, value_delimiter = ',', required = true)]
        steps: Vec<u64>,
        #[arg(long, default_value = "ascending")]
        order: grow::Order,
        #[arg(long, default_value_t = 64, value_parser = value_bytes)]
        value_bytes: usize,
        /// Batches of an operation that are measured.
        #[arg(long, default_value_t = 7)]
        batches: usize,
        #[arg(long, default_value_t = 0.5)]
        batch_s: f64,
        #[arg(long, default_value_t = 300.0)]
        rest_s: f64,
    },
    /// Upserts and reads for a long time.
    Steady {
        #[command(flatten)]
        common: Common,
        #[arg(long, default_value_t = 1_000_000)]
        records: u64,
        #[arg(long, default_value_t = keys::VALUE_BYTES, value_parser = value_bytes)]
        value_bytes: usize,
        /// Fraction of the calls that read.
        #[arg(long, default_value_t = 0.5)]
        reads: f64,
        #[arg(long, default_value_t = 60.0)]
        seconds: f64,
        #[arg(long, default_value_t = 1.0)]
        window_s: f64,
        #[arg(long, default_value_t = 300.0)]
        rest_s: f64,
    },
}

/// Parses a length of values, which begin with their key and are slices of a pool.
fn value_bytes(text: &str) -> std::result::Result<usize, String> {
    let bytes = text.parse().map_err(|_| "not a number")?;
    if !(keys::VALUE_BYTES_MIN..=keys::VALUE_BYTES_MAX).contains(&bytes) {
        return Err(format!("{} to {}", keys::VALUE_BYTES_MIN, keys::VALUE_BYTES_MAX));
    }
    Ok(bytes)
}

#[derive(Args)]
struct Common {
    #[arg(long)]
    engine: String,
    #[arg(long)]
    folder: PathBuf,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[arg(long, default_value_t = 512)]
    cache_mib: u64,
    /// Memory for writes that are not in tables yet.
    #[arg(long, default_value_t = 128)]
    write_mib: u64,
    /// Commits survive a killed process.
    #[arg(long)]
    logged: bool,
    /// Direct I/O, where the engine supports it.
    #[arg(long)]
    direct: bool,
    #[arg(long, default_value_t = 60.0)]
    cap_s: f64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Common {
    fn settings(&self, kind: Kind) -> Settings {
        Settings {
            folder: self.folder.clone(),
            kind,
            cache_bytes: self.cache_mib << 20,
            write_bytes: self.write_mib << 20,
            logged: self.logged,
            direct: self.direct,
            threads: self.threads,
        }
    }
}

fn main() -> Result<()> {
    // Line by line, so that a run that is cut off keeps its results so far.
    let mut print = |line: Value| println!("{line}");
    match Cli::parse().family {
        Family::Kv { common, workload, records, factor } => {
            let run = kv::Run {
                settings: common.settings(Kind::Values),
                cap: Duration::from_secs_f64(common.cap_s),
                engine: common.engine,
                seed: common.seed,
                workload,
                records,
                factor,
            };
            print(kv::run(&run)?);
        }
        Family::Counts { common, test, items, fill, text, single } => {
            let run = counts::Run {
                settings: common.settings(match test {
                    counts::Test::Objects => Kind::Objects,
                    _ => Kind::Counts,
                }),
                cap: Duration::from_secs_f64(common.cap_s),
                engine: common.engine,
                seed: common.seed,
                test,
                items,
                fill,
                text,
                single,
            };
            counts::run(&run)?.into_iter().for_each(print);
        }
        Family::Grow { common, steps, order, value_bytes, batches, batch_s, rest_s } => {
            if steps[0] == 0 || !steps.is_sorted_by(|a, b| a < b) {
                return Err(format!("steps ascend from 1 on, these do not: {steps:?}").into());
            }
            let run = grow::Run {
                settings: common.settings(Kind::Values),
                cap: Duration::from_secs_f64(common.cap_s),
                engine: common.engine,
                seed: common.seed,
                steps,
                order,
                value_bytes,
                batches: batches.max(1),
                batch: Duration::from_secs_f64(batch_s),
                rest: Duration::from_secs_f64(rest_s),
            };
            grow::run(&run, &mut print)?;
        }
        Family::Steady { common, records, value_bytes, reads, seconds, window_s, rest_s } => {
            let run = steady::Run {
                settings: common.settings(Kind::Values),
                engine: common.engine,
                seed: common.seed,
                records: records.max(1),
                value_bytes,
                reads,
                time: Duration::from_secs_f64(seconds),
                window: Duration::from_secs_f64(window_s),
                rest: Duration::from_secs_f64(rest_s),
            };
            steady::run(&run, &mut print)?;
        }
    }
    Ok(())
}
