//! Runs one workload of one engine in this process and prints what it measured as lines of JSON. `run.py` beside this
//! crate starts it for each engine in turn.

mod counts;
mod engines;
mod figures;
mod keys;
mod kv;
mod object;
mod store;

use clap::{Args, Parser, Subcommand};
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
        /// init, read, batch-read, range-select, scan, read-update-50-50, read-upsert-95-5, batch-upsert or remove.
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
        /// Increments, and then reads.
        #[arg(long, default_value_t = 4 << 20)]
        items: usize,
        /// Increments before the parallel test.
        #[arg(long, default_value_t = 8 << 20)]
        fill: usize,
        /// Bigrams of this text in place of made keys.
        #[arg(long)]
        text: Option<PathBuf>,
        /// One key a call in place of 10 000.
        #[arg(long)]
        single: bool,
    },
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
    /// Memory for writes that are in no table yet.
    #[arg(long, default_value_t = 128)]
    write_mib: u64,
    /// Commits survive a killed process.
    #[arg(long)]
    logged: bool,
    /// Around the page cache, where the engine can.
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
            println!("{}", kv::run(&run)?);
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
            for line in counts::run(&run)? {
                println!("{line}");
            }
        }
    }
    Ok(())
}
