//! Groups of gaps between the last words of a block's keys.
//!
//! # Why patches
//! A group has one bit width. Gaps that are too wide for it are patched in after decoding (as in
//! PFOR: Zukowski et al., ICDE 2006). Otherwise one hub would make 127 other gaps as wide as its
//! own.
//!
//! # Invariants
//! 1. A group is its packed gaps, then the positions of the patches, ascending, then their packed
//!    high bits. Its shape gives the length of each part.
//! 2. All slices of a [`Group`] lie inside the block, including the padding that decoding reads
//!    past them.

use super::bitpack::{self, PADDING_BYTES, data_bytes, width_of};
use base::prefetch::{prefetch_front, prefetch_value};

/// Gaps in a group.
pub(super) const GROUP_SLOTS: usize = 128;

/// Bytes that say how a group is packed: width, patches, bits of a patch.
pub(super) const SHAPE_BYTES: usize = 3;

/// Appends one group: packed gaps, then the places of the patches, then their packed high bits.
pub(super) fn encode_group(gaps: &[u64], shapes: &mut Vec<u8>, stream: &mut Vec<u8>) {
    let mut of_width = [0_usize; 65];
    for &gap in gaps {
        of_width[width_of(gap) as usize] += 1;
    }
    let widest = of_width.iter().rposition(|&count| count > 0).unwrap_or(0);
    let (mut width, mut patches) = (widest, 0);
    let mut best = data_bytes(widest as u8, gaps.len());
    let mut wider = 0;
    for candidate in (0..widest).rev() {
        wider += of_width[candidate + 1];
        let high = data_bytes((widest - candidate) as u8, wider);
        let bytes = data_bytes(candidate as u8, gaps.len()) + wider + high;
        if bytes < best {
            (best, width, patches) = (bytes, candidate, wider);
        }
    }
    let high_width = if patches == 0 { 0 } else { widest - width };
    shapes.extend_from_slice(&[width as u8, patches as u8, high_width as u8]);
    bitpack::pack_data(gaps, 0, width as u8, stream);
    if patches > 0 {
        let places = gaps.iter().enumerate().filter(|(_, gap)| **gap >> width != 0);
        let mut high = Vec::with_capacity(patches);
        for (place, &gap) in places {
            stream.push(place as u8);
            high.push(gap >> width);
        }
        bitpack::pack_data(&high, 0, high_width as u8, stream);
    }
}

/// One group of gaps; all slices are inside the block.
pub(super) struct Group<'a> {
    /// From the packed gaps to the end of the block's stream and its padding.
    pub(super) bytes: &'a [u8],
    pub(super) width: u8,
    pub(super) patches: &'a [u8],
    high: &'a [u8],
    high_width: u8,
}

impl<'a> Group<'a> {
    /// The group with this number of slots at the front of `bytes`. Returns `None` if it does not
    /// fit, which means that the bytes are damaged.
    #[inline(always)]
    pub(super) fn parse(shape: &[u8], bytes: &'a [u8], slots: usize) -> Option<Self> {
        let (width, patches, high_width) = (shape[0], shape[1] as usize, shape[2]);
        let packed = data_bytes(width, slots);
        let high = if patches == 0 { 0 } else { data_bytes(high_width, patches) };
        if width > 64 || high_width > 64 || packed + patches + high + PADDING_BYTES > bytes.len() {
            return None;
        }
        let (places, rest) = bytes[packed..].split_at(patches);
        Some(Group { bytes, width, patches: places, high: rest, high_width })
    }

    /// Prefetches this number of cache lines of gaps from a position on, and the patches.
    #[inline]
    pub(super) fn prefetch(&self, place: usize, lines: usize) {
        let at = data_bytes(self.width, place).min(self.bytes.len());
        prefetch_front(&self.bytes[at..], lines);
        prefetch_value(self.patches);
    }

    /// Decodes the gaps from place `start` on.
    #[inline]
    pub(super) fn unpack(&self, start: usize, out: &mut [u64]) {
        bitpack::unpack(self.bytes, self.width, start, 0, out);
        for (i, &place) in self.patches.iter().enumerate() {
            if let Some(gap) = usize::from(place).checked_sub(start).and_then(|at| out.get_mut(at))
            {
                let high = bitpack::get(self.high, self.high_width, i);
                *gap |= high.checked_shl(u32::from(self.width)).unwrap_or(0);
            }
        }
    }
}

/// The gaps of a group one after another, from any place: for few of them this beats the loops made
/// per width, whose choice and whose ends no processor predicts.
pub(super) struct Walk<'a> {
    group: Group<'a>,
    place: usize,
    /// The next patch and its place.
    patch: usize,
    patch_place: usize,
}

impl<'a> Walk<'a> {
    #[inline(always)]
    pub(super) fn new(group: Group<'a>, place: usize) -> Self {
        let patch = group.patches.iter().filter(|&&at| usize::from(at) < place).count();
        let patch_place = group.patches.get(patch).map_or(usize::MAX, |&at| usize::from(at));
        Self { group, place, patch, patch_place }
    }

    /// The next gap; at most as many as the group has slots from the place on.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u64 {
        let group = &self.group;
        let mut gap = bitpack::get(group.bytes, group.width, self.place);
        if self.place == self.patch_place {
            let high = bitpack::get(group.high, group.high_width, self.patch);
            gap |= high.checked_shl(u32::from(group.width)).unwrap_or(0);
            self.patch += 1;
            self.patch_place = group.patches.get(self.patch).map_or(usize::MAX, |&at| at.into());
        }
        self.place += 1;
        gap
    }
}
