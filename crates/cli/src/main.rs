//! The command `quipu`: imports, queries, checks, backs up and exports a database.
//!
//! # Architecture invariants
//! 1. Data goes to standard output; progress, notes and errors go to standard error. So a pipe
//!    carries only data.
//! 2. No rule of the engine lives here: a command translates its arguments, calls, and prints.
//! 3. Commands that only read open the database read-only: they run while another process writes.
//! 4. The exit status tells the kind of failure: see [`failure::Failure::exit_code`].
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // it uses files and streams

mod args;
mod backup;
mod check;
mod export;
mod failure;
mod import;
mod interrupt;
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
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Clap prints its own errors and ends with status 2.
    let arguments = Arguments::parse();
    match run(&arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Standard error may be closed as well, and then the message is lost.
            let _ = write!(std::io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Import(arguments) => import::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Repair(arguments) => repair::run(arguments),
        Command::Neighbors(arguments) => neighbors::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Shell(arguments) => shell::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Backup(arguments) => backup::back_up(arguments),
        Command::Restore(arguments) => backup::restore(arguments),
    }
}
