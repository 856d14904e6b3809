//! What is asked of every engine, and how one is opened by name.
//!
//! # Why values are copied
//! Some engines can lend a value where it lies, others cannot, and a caller who keeps it copies it
//! anyway. So each read ends with the value in memory of the caller, which is reused.

use crate::{engines, object};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Whatever an engine says when it fails: a benchmark ends there.
pub type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Values one after another: value `i` lies from `offsets[i]` to `offsets[i + 1]` of the heap.
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

/// Keys with values, as they are handed in and out.
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

/// What a store holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Values,
    Counts,
    /// Values that one function combines: see `crate::object`.
    Objects,
}

/// Settings that all engines are given alike.
#[derive(Clone)]
pub struct Settings {
    pub folder: PathBuf,
    pub kind: Kind,
    pub cache_bytes: u64,
    /// Memory for writes that are not in tables yet, where an engine has it.
    pub write_bytes: u64,
    /// A killed process loses nothing (a log is written), or commits since the last flush (no log).
    pub logged: bool,
    /// Around the page cache, where an engine can.
    pub direct: bool,
    pub threads: usize,
}

/// An open engine; threads share it.
pub trait Store: Send + Sync {
    /// One thread's way in.
    fn session(&self) -> Result<Box<dyn Session + '_>>;
    /// Everything written so far is durable when it returns.
    fn flush(&self) -> Result<()>;
    /// What the engine's own manual advises after a bulk load.
    fn after_load(&self) -> Result<()> {
        Ok(())
    }
    /// What makes reads fast and is not timed, before counts are read.
    fn optimise(&self) -> Result<()> {
        self.after_load()
    }
    fn close(self: Box<Self>) -> Result<()>;
}

/// One thread's calls.
pub trait Session {
    /// Rows of ascending new keys, above all that this session has loaded: by the fastest way there
    /// is.
    fn load(&mut self, rows: &mut Rows) -> Result<()> {
        self.put_batch(rows)
    }
    fn put(&mut self, key: u64, value: &[u8]) -> Result<()>;
    /// All become visible at once. `rows` may be lent to the engine, and are the same afterwards.
    fn put_batch(&mut self, rows: &mut Rows) -> Result<()>;
    /// Replaces `out`; whether the key is there.
    fn get(&mut self, key: u64, out: &mut Vec<u8>) -> Result<bool>;
    /// Replaces `out` by the values of distinct keys, empty where there is none; how many are
    /// there.
    fn multi_get(&mut self, keys: &[u64], out: &mut Values) -> Result<usize>;
    /// Collects up to `count` rows from `start` on in memory of the session; how many, and the
    /// bytes of their values.
    fn scan(&mut self, start: u64, count: usize) -> Result<(usize, u64)>;
    /// Hands on the rows from `start` on and below `end`, in order, by one stream.
    fn stream(&mut self, start: u64, end: u64, each: &mut dyn FnMut(&[u8])) -> Result<()>;
    fn delete(&mut self, key: u64) -> Result<()>;
    /// Adds 1 to each key's count; keys may repeat.
    fn add(&mut self, keys: &[u64]) -> Result<()>;
    /// Replaces `out` by the counts, 0 where nothing was counted.
    fn counts(&mut self, keys: &[u64], out: &mut Vec<u64>) -> Result<()>;
    /// Combines each object with what its key has; keys may repeat. An engine without a function of
    /// the caller's reads, combines and puts: this does so by `multi_get` and `put_batch`, under a
    /// lock that all sessions share.
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
    /// Replaces `out` by the counts of the objects of keys that may repeat, 0 where there is none.
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

/// All names that `open` knows.
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

/// Sums of a batch in key order: what engines are given that read a count to change it.
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

/// Bytes that the files of a folder take on disk.
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
