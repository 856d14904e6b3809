//! Backups of a database, and databases out of backups.

use crate::Database;
use env::{Env, RealEnv, RealOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Error, ErrorKind, Progress, Result};

pub use kv::{BackupOptions, BackupReport, RestoreOptions, RestoreReport};

impl Database {
    /// Writes everything that is committed now to `target`: a new or empty folder, which is itself
    /// a database, or one compressed file where the name ends in `.qbak`. Reads and writes go on
    /// meanwhile. In a folder, tables are hard links where the file system has them. `progress` is
    /// told bytes done and in all, and answers whether to go on.
    ///
    /// A database that was opened read-only is backed up as of its writer's newest commit.
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
    /// [`ErrorKind::InvalidInput`] where something is at `target`, or `earlier` is no backup of this database;
    /// [`ErrorKind::Corruption`] where a table is damaged; [`ErrorKind::Cancelled`]; a failed read or write. Nothing
    /// that could pass for a backup is left then.
    pub fn backup(
        &self,
        target: impl AsRef<Path>,
        options: &BackupOptions,
        progress: Progress<'_>,
    ) -> Result<BackupReport> {
        let earlier = options.earlier.as_deref().map(absolute).transpose()?;
        self.write_waiting()?;
        let options = BackupOptions { earlier, ..options.clone() };
        self.kv()?.backup(self.env(), &absolute(target.as_ref())?, &options, progress)
    }
}

/// Makes the database at `target` out of a backup, a folder or a `.qbak` file. Every checksum is
/// compared and every row read before anything at `target` changes. `progress` is told bytes done
/// and in all, and answers whether to go on.
///
/// ```no_run
/// use quipu::{RestoreOptions, restore};
///
/// restore("tuesday", "patents.quipu", RestoreOptions { replace: true }, &|_, _| true)?;
/// # Ok::<(), quipu::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidInput`] where `backup` is none, or did not finish, or something is at `target` that may not be
/// replaced; [`ErrorKind::Corruption`] with file and offset; [`ErrorKind::Locked`] where a process
/// has the database at `target` open; [`ErrorKind::Cancelled`]; a failed read or write. What was at
/// `target` is whole then.
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

/// Removes a database that is not open; its folder too, unless something else is in it.
///
/// # Errors
/// [`ErrorKind::Locked`] where a process has it open; [`ErrorKind::Io`] where its folder cannot be opened.
pub fn remove_database(folder: impl AsRef<Path>) -> Result<()> {
    kv::remove(&RealEnv::new(RealOptions::default()), &absolute(folder.as_ref())?)
}

/// As a path is given, from the root on.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
}
