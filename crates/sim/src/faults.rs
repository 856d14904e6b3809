//! The faults of the simulated machine: their kinds, their chances, and how often they happened.
//!
//! # Invariants
//! 1. A fault with chance 0 draws nothing from the seed, so that the rest of the run does not
//!    change.
//! 2. A fault is counted when it takes effect, not when it is drawn.

use crate::random::Random;

/// How a process ends in the middle of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The machine loses power: unsynced bytes and names are lost, torn or reordered.
    Power,
    /// The process is killed and the machine continues: written bytes stay, buffered ones are lost.
    Kill,
}

/// One kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Fault {
    /// A read fails.
    ReadFails,
    /// A read returns fewer bytes than the file has: `UnexpectedEof`.
    ReadShort,
    /// A write fails, with any part of its bytes written.
    WriteFails,
    /// A sync of a file fails: any part of its dirty bytes is lost, and no later sync writes it.
    SyncFails,
    /// Creating, renaming, removing or linking fails, or the sync of a folder.
    NameFails,
    /// An operation that needs space fails, also before the disk is full.
    DiskFull,
    /// The file of a table cannot be created for lack of a descriptor. The engine promises to
    /// continue.
    NoDescriptor,
    /// A read, write or sync takes up to a second of simulated time.
    Slow,
    /// One bit of a stored file is flipped.
    BitFlip,
    /// A write goes to another offset of its file, or to another file.
    Misdirected,
    /// One sector of a write keeps its old content, though write and sync succeed.
    Stale,
}

impl Fault {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 11] = [
        Self::ReadFails,
        Self::ReadShort,
        Self::WriteFails,
        Self::SyncFails,
        Self::NameFails,
        Self::DiskFull,
        Self::NoDescriptor,
        Self::Slow,
        Self::BitFlip,
        Self::Misdirected,
        Self::Stale,
    ];

    /// Whether the disk afterwards stores or returns bytes that were never written there. The
    /// engine promises to detect these faults, not to survive them.
    #[must_use]
    pub fn corrupts(self) -> bool {
        matches!(self, Self::BitFlip | Self::Misdirected | Self::Stale)
    }
}

/// How often each fault happens: its chance in a million operations that it can happen to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Indexed by [`Fault`], in the order of [`Fault::ALL`].
    ppm: [u32; Fault::ALL.len()],
    /// If set, only files whose name contains it are corrupted (flips, misdirected and stale
    /// sectors).
    pub corrupt_only: Option<&'static str>,
}

impl FaultPlan {
    /// No faults.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Chance of `fault`, in a million operations that it can happen to.
    #[must_use]
    pub fn ppm(&self, fault: Fault) -> u32 {
        self.ppm[fault as usize]
    }

    /// Sets the chance of `fault`.
    #[must_use]
    pub fn with(mut self, fault: Fault, ppm: u32) -> Self {
        self.ppm[fault as usize] = ppm;
        self
    }

    /// A random plan without corruption: mostly one kind of fault, rarely all, often none. So each
    /// kind has runs that no other kind disturbs (swarm testing).
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

/// How often each fault and each crash has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultCounts {
    faults: [u64; Fault::ALL.len()],
    /// Power cuts.
    pub power_cuts: u64,
    /// Killed processes.
    pub kills: u64,
    /// 512-byte sectors that a power cut lost.
    pub sectors_lost: u64,
    /// Unsynced sectors that a power cut kept.
    pub sectors_kept: u64,
    /// Sectors that a power cut left partly old, partly new.
    pub sectors_torn: u64,
    /// Changes of names (create, rename, remove, link) that a power cut lost.
    pub names_lost: u64,
    /// Changes of names that a power cut kept although their folder was not synced.
    pub names_kept: u64,
}

impl FaultCounts {
    /// How often `fault` has taken effect.
    #[must_use]
    pub fn of(&self, fault: Fault) -> u64 {
        self.faults[fault as usize]
    }

    /// All faults together, without crashes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.faults.iter().sum()
    }

    /// Faults after which stored bytes differ from the written ones.
    #[must_use]
    pub fn corruptions(&self) -> u64 {
        Fault::ALL.iter().filter(|fault| fault.corrupts()).map(|&fault| self.of(fault)).sum()
    }

    pub(crate) fn count(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }
}
