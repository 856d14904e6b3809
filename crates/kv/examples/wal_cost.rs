//! Measures the log: a small append in both modes, an append with its sync, long payloads, replay.
//!
//! `cargo run --release -p quipu-kv --example wal_cost -- [folder]`
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use env::{Env, LogMode, RealEnv};
use quipu_kv::wal::{Replay, Result, Wal, WalOptions};

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("quipu-wal-cost-{}", std::process::id()));
    let env: Arc<dyn Env> = Arc::new(RealEnv::default());
    let payload = [7_u8; 100];
    let begin = Instant::now();
    let mut sum = 0;
    for i in 0..1_000_000_u64 {
        let mut record = [7_u8; 116];
        record[..8].copy_from_slice(&i.to_le_bytes());
        sum ^= base::checksum(std::hint::black_box(&record));
    }
    println!("checksum of 116 bytes: {:.1} ns ({sum:x})", ns(begin, 1_000_000));
    for mode in [LogMode::Mapped, LogMode::Write] {
        env.create_folder(&folder)?;
        let measured = measure(&env, &folder, mode, &payload);
        for name in env.list(&folder)? {
            env.remove(&folder.join(name))?;
        }
        env.remove_folder(&folder)?;
        measured?;
    }
    Ok(())
}

fn measure(env: &Arc<dyn Env>, folder: &Path, mode: LogMode, payload: &[u8]) -> Result<()> {
    let options = WalOptions { mode, ..WalOptions::default() };
    let begin = Instant::now();
    let mut wal = Wal::open(Arc::clone(env), folder, 0, options, &mut |_, _| Ok(Replay::Done))?;
    println!("{mode:?}: open an empty log {:.0} us", ns(begin, 1) / 1e3);
    // New segments first; then released ones are reused, which is the steady state.
    for life in ["fresh", "recycled", "recycled"] {
        let count = 1_500_000;
        let (mut slowest, begin) = (0.0_f64, Instant::now());
        for _ in 0..count / 100 {
            let begin = Instant::now();
            for _ in 0..100 {
                wal.append(&[&payload[..40], &payload[40..]])?;
            }
            slowest = slowest.max(ns(begin, 100));
            let segment = wal.current_segment();
            wal.release(segment)?;
        }
        let each = ns(begin, count);
        println!("{mode:?} {life}: {each:.1} ns an append, slowest hundred {slowest:.0} ns each");
    }
    wal.sync()?;
    let begin = Instant::now();
    for _ in 0..1000 {
        wal.append(&[payload])?;
        wal.sync()?;
    }
    println!("{mode:?}: append and sync {:.1} us", ns(begin, 1000) / 1e3);
    // Within one mapped segment whose pages are resident: the cost of the append alone.
    let mut best = f64::MAX;
    for _ in 0..200 {
        let begin = Instant::now();
        for _ in 0..1000 {
            wal.append(&[payload])?;
        }
        best = best.min(ns(begin, 1000));
    }
    println!("{mode:?}: best thousand appends {best:.1} ns each");
    let segment = wal.rotate()?;
    wal.release(segment)?;
    let long = vec![3_u8; 100 << 20];
    let begin = Instant::now();
    wal.append(&[&long])?;
    println!("{mode:?}: 100 MiB in one payload {:.0} ms", ns(begin, 1) / 1e6);
    for _ in 0..500_000 {
        wal.append(&[payload])?;
    }
    drop(wal);
    let begin = Instant::now();
    let mut recovery = Wal::recover(Arc::clone(env), folder, segment, options)?;
    let mut bytes = 0;
    while let Some((_, payload)) = recovery.next_payload()? {
        bytes += payload.len();
    }
    let ms = ns(begin, 1) / 1e6;
    println!("{mode:?}: replay of 500001 payloads, {} MiB, {ms:.0} ms", bytes >> 20);
    let begin = Instant::now();
    let recovered = recovery.finish()?.recovered();
    println!("{mode:?}: finish {:.1} ms, {recovered:?}", ns(begin, 1) / 1e6);
    Ok(())
}

fn ns(begin: Instant, count: usize) -> f64 {
    begin.elapsed().as_nanos() as f64 / count as f64
}
