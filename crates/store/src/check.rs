//! Report of [`crate::Store::check`], which reads and verifies all files of a store.

use base::Corruption;
use std::fmt;

/// Maximum number of problems that a report lists; further ones are only counted.
pub const PROBLEMS_MAX: usize = 100;

/// Amount that [`crate::Store::check`] read, and the problems that it found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Files read.
    pub files: u64,
    /// Table blocks without a problem.
    pub blocks: u64,
    /// Bytes whose checksums were verified.
    pub bytes: u64,
    /// Row versions whose order was verified.
    pub rows: u64,
    /// Commits in the log whose checksums and contents were verified.
    pub log_commits: u64,
    /// Duration in microseconds.
    pub duration_us: u64,
    /// Problems, file by file, at most [`PROBLEMS_MAX`].
    pub problems: Vec<Corruption>,
    /// Number of problems beyond those listed.
    pub problems_more: u64,
    /// Observations that are not damage, such as files that nothing refers to.
    pub notes: Vec<String>,
}

impl CheckReport {
    /// Whether no problem was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds a problem, or only counts it if the list is full.
    pub fn push(&mut self, problem: Corruption) {
        match self.problems.len() < PROBLEMS_MAX {
            true => self.problems.push(problem),
            false => self.problems_more += 1,
        }
    }

    /// Adds the report of another part of the check, without its duration.
    pub fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.blocks += other.blocks;
        self.bytes += other.bytes;
        self.rows += other.rows;
        self.log_commits += other.log_commits;
        self.problems_more += other.problems_more;
        other.problems.into_iter().for_each(|problem| self.push(problem));
        self.notes.extend(other.notes);
    }
}

/// The cause of an [`crate::ErrorKind::Corruption`] from a check: the report with all problems.
#[derive(Clone, Debug)]
pub struct CheckFailed(pub CheckReport);

impl fmt::Display for CheckFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(report) = self;
        let mut problems = report.problems.iter();
        if let Some(first) = problems.next() {
            write!(f, "{first}")?;
        }
        for problem in problems {
            write!(f, "\n{problem}")?;
        }
        if report.problems_more > 0 {
            write!(f, "\nand {} more", report.problems_more)?;
        }
        Ok(())
    }
}

impl std::error::Error for CheckFailed {}
