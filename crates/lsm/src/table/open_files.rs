//! The files of tables that are open: not more than the process can have descriptors for.
//!
//! # Why a bound
//! Each graph has two trees, and each tree a table at least, so some hundred small graphs have more
//! files than a process may usually have open (1,024). A table keeps what it needs of its file in
//! memory and asks for the file only to read blocks. So of tables whose files keep their names the
//! descriptor can be closed, and opened again by name when it is needed.
//!
//! # Which one is closed
//! The one that was opened first and was not read since it came up last (a clock): a read sets a
//! flag and takes no lock.
//!
//! # Invariants
//! 1. A file is closed only if its name is kept as long as anyone holds the table. That is so where
//!    this process alone removes tables, and removes them when their last reader is gone; it is not
//!    so for a follower.
//! 2. A reader holds the file; closing it takes effect when that read is over.
//! 3. After [`OpenFiles::close`] no file is open except for running reads, and none is opened.

use env::sync::atomic::{AtomicBool, Ordering};
use env::sync::{ArcSwapOption, Mutex};
use env::{Env, EnvError, FileRead, RandomReadFile, ReadOptions, ReadRequest, Result};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// Files that are closed at once when there is no descriptor for another.
const CLOSED_TOGETHER: usize = 64;

/// The open files of a database's tables.
#[derive(Debug)]
pub struct OpenFiles {
    env: Arc<dyn Env>,
    files_max: usize,
    /// Those that can be closed, in the order in which they came up.
    queue: Mutex<VecDeque<Weak<Slot>>>,
    /// The others.
    kept: Mutex<Vec<Weak<Slot>>>,
    closed: AtomicBool,
}

impl OpenFiles {
    /// None is open. `files_max`: how many of those that can be closed are open at once, but for
    /// reads that run.
    #[must_use]
    pub fn new(env: Arc<dyn Env>, files_max: usize) -> Self {
        let (queue, kept, closed) = (Mutex::default(), Mutex::default(), false.into());
        Self { env, files_max: files_max.max(1), queue, kept, closed }
    }

    /// Opens a table's file. With `keeps_name` it may be closed, and opened again, while it is
    /// held.
    ///
    /// # Errors
    /// As [`Env::open_read`].
    pub fn open(
        self: &Arc<Self>,
        path: &Path,
        options: ReadOptions,
        keeps_name: bool,
    ) -> Result<Arc<dyn RandomReadFile>> {
        let file = TableFile(Arc::new(Slot {
            path: path.to_owned(),
            options,
            file: ArcSwapOption::new(None),
            opening: Mutex::default(),
            was_read: true.into(),
            files: Arc::clone(self),
            keeps_name,
        }));
        file.held()?;
        Ok(Arc::new(file))
    }

    /// Closes all, for good.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let files = std::mem::take(&mut *self.queue.lock());
        let kept = std::mem::take(&mut *self.kept.lock());
        for slot in files.iter().chain(&kept).filter_map(Weak::upgrade) {
            slot.file.store(None);
        }
    }

    /// Files that are open.
    #[must_use]
    pub fn len(&self) -> usize {
        let count = |slots: &mut dyn Iterator<Item = &Weak<Slot>>| {
            slots.filter_map(Weak::upgrade).filter(|slot| slot.file.load().is_some()).count()
        };
        count(&mut self.queue.lock().iter()) + count(&mut self.kept.lock().iter())
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes that a file is open, and closes others until there are `files_max`.
    fn note(&self, slot: &Arc<Slot>) {
        if slot.keeps_name {
            let mut queue = self.queue.lock();
            queue.push_back(Arc::downgrade(slot));
            let over = queue.len().saturating_sub(self.files_max);
            close_some(&mut queue, over);
        } else {
            let mut kept = self.kept.lock();
            if kept.len() == kept.capacity() {
                kept.retain(|slot| slot.strong_count() > 0);
            }
            kept.push(Arc::downgrade(slot));
        }
        if self.closed.load(Ordering::Acquire) {
            // Perhaps before the file was noted.
            slot.file.store(None);
        }
    }
}

/// Closes `count` files, or as many as there are.
fn close_some(queue: &mut VecDeque<Weak<Slot>>, count: usize) {
    let mut left = count;
    // Twice around: the first time may find that all were read.
    for _ in 0..2 * queue.len() {
        if left == 0 {
            break;
        }
        let Some(next) = queue.pop_front() else { break };
        match next.upgrade() {
            Some(slot) if slot.was_read.swap(false, Ordering::Relaxed) => queue.push_back(next),
            Some(slot) => {
                slot.file.store(None);
                left -= 1;
            }
            None => left -= 1,
        }
    }
}

/// An open file.
#[derive(Debug)]
struct Open(Arc<dyn RandomReadFile>);

/// A table's file, open or not.
#[derive(Debug)]
struct Slot {
    path: PathBuf,
    options: ReadOptions,
    file: ArcSwapOption<Open>,
    /// Held while it is opened, so that it is noted once.
    opening: Mutex<()>,
    /// Since it came up last.
    was_read: AtomicBool,
    files: Arc<OpenFiles>,
    keeps_name: bool,
}

/// The file of a table for reads; it is opened on demand.
#[derive(Debug)]
struct TableFile(Arc<Slot>);

impl TableFile {
    fn held(&self) -> Result<Arc<Open>> {
        let slot = &self.0;
        if let Some(open) = slot.file.load_full() {
            if !slot.was_read.load(Ordering::Relaxed) {
                slot.was_read.store(true, Ordering::Relaxed);
            }
            return Ok(open);
        }
        self.open()
    }

    #[cold]
    fn open(&self) -> Result<Arc<Open>> {
        let slot = &self.0;
        let files = &slot.files;
        let _opening = slot.opening.lock();
        if let Some(open) = slot.file.load_full() {
            return Ok(open);
        }
        if files.closed.load(Ordering::Acquire) {
            return Err(EnvError::Closed);
        }
        let open = || files.env.open_read(&slot.path, slot.options);
        let opened = match open() {
            Err(error) if error.is_out_of_descriptors() => {
                close_some(&mut files.queue.lock(), CLOSED_TOGETHER);
                open()?
            }
            opened => opened?,
        };
        let opened = Arc::new(Open(opened));
        slot.was_read.store(true, Ordering::Relaxed);
        slot.file.store(Some(Arc::clone(&opened)));
        files.note(slot);
        Ok(opened)
    }
}

impl RandomReadFile for TableFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.held()?.0.read_at(buf, offset)
    }

    fn read_batch(&self, requests: &mut [ReadRequest]) -> Result<()> {
        self.held()?.0.read_batch(requests)
    }

    /// Reads in parts of few enough files that the bound is not exceeded by much.
    fn read_together(&self, reads: &mut [FileRead]) -> Result<bool> {
        let mut rest = reads;
        while !rest.is_empty() {
            let mut files = 1;
            let is_next = |pair: &[FileRead]| !Arc::ptr_eq(&pair[0].file, &pair[1].file);
            let mut end = 1;
            while end < rest.len() && (files < CLOSED_TOGETHER || !is_next(&rest[end - 1..=end])) {
                files += usize::from(is_next(&rest[end - 1..=end]));
                end += 1;
            }
            let (part, behind) = rest.split_at_mut(end);
            rest = behind;
            let mut inner = Vec::with_capacity(part.len());
            for read in &mut *part {
                let Some(file) = read.file.as_any().and_then(|any| any.downcast_ref::<Self>())
                else {
                    return Ok(false);
                };
                let file = Arc::clone(&file.held()?.0);
                inner.push(FileRead { file, offset: read.offset, buf: Vec::new() });
            }
            for (inner, read) in inner.iter_mut().zip(&mut *part) {
                inner.buf = std::mem::take(&mut read.buf);
            }
            let done = env::read_files(&mut inner);
            for (inner, read) in inner.into_iter().zip(part) {
                read.buf = inner.buf;
            }
            done?;
        }
        Ok(true)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn may_read(&self) -> Result<()> {
        self.held()?.0.may_read()
    }

    fn read_ahead(&self, offset: u64, bytes: u64) {
        if let Ok(open) = self.held() {
            open.0.read_ahead(offset, bytes);
        }
    }

    fn len_bytes(&self) -> Result<u64> {
        self.held()?.0.len_bytes()
    }

    fn path(&self) -> &Path {
        &self.0.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::MemoryEnv;

    const FILES: usize = 20;

    fn open(files: &Arc<OpenFiles>, at: usize, keeps_name: bool) -> Arc<dyn RandomReadFile> {
        let path = format!("/t/{at}.sst");
        files.open(Path::new(&path), ReadOptions::default(), keeps_name).unwrap()
    }

    fn with(files_max: usize) -> (Arc<MemoryEnv>, Arc<OpenFiles>) {
        let env = Arc::new(MemoryEnv::new(1));
        env.create_folder(Path::new("/t")).unwrap();
        for at in 0..FILES {
            let path = format!("/t/{at}.sst");
            env.create(Path::new(&path)).unwrap().append(&[at as u8; 16]).unwrap();
        }
        let files = Arc::new(OpenFiles::new(Arc::<MemoryEnv>::clone(&env), files_max));
        (env, files)
    }

    #[test]
    fn not_more_files_are_open_than_may_be_and_all_can_be_read() {
        let (_env, files) = with(3);
        let held: Vec<_> = (0..FILES).map(|at| open(&files, at, true)).collect();
        for round in 0..3 {
            for (at, file) in held.iter().enumerate() {
                let mut buf = [0; 4];
                file.read_at(&mut buf, round).unwrap();
                assert_eq!((buf, files.len()), ([at as u8; 4], 3));
            }
        }
        let read = |file: &Arc<dyn RandomReadFile>| FileRead {
            file: Arc::clone(file),
            offset: 2,
            buf: vec![0; 3],
        };
        let mut reads: Vec<FileRead> = held.iter().chain(&held).map(read).collect();
        env::read_files(&mut reads).unwrap();
        for (at, read) in reads.iter().enumerate() {
            assert_eq!(read.buf, [(at % FILES) as u8; 3]);
        }
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn a_file_that_was_read_since_is_not_the_one_that_is_closed() {
        let (env, files) = with(3);
        let held: Vec<_> = (0..3).map(|at| open(&files, at, true)).collect();
        // Takes the flags of all, and closes the oldest.
        let more = [open(&files, 3, true)];
        held[1].read_at(&mut [0; 4], 0).unwrap();
        let last = open(&files, 4, true);
        for at in 0..FILES {
            env.remove(Path::new(&format!("/t/{at}.sst"))).unwrap();
        }
        let is_open = |file: &Arc<dyn RandomReadFile>| file.read_at(&mut [0; 4], 0).is_ok();
        let open: Vec<bool> = held.iter().chain(&more).chain([&last]).map(is_open).collect();
        assert_eq!(open, [false, true, false, true, true]);
    }

    /// A follower's: the writer removes files that it reads.
    #[test]
    fn a_file_that_may_lose_its_name_stays_open() {
        let (env, files) = with(3);
        let held: Vec<_> = (0..FILES).map(|at| open(&files, at, false)).collect();
        for (at, file) in held.iter().enumerate() {
            env.remove(Path::new(&format!("/t/{at}.sst"))).unwrap();
            file.read_at(&mut [0; 4], 0).unwrap();
        }
        assert_eq!(files.len(), FILES);
    }

    #[test]
    fn closing_closes_all_whoever_holds_them() {
        let (_env, files) = with(3);
        let held: Vec<_> = (0..FILES).map(|at| open(&files, at, at % 2 == 0)).collect();
        files.close();
        assert!(files.is_empty());
        for file in held {
            let error = file.read_at(&mut [0; 4], 0).unwrap_err();
            assert!(matches!(error, EnvError::Closed), "{error}");
        }
        assert!(files.is_empty());
    }
}
