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
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `random`, `faults`, `settings`: a random source, faults and crashes, settings of a machine.
//! 2. `disk_file`, `disk`, `disk_power`: the disk, and what a power cut leaves of it.
//! 3. `coroutine`, `tasks`: stacks that can be suspended, and which of them runs next.
//! 4. `machine`, `env`, `scheduler`, `sim`: the machine, its environment, its run.
//! 5. `workload::dice`, `workload::outcome`, `workload::spaces`, `workload::model`: keyspaces, and
//!    what they should contain.
//! 6. `workload::pieces`, `workload::read`, `workload::existed`, `workload::ledger`,
//!    `workload::vault`: expected answers, flags, counters and backups.
//! 7. `workload::plan`, `workload::numbers`, `workload::generate`: a run as plain data.
//! 8. `workload::world`, `workload::teller`, `workload::recorder`, `workload::world_views`: the
//!    state of a life, and reports of commits.
//! 9. `workload::task`: the steps.
//! 10. `workload::run`, `workload::shrink`, `workload`: a run, and smaller ones that fail too.
//! 11. `bin`: the command.
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

mod coroutine;
mod disk;
mod disk_file;
mod disk_power;
mod env;
pub mod faults;
mod machine;
mod random;
mod scheduler;
mod settings;
mod sim;
mod tasks;
pub mod workload;

pub use env::SimEnv;
pub use faults::{Crash, Fault, FaultCounts, FaultPlan};
pub use random::{MILLION, Random};
pub use scheduler::Failure;
pub use settings::{NameOrder, Settings};
pub use sim::Sim;
