//! Flags that the store returned about the keys of a write: whether each existed before. Derives
//! what they imply for the model, and compares them with it. `teller` and `task/write` call it.

use crate::workload::model::{SpaceWrites, State};
use base::{Key, KeyspaceId, Kind};
use std::collections::BTreeMap;

/// The facts that the flags of a write imply.
pub struct Told {
    /// Whether every row was a delete of an absent key, so that nothing was committed.
    pub nothing: bool,
    /// Keys whose deletes found no row.
    pub absent: Vec<(KeyspaceId, Key)>,
}

/// Evaluates the flags in `existed`.
///
/// # Errors
/// The number of flags differs from the number of rows.
pub fn told(writes: &[SpaceWrites], existed: &[bool]) -> Result<Told, String> {
    let rows: usize = writes.iter().map(|table| table.rows.len()).sum();
    if rows != existed.len() {
        return Err(format!("{rows} rows were written, {} flags were told", existed.len()));
    }
    let mut told = Told { nothing: true, absent: Vec::new() };
    let mut flags = existed.iter();
    for table in writes {
        told.nothing &= table.ranges.is_empty();
        let mut last = BTreeMap::new();
        for ((key, kind, _), there) in table.rows.iter().zip(&mut flags) {
            last.insert(key, (*kind, *there));
        }
        for (key, (kind, there)) in last {
            if kind == Kind::Delete && !there {
                told.absent.push((table.id, key.clone()));
            } else {
                told.nothing = false;
            }
        }
    }
    Ok(told)
}

/// Compares the flags with the state before the write.
///
/// # Errors
/// A wrong flag.
pub fn check(writes: &[SpaceWrites], existed: &[bool], before: &State) -> Result<(), String> {
    let mut flags = existed.iter();
    for table in writes {
        let rows = before.rows(table.id);
        for ((key, _, _), there) in table.rows.iter().zip(&mut flags) {
            if rows.contains_key(key) != *there {
                let (id, not) = (table.id.0, if *there { "" } else { "not " });
                return Err(format!(
                    "a write was told that {key:?} of keyspace {id} was {not}there"
                ));
            }
        }
    }
    Ok(())
}
