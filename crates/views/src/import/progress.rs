//! Progress and cancellation: jobs update counters, and the calling thread reports them.
//!
//! # Why the calling thread only reports
//! The callback may borrow from its caller, so no job can hold it. Jobs do the work and add to
//! shared counters. The calling thread waits, calls the callback, and passes its answer on in a
//! flag. So the callback runs on one thread, several times a second, and a slow callback does not
//! slow the work.

use super::spill::io;
use env::sync::Mutex;
use env::{Env, JobKind};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::{Error, ErrorKind, Result};

/// Time between two calls of the callback, in microseconds.
const TELL_EVERY_US: u64 = 50_000;

/// Fractions of the total time for reading and for one direction, as measured for text.
const READ_SHARE: f64 = 0.5;
const DIRECTION_SHARE: f64 = 0.24;

/// The current step of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Reading the input.
    Read,
    /// Writing edges by source.
    Forward,
    /// Writing edges by target.
    Reverse,
    /// Making the edges visible.
    Commit,
}

/// Progress of an import.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportProgress {
    /// The current step.
    pub phase: Phase,
    /// Bytes of input read.
    pub bytes_read: u64,
    /// Size of the input in bytes, if it is known.
    pub bytes_total: Option<u64>,
    /// Rows read.
    pub rows: u64,
    /// Estimated fraction of the total work that is done, from 0 to 1.
    pub fraction: f64,
    /// Seconds since it began.
    pub seconds: f64,
}

/// Called with the progress at the start of every phase and several times a second, on the thread
/// that called the import. Returning `false` cancels the import.
pub type ProgressFn<'a> = &'a (dyn Fn(&ImportProgress) -> bool + Send + Sync);

/// Counters that jobs add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) bytes_read: AtomicU64,
    pub(super) rows_read: AtomicU64,
    /// Rows sorted in the current direction.
    pub(super) rows_sorted: AtomicU64,
    /// Records read, and records that the heads of files promise, where they do.
    pub(super) records: AtomicU64,
    pub(super) records_promised: AtomicU64,
    /// Whether a file was a table of vertices, without edges.
    pub(super) only_vertices: AtomicBool,
    /// The detected properties of the first file, and notes about all files.
    pub(super) detected: Mutex<Vec<(&'static str, String)>>,
    pub(super) notes: Mutex<Vec<String>>,
    stop: AtomicBool,
}

impl Counters {
    /// # Errors
    /// [`ErrorKind::Cancelled`] after the callback has returned `false`.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the import was cancelled"));
        }
        Ok(())
    }

    /// Notes the detected properties of a file.
    pub(super) fn detected(&self, found: &[(&'static str, String)]) {
        let notes = found.iter().filter(|(key, _)| *key == "note").map(|(_, said)| said);
        let mut all = self.notes.lock();
        for note in notes {
            if !all.contains(note) {
                all.push(note.clone());
            }
        }
        drop(all);
        let mut first = self.detected.lock();
        let is_of_vertices = first.iter().any(|(_, said)| said == "table of vertices");
        if first.is_empty() || is_of_vertices {
            first.clear();
            first.extend(found.iter().filter(|(key, _)| *key != "note").cloned());
        }
    }

    pub(super) fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

/// Reports one import from the thread that called it.
pub(super) struct Reporter<'a> {
    env: Arc<dyn Env>,
    tell: ProgressFn<'a>,
    pub(super) counters: Arc<Counters>,
    pub(super) bytes_total: Option<u64>,
    began_us: u64,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(env: &Arc<dyn Env>, tell: ProgressFn<'a>) -> Self {
        let began_us = env.monotonic_us();
        Self { env: Arc::clone(env), tell, counters: Arc::default(), bytes_total: None, began_us }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.env.monotonic_us().saturating_sub(self.began_us) as f64 / 1e6
    }

    /// Calls the callback.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] if it returns `false`.
    pub(super) fn tell(&self, phase: Phase) -> Result<()> {
        let progress = self.progress(phase);
        if !(self.tell)(&progress) {
            self.counters.stop.store(true, Ordering::Relaxed);
        }
        self.counters.check()
    }

    fn progress(&self, phase: Phase) -> ImportProgress {
        let bytes_read = self.counters.bytes_read.load(Ordering::Relaxed);
        let rows = self.counters.rows_read.load(Ordering::Relaxed);
        let sorted = self.counters.rows_sorted.load(Ordering::Relaxed);
        let part = |done: u64, all: u64| (done as f64 / all.max(1) as f64).min(1.0);
        let fraction = match phase {
            Phase::Read => READ_SHARE * self.bytes_total.map_or(0.0, |all| part(bytes_read, all)),
            Phase::Forward => READ_SHARE + DIRECTION_SHARE * part(sorted, rows),
            Phase::Reverse => READ_SHARE + DIRECTION_SHARE * (1.0 + part(sorted, rows)),
            Phase::Commit => READ_SHARE + 2.0 * DIRECTION_SHARE,
        };
        let (bytes_total, seconds) = (self.bytes_total, self.seconds());
        ImportProgress { phase, bytes_read, bytes_total, rows, fraction, seconds }
    }

    /// Runs `work` in a job, calls the callback in the meantime, and returns the result of the
    /// work. If the callback cancels, the work notices through [`Counters::check`].
    pub(super) fn run<R, F>(&self, phase: Phase, work: F) -> Result<R>
    where
        R: Send + 'static,
        F: FnOnce(&Arc<dyn Env>) -> Result<R> + Send + 'static,
    {
        self.counters.rows_sorted.store(0, Ordering::Relaxed);
        self.tell(phase)?;
        self.env.check_process().map_err(io)?;
        let slot = Arc::new(Mutex::new(None));
        let signal = self.env.signal();
        let (env, result, done) = (Arc::clone(&self.env), Arc::clone(&slot), Arc::clone(&signal));
        let job = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&env)));
            // Dropped before the result is set, so that the caller may drop the last handle.
            drop(env);
            *result.lock() = Some(outcome);
            done.notify();
        };
        self.env.spawn(JobKind::Foreground, Box::new(job));
        loop {
            let mut ready = || slot.lock().is_some();
            if signal.wait_until_timeout(TELL_EVERY_US, &mut ready) {
                break;
            }
            // Cancelling sets the flag that the work checks; its error comes back as the result.
            let _ = self.tell(phase);
            // A callback may have forked and returned in the child, where the job does not exist.
            self.env.check_process().map_err(io)?;
        }
        let outcome = slot.lock().take();
        match outcome {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => unreachable!("the wait ended because there is an outcome"),
        }
    }
}
