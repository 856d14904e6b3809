//! Checks a call of a view that makes its commits itself: whether it made the expected commit and
//! returned the right flags.

use super::{Outcome, Task};
use crate::workload::model::{SpaceWrites, Writes};
use crate::workload::spaces::Ids;
use crate::workload::teller::Recorded;
use crate::workload::world::Opened;
use base::{Key, KeyspaceId, Kind};
use store::{ErrorKind, Result};

/// Flags that a call returned: whether each key existed. Empty where it returns none.
pub(super) type Flags = Vec<bool>;

/// The expected effect of a call.
pub(super) struct Wanted {
    keys: Vec<Key>,
    /// Whether there may be no commit: nothing is written, or no deleted key exists.
    may_find_nothing: bool,
}

impl Wanted {
    pub(super) fn of(writes: &Writes) -> Self {
        let rows = || writes.iter().flat_map(|table| &table.rows);
        let is_range = |table: &SpaceWrites| !table.ranges.is_empty();
        let deletes = rows().all(|(_, kind, _)| *kind == Kind::Delete);
        let may_find_nothing = deletes && !writes.iter().any(is_range);
        Self { keys: rows().map(|(key, ..)| key.clone()).collect(), may_find_nothing }
    }
}

impl Task {
    /// Checks a call whose commits were reported to the model.
    pub(super) fn judge_told(
        &self,
        opened: &Opened,
        ids: &Ids,
        id: KeyspaceId,
        wanted: Wanted,
        done: Result<Flags>,
        recorded: &Recorded,
    ) -> Outcome {
        let world = &self.world;
        let flags = match done {
            Ok(flags) => flags,
            // Each attempt was checked.
            Err(error) if error.kind() == ErrorKind::Conflict => return Ok(()),
            Err(error) => {
                return world.tolerate("write through a view", &error, ids, opened.generation);
            }
        };
        let Wanted { keys, may_find_nothing } = wanted;
        if recorded.seq.is_none() && !may_find_nothing {
            return Err("the view acknowledged what it did not commit".to_owned());
        }
        let Some(at) = recorded.at.filter(|_| !flags.is_empty()) else { return Ok(()) };
        if at.0 < world.model.borrow().base() {
            return Ok(());
        }
        world.model.borrow_mut().when_known(at.0, move |model| {
            let Some(state) = model.state(at.0) else { return Ok(()) };
            let mut rows = (*state.rows(id)).clone();
            // If a key is named twice, the second flag is false.
            let there: Flags = keys.iter().map(|key| rows.remove(key).is_some()).collect();
            if there == flags {
                return Ok(());
            }
            Err(format!("deletes of {keys:?} told {flags:?}, there was {there:?}"))
        })
    }
}
