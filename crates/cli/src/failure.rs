//! Failures of commands: their messages, and the exit status.

use quipu::{Error, ErrorKind};
use std::fmt;
use std::io;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database returned an error.
    Database(Error),
    /// A file or a stream of the command itself failed: its name, and the error.
    File(String, io::Error),
    /// The arguments are wrong in a way that the parser of flags cannot see. May end in a hint.
    Request(String),
    /// The repaired database is intact, but lacks a part of the old one; the report named it.
    Incomplete,
    /// The reader closed standard output (`quipu export … | head`).
    OutputClosed,
}

const FAILED: u8 = 1;
/// Exit status where bytes on disk are damaged.
const CORRUPT: u8 = 3;
/// Exit status of a repair that saved only a part.
const INCOMPLETE: u8 = 4;
/// Exit status after Ctrl-C, as shells report it.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// 1: failed. 3: corruption found. 4: repaired in part. 130: interrupted. 0 where the reader
    /// closed the output.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Database(error) => match error.kind() {
                ErrorKind::Corruption => CORRUPT,
                ErrorKind::Cancelled => INTERRUPTED,
                _ => FAILED,
            },
            Self::Incomplete => INCOMPLETE,
            Self::File(..) | Self::Request(_) => FAILED,
        }
    }

    /// Rewrites a failure of a script that begins after `lines_before` lines of a file: its
    /// positions then name the file and the lines of the file.
    pub(crate) fn in_file(self, name: &str, lines_before: usize) -> Self {
        let place = |line: &str| {
            let (number, rest) = line.strip_prefix("--> line ")?.split_once(',')?;
            let number: usize = number.parse().ok()?;
            Some(format!("--> {name}, line {},{rest}", number.saturating_add(lines_before)))
        };
        let placed = |message: &str| match message.contains("\n--> line ") {
            true => {
                let lines = message.lines().map(|line| place(line).unwrap_or(line.to_owned()));
                lines.collect::<Vec<_>>().join("\n")
            }
            false => format!("{name}: {message}"),
        };
        match self {
            Self::Request(message) => Self::Request(placed(&message)),
            Self::Database(error)
                if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::ReadOnly) =>
            {
                Self::Request(placed(&error.to_string()))
            }
            other => other,
        }
    }

    /// The failure for an error of standard output.
    pub(crate) fn output(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::File("standard output".to_owned(), error),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

/// Prints `error: …` and hints on lines of their own, with a newline at the end; prints nothing
/// where there is nothing to say.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutputClosed | Self::Incomplete => Ok(()),
            Self::Database(error) if error.kind() == ErrorKind::Cancelled => {
                writeln!(f, "interrupted: {error}")
            }
            Self::Database(error) => writeln!(f, "error: {error}"),
            Self::File(what, error) => writeln!(f, "error: {what}: {error}"),
            Self::Request(message) => writeln!(f, "error: {message}"),
        }
    }
}
