//! Changes the simulated disk when the process ends or the power is cut. Called by a restart.
//!
//! # Invariants
//! 1. A change of names survives completely or not at all, and never without the changes it depends
//!    on: see [`NameOrder`].
//! 2. A folder whose own name was lost loses everything in it.

use crate::disk::{Disk, Entry, Part, ROOT};
use crate::disk_file::{Keep, Loss};
use crate::faults::FaultCounts;
use crate::random::{MILLION, Random};
use crate::settings::NameOrder;

impl Disk {
    /// Closes all handles: the process has ended.
    pub(crate) fn close_all(&mut self) {
        for id in 0..self.files.len() {
            self.files[id].handles = 0;
            self.release(id as u32);
        }
    }

    /// Drops a random part of the unsynced writes, and of the unsynced names as `order` allows.
    pub(crate) fn cut_power(
        &mut self,
        order: NameOrder,
        torn_ppm: u32,
        random: &mut Random,
        counts: &mut FaultCounts,
    ) {
        self.cut_names(order, random, counts);
        let keep = match random.below(6) {
            0 => Keep::Chance(0),
            1 => Keep::Chance(MILLION),
            2 => Keep::Chance(MILLION / 2),
            3 => Keep::Chance(MILLION / 10),
            4 => Keep::Chance(MILLION - MILLION / 10),
            _ => Keep::Prefix,
        };
        let loss = Loss { keep, torn_ppm, garbage: random.below(3) == 0 };
        let garbage = self.garbage.iter().next().map_or(&[] as &[u8], Vec::as_slice);
        for id in self.dirty.drain(..) {
            let file = &mut self.files[id as usize];
            file.in_dirty = false;
            if file.names > 0 && file.content.is_dirty() {
                file.content.cut_power(loss, garbage, random, counts);
            }
        }
        self.close_all();
        let counted = self.files.iter().filter(|file| file.counted);
        self.used_bytes = counted.map(|file| file.content.len() as u64).sum();
    }

    fn cut_names(&mut self, order: NameOrder, random: &mut Random, counts: &mut FaultCounts) {
        let changes = std::mem::take(&mut self.changes);
        for part in changes.iter().rev().flat_map(|c| c.second.iter().chain([&c.first])) {
            self.set_name(part.folder, &part.name, part.before);
        }
        let keep_ppm = [0, MILLION, MILLION / 2, MILLION * 9 / 10][random.index(4)];
        let prefix = random.index(changes.len() + 1);
        // Folders and names of lost changes: a later change that depends on one of them is lost
        // too.
        let mut lost: Vec<(u32, &str)> = Vec::new();
        for (i, change) in changes.iter().enumerate() {
            let drawn =
                if order == NameOrder::Journal { i < prefix } else { random.chance(keep_ppm) };
            let follows = |part: &Part| match order {
                NameOrder::Journal => true,
                NameOrder::Folder => lost.iter().all(|&(folder, _)| folder != part.folder),
                NameOrder::Name => !lost.contains(&(part.folder, &*part.name)),
            };
            if drawn && change.parts().all(follows) {
                counts.names_kept += 1;
                for part in change.parts() {
                    self.set_name(part.folder, &part.name, part.after);
                }
            } else {
                counts.names_lost += 1;
                lost.extend(change.parts().map(|part| (part.folder, &*part.name)));
            }
        }
        self.forget(changes);
        self.drop_unreachable();
    }

    /// Empties folders that no path leads to any more.
    fn drop_unreachable(&mut self) {
        let mut reached = vec![false; self.folders.len()];
        let mut next = vec![ROOT];
        while let Some(id) = next.pop() {
            reached[id as usize] = true;
            next.extend(self.folders[id as usize].names.values().filter_map(|entry| match entry {
                Entry::Folder(id) => Some(*id),
                Entry::File(_) => None,
            }));
        }
        for (id, reached) in reached.into_iter().enumerate() {
            if !reached {
                for name in std::mem::take(&mut self.folders[id].names).into_values() {
                    if let Entry::File(file) = name {
                        self.files[file as usize].names -= 1;
                        self.release(file);
                    }
                }
            }
        }
    }
}
