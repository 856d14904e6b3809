//! Breaks real processes: kills them with SIGKILL, fills their disk, limits their memory; then
//! looks whether everything that was acknowledged is there, and nothing else.
//!
//! The simulator (`quipu-sim`) tries more moments, and the loss of what was not synced; here
//! nothing is simulated: real processes, the kernel's own file systems, the kernel's own accounts.
//!
//! ```text
//! quipu-kill run [--work graphs|blobs|counters] [--count N] [--seed N] [--seconds N] [--forking 0|1] [--folder PATH] [--json FILE]
//! quipu-kill full [--variant tmpfs|file-limit] [--rounds N] [--seed N] [--json FILE]
//! quipu-kill memory [--edges N] [--limit SIZE] [--cache SIZE] [--folder PATH] [--json FILE]
//! ```
//!
//! # Invariants
//! 1. What a child does is a function of seed, stream and number (see [`ops`]): the parent knows
//!    what the child was about to do without being told.
//! 2. A child says a number after its operation returned, so the parent never believes more than
//!    was acknowledged.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // a harness is a face: real files and processes

mod arguments;
mod backup;
mod blobs;
mod child;
mod counters;
mod files;
mod forks;
mod full;
mod memory;
mod ops;
mod parent;
mod report;
mod values;
mod verify;

use std::process::ExitCode;

/// What goes wrong here ends the run, so a sentence is enough.
type Outcome<T> = Result<T, String>;

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
