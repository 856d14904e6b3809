//! The interface that every engine implements, and how an engine is opened by name.
//!
//! # Why values are copied
//! Some engines can lend a reference to a value, others cannot, and a caller that keeps it copies
//! it anyway. So each read ends with the value in a buffer of the caller, which is reused.

use crate::{engines, object};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Any error of an engine: it ends the benchmark.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Values one after another: value `i` is from `offsets[i]` to `offsets[i + 1]` in the heap.
pub struct Values {
    pub offsets: Vec<u64>,
    pub heap: Vec<u8>,
}

impl Default for Values {
    fn default() -> Self {
        Self { offsets: vec![0], heap: Vec::new() }
    }
}

impl Values {
    pub fn clear(&mut self) {
        self.offsets.truncate(1);
        self.heap.clear();
    }

    pub fn push(&mut self, value: &[u8]) {
        self.heap.extend_from_slice(value);
        self.offsets.push(self.heap.len() as u64);
    }

    pub fn get(&self, i: usize) -> &[u8] {
        &self.heap[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}

/// Keys with values, as arguments and results of calls.
#[derive(Default)]
pub struct Rows {
    pub keys: Vec<u64>,
    pub values: Values,
}

impl Rows {
    pub fn clear(&mut self) {
        self.keys.clear();
        self.values.clear();
    }

    pub fn push(&mut self, key: u64, value: &[u8]) {
        self.keys.push(key);
        self.values.push(value);
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    #[cfg(feature = "peers")]
    pub fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.keys.iter().enumerate().map(|(i, &key)| (key, self.values.get(i)))
    }
}

/// The contents of a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Values,
    Counts,
    /// Values that a function combines: see `crate::object`.
    Objects,
}

/// Settings that are the same for all engines.
#[derive(Clone)]
pub struct Settings {
    pub folder: PathBuf,
    pub kind: Kind,
    pub cache_bytes: u64,
    /// Memory for writes that are not in tables yet, where an engine has it.
    pub write_bytes: u64,
    /// True: a killed process loses nothing (a WAL is written). False: it loses the commits since
    /// the last flush.
    pub logged: bool,
    /// Direct I/O, where the engine supports it.
    pub direct: bool,
    pub threads: usize,
}

/// An open engine, shared by threads.
pub trait Store: Send + Sync {
    /// Opens a session for one thread.
    fn session(&self) -> Result<Box<dyn Session + '_>>;
    /// Makes everything written so far durable before it returns.
    fn flush(&self) -> Result<()>;
    /// Does what the engine's manual advises after a bulk load.
    fn after_load(&self) -> Result<()> {
        Ok(())
    }
    /// Prepares fast reads before counts are read. It is not timed.
    fn optimise(&self) -> Result<()> {
        self.after_load()
    }
    fn close(self: Box<Self>) -> Result<()>;
}

/// The calls of one thread.
pub trait Session {
    /// Loads rows with new keys in ascending order, above all keys that this session has loaded, in
    /// the engine's fastest way.
    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        self.put_batch(rows)
    }
    fn put(&mut self, key: u64, value: &[u8]) -> Result<()>;
    /// All rows become visible atomically. `rows` may be lent to the engine and are unchanged
    /// afterwards.
    fn put_batch(&mut self, rows: &mut Rows) -> Result<()>;
    /// Replaces `out` by the value; returns whether the key exists.
    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool>;
    /// Replaces `out` by the values of distinct keys, empty for keys that do not exist; returns how
    /// many exist.
    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize>;
    /// Collects up to `count` rows from `start` on in a buffer of the session; returns their number
    /// and the bytes of their values.
    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)>;
    /// Calls `each` with the values from `start` on and below `end`, in key order, in one stream.
    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()>;
    fn delete(&mut self, key: u64) -> Result<()>;
    /// Adds 1 to each key's count; keys may repeat.
    fn add(&mut self, keys: &[u64]) -> Result<()>;
    /// Replaces `out` by the counts, 0 for keys that were not counted.
    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()>;
    /// Combines each object with that of its key; keys may repeat. An engine without merge
    /// functions has to read, combine and put: the default does so by `multi_get` and `put_batch`,
    /// under a lock that all sessions share.
    fn combine(&mut self, objects: &mut Rows, one: &Mutex<()>) -> Result<()> {
        let sorted = object::sums(objects)?;
        let mut stored = Values::default();
        let _one = one.lock().map_err(|_| "a thread panicked")?;
        self.multi_get(&sorted.keys, &mut stored)?;
        let mut puts = Rows::default();
        let mut made = Vec::new();
        for (i, &key) in sorted.keys.iter().enumerate() {
            made.clear();
            object::combine(stored.get(i), sorted.values.get(i), &mut made)?;
            puts.push(key, &made);
        }
        self.put_batch(&mut puts)
    }
    /// Replaces `out` by the counts of the keys' objects, 0 where there is none; keys may repeat.
    fn object_counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()> {
        let mut distinct = keys.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let mut stored = Values::default();
        self.multi_get(&distinct, &mut stored)?;
        out.clear();
        for key in keys {
            let at = distinct.binary_search(key).map_err(|_| "a key is lost")?;
            out.push(object::count(stored.get(at))?);
        }
        Ok(())
    }
}

/// The names that `open` accepts.
pub const ENGINES: &[&str] = &["quipu", "rocksdb", "lmdb", "fjall", "redb", "map"];

pub fn open(engine: &str, settings: &Settings) -> Result<Box<dyn Store>> {
    std::fs::create_dir_all(&settings.folder)?;
    match engine {
        #[cfg(feature = "quipu")]
        "quipu" => engines::quipu::open(settings),
        "map" => Ok(Box::new(engines::map::Map::default())),
        #[cfg(feature = "peers")]
        "rocksdb" => engines::rocks::open(settings),
        #[cfg(feature = "peers")]
        "lmdb" => engines::lmdb::open(settings),
        #[cfg(feature = "peers")]
        "fjall" => engines::fjall::open(settings),
        #[cfg(feature = "peers")]
        "redb" => engines::redb::open(settings),
        other => Err(format!("no engine {other:?}; there are: {}", ENGINES.join(", ")).into()),
    }
}

/// Counts of a batch by key, in key order, for engines that read a count to change it.
#[cfg(feature = "peers")]
pub fn sums(keys: &[u64]) -> Vec<(u64, u64)> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    let mut sums: Vec<(u64, u64)> = Vec::with_capacity(keys.len());
    for key in keys {
        match sums.last_mut() {
            Some(last) if last.0 == key => last.1 += 1,
            _ => sums.push((key, 1)),
        }
    }
    sums
}

/// Disk blocks that the files of a folder occupy, in bytes.
pub fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let bytes = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => disk_bytes(&entry.path()),
        Ok(meta) => meta.blocks() * 512,
        Err(_) => 0,
    };
    entries.flatten().map(bytes).sum()
}
