//! Why a command failed, what is printed about it, and the exit status.

use quipu::{Error, ErrorKind};
use std::fmt;
use std::io;
use std::process::ExitCode;

/// A failed command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The database said no.
    Database(Error),
    /// A file or a stream of the command's own failed; what, and why.
    File(String, io::Error),
    /// The request is wrong in a way that the flags' parser cannot see; may end in a hint.
    Request(String),
    /// The new database is sound, but not all of the old one is in it; the report said what.
    Incomplete,
    /// Whoever reads standard output has seen enough (`quipu export … | head`).
    OutputClosed,
}

/// Something is wrong with the bytes on disk.
const CORRUPT: u8 = 3;
/// A repair saved a part.
const INCOMPLETE: u8 = 4;
/// What a shell reports of a command that Ctrl-C ended.
const INTERRUPTED: u8 = 130;

impl Failure {
    /// 1 failed, 3 corruption found, 4 repaired in part, 130 interrupted; 0 where the reader of the
    /// output left.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::OutputClosed => ExitCode::SUCCESS,
            Self::Database(error) => match error.kind() {
                ErrorKind::Corruption => ExitCode::from(CORRUPT),
                ErrorKind::Cancelled => ExitCode::from(INTERRUPTED),
                _ => ExitCode::FAILURE,
            },
            Self::Incomplete => ExitCode::from(INCOMPLETE),
            Self::File(..) | Self::Request(_) => ExitCode::FAILURE,
        }
    }

    /// The failure of a script in a file, behind so many lines of it: its places name the file.
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

    /// A failure of standard output.
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

/// `error: …`, and hints on lines of their own; ends with a newline, and is empty where there is
/// nothing to say.
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
