//! Sees to it that what waits is written in time.

use crate::owner::check_process;
use env::JobKind;
use env::sync::atomic::{AtomicBool, Ordering};
use env::{Env, Owner};
use std::sync::{Arc, Weak};
use store::Result;

/// How long an increment may wait, in microseconds: with what a busy machine adds, it is written
/// within a second.
const WAIT_US: u64 = 700_000;

/// A view in which increments wait.
pub(crate) trait Waits: Send + Sync {
    /// Keys that wait.
    fn rows_waiting(&self) -> u64;

    /// Lets nothing more come to wait.
    fn close_buffer(&self);

    /// Writes what waits, and what came in until now in any case.
    fn write_all(&self) -> Result<()>;

    /// Set once nothing may wait any more: the database is closed, or the view is dropped.
    fn ended(&self) -> &AtomicBool;

    /// Its job.
    fn schedule(&self) -> &Schedule;

    /// Whether it is dropped, or its database is closed.
    fn is_ended(&self) -> bool {
        self.ended().load(Ordering::Acquire)
    }

    /// Lets nothing wait any more.
    fn end(&self) {
        self.ended().store(true, Ordering::Release);
    }

    /// To be asked before what waits is looked at.
    ///
    /// # Errors
    /// [`store::ErrorKind::Forked`] in a process that inherited it by `fork`: what waits is the parent's to write.
    #[inline]
    fn check_process(&self) -> Result<()> {
        check_process(self.schedule().owner)
    }

    /// Writes what waits.
    fn write_waiting(&self) -> Result<()> {
        self.check_process()?;
        if self.rows_waiting() == 0 {
            return Ok(());
        }
        self.write_all()
    }

    /// Lets nothing wait any more and writes what does: for a database that is closed.
    fn close(&self) -> Result<()> {
        self.check_process()?;
        self.close_buffer();
        // Without a look at how many rows there are: that tells nothing of one that comes in right
        // now.
        let result = self.write_all();
        self.end();
        result
    }
}

/// At most one job is on its way that writes what waits.
pub(crate) struct Schedule {
    owner: Owner,
    env: Arc<dyn Env>,
    view: Weak<dyn Waits>,
    scheduled: AtomicBool,
}

impl Schedule {
    pub(crate) fn new(env: Arc<dyn Env>, view: Weak<dyn Waits>) -> Self {
        Self { owner: Owner::here(), env, view, scheduled: AtomicBool::new(false) }
    }

    /// What waits is written soon.
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
                // A failure poisons the store, and the next call of anybody says so; what a
                // function of the caller's refused waits on, and whoever reads it is told.
                let _ = view.write_waiting();
            };
            env.spawn(JobKind::Foreground, Box::new(job));
        };
        self.env.spawn_after(WAIT_US, Box::new(job));
    }
}
