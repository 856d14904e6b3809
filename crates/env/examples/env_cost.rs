//! Benchmarks behind the design of `real`: log writes by memory mapping and by `pwrite`, with and
//! without syncs, and batched reads with and without `io_uring`. Prints nanoseconds per operation.
//!
//! `cargo run --release -p quipu-env --example env_cost -- [folder]`
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::time::Instant;

use quipu_env::{Env, LogMode, ReadOptions, ReadRequest, RealEnv, RealOptions, Result};

const LOG_BYTES: u64 = 64 << 20;
const RECORD: [u8; 100] = [7; 100];

fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("quipu-env-cost-{}", std::process::id()));
    let env = RealEnv::default();
    env.create_folder(&folder)?;
    let measured = logs(&env, &folder).and_then(|()| reads(&folder));
    for name in env.list(&folder)? {
        env.remove(&folder.join(name))?;
    }
    env.remove_folder(&folder)?;
    measured
}

fn logs(env: &dyn Env, folder: &Path) -> Result<()> {
    for mode in [LogMode::Write, LogMode::Mapped] {
        let path = folder.join(format!("{mode:?}"));
        let begin = Instant::now();
        let mut log = env.create_log(&path, LOG_BYTES, mode)?;
        println!("{mode:?}: create 64 MiB {:>12.0} us", begin.elapsed().as_secs_f64() * 1e6);
        for life in ["fresh", "recycled"] {
            let count = LOG_BYTES / 104;
            let begin = Instant::now();
            for i in 0..count {
                log.write_at(&RECORD, i * 104)?;
            }
            let ns = begin.elapsed().as_nanos() as f64 / count as f64;
            let begin = Instant::now();
            log.sync()?;
            let sync_ms = begin.elapsed().as_secs_f64() * 1e3;
            println!("{mode:?} {life}: {ns:>8.1} ns a record, then one sync {sync_ms:.1} ms");
            drop(log);
            log = env.open_log(&path, mode)?;
        }
        drop(log);
        env.remove(&path)?;
        let mut log = env.create_log(&path, LOG_BYTES, mode)?;
        for life in ["fresh", "recycled"] {
            let (count, mut slowest) = (1500, 0.0_f64);
            let begin = Instant::now();
            for i in 0..count {
                let begin = Instant::now();
                log.write_at(&RECORD, i * 104)?;
                log.sync()?;
                slowest = slowest.max(begin.elapsed().as_secs_f64() * 1e6);
            }
            let us = begin.elapsed().as_secs_f64() * 1e6 / count as f64;
            println!(
                "{mode:?} {life}: {us:>8.1} us a record with its sync, slowest {slowest:.0} us"
            );
            drop(log);
            log = env.open_log(&path, mode)?;
        }
    }
    Ok(())
}

fn reads(folder: &Path) -> Result<()> {
    let path = folder.join("data");
    let plain = RealEnv::new(RealOptions { io_uring: false, ..RealOptions::default() });
    let ring = RealEnv::default();
    println!("io_uring here: {}", ring.has_io_uring());
    let blocks = 65_536_u64;
    let mut file = plain.create(&path)?;
    for block in 0..blocks {
        file.append(&[block as u8; 4096])?;
    }
    file.sync()?;
    for (name, env) in [("pread", &plain), ("io_uring", &ring)] {
        for direct in [false, true] {
            let file = env.open_read(&path, ReadOptions { direct })?;
            for batch in [1_usize, 16, 256] {
                let rounds = if direct { 4096 / batch } else { 65_536 / batch };
                let make = |_| ReadRequest { offset: 0, buf: vec![0; 4096] };
                let mut requests: Vec<ReadRequest> = (0..batch).map(make).collect();
                let begin = Instant::now();
                for _ in 0..rounds {
                    for request in &mut requests {
                        request.offset = env.random_u64() % blocks * 4096;
                    }
                    file.read_batch(&mut requests)?;
                }
                let ns = begin.elapsed().as_nanos() as f64 / (rounds * batch) as f64;
                let how = if direct { "direct" } else { "cached" };
                println!("{name} {how}, {batch:>3} at once: {ns:>9.0} ns a 4 KiB block");
            }
        }
    }
    Ok(())
}
