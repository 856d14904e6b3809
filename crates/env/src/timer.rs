//! Delayed jobs, run by one thread that starts when it is first needed.
//!
//! # Why not a job that sleeps
//! It would occupy a worker that flushes and compactions need. Closing a database waits for all
//! jobs, so it would wait for the sleep too.

use crate::environment::Job;
use crate::jobs::locked;
use crate::owner::Owner;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Runs jobs after a delay. Dropping it drops jobs that are not due yet.
#[derive(Debug)]
pub(crate) struct Timer {
    owner: Owner,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Ordered by due time, then by arrival.
    jobs: BTreeMap<(Instant, u64), Job>,
    count: u64,
    stopping: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("waiting", &self.jobs.len()).finish_non_exhaustive()
    }
}

impl Default for Timer {
    fn default() -> Self {
        Self { owner: Owner::here(), shared: Arc::default(), thread: Mutex::default() }
    }
}

impl Timer {
    /// Runs `job` after `delay_us` microseconds or a little later.
    pub(crate) fn after(&self, delay_us: u64, job: Job) {
        if !self.owner.is_here() {
            std::mem::forget(job);
            return;
        }
        let mut state = locked(&self.shared.state);
        let at = Instant::now() + Duration::from_micros(delay_us);
        state.count += 1;
        let number = state.count;
        state.jobs.insert((at, number), job);
        drop(state);
        self.shared.changed.notify_one();
        let mut thread = locked(&self.thread);
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let started =
                thread::Builder::new().name("quipu-timer".to_owned()).spawn(move || shared.run());
            // As for a worker of the pool: without threads a database cannot go on.
            *thread = Some(started.expect("the system starts a thread"));
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut state = locked(&self.state);
        while !state.stopping {
            let now = Instant::now();
            let due = state.jobs.first_key_value().map(|((at, _), _)| *at);
            state = match due {
                Some(at) if at <= now => {
                    let job = state.jobs.pop_first();
                    drop(state);
                    // A panic ends only the job, as in the pool.
                    let run = || job.into_iter().for_each(|(_, job)| job());
                    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
                    locked(&self.state)
                }
                Some(at) => {
                    let waited = self.changed.wait_timeout(state, at - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if !self.owner.is_here() {
            // As for the threads of the pool.
            std::mem::forget(std::mem::take(&mut self.thread));
            std::mem::forget(Arc::clone(&self.shared));
            return;
        }
        locked(&self.shared.state).stopping = true;
        self.shared.changed.notify_one();
        let Some(handle) = locked(&self.thread).take() else { return };
        // A job may hold the last handle of the environment: its own thread is not joined.
        if handle.thread().id() != thread::current().id() {
            let _ = handle.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn every_job_runs_once_whatever_its_delay() {
        let timer = Timer::default();
        let (tell, told) = mpsc::channel();
        for (delay_us, name) in [(6_000, "late"), (0, "now"), (2_000, "soon")] {
            let tell = tell.clone();
            timer.after(delay_us, Box::new(move || tell.send(name).unwrap()));
        }
        drop(tell);
        let mut ran: Vec<_> = told.iter().collect();
        ran.sort_unstable();
        assert_eq!(ran, ["late", "now", "soon"]);
    }

    #[test]
    fn what_is_not_due_is_forgotten_with_the_timer() {
        let timer = Timer::default();
        let (tell, told) = mpsc::channel::<()>();
        timer.after(u64::from(u32::MAX), Box::new(move || tell.send(()).unwrap()));
        drop(timer);
        assert!(told.recv().is_err());
    }

    #[test]
    fn a_job_that_panics_does_not_stop_the_next() {
        let timer = Timer::default();
        let (tell, told) = mpsc::channel();
        timer.after(0, Box::new(|| panic!("on purpose")));
        timer.after(0, Box::new(move || tell.send(()).unwrap()));
        told.recv().unwrap();
    }
}
