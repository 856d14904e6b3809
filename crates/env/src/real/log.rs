//! Log files: preallocated, written at growing offsets, either through a memory mapping or by
//! system calls.
//!
//! # Why unsafe here
//! With a mapping, a small write is a copy. Measured on ext4: 96 bytes cost 700 to 800 ns by
//! `pwrite` and 2.6 ns into a mapped page that is present. Over a whole 64 MiB file, populating
//! included, 100 bytes cost 510 to 570 ns by `pwrite`, 105 ns into a fresh mapping and 17 ns into
//! one whose pages are cached. With an `fdatasync` after each write both ways cost 100 us: 99 by
//! `pwrite`, 101 to 106 mapped. The mapping then has the longer tail (3 ms against 1 ms), so a log
//! that is synced at every commit is written by `pwrite`. `examples/env_cost.rs` repeats these
//! measurements.
//!
//! # Why pages are populated
//! The first access to a mapped page costs 20 us or more: a page fault that reserves the block. If
//! the disk cannot serve it, a signal ends the process. `MADV_POPULATE_WRITE` faults in many pages
//! with one call and returns failures as errors. A job populates one step ahead of the writer; a
//! writer that catches up populates pages itself.
//!
//! # Why `fdatasync` covers the mapping
//! On Linux a store into a shared file mapping dirties the file's page in the page cache: the fault
//! that makes the page writable marks it. `fdatasync` writes the dirty pages of the file, no matter
//! which process or mapping dirtied them, and write-protects them again, so that the next store is
//! noticed. fsync(2): "transfers all modified in-core data of (i.e., modified buffer cache pages
//! for) the file". Systems without this guarantee use `pwrite`.
//!
//! # Invariants
//! 1. Bytes are copied only into pages below `populated`, and only by the one owner of the file.
//! 2. The mapping is unmapped when the file and all populating jobs have dropped it.
//! 3. No process shortens a log file while it is open: accessing the missing pages would be fatal.
//!    The folder lock excludes other writers.
//! 4. A child of `fork` writes nothing and does not have the mapping (`MADV_DONTFORK`). The
//!    addresses may be in use for something else there, so it does not unmap them either.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rustix::fs::{AtFlags, OFlags, unlinkat};

use super::place::Place;
use super::sys;
use crate::error::{EnvError, Result};
use crate::files::{LogFile, LogMode, LogSync};
use crate::jobs::JobPool;
use crate::owner::{Own, Owner};

/// Creates a log file with its disk space reserved.
pub(super) fn create(
    place: &Place<'_>,
    len_bytes: u64,
    mode: LogMode,
    pool: &Arc<JobPool>,
) -> Result<Box<dyn LogFile>> {
    let file = place.create("create", OFlags::RDWR)?;
    if let Err(e) = sys::allocate(&file, len_bytes) {
        drop(file);
        // The caller gets the error of the full disk. It matters more than an empty file that
        // cannot be removed.
        let _ = unlinkat(place.descriptor(), place.name(), AtFlags::empty());
        return Err(super::write_error("reserve space for", place.path(), len_bytes, e));
    }
    wrap(file, place.path(), len_bytes, mode, pool)
}

/// Opens an existing log file.
pub(super) fn open(
    place: &Place<'_>,
    mode: LogMode,
    pool: &Arc<JobPool>,
) -> Result<Box<dyn LogFile>> {
    let file = place.open_alone("open", OFlags::RDWR)?;
    let len_bytes = file.metadata().map_err(|e| EnvError::io("open", place.path(), e))?.len();
    wrap(file, place.path(), len_bytes, mode, pool)
}

fn wrap(
    file: File,
    path: &Path,
    len_bytes: u64,
    mode: LogMode,
    pool: &Arc<JobPool>,
) -> Result<Box<dyn LogFile>> {
    let file = Arc::new(SharedFile { file: Own::new(file), path: path.to_owned() });
    #[cfg(target_os = "linux")]
    if mode == LogMode::Mapped && len_bytes > 0 {
        let mapping = mapped::Mapping::new(file.file.get()?, len_bytes);
        let mapping = Arc::new(mapping.map_err(|e| EnvError::io("map", path, e))?);
        let pool = Arc::downgrade(pool);
        return Ok(Box::new(mapped::MappedLog { file, mapping, populating: 0, pool }));
    }
    let _: (LogMode, Weak<JobPool>) = (mode, Arc::downgrade(pool));
    Ok(Box::new(WrittenLog { file, len_bytes }))
}

fn past_end(path: &Path) -> EnvError {
    EnvError::io("write past the end of", path, io::Error::from(io::ErrorKind::InvalidInput))
}

/// The open file, shared by the writer and the threads that sync.
#[derive(Debug)]
struct SharedFile {
    file: Own<File>,
    path: PathBuf,
}

impl LogSync for SharedFile {
    fn sync(&self) -> Result<()> {
        self.file.get()?.sync_data().map_err(|e| EnvError::io("sync", &self.path, e))
    }
}

/// A log file that is written with one system call per write.
#[derive(Debug)]
struct WrittenLog {
    file: Arc<SharedFile>,
    len_bytes: u64,
}

impl LogFile for WrittenLog {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len_bytes) {
            return Err(past_end(&self.file.path));
        }
        let written = self.file.file.get()?.write_all_at(bytes, offset);
        let needed = bytes.len() as u64;
        written.map_err(|e| super::write_error("write", &self.file.path, needed, e))
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }

    fn sync_handle(&self) -> Arc<dyn LogSync> {
        Arc::clone(&self.file) as Arc<dyn LogSync>
    }

    fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    fn path(&self) -> &Path {
        &self.file.path
    }
}

#[cfg(target_os = "linux")]
mod mapped {
    use std::os::fd::AsRawFd;
    use std::ptr::{self, NonNull};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::environment::JobKind;

    /// Bytes that a job populates at once, and the distance to the writer at which it starts.
    ///
    /// Populated pages are dirty, so a sync writes them. The step limits how many are written
    /// needlessly.
    const STEP_BYTES: usize = 1 << 20;

    /// Bytes that a writer populates itself when it has caught up with the job.
    const CATCH_UP_BYTES: usize = 64 << 10;

    /// The mapped file. Only its owner copies into it. Jobs only ask the kernel to fault pages in.
    #[derive(Debug)]
    pub(super) struct Mapping {
        base: NonNull<u8>,
        len: usize,
        /// The process that has the mapping.
        pub(super) owner: Owner,
        /// Pages from the first write up to this byte have been faulted in for writing.
        populated: AtomicUsize,
    }

    // SAFETY: `base` is not tied to a thread. Through a shared reference only `populate` is
    // reachable, which passes addresses to the kernel and reads or writes no byte; `copy` is unsafe
    // and its caller guarantees to be the only one.
    unsafe impl Send for Mapping {}
    // SAFETY: as for `Send`.
    unsafe impl Sync for Mapping {}

    impl Mapping {
        pub(super) fn new(file: &File, len_bytes: u64) -> io::Result<Self> {
            let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
            let len = usize::try_from(len_bytes).map_err(too_long)?;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: a new mapping at an address that the kernel chooses; `file` is open for
            // reading and writing and `len` long.
            let base = unsafe {
                libc::mmap(ptr::null_mut(), len, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
            };
            if base == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            // A second line of defence: a child that bypassed all checks crashes here instead of
            // writing to the parent's log. If the kernel refuses, the checks remain. SAFETY: the
            // range is the whole mapping, which was just made.
            unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
            let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
            Ok(Self { base, len, owner: Owner::here(), populated: AtomicUsize::new(0) })
        }

        /// Faults in the pages up to `end`, from where the last call ended.
        fn populate(&self, end: usize) -> io::Result<()> {
            let start = self.populated.load(Ordering::Acquire) & !(PAGE_BYTES - 1);
            let end = end.min(self.len);
            if start >= end {
                return Ok(());
            }
            loop {
                // SAFETY: the range lies in the mapping and starts at a page.
                let result = unsafe {
                    libc::madvise(
                        self.base.as_ptr().add(start).cast(),
                        end - start,
                        libc::MADV_POPULATE_WRITE,
                    )
                };
                let error = io::Error::last_os_error();
                match error.raw_os_error() {
                    _ if result == 0 => break,
                    Some(libc::EINTR | libc::EAGAIN) => {}
                    // Linux before 5.14 lacks this advice. Touching the pages faults them in.
                    Some(libc::EINVAL) => break,
                    _ => return Err(error),
                }
            }
            self.populated.fetch_max(end, Ordering::Release);
            Ok(())
        }

        /// Copies `bytes` to `offset`.
        ///
        /// # Safety
        /// No other thread copies into this mapping at the same time.
        unsafe fn copy(&self, bytes: &[u8], offset: usize) {
            assert!(offset <= self.len && bytes.len() <= self.len - offset);
            // SAFETY: the target lies in the mapping by the assertion; `bytes` cannot overlap it,
            // as no reference into the mapping is ever made; the caller guarantees to be the only
            // writer. Other processes may read the file meanwhile: they get old or new bytes and
            // verify checksums.
            unsafe {
                ptr::copy_nonoverlapping(
                    bytes.as_ptr(),
                    self.base.as_ptr().add(offset),
                    bytes.len(),
                );
            }
        }
    }

    /// Alignment of populated ranges, a multiple of the page size. Starting a range too low does no
    /// harm.
    const PAGE_BYTES: usize = 64 << 10;

    impl Drop for Mapping {
        fn drop(&mut self) {
            if !self.owner.is_here() {
                return;
            }
            // SAFETY: this is the mapping made in `new`, and nothing refers to it any more. The
            // copied bytes stay in the page cache.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
        }
    }

    /// A log file that is written by copying into the mapping.
    #[derive(Debug)]
    pub(super) struct MappedLog {
        pub(super) file: Arc<SharedFile>,
        pub(super) mapping: Arc<Mapping>,
        /// End of the range that jobs were asked to populate.
        pub(super) populating: usize,
        /// Weak, so that an open log file does not keep worker threads alive.
        pub(super) pool: Weak<JobPool>,
    }

    impl MappedLog {
        /// Populates the pages up to `end`, and starts a job for the pages after it.
        #[cold]
        fn prepare(&mut self, offset: usize, end: usize) -> io::Result<()> {
            if self.mapping.populated.load(Ordering::Acquire) == 0 {
                // The first write since opening: the pages below it will not be written.
                self.mapping.populated.store(offset, Ordering::Release);
            }
            if end > self.mapping.populated.load(Ordering::Acquire) {
                self.mapping.populate(end.saturating_add(CATCH_UP_BYTES))?;
            }
            let len = self.mapping.len;
            if self.populating < len && end.saturating_add(STEP_BYTES) > self.populating {
                let target = end.saturating_add(2 * STEP_BYTES).min(len);
                self.populating = target;
                if let Some(pool) = self.pool.upgrade() {
                    let mapping = Arc::downgrade(&self.mapping);
                    let job = move || {
                        if let Some(mapping) = mapping.upgrade() {
                            // A failure does no harm here: the writer meets it again.
                            let _ = mapping.populate(target);
                        }
                    };
                    pool.spawn(JobKind::Flush, Box::new(job));
                }
            }
            Ok(())
        }
    }

    impl LogFile for MappedLog {
        #[inline]
        fn write_at(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(bytes.len());
            if end > self.mapping.len {
                return Err(past_end(&self.file.path));
            }
            self.mapping.owner.check()?;
            let ahead = end.saturating_add(STEP_BYTES).min(self.mapping.len);
            if ahead > self.populating || end > self.mapping.populated.load(Ordering::Relaxed) {
                let prepared = self.prepare(start, end);
                prepared.map_err(|e| EnvError::io("write", &self.file.path, e))?;
            }
            // SAFETY: `&mut self` is the only owner of the mapping that copies.
            unsafe { self.mapping.copy(bytes, start) };
            Ok(())
        }

        fn sync(&mut self) -> Result<()> {
            self.file.sync()
        }

        fn sync_handle(&self) -> Arc<dyn LogSync> {
            Arc::clone(&self.file) as Arc<dyn LogSync>
        }

        fn len_bytes(&self) -> u64 {
            self.mapping.len as u64
        }

        fn path(&self) -> &Path {
            &self.file.path
        }
    }
}
