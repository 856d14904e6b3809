//! Verification of a database after a kill: how it is opened, and the trait that blobs, counters
//! and rows implement.

use crate::ops::{Random, STREAMS};
use crate::outcome::Outcome;
use quipu::{Check, Database, Durability};

/// Knows what must be in a database, from the reports of its children.
pub(crate) trait Verifier {
    /// The kind of an operation, in a word.
    fn name(&self, stream: usize, number: u32) -> &'static str;

    /// Draws the durability of the next child, and the limits for its kill.
    fn draw_plan(&self, random: &mut Random) -> KillPlan;

    /// A child starts; data that the previous one had only in memory is lost.
    fn starts(&mut self, durability: Durability);

    /// An operation starts.
    fn begins(&mut self, stream: usize, number: u32);

    /// An operation was acknowledged.
    fn done(&mut self, stream: usize, number: u32);

    /// Whether the database may be empty or missing.
    fn is_empty(&self) -> bool;

    /// Compares the whole database, and updates the expected state by the operations in flight that
    /// took effect. `next` is the number of each stream's operation in flight, or about to start.
    fn compare(&mut self, db: &Database, next: &mut [u32; STREAMS]) -> Outcome<Compared>;

    /// Inspects the report of a check.
    fn checked(&mut self, db: &Database, check: &Check, mode: VerifyMode) -> Outcome<Checked>;
}

/// How the next child runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KillPlan {
    pub(crate) durability: &'static str,
    /// Messages until the kill, at most.
    pub(crate) steps_max: u64,
    /// Microseconds until the kill, at most, where messages are not counted.
    pub(crate) life_us_max: u64,
}

/// Result of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compared {
    pub(crate) values: u64,
    /// Whether an operation is missing that was acknowledged with `none` and not flushed.
    pub(crate) unflushed_lost: bool,
}

/// The findings of a verifier in the report of a check.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Checked {
    /// Unfinished long values that are not removed yet.
    pub(crate) unfinished_values: u64,
}

/// How a verification opens the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerifyMode {
    /// Read-only: the next child does the recovery.
    ReadOnly,
    /// Opens the database for writing, which recovers it.
    Writable,
    /// As `Writable`; then closes it, after which every file must be in the manifest.
    Closed,
}
