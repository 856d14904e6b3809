//! Fault switches: bugs that tests turn on to prove that they would be found (mutation testing).
//!
//! # Why in the engine
//! A checker that never complains proves nothing. Each switch removes one thing that a guarantee
//! depends on. A test turns it on, runs the same checker that passes on the correct engine, and
//! asserts that it fails.
//!
//! # Invariants
//! 1. Without the feature `fault-switches`, [`is_on`] is the constant `false` and the compiler
//!    removes the switches.
//! 2. No release can contain them: the feature does not compile without debug assertions, which the
//!    release profile disables, and neither the Python module nor the command line enables it.
//! 3. A switch is on only during the lifetime of the guard that `on` returned. One switch at a time
//!    can be on in a process.

#[cfg(all(feature = "fault-switches", not(debug_assertions)))]
compile_error!(
    "the feature `fault-switches` breaks the engine on purpose; it is for tests, never for a release"
);

/// A bug that can be turned on. The values are single bits, so that none is 0 ("no switch").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Switch {
    /// A commit does not check whether the rows it writes have changed since its snapshot.
    SkipConflictCheck = 1 << 0,
    /// A serializable commit does not check whether the rows and ranges it read have changed.
    SkipReadValidation = 1 << 1,
    /// Snapshots and transactions read the newest state instead of their snapshot.
    ReadLatestInsteadOfSnapshot = 1 << 2,
    /// The log is not synced when a commit guarantees it.
    SkipSync = 1 << 3,
    /// A commit is visible before it is in the log.
    PublishBeforeLog = 1 << 4,
    /// Flush and compaction drop a tombstone although deeper levels may hold its key.
    ForgetTombstone = 1 << 5,
    /// Recovery skips the last commit of the log.
    DropLastRecordOnReplay = 1 << 6,
    /// A graph writes its edges in one direction only.
    ForgetReverseDirection = 1 << 7,
    /// Blocks of tables are used even if their checksum is wrong.
    IgnoreChecksum = 1 << 8,
    /// The rows of a commit become visible one by one.
    HalfCommitVisible = 1 << 9,
    /// Rolling back a transaction commits it.
    CommitOnRollback = 1 << 10,
    /// Writes of a transaction are visible to others before it commits.
    ReadUncommitted = 1 << 11,
    /// A long blob that is written with one call loses its last chunk.
    ForgetPiece = 1 << 12,
    /// A blob that is written in chunks leaves no note of them, so chunks of an interrupted write
    /// are never deleted.
    ForgetNote = 1 << 13,
    /// Sums from the write buffer are written twice.
    CountTwice = 1 << 14,
    /// Setting a counter does not discard the increments that are being written.
    KeepIncrements = 1 << 15,
    /// A sync of the log skips unsynced bytes in older segments.
    SyncNewestSegment = 1 << 16,
    /// A file that several tables share is removed with the first of them.
    RemoveSharedEarly = 1 << 17,
}

impl Switch {
    /// All switches.
    pub const ALL: [Self; 18] = [
        Self::SkipConflictCheck,
        Self::SkipReadValidation,
        Self::ReadLatestInsteadOfSnapshot,
        Self::SkipSync,
        Self::PublishBeforeLog,
        Self::ForgetTombstone,
        Self::DropLastRecordOnReplay,
        Self::ForgetReverseDirection,
        Self::IgnoreChecksum,
        Self::HalfCommitVisible,
        Self::CommitOnRollback,
        Self::ReadUncommitted,
        Self::ForgetPiece,
        Self::ForgetNote,
        Self::CountTwice,
        Self::KeepIncrements,
        Self::SyncNewestSegment,
        Self::RemoveSharedEarly,
    ];
}

#[cfg(not(feature = "fault-switches"))]
mod switched {
    use crate::fault_switch::Switch;

    /// Whether the switch is on. Always false without the feature `fault-switches`.
    #[inline(always)]
    #[must_use]
    pub const fn is_on(_: Switch) -> bool {
        false
    }

    /// Yields to other threads at a gap that a switch opens. Does nothing without the feature.
    #[inline(always)]
    pub const fn pause() {}
}

#[cfg(feature = "fault-switches")]
mod switched {
    use crate::fault_switch::Switch;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// The switch that a guard keeps on; 0 if there is no guard.
    static ON: AtomicU32 = AtomicU32::new(0);

    /// Whether the switch is on. Always false without the feature `fault-switches`.
    #[inline]
    #[must_use]
    pub fn is_on(switch: Switch) -> bool {
        ON.load(Ordering::Relaxed) == switch as u32
    }

    /// Yields to other threads at a gap that a switch opens. Does nothing without the feature.
    pub fn pause() {
        (0..64).for_each(|_| std::thread::yield_now());
    }

    /// Turns `switch` on for the whole process until the guard is dropped. Waits while another
    /// guard exists, so tests of one process take turns.
    #[must_use]
    pub fn on(switch: Switch) -> SwitchedOn {
        while ON.compare_exchange(0, switch as u32, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        SwitchedOn(())
    }

    /// A guard that keeps a switch on.
    #[derive(Debug)]
    pub struct SwitchedOn(());

    impl Drop for SwitchedOn {
        fn drop(&mut self) {
            ON.store(0, Ordering::Release);
        }
    }
}

pub use switched::*;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_switch_has_a_bit_of_its_own() {
        let all = Switch::ALL.iter().fold(0, |all, &switch| all | switch as u32);
        assert_eq!(all, (1 << Switch::ALL.len()) - 1);
    }

    #[test]
    fn nothing_is_broken_unless_a_test_asks() {
        assert!(!Switch::ALL.iter().any(|&switch| is_on(switch)));
    }
}
