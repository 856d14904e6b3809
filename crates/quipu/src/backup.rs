//! Backups of a database, and their restore: the options and calls of the Rust API. `kv` does the
//! work.

use crate::database::Database;
use env::{Env, RealEnv, RealOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};

pub use kv::{BackupOptions, BackupReport, RestoreOptions, RestoreReport};

impl Database {
    /// Writes all commits so far to `target`: a new or empty folder, which becomes a database
    /// itself, or one compressed file if the name ends in `.qbak`. Reads and writes continue in the
    /// meantime. In a folder, tables are hard links if the file system supports them. `progress`
    /// gets the bytes done and in total; returning false cancels.
    ///
    /// The backup of a read-only database contains its writer's newest commits.
    ///
    /// ```no_run
    /// use quipu::{BackupOptions, Database, Options};
    ///
    /// let db = Database::open("patents.quipu", Options::default())?;
    /// db.backup("monday", &BackupOptions::default(), &|_, _| true)?;
    /// let options = BackupOptions { earlier: Some("monday".into()), ..BackupOptions::default() };
    /// let report = db.backup("tuesday", &options, &|_, _| true)?;
    /// println!("{} bytes are new", report.bytes_written);
    /// # Ok::<(), quipu::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if something exists at `target`, or `earlier` is not a backup of
    /// this database; [`ErrorKind::Corruption`] if a table is damaged; [`ErrorKind::Cancelled`]; a
    /// failed read or write. In each case nothing is left that looks like a backup.
    pub fn backup(
        &self,
        target: impl AsRef<Path>,
        options: &BackupOptions,
        progress: Progress<'_>,
    ) -> Result<BackupReport> {
        let earlier = options.earlier.as_deref().map(absolute).transpose()?;
        self.flush_buffers()?;
        let options = BackupOptions { earlier, ..options.clone() };
        self.kv("backups")?.backup(self.env(), &absolute(target.as_ref())?, &options, progress)
    }
}

/// Restores a backup, a folder or a `.qbak` file, to a database at `target`. Verifies every
/// checksum and reads every row before it changes anything at `target`. `progress` gets the bytes
/// done and in total; returning false cancels.
///
/// ```no_run
/// use quipu::{RestoreOptions, restore};
///
/// restore("tuesday", "patents.quipu", RestoreOptions { replace: true }, &|_, _| true)?;
/// # Ok::<(), quipu::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidInput`] if `backup` is not a finished backup, or something exists at
/// `target` that must not be replaced; [`ErrorKind::Corruption`] with file and offset;
/// [`ErrorKind::Locked`] if a process has the database at `target` open; [`ErrorKind::Cancelled`];
/// a failed read or write. The database at `target` is then unchanged.
pub fn restore(
    backup: impl AsRef<Path>,
    target: impl AsRef<Path>,
    options: RestoreOptions,
    progress: Progress<'_>,
) -> Result<RestoreReport> {
    let env: Arc<dyn Env> = Arc::new(RealEnv::new(RealOptions::default()));
    let (backup, target) = (absolute(backup.as_ref())?, absolute(target.as_ref())?);
    kv::restore(&env, &backup, &target, options, progress)
}

/// Removes a database that is not open. Removes the folder too, unless it contains other files.
///
/// # Errors
/// [`ErrorKind::Locked`] if a process has it open; [`ErrorKind::Io`] if its folder cannot be
/// opened.
pub fn remove_database(folder: impl AsRef<Path>) -> Result<()> {
    kv::remove(&RealEnv::new(RealOptions::default()), &absolute(folder.as_ref())?)
}

/// Makes a path absolute.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}
