//! Switches that break the engine on purpose, so that tests can show that they would notice.
//!
//! # Why in the engine
//! A checker that never complains proves nothing. Each switch takes out one thing that a promise
//! rests on; a test turns it on, runs the very checker that passes on the sound engine, and asserts
//! that it complains.
//!
//! # Invariants
//! 1. Without the feature `sabotage`, [`is_on`] is the constant `false`: the compiler removes the
//!    switches.
//! 2. No release can carry them: the feature does not compile without debug assertions, which the
//!    release profile lacks, and neither the Python module nor the command ever enables it.
//! 3. A switch is on only while the guard that `on` returned lives, and one at a time in a process.

#[cfg(all(feature = "sabotage", not(debug_assertions)))]
compile_error!(
    "the feature `sabotage` breaks the engine on purpose; it is for tests, never for a release"
);

/// What can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Switch {
    /// A commit does not look whether rows it writes have changed since its snapshot.
    SkipConflictCheck = 1 << 0,
    /// A serializable commit does not look whether rows and ranges it read have changed.
    SkipReadValidation = 1 << 1,
    /// Snapshots and transactions read the newest state instead of their moment.
    ReadLatestInsteadOfSnapshot = 1 << 2,
    /// The log is not synced where a commit promises it.
    SkipSync = 1 << 3,
    /// A commit is visible before it is in the log.
    PublishBeforeLog = 1 << 4,
    /// Flush and compaction drop a delete although deeper levels may hold its key.
    ForgetTombstone = 1 << 5,
    /// Recovery leaves the last commit of the log out.
    DropLastRecordOnReplay = 1 << 6,
    /// A graph writes its edges in one direction only.
    ForgetReverseDirection = 1 << 7,
    /// Blocks of tables are used whatever their checksum says.
    IgnoreChecksum = 1 << 8,
    /// The rows of a commit become visible one by one.
    HalfCommitVisible = 1 << 9,
    /// Rolling a transaction back commits it.
    CommitOnRollback = 1 << 10,
    /// What a transaction writes is visible to others at once.
    ReadUncommitted = 1 << 11,
    /// A long blob that is put whole loses its last piece.
    ForgetPiece = 1 << 12,
    /// A blob that is written in pieces leaves no note of them.
    ForgetNote = 1 << 13,
    /// Increments that waited are written twice.
    CountTwice = 1 << 14,
    /// A number that is set does not take away the increments that are being written.
    KeepIncrements = 1 << 15,
    /// A sync of the log leaves out what lies in its older segments and was not synced when they
    /// were full.
    SyncNewestSegment = 1 << 16,
}

impl Switch {
    /// All.
    pub const ALL: [Self; 17] = [
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
    ];
}

#[cfg(not(feature = "sabotage"))]
mod switched {
    use super::Switch;

    /// Whether the switch is on. Without the feature `sabotage`: never.
    #[inline(always)]
    #[must_use]
    pub const fn is_on(_: Switch) -> bool {
        false
    }

    /// Gives other threads a moment where a switch has opened a gap. Without the feature: nothing.
    #[inline(always)]
    pub const fn pause() {}
}

#[cfg(feature = "sabotage")]
mod switched {
    use super::Switch;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Set by the one guard alive.
    static ON: AtomicU32 = AtomicU32::new(0);

    /// Whether the switch is on. Without the feature `sabotage`: never.
    #[inline]
    #[must_use]
    pub fn is_on(switch: Switch) -> bool {
        ON.load(Ordering::Relaxed) == switch as u32
    }

    /// Gives other threads a moment where a switch has opened a gap. Without the feature: nothing.
    pub fn pause() {
        (0..64).for_each(|_| std::thread::yield_now());
    }

    /// Turns `switch` on for the whole process until the guard is dropped. While another guard
    /// lives, waits for it: tests of one process take turns.
    #[must_use]
    pub fn on(switch: Switch) -> Sabotaged {
        while ON.compare_exchange(0, switch as u32, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            std::thread::yield_now();
        }
        Sabotaged(())
    }

    /// A switch is on while this lives.
    #[derive(Debug)]
    pub struct Sabotaged(());

    impl Drop for Sabotaged {
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
