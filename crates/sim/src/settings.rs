//! Properties of a machine, fixed or random.

use crate::faults::FaultPlan;
use crate::random::{MILLION, Random};

/// Which unsynced changes of names can survive a power cut without earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameOrder {
    /// One journal for the whole disk: a prefix of all changes survives.
    Journal,
    /// One journal for each folder.
    Folder,
    /// Each name by itself: only changes of the same name stay in order.
    #[default]
    Name,
}

/// Properties of the machine. Plain data: the same settings and seed give the same run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Number of jobs that run in parallel, besides one flush; at least 1.
    pub parallelism: usize,
    /// Chance, in a million, that a scheduling point switches to another task that can run.
    pub switch_ppm: u32,
    /// Chances of the faults.
    pub faults: FaultPlan,
    /// Size of the disk, in bytes.
    pub disk_bytes: u64,
    /// Bytes that an appended file buffers; a killed process loses them.
    pub append_buffer_bytes: usize,
    /// Which unsynced changes of names can survive without earlier ones.
    pub name_order: NameOrder,
    /// Chance, in a million, that an unsynced sector that survives a power cut is torn. Real disks
    /// promise 0, and the engine does not rely on it.
    pub torn_ppm: u32,
    /// Steps after which a run counts as endless; the count starts over at each restart.
    pub steps_max: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            parallelism: 3,
            switch_ppm: 100_000,
            faults: FaultPlan::none(),
            disk_bytes: 1 << 40,
            append_buffer_bytes: 4096,
            name_order: NameOrder::default(),
            torn_ppm: 0,
            steps_max: 50_000_000,
        }
    }
}

impl Settings {
    /// Random settings: one to four workers, switches from rare to one at each operation. Faults as
    /// [`FaultPlan::swarm`] draws them.
    #[must_use]
    pub fn swarm(random: &mut Random) -> Self {
        Self {
            parallelism: 1 + random.index(4),
            switch_ppm: [1_000, 20_000, 200_000, MILLION][random.index(4)],
            faults: FaultPlan::swarm(random),
            append_buffer_bytes: [0, 512, 4096, 1 << 20][random.index(4)],
            name_order: [NameOrder::Journal, NameOrder::Folder, NameOrder::Name][random.index(3)],
            ..Self::default()
        }
    }
}
