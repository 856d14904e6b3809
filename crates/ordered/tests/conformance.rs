//! The adapter keeps the promises of a storage engine, over a map in memory, also where several
//! processes may write.
#![allow(clippy::unwrap_used)]

use env::sync::{Mutex, MutexGuard};
use quipu_ordered::{
    MapRead, MapWriter, Order, OrderedMap, OrderedOptions, OrderedStore, Pair, Writers,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use store::Result;
use testkit::conformance::Place;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// A map that is copied for each commit. Too simple to be wrong.
#[derive(Clone, Default)]
struct CopiedMap(Arc<(Mutex<()>, Mutex<Arc<Pairs>>)>);

struct State(Arc<Pairs>);

struct Writer<'m> {
    state: State,
    map: &'m CopiedMap,
    _alone: MutexGuard<'m, ()>,
}

impl MapRead for State {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        out.extend(keys.iter().map(|key| self.0.get(key).cloned()));
        Ok(())
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        assert!(lower <= upper, "crossed bounds");
        let pairs = self.0.range(lower.to_vec()..upper.to_vec());
        let own = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
        match order {
            Order::Forward => out.extend(pairs.take(limit).map(own)),
            Order::Backward => out.extend(pairs.rev().take(limit).map(own)),
        }
        Ok(())
    }
}

impl MapRead for Writer<'_> {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        self.state.get(keys, out)
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        self.state.scan(lower, upper, order, limit, out)
    }
}

impl MapWriter for Writer<'_> {
    fn put(&mut self, pairs: &[Pair]) -> Result<()> {
        assert!(pairs.iter().all(|(_, value)| !value.is_empty()), "an empty value");
        Arc::make_mut(&mut self.state.0).extend(pairs.iter().cloned());
        Ok(())
    }

    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        let pairs = Arc::make_mut(&mut self.state.0);
        keys.iter().for_each(|key| drop(pairs.remove(key)));
        Ok(())
    }

    fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        let kept = |key: &[u8]| key < lower || upper <= key;
        Arc::make_mut(&mut self.state.0).retain(|key, _| kept(key));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        *self.map.0.1.lock() = self.state.0;
        Ok(())
    }
}

impl OrderedMap for CopiedMap {
    fn snapshot(&self) -> Result<Box<dyn MapRead + Send>> {
        Ok(Box::new(State(Arc::clone(&self.0.1.lock()))))
    }

    fn writer(&self) -> Result<Box<dyn MapWriter + '_>> {
        let alone = self.0.0.lock();
        let state = State(Arc::clone(&self.0.1.lock()));
        Ok(Box::new(Writer { state, map: self, _alone: alone }))
    }

    fn claim(&self) -> Result<()> {
        Ok(())
    }

    fn name(&self) -> String {
        "a map in memory".to_owned()
    }
}

struct InMemory(CopiedMap, Writers);

impl Place for InMemory {
    fn open(&self) -> Arc<dyn store::Store> {
        let options = OrderedOptions { writers: self.1, ..OrderedOptions::default() };
        Arc::new(OrderedStore::open(self.0.clone(), options).unwrap())
    }
}

testkit::conformance!(|| InMemory(CopiedMap::default(), Writers::One));

mod many_writers {
    use super::*;

    testkit::conformance!(|| InMemory(CopiedMap::default(), Writers::Many));
}
