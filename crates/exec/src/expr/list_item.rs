//! `get`, `maybe_get`, `first` and `last` of a list, without a copy of the list.
//!
//! # Why
//! Functions take their arguments as values. An item of a list with a million items would cost a
//! copy of the list, for each row.
//!
//! # Invariants
//! 1. The result is that of the function. Where it would be an error or a default, or an argument
//!    is of another kind, the function decides.

use crate::error::Result;
use crate::expr::batch::Rows;
use crate::expr::{Compiled, Computer, Made};
use crate::value::cell::Cell;
use model::{ListItem, Value};

/// Whether a function returns an item of its first argument, which is a list.
pub(crate) fn is_item_of_list(name: &str) -> bool {
    matches!(name, "first" | "last" | "get" | "maybe_get")
}

impl Computer<'_> {
    /// The item that a call asks for, where its list is a constant or a variable. `None` where the
    /// function has to be called.
    ///
    /// # Errors
    /// Those of the index, and of a list that cannot be read.
    pub(crate) fn item_of_list(
        &self,
        name: &str,
        args: &[Compiled],
        rows: &dyn Rows,
        row: usize,
    ) -> Result<Option<Value>> {
        if matches!(args.first(), Some(Compiled::Call { .. } | Compiled::Path { .. })) {
            return Ok(None);
        }
        let index = match (name, args) {
            ("first", [_]) => 0,
            ("last", [_]) => -1,
            ("get" | "maybe_get", [_, Compiled::Const(_) | Compiled::Var(_)]) => {
                let Made::Cell(key) = self.part(&args[1], rows, row)? else { return Ok(None) };
                let Some(index) = key.as_small_int() else { return Ok(None) };
                index
            }
            _ => return Ok(None),
        };
        let item = match &args[0] {
            Compiled::Const(cell) => self.interned_item(*cell, index),
            Compiled::Var(var) => match rows.list_item(*var, row, index)? {
                Some(item) => item,
                None => match rows.made(*var, row)? {
                    Made::Cell(cell) => self.interned_item(cell, index),
                    Made::Value(value) => item_of(&value, index),
                },
            },
            Compiled::Call { .. } | Compiled::Path { .. } => return Ok(None),
        };
        Ok(match item {
            ListItem::Item(value) => Some(value),
            ListItem::Outside if name != "get" => Some(Value::Null),
            ListItem::Outside | ListItem::NotAList => None,
        })
    }

    fn interned_item(&self, list: Cell, index: i64) -> ListItem {
        self.interner.with(list, |list| item_of(list, index))
    }
}

fn item_of(list: &Value, index: i64) -> ListItem {
    let Value::List(items) = list else { return ListItem::NotAList };
    let from_start =
        if index < 0 { index.saturating_add_unsigned(items.len() as u64) } else { index };
    let item = usize::try_from(from_start).ok().and_then(|index| items.get(index));
    item.map_or(ListItem::Outside, |item| ListItem::Item(item.clone()))
}
