//! Runs the simulator seed after seed: `quipu-sim --seed 1 --seconds 60 --jobs 2`.
//!
//! Progress goes to stderr, results to stdout. On a broken promise it prints the seed and a short
//! trace, and exits with status 1. The same seed gives the same run on every machine.

// It runs simulated machines, and is not simulated itself: threads and clock are the real ones.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use base::mark::{self, Mark};
use quipu_sim::workload::{self, Broken, Tally, plan::Plan};
use quipu_sim::{Fault, FaultCounts};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: quipu-sim [--seed N] [--seconds S] [--crashes N] [--runs N] [--jobs J] [--plan] [--whole]

  --seed N      the first seed (1)
  --seconds S   stop after this time (60)
  --crashes N   or after N crashes
  --runs N      or after N runs
  --jobs J      threads, each with seeds of its own (1)
  --plan        print the plan of the seed and run it alone
  --whole       do not shrink a failure
  --mutant X    break the engine on purpose (in a build with the feature `fault-switches`)";

struct Args {
    seed: u64,
    seconds: u64,
    crashes: u64,
    runs: u64,
    jobs: u64,
    plan: bool,
    whole: bool,
    mutant: Option<String>,
}

fn parse() -> Result<Args, String> {
    let mut args = Args {
        seed: 1,
        seconds: 60,
        crashes: u64::MAX,
        runs: u64::MAX,
        jobs: 1,
        plan: false,
        whole: false,
        mutant: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse::<u64>().map_err(|_| format!("{word}: \"{value}\" is not a number"))
        };
        match word.as_str() {
            "--seed" => args.seed = number()?,
            "--seconds" => args.seconds = number()?,
            "--crashes" => args.crashes = number()?,
            "--runs" => args.runs = number()?,
            "--jobs" => args.jobs = number()?.max(1),
            "--plan" => args.plan = true,
            "--whole" => args.whole = true,
            "--mutant" => args.mutant = words.next(),
            _ => return Err(format!("{word}: what is that?\n{USAGE}")),
        }
    }
    Ok(args)
}

/// Counts of all threads.
#[derive(Default)]
struct Total {
    tally: Tally,
    operations: u64,
    power_cuts: u64,
    kills: u64,
    faults: [u64; Fault::ALL.len()],
    /// Sectors lost, kept and torn; names lost and kept.
    left: [u64; 5],
}

impl Total {
    fn add(&mut self, tally: &Tally, operations: u64, counts: &FaultCounts) {
        self.tally.add(tally);
        self.operations += operations;
        self.power_cuts += counts.power_cuts;
        self.kills += counts.kills;
        for (sum, fault) in self.faults.iter_mut().zip(Fault::ALL) {
            *sum += counts.of(fault);
        }
        let left = [
            counts.sectors_lost,
            counts.sectors_kept,
            counts.sectors_torn,
            counts.names_lost,
            counts.names_kept,
        ];
        self.left.iter_mut().zip(left).for_each(|(sum, more)| *sum += more);
    }

    fn crashes(&self) -> u64 {
        self.power_cuts + self.kills
    }

    fn print(&self, seeds: (u64, u64), seconds: f64) {
        let tally = &self.tally;
        println!("seeds            {} to {}, {:.1} s", seeds.0, seeds.1, seconds);
        println!("operations       {} of the machine", self.operations);
        println!("crashes          {} power cuts, {} kills", self.power_cuts, self.kills);
        let [lost, kept, torn, names_lost, names_kept] = self.left;
        println!(
            "left by power    {lost} sectors lost, {kept} kept, {torn} torn; {names_lost} names lost, {names_kept} kept"
        );
        print!("faults          ");
        for (fault, count) in Fault::ALL.iter().zip(self.faults) {
            print!(" {fault:?} {count}");
        }
        println!();
        println!("openings         {} compared with the model", tally.openings);
        println!("refused          {} for damage, with file and offset", tally.refused);
        println!("tails lost       {} to damage of the newest records", tally.tails_lost);
        println!("given up         {} where the machine let no opening through", tally.given_up);
        println!("commits          {} acknowledged, {} conflicts", tally.commits, tally.conflicts);
        println!(
            "views            {} values of blobs, {} numbers of counters",
            tally.blobs, tally.counters
        );
        println!(
            "backups          {} acknowledged, {} others refused; {} restored ones opened and compared, {} of them not wholly",
            tally.backups, tally.backups_refused, tally.restored, tally.unjudged
        );
        println!("compared         {} answers, {} rows", tally.answers, tally.rows);
        println!(
            "errors           {} that a fault, a crash or another task explains",
            tally.errors
        );
        print!("steps           ");
        tally.steps.iter().for_each(|(name, count)| print!(" {name} {count},"));
        println!();
        if cfg!(feature = "marks") {
            print!("marks hit       ");
            let hit = |mark: &&Mark| mark::hits(**mark) > 0;
            Mark::ALL.iter().filter(hit).for_each(|m| print!(" {m:?} {},", mark::hits(*m)));
            println!();
            print!("marks not hit   ");
            Mark::ALL.iter().filter(|mark| !hit(mark)).for_each(|mark| print!(" {mark:?}"));
            println!();
        }
    }
}

fn main() -> ExitCode {
    match parse().and_then(|args| run(&args)) {
        Ok(status) => status,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<ExitCode, String> {
    let _switch = args.mutant.as_deref().map(break_engine).transpose()?;
    // A panic of a task is a finding, which is printed with its seed.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    if args.plan {
        return Ok(run_plan(args.seed));
    }
    let search = Search::new(args);
    std::thread::scope(|scope| {
        for _ in 0..args.jobs {
            scope.spawn(|| search.work());
        }
    });
    let seconds = search.begin.elapsed().as_secs_f64();
    if let Ok(total) = search.total.lock() {
        let last = search.next.load(Ordering::Relaxed).saturating_sub(1);
        total.print((args.seed, last), seconds);
    }
    match search.found.into_inner().ok().flatten() {
        None => Ok(ExitCode::SUCCESS),
        Some((plan, broken)) => {
            print_broken(&plan, broken, args.whole);
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Turns a switch on until the result is dropped.
#[cfg(feature = "fault-switches")]
fn break_engine(name: &str) -> Result<base::fault_switch::SwitchedOn, String> {
    use base::fault_switch::{Switch, on};
    let found = Switch::ALL.into_iter().find(|switch| format!("{switch:?}") == name);
    found.map(on).ok_or_else(|| format!("there is no switch \"{name}\": {:?}", Switch::ALL))
}

#[cfg(not(feature = "fault-switches"))]
fn break_engine(_name: &str) -> Result<(), String> {
    Err("this build cannot break the engine: it lacks the feature `fault-switches`".to_owned())
}

/// Prints the plan of a seed and runs it.
fn run_plan(seed: u64) -> ExitCode {
    let plan = workload::plan(seed);
    println!("{plan}");
    let report = workload::run(&plan);
    match report.broken {
        None => {
            println!("holds; trace {:016x}", report.trace_hash);
            ExitCode::SUCCESS
        }
        Some(broken) => {
            println!("life {}: {}", broken.life, broken.why);
            ExitCode::FAILURE
        }
    }
}

/// Runs of one seed after the other, by several threads.
struct Search<'a> {
    args: &'a Args,
    begin: Instant,
    next: AtomicU64,
    stop: AtomicBool,
    total: Mutex<Total>,
    found: Mutex<Option<(Plan, Broken)>>,
    /// When progress was printed last.
    told: Mutex<Instant>,
}

impl<'a> Search<'a> {
    fn new(args: &'a Args) -> Self {
        let begin = Instant::now();
        Self {
            args,
            begin,
            next: AtomicU64::new(args.seed),
            stop: AtomicBool::new(false),
            total: Mutex::default(),
            found: Mutex::new(None),
            told: Mutex::new(begin),
        }
    }

    /// Runs seeds until the time or the count is reached, or a thread finds a broken promise.
    fn work(&self) {
        let until = self.begin + Duration::from_secs(self.args.seconds);
        while !self.stop.load(Ordering::Relaxed) && Instant::now() < until {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            let plan = workload::plan(seed);
            let report = workload::run(&plan);
            let Ok(mut total) = self.total.lock() else { return };
            total.add(&report.tally, report.operations, &report.counts);
            if let Some(broken) = report.broken {
                self.stop.store(true, Ordering::Relaxed);
                if let Ok(mut found) = self.found.lock() {
                    found.get_or_insert((plan, broken));
                }
                return;
            }
            if total.crashes() >= self.args.crashes || total.tally.runs >= self.args.runs {
                self.stop.store(true, Ordering::Relaxed);
            }
            self.print_progress(seed, total.crashes());
        }
    }

    /// Prints progress to stderr, every five seconds.
    fn print_progress(&self, seed: u64, crashes: u64) {
        if let Ok(mut told) = self.told.try_lock()
            && told.elapsed() > Duration::from_secs(5)
        {
            *told = Instant::now();
            let seconds = self.begin.elapsed().as_secs_f64();
            let rate = crashes as f64 / seconds;
            eprintln!("seed {seed}: {crashes} crashes in {seconds:.0} s, {rate:.0}/s");
        }
    }
}

/// Prints a broken promise, and its shrunk plan unless `whole`.
fn print_broken(plan: &Plan, broken: Broken, whole: bool) {
    println!();
    println!("BROKEN by seed {}, in life {}: {}", plan.seed, broken.life, broken.why);
    println!("again: quipu-sim --seed {} --runs 1", plan.seed);
    if !whole {
        eprintln!("shrinking {} steps", plan.steps());
        let (plan, broken) = workload::shrink(plan, broken);
        println!("\nshrunk to {} steps, in life {}: {}\n", plan.steps(), broken.life, broken.why);
        println!("{plan}");
    }
}
