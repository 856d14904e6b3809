//! Removal of items in the order of degrees that fall while others are removed.
//!
//! Batagelj and Zaveršnik, "An O(m) algorithm for cores decomposition of networks" (2003). The
//! items are the vertices of a core decomposition, or the edges of a truss decomposition.

use crate::error::Stopped;
use crate::limits::{STRIDE, Ticker};

/// Items in the order of their degrees.
///
/// # Invariants
/// 1. `order[places[item]] == item`.
/// 2. Items of degree `d` or more that were not removed yet are at `starts[d]` and later.
pub(crate) struct PeelQueue {
    degrees: Vec<u32>,
    order: Vec<u32>,
    places: Vec<u32>,
    starts: Vec<u32>,
}

impl PeelQueue {
    /// At most `u32::MAX` items, each with a degree below that.
    pub(crate) fn new(degrees: Vec<u32>, ticker: &mut Ticker<'_>) -> Result<Self, Stopped> {
        let most = degrees.iter().max().map_or(0, |&most| most as usize);
        let mut starts = vec![0; most + 2];
        for part in degrees.chunks(STRIDE) {
            part.iter().for_each(|&degree| starts[degree as usize + 1] += 1);
            ticker.tick(part.len())?;
        }
        for degree in 1..starts.len() {
            starts[degree] += starts[degree - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![0; degrees.len()];
        let mut places = vec![0; degrees.len()];
        for (item, &degree) in (0..).zip(&degrees) {
            let place = &mut next[degree as usize];
            order[*place as usize] = item;
            places[item as usize] = *place;
            *place += 1;
            ticker.tick(1)?;
        }
        Ok(Self { degrees, order, places, starts })
    }

    /// The item that is removed after `i` others, once those are removed.
    pub(crate) fn item(&self, i: usize) -> u32 {
        self.order[i]
    }

    pub(crate) fn degree(&self, item: u32) -> u32 {
        self.degrees[item as usize]
    }

    /// The degree of each item when it was removed.
    pub(crate) fn into_degrees(self) -> Vec<u32> {
        self.degrees
    }

    /// Moves an item that was not removed to those whose degree is smaller by one: it changes
    /// places with the first item of its own degree. Its degree must be greater than that of the
    /// item that is being removed.
    pub(crate) fn lower(&mut self, item: u32) {
        let degree = &mut self.degrees[item as usize];
        let first_place = &mut self.starts[*degree as usize];
        let first = self.order[*first_place as usize];
        let place = std::mem::replace(&mut self.places[item as usize], *first_place);
        self.order[place as usize] = first;
        self.places[first as usize] = place;
        // After the assignment above: `item` may be the first itself.
        self.places[item as usize] = *first_place;
        self.order[*first_place as usize] = item;
        *first_place += 1;
        *degree -= 1;
    }
}
