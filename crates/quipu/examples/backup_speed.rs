//! Times `backup` and `restore` against copying the folder.
//!
//! `cargo run --release -p quipu --example backup_speed -- FOLDER EDGES.csv [ROUNDS]`
//!
//! Imports the file into a new database in FOLDER, then times each operation once a round, and
//! prints the medians. The times include a sync of everything written, also for `cp` (`sync -f`
//! follows it).

// An example runs commands and reads the clock by itself.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use quipu::{BackupOptions, Database, GraphOptions, Options, RestoreOptions, VertexType, restore};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

type Anything<T> = Result<T, Box<dyn std::error::Error>>;

/// The operations, in the order in which a round times them.
const NAMES: [&str; 9] = [
    "backup to a folder (links)",
    "backup, incremental, nothing new",
    "backup to a folder on another file system or as copies",
    "backup to one file",
    "restore of a folder",
    "restore of one file",
    "cp -r of the folder, and sync",
    "cp -r and quipu check of the copy",
    "cp -r of the backup's folder, and sync",
];

fn run(program: &str, arguments: &[&Path]) -> Anything<()> {
    let status = Command::new(program).args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("{program} failed").into()) }
}

fn copy(from: &Path, to: &Path) -> Anything<()> {
    run("cp", &[Path::new("-r"), from, to])?;
    run("sync", &[Path::new("-f"), to])
}

fn clear(folder: &Path) -> Anything<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(std::fs::create_dir_all(folder)?)
}

fn main() -> Anything<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, csv, ..] = &args[..] else { return Err("give a folder and a file".into()) };
    let (folder, csv) = (Path::new(folder), Path::new(csv));
    let rounds: usize = args.get(2).map_or(Ok(5), |rounds| rounds.parse())?;
    clear(folder)?;
    let at = folder.join("db");
    let db = Database::open(&at, Options::default())?;
    let options = GraphOptions { vertex: VertexType::U64, ..GraphOptions::default() };
    let graph = db.graph("g", options)?;
    graph.import_csv(db.env(), csv, &db.import_options(), &|_| true)?;
    let check = db.check(&|_, _| true)?;
    let (rows, bytes) = (check.files.rows, check.files.bytes);
    println!(
        "{}: {} edges, {rows} rows, {:.1} MB in {} tables",
        csv.display(),
        graph.number_of_edges()?,
        bytes as f64 / 1e6,
        check.files.files
    );
    // A copy of the folder needs an idle database; a backup does not.
    let mut times = vec![Vec::new(); NAMES.len()];
    for round in 0..rounds {
        let work = folder.join("round");
        clear(&work)?;
        let path = |name: &str| work.join(name);
        let go_on = &|_: u64, _: u64| true;
        let time = |what: &mut dyn FnMut() -> Anything<()>| -> Anything<f64> {
            let began = Instant::now();
            what()?;
            Ok(began.elapsed().as_secs_f64())
        };
        let plain = BackupOptions::default();
        times[0].push(time(&mut || Ok(db.backup(path("a"), &plain, go_on).map(drop)?))?);
        let next = BackupOptions { earlier: Some(path("a")), ..plain.clone() };
        times[1].push(time(&mut || Ok(db.backup(path("b"), &next, go_on).map(drop)?))?);
        if let Some(other) = args.get(3) {
            let other = Path::new(other).join("backup-speed");
            if other.exists() {
                std::fs::remove_dir_all(&other)?;
            }
            times[2].push(time(&mut || Ok(db.backup(&other, &plain, go_on).map(drop)?))?);
            std::fs::remove_dir_all(&other)?;
        }
        let mut packed = 0;
        times[3].push(time(&mut || {
            packed = db.backup(path("c.qbak"), &plain, go_on)?.bytes_written;
            Ok(())
        })?);
        let new = RestoreOptions::default();
        times[4].push(time(&mut || Ok(restore(path("a"), path("d"), new, go_on).map(drop)?))?);
        times[5].push(time(&mut || Ok(restore(path("c.qbak"), path("e"), new, go_on).map(drop)?))?);
        times[6].push(time(&mut || copy(&at, &path("f")))?);
        let copied = times[6][round];
        times[7].push(
            copied
                + time(&mut || {
                    let options = Options { read_only: true, ..Options::default() };
                    Ok(Database::open(path("f"), options)?.check(go_on).map(drop)?)
                })?,
        );
        times[8].push(time(&mut || copy(&path("a"), &path("g")))?);
        if round == 0 {
            println!("the archive has {:.1} MB", packed as f64 / 1e6);
        }
    }
    for (name, mut times) in NAMES.into_iter().zip(times) {
        if times.is_empty() {
            continue;
        }
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        println!(
            "{name:55} {median:8.3} s {:8.2} M rows/s {:8.1} MB/s   ({:.3} to {:.3})",
            rows as f64 / median / 1e6,
            bytes as f64 / median / 1e6,
            times[0],
            times[times.len() - 1],
        );
    }
    db.close()?;
    clear(folder)
}
