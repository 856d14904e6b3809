//! An environment whose disk is memory, for tests and for databases without a folder.
//!
//! # Why the semantics are exactly those of a disk
//! Code that is tested here must work the same on a real disk. So renames replace, creation fails
//! on an existing path, folders must exist, locks exclude, and a removed file stays readable
//! through open handles. One conformance suite (`tests/conformance.rs`) runs on both environments.
//!
//! # Invariants
//! 1. A file is identified by the handle of its contents, not by its name. Renaming and removing
//!    change only names.
//! 2. Locks are taken in this order: names (`disk`), then the contents of a file. No thread locks
//!    the contents of two files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::mem::take;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::environment::{Env, Job, JobKind, Signal};
use crate::error::{EnvError, Result};
use crate::files::{
    AppendFile, FileRead, FolderLock, LogFile, LogMode, LogSync, RandomReadFile, ReadOptions,
    ReadRequest,
};
use crate::jobs::{JobPool, ThreadSignal, locked};
use crate::owner::Owner;
use crate::timer::Timer;

/// Files in memory, with real threads and the real clock. Dropping it deletes all files.
#[derive(Debug)]
pub struct MemoryEnv {
    owner: Owner,
    disk: Arc<Mutex<Disk>>,
    pool: JobPool,
    timer: Timer,
    start: Instant,
    random: AtomicU64,
    reads: Arc<Reads>,
}

/// Numbers of reads, for tests that limit how many reads a query makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Number of read calls. A batch is one call, even over several files.
    pub calls: u64,
    /// Number of requests in all calls.
    pub requests: u64,
    /// Number of bytes in all requests.
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Reads {
    calls: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Reads {
    fn count(&self, requests: usize, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

#[derive(Debug, Default)]
struct Disk {
    files: BTreeMap<PathBuf, Contents>,
    folders: BTreeSet<PathBuf>,
    /// Lock files that are held now, with the line of their holder.
    locks: BTreeMap<PathBuf, String>,
}

type Contents = Arc<RwLock<Vec<u8>>>;

/// Result of [`MemoryEnv::free_bytes`]: a large number, since free memory is not known.
const FREE_BYTES: u64 = 1 << 40;

impl MemoryEnv {
    /// Numbers of reads since this environment was created.
    #[must_use]
    pub fn reads(&self) -> ReadCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Reads { calls, requests, bytes } = &*self.reads;
        ReadCounts { calls: count(calls), requests: count(requests), bytes: count(bytes) }
    }

    /// Creates an empty disk with `threads` workers (0: one per core).
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let seed = since_epoch_us() ^ u64::from(std::process::id()).rotate_left(32);
        Self {
            owner: Owner::here(),
            disk: Arc::default(),
            pool: JobPool::new(threads),
            timer: Timer::default(),
            start: Instant::now(),
            random: AtomicU64::new(seed),
            reads: Arc::default(),
        }
    }

    /// Number of jobs that have ended in a panic.
    #[must_use]
    pub fn job_panics(&self) -> u64 {
        self.pool.panics()
    }

    /// In a child of `fork` the lock may be held by a thread that does not exist there, so the
    /// owner is checked first.
    fn disk(&self) -> Result<MutexGuard<'_, Disk>> {
        self.owner.check()?;
        Ok(locked(&self.disk))
    }

    fn find(&self, operation: &'static str, path: &Path) -> Result<Contents> {
        let disk = self.disk()?;
        let path = normal(path);
        if disk.folders.contains(&path) {
            return Err(fail(operation, &path, io::ErrorKind::IsADirectory));
        }
        let found = disk.files.get(&path).cloned();
        found.ok_or_else(|| fail(operation, &path, io::ErrorKind::NotFound))
    }

    fn insert_new(&self, path: &Path, bytes: Vec<u8>) -> Result<Contents> {
        let mut disk = self.disk()?;
        let path = normal(path);
        disk.check_new(&path, "create")?;
        let contents = Arc::new(RwLock::new(bytes));
        disk.files.insert(path, Arc::clone(&contents));
        Ok(contents)
    }
}

impl Disk {
    fn check_new(&self, path: &Path, operation: &'static str) -> Result<()> {
        if self.files.contains_key(path) || self.folders.contains(path) {
            return Err(fail(operation, path, io::ErrorKind::AlreadyExists));
        }
        self.check_parent(path, operation)
    }

    fn check_parent(&self, path: &Path, operation: &'static str) -> Result<()> {
        match path.parent() {
            Some(parent) if !self.is_folder(parent) => {
                Err(fail(operation, path, io::ErrorKind::NotFound))
            }
            _ => Ok(()),
        }
    }

    /// Moves a folder with its content to a path that does not exist.
    fn rename_folder(&mut self, from: &Path, to: &Path) -> Result<()> {
        if self.files.contains_key(to) {
            return Err(fail("rename", to, io::ErrorKind::NotADirectory));
        }
        let moved = |path: &PathBuf| Some(to.join(path.strip_prefix(from).ok()?));
        self.files =
            take(&mut self.files).into_iter().map(|(p, c)| (moved(&p).unwrap_or(p), c)).collect();
        self.folders =
            take(&mut self.folders).into_iter().map(|p| moved(&p).unwrap_or(p)).collect();
        Ok(())
    }

    /// The root always exists. Its path is `/` or empty.
    fn is_folder(&self, path: &Path) -> bool {
        path.parent().is_none() || self.folders.contains(path)
    }
}

impl Env for MemoryEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        let contents = self.insert_new(path, Vec::new())?;
        Ok(Box::new(MemoryFile { contents, path: path.to_owned() }))
    }

    fn is_volatile(&self) -> bool {
        true
    }

    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>> {
        let contents = self.find("open to append", path)?;
        let keep = usize::try_from(keep_bytes).unwrap_or(usize::MAX);
        {
            let mut bytes = write(&contents);
            if keep > bytes.len() {
                return Err(fail("open to append", path, io::ErrorKind::UnexpectedEof));
            }
            bytes.truncate(keep);
        }
        Ok(Box::new(MemoryFile { contents, path: path.to_owned() }))
    }

    fn open_read(&self, path: &Path, _: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        let contents = self.find("open", path)?;
        let file = MemoryFile { contents, path: path.to_owned() };
        Ok(Arc::new(MemoryReader { file, reads: Arc::clone(&self.reads) }))
    }

    fn create_log(&self, path: &Path, len_bytes: u64, _: LogMode) -> Result<Box<dyn LogFile>> {
        let too_long = |_| fail("create", path, io::ErrorKind::OutOfMemory);
        let len = usize::try_from(len_bytes).map_err(too_long)?;
        // `vec![0; n]` gets zeroed pages from the allocator. Pages that are not touched use no
        // memory.
        let contents = self.insert_new(path, vec![0; len])?;
        Ok(Box::new(MemoryFile { contents, path: path.to_owned() }))
    }

    fn open_log(&self, path: &Path, _: LogMode) -> Result<Box<dyn LogFile>> {
        let contents = self.find("open", path)?;
        Ok(Box::new(MemoryFile { contents, path: path.to_owned() }))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut disk = self.disk()?;
        let (from, to) = (normal(from), normal(to));
        disk.check_parent(&to, "rename")?;
        if disk.folders.contains(&to) {
            return Err(fail("rename", &to, io::ErrorKind::IsADirectory));
        }
        if disk.folders.contains(&from) {
            return disk.rename_folder(&from, &to);
        }
        let Some(contents) = disk.files.remove(&from) else {
            return Err(fail("rename", &from, io::ErrorKind::NotFound));
        };
        disk.files.insert(to, contents);
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let path = normal(path);
        match self.disk()?.files.remove(&path) {
            Some(_) => Ok(()),
            None => Err(fail("remove", &path, io::ErrorKind::NotFound)),
        }
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        let contents = self.find("link", from)?;
        let mut disk = self.disk()?;
        let to = normal(to);
        disk.check_new(&to, "link")?;
        disk.files.insert(to, contents);
        Ok(())
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        let folder = normal(folder);
        let disk = self.disk()?;
        if !disk.is_folder(&folder) {
            return Err(fail("list", &folder, io::ErrorKind::NotFound));
        }
        let paths = disk.files.keys().chain(disk.folders.iter());
        let inside = paths.filter(|path| path.parent() == Some(&folder));
        let name = |path: &PathBuf| Some(path.file_name()?.to_string_lossy().into_owned());
        let mut names: Vec<String> = inside.filter_map(name).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create_folder(&self, folder: &Path) -> Result<()> {
        let folder = normal(folder);
        let mut disk = self.disk()?;
        if let Some(file) = folder.ancestors().find(|path| disk.files.contains_key(*path)) {
            return Err(fail("create folder", file, io::ErrorKind::AlreadyExists));
        }
        let parents = folder.ancestors().filter(|path| path.parent().is_some());
        disk.folders.extend(parents.map(Path::to_owned));
        Ok(())
    }

    fn remove_folder(&self, folder: &Path) -> Result<()> {
        let folder = normal(folder);
        let mut disk = self.disk()?;
        let inside = |path: &PathBuf| path.parent() == Some(&folder);
        if disk.files.keys().any(inside) || disk.folders.iter().any(inside) {
            return Err(fail("remove folder", &folder, io::ErrorKind::DirectoryNotEmpty));
        }
        if disk.folders.remove(&folder) {
            Ok(())
        } else {
            Err(fail("remove folder", &folder, io::ErrorKind::NotFound))
        }
    }

    fn exists(&self, path: &Path) -> bool {
        let path = normal(path);
        let Ok(disk) = self.disk() else { return false };
        disk.files.contains_key(&path) || disk.is_folder(&path)
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        if self.disk()?.is_folder(&normal(folder)) {
            Ok(())
        } else {
            Err(fail("sync folder", folder, io::ErrorKind::NotFound))
        }
    }

    fn free_bytes(&self, _: &Path) -> Result<u64> {
        Ok(FREE_BYTES)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>> {
        let mut disk = self.disk()?;
        let path = normal(path);
        if let Some(holder) = disk.locks.get(&path) {
            return Err(EnvError::Locked { path, holder: holder.clone() });
        }
        disk.check_parent(&path, "lock")?;
        let text = format!("{holder}\n").into_bytes();
        disk.files.insert(path.clone(), Arc::new(RwLock::new(text)));
        disk.locks.insert(path.clone(), holder.to_owned());
        let owner = self.owner;
        Ok(Box::new(MemoryLock { owner, disk: Arc::clone(&self.disk), path }))
    }

    fn monotonic_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn wall_us(&self) -> u64 {
        since_epoch_us()
    }

    fn random_u64(&self) -> u64 {
        splitmix(&self.random)
    }

    fn process_line(&self) -> String {
        format!("process {} (in memory)", std::process::id())
    }

    fn check_process(&self) -> Result<()> {
        self.owner.check()
    }

    fn spawn(&self, kind: JobKind, job: Job) {
        self.pool.spawn(kind, job);
    }

    fn spawn_after(&self, delay_us: u64, job: Job) {
        self.timer.after(delay_us, job);
    }

    fn parallelism(&self) -> usize {
        self.pool.parallelism()
    }

    fn signal(&self) -> Arc<dyn Signal> {
        Arc::new(ThreadSignal::default())
    }

    fn drain_jobs(&self) {
        self.pool.drain();
    }
}

/// A handle to a file's contents, for reading, appending, or use as a log.
#[derive(Debug)]
struct MemoryFile {
    contents: Contents,
    path: PathBuf,
}

impl MemoryFile {
    fn read(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let bytes = read(&self.contents);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let piece = start.checked_add(buf.len()).and_then(|end| bytes.get(start..end));
        let Some(piece) = piece else {
            return Err(fail("read", &self.path, io::ErrorKind::UnexpectedEof));
        };
        buf.copy_from_slice(piece);
        Ok(())
    }
}

/// A file open for reading. It counts reads.
#[derive(Debug)]
struct MemoryReader {
    file: MemoryFile,
    reads: Arc<Reads>,
}

impl RandomReadFile for MemoryReader {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.reads.count(1, buf.len());
        self.file.read(buf, offset)
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()> {
        self.reads.count(requests.len(), requests.iter().map(|request| request.buf.len()).sum());
        requests.iter_mut().try_for_each(|request| self.file.read(&mut request.buf, request.offset))
    }

    fn read_together(&self, reads: &mut [FileRead]) -> Result<bool> {
        let is_own = |read: &FileRead| read.file.as_any().is_some_and(|file| file.is::<Self>());
        if !reads.iter().all(is_own) {
            return Ok(false);
        }
        self.reads.count(reads.len(), reads.iter().map(|read| read.buf.len()).sum());
        for FileRead { file, offset, buf } in reads {
            if let Some(own) = file.as_any().and_then(|file| file.downcast_ref::<Self>()) {
                own.file.read(buf, *offset)?;
            }
        }
        Ok(true)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn read_ahead(&self, _: u64, _: u64) {}

    fn len_bytes(&self) -> Result<u64> {
        Ok(read(&self.file.contents).len() as u64)
    }

    fn path(&self) -> &Path {
        &self.file.path
    }
}

impl AppendFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        write(&self.contents).extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn len_bytes(&self) -> u64 {
        read(&self.contents).len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl LogFile for MemoryFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        let mut contents = write(&self.contents);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.checked_add(bytes.len());
        let Some(piece) = end.and_then(|end| contents.get_mut(start..end)) else {
            return Err(fail("write past the end of", &self.path, io::ErrorKind::InvalidInput));
        };
        piece.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync_handle(&self) -> Arc<dyn LogSync> {
        Arc::new(NothingToSync)
    }

    fn len_bytes(&self) -> u64 {
        read(&self.contents).len() as u64
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Syncing does nothing: nothing in memory survives the process.
#[derive(Debug)]
struct NothingToSync;

impl LogSync for NothingToSync {
    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    owner: Owner,
    disk: Arc<Mutex<Disk>>,
    path: PathBuf,
}

impl FolderLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        if self.owner.is_here() {
            locked(&self.disk).locks.remove(&self.path);
        }
    }
}

/// Next number of the splitmix64 sequence. Advances the state by one step.
pub(crate) fn splitmix(state: &AtomicU64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut word = state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

pub(crate) fn since_epoch_us() -> u64 {
    // A clock before 1970 counts as 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The path without `.` components, so that two spellings of a path are equal.
fn normal(path: &Path) -> PathBuf {
    path.components().filter(|part| !matches!(part, Component::CurDir)).collect()
}

fn fail(operation: &'static str, path: &Path, kind: io::ErrorKind) -> EnvError {
    EnvError::io(operation, path, io::Error::from(kind))
}

fn read(contents: &Contents) -> RwLockReadGuard<'_, Vec<u8>> {
    contents.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(contents: &Contents) -> RwLockWriteGuard<'_, Vec<u8>> {
    contents.write().unwrap_or_else(PoisonError::into_inner)
}
