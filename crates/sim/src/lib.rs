//! A simulated machine: one seed decides every interleaving, fault and crash.
//!
//! # The fault budget
//! What the engine promises when this machine misbehaves. *Acknowledged* is a commit that has returned, *lost* is one that
//! the next opening does not show. By durability:
//!
//! | what happens | `sync` | `os` | `none` |
//! | --- | --- | --- | --- |
//! | the process is killed, at any operation | nothing acknowledged is lost | nothing acknowledged is lost | a prefix of the commits is there, at least to the last flush |
//! | the power goes, at any operation; of unsynced bytes any 512-byte sectors survive, of unsynced names any that could have happened | nothing acknowledged is lost | a prefix, at least to the last flush | a prefix, at least to the last flush |
//! | a write, a creation, a rename, a removal fails; the disk is full | the call is an error, the database poisoned where it must be; after reopening as after a kill | the same | the same |
//! | a sync fails: of what it should have kept, any part never reaches the disk, whether reads show it until the power goes or not | nothing acknowledged is lost, however often the database is opened before the power goes | a prefix, at least to the last flush | the same |
//! | a read fails or comes short | that call is an error, and nothing else | the same | the same |
//! | anything is slow | nothing | nothing | nothing |
//!
//! A keyspace that is created without `sync` is kept as a commit is: a power cut or a failed sync
//! may take it, together with every commit that wrote to it; a flush keeps it.
//!
//! In each case a commit is there whole or not at all, the two directions of a graph agree, and so do rows and pieces of blobs. Of counters
//! the row `none` counts what was written: an increment that waits in memory is no commit yet.
//!
//! *Detected*, not survived: a flipped bit, a write that landed elsewhere, a sector that kept its old content although
//! it was synced. An answer is right, or it is `CorruptionError`; never a wrong row. Within it, what the
//! end of the log can tell: damage in the last records is a torn end, which recovery cuts off as it does after
//! a power cut. There, acknowledged commits may be missing from the end; what is there is a prefix.
//!
//! *Outside of the budget*: a whole file, or all of them, replaced by an older version that is sound in itself; damage made
//! to fit its checksum; a kernel that answers a sync before it is done.
//!
//! Half a sector of what was not synced ([`Settings::torn_ppm`]) is survived, too, though disks promise whole ones: a quarter of
//! the runs has it.
//!
//! *Backups*: one that was acknowledged restores to the state of its moment, whatever becomes of the database; one that was not is
//! refused, or is whole. A restore that was cut short left what was there before, or the new database.
//!
//! # How it works
//! All tasks run on one thread as coroutines; at every operation of the environment, and at every lock that is
//! taken, the seed decides who goes on. Clock, randomness, jobs and disk are simulated. [`Sim`] is the machine,
//! [`SimEnv`] what a process of it sees.
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

/// Which unsynced changes of names can survive a power cut without others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameOrder {
    /// One journal for the whole disk: what came first survives first.
    Journal,
    /// A journal for each folder.
    Folder,
    /// Every name by itself: later changes without earlier ones, but of one name in their order.
    #[default]
    Name,
}

/// What the machine is like. Plain data: the same settings and seed give the same run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Jobs that run at once, beside one flush; at least 1.
    pub parallelism: usize,
    /// How often, in a million operations, another task goes on where one could.
    pub switch_ppm: u32,
    /// What fails, and how often.
    pub faults: FaultPlan,
    /// Bytes that fit on the disk.
    pub disk_bytes: u64,
    /// Bytes that a file written front to back keeps in its buffer, which a killed process loses.
    pub append_buffer_bytes: usize,
    /// Which unsynced changes of names can survive without others.
    pub name_order: NameOrder,
    /// Of the unsynced sectors that survive a power cut, how many in a million do in half. Real disks
    /// promise 0, and the engine does not count on it.
    pub torn_ppm: u32,
    /// Steps after which a run is held to go round in circles, counted anew after each restart.
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
    /// A machine of any character: from one worker to four, from tasks that run on and on to a switch at
    /// each operation. Faults as [`FaultPlan::swarm`] draws them.
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

/// The simulated machine, switched on.
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
    /// Outside of [`Sim::spawn`] its operations work, too, as far as they need not wait.
    #[must_use]
    pub fn env(&self) -> Arc<SimEnv> {
        Arc::clone(&self.env)
    }

    /// Another process on the same disk: it sees what the first has handed to the system, has jobs and
    /// locks of its own, and lives on when the first is killed.
    #[must_use]
    pub fn second_process(&self) -> Arc<SimEnv> {
        let process = self.shared.lock().add_process();
        Arc::new(SimEnv::new(Arc::clone(&self.shared), process))
    }

    /// A task that [`Sim::run`] runs beside the others. Its name is for messages.
    pub fn spawn(&self, name: &'static str, task: impl FnOnce() + 'static) {
        self.new.borrow_mut().push((name, Box::new(task)));
    }

    /// Runs all tasks and jobs to their end. Tasks may spawn others.
    ///
    /// # Errors
    /// The first panic of a task, a deadlock, or a run without end. Tasks that had not ended then never do,
    /// and what they hold is leaked.
    ///
    /// # Panics
    /// When called from a task.
    pub fn run(&self) -> Result<(), Failure> {
        scheduler::run(&self.shared, &self.new)
    }

    /// The process or the machine ends now: every operation fails from here on, and the tasks end by their errors.
    /// What the disk loses by it is decided at [`Sim::restart`].
    pub fn crash(&self, kind: Crash) {
        self.shared.lock().crash(kind);
    }

    /// As [`Sim::crash`], at the operation with this number ([`Sim::operations`] counts from 1), before or
    /// after it is done.
    pub fn crash_at_operation(&self, operation: u64, kind: Crash) {
        self.shared.lock().crash_at = Some((operation, kind));
    }

    /// One fault, at the first operation from this number on that it can happen to.
    pub fn fault_at_operation(&self, operation: u64, fault: Fault) {
        self.shared.lock().exact.push((operation, fault));
    }

    /// Other faults from now on.
    pub fn set_faults(&self, faults: FaultPlan) {
        self.shared.lock().settings.faults = faults;
    }

    /// Another size of the disk from now on: bytes that fit on it.
    pub fn set_disk_bytes(&self, bytes: u64) {
        self.shared.lock().settings.disk_bytes = bytes;
    }

    /// What has crashed, if anything.
    #[must_use]
    pub fn crashed(&self) -> Option<Crash> {
        self.shared.lock().crashed
    }

    /// A new process on what the disk kept: all that was written, or after a power cut all that was synced and any part
    /// of the rest. Counts, clock and trace go on; so does the seed.
    ///
    /// Environments and files of the old machine fail from now on.
    #[must_use]
    pub fn restart(self) -> Self {
        let mut state = self.shared.lock();
        let restarted = state.restarted();
        state.processes.iter_mut().for_each(|process| process.dead = true);
        let jobs = state.tasks.take_jobs();
        drop(state);
        // Dropped without a lock: they hold handles, whose end takes one.
        drop(jobs);
        Self::of(restarted)
    }

    /// Operations so far, of all processes and since before all restarts. Those of a dead process do not count.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.shared.lock().operations
    }

    /// How often each fault has happened.
    #[must_use]
    pub fn counts(&self) -> FaultCounts {
        self.shared.lock().counts
    }

    /// Stands for every operation with its arguments and every choice so far: two runs with the same hash have
    /// done the same.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.lock().hash
    }

    /// From now on the last `lines_max` operations are kept as text, one to a line.
    pub fn keep_trace(&self, lines_max: usize) {
        self.shared.lock().log = (lines_max > 0).then(|| (lines_max, VecDeque::new()));
    }

    /// The operations kept by [`Sim::keep_trace`], oldest first.
    #[must_use]
    pub fn trace(&self) -> Vec<String> {
        self.shared.lock().log.iter().flat_map(|(_, log)| log.iter().cloned()).collect()
    }

    /// Every file with its path and its bytes, as processes see it now.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.shared.lock().disk.all_files()
    }
}
