//! The limits of one call: threads, time and memory.

use algo::{Limits, Workers};
use env::Env;
use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use store::{Error, ErrorKind, Result};

/// Called regularly, also by worker threads; the call stops when it returns false.
pub type GoOn<'r> = &'r (dyn Fn() -> bool + Send + Sync);

/// Called with the edges read so far and their number.
pub type Progress<'r> = &'r (dyn Fn(u64, u64) + Send + Sync);

/// Threads and limits of one call.
#[derive(Clone, Copy)]
pub struct Run<'r> {
    env: &'r dyn Env,
    threads: usize,
    go_on: Option<GoOn<'r>>,
    progress: Option<Progress<'r>>,
    bytes_max: u64,
}

impl<'r> Run<'r> {
    /// A call with all threads of the environment, whose results take at most `bytes_max`.
    #[must_use]
    pub fn new(env: &'r dyn Env, bytes_max: u64) -> Self {
        let threads = if env.has_threads() { env.parallelism().max(1) } else { 1 };
        Self { env, threads, go_on: None, progress: None, bytes_max }
    }

    /// Also stops when `go_on` returns false.
    #[must_use]
    pub fn with_go_on(self, go_on: Option<GoOn<'r>>) -> Self {
        Self { go_on, ..self }
    }

    /// Reports how far a projection has come.
    #[must_use]
    pub fn with_progress(self, progress: Option<Progress<'r>>) -> Self {
        Self { progress, ..self }
    }

    /// Uses at most `threads` threads; 0 leaves the number as it is.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        match threads {
            0 => self,
            _ => Self { threads: threads.min(self.threads), ..self },
        }
    }

    /// # Errors
    /// [`ErrorKind::Cancelled`] if the caller stops the call.
    pub(crate) fn check(&self) -> Result<()> {
        if self.go_on() { Ok(()) } else { Err(stopped()) }
    }

    pub(crate) fn report(&self, done: u64, total: u64) {
        if let Some(progress) = self.progress {
            progress(done, total);
        }
    }
}

/// The error of a call that the caller stopped.
pub(crate) fn stopped() -> Error {
    Error::new(ErrorKind::Cancelled, "the call was stopped")
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl Limits for Run<'_> {
    fn go_on(&self) -> bool {
        self.go_on.is_none_or(|go_on| go_on())
    }

    fn may_hold(&self, bytes: u64) -> bool {
        bytes <= self.bytes_max
    }
}

impl Workers for Run<'_> {
    fn threads(&self) -> usize {
        self.threads
    }

    fn each(&self, parts: usize, part: &(dyn Fn(usize) + Sync)) {
        let threads = self.threads.min(parts);
        if threads < 2 {
            return (0..parts).for_each(part);
        }
        // Parts differ in work, so a thread takes the next one when it is ready.
        let next = AtomicUsize::new(0);
        env::scoped(self.env, vec![(); threads], |()| {
            loop {
                let i = next.fetch_add(1, Relaxed);
                if i >= parts {
                    return;
                }
                part(i);
            }
        });
    }
}
