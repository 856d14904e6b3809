//! The command `quipu`: imports, queries, checks, backs up and exports a database.
//!
//! # Architecture invariants
//! 1. Data goes to standard output; progress, notes and errors go to standard error. So a pipe
//!    carries only data.
//! 2. No rule of the engine lives here: a command translates its arguments, calls, and prints.
//! 3. Commands that only read open the database read-only: they run while another process writes.
//! 4. The exit status tells the kind of failure: see `failure::Failure::exit_code`.
//!
//! # Why a library
//! The Python module starts the same command (`python -m quipu`), so a wheel has one binary instead
//! of two with one engine each.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `failure`, `interrupt`, `paint`: failures with their exit statuses; Ctrl-C; colors.
//! 2. `args`, `parameters`, `output`: arguments, parameters of scripts, and the output streams.
//! 3. `rows`, `show`: results as files and as tables.
//! 4. `algo`, `backup`, `check`, `export`, `import`, `migrate`, `neighbors`, `stats`: commands.
//! 5. `repair`, `run`, `shell`: commands that use the modules of another command or of results.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // it uses files and streams

mod algo;
mod args;
mod backup;
mod check;
mod export;
mod failure;
mod import;
mod interrupt;
mod migrate;
mod neighbors;
mod output;
mod paint;
mod parameters;
mod repair;
mod rows;
mod run;
mod shell;
mod show;
mod stats;

use args::{Arguments, Command};
use clap::Parser;
use failure::Failure;
use std::ffi::OsString;
use std::io::Write;

pub use shell::candidates;

/// Runs the command and returns its exit status. The first argument is the name of the command. It
/// writes to the standard streams of the process. It may set a handler of Ctrl-C, and then a second
/// Ctrl-C ends the process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let status = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => status(&arguments.command),
        // Help and the version are errors of the parser, too.
        Err(error) => {
            let status = u8::try_from(error.exit_code()).unwrap_or(u8::MAX);
            let _ = error.print();
            status
        }
    };
    // A program in another language does not flush this stream at its end.
    let _ = std::io::stdout().flush();
    status
}

fn status(command: &Command) -> u8 {
    match execute(command) {
        Ok(()) => 0,
        Err(failure) => {
            // Standard error may be closed as well, and then the message is lost.
            let _ = write!(std::io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}

fn execute(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Import(arguments) => import::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Repair(arguments) => repair::run(arguments),
        Command::Neighbors(arguments) => neighbors::run(arguments),
        Command::Algo(arguments) => algo::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Shell(arguments) => shell::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Backup(arguments) => backup::back_up(arguments),
        Command::Restore(arguments) => backup::restore(arguments),
        Command::Migrate(arguments) => migrate::run(arguments),
    }
}
