//! The only access to files, the clock, randomness and threads.
//!
//! # Why one crate for all of it
//! A database earns trust if its failures can be replayed. Everything below the `quipu` crate
//! reaches the machine through [`Env`]. So a simulated environment can lose unsynced data, tear
//! writes, fill the disk and interleave jobs, all from one seed, and the engine runs the same code.
//!
//! # Invariants
//! 1. This crate does not interpret the bytes that it reads and writes.
//! 2. Every error names the operation and the path ([`EnvError`]).
//! 3. An environment works only in the process that created it. In a child of `fork` it touches no
//!    file, starts no job and joins no thread ([`Owner`]).
//! 4. Threads block only on a [`Signal`], so a simulated environment can run other jobs meanwhile.
//!
//! # Modules
//! - Environments: `real` (the operating system), `memory`, and `model` for the model checker.
//! - Threads: `jobs` (worker pool), `scoped` (threads on borrowed data), `timer` (delayed jobs),
//!   `sync` (locks and atomics), `stack` (free stack of a thread).
//! - `pauses` waits between attempts in non-blocking mode.
//! - `owner` recognizes a child of `fork`. `whole` reads a file of known length sequentially.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `error`, `sync`, `stack`: errors; locks and atomics; the stack of a thread.
//! 2. `files`, `whole`, `environment`: the traits of an environment; files that are read
//!    sequentially.
//! 3. `non_blocking`, `owner`, `pauses`: work that must not wait; the process that opened.
//! 4. `jobs`, `scoped`, `timer`: threads; delayed jobs.
//! 5. `memory`, `real`, `model`: the environments.

// clippy.toml forbids these methods and types everywhere else and names this crate as the
// replacement.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod environment;
mod error;
mod files;
mod jobs;
mod memory;
#[cfg(feature = "shuttle")]
pub mod model;
mod non_blocking;
mod owner;
mod pauses;

#[cfg(unix)]
mod real;
mod scoped;
mod stack;
pub mod sync;
mod timer;
mod whole;

pub use environment::{Env, Job, JobKind, Signal};
pub use error::{EnvError, Result};
pub use files::{
    AppendFile, FileRead, FolderLock, HeldFolder, LogFile, LogMode, LogSync, RandomReadFile,
    ReadOptions, ReadRequest, StreamFile, join, read_files,
};
pub use jobs::parallel;
pub use memory::{MemoryEnv, ReadCounts};
pub use non_blocking::{may_wait, try_without_blocking, wait_from_here};
pub use owner::{Own, Owner};
pub use pauses::Pauses;
#[cfg(unix)]
pub use real::{Output, OutputFolder, RealEnv, RealOptions};
pub use scoped::scoped;
pub use stack::{stack_left_bytes, stack_range};
