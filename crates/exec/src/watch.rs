//! When a query has to stop: its deadline, its cancellation, its memory.

use crate::error::{Error, Result};
use env::Env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Asked by every operator, at least once a batch.
pub(crate) struct Watch {
    env: Arc<dyn Env>,
    cancelled: Arc<AtomicBool>,
    deadline_us: AtomicU64,
    memory_bytes_max: u64,
}

impl Watch {
    /// A watch that cancels when the flag is set, or when more than so many bytes are held.
    pub(crate) fn new(
        env: Arc<dyn Env>,
        cancelled: Arc<AtomicBool>,
        memory_bytes_max: u64,
    ) -> Self {
        Self { env, cancelled, deadline_us: AtomicU64::new(u64::MAX), memory_bytes_max }
    }

    /// Sets the deadline, `seconds` from now; 0 is none.
    pub(crate) fn set_timeout(&self, seconds: f64) {
        let deadline = match seconds > 0.0 {
            true => self.env.monotonic_us().saturating_add((seconds * 1e6) as u64),
            false => u64::MAX,
        };
        self.deadline_us.store(deadline, Relaxed);
    }

    /// # Errors
    /// [`Error::Stopped`] once the query has to stop; [`Error::Limit`] where it holds more than it may.
    pub(crate) fn check(&self, held_bytes: u64) -> Result<()> {
        if self.cancelled.load(Relaxed) {
            return Err(Error::Stopped("the query was killed".to_owned()));
        }
        let deadline = self.deadline_us.load(Relaxed);
        if deadline != u64::MAX && self.env.monotonic_us() >= deadline {
            return Err(Error::Stopped("the query ran into its timeout".to_owned()));
        }
        if held_bytes > self.memory_bytes_max {
            return Err(Error::Limit(format!(
                "the query holds {held_bytes} bytes, more than its limit of {}",
                self.memory_bytes_max
            )));
        }
        Ok(())
    }

    /// Whether the flag is set or the deadline is over.
    pub(crate) fn is_over(&self) -> bool {
        self.check(0).is_err()
    }

    /// The machine.
    pub(crate) fn env(&self) -> &Arc<dyn Env> {
        &self.env
    }
}

impl algo::Watch for Watch {
    fn go_on(&self) -> bool {
        !self.is_over()
    }
}

/// Waits so many microseconds.
pub(crate) fn wait(env: &dyn Env, us: u64) {
    env.signal().wait_until_timeout(us, &mut || false);
}
