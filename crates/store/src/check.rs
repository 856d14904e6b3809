//! What a check of a store found.

use base::Corruption;
use std::fmt;

/// Problems that a report lists, at most; further ones are counted.
pub const PROBLEMS_MAX: usize = 100;

/// What [`crate::Store::check`] read, and what is wrong with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Files read.
    pub files: u64,
    /// Blocks of tables that are sound.
    pub blocks: u64,
    /// Bytes whose checksums were verified.
    pub bytes: u64,
    /// Row versions whose order was verified.
    pub rows: u64,
    /// Commits in the log whose checksums and contents were verified.
    pub log_commits: u64,
    /// How long it took, in microseconds.
    pub duration_us: u64,
    /// What is wrong, file by file: up to [`PROBLEMS_MAX`].
    pub problems: Vec<Corruption>,
    /// Problems past those listed.
    pub problems_more: u64,
    /// What is worth knowing and no damage, such as files that nothing names.
    pub notes: Vec<String>,
}

impl CheckReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// Adds a problem, or counts it where the list is full.
    pub fn push(&mut self, problem: Corruption) {
        match self.problems.len() < PROBLEMS_MAX {
            true => self.problems.push(problem),
            false => self.problems_more += 1,
        }
    }

    /// Adds what another part of the check found; durations are not added.
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

/// A check found problems: the cause of the [`crate::ErrorKind::Corruption`] that ends it.
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
