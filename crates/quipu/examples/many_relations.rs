//! Time in seconds to create many relations and graphs one by one, and to open the database again.
//!
//! `cargo run --release --example many_relations -p quipu -- FOLDER [COUNT]`: deletes and
//! re-creates FOLDER. Durability `os`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // reads clocks and files

use quipu::{Database, Durability, GraphOptions, Options, Parameters};
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder for databases")?;
    let count: usize = arguments.next().map_or(Ok(10_000), |text| text.parse())?;
    let folder = Path::new(&folder);
    std::fs::create_dir(folder)?;
    timed(&folder.join("relations"), count, |db, at| {
        db.run(&format!(":create r{at} {{k: Int => v: String}}"), &Parameters::new()).map(drop)
    })?;
    timed(&folder.join("graphs"), count, |db, at| {
        db.graph(&format!("g{at}"), GraphOptions::default()).map(drop)
    })?;
    Ok(())
}

fn timed(
    folder: &Path,
    count: usize,
    create: impl Fn(&Database, usize) -> Result<(), quipu::Error>,
) -> Result<(), Box<dyn std::error::Error>> {
    let options = || Options { durability: Durability::Os, ..Options::default() };
    let db = Database::open(folder, options())?;
    let (start, mut at) = (Instant::now(), 0);
    for part in 1..=4 {
        while at < count * part / 4 {
            create(&db, at)?;
            at += 1;
        }
        println!("{at:6} made        {:8.3} s", start.elapsed().as_secs_f64());
    }
    let start = Instant::now();
    db.close()?;
    println!("       closed      {:8.3} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let db = Database::open(folder, options())?;
    println!("       opened      {:8.3} s", start.elapsed().as_secs_f64());
    drop(db);
    Ok(())
}
