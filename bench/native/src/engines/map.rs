//! A hash map in memory with a lock per shard: the upper bound for counts. It stores nothing.

use crate::object;
use crate::store::{Result, Rows, Session, Store, Values};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use std::sync::Mutex;

const SHARDS: usize = 64;

pub struct Map {
    shards: Vec<Mutex<HashMap<u64, u64>>>,
    objects: Vec<Mutex<HashMap<u64, Box<[u8]>>>>,
}

impl Default for Map {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            objects: (0..SHARDS).map(|_| Mutex::default()).collect(),
        }
    }
}

struct Handle<'a> {
    map: &'a Map,
    sorted: Vec<Vec<u64>>,
    /// Rows by shard, and a buffer for a combined object.
    rows: Vec<Vec<u32>>,
    made: Vec<u8>,
}

impl Store for Map {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(Handle {
            map: self,
            sorted: vec![Vec::new(); SHARDS],
            rows: vec![Vec::new(); SHARDS],
            made: Vec::new(),
        }))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        // The process ends soon, and freeing memory is not part of counting.
        std::mem::forget(self);
        Ok(())
    }
}

fn shard(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize
}

impl Session for Handle<'_> {
    fn add(&mut self, keys: &[u64]) -> Result<()> {
        self.sorted.iter_mut().for_each(Vec::clear);
        keys.iter().for_each(|&key| self.sorted[shard(key)].push(key));
        for (shard, keys) in self.map.shards.iter().zip(&self.sorted) {
            let mut shard = shard.lock().unwrap();
            keys.iter().for_each(|&key| *shard.entry(key).or_insert(0) += 1);
        }
        Ok(())
    }

    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        for &key in keys {
            let shard = self.map.shards[shard(key)].lock().unwrap();
            out.push(shard.get(&key).copied().unwrap_or(0));
        }
        Ok(())
    }

    fn combine(&mut self, objects: &mut Rows, _: &Mutex<()>) -> Result<()> {
        self.rows.iter_mut().for_each(Vec::clear);
        objects.keys.iter().zip(0..).for_each(|(&key, i)| self.rows[shard(key)].push(i));
        for (shard, rows) in self.map.objects.iter().zip(&self.rows) {
            let mut shard = shard.lock().unwrap();
            for &i in rows {
                let (key, new) = (objects.keys[i as usize], objects.values.get(i as usize));
                match shard.entry(key) {
                    Entry::Vacant(entry) => drop(entry.insert(new.into())),
                    Entry::Occupied(mut entry) => {
                        self.made.clear();
                        object::combine(entry.get(), new, &mut self.made)?;
                        entry.get_mut().copy_from_slice(&self.made);
                    }
                }
            }
        }
        Ok(())
    }

    fn object_counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        out.clear();
        for &key in keys {
            let shard = self.map.objects[shard(key)].lock().unwrap();
            out.push(shard.get(&key).map_or(Ok(0), |object| object::count(object))?);
        }
        Ok(())
    }

    fn put(&mut self, _: u64, _: &[u8]) -> Result<()> {
        Err(only_counts())
    }

    fn put_batch(&mut self, _: &mut Rows) -> Result<()> {
        Err(only_counts())
    }

    fn get(&mut self, _: u64, _: &mut Vec<u8>) -> Result<bool> {
        Err(only_counts())
    }

    fn multi_get(&mut self, _: &[u64], _: &mut Values) -> Result<usize> {
        Err(only_counts())
    }

    fn scan(&mut self, _: u64, _: usize) -> Result<(usize, u64)> {
        Err(only_counts())
    }

    fn stream(&mut self, _: u64, _: u64, _: &mut dyn FnMut(&[u8])) -> Result<()> {
        Err(only_counts())
    }

    fn delete(&mut self, _: u64) -> Result<()> {
        Err(only_counts())
    }
}

fn only_counts() -> Box<dyn std::error::Error + Send + Sync> {
    "the map only counts".into()
}
