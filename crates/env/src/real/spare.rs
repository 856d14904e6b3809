//! Spare descriptors for when the process has run out of them.
//!
//! # Why
//! A writer must be able to open files: the next segment of its log, the file that replaces
//! `CURRENT`, the table of a flush, the folder that it syncs. Otherwise it would have to stop. Each
//! of these is open only for a short time, or replaces another file that is closed soon. So a few
//! spare descriptors, released one after another, are enough while the program has used up all
//! others.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::files::FolderLock;
use crate::jobs::locked;

/// Twice the number of files that a writer opens at the same time as others: a log segment, a
/// manifest, a table and its folder.
const SPARES: usize = 8;

/// Spare descriptors, kept while the folder lock is held.
#[derive(Debug, Default)]
pub(super) struct Spares {
    files: Mutex<Vec<File>>,
    is_kept: AtomicBool,
    /// Whether some were released. Cheap to read.
    is_short: AtomicBool,
}

impl Spares {
    /// Calls `open`, and releases a spare descriptor for each failure for lack of descriptors.
    pub(super) fn open<T>(&self, open: impl Fn() -> Result<T>) -> Result<T> {
        if self.is_short.load(Ordering::Relaxed) {
            self.fill();
        }
        loop {
            match open() {
                Err(error) if error.is_out_of_descriptors() => {
                    // Another thread may take the released descriptor. Then the next one is
                    // released.
                    let Some(spare) = locked(&self.files).pop() else { return Err(error) };
                    self.is_short.store(true, Ordering::Relaxed);
                    drop(spare);
                }
                opened => return opened,
            }
        }
    }

    fn fill(&self) {
        let mut files = locked(&self.files);
        while self.is_kept.load(Ordering::Acquire) && files.len() < SPARES {
            // Any file will do: only the descriptor matters.
            let Ok(file) = File::open("/dev/null") else { return };
            files.push(file);
        }
        self.is_short.store(false, Ordering::Relaxed);
    }
}

/// A lock together with the spare descriptors of its holder.
#[derive(Debug)]
pub(super) struct WithSpares<L> {
    _lock: L,
    spares: Arc<Spares>,
}

impl<L> WithSpares<L> {
    pub(super) fn new(lock: L, spares: &Arc<Spares>) -> Self {
        spares.is_kept.store(true, Ordering::Release);
        spares.fill();
        Self { _lock: lock, spares: Arc::clone(spares) }
    }
}

impl<L> Drop for WithSpares<L> {
    fn drop(&mut self) {
        self.spares.is_kept.store(false, Ordering::Release);
        locked(&self.spares.files).clear();
    }
}

impl<L: FolderLock> FolderLock for WithSpares<L> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::EnvError;
    use std::cell::Cell;
    use std::io;
    use std::path::Path;

    #[derive(Debug)]
    struct Lock;
    impl FolderLock for Lock {}

    fn none_left() -> EnvError {
        const EMFILE: i32 = 24;
        EnvError::io("open", Path::new("x"), io::Error::from_raw_os_error(EMFILE))
    }

    #[test]
    fn one_is_given_up_at_a_time_and_they_come_back() {
        let spares = Arc::new(Spares::default());
        assert!(spares.open(|| Err::<(), _>(none_left())).is_err(), "nobody holds a lock");
        let lock = WithSpares::new(Lock, &spares);
        for tries in 1..=SPARES {
            let left = Cell::new(tries);
            let open = || {
                left.set(left.get() - 1);
                if left.get() > 0 { Err(none_left()) } else { Ok(()) }
            };
            spares.open(open).unwrap();
            assert_eq!(locked(&spares.files).len(), SPARES + 1 - tries);
            // Descriptors are available again.
            spares.open(|| Ok(())).unwrap();
            assert_eq!(locked(&spares.files).len(), SPARES);
        }
        assert!(spares.open(|| Err::<(), _>(none_left())).is_err());
        drop(lock);
        spares.open(|| Ok(())).unwrap();
        assert_eq!(locked(&spares.files).len(), 0, "with the lock they go");
    }
}
