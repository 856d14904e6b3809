//! Starts children, kills them, and verifies their databases.
//!
//! # When a child is killed
//! About half of the kills come some time after an operation that the seed selects, so that every
//! kind of work is hit in the middle. A quarter come at a random time after the start. Between two
//! of those, in every third case, one or more children are killed that only open the database,
//! within the milliseconds that recovery takes.

use crate::arguments::Arguments;
use crate::backup::{self, Begun};
use crate::files::base_folder;
use crate::message::Message;
use crate::ops::{Columns, Op, Random, STREAMS, State};
use crate::outcome::Outcome;
use crate::process::{end, wait_us};
use crate::report::Report;
use crate::values;
use crate::verifier::VerifyMode;
use crate::verify::{self, Plan};
use crate::work::Work;
use crate::{files, ops};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills per database, so that states stay small.
const KILLS_A_FOLDER: u64 = 30;

/// Runs kills until the count or the time limit is reached.
pub(crate) fn run(arguments: &Arguments) -> Outcome<()> {
    let work = Work::of(arguments)?;
    let seed = arguments.number("seed", 1)?;
    let count = arguments.number("count", 200)?;
    let forking = arguments.number("forking", 0)? > 0;
    let seconds = arguments.number("seconds", u64::MAX / 4)?;
    let deadline = Instant::now().checked_add(Duration::from_secs(seconds.min(1 << 30)));
    let base = base_folder(arguments)?;
    let mut report = Report::new(seed);
    report.work = work.name();
    let mut wrong = None;
    let mut folder = 0;
    while report.kills < count && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let seed = Random::new(seed ^ folder << 24).next();
        let path = base.path().join(format!("{folder}"));
        let kills = KILLS_A_FOLDER.min(count - report.kills);
        let ran = match work {
            Work::Graphs => {
                let mut series = Series::new(seed, &path, &path.join("database"))?;
                series.forking = forking;
                series.run(kills, &mut report)
            }
            work => {
                let mut series = values::Series::new(work, seed, &path)?;
                series.forking = forking;
                series.run(kills, &mut report)
            }
        };
        if let Err(message) = ran {
            let of = format!("of seed {}, {}", report.seed, report.work);
            wrong = Some(format!("{message}\nin folder {folder} {of}"));
            break;
        }
        report.folders += 1;
        std::fs::remove_dir_all(&path).map_err(|error| error.to_string())?;
        folder += 1;
        if folder % 20 == 0 {
            eprintln!("{}", report.line());
        }
    }
    println!("{}", report.text(wrong.as_deref()));
    if let Some(path) = arguments.path("json") {
        let text = format!("{:#}\n", report.json(wrong.as_deref()));
        std::fs::write(path, text).map_err(|error| error.to_string())?;
    }
    match wrong {
        None => Ok(()),
        Some(message) => {
            let kept = base.keep();
            Err(format!("{message}\nthe database is kept in {}", kept.display()))
        }
    }
}

/// The kills of one database.
pub(crate) struct Series {
    pub(crate) seed: u64,
    pub(crate) random: Random,
    base: PathBuf,
    pub(crate) database: PathBuf,
    files: Vec<Columns>,
    pub(crate) states: [State; STREAMS],
    /// Each stream's next operation.
    pub(crate) next: [u32; STREAMS],
    /// Backups of the last child.
    backups: Vec<Begun>,
    /// Whether writers fork.
    pub(crate) forking: bool,
}

/// The progress that a child reported before it was killed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    opened: bool,
    /// Operations in flight.
    pub(crate) began: [Option<u32>; STREAMS],
    done: u64,
}

impl Said {
    /// The kinds of the operations in flight.
    fn running(&self, seed: u64) -> Vec<&'static str> {
        let began = self.began.iter().enumerate();
        began.filter_map(|(stream, number)| Some(Op::of(seed, stream, (*number)?).name())).collect()
    }
}

impl Series {
    pub(crate) fn new(seed: u64, base: &Path, database: &Path) -> Outcome<Self> {
        std::fs::create_dir_all(base).map_err(|error| error.to_string())?;
        let files: Vec<_> =
            (0..ops::IMPORT_ROWS.len()).map(|file| ops::import_rows(seed, file)).collect();
        for (file, rows) in files.iter().enumerate() {
            files::write_import_file(base, file, rows)?;
        }
        Ok(Self {
            seed,
            random: Random::new(!seed),
            base: base.to_owned(),
            database: database.to_owned(),
            files,
            states: Default::default(),
            next: [0; STREAMS],
            backups: Vec::new(),
            forking: false,
        })
    }

    fn run(&mut self, kills: u64, report: &mut Report) -> Outcome<()> {
        let before = report.kills;
        while report.kills < before + kills {
            let durability = if self.random.below(2) == 0 { "os" } else { "sync" };
            let said = self.kill_writer(durability, report)?;
            report.count(&said.running(self.seed), said.opened, durability);
            while self.random.below(3) == 0 && report.kills < before + kills {
                let durability = if self.random.below(2) == 0 { "os" } else { "sync" };
                let said = self.kill_opener(durability)?;
                report.count(&said.running(self.seed), said.opened, durability);
            }
            let mode = match self.random.below(4) {
                0 => VerifyMode::ReadOnly,
                1 => VerifyMode::Closed,
                _ => VerifyMode::Writable,
            };
            self.verify(mode, durability, report)?;
        }
        Ok(())
    }

    /// Verifies the database and updates the expected state by the operations in flight that took
    /// effect.
    pub(crate) fn verify(
        &mut self,
        mode: VerifyMode,
        durability: &str,
        report: &mut Report,
    ) -> Outcome<()> {
        let plan = Plan { seed: self.seed, files: &self.files };
        let expected = self.next;
        let durability = files::durability(durability)?;
        let (states, next) = (&mut self.states, &mut self.next);
        let found = verify::verify(&self.database, mode, durability, &plan, states, next)?;
        report.verifications += 1;
        report.rows_verified += found.rows;
        report.left_tables += u64::from(found.unfinished_tables > 0);
        report.left_runs += u64::from(found.unfinished_imports > 0);
        // Not next to the database, whose disk may be full.
        let target = self.base.join("restored");
        let fate = backup::verify(&self.database, &target, &std::mem::take(&mut self.backups))?;
        report.backups_restored += fate.restored;
        report.backups_refused += fate.refused;
        report.in_flight_kept += (0..STREAMS).filter(|&s| next[s] != expected[s]).count() as u64;
        Ok(())
    }

    /// Starts a child that writes, and kills it at a random time.
    fn kill_writer(&mut self, durability: &str, report: &mut Report) -> Outcome<Said> {
        let mut child = self.start(durability, "all")?;
        let mut pipe = child.stdout.take().ok_or("the child has no output")?;
        let mut heard = Vec::new();
        if self.random.below(3) == 0 {
            wait_us(self.random.below(60_000));
        } else {
            // Reading blocks until the child has reported that many steps.
            let steps = 1 + self.random.below(80) as usize;
            let delay_us = if self.random.below(2) == 0 {
                self.random.below(200)
            } else {
                self.random.below(2_000)
            };
            heard.resize(4 * steps, 0);
            if pipe.read_exact(&mut heard).is_err() {
                let status = child.wait().map_err(|error| error.to_string())?;
                return Err(format!("WRONG: a child ended by itself: {status}"));
            }
            wait_us(delay_us);
        }
        end(&mut child)?;
        pipe.read_to_end(&mut heard).map_err(|error| error.to_string())?;
        self.hear(&heard, report)
    }

    /// Starts a child that only opens the database, and kills it during the open or soon after.
    fn kill_opener(&mut self, durability: &str) -> Outcome<Said> {
        let mut child = self.start(durability, "open")?;
        wait_us(self.random.below(12_000));
        end(&mut child)?;
        let mut heard = Vec::new();
        let mut pipe = child.stdout.take().ok_or("the child has no output")?;
        pipe.read_to_end(&mut heard).map_err(|error| error.to_string())?;
        Ok(Said { opened: !heard.is_empty(), ..Said::default() })
    }

    fn start(&self, durability: &str, only: &str) -> Outcome<Child> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = self.command(Command::new(program), durability, only);
        command.spawn().map_err(|error| format!("starting a child: {error}"))
    }

    /// Adds the arguments of a child to a command that starts this program.
    pub(crate) fn command(&self, mut command: Command, durability: &str, only: &str) -> Command {
        command.arg("child").arg("--folder").arg(&self.database).arg("--inputs").arg(&self.base);
        command.args(["--durability", durability, "--only", only]);
        command.args(["--seed", &self.seed.to_string()]);
        command.args(["--forking", if self.forking { "1" } else { "0" }]);
        for (stream, next) in self.next.iter().enumerate() {
            command.args([&format!("--first{stream}"), &next.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// The state of a stream after its operation `number`.
    pub(crate) fn after(&self, stream: usize, number: u32) -> State {
        let mut state = self.states[stream].clone();
        Op::of(self.seed, stream, number).apply(number, &self.files, &mut state);
        state
    }

    /// Applies acknowledged operations to the plain maps.
    pub(crate) fn hear(&mut self, heard: &[u8], report: &mut Report) -> Outcome<Said> {
        let mut said = Said::default();
        for message in heard.as_chunks::<4>().0 {
            match Message::decode(*message) {
                Message::Opened => said.opened = true,
                Message::Forked => report.forked += 1,
                Message::Begins { stream, number } => {
                    said.began[stream] = Some(number);
                    if matches!(Op::of(self.seed, stream, number), Op::Backup) {
                        let state = self.states[stream].clone();
                        self.backups.push(Begun { stream, number, state, done: false });
                    }
                }
                Message::Done { stream, number } => {
                    if self.next[stream] != number || said.began[stream].take() != Some(number) {
                        return Err(format!("operation {number} of stream {stream} out of turn"));
                    }
                    let op = Op::of(self.seed, stream, number);
                    let is_this = |b: &&mut Begun| b.stream == stream && b.number == number;
                    if let Some(backup) = self.backups.iter_mut().find(is_this) {
                        backup.done = true;
                    }
                    op.apply(number, &self.files, &mut self.states[stream]);
                    self.next[stream] += 1;
                    said.done += 1;
                    report.commits += u64::from(matches!(
                        op.name(),
                        "write" | "transaction" | "import" | "create and drop"
                    ));
                }
            }
        }
        report.acknowledged += said.done;
        Ok(said)
    }
}
