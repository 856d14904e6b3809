//! Kills of processes that write blobs, counters or rows: `--work blobs`, `counters` and `rows`.
//! `parent.rs` kills those that write graphs.
//!
//! # Why not with the graphs
//! Each is verified in another way (values whose bytes are derived again, sums within bounds,
//! searches by indexes), and a kill may leave other things behind: see [`Verifier`], which
//! `blobs.rs`, `counters.rs` and `rows.rs` implement. Starting, killing and reading reports are
//! the same: a child reports the start and the end of each operation, and is killed at a time that
//! the seed selects, while it writes or while it opens.

use crate::files;
use crate::message::Message;
use crate::ops::{Random, STREAMS};
use crate::outcome::Outcome;
use crate::process::{end, wait_us};
use crate::report::Report;
use crate::verifier::{KillPlan, Verifier, VerifyMode};
use crate::work::Work;
use quipu::{Database, Durability, ErrorKind, Options};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long a child may report nothing before it counts as stuck.
const SILENCE_MAX: Duration = Duration::from_secs(120);

/// The kills of one database.
pub(crate) struct Series {
    work: Work,
    seed: u64,
    random: Random,
    database: PathBuf,
    verifier: Box<dyn Verifier>,
    /// Each stream's next operation.
    next: [u32; STREAMS],
    /// Whether writers fork.
    pub(crate) forking: bool,
}

/// The progress that a child reported before it was killed.
#[derive(Clone, Debug, Default)]
struct Said {
    opened: bool,
    running: Vec<&'static str>,
}

impl Series {
    pub(crate) fn new(work: Work, seed: u64, base: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(base).map_err(|error| error.to_string())?;
        let (random, verifier) = (Random::new(!seed), work.verifier(seed)?);
        let database = base.join("database");
        let next = [0; STREAMS];
        Ok(Self { work, seed, random, database, verifier, next, forking: false })
    }

    pub(crate) fn run(&mut self, kills: u64, report: &mut Report) -> Outcome<()> {
        let last = report.kills + kills;
        while report.kills < last {
            let plan = self.verifier.draw_plan(&mut self.random);
            let said = self.kill_writer(plan, report)?;
            report.count(&said.running, said.opened, plan.durability);
            while self.random.below(4) == 0 && report.kills < last {
                let durability = self.verifier.draw_plan(&mut self.random).durability;
                let opened = self.kill_opener(durability)?;
                report.count(&[], opened, durability);
            }
            let mode = match self.random.below(4) {
                0 => VerifyMode::ReadOnly,
                1 => VerifyMode::Closed,
                _ => VerifyMode::Writable,
            };
            self.verify(mode, report)?;
        }
        Ok(())
    }

    /// Starts a child that writes, and kills it at a random time.
    fn kill_writer(&mut self, plan: KillPlan, report: &mut Report) -> Outcome<Said> {
        let before = self.next;
        self.verifier.starts(files::durability(plan.durability)?);
        let mut child = self.start(plan.durability, "all")?;
        let heard = listen(&mut child)?;
        let (mut bytes, mut ended) = (Vec::new(), false);
        if self.random.below(3) == 0 {
            wait_us(self.random.below(plan.life_us_max));
        } else {
            let steps = 1 + self.random.below(plan.steps_max) as usize;
            let delay_us = [200, 2_000][self.random.below(2) as usize];
            let delay_us = self.random.below(delay_us);
            while bytes.len() < 4 * steps && !ended {
                match heard.recv_timeout(SILENCE_MAX) {
                    Ok(more) => bytes.extend(more),
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => ended = true,
                    Err(_) => return Err("WRONG: a child is stuck".to_owned()),
                }
            }
            wait_us(delay_us);
        }
        if ended {
            let status = child.wait().map_err(|error| error.to_string())?;
            return Err(format!("WRONG: a child ended by itself: {status}"));
        }
        end(&mut child)?;
        bytes.extend(heard.iter().flatten());
        let said = self.hear(&bytes, report)?;
        report.acknowledged +=
            (0..STREAMS).map(|s| u64::from(self.next[s] - before[s])).sum::<u64>();
        Ok(said)
    }

    /// Starts a child that only opens the database, and kills it during the open or soon after.
    /// Returns whether it had opened it.
    fn kill_opener(&mut self, durability: &str) -> Outcome<bool> {
        let mut child = self.start(durability, "open")?;
        let heard = listen(&mut child)?;
        wait_us(self.random.below(12_000));
        end(&mut child)?;
        Ok(heard.iter().next().is_some())
    }

    fn start(&self, durability: &str, only: &str) -> Outcome<Child> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(["child", "--work", self.work.name(), "--durability", durability]);
        command.args(["--only", only, "--seed", &self.seed.to_string()]);
        command.args(["--forking", if self.forking { "1" } else { "0" }]);
        command.arg("--folder").arg(&self.database);
        for (stream, next) in self.next.iter().enumerate() {
            command.args([&format!("--first{stream}"), &next.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().map_err(|error| format!("starting a child: {error}"))
    }

    /// Passes the reports of a child to the verifier.
    fn hear(&mut self, heard: &[u8], report: &mut Report) -> Outcome<Said> {
        let (mut opened, mut began) = (false, [None; STREAMS]);
        for message in heard.as_chunks::<4>().0 {
            match Message::decode(*message) {
                Message::Opened => opened = true,
                Message::Forked => report.forked += 1,
                Message::Begins { stream, number } => {
                    began[stream] = Some(number);
                    self.verifier.begins(stream, number);
                }
                Message::Done { stream, number } => {
                    if self.next[stream] != number || began[stream].take() != Some(number) {
                        return Err(format!("operation {number} of stream {stream} out of turn"));
                    }
                    self.verifier.done(stream, number);
                    let writes = !matches!(
                        self.verifier.name(stream, number),
                        "flush" | "compaction" | "check"
                    );
                    report.commits += u64::from(writes);
                    self.next[stream] += 1;
                }
            }
        }
        let running =
            (0..STREAMS).filter_map(|s| began[s].map(|number| self.verifier.name(s, number)));
        Ok(Said { opened, running: running.collect() })
    }

    /// Verifies the database. Later kills continue from the verified content.
    fn verify(&mut self, mode: VerifyMode, report: &mut Report) -> Outcome<()> {
        let read_only = mode == VerifyMode::ReadOnly;
        report.verifications += 1;
        let tables = self.database.join("tables");
        let tables_before = files::names(&tables);
        let options = self.work.options(self.seed, Durability::Os);
        let options = Options { read_only, ..options };
        let db = match Database::open(&self.database, options.clone()) {
            Ok(db) => db,
            // The child was killed before the database existed.
            Err(error) if read_only && error.kind() == ErrorKind::InvalidInput => {
                let gone = format!("WRONG: the database is gone: {error}");
                return if self.verifier.is_empty() { Ok(()) } else { Err(gone) };
            }
            Err(error) => return Err(format!("WRONG: opening: {error}")),
        };
        if !read_only {
            let left = files::names(&tables);
            report.left_tables += u64::from(tables_before.difference(&left).next().is_some());
        }
        let expected = self.next;
        let compared = self.verifier.compare(&db, &mut self.next)?;
        report.rows_verified += compared.values;
        report.lost_unflushed += u64::from(compared.unflushed_lost);
        report.in_flight_kept +=
            (0..STREAMS).filter(|&s| self.next[s] != expected[s]).count() as u64;
        let check = db.check(&|_, _| true).map_err(|error| format!("WRONG: check: {error}"))?;
        let checked = self.verifier.checked(&db, &check, mode)?;
        report.left_values += u64::from(checked.unfinished_values > 0);
        if mode == VerifyMode::Closed {
            db.close().map_err(|error| format!("closing: {error}"))?;
            drop(db);
            files::only_named_tables(&self.database).map_err(|error| format!("WRONG: {error}"))?;
        }
        Ok(())
    }
}

/// Receives a child's reports on a thread, so that the child never blocks on its output.
fn listen(child: &mut Child) -> Outcome<Receiver<Vec<u8>>> {
    let mut pipe = child.stdout.take().ok_or("the child has no output")?;
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut piece = vec![0; 1 << 14];
        while let Ok(bytes @ 1..) = pipe.read(&mut piece) {
            if sender.send(piece[..bytes].to_vec()).is_err() {
                break;
            }
        }
    });
    Ok(receiver)
}
