//! The state of the simulated machine, and the single path of every operation on it.
//!
//! `env` calls [`Shared::operate`] for each operation; `scheduler` runs the tasks.
//!
//! # Invariants
//! 1. The state's lock is not held while tasks are switched or engine objects are dropped.
//! 2. Randomness comes in separate streams (scheduling, faults, the engine's own, crashes), so that
//!    a change of one leaves the others as they were.
//! 3. Everything that influences a decision goes into the trace hash.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use env::sync::{Mutex, MutexGuard};
use env::{EnvError, Result};

use crate::coroutine::{is_in_task, switch};
use crate::disk::Disk;
use crate::faults::{Crash, Fault, FaultCounts, FaultPlan};
use crate::random::Random;
use crate::settings::Settings;
use crate::tasks::Tasks;

/// Duration of an operation, in simulated microseconds.
const OPERATION_US: u64 = 3;
/// Longest duration of a slow operation.
const SLOW_US_MAX: u64 = 1_000_000;
/// Start of the clock: 2026-01-01.
const EPOCH_US: u64 = 1_767_225_600_000_000;

/// Kind of an operation; its discriminant goes into the trace hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Op {
    Create,
    CreateLog,
    OpenAppend,
    OpenRead,
    OpenLog,
    Read,
    Flush,
    WriteLog,
    Sync,
    Rename,
    Remove,
    Link,
    List,
    CreateFolder,
    RemoveFolder,
    Exists,
    SyncFolder,
    Length,
    Free,
    Lock,
}

impl Op {
    /// A verb for messages.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Create | Self::CreateLog => "create",
            Self::OpenAppend => "open to append",
            Self::OpenRead | Self::OpenLog => "open",
            Self::Read => "read",
            Self::Flush | Self::WriteLog => "write",
            Self::Sync => "sync",
            Self::Rename => "rename",
            Self::Remove => "remove",
            Self::Link => "link",
            Self::List => "list",
            Self::CreateFolder => "create folder",
            Self::RemoveFolder => "remove folder",
            Self::Exists | Self::Length => "look at",
            Self::SyncFolder => "sync folder",
            Self::Free => "ask for the free space of",
            Self::Lock => "lock",
        }
    }

    fn changes_names(self) -> bool {
        use Op::{Create, CreateFolder, CreateLog, Link, Remove, RemoveFolder, Rename, SyncFolder};
        matches!(
            self,
            Create | CreateLog | Rename | Remove | Link | CreateFolder | RemoveFolder | SyncFolder
        )
    }
}

/// A process on the machine.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// Whether the process has ended, so that all its operations fail.
    pub(crate) dead: bool,
    /// Lock files that it holds, with the line that it wrote. By file, not by path: a lock moves
    /// with its folder.
    pub(crate) locks: Vec<(u32, String)>,
}

/// The whole state of one machine; see the module's header.
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) disk: Disk,
    pub(crate) processes: Vec<Process>,
    pub(crate) tasks: Tasks,
    pub(crate) clock_us: u64,
    /// Randomness for the engine.
    pub(crate) words: Random,
    /// Randomness for choosing tasks.
    pub(crate) choices: Random,
    /// Randomness for faults.
    pub(crate) chances: Random,
    /// Randomness that decides which writes a crash loses.
    pub(crate) crashes: Random,
    pub(crate) crash_at: Option<(u64, Crash)>,
    pub(crate) crashed: Option<Crash>,
    /// Faults that a test ordered, with the number of the first operation that may get them.
    pub(crate) exact: Vec<(u64, Fault)>,
    /// Whether the running operation is interrupted by the end of its process.
    in_part: bool,
    pub(crate) operations: u64,
    pub(crate) restarts: u64,
    pub(crate) counts: FaultCounts,
    /// The trace hash.
    pub(crate) hash: u64,
    /// The last operations as text, and how many of them are kept.
    pub(crate) log: Option<(usize, VecDeque<String>)>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("operations", &self.operations)
            .field("clock_us", &self.clock_us)
            .field("crashed", &self.crashed)
            .finish_non_exhaustive()
    }
}

/// The shared state behind all environments, files and signals of one machine.
#[derive(Debug)]
pub(crate) struct Shared(Mutex<State>);

/// What happens to an operation.
enum Fate {
    Runs,
    /// It takes effect, in part or completely, and then the crash comes: it never returns.
    RunsLast(Crash),
    /// It takes effect and returns an error.
    RunsAndFails,
}

impl Shared {
    pub(crate) fn new(state: State) -> Arc<Self> {
        Arc::new(Self(Mutex::new(state)))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    /// Runs one operation of a process: counts it, may fail it, and may switch to other tasks after
    /// it.
    ///
    /// `path` is for messages; `args` identify the operation in the trace.
    pub(crate) fn operate<R>(
        &self,
        process: u32,
        op: Op,
        path: &Path,
        args: [u64; 2],
        run: impl FnOnce(&mut State) -> io::Result<R>,
    ) -> Result<R> {
        let mut state = self.lock();
        let result = match state.begin(process, op, path, args) {
            Ok(Fate::Runs) => run(&mut state),
            Ok(Fate::RunsLast(crash)) => {
                state.in_part = true;
                let _ = run(&mut state);
                state.in_part = false;
                state.crash(crash);
                Err(is_off())
            }
            Ok(Fate::RunsAndFails) => run(&mut state).and_then(|_| Err(io_error())),
            Err(error) => Err(error),
        };
        if result.is_err() {
            state.mix(u64::MAX);
        }
        let switch = state.wants_switch();
        drop(state);
        if switch {
            self.pause();
        }
        result.map_err(|error| EnvError::io(op.verb(), path, error))
    }

    /// A scheduling point without an operation: a clock, a signal.
    pub(crate) fn step(&self) {
        let mut state = self.lock();
        state.tasks.stepped();
        let switch = state.wants_switch();
        drop(state);
        if switch {
            self.pause();
        }
    }

    /// Lets another task run, if one can; the running one stays ready.
    fn pause(&self) {
        // No switch while a panic unwinds: the count of panics belongs to the thread, not to the
        // task.
        if !is_in_task() || std::thread::panicking() {
            return;
        }
        let is_ready = self.lock().tasks.yield_now();
        if is_ready {
            switch();
        }
    }
}

/// The error of all operations after the end of a process or machine.
fn is_off() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the simulated machine is off")
}

/// The system's "input/output error", built without an allocation.
pub(crate) fn io_error() -> io::Error {
    const EIO: i32 = 5;
    io::Error::from_raw_os_error(EIO)
}

pub(crate) fn disk_full() -> io::Error {
    const ENOSPC: i32 = 28;
    io::Error::from_raw_os_error(ENOSPC)
}

impl State {
    pub(crate) fn new(seed: u64, settings: Settings) -> Self {
        let mut random = Random::new(seed);
        Self {
            settings,
            disk: Disk::new(),
            processes: Vec::new(),
            tasks: Tasks::default(),
            clock_us: EPOCH_US,
            words: random.fork(),
            choices: random.fork(),
            chances: random.fork(),
            crashes: random.fork(),
            crash_at: None,
            crashed: None,
            exact: Vec::new(),
            in_part: false,
            operations: 0,
            restarts: 0,
            counts: FaultCounts::default(),
            hash: seed,
            log: None,
        }
    }

    /// Adds one word to the trace hash.
    #[inline]
    pub(crate) fn mix(&mut self, word: u64) {
        self.hash = (self.hash.rotate_left(23) ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
        self.hash ^= self.hash >> 32;
    }

    pub(crate) fn add_process(&mut self) -> u32 {
        self.processes.push(Process::default());
        self.tasks.add_process();
        (self.processes.len() - 1) as u32
    }

    fn begin(&mut self, process: u32, op: Op, path: &Path, args: [u64; 2]) -> io::Result<Fate> {
        self.tasks.stepped();
        self.clock_us += OPERATION_US;
        self.mix(u64::from(process) << 8 | op as u64);
        self.mix(args[0]);
        self.mix(args[1]);
        if self.processes.get(process as usize).is_none_or(|process| process.dead) {
            return Err(is_off());
        }
        self.operations += 1;
        if let Some((most, log)) = &mut self.log {
            if log.len() == *most {
                log.pop_front();
            }
            let (n, task) = (self.operations, self.tasks.current_name());
            let [a, b] = args;
            log.push_back(format!("{n} {task}: {op:?} {} {a:#x} {b:#x}", path.display()));
        }
        if let Some((at, crash)) = self.crash_at
            && self.operations >= at
        {
            if crash == Crash::Kill && process != 0 {
                self.crash(crash); // another process continues
            } else if self.crashes.coin() {
                return Ok(Fate::RunsLast(crash));
            } else {
                self.crash(crash);
                return Err(is_off());
            }
        }
        self.disturb(op)
    }

    /// Draws the faults that can happen to any operation of a kind.
    fn disturb(&mut self, op: Op) -> io::Result<Fate> {
        if self.settings.faults == FaultPlan::none() && self.exact.is_empty() {
            return Ok(Fate::Runs);
        }
        if matches!(op, Op::Read | Op::Flush | Op::WriteLog | Op::Sync) && self.hits(Fault::Slow) {
            self.clock_us += self.chances.below(SLOW_US_MAX);
            self.counts.count(Fault::Slow);
        }
        if op == Op::Read && self.hits(Fault::ReadFails) {
            self.counts.count(Fault::ReadFails);
            return Err(io_error());
        }
        if op.changes_names() && self.hits(Fault::NameFails) {
            self.counts.count(Fault::NameFails);
            // A failed operation may have taken effect all the same.
            let may_happen = matches!(op, Op::Rename | Op::Remove | Op::SyncFolder);
            let happens = may_happen && self.chances.coin();
            return if happens { Ok(Fate::RunsAndFails) } else { Err(io_error()) };
        }
        if matches!(op, Op::Create | Op::CreateLog | Op::CreateFolder) && self.hits(Fault::DiskFull)
        {
            self.counts.count(Fault::DiskFull);
            return Err(disk_full());
        }
        if self.hits(Fault::BitFlip) {
            let only = self.settings.faults.corrupt_only;
            if let Some(file) = self.disk.victim(only, None, &mut self.chances) {
                self.disk.flip(file, &mut self.chances);
                self.counts.count(Fault::BitFlip);
            }
        }
        Ok(Fate::Runs)
    }

    /// Whether `fault` happens to this operation: by chance, or because a test ordered it.
    pub(crate) fn hits(&mut self, fault: Fault) -> bool {
        let operations = self.operations;
        let ordered = |&(at, kind): &(u64, Fault)| kind == fault && at <= operations;
        if let Some(i) = self.exact.iter().position(ordered) {
            self.exact.remove(i);
            return true;
        }
        self.chances.chance(self.settings.faults.ppm(fault))
    }

    fn wants_switch(&mut self) -> bool {
        self.tasks.others_can_run(self.settings.parallelism)
            && self.choices.chance(self.settings.switch_ppm)
            || self.tasks.is_out_of_steps(self.settings.steps_max)
    }

    /// Ends the process, or the whole machine: all later operations fail.
    pub(crate) fn crash(&mut self, crash: Crash) {
        self.crash_at = None;
        if self.crashed == Some(Crash::Power) || self.crashed == Some(crash) {
            return;
        }
        self.crashed = Some(crash);
        match crash {
            Crash::Power => {
                self.counts.power_cuts += 1;
                self.processes.iter_mut().for_each(|process| process.dead = true);
            }
            Crash::Kill => {
                self.counts.kills += 1;
                self.processes[0].dead = true;
                self.processes[0].locks.clear();
            }
        }
    }

    /// The machine after its restart: what the disk kept, and no process.
    pub(crate) fn restarted(&mut self) -> Self {
        let mut state = Self::new(self.crashes.word(), self.settings.clone());
        state.disk = std::mem::replace(&mut self.disk, Disk::new());
        if self.crashed == Some(Crash::Power) {
            state.disk.cut_power(
                self.settings.name_order,
                self.settings.torn_ppm,
                &mut state.crashes,
                &mut self.counts,
            );
        } else {
            state.disk.close_all();
        }
        state.clock_us = self.clock_us + 1;
        state.operations = self.operations;
        state.restarts = self.restarts + 1;
        state.counts = self.counts;
        state.log = self.log.take();
        state.hash = self.hash;
        state.mix(self.crashed.map_or(0, |crash| 1 + crash as u64));
        state
    }

    /// How many of `bytes` additional bytes fit on the disk.
    pub(crate) fn room(&self, bytes: usize) -> usize {
        let left = self.settings.disk_bytes.saturating_sub(self.disk.used_bytes());
        bytes.min(usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Writes at offset `at`, at most the file's length, subject to faults.
    pub(crate) fn write(
        &mut self,
        file: u32,
        path: &Path,
        bytes: &[u8],
        at: usize,
    ) -> io::Result<()> {
        let len = self.disk.bytes(file).len();
        let grown = (at + bytes.len()).saturating_sub(len);
        let room = self.room(grown);
        if room < grown || (grown > 0 && self.hits(Fault::DiskFull)) {
            self.counts.count(Fault::DiskFull);
            let inside = bytes.len() - grown;
            let written = inside + self.chances.index(room + 1);
            self.disk.write(file, &bytes[..written], at);
            return Err(disk_full());
        }
        if self.hits(Fault::WriteFails) {
            self.counts.count(Fault::WriteFails);
            let written = self.chances.index(bytes.len() + 1);
            self.disk.write(file, &bytes[..written], at);
            return Err(io_error());
        }
        self.store(file, path, bytes, at);
        Ok(())
    }

    /// Writes bytes, perhaps to a wrong place; the process gets no error in any case.
    pub(crate) fn store(&mut self, file: u32, path: &Path, mut bytes: &[u8], at: usize) {
        if self.in_part {
            // A killed process may have copied only a part into its mapping.
            bytes = &bytes[..self.crashes.index(bytes.len() + 1)];
        }
        if !bytes.is_empty() && self.may_corrupt(path) {
            if self.hits(Fault::Misdirected) {
                return self.misdirect(file, bytes, at);
            }
            if self.hits(Fault::Stale) {
                return self.leave_stale(file, bytes, at);
            }
        }
        self.disk.write(file, bytes, at);
    }

    fn may_corrupt(&self, path: &Path) -> bool {
        let name = || path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        self.settings.faults.corrupt_only.is_none_or(|only| name().contains(only))
    }

    /// Writes the bytes to a wrong place; the right one keeps its content, or zeros.
    fn misdirect(&mut self, file: u32, bytes: &[u8], at: usize) {
        self.counts.count(Fault::Misdirected);
        let len = self.disk.bytes(file).len();
        if at + bytes.len() > len {
            self.disk.write(file, &vec![0; at + bytes.len() - len], len);
        }
        let other = self.chances.coin();
        let only = self.settings.faults.corrupt_only;
        let other = other.then(|| self.disk.victim(only, Some(file), &mut self.chances)).flatten();
        let victim = other.unwrap_or(file);
        let room = self.disk.bytes(victim).len();
        let to = self.chances.index(room.saturating_sub(bytes.len()) + 1);
        self.disk.write(victim, &bytes[..bytes.len().min(room - to)], to);
    }

    /// Omits one sector of the write.
    fn leave_stale(&mut self, file: u32, bytes: &[u8], at: usize) {
        const SECTOR_BYTES: usize = crate::disk_file::SECTOR_BYTES;
        self.counts.count(Fault::Stale);
        let first = at / SECTOR_BYTES;
        let sectors = (at + bytes.len()).div_ceil(SECTOR_BYTES) - first;
        let stale = (first + self.chances.index(sectors)) * SECTOR_BYTES;
        let (from, to) = (stale.clamp(at, at + bytes.len()), stale + SECTOR_BYTES);
        let to = to.clamp(at, at + bytes.len());
        self.disk.write(file, &bytes[..from - at], at);
        let len = self.disk.bytes(file).len();
        if to > len {
            self.disk.write(file, &vec![0; to - len], len);
        }
        self.disk.write(file, &bytes[to - at..], to);
    }

    pub(crate) fn sync(&mut self, file: u32) -> io::Result<()> {
        if self.hits(Fault::SyncFails) {
            self.counts.count(Fault::SyncFails);
            self.disk.fail_sync(file, &mut self.chances);
            return Err(io_error());
        }
        self.disk.sync(file);
        Ok(())
    }
}
