//! The limits of a query: its deadline, its cancellation, its memory limit, and the files that it
//! may read.

use crate::error::{Error, Result};
use crate::files::Files;
use env::Env;
use function::Stop;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Called regularly; the script stops when it returns false.
pub type GoOn<'r> = &'r (dyn Fn() -> bool + Send + Sync);

/// Checks whether to continue; called once in [`base::STEPS`] steps.
pub type Check<'c> = &'c dyn Fn() -> Result<()>;

/// The limits of a query. Whatever processes rows checks them every few hundred rows, and at the
/// end of each batch.
pub struct QueryLimits<'w> {
    env: Arc<dyn Env>,
    cancelled: Arc<AtomicBool>,
    go_on: Option<GoOn<'w>>,
    deadline_us: AtomicU64,
    /// The caller's deadline, which scripts cannot move.
    last_us: u64,
    memory_bytes_max: u64,
    /// Bytes that the query held at the last check, without those of its interner.
    held_bytes: AtomicU64,
    /// Bytes of its interner at the last check.
    interned_bytes: AtomicU64,
    is_non_blocking: bool,
    /// Files that the caller allows, in addition to the database's own rule.
    files: Option<&'w Files>,
    /// See [`QueryLimits::moment_us`].
    moment_us: OnceLock<i64>,
    /// Number of parts that have begun and not ended.
    parts: AtomicU32,
}

/// The deadline that was in force before a part began.
#[derive(Clone, Copy)]
pub struct Earlier {
    deadline_us: u64,
    /// When the part began.
    at_us: u64,
    /// Whether the part is within another part.
    is_inner: bool,
}

impl<'w> QueryLimits<'w> {
    /// Limits that stop the query when the flag is set, or when it holds more than
    /// `memory_bytes_max` bytes.
    pub fn new(env: Arc<dyn Env>, cancelled: Arc<AtomicBool>, memory_bytes_max: u64) -> Self {
        let deadline_us = AtomicU64::new(u64::MAX);
        let last_us = u64::MAX;
        Self {
            env,
            cancelled,
            go_on: None,
            deadline_us,
            last_us,
            memory_bytes_max,
            held_bytes: AtomicU64::new(0),
            interned_bytes: AtomicU64::new(0),
            is_non_blocking: false,
            files: None,
            moment_us: OnceLock::new(),
            parts: AtomicU32::new(0),
        }
    }

    /// Also stops when `go_on` returns false, and after the caller's timeout, whatever the script
    /// sets.
    #[must_use]
    pub fn with_caller(mut self, go_on: Option<GoOn<'w>>, timeout_s: Option<f64>) -> Self {
        self.go_on = go_on;
        self.last_us = timeout_s.map_or(u64::MAX, |seconds| self.deadline(seconds));
        self
    }

    /// The same limits for another attempt; no deadline moves.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            env: Arc::clone(&self.env),
            cancelled: Arc::clone(&self.cancelled),
            go_on: self.go_on,
            deadline_us: AtomicU64::new(self.deadline_us.load(Relaxed)),
            last_us: self.last_us,
            memory_bytes_max: self.memory_bytes_max,
            held_bytes: AtomicU64::new(0),
            interned_bytes: AtomicU64::new(0),
            is_non_blocking: self.is_non_blocking,
            files: self.files,
            moment_us: OnceLock::new(),
            parts: AtomicU32::new(0),
        }
    }

    /// Sets whether the query must not block.
    #[must_use]
    pub fn non_blocking(self, is_non_blocking: bool) -> Self {
        Self { is_non_blocking, ..self }
    }

    /// Restricts the files that the query may read.
    #[must_use]
    pub fn with_files(self, files: Option<&'w Files>) -> Self {
        Self { files, ..self }
    }

    /// The files that the caller allows; `None` leaves it to the database's rule.
    pub(crate) fn files(&self) -> Option<&'w Files> {
        self.files
    }

    /// Called before work that may take longer than some microseconds.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] if the query must not block.
    pub fn check_may_block(&self) -> Result<()> {
        if self.is_non_blocking { Err(Error::WouldBlock) } else { Ok(()) }
    }

    /// Whether the query must not block.
    pub fn is_non_blocking(&self) -> bool {
        self.is_non_blocking
    }

    /// Sets the deadline to `seconds` from now; 0 removes it.
    pub fn set_timeout(&self, seconds: f64) {
        self.deadline_us.store(self.deadline(seconds).min(self.last_us), Relaxed);
    }

    /// Sets the deadline of a part, which [`QueryLimits::end_part`] ends. The deadline of a nested
    /// part is never later than that of the outer one.
    pub fn begin_part(&self, seconds: f64) -> Earlier {
        let deadline_us = self.deadline_us.load(Relaxed);
        let is_inner = self.parts.fetch_add(1, Relaxed) > 0;
        match is_inner {
            true => self.deadline_us.store(self.deadline(seconds).min(deadline_us), Relaxed),
            false => self.set_timeout(seconds),
        }
        Earlier { deadline_us, at_us: self.now_us(), is_inner }
    }

    /// Restores the deadline from before the part. The time of a part with its own deadline does
    /// not count for the others.
    pub fn end_part(&self, earlier: Earlier) {
        let Earlier { deadline_us, at_us, is_inner } = earlier;
        let took_us = if is_inner { 0 } else { self.now_us().saturating_sub(at_us) };
        self.deadline_us.store(deadline_us.saturating_add(took_us).min(self.last_us), Relaxed);
        self.parts.fetch_sub(1, Relaxed);
    }

    /// Moves the deadline by the time that the consumer took.
    pub(crate) fn postpone(&self, us: u64) {
        let later = |at: u64| (at != u64::MAX).then(|| at.saturating_add(us));
        // Without a deadline nothing is moved.
        let _ = self.deadline_us.fetch_update(Relaxed, Relaxed, later);
    }

    fn deadline(&self, seconds: f64) -> u64 {
        match seconds > 0.0 {
            true => self.env.monotonic_us().saturating_add((seconds * 1e6) as u64),
            false => u64::MAX,
        }
    }

    /// Checks all limits, with `held_bytes` held.
    ///
    /// # Errors
    /// [`Error::Stopped`] once the query has to stop; [`Error::Limit`] if it holds too much memory.
    pub fn check(&self, held_bytes: u64) -> Result<()> {
        if self.cancelled.load(Relaxed) {
            return Err(Error::Stopped(Stop::Killed));
        }
        if self.go_on.is_some_and(|go_on| !go_on()) {
            return Err(Error::Stopped(Stop::Interrupted));
        }
        let deadline = self.deadline_us.load(Relaxed);
        if deadline != u64::MAX && self.env.monotonic_us() >= deadline {
            return Err(Error::Stopped(Stop::TimedOut));
        }
        if held_bytes > self.memory_bytes_max {
            return Err(Error::Limit(format!(
                "the query holds {held_bytes} bytes, more than its limit of {}",
                self.memory_bytes_max
            )));
        }
        Ok(())
    }

    /// Records the bytes that the query holds, without its interner and in it, for later requests.
    pub(crate) fn note_held(&self, bytes: u64, interned_bytes: u64) {
        self.held_bytes.store(bytes, Relaxed);
        self.interned_bytes.store(interned_bytes, Relaxed);
    }

    /// Requests memory before it is taken. `bytes` are in addition to the recorded ones, and
    /// include the interner's.
    ///
    /// # Errors
    /// As [`QueryLimits::check`].
    pub fn ask(&self, bytes: u64) -> Result<()> {
        self.check(self.held_bytes.load(Relaxed).saturating_add(bytes))
    }

    /// Whether a limit is exceeded.
    pub fn is_over(&self) -> bool {
        self.check(0).is_err()
    }

    /// The time of the query, in microseconds since 1970-01-01 UTC: that of the first call, and the
    /// same for all later ones.
    pub fn moment_us(&self) -> i64 {
        let now = || i64::try_from(self.env.wall_us()).unwrap_or(i64::MAX);
        *self.moment_us.get_or_init(now)
    }

    /// A monotonic clock, in microseconds.
    pub(crate) fn now_us(&self) -> u64 {
        self.env.monotonic_us()
    }

    /// Most bytes that the query may hold.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory_bytes_max
    }

    /// The flag that kills the query.
    pub fn cancelled(&self) -> &Arc<AtomicBool> {
        &self.cancelled
    }

    /// The environment.
    pub fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }
}

impl algo::Limits for QueryLimits<'_> {
    fn go_on(&self) -> bool {
        !self.is_over()
    }

    fn may_hold(&self, bytes: u64) -> bool {
        self.ask(self.interned_bytes.load(Relaxed).saturating_add(bytes)).is_ok()
    }
}

/// Waits for some microseconds.
pub fn wait(env: &dyn Env, us: u64) {
    env.signal().wait_until_timeout(us, &mut || false);
}
