//! [`Sim`], a simulated machine as tests use it.

use crate::env::SimEnv;
use crate::faults::{Crash, Fault, FaultCounts, FaultPlan};
use crate::machine::{Shared, State};
use crate::scheduler::{self, Failure, NewTask};
use crate::settings::Settings;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// A simulated machine that is switched on.
pub struct Sim {
    shared: Arc<Shared>,
    env: Arc<SimEnv>,
    new: RefCell<Vec<NewTask>>,
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("shared", &self.shared).finish_non_exhaustive()
    }
}

impl Sim {
    /// A machine with an empty disk and one process.
    #[must_use]
    pub fn new(seed: u64, settings: Settings) -> Self {
        Self::of(State::new(seed, settings))
    }

    fn of(mut state: State) -> Self {
        let process = state.add_process();
        let shared = Shared::new(state);
        let env = Arc::new(SimEnv::new(Arc::clone(&shared), process));
        Self { shared, env, new: RefCell::default() }
    }

    /// The environment of process 0.
    ///
    /// Its operations also work outside of [`Sim::spawn`], unless they would have to wait.
    #[must_use]
    pub fn env(&self) -> Arc<SimEnv> {
        Arc::clone(&self.env)
    }

    /// Adds another process on the same disk. It sees the bytes that the first has written, has
    /// jobs and locks of its own, and continues when the first is killed.
    #[must_use]
    pub fn second_process(&self) -> Arc<SimEnv> {
        let process = self.shared.lock().add_process();
        Arc::new(SimEnv::new(Arc::clone(&self.shared), process))
    }

    /// Adds a task for [`Sim::run`]. Its name is for messages.
    pub fn spawn(&self, name: &'static str, task: impl FnOnce() + 'static) {
        self.new.borrow_mut().push((name, Box::new(task)));
    }

    /// Runs all tasks and jobs to their end. Tasks may spawn others.
    ///
    /// # Errors
    /// The first panic of a task, a deadlock, or an endless run. Unfinished tasks never run again,
    /// and what they hold is leaked.
    ///
    /// # Panics
    /// When called from a task.
    pub fn run(&self) -> Result<(), Failure> {
        scheduler::run(&self.shared, &self.new)
    }

    /// Ends the process or the machine: every later operation fails, and the tasks end by their
    /// errors. [`Sim::restart`] decides what the disk loses.
    pub fn crash(&self, kind: Crash) {
        self.shared.lock().crash(kind);
    }

    /// As [`Sim::crash`], at the operation with this number ([`Sim::operations`] counts from 1),
    /// before it or after it.
    pub fn crash_at_operation(&self, operation: u64, kind: Crash) {
        self.shared.lock().crash_at = Some((operation, kind));
    }

    /// Causes one fault, at the first operation from this number on that it can happen to.
    pub fn fault_at_operation(&self, operation: u64, fault: Fault) {
        self.shared.lock().exact.push((operation, fault));
    }

    /// Replaces the fault plan from now on.
    pub fn set_faults(&self, faults: FaultPlan) {
        self.shared.lock().settings.faults = faults;
    }

    /// Changes the size of the disk, in bytes, from now on.
    pub fn set_disk_bytes(&self, bytes: u64) {
        self.shared.lock().settings.disk_bytes = bytes;
    }

    /// The crash that has happened, if any.
    #[must_use]
    pub fn crashed(&self) -> Option<Crash> {
        self.shared.lock().crashed
    }

    /// Starts a new process on what the disk kept: all written bytes after a kill; after a power
    /// cut all synced bytes and a random part of the rest. Counts, clock, trace and seed continue.
    ///
    /// Environments and files of the old machine fail from now on.
    #[must_use]
    pub fn restart(self) -> Self {
        let mut state = self.shared.lock();
        let restarted = state.restarted();
        state.processes.iter_mut().for_each(|process| process.dead = true);
        let jobs = state.tasks.take_jobs();
        drop(state);
        // Dropped after the lock is released: jobs own handles, and closing those takes it.
        drop(jobs);
        Self::of(restarted)
    }

    /// Number of operations so far, of all processes and across restarts. Those of a dead process
    /// do not count.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.shared.lock().operations
    }

    /// How often each fault has happened.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.shared.lock().counts
    }

    /// Hash of every operation, with its arguments, and every choice so far. Two runs with the same
    /// hash have done the same.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.lock().hash
    }

    /// Keeps the last `lines_max` operations as text from now on, one per line.
    pub fn keep_trace(&self, lines_max: usize) {
        self.shared.lock().log = (lines_max > 0).then(|| (lines_max, VecDeque::new()));
    }

    /// The operations kept by [`Sim::keep_trace`], oldest first.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.shared.lock().log.iter().flat_map(|(_, log)| log.iter().cloned()).collect()
    }

    /// Every file with its path and bytes, as processes see it now.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.shared.lock().disk.all_files()
    }
}
