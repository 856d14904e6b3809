//! Kill tests with real processes: kills them with SIGKILL, fills their disk, limits their memory,
//! and then checks that every acknowledged operation is in the database, and nothing else.
//!
//! The simulator (`quipu-sim`) tries more points of failure, and also loses unsynced writes. Here
//! nothing is simulated: the processes, the file systems and the accounting are the kernel's.
//!
//! ```text
//! quipu-kill run [--work graphs|blobs|counters|rows] [--count N] [--seed N] [--seconds N]
//!                [--forking 0|1] [--folder PATH] [--json FILE]
//! quipu-kill full [--variant tmpfs|file-limit] [--rounds N] [--seed N] [--json FILE]
//! quipu-kill memory [--edges N] [--limit SIZE] [--cache SIZE] [--folder PATH] [--json FILE]
//! ```
//!
//! `run` and `full` start this program again, with the command `child`: it writes until it is
//! killed (`child.rs`).
//!
//! # Invariants
//! 1. The operations of a child are a function of seed, stream and number (see [`ops`]): the parent
//!    knows what the child was doing without being told.
//! 2. A child reports the number of an operation before it starts, and again after it has returned.
//!    So the parent never takes an operation in flight for an acknowledged one.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `outcome`, `ops`, `report`, `database`: errors, operations on graphs, totals of a run, and
//!    options of the databases.
//! 2. `arguments`, `message`, `process`: the command line, reports of a child, kills.
//! 3. `files`, `worker`, `verifier`: files of a run, a thread of a child, a verification.
//! 4. `verify`, `backup`: verifications of graphs and of backups.
//! 5. `blobs`, `counters`, `rows`: workers and verifiers of other data.
//! 6. `work`: the choice between these kinds of data.
//! 7. `values`, `parent`: kills of processes that write blobs, counters or rows, and graphs.
//! 8. `full`, `memory`, `forks`: a full disk, a memory limit, forked children.
//! 9. `child`: the process that is killed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // real files and processes

mod arguments;
mod backup;
mod blobs;
mod child;
mod counters;
mod database;
mod files;
mod forks;
mod full;
mod memory;
mod message;
mod ops;
mod outcome;
mod parent;
mod process;
mod report;
mod rows;
mod values;
mod verifier;
mod verify;
mod work;
mod worker;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let done = arguments::Arguments::parse(words).and_then(|arguments| match command.as_str() {
        "run" => parent::run(&arguments),
        "child" => child::run(&arguments),
        "full" => full::run(&arguments),
        "memory" => memory::run(&arguments),
        _ => Err(format!("no command {command:?}: there are run, full and memory")),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
