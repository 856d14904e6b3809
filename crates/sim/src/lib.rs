//! A simulated machine: one seed decides every interleaving, fault and crash.
//!
//! # The fault budget
//! The promises of the engine on this machine. A commit is *acknowledged* when its call has
//! returned. It is *lost* if the next opening does not show it. Without `sync`, a crash may leave
//! only the first commits, at least all up to the last flush. The text below calls this *a prefix*.
//!
//! - **The process is killed**, at any operation: under `sync` and `os` nothing acknowledged is
//!   lost; `none` leaves a prefix.
//! - **The power is cut**, at any operation. Any unsynced 512-byte sectors survive, and any
//!   unsynced changes of names that could have happened: under `sync` nothing acknowledged is lost;
//!   `os` and `none` leave a prefix.
//! - **A write, creation, rename or removal fails, or the disk is full**: the call returns an
//!   error, and the database is poisoned where it must be. Reopening finds what it finds after a
//!   kill.
//! - **A sync fails**. Any part of its bytes never reaches the disk, and reads may show them until
//!   the power is cut: under `sync` nothing acknowledged is lost, however often the database is
//!   opened before the power cut; `os` and `none` leave a prefix.
//! - **A read fails or is short**: that call returns an error, without further effects.
//! - **An operation is slow**: no effect.
//!
//! A keyspace that is created without `sync` is as durable as a commit: a power cut or a failed
//! sync may lose it, together with every commit that wrote to it. A flush makes it durable.
//!
//! In each case a commit is visible completely or not at all. The two directions of a graph agree,
//! and so do rows and pieces of blobs. Under `none`, counters are counted when they are written: an
//! increment in the write buffer is not a commit yet.
//!
//! *Detected*, not survived: a flipped bit, a misdirected write, a sector that kept its old content
//! although it was synced. An answer is right, or it is `CorruptionError`; it never has a wrong
//! row. The exception is the end of the log: damage in the last records looks like a torn end,
//! which recovery cuts off as after a power cut. Acknowledged commits may then be missing from the
//! end; the others are a prefix.
//!
//! *Outside of the budget*: one or all files replaced by an older version that is sound in itself;
//! damage with a matching checksum; a kernel that answers a sync before it is done.
//!
//! Torn sectors of unsynced bytes ([`Settings::torn_ppm`]) are survived, too, though disks write
//! sectors atomically: a quarter of the runs has them.
//!
//! *Backups*: an acknowledged backup restores to the state of its snapshot, whatever happens to the
//! database. An unacknowledged one is refused, or is whole. An interrupted restore leaves the old
//! state or the new database.
//!
//! # How it works
//! All tasks run on one thread as coroutines. At every operation of the environment, and at every
//! lock that is taken, the seed decides which task runs next. Clock, randomness, jobs and disk are
//! simulated. [`Sim`] is the machine, [`SimEnv`] the environment of one of its processes.
//!
//! ```
//! use env::Env;
//! use quipu_sim::{Crash, Settings, Sim};
//! use std::path::Path;
//!
//! let machine = Sim::new(7, Settings::default());
//! let env = machine.env();
//! machine.spawn("writer", move || {
//!     let mut file = env.create(Path::new("/a")).unwrap();
//!     file.append(b"synced").unwrap();
//!     file.sync().unwrap();
//!     env.sync_folder(Path::new("/")).unwrap();
//!     file.append(b", not synced").unwrap();
//! });
//! machine.run().unwrap();
//! machine.crash(Crash::Power);
//! let machine = machine.restart();
//! let bytes = machine.env().read_file(Path::new("/a")).unwrap();
//! assert!(bytes.starts_with(b"synced"));
//! ```

mod disk;
mod disk_file;
mod disk_power;
mod env;
pub mod faults;
mod machine;
mod random;
mod scheduler;
pub mod workload;

pub use env::SimEnv;
pub use faults::{Crash, Fault, FaultCounts, FaultPlan};
pub use random::{MILLION, Random};
pub use scheduler::Failure;

use machine::{Shared, State};
use scheduler::NewTask;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Which unsynced changes of names can survive a power cut without earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameOrder {
    /// One journal for the whole disk: a prefix of all changes survives.
    Journal,
    /// One journal for each folder.
    Folder,
    /// Each name by itself: only changes of the same name stay in order.
    #[default]
    Name,
}

/// Properties of the machine. Plain data: the same settings and seed give the same run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of jobs that run in parallel, besides one flush; at least 1.
    pub parallelism: usize,
    /// Chance, in a million, that a scheduling point switches to another task that can run.
    pub switch_ppm: u32,
    /// Chances of the faults.
    pub faults: FaultPlan,
    /// Size of the disk, in bytes.
    pub disk_bytes: u64,
    /// Bytes that an appended file buffers; a killed process loses them.
    pub append_buffer_bytes: usize,
    /// Which unsynced changes of names can survive without earlier ones.
    pub name_order: NameOrder,
    /// Chance, in a million, that an unsynced sector that survives a power cut is torn. Real disks
    /// promise 0, and the engine does not rely on it.
    pub torn_ppm: u32,
    /// Steps after which a run counts as endless; the count starts over at each restart.
    pub steps_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            parallelism: 3,
            switch_ppm: 100_000,
            faults: FaultPlan::none(),
            disk_bytes: 1 << 40,
            append_buffer_bytes: 4096,
            name_order: NameOrder::default(),
            torn_ppm: 0,
            steps_max: 50_000_000,
        }
    }
}

impl Settings {
    /// Random settings: one to four workers, switches from rare to one at each operation. Faults as
    /// [`FaultPlan::swarm`] draws them.
    #[must_use]
    pub fn swarm(random: &mut Random) -> Self {
        Self {
            parallelism: 1 + random.index(4),
            switch_ppm: [1_000, 20_000, 200_000, MILLION][random.index(4)],
            faults: FaultPlan::swarm(random),
            append_buffer_bytes: [0, 512, 4096, 1 << 20][random.index(4)],
            name_order: [NameOrder::Journal, NameOrder::Folder, NameOrder::Name][random.index(3)],
            ..Self::default()
        }
    }
}

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
