//! A disk that becomes full while a process writes.
//!
//! # Two ways to fill a disk
//! A `tmpfs` of a few MiB is a real file system that returns `ENOSPC`. Most of it is taken by a
//! ballast file, so that little work fills it, and deleting the ballast frees space again. Where it
//! cannot be mounted, a limit on the length of files (`RLIMIT_FSIZE`, with its signal ignored)
//! makes writes and reservations fail with `EFBIG` on any file system.
//!
//! # What must hold
//! 1. The message of the failed operation names the file and the system's error.
//! 2. Reads still work in the process that met the full disk, and in another one.
//! 3. Acknowledged operations are there, while the disk is full and after; a failed one is there as
//!    a whole or not at all.
//! 4. An import or a compaction that failed left no file behind.
//! 5. Once space is free again, the database opens and works.

use crate::arguments::Arguments;
use crate::database::tiny_options;
use crate::files::{self, base_folder};
use crate::ops::{Op, Random, STREAMS};
use crate::outcome::Outcome;
use crate::parent::Series;
use crate::process::wait_us;
use crate::report::Report;
use crate::verifier::VerifyMode;
use crate::verify;
use crate::worker::Failure;
use quipu::{Database, ErrorKind};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Size of the `tmpfs`.
const DISK_BYTES: u64 = 8 << 20;

/// Space that the ballast leaves: from just enough to open the database to the space of some
/// hundred operations.
const FREE_BYTES: std::ops::Range<u64> = 256 << 10..3 << 20;

/// The limit on the length of files. A WAL segment still fits, a table of a large import does not.
const FILE_BYTES_MAX: u64 = 96 << 10;

/// Rounds with one database.
const ROUNDS_A_FOLDER: u64 = 25;

/// Maximum number of operations of a child on a `tmpfs`.
const OPERATIONS: u64 = 300;

/// Maximum number of operations of a child if the length of files is limited. The seed selects half
/// of the children to run without the limit.
const OPERATIONS_BETWEEN: u64 = 40;

/// How often leftover files are looked for, ten milliseconds apart, before they count as an error:
/// a running compaction ends within milliseconds, or within seconds on a busy machine.
const DEBRIS_LOOKS_MAX: u64 = 12_000;

/// Exit status of a child that met the full disk and found everything else correct.
const FULL: i32 = 3;

/// Totals of all rounds.
#[derive(Debug, Default)]
struct Tally {
    failed: BTreeMap<&'static str, u64>,
    /// Opens that failed on the full disk, and opens that succeeded on it.
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

/// Runs the rounds of one database.
struct Filler<'a> {
    series: &'a mut Series,
    /// `None` if the length of files is limited instead.
    disk: Option<&'a Mount>,
    tally: &'a mut Tally,
    /// Whether the database had reserved space before the disk became full.
    had_reserve: bool,
}

impl Filler<'_> {
    /// Runs one child until the disk is full, and then the recovery.
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
            // Its open may have failed.
            Some(1) if heard.is_empty() => {
                check_message(told.trim(), &self.series.database)?;
                self.tally.refused += 1;
            }
            _ => return Err(format!("WRONG: a child ended with {status}: {told}")),
        }
        // While the disk is full: a read needs no space.
        self.series.verify(VerifyMode::ReadOnly, durability, report)?;
        if let Some(disk) = self.disk {
            // Fills the disk to the last byte. The database can still be opened with the space that
            // it has reserved.
            let rest = disk.ballast("rest", 0)?;
            let options = tiny_options(files::durability(durability)?);
            match Database::open(&self.series.database, options) {
                Ok(_) => self.tally.opened_full += 1,
                // Without reserved space the open may fail, as it did for the child.
                Err(error) if !self.had_reserve => {
                    check_message(&error.to_string(), &self.series.database)?;
                    self.tally.refused += 1;
                }
                Err(error) => return Err(format!("WRONG: not opened on a full disk: {error}")),
            }
            self.series.verify(VerifyMode::ReadOnly, durability, report)?;
            std::fs::remove_file(rest).map_err(text)?;
        }
        if let Some(ballast) = ballast {
            std::fs::remove_file(ballast).map_err(text)?;
        }
        self.series.verify(VerifyMode::Writable, durability, report)?;
        self.series.verify(VerifyMode::Closed, durability, report)
    }

    fn command(&mut self, durability: &str) -> Outcome<Command> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        // Half of the children have no limit, and so get past the operation that failed.
        let first = if self.disk.is_some() || self.series.random.below(2) == 0 {
            Command::new(program)
        } else {
            // The shell sets the limit, in blocks of 512 bytes, and ignores the signal; the program
            // inherits both.
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

    /// Checks what the child reported about failed operations and about its reads after them.
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
                        return Err(wrong("the full disk returned other bytes than were written"));
                    }
                }
                _ => return Err(wrong("unexpected words")),
            }
        }
        Ok(())
    }
}

/// Checks that the message names a file of the database, the system's error or that the disk is
/// full, and, for a write to a full disk, the bytes that are needed and free.
fn check_message(message: &str, database: &Path) -> Outcome<()> {
    let full = "No space left on device";
    // The last is said before a flush that might not fit.
    let said = [full, "File too large", " is full: "].iter().any(|s| message.contains(s));
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

/// In the child, after failed operations: reads everything, looks for leftover files, and reports.
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
    // A failed flush poisons the database and leaves its files to the next open. Every other
    // operation removes its files.
    if !is_poisoned_by_flushing(db) {
        no_debris(db, folder)?;
    }
    std::process::exit(FULL)
}

/// Whether a flush fails or has failed, which may happen at any time on a full disk.
fn is_poisoned_by_flushing(db: &Database) -> bool {
    let kind = db.flush().err().map(|error| error.kind());
    matches!(kind, Some(ErrorKind::Poisoned | ErrorKind::Io))
}

/// Waits, within a limit, until every table file is in the manifest: a compaction may still be
/// running.
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

/// A small `tmpfs`, unmounted when dropped.
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

    /// Writes a file that leaves `free` bytes of space.
    fn ballast(&self, name: &str, free: u64) -> Outcome<PathBuf> {
        let path = self.folder.join(name);
        let mut file = std::fs::File::create(&path).map_err(|error| error.to_string())?;
        let page = vec![1_u8; 4096];
        // Fills the disk and then truncates the file, which avoids asking how much space is free.
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
