//! Model checking of concurrent code: runs a piece of the engine many times under the checker
//! `shuttle`, which chooses at every lock, load and store which thread continues.
//!
//! # Why schedules are random
//! One insertion makes about a hundred loads, so the schedules cannot be enumerated. Half of the
//! time goes to uniform random schedules. The other half goes to *probabilistic concurrency
//! testing* (Burckhardt et al., ASPLOS 2010): threads have random priorities that change at a few
//! random points. This finds any bug that needs only those changes with a probability that can be
//! computed.
//!
//! A failure is printed with the seed of its round. The seed reproduces it, because nothing else
//! decides the schedule.

mod log;

use crate::environment::{Env, Job, JobKind, Signal};
use crate::error::Result;
use crate::files::{AppendFile, FolderLock, LogFile, LogMode, RandomReadFile, ReadOptions};
use crate::memory::{MemoryEnv, since_epoch_us};
use log::{LogDisk, ModelLog};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread::JoinHandle;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// Maximum number of priority changes in one run.
const CHANGES: usize = 4;
/// More steps than any model needs. A run that reaches it waits for something that never happens.
const STEPS_MAX: usize = 2_000_000;
/// Runs with one seed. The clock is checked between rounds.
const ROUND: usize = 200;

/// Runs `body` under many schedules for `MODEL_SECONDS` seconds (default 2), half of the time with
/// each scheduler. Prints the numbers of runs. The seeds of the rounds start at `MODEL_SEED`, by
/// default the current time.
///
/// # Panics
/// If `body` panics or deadlocks. The message contains the seed that reproduces it.
pub fn explore(promise: &str, body: impl Fn() + Send + Sync + 'static) {
    let number = |name| Some(std::env::var(name).ok()?.parse().expect("MODEL_… are numbers"));
    let seconds = number("MODEL_SECONDS").unwrap_or(2.0);
    let seed = number("MODEL_SEED").map_or_else(since_epoch_us, |seed: f64| seed as u64);
    let body = Arc::new(body);
    let by_chance = |seed| RandomScheduler::new_from_seed(seed, ROUND);
    let by_priorities = |seed| PctScheduler::new_from_seed(seed, CHANGES, ROUND);
    let chance = run(promise, by_chance, seed, seconds / 2.0, &body);
    let priorities = run(promise, by_priorities, seed, seconds / 2.0, &body);
    println!("{promise}: {chance} runs by chance, {priorities} by priorities");
}

/// Rounds of [`ROUND`] runs until `seconds` have passed. Returns the number of runs.
fn run<S: Scheduler + 'static>(
    promise: &str,
    scheduler: impl Fn(u64) -> S,
    first_seed: u64,
    seconds: f64,
    body: &Arc<impl Fn() + Send + Sync + 'static>,
) -> usize {
    let (start, mut runs) = (Instant::now(), 0);
    for seed in first_seed.. {
        let mut config = Config::new();
        config.stack_size = 1 << 20;
        config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
        config.silence_warnings = true;
        config.failure_persistence = FailurePersistence::None;
        let body = Arc::clone(body);
        let _tell = TellSeed { promise, seed };
        runs += Runner::new(scheduler(seed), config).run(move || body());
        if start.elapsed().as_secs_f64() >= seconds {
            break;
        }
    }
    runs
}

struct TellSeed<'a> {
    promise: &'a str,
    seed: u64,
}

impl Drop for TellSeed<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} failed; again: MODEL_SECONDS=0 MODEL_SEED={}", self.promise, self.seed);
        }
    }
}

/// A disk in memory whose jobs and signals use the model's threads. Each call of the clock advances
/// it by a microsecond. A wait with a timeout returns immediately.
#[derive(Debug)]
pub struct ModelEnv {
    disk: MemoryEnv,
    jobs: std::sync::Mutex<Vec<JoinHandle<()>>>,
    clock: AtomicU64,
    log: Arc<LogDisk>,
}

impl ModelEnv {
    /// Creates an empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self {
            disk: MemoryEnv::new(1),
            jobs: std::sync::Mutex::default(),
            clock: 0.into(),
            log: Arc::default(),
        }
    }

    /// Number of writes to log files so far.
    #[must_use]
    pub fn log_writes(&self) -> u64 {
        self.log.writes()
    }

    /// Whether a write to a log file would survive a power cut now. Writes are counted from 0.
    #[must_use]
    pub fn is_durable(&self, log_write: u64) -> bool {
        self.log.is_durable(log_write)
    }

    /// Makes a sync of a log file fail, after `syncs` more successful ones.
    pub fn fail_sync_after(&self, syncs: u64) {
        self.log.fail_sync_after(syncs);
    }

    fn log_file(&self, file: Box<dyn LogFile>) -> Box<dyn LogFile> {
        Box::new(ModelLog { file, disk: Arc::clone(&self.log) })
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

impl Default for ModelEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl Env for ModelEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        self.disk.create(path)
    }

    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>> {
        self.disk.open_append(path, keep_bytes)
    }

    fn open_read(&self, path: &Path, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        self.disk.open_read(path, options)
    }

    fn create_log(&self, path: &Path, len_bytes: u64, mode: LogMode) -> Result<Box<dyn LogFile>> {
        self.disk.create_log(path, len_bytes, mode).map(|file| self.log_file(file))
    }

    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>> {
        self.disk.open_log(path, mode).map(|file| self.log_file(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.disk.remove(path)
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.link(from, to)
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        self.disk.list(folder)
    }

    fn create_folder(&self, folder: &Path) -> Result<()> {
        self.disk.create_folder(folder)
    }

    fn remove_folder(&self, folder: &Path) -> Result<()> {
        self.disk.remove_folder(folder)
    }

    fn exists(&self, path: &Path) -> bool {
        self.disk.exists(path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.disk.sync_folder(folder)
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64> {
        self.disk.free_bytes(folder)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>> {
        self.disk.lock(path, holder)
    }

    fn monotonic_us(&self) -> u64 {
        self.tick()
    }

    fn wall_us(&self) -> u64 {
        self.tick()
    }

    fn random_u64(&self) -> u64 {
        // All random choices belong to the checker. Callers only need numbers that differ.
        self.tick().wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn process_line(&self) -> String {
        "a model".to_owned()
    }

    fn spawn(&self, _: JobKind, job: Job) {
        let thread = shuttle::thread::spawn(job);
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
    }

    fn has_threads(&self) -> bool {
        false
    }

    fn parallelism(&self) -> usize {
        2
    }

    fn signal(&self) -> Arc<dyn Signal> {
        Arc::new(ModelSignal::default())
    }

    fn drain_jobs(&self) {
        loop {
            let jobs =
                std::mem::take(&mut *self.jobs.lock().unwrap_or_else(PoisonError::into_inner));
            if jobs.is_empty() {
                return;
            }
            jobs.into_iter().for_each(|job| job.join().expect("a job of a model ends well"));
        }
    }
}

#[derive(Default)]
struct ModelSignal {
    generation: Mutex<u64>,
    changed: Condvar,
}

impl Signal for ModelSignal {
    fn notify(&self) {
        *self.generation.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    fn wait_until(&self, ready: &mut dyn FnMut() -> bool) {
        loop {
            let seen = *self.generation.lock().unwrap_or_else(PoisonError::into_inner);
            if ready() {
                return;
            }
            let mut now = self.generation.lock().unwrap_or_else(PoisonError::into_inner);
            while *now == seen {
                now = self.changed.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn wait_until_timeout(&self, _: u64, ready: &mut dyn FnMut() -> bool) -> bool {
        shuttle::thread::yield_now();
        ready()
    }
}
