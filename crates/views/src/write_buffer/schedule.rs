//! Writes the buffer of a view in the background, within a second of an increment. Counters and
//! combined values implement [`Buffered`] and call [`Schedule::soon`] at each increment.
//!
//! # Invariants
//! 1. At most one job of a view is scheduled.
//! 2. A child of a `fork` never writes the buffer: the parent does.

use crate::owner::check_process;
use env::JobKind;
use env::sync::atomic::{AtomicBool, Ordering};
use env::{Env, Owner};
use std::sync::{Arc, Weak};
use store::Result;

/// Delay between an increment and the job that writes the buffer, in microseconds. Some delay on a
/// busy machine included, increments are written within a second.
const WAIT_US: u64 = 700_000;

/// A view with a write buffer.
pub(crate) trait Buffered: Send + Sync {
    /// Number of buffered keys.
    fn rows_buffered(&self) -> u64;

    /// Makes the buffer refuse further increments.
    fn close_buffer(&self);

    /// Writes all increments that are in the buffer at the call, and maybe later ones.
    fn write_all(&self) -> Result<()>;

    /// Set when nothing may be buffered any more: the database is closed, or the view is dropped.
    fn ended(&self) -> &AtomicBool;

    /// The background job of the view.
    fn schedule(&self) -> &Schedule;

    /// Whether the view is dropped, or its database closed.
    fn is_ended(&self) -> bool {
        self.ended().load(Ordering::Acquire)
    }

    /// Marks the view as dropped or closed.
    fn end(&self) {
        self.ended().store(true, Ordering::Release);
    }

    /// Call it before you access the buffer.
    ///
    /// # Errors
    /// [`store::ErrorKind::Forked`] in a child of a `fork`: the parent writes the buffer.
    #[inline]
    fn check_process(&self) -> Result<()> {
        check_process(self.schedule().owner)
    }

    /// Writes the buffer, if it is not empty.
    fn flush_buffer(&self) -> Result<()> {
        self.check_process()?;
        if self.rows_buffered() == 0 {
            return Ok(());
        }
        self.write_all()
    }

    /// Refuses further increments and writes the buffer, when a database is closed.
    fn close(&self) -> Result<()> {
        self.check_process()?;
        self.close_buffer();
        // Without a check of the number of rows: another thread may be adding one right now.
        let result = self.write_all();
        self.end();
        result
    }
}

/// Schedules at most one job at a time that writes the buffer.
pub(crate) struct Schedule {
    owner: Owner,
    env: Arc<dyn Env>,
    view: Weak<dyn Buffered>,
    scheduled: AtomicBool,
}

impl Schedule {
    pub(crate) fn new(env: Arc<dyn Env>, view: Weak<dyn Buffered>) -> Self {
        Self { owner: Owner::here(), env, view, scheduled: AtomicBool::new(false) }
    }

    /// Schedules a write of the buffer, unless one is scheduled.
    pub(crate) fn soon(&self) {
        if self.scheduled.load(Ordering::Relaxed) || self.scheduled.swap(true, Ordering::AcqRel) {
            return;
        }
        let view = self.view.clone();
        let job = move || {
            let Some(view) = view.upgrade() else { return };
            let env = Arc::clone(&view.schedule().env);
            let job = move || {
                view.schedule().scheduled.store(false, Ordering::Release);
                // A failed write poisons the store, and the next call reports it. An increment that
                // a user-defined function refused stays in the buffer, and its readers get the
                // error.
                let _ = view.flush_buffer();
            };
            env.spawn(JobKind::Foreground, Box::new(job));
        };
        self.env.spawn_after(WAIT_US, Box::new(job));
    }
}
