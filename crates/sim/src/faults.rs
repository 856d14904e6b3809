//! What can go wrong on the simulated machine, how often, and how often it did.
//!
//! # Invariants
//! 1. A fault whose chance is 0 draws nothing from the seed: the rest of the run stays as it was.
//! 2. A fault is counted when it has had its effect, not when it was drawn.

use crate::Random;

/// How a process comes to its end in the middle of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The machine loses power: what was not synced is lost, torn or reordered.
    Power,
    /// The process is killed, the machine lives: what was written stays, what was buffered is lost.
    Kill,
}

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// A read fails.
    ReadFails,
    /// A read finds fewer bytes than the file has: `UnexpectedEof`.
    ReadShort,
    /// A write fails, with any part of its bytes written.
    WriteFails,
    /// A sync of a file fails: any part of what it should have kept is lost, and never tried again.
    SyncFails,
    /// Creating, renaming, removing or linking fails, or a folder's sync.
    NameFails,
    /// There is no room: an operation that needs some fails, also before the disk is full.
    DiskFull,
    /// A read, write or sync takes up to a second of simulated time.
    Slow,
    /// One bit of a stored file is another from now on.
    BitFlip,
    /// A write lands in another place of its file, or in another file.
    Misdirected,
    /// A sector of a write keeps its old content, though the write and the sync succeed.
    Stale,
}

impl Fault {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::ReadFails,
        Self::ReadShort,
        Self::WriteFails,
        Self::SyncFails,
        Self::NameFails,
        Self::DiskFull,
        Self::Slow,
        Self::BitFlip,
        Self::Misdirected,
        Self::Stale,
    ];

    /// Whether the disk then holds, or hands out, bytes that nobody wrote there. The engine promises
    /// to detect these faults, not to survive them.
    #[must_use]
    pub fn corrupts(self) -> bool {
        matches!(self, Self::BitFlip | Self::Misdirected | Self::Stale)
    }
}

/// How often each fault happens: times in a million operations that it could happen to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// By [`Fault`], as in [`Fault::ALL`].
    ppm: [u32; Fault::ALL.len()],
    /// Only files whose name holds this text are corrupted (flips, misdirected and stale blocks).
    pub corrupt_only: Option<&'static str>,
}

impl FaultPlan {
    /// Nothing fails but what a crash loses.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Chance of `fault`, in a million operations that it can happen to.
    #[must_use]
    pub fn ppm(&self, fault: Fault) -> u32 {
        self.ppm[fault as usize]
    }

    /// The plan with this chance for `fault`.
    #[must_use]
    pub fn with(mut self, fault: Fault, ppm: u32) -> Self {
        self.ppm[fault as usize] = ppm;
        self
    }

    /// A swarm plan: mostly one kind of fault at a time, seldom several, often none; so that each
    /// has the runs that only it disturbs. Without those that corrupt.
    #[must_use]
    pub fn swarm(random: &mut Random) -> Self {
        let kinds = Fault::ALL.map(|fault| (!fault.corrupts()).then_some(fault));
        let kinds: Vec<Fault> = kinds.into_iter().flatten().collect();
        let wanted = match random.below(10) {
            0..4 => 0,
            4..8 => 1,
            _ => kinds.len(),
        };
        let mut plan = Self::none();
        for _ in 0..wanted {
            let fault = kinds[random.index(kinds.len())];
            plan = plan.with(fault, [100, 1_000, 10_000][random.index(3)]);
        }
        plan
    }

    /// As [`FaultPlan::swarm`], for the faults that the engine must detect: one kind of them.
    #[must_use]
    pub fn swarm_of_corruption(random: &mut Random) -> Self {
        let kinds = [Fault::BitFlip, Fault::Misdirected, Fault::Stale];
        let fault = kinds[random.index(kinds.len())];
        Self::none().with(fault, [1_000, 5_000, 20_000][random.index(3)])
    }
}

/// How often each fault has happened, and each crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    faults: [u64; Fault::ALL.len()],
    /// Power cuts.
    pub power_cuts: u64,
    /// Killed processes.
    pub kills: u64,
    /// 512-byte sectors that a power cut lost.
    pub sectors_lost: u64,
    /// Sectors that a power cut kept although nobody had synced them.
    pub sectors_kept: u64,
    /// Sectors that a power cut left half old, half new.
    pub sectors_torn: u64,
    /// Changes of names (create, rename, remove, link) that a power cut lost.
    pub names_lost: u64,
    /// Changes of names that a power cut kept although nobody had synced the folder.
    pub names_kept: u64,
}

impl FaultCounts {
    /// How often `fault` has had its effect.
    #[must_use]
    pub fn of(&self, fault: Fault) -> u64 {
        self.faults[fault as usize]
    }

    /// All faults together, crashes not counted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// Faults after which stored bytes are no longer what was written.
    #[must_use]
    pub fn corruptions(&self) -> u64 {
        Fault::ALL.iter().filter(|fault| fault.corrupts()).map(|&fault| self.of(fault)).sum()
    }

    pub(crate) fn count(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }
}
