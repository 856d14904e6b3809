//! Steps of a follower: a read-only process beside the writer.

use super::{Outcome, Task, whole};
use crate::workload::read::ReadStep;
use crate::workload::spaces::{Ids, LARGE, NAMES};
use crate::workload::world::listed;
use kv::Kv;
use std::collections::BTreeMap;
use std::rc::Rc;
use store::Store;

/// A read-only opening in the second process.
pub(super) struct Follower {
    pub(super) kv: Kv,
    pub(super) seq: u64,
    pub(super) ids: Ids,
}

impl Task {
    /// Opens or refreshes the follower, and compares everything that it sees with the model. It
    /// must not go back, and must see at least the commits that were acknowledged before the call;
    /// under durability `none`, or after a failed sync, those that were durable.
    pub(super) fn follow(&mut self) -> Outcome {
        let world = Rc::clone(&self.world);
        let none = world.swarm.durability == store::Durability::None;
        let (live, floor) = {
            let model = world.model.borrow();
            match world.may_lose_unsynced() {
                true => (BTreeMap::new(), model.durable),
                false => {
                    (model.live.clone(), if none { model.durable } else { model.acknowledged })
                }
            }
        };
        // Damage to the newest records looks like the end of the log.
        let (live, floor) =
            if world.swarm.damages() { (BTreeMap::new(), 0) } else { (live, floor) };
        let done = match &self.follower {
            Some(follower) => follower.kv.refresh(),
            None => world.open(true).map(|kv| {
                self.follower = Some(Follower { kv, seq: 0, ids: Ids::new() });
            }),
        };
        if let Err(error) = done {
            return world.tolerate_follower("follow", &error);
        }
        let Some(follower) = &mut self.follower else { return Ok(()) };
        let snapshot = follower.kv.snapshot();
        let seq = snapshot.seq().0;
        if seq < follower.seq {
            return Err(format!("the follower went back from {} to {seq}", follower.seq));
        }
        if seq < floor {
            return Err(format!("the follower stands at {seq}, but {floor} was committed before"));
        }
        follower.seq = seq;
        follower.ids = listed(&follower.kv)?;
        let model = world.model.borrow();
        let missing = live
            .iter()
            .find(|(slot, id)| follower.ids.get(slot) != Some(id) && !model.dropping.contains(id));
        if let Some((slot, id)) = missing {
            let name = NAMES[usize::from(*slot)];
            return Err(format!("the follower lacks keyspace {} \"{name}\"", id.0));
        }
        drop(model);
        let ids = follower.ids.clone();
        for slot in ids.keys().filter(|slot| **slot != LARGE) {
            let read = whole(*slot);
            match read.ask(&*snapshot, &ids) {
                Ok(found) => self.judge(&read, ids.clone(), found, seq, "in the follower")?,
                Err(error) => world.tolerate_follower("read in the follower", &error)?,
            }
        }
        Ok(())
    }

    /// One read in the follower, without a refresh.
    pub(super) fn follow_read(&self, read: &ReadStep) -> Outcome {
        let Some(follower) = &self.follower else { return Ok(()) };
        let ids: Option<Ids> =
            read.slots().iter().map(|slot| Some((*slot, *follower.ids.get(slot)?))).collect();
        let Some(ids) = ids else { return Ok(()) };
        match read.ask(&follower.kv, &ids) {
            Ok(found) => self.judge(read, ids, found, follower.seq, "in the follower"),
            Err(error) => self.world.tolerate_follower("read in the follower", &error),
        }
    }
}
