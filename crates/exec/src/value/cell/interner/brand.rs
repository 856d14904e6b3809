//! Brands: which interner, or which generation of shared values, made a cell.
//!
//! # Invariant
//! The brands of interners and those of shared values differ in a bit, so that the one kind can be
//! made as often as it likes beside the other. Brands of one kind repeat after 32,768 of them.

use crate::value::cell::{Cell, INTERNED, SHARED};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The upper half of the words of an interner's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Brand(u32);

impl Brand {
    /// The brand of an interner.
    pub(super) fn new() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self::numbered(MADE.fetch_add(1, Relaxed))
    }

    /// The brand of a generation of shared values.
    pub(super) fn shared() -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Self(Self::numbered(MADE.fetch_add(1, Relaxed)).0 | (SHARED >> 32) as u32)
    }

    fn numbered(number: u64) -> Self {
        Self((INTERNED >> 32) as u32 | (number as u32 & 0x7FFF))
    }

    /// The cell of an entry.
    #[inline]
    pub(super) fn cell(self, place: u32) -> Cell {
        Cell(u64::from(self.0) << 32 | u64::from(place))
    }

    /// The entry of a cell; `None` if the cell is not interned.
    ///
    /// # Panics
    /// If another interner made the cell.
    #[inline]
    pub(super) fn place(self, cell: Cell) -> Option<usize> {
        if !cell.is_interned() {
            return None;
        }
        assert!((cell.0 >> 32) as u32 == self.0, "a cell met an interner that did not make it");
        Some(cell.0 as u32 as usize)
    }
}
