//! The bytes of one simulated file, and the effect of a power cut on them.
//!
//! `disk` owns one for each file.
//!
//! The current content is stored in full, together with the durable content of each 512-byte sector
//! that has changed since the last sync. So a read is a copy, a sync discards the old sectors, and
//! a power cut takes time proportional to the number of dirty sectors.
//!
//! # Invariants
//! 1. A sector that begins before `durable_bytes` and is not in `old` is on disk as it is in
//!    `live`.
//! 2. Every sector with a byte between `least_bytes` and `durable_bytes` is in `old`.
//! 3. `marked` has exactly the sectors in `old`.
//! 4. All bytes from `written_end` on are zero.

use crate::faults::FaultCounts;
use crate::random::Random;

/// Unit that the disk writes atomically: a power cut never leaves half of one, unless sectors may
/// tear.
pub(crate) const SECTOR_BYTES: usize = 512;

/// One file's content.
#[derive(Debug, Default)]
pub(crate) struct Content {
    live: Vec<u8>,
    /// Length that the last sync made durable, in bytes.
    durable_bytes: usize,
    /// Shortest length since the last sync: less than `durable_bytes` after a truncation.
    least_bytes: usize,
    /// End of the last byte written, so that preallocated space costs nothing.
    written_end: usize,
    /// Sectors changed since the last sync, in the order of their first change.
    old: Vec<Old>,
    /// Durable content of these sectors, `SECTOR_BYTES` each.
    old_bytes: Vec<u8>,
    /// A bitmap of the sectors in `old`.
    marked: Vec<u64>,
    /// Number of sectors in `old` that a failed sync has lost.
    lost: usize,
}

#[derive(Clone, Copy, Debug)]
struct Old {
    sector: u32,
    /// Whether a failed sync dropped it: the kernel considers it clean, so no later sync writes it.
    lost: bool,
}

/// How a power cut treats unsynced bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    pub(crate) keep: Keep,
    /// Chance, in a million, that a surviving sector is torn.
    pub(crate) torn_ppm: u32,
    /// Whether lost sectors past the durable end may read as garbage instead of zeros.
    pub(crate) garbage: bool,
}

/// Which dirty sectors survive.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep {
    /// Each with this chance in a million.
    Chance(u32),
    /// Those written first, up to a random number for each file.
    Prefix,
}

impl Content {
    /// A file of `len` zeros: preallocated, its length not durable yet.
    pub(crate) fn zeros(len: usize) -> Self {
        // The allocator returns zeroed pages, which take no memory until they are touched.
        Self { live: vec![0; len], ..Self::default() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.live
    }

    pub(crate) fn len(&self) -> usize {
        self.live.len()
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.live
    }

    pub(crate) fn is_dirty(&self) -> bool {
        !self.old.is_empty() || self.durable_bytes != self.live.len()
    }

    /// Writes `bytes` at offset `at`, which is at most the file's length; the file grows as needed.
    pub(crate) fn write(&mut self, bytes: &[u8], at: usize) {
        let end = at + bytes.len();
        self.remember(at, end);
        let inside = self.live.len().min(end) - at;
        self.live[at..at + inside].copy_from_slice(&bytes[..inside]);
        self.live.extend_from_slice(&bytes[inside..]);
        self.written_end = self.written_end.max(end);
    }

    /// Truncates the file to `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.remember(len, self.live.len());
        self.live.truncate(len);
        self.least_bytes = self.least_bytes.min(len);
        self.written_end = self.written_end.min(len);
    }

    /// Flips one bit on disk, without making the sector dirty.
    pub(crate) fn flip(&mut self, bit: usize) {
        self.live[bit / 8] ^= 1 << (bit % 8);
        self.written_end = self.written_end.max(bit / 8 + 1);
    }

    /// Saves the durable content of the sectors with a byte in `from..to`.
    fn remember(&mut self, from: usize, to: usize) {
        let durable_end = self.durable_bytes.min(to);
        if from >= durable_end {
            // An append may change the sector in which the durable part ends.
            let tail = self.durable_bytes % SECTOR_BYTES;
            if tail == 0 || from >= self.durable_bytes - tail + SECTOR_BYTES || from >= to {
                self.found_again(from, to);
                return;
            }
            self.remember_sector(self.durable_bytes / SECTOR_BYTES);
        }
        for sector in from / SECTOR_BYTES..durable_end.div_ceil(SECTOR_BYTES) {
            self.remember_sector(sector);
        }
        self.found_again(from, to);
    }

    /// Sectors that a failed sync has lost are dirty again if they are written again.
    fn found_again(&mut self, from: usize, to: usize) {
        if self.lost == 0 {
            return;
        }
        for old in &mut self.old {
            let at = old.sector as usize * SECTOR_BYTES;
            if old.lost && at < to && from < at + SECTOR_BYTES {
                old.lost = false;
                self.lost -= 1;
            }
        }
    }

    fn remember_sector(&mut self, sector: usize) {
        if !self.mark(sector) {
            return;
        }
        let at = sector * SECTOR_BYTES;
        let end = (at + SECTOR_BYTES).min(self.live.len()).min(self.durable_bytes);
        self.old_bytes.extend_from_slice(&self.live[at.min(end)..end]);
        self.old_bytes.resize((self.old.len() + 1) * SECTOR_BYTES, 0);
        self.old.push(Old { sector: sector as u32, lost: false });
    }

    /// Marks a sector; returns false if it was marked already.
    fn mark(&mut self, sector: usize) -> bool {
        let (word, bit) = (sector / 64, 1 << (sector % 64));
        if self.marked.len() <= word {
            self.marked.resize(word + 1, 0);
        }
        let fresh = self.marked[word] & bit == 0;
        self.marked[word] |= bit;
        fresh
    }

    fn is_marked(&self, sector: usize) -> bool {
        self.marked.get(sector / 64).is_some_and(|word| word & (1 << (sector % 64)) != 0)
    }

    /// Makes everything durable except writes that an earlier failed sync has lost.
    pub(crate) fn sync(&mut self) {
        self.settle(|_| false);
    }

    /// Fails a sync: each dirty sector reaches the disk or is lost, and is clean from now on.
    /// Sometimes the lost ones leave the page cache, so that reads see the old content immediately.
    pub(crate) fn fail_sync(&mut self, random: &mut Random) {
        let lost_ppm = [500_000, 1_000_000, 100_000][random.index(3)];
        let evicted = random.below(4) == 0;
        // Appended sectors have no durable content; a lost one reads as zeros.
        let first = self.durable_bytes.div_ceil(SECTOR_BYTES);
        let end = self.written_end.min(self.live.len()).div_ceil(SECTOR_BYTES);
        for sector in first..end {
            if !self.is_marked(sector) && random.chance(lost_ppm) {
                self.mark(sector);
                self.old.push(Old { sector: sector as u32, lost: true });
                self.old_bytes.resize(self.old.len() * SECTOR_BYTES, 0);
                self.lost += 1;
            }
        }
        self.settle(|_| random.chance(lost_ppm));
        if evicted {
            for (old, bytes) in self.old.iter().zip(self.old_bytes.chunks(SECTOR_BYTES)) {
                put(&mut self.live, old.sector as usize * SECTOR_BYTES, bytes);
            }
        }
    }

    /// Discards the old content of sectors that reached the disk: those lost neither earlier nor
    /// now.
    fn settle(&mut self, mut is_lost: impl FnMut(u32) -> bool) {
        let live = self.live.len();
        let mut kept = 0;
        self.lost = 0;
        for i in 0..self.old.len() {
            let Old { sector, lost } = self.old[i];
            let at = sector as usize * SECTOR_BYTES;
            if at < live && (lost || is_lost(sector)) {
                self.old_bytes
                    .copy_within(i * SECTOR_BYTES..(i + 1) * SECTOR_BYTES, kept * SECTOR_BYTES);
                self.old[kept] = Old { sector, lost: true };
                kept += 1;
            } else {
                self.marked[sector as usize / 64] &= !(1 << (sector % 64));
            }
        }
        self.lost = kept;
        self.old.truncate(kept);
        self.old_bytes.truncate(kept * SECTOR_BYTES);
        (self.durable_bytes, self.least_bytes) = (live, live);
    }

    /// Replaces the contents by those on the disk after a power cut.
    pub(crate) fn cut_power(
        &mut self,
        loss: Loss,
        garbage: &[u8],
        random: &mut Random,
        counts: &mut FaultCounts,
    ) {
        let truncation_lost = self.least_bytes < self.durable_bytes && random.coin();
        // Below `base` a lost sector falls back to its durable content; above, to zeros or garbage.
        let (base, len) = if truncation_lost {
            (self.least_bytes / SECTOR_BYTES * SECTOR_BYTES, self.durable_bytes)
        } else {
            (self.least_bytes, self.len_after(loss, random))
        };
        let mut cut = PowerCut { loss, random, counts, left: 0 };
        cut.left = cut.random.index(self.old.len() + self.appended_sectors(base) + 1);
        for (i, old) in self.old.iter().enumerate() {
            let at = old.sector as usize * SECTOR_BYTES;
            if at >= base {
                continue;
            }
            let kept = if old.lost { 0 } else { cut.kept_bytes() };
            let sector = &mut self.old_bytes[i * SECTOR_BYTES..(i + 1) * SECTOR_BYTES];
            sector[SECTOR_BYTES.min(base - at)..].fill(0);
            put(&mut self.live, at + kept, &sector[kept..]);
        }
        if truncation_lost {
            self.live.resize(len, 0);
            for (old, bytes) in self.old.iter().zip(self.old_bytes.chunks(SECTOR_BYTES)) {
                let at = old.sector as usize * SECTOR_BYTES;
                if at >= base {
                    put(&mut self.live, at, bytes);
                }
            }
        } else {
            self.live.truncate(len);
            let first = base.div_ceil(SECTOR_BYTES);
            for sector in first..self.written_end.min(len).div_ceil(SECTOR_BYTES) {
                let at = sector * SECTOR_BYTES;
                let kept = cut.kept_bytes();
                let end = len.min(at + SECTOR_BYTES);
                let lost = &mut self.live[(at + kept).min(end)..end];
                lost.fill(0);
                if loss.garbage && !garbage.is_empty() {
                    let from = at % garbage.len();
                    let n = lost.len().min(garbage.len() - from);
                    lost[..n].copy_from_slice(&garbage[from..from + n]);
                }
            }
        }
        self.old.clear();
        self.old_bytes.clear();
        self.marked.clear();
        self.lost = 0;
        (self.durable_bytes, self.least_bytes) = (self.live.len(), self.live.len());
        let written_end = self.written_end.next_multiple_of(SECTOR_BYTES);
        self.written_end =
            if truncation_lost { self.live.len() } else { self.live.len().min(written_end) };
    }

    /// The surviving length: from the shortest since the last sync up to the current one.
    fn len_after(&self, loss: Loss, random: &mut Random) -> usize {
        let (base, live) = (self.least_bytes, self.live.len());
        match (loss.keep, random.below(4)) {
            (Keep::Chance(0), 0..3) | (_, 0) => base,
            (_, 1) => base + random.index(live - base + 1),
            _ => live,
        }
    }

    fn appended_sectors(&self, base: usize) -> usize {
        self.written_end.div_ceil(SECTOR_BYTES).saturating_sub(base.div_ceil(SECTOR_BYTES))
    }
}

/// Copies the part of `bytes` that is inside the file to offset `at`.
fn put(live: &mut [u8], at: usize, bytes: &[u8]) {
    if at < live.len() {
        let n = bytes.len().min(live.len() - at);
        live[at..at + n].copy_from_slice(&bytes[..n]);
    }
}

struct PowerCut<'a> {
    loss: Loss,
    random: &'a mut Random,
    counts: &'a mut FaultCounts,
    /// Number of sectors still to keep, under [`Keep::Prefix`].
    left: usize,
}

impl PowerCut<'_> {
    /// Number of new bytes in the next sector: all, none, or some if it is torn.
    fn kept_bytes(&mut self) -> usize {
        let keep = match self.loss.keep {
            Keep::Chance(ppm) => self.random.chance(ppm),
            Keep::Prefix => {
                let keep = self.left > 0;
                self.left -= usize::from(keep);
                keep
            }
        };
        if !keep {
            self.counts.sectors_lost += 1;
            return 0;
        }
        if self.random.chance(self.loss.torn_ppm) {
            self.counts.sectors_torn += 1;
            return self.random.index(SECTOR_BYTES);
        }
        self.counts.sectors_kept += 1;
        SECTOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS: Loss = Loss { keep: Keep::Chance(500_000), torn_ppm: 0, garbage: false };

    /// Sector `i` of `bytes`, with zeros past the end.
    fn sector(bytes: &[u8], i: usize) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        let piece = bytes.get(i * SECTOR_BYTES..).unwrap_or(&[]);
        let len = piece.len().min(SECTOR_BYTES);
        sector[..len].copy_from_slice(&piece[..len]);
        sector
    }

    /// Random writes, truncations and syncs, with copies of the file as of the last sync and of
    /// each later state. After a power cut each sector equals one of these, perhaps cut where the
    /// file was truncated, and the length is between theirs.
    #[test]
    fn a_power_cut_leaves_each_sector_as_it_was_at_some_moment_since_the_sync() {
        let mut kept_all = 0;
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let mut file = Content::default();
            let mut since = vec![Vec::new()];
            for _ in 0..random.below(12) {
                let len = file.len();
                match random.below(8) {
                    0 => {
                        file.sync();
                        since.clear();
                    }
                    1 => file.truncate(random.index(len + 1)),
                    2..5 => file.write(&[random.word() as u8; 900][..random.index(900)], len),
                    _ => file.write(
                        &[random.word() as u8; 900][..random.index(900)],
                        random.index(len + 1),
                    ),
                }
                since.push(file.bytes().to_vec());
            }
            let live = since[since.len() - 1].clone();
            file.cut_power(LOSS, &[], &mut random, &mut FaultCounts::default());
            let found = file.bytes();
            assert!(!file.is_dirty());
            if since.len() == 1 {
                assert_eq!(found, live, "seed {seed}");
            }
            kept_all += u32::from(found == live);
            let lengths = since.iter().map(Vec::len);
            let (least, most) = (lengths.clone().min().unwrap(), lengths.max().unwrap());
            assert!((least..=most).contains(&found.len()), "seed {seed}");
            for i in 0..found.len().div_ceil(SECTOR_BYTES) {
                let inside = SECTOR_BYTES.min(found.len() - i * SECTOR_BYTES);
                let is = |bytes: &[u8]| sector(bytes, i)[..inside] == sector(found, i)[..inside];
                let was = |bytes: &Vec<u8>| is(bytes) || is(&bytes[..least]);
                assert!(since.iter().any(was) || is(&[]), "seed {seed}, sector {i}");
            }
        }
        assert!((300..2700).contains(&kept_all), "{kept_all}");
    }

    #[test]
    fn a_preallocated_rest_is_not_looked_at() {
        let mut file = Content::zeros(1 << 26);
        file.sync();
        file.write(&[1; 100], 1000);
        assert_eq!(file.old.len(), 2);
        let mut counts = FaultCounts::default();
        file.cut_power(LOSS, &[], &mut Random::new(1), &mut counts);
        assert_eq!(counts.sectors_lost + counts.sectors_kept, 2);
    }
}
