//! The distinct items of a list after `in`.
//!
//! # Invariants
//! 1. Items are distinct: a rule's body holds for a value or does not, however often the list
//!    contains it.

use crate::error::{Error, Result};
use crate::value::cell::Cell;
use hashbrown::HashSet;
use model::Value;
use syntax::Span;

/// Items that are compared one by one: a set would take longer to build.
const FEW: usize = 8;

/// The distinct items of a list, in its order.
pub(crate) struct ListItems {
    /// The items.
    pub cells: Vec<Cell>,
    /// The same as a set, if there are many.
    set: HashSet<Cell, foldhash::fast::FixedState>,
}

impl ListItems {
    /// The distinct items of a list. `is_asked` says whether values are looked up in it.
    pub(crate) fn new(mut cells: Vec<Cell>, is_asked: bool) -> Self {
        let mut set = HashSet::default();
        if !is_asked && ascend(&cells) {
            return Self { cells, set };
        }
        if cells.len() <= FEW {
            let mut kept = Vec::with_capacity(cells.len());
            cells.retain(|cell| {
                let is_new = !kept.contains(cell);
                kept.push(*cell);
                is_new
            });
        } else {
            set.reserve(cells.len());
            cells.retain(|&cell| set.insert(cell));
        }
        Self { cells, set }
    }

    /// Whether a value is one of the items.
    pub(crate) fn has(&self, cell: Cell) -> bool {
        match self.set.is_empty() {
            true => self.cells.contains(&cell),
            false => self.set.contains(&cell),
        }
    }
}

/// Whether the cells are strictly ascending integers, as those of a range: then they are distinct.
fn ascend(cells: &[Cell]) -> bool {
    let ascends = |pair: &[Cell]| match (pair[0].as_small_int(), pair[1].as_small_int()) {
        (Some(a), Some(b)) => a < b,
        _ => false,
    };
    cells.windows(2).all(ascends)
}

/// Checks that a value is a list.
///
/// # Errors
/// The value is not a list.
pub fn check_list(value: &Value, span: Span) -> Result<()> {
    match value {
        Value::List(_) => Ok(()),
        other => Err(not_a_list(other.kind(), span)),
    }
}

pub(crate) fn not_a_list(found: &str, span: Span) -> Error {
    Error::value(format!("`in` expects a list, found {found}"), span)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::cell::Interner;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn items_are_the_different_ones_of_a_list_in_its_order(
            list in prop::collection::vec(-20_i64..20, 0..30),
            is_asked in any::<bool>(),
        ) {
            let interner = Interner::default();
            let items = ListItems::new(list.iter().map(|&int| interner.int(int)).collect(), is_asked);
            let mut once: Vec<i64> = Vec::new();
            list.iter().for_each(|int| if !once.contains(int) { once.push(*int) });
            let found: Vec<i64> = items.cells.iter().filter_map(|cell| cell.as_small_int()).collect();
            prop_assert_eq!(found, once);
            for int in -20..20 {
                prop_assert_eq!(items.has(interner.int(int)), list.contains(&int));
            }
        }
    }
}
