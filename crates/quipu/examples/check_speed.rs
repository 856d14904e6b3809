//! Rows and bytes a second of `check`, compared with plainly reading the same files.
//!
//! `cargo run --release --example check_speed -p quipu -- DB [ROUNDS]`: rounds alternate, and the
//! medians are printed. Both read from the page cache, unless the database is larger than memory.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads clocks and files

use quipu::Options;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name the folder of a database")?);
    let rounds: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    let (mut reads, mut checks) = (Vec::new(), Vec::new());
    let (mut bytes, mut rows, mut table_bytes) = (0, 0, 0);
    for _ in 0..rounds {
        let start = Instant::now();
        bytes = read_all(&folder)?;
        reads.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        let found = quipu::check(&folder, Options::default(), &|_, _| true)?;
        checks.push(start.elapsed().as_secs_f64());
        (rows, table_bytes) = (found.files.rows, found.files.bytes);
    }
    let (read, check) = (median(&mut reads), median(&mut checks));
    println!("read   {:8.3} s  {:9.1} MB/s", read, bytes as f64 / read / 1e6);
    println!(
        "check  {:8.3} s  {:9.1} MB/s  {:.2} M rows/s  ({rows} rows, {table_bytes} bytes of tables)",
        check,
        table_bytes as f64 / check / 1e6,
        rows as f64 / check / 1e6,
    );
    Ok(())
}

/// Reads every file; returns the number of bytes.
fn read_all(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    let mut buffer = vec![0; 1 << 20];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            bytes += read_all(&path)?;
            continue;
        }
        let mut file = File::open(path)?;
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            bytes += read as u64;
        }
    }
    Ok(bytes)
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}
