//! A disk that runs full under a writing process.
//!
//! # Two ways to be full
//! A `tmpfs` of a few MiB is a real file system that answers `ENOSPC`; most of it is taken by a
//! ballast file, so that little work fills it, and deleting the ballast is how space comes back.
//! Where it cannot be mounted, a limit on the length of files (`RLIMIT_FSIZE`, with its signal
//! ignored) fails writes and reservations with `EFBIG`, on whatever file system there is.
//!
//! # What must hold
//! 1. The failed operation says which file, and what the system said.
//! 2. Reading goes on in the process that met the full disk, and in another one.
//! 3. What was acknowledged is there, while the disk is full and after; what failed is there whole
//!    or not at all.
//! 4. An import or a compaction that failed left no file behind.
//! 5. With space given back, the database opens and goes on.

use crate::arguments::Arguments;
use crate::child::Failure;
use crate::ops::{Op, Random, STREAMS};
use crate::parent::{Series, base_folder, wait_us};
use crate::report::Report;
use crate::verify::{self, Look};
use crate::{Outcome, files};
use quipu::{Database, ErrorKind};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Size of the file system.
const DISK_BYTES: u64 = 8 << 20;

/// Space that the ballast leaves: enough to open the database, to what some hundred operations
/// take.
const FREE_BYTES: std::ops::Range<u64> = 256 << 10..3 << 20;

/// Longest file under the limit. A log segment still fits, a table of a big import does not.
const FILE_BYTES_MAX: u64 = 96 << 10;

/// Rounds on one database.
const ROUNDS_A_FOLDER: u64 = 25;

/// Operations of a child that meets no full disk.
const OPERATIONS: u64 = 300;

/// The same under a limit on files, which every other child does not have.
const OPERATIONS_BETWEEN: u64 = 40;

/// How often debris is looked for, with ten milliseconds between, before it counts: a compaction at
/// work is done in milliseconds, on a machine that is busy with other things in seconds.
const DEBRIS_LOOKS_MAX: u64 = 12_000;

/// Exit status of a child that met the full disk and found everything else in order.
const FULL: i32 = 3;

/// What the runs came to.
#[derive(Debug, Default)]
struct Tally {
    failed: BTreeMap<&'static str, u64>,
    /// Openings that the full disk refused, and those it did not.
    refused: u64,
    opened_full: u64,
    killed: u64,
    unharmed: u64,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let base = base_folder(arguments)?;
    let limited = arguments.text("variant") == Some("file-limit");
    let disk = if limited { None } else { Some(Mount::new(&base.path().join("disk"))?) };
    let Some(disk) = disk.map_or(Some(None), |mounted| mounted.map(Some)) else {
        println!("skipped: no file system can be mounted here; --variant file-limit needs none");
        return Ok(());
    };
    let (seed, rounds) = (arguments.number("seed", 1)?, arguments.number("rounds", 50)?);
    let (mut report, mut tally) = (Report::new(seed), Tally::default());
    let mut done = 0;
    while done < rounds {
        let seed = Random::new(seed ^ report.folders << 24).next();
        let inputs = base.path().join(report.folders.to_string());
        let root = disk.as_ref().map_or(inputs.as_path(), |disk| &disk.folder);
        let database = root.join("database");
        let mut series = Series::new(seed, &inputs, &database)?;
        let (disk, tally) = (disk.as_ref(), &mut tally);
        let mut filler = Filler { series: &mut series, disk, tally, had_reserve: false };
        for _ in 0..ROUNDS_A_FOLDER.min(rounds - done) {
            filler.round(&mut report).map_err(|error| {
                format!(
                    "{error}\nin round {done} of seed {}, folder {}",
                    report.seed, report.folders
                )
            })?;
            done += 1;
        }
        std::fs::remove_dir_all(&database).map_err(|error| error.to_string())?;
        std::fs::remove_dir_all(&inputs).map_err(|error| error.to_string())?;
        report.folders += 1;
    }
    println!(
        "{done} rounds on a full disk ({}), {} operations acknowledged, {} rows verified\n\
         operations that failed: {:?}\nopened while full: {}, refused: {}\n\
         killed while full: {}, not met by the full disk: {}\nlost: 0, wrong: 0",
        if limited { "limit of files" } else { "tmpfs" },
        report.acknowledged,
        report.rows_verified,
        tally.failed,
        tally.opened_full,
        tally.refused,
        tally.killed,
        tally.unharmed
    );
    if let Some(path) = arguments.path("json") {
        let json = serde_json::json!({
            "variant": if limited { "file-limit" } else { "tmpfs" },
            "rounds": done, "seed": report.seed,
            "operations_acknowledged": report.acknowledged, "rows_verified": report.rows_verified,
            "failed": tally.failed, "opened_while_full": tally.opened_full, "refused": tally.refused,
            "killed": tally.killed, "unharmed": tally.unharmed,
        });
        std::fs::write(path, format!("{json:#}\n")).map_err(|error| error.to_string())?;
    }
    Ok(())
}

struct Filler<'a> {
    series: &'a mut Series,
    disk: Option<&'a Mount>,
    tally: &'a mut Tally,
    /// Before the disk became full the database had space of its own for that.
    had_reserve: bool,
}

impl Filler<'_> {
    /// One life on a disk that runs full, and the recovery from it.
    fn round(&mut self, report: &mut Report) -> Outcome<()> {
        let durability = if self.series.random.below(2) == 0 { "os" } else { "sync" };
        let span = FREE_BYTES.end - FREE_BYTES.start;
        let free = FREE_BYTES.start + self.series.random.below(span);
        let ballast = self.disk.map(|disk| disk.ballast("ballast", free)).transpose()?;
        self.had_reserve = self.series.database.join("RESERVE").exists();
        let mut child = self.command(durability)?.spawn().map_err(|error| error.to_string())?;
        let kills = self.series.random.below(4) == 0;
        if kills {
            wait_us(self.series.random.below(60_000));
            child.kill().map_err(|error| error.to_string())?;
        }
        let (mut heard, mut told) = (Vec::new(), String::new());
        let mut pipes = (child.stdout.take(), child.stderr.take());
        let text = |error: std::io::Error| error.to_string();
        pipes.0.as_mut().map_or(Ok(0), |pipe| pipe.read_to_end(&mut heard)).map_err(text)?;
        pipes.1.as_mut().map_or(Ok(0), |pipe| pipe.read_to_string(&mut told)).map_err(text)?;
        let status = child.wait().map_err(text)?;
        let said = self.series.hear(&heard, report)?;
        match status.code() {
            None if kills => self.tally.killed += 1,
            Some(0) => self.tally.unharmed += 1,
            Some(FULL) => self.look_at_failures(&told, &said.began)?,
            // It may have been refused before it could do anything.
            Some(1) if heard.is_empty() => {
                check_message(told.trim(), &self.series.database)?;
                self.tally.refused += 1;
            }
            _ => return Err(format!("WRONG: a child ended with {status}: {told}")),
        }
        // While the disk is full: to read, nothing needs to be written.
        self.series.verify(Look::ReadOnly, durability, report)?;
        if let Some(disk) = self.disk {
            // To the last byte. What the database keeps for this lets it open all the same.
            let rest = disk.ballast("rest", 0)?;
            let options = crate::child::tiny_options(files::durability(durability)?);
            match Database::open(&self.series.database, options) {
                Ok(_) => self.tally.opened_full += 1,
                // What the child was refused before it had a reserve.
                Err(error) if !self.had_reserve => {
                    check_message(&error.to_string(), &self.series.database)?;
                    self.tally.refused += 1;
                }
                Err(error) => return Err(format!("WRONG: not opened on a full disk: {error}")),
            }
            self.series.verify(Look::ReadOnly, durability, report)?;
            std::fs::remove_file(rest).map_err(text)?;
        }
        if let Some(ballast) = ballast {
            std::fs::remove_file(ballast).map_err(text)?;
        }
        self.series.verify(Look::Writable, durability, report)?;
        self.series.verify(Look::Closed, durability, report)
    }

    fn command(&mut self, durability: &str) -> Outcome<Command> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // Every other child has no limit, and gets past the operation that failed.
        let first = if self.disk.is_some() || self.series.random.below(2) == 0 {
            Command::new(program)
        } else {
            // The shell sets what the program keeps: a limit in blocks of 512 bytes, a signal
            // ignored.
            let mut shell = Command::new("sh");
            let script =
                format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", FILE_BYTES_MAX / 512);
            shell.arg("-c").arg(script).arg(program);
            shell
        };
        let mut command = self.series.command(first, durability, "fill");
        let operations = if self.disk.is_some() { OPERATIONS } else { OPERATIONS_BETWEEN };
        command.args(["--operations", &operations.to_string()]).stderr(Stdio::piped());
        Ok(command)
    }

    /// What the child told of the failed operations and of what it read afterwards.
    fn look_at_failures(&mut self, told: &str, began: &[Option<u32>; STREAMS]) -> Outcome<()> {
        let wrong = |what: &str| format!("WRONG: {what}: {told}");
        for line in told.lines() {
            let mut words = line.splitn(4, '\t');
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("failed"), Some(stream), Some(number), Some(message)) => {
                    let stream: usize = stream.parse().map_err(|_| wrong("unreadable"))?;
                    let number: u32 = number.parse().map_err(|_| wrong("unreadable"))?;
                    if began[stream].is_some_and(|began| began != number) {
                        return Err(wrong("another operation failed than was in flight"));
                    }
                    let op = Op::of(self.series.seed, stream, number);
                    check_message(message, &self.series.database)?;
                    *self.tally.failed.entry(op.name()).or_default() += 1;
                }
                (Some("read"), Some(stream), Some(digest), None) => {
                    let stream: usize = stream.parse().map_err(|_| wrong("unreadable"))?;
                    let state = &self.series.states[stream];
                    let mut digests = vec![state.digest()];
                    if let Some(number) = began[stream] {
                        digests.push(self.series.after(stream, number).digest());
                    }
                    if !digests.iter().any(|known| known.to_string() == digest) {
                        return Err(wrong(
                            "what was read on the full disk was not what was written",
                        ));
                    }
                }
                _ => return Err(wrong("unexpected words")),
            }
        }
        Ok(())
    }
}

/// It names a file of the database, what the system said, and, where bytes were to be written to a
/// full disk, how many were needed and are free.
fn check_message(message: &str, database: &Path) -> Outcome<()> {
    let full = "No space left on device";
    let said = [full, "File too large"].iter().any(|s| message.contains(s));
    let bytes = ["cannot write", "cannot reserve"].iter().any(|s| message.contains(s));
    let counted = message.contains("bytes were needed, ") && message.contains(" are free");
    if said
        && (counted || !bytes || !message.contains(full))
        && message.contains(&*database.to_string_lossy())
    {
        return Ok(());
    }
    Err(format!("WRONG: the message of a full disk tells too little: {message:?}"))
}

/// In the child, when operations have failed: reads all, looks for debris, tells.
pub(crate) fn after_failure(db: &Database, folder: &Path, failures: &[Failure]) -> Outcome<()> {
    for failure in failures {
        let message = failure.message.replace(['\n', '\t'], " ");
        eprintln!("failed\t{}\t{}\t{message}", failure.stream, failure.number);
    }
    for stream in 0..STREAMS {
        eprintln!("read\t{stream}\t{}", verify::read_stream(db, stream)?.digest());
    }
    let runs = files::names(&folder.join("tmp"));
    if !runs.is_empty() {
        return Err(format!("WRONG: a failed import left {runs:?}"));
    }
    // A flush that failed poisons, and leaves its files to the next opening. Everything else cleans
    // up.
    if !is_poisoned_by_flushing(db) {
        no_debris(db, folder)?;
    }
    std::process::exit(FULL)
}

/// Whether a flush fails, now or before. On a full disk it may at any time.
fn is_poisoned_by_flushing(db: &Database) -> bool {
    let kind = db.flush().err().map(|error| error.kind());
    matches!(kind, Some(ErrorKind::Poisoned | ErrorKind::Io))
}

/// Waits, for a while, until no more tables lie there than are named: compaction may still be at
/// work.
fn no_debris(db: &Database, folder: &Path) -> Outcome<()> {
    let mut there = 0;
    let mut named = 0;
    for look in 1..=DEBRIS_LOOKS_MAX {
        let stats = db.stats().map_err(|error| error.to_string())?;
        named = stats.graphs.iter().map(|graph| graph.tables).sum::<u64>();
        there = files::names(&folder.join("tables")).len() as u64;
        if there <= named {
            return Ok(());
        }
        wait_us(10_000);
        if look % 200 == 0 && is_poisoned_by_flushing(db) {
            return Ok(());
        }
    }
    Err(format!("WRONG: {there} tables lie there, {named} are named"))
}

/// A small file system, unmounted when dropped.
struct Mount {
    folder: PathBuf,
}

impl Mount {
    /// `None` where mounting is not permitted.
    fn new(folder: &Path) -> Outcome<Option<Self>> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut command = Command::new("mount");
        command
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_BYTES}"), "quipu-kill"])
            .arg(folder);
        let done = command.stderr(Stdio::null()).status();
        let mounted = done.is_ok_and(|status| status.success());
        Ok(mounted.then(|| Self { folder: folder.to_owned() }))
    }

    /// Takes all space but `free` bytes.
    fn ballast(&self, name: &str, free: u64) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        let mut file = std::fs::File::create(&path).map_err(|error| error.to_string())?;
        let page = vec![1_u8; 4096];
        // To the last page, then back: so nobody needs to be asked how much is free.
        let mut bytes = 0;
        while std::io::Write::write_all(&mut file, &page).is_ok() {
            bytes += page.len() as u64;
        }
        file.set_len(bytes.saturating_sub(free)).map_err(|error| error.to_string())?;
        Ok(path)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.folder).status();
    }
}
