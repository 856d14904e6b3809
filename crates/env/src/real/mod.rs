//! The real environment: the operating system's files, clock, randomness and threads.
//!
//! # Why there are several ways to read and write
//! On the machine used for measuring, a cached 4 KiB `pread` takes 0.7 to 1 us, so `io_uring` gains
//! nothing for a single request. It does for a batch of cold reads in flight together. A 96-byte
//! `pwrite` takes 700 to 800 ns, a copy into a mapped page 3 ns. Each way has its module: `read`,
//! `uring`, `append`, `append_direct`, `log`.
//!
//! # Invariants
//! 1. Optional kernel features (`io_uring`, direct I/O, populating mappings) are detected at run
//!    time. Without them only the speed changes.
//! 2. Only the process that created the environment uses it. In a child of `fork` operations on
//!    files fail ([`Owner`]).
//! 3. `unsafe` is only in `log` (mapping), `uring` and `append_direct` (submission), `stream`
//!    (polling, opening below a folder) and `sys` (single libc calls).
//!
//! # The other modules
//! `folder` holds folders open, `lock` locks them, and `place` resolves a path from a held folder.
//! `stream` reads pipes and other files of unknown length. `output` is a file at a path that the
//! user gave, `output_folder` a folder. `spare` keeps descriptors for when the process has run out
//! of them.

mod append;
#[cfg(target_os = "linux")]
mod append_direct;
mod folder;
mod lock;
mod log;
mod output;
mod output_folder;
mod place;
mod read;
mod spare;
mod stream;
mod sys;
#[cfg(target_os = "linux")]
mod uring;
#[cfg(not(target_os = "linux"))]
mod uring {
    //! Placeholder for systems without `io_uring`: reads are done one by one.

    /// Has no values.
    #[derive(Debug)]
    pub(crate) enum RingPool {}

    impl RingPool {
        pub(crate) fn probe() -> Option<Self> {
            None
        }
    }
}

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use crate::environment::{Env, Job, JobKind, Signal};
use crate::error::{EnvError, Result};
use crate::files::{
    AppendFile, FolderLock, HeldFolder, LogFile, LogMode, RandomReadFile, ReadOptions, StreamFile,
};
use crate::jobs::{JobPool, ThreadSignal};
use crate::memory::{since_epoch_us, splitmix};
use crate::owner::Owner;
use crate::timer::Timer;
use folder::Folders;
pub use output::Output;
pub use output_folder::OutputFolder;
use place::{FOLDER_MODE, PRIVATE_FOLDER_MODE};
use rustix::fs::{AtFlags, Dir, OFlags, fstatvfs, fsync, linkat, renameat, statat, unlinkat};
use rustix::io::Errno;
use spare::{Spares, WithSpares};
use uring::RingPool;

/// The tables of a database may use the process's limit on descriptors divided by this. The others
/// are for its log, other databases and the program.
const DATABASE_SHARE: usize = 4;
const OPEN_FILES_MIN: usize = 16;
/// More open files gain nothing, and each uses kernel memory.
const OPEN_FILES_MAX: usize = 16_384;

/// Options of [`RealEnv::new`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealOptions {
    /// Number of worker threads; 0 means one per core. An additional thread takes only flushes.
    pub threads: usize,
    /// Use `io_uring` for batched reads if the kernel supports it.
    pub io_uring: bool,
    /// Write new files around the page cache, with pieces of 1 MiB in flight together, if the
    /// kernel supports `io_uring` and the file system direct I/O. Otherwise write as usual.
    pub direct_writes: bool,
}

impl Default for RealOptions {
    fn default() -> Self {
        Self { threads: 0, io_uring: true, direct_writes: false }
    }
}

/// The environment of the operating system.
#[derive(Debug)]
pub struct RealEnv {
    owner: Owner,
    pool: Arc<JobPool>,
    folders: Folders,
    spares: Arc<Spares>,
    timer: Timer,
    rings: Option<Arc<RingPool>>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no ring to write through"))]
    direct_writes: bool,
    start: Instant,
    random: AtomicU64,
}

impl RealEnv {
    /// Detects kernel features. Starts no thread before the first job.
    #[must_use]
    pub fn new(options: RealOptions) -> Self {
        let rings = if options.io_uring { RingPool::probe() } else { None };
        Self {
            owner: Owner::here(),
            pool: Arc::new(JobPool::new(options.threads)),
            folders: Folders::default(),
            spares: Arc::default(),
            timer: Timer::default(),
            rings: rings.map(Arc::new),
            direct_writes: options.direct_writes,
            start: Instant::now(),
            random: AtomicU64::new(sys::random_seed()),
        }
    }

    /// Whether batched reads go through `io_uring`.
    #[must_use]
    pub fn has_io_uring(&self) -> bool {
        self.rings.is_some()
    }

    fn create_once(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        let place = self.folders.place_to_change("create", path)?;
        #[cfg(target_os = "linux")]
        if let (true, Some(rings)) = (self.direct_writes, &self.rings)
            && let Some(file) = append_direct::DirectAppendFile::create(&place, rings)?
        {
            return Ok(Box::new(file));
        }
        Ok(Box::new(append::RealAppendFile::create(&place)?))
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let fail = |error| EnvError::io("copy", from, error);
        let mut source = self.folders.place("copy", from, true)?.open("copy", OFlags::RDONLY)?;
        let target = self.folders.place_to_change("copy", to)?;
        let mut target = target.create("copy", OFlags::WRONLY)?;
        io::copy(&mut source, &mut target).map_err(fail)?;
        target.sync_all().map_err(fail)
    }

    /// Number of jobs that have ended in a panic.
    #[must_use]
    pub fn job_panics(&self) -> u64 {
        self.pool.panics()
    }
}

impl Default for RealEnv {
    fn default() -> Self {
        Self::new(RealOptions::default())
    }
}

impl Env for RealEnv {
    fn create(&self, path: &Path) -> Result<Box<dyn AppendFile>> {
        self.owner.check()?;
        self.spares.open(|| self.create_once(path))
    }

    fn open_append(&self, path: &Path, keep_bytes: u64) -> Result<Box<dyn AppendFile>> {
        self.owner.check()?;
        self.spares.open(|| {
            let place = self.folders.place_to_change("open to append", path)?;
            Ok(Box::new(append::RealAppendFile::open(&place, keep_bytes)?) as Box<dyn AppendFile>)
        })
    }

    fn open_read(&self, path: &Path, options: ReadOptions) -> Result<Arc<dyn RandomReadFile>> {
        self.owner.check()?;
        self.spares.open(|| {
            let place = self.folders.place("open", path, true)?;
            let file = read::RealReadFile::open(&place, options, self.rings.clone())?;
            Ok(Arc::new(file) as Arc<dyn RandomReadFile>)
        })
    }

    fn open_stream(&self, path: &Path, below: &[&Path]) -> Result<Box<dyn StreamFile>> {
        self.owner.check()?;
        Ok(Box::new(stream::RealStream::open(path, below)?))
    }

    fn create_log(&self, path: &Path, len_bytes: u64, mode: LogMode) -> Result<Box<dyn LogFile>> {
        self.owner.check()?;
        self.spares.open(|| {
            let place = self.folders.place_to_change("create", path)?;
            log::create(&place, len_bytes, mode, &self.pool)
        })
    }

    fn open_log(&self, path: &Path, mode: LogMode) -> Result<Box<dyn LogFile>> {
        self.owner.check()?;
        self.spares
            .open(|| log::open(&self.folders.place_to_change("open", path)?, mode, &self.pool))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.owner.check()?;
        let source = self.folders.place_to_change("rename", from)?;
        let target = self.folders.place_to_change("rename", to)?;
        renameat(source.descriptor(), source.name(), target.descriptor(), target.name())
            .map_err(|error| source.fail("rename", error))
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.owner.check()?;
        let place = self.folders.place_to_change("remove", path)?;
        unlinkat(place.descriptor(), place.name(), AtFlags::empty())
            .map_err(|error| place.fail("remove", error))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        self.owner.check()?;
        match self.link_if_possible(from, to)? {
            true => Ok(()),
            false => self.copy(from, to),
        }
    }

    fn link_if_possible(&self, from: &Path, to: &Path) -> Result<bool> {
        self.owner.check()?;
        let source = self.folders.place("link", from, true)?;
        let target = self.folders.place_to_change("link", to)?;
        let (old, new) = (source.descriptor(), target.descriptor());
        match linkat(old, source.name(), new, target.name(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(error) if can_copy_instead(error) => Ok(false),
            Err(error) => Err(source.fail("link", error)),
        }
    }

    fn list(&self, folder: &Path) -> Result<Vec<String>> {
        self.owner.check()?;
        let place = self.folders.place("list", folder, true)?;
        let fail = |error| place.fail("list", error);
        let mut names = Vec::new();
        let opened = self.spares.open(|| place.open_folder("list"))?;
        for entry in Dir::new(opened).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_folder(&self, folder: &Path) -> Result<()> {
        self.owner.check()?;
        let operation = "create folder";
        let Some(held) = self.folders.around(folder, true) else {
            return fs::create_dir_all(folder).map_err(|e| EnvError::io(operation, folder, e));
        };
        held.check_in_place(operation, folder)?;
        let above: Vec<_> = folder.ancestors().take_while(|path| *path != held.path()).collect();
        for path in above.into_iter().rev() {
            self.folders.place(operation, path, false)?.create_folder(operation, FOLDER_MODE)?;
        }
        Ok(())
    }

    fn create_private_folder(&self, folder: &Path) -> Result<()> {
        self.owner.check()?;
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.create_folder(parent)?;
        }
        let operation = "create folder";
        let place = self.folders.place_to_change(operation, folder)?;
        place.create_folder(operation, PRIVATE_FOLDER_MODE)
    }

    fn copy_access(&self, from: &Path, to: &Path) -> Result<()> {
        self.owner.check()?;
        let operation = "keep owner and mode of";
        let from_place = self.folders.place(operation, from, true)?;
        let to_place = self.folders.place_to_change(operation, to)?;
        let fail = |error| EnvError::io(operation, from, error);
        let old = from_place.open_any(operation)?.metadata().map_err(fail)?;
        output::copy_access(&old, &to_place.open_any(operation)?).map_err(fail)
    }

    fn remove_folder(&self, folder: &Path) -> Result<()> {
        self.owner.check()?;
        let place = self.folders.place_to_change("remove folder", folder)?;
        unlinkat(place.descriptor(), place.name(), AtFlags::REMOVEDIR)
            .map_err(|error| place.fail("remove folder", error))
    }

    fn exists(&self, path: &Path) -> bool {
        if !self.owner.is_here() {
            return false;
        }
        let place = self.folders.place("look at", path, true);
        place.is_ok_and(|place| statat(place.descriptor(), place.name(), place.at_flags()).is_ok())
    }

    fn sync_folder(&self, folder: &Path) -> Result<()> {
        self.owner.check()?;
        let place = self.folders.place("sync folder", folder, true)?;
        let opened = self.spares.open(|| place.open_folder("sync folder"))?;
        fsync(opened).map_err(|error| place.fail("sync folder", error))
    }

    fn free_bytes(&self, folder: &Path) -> Result<u64> {
        self.owner.check()?;
        let operation = "ask for free space of";
        let place = self.folders.place(operation, folder, true)?;
        let answer = fstatvfs(place.open_folder(operation)?);
        let answer = answer.map_err(|error| place.fail(operation, error))?;
        Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
    }

    fn open_files_max(&self) -> usize {
        (sys::raise_descriptors() / DATABASE_SHARE).clamp(OPEN_FILES_MIN, OPEN_FILES_MAX)
    }

    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn FolderLock>> {
        self.owner.check()?;
        Ok(Box::new(WithSpares::new(self.folders.lock(path, holder)?, &self.spares)))
    }

    fn resolved(&self, path: &Path) -> Result<PathBuf> {
        self.owner.check()?;
        let fail = |error| EnvError::io("resolve", path, error);
        match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            resolved => return resolved.map_err(fail),
        }
        if fs::symlink_metadata(path).is_ok() {
            let what = "it is a symbolic link to something that is not there";
            return Err(fail(io::Error::new(io::ErrorKind::NotFound, what)));
        }
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => {
                Ok(self.resolved(parent)?.join(name))
            }
            (_, Some(name)) => Ok(self.resolved(Path::new("."))?.join(name)),
            _ => Err(fail(io::Error::from(io::ErrorKind::NotFound))),
        }
    }

    fn is_within(&self, given: &Path, folder: &Path) -> bool {
        // The last component may be a link too, and an output file follows it. If the folder does
        // not exist yet, its parents are compared.
        let path = output::followed(given).or_else(|_| self.resolved(given));
        let path = path.unwrap_or_else(|_| given.to_owned());
        path.starts_with(folder) || folder::is_within(&path, folder)
    }

    fn hold(&self, folder: &Path) -> Result<Arc<dyn HeldFolder>> {
        self.owner.check()?;
        Ok(Arc::new(self.folders.hold(folder)?))
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
        let program = std::env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_name).unwrap_or_default();
        let (id, host) = (std::process::id(), sys::host_name());
        format!("process {id} ({}) on {host}", name.to_string_lossy())
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

    fn release_memory(&self) {
        sys::release_memory();
    }

    fn resident_bytes(&self) -> u64 {
        sys::resident_bytes()
    }

    fn signal(&self) -> Arc<dyn Signal> {
        Arc::new(ThreadSignal::default())
    }

    fn drain_jobs(&self) {
        self.pool.drain();
    }
}

/// Whether a hard link failed because links are not possible here (another device, a file system
/// without links).
fn can_copy_instead(error: Errno) -> bool {
    let error = io::Error::from(error);
    use io::ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    matches!(error.kind(), CrossesDevices | PermissionDenied | TooManyLinks | Unsupported)
}

/// The error of a failed write of `needed_bytes`. For a full disk it says how many bytes are free:
/// the system says "no space" also if there is some, but less than was requested.
#[cold]
pub(crate) fn write_error(
    operation: &'static str,
    path: &Path,
    needed_bytes: u64,
    error: std::io::Error,
) -> EnvError {
    if error.kind() != std::io::ErrorKind::StorageFull {
        return EnvError::io(operation, path, error);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let free = match sys::free_bytes(folder.unwrap_or(Path::new("."))) {
        Ok(bytes) => format!("{bytes} are free"),
        Err(_) => "how many are free is not known".to_owned(),
    };
    let what = format!("{error}: {needed_bytes} bytes were needed, {free}");
    EnvError::io(operation, path, std::io::Error::new(error.kind(), what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_how_much_was_needed_and_how_much_is_free() {
        const ENOSPC: i32 = 28;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("000001.sst");
        let full = std::io::Error::from_raw_os_error(ENOSPC);
        let message = write_error("write", &path, 70_000, full).to_string();
        let said = message
            .split_once(": 70000 bytes were needed, ")
            .unwrap_or_else(|| panic!("{message}"));
        assert!(said.0.contains("000001.sst") && said.0.contains("No space left"), "{message}");
        let free = said.1.strip_suffix(" are free").and_then(|bytes| bytes.parse::<u64>().ok());
        assert!(free.is_some(), "{message}");
        let gone = write_error(
            "write",
            Path::new("/no/such/folder/a"),
            7,
            std::io::Error::from_raw_os_error(ENOSPC),
        );
        assert!(
            gone.to_string().ends_with("7 bytes were needed, how many are free is not known"),
            "{gone}"
        );
        let other = write_error("write", &path, 7, std::io::ErrorKind::InvalidInput.into());
        assert!(!other.to_string().contains("needed"), "{other}");
    }
}
