//! The ordered map in a SQLite file.
#![allow(clippy::disallowed_types)] // the log of SQLite, which SQLite does not sync on request

use env::sync::{Mutex, MutexGuard};
use ordered::{MapRead, MapWriter, Order, OrderedMap, Pair};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, params};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use store::{Durability, Error, ErrorKind, Result};

/// Marks a file as ours: "Qipu".
const APPLICATION_ID: i32 = 0x5169_7075;

/// How long a writer waits for one of another process.
const BUSY: Duration = Duration::from_secs(60);

/// Connections that are kept for later snapshots.
const KEPT_MAX: usize = 16;

/// Problems listed by a check.
const PROBLEMS_MAX: usize = 100;

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS quipu(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
const GET: &str = "SELECT value FROM quipu WHERE key = ?1";
const FORWARD: &str =
    "SELECT key, value FROM quipu WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3";
const BACKWARD: &str =
    "SELECT key, value FROM quipu WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
const PUT: &str = "INSERT OR REPLACE INTO quipu(key, value) VALUES (?1, ?2)";
const DELETE: &str = "DELETE FROM quipu WHERE key = ?1";
const DELETE_RANGE: &str = "DELETE FROM quipu WHERE key >= ?1 AND key < ?2";

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// The failures that a commit survives.
    pub durability: Durability,
    /// Memory for pages of each connection, in bytes.
    pub cache_bytes: u64,
    /// The file is only read.
    pub read_only: bool,
    /// A missing file is created.
    pub create: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { durability: Durability::Sync, cache_bytes: 32 << 20, read_only: false, create: true }
    }
}

/// An ordered map in a SQLite file.
pub struct SqliteMap {
    shared: Arc<Shared>,
}

struct Shared {
    file: PathBuf,
    options: SqliteOptions,
    /// `None` if it is read-only or closed.
    writer: Mutex<Option<Connection>>,
    /// Connections without a transaction.
    readers: Mutex<Vec<Connection>>,
    /// Holds the lock of the one process that writes.
    claim: Mutex<Option<Connection>>,
}

impl SqliteMap {
    /// Opens the file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if it is missing and must not be created;
    /// [`ErrorKind::Corruption`] if it is no SQLite file; failures of SQLite.
    pub fn open(file: &Path, options: SqliteOptions) -> Result<Self> {
        let shared = Shared {
            file: file.to_owned(),
            options,
            writer: Mutex::default(),
            readers: Mutex::default(),
            claim: Mutex::default(),
        };
        if !options.read_only {
            let writer = shared.connect()?;
            shared.prepare(&writer)?;
            *shared.writer.lock() = Some(writer);
        }
        let reader = shared.connect()?;
        shared.readers.lock().push(reader);
        Ok(Self { shared: Arc::new(shared) })
    }
}

impl Shared {
    fn failed(&self, error: rusqlite::Error) -> Error {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corruption,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
            Some(ErrorCode::ReadOnly) => ErrorKind::ReadOnly,
            Some(ErrorCode::CannotOpen) => ErrorKind::InvalidInput,
            Some(ErrorCode::TooBig | ErrorCode::OutOfMemory) => ErrorKind::Limit,
            _ => ErrorKind::Io,
        };
        let message = format!("{}: {error}", self.file.display());
        Error::caused(kind, error).with_message(message)
    }

    fn connect(&self) -> Result<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match self.options.read_only {
            true => OpenFlags::SQLITE_OPEN_READ_ONLY,
            false => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        if self.options.create && !self.options.read_only {
            flags |= OpenFlags::SQLITE_OPEN_CREATE;
        }
        let failed = |error| self.failed(error);
        let connection = Connection::open_with_flags(&self.file, flags).map_err(failed)?;
        connection.busy_timeout(BUSY).map_err(failed)?;
        let kibibytes = (self.options.cache_bytes >> 10).clamp(64, 1 << 30).cast_signed();
        connection.pragma_update(None, "cache_size", -kibibytes).map_err(failed)?;
        Ok(connection)
    }

    /// Sets up the file, and creates the table.
    fn prepare(&self, writer: &Connection) -> Result<()> {
        let set_up = || {
            // These two have no effect on a file that has pages.
            writer.pragma_update(None, "page_size", 8192)?;
            writer.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
            writer.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            let synchronous = match self.options.durability {
                Durability::Sync => "FULL",
                // The log is written, but not synced, at a commit.
                Durability::Os | Durability::None => "NORMAL",
            };
            writer.pragma_update(None, "synchronous", synchronous)?;
            let id: i32 = writer.pragma_query_value(None, "application_id", |row| row.get(0))?;
            if id == 0 {
                writer.pragma_update(None, "application_id", APPLICATION_ID)?;
            }
            writer.execute(CREATE, []).map(drop)
        };
        set_up().map_err(|error| self.failed(error))
    }
}

/// Reads through a connection, with the file's name in errors.
struct Reads<'c> {
    shared: &'c Shared,
    connection: &'c Connection,
}

impl Reads<'_> {
    fn get(&self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let mut get = || {
            let mut statement = self.connection.prepare_cached(GET)?;
            for key in keys {
                out.push(statement.query_row([key], |row| row.get(0)).optional()?);
            }
            Ok(())
        };
        get().map_err(|error| self.shared.failed(error))
    }

    fn scan(
        &self,
        (lower, upper): (&[u8], &[u8]),
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        let mut scan = || {
            let text = if order == Order::Forward { FORWARD } else { BACKWARD };
            let mut statement = self.connection.prepare_cached(text)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows = statement.query(params![lower, upper, limit])?;
            while let Some(row) = rows.next()? {
                let bytes = |column| row.get_ref(column).and_then(|value| Ok(value.as_blob()?));
                out.push((bytes(0)?.to_vec(), bytes(1)?.to_vec()));
            }
            Ok(())
        };
        scan().map_err(|error| self.shared.failed(error))
    }
}

/// A read transaction.
struct Snapshot {
    shared: Arc<Shared>,
    /// `None` once it was given back.
    connection: Option<Connection>,
}

impl Snapshot {
    fn reads(&self) -> Result<Reads<'_>> {
        match &self.connection {
            Some(connection) => Ok(Reads { shared: &self.shared, connection }),
            None => Err(closed(&self.shared)),
        }
    }
}

fn closed(shared: &Shared) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{} is closed", shared.file.display()))
}

impl MapRead for Snapshot {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        self.reads()?.get(keys, out)
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        self.reads()?.scan((lower, upper), order, limit, out)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        if connection.execute_batch("ROLLBACK").is_ok() {
            let mut readers = self.shared.readers.lock();
            if readers.len() < KEPT_MAX {
                readers.push(connection);
            }
        }
    }
}

/// The write transaction.
struct Writer<'m> {
    shared: &'m Shared,
    connection: MutexGuard<'m, Option<Connection>>,
    is_open: bool,
}

impl Writer<'_> {
    fn connection(&self) -> Result<&Connection> {
        self.connection.as_ref().ok_or_else(|| closed(self.shared))
    }

    fn reads(&self) -> Result<Reads<'_>> {
        Ok(Reads { shared: self.shared, connection: self.connection()? })
    }

    fn run(&self, run: impl FnOnce(&Connection) -> rusqlite::Result<()>) -> Result<()> {
        run(self.connection()?).map_err(|error| self.shared.failed(error))
    }
}

impl MapRead for Writer<'_> {
    fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        self.reads()?.get(keys, out)
    }

    fn scan(
        &mut self,
        lower: &[u8],
        upper: &[u8],
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        self.reads()?.scan((lower, upper), order, limit, out)
    }
}

impl MapWriter for Writer<'_> {
    fn put(&mut self, pairs: &[Pair]) -> Result<()> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(PUT)?;
            pairs
                .iter()
                .try_for_each(|(key, value)| statement.execute(params![key, value]).map(drop))
        })
    }

    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached(DELETE)?;
            keys.iter().try_for_each(|key| statement.execute([key]).map(drop))
        })
    }

    fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.run(|connection| {
            connection.prepare_cached(DELETE_RANGE)?.execute(params![lower, upper]).map(drop)
        })
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        self.run(|connection| connection.execute_batch("COMMIT"))?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.is_open
            && let Some(connection) = &*self.connection
        {
            // A failed commit may have ended the transaction.
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}

impl OrderedMap for SqliteMap {
    fn snapshot(&self) -> Result<Box<dyn MapRead + Send>> {
        let kept = self.shared.readers.lock().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => self.shared.connect()?,
        };
        connection.execute_batch("BEGIN").map_err(|error| self.shared.failed(error))?;
        // The transaction sees the state of its first read.
        let first = connection.prepare_cached("SELECT 1 FROM quipu LIMIT 1");
        let first = first.and_then(|mut first| first.exists([]));
        match first {
            Ok(_) => {}
            Err(error)
                if self.shared.options.read_only
                    && error.sqlite_error_code() == Some(ErrorCode::Unknown) =>
            {
                let what = format!("{} holds no quipu database", self.shared.file.display());
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
            Err(error) => return Err(self.shared.failed(error)),
        }
        Ok(Box::new(Snapshot { shared: Arc::clone(&self.shared), connection: Some(connection) }))
    }

    fn writer(&self) -> Result<Box<dyn MapWriter + '_>> {
        let connection = self.shared.writer.lock();
        let mut writer = Writer { shared: &self.shared, connection, is_open: false };
        writer.run(|connection| connection.execute_batch("BEGIN IMMEDIATE"))?;
        writer.is_open = true;
        Ok(Box::new(writer))
    }

    fn claim(&self) -> Result<()> {
        let mut name = self.shared.file.clone().into_os_string();
        name.push("-lock");
        let claim = || {
            let lock = Connection::open(&name)?;
            lock.busy_timeout(Duration::ZERO)?;
            lock.execute_batch("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")?;
            Ok(lock)
        };
        match claim() {
            Ok(lock) => {
                *self.shared.claim.lock() = Some(lock);
                Ok(())
            }
            Err(error) => {
                let file = self.shared.file.display();
                let error = self.shared.failed(error);
                let what = format!("another process has {file} open for writing");
                let hint = "open it read-only, or wait until the other process has closed it";
                match error.kind() {
                    ErrorKind::Locked => Err(error.with_message(format!("{what}\nhint: {hint}"))),
                    _ => Err(error),
                }
            }
        }
    }

    fn flush(&self) -> Result<()> {
        if self.shared.options.durability == Durability::Sync || self.shared.options.read_only {
            return Ok(());
        }
        let mut log = self.shared.file.clone().into_os_string();
        log.push("-wal");
        // No connection writes meanwhile. SQLite itself syncs the pages that it moves from the log.
        let _writer = self.shared.writer.lock();
        match std::fs::File::open(&log).and_then(|log| log.sync_all()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            synced => synced.map_err(|error| Error::caused(ErrorKind::Io, error)),
        }
    }

    fn compact(&self) -> Result<()> {
        let writer = self.shared.writer.lock();
        let writer = writer.as_ref().ok_or_else(|| closed(&self.shared))?;
        let compact = "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(PASSIVE)";
        writer.execute_batch(compact).map_err(|error| self.shared.failed(error))
    }

    fn bytes(&self) -> Result<u64> {
        let connection = self.shared.connect()?;
        let bytes = || {
            let pragma =
                |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            Ok((pragma("page_count")? * pragma("page_size")?).cast_unsigned())
        };
        bytes().map_err(|error| self.shared.failed(error))
    }

    fn problems(&self) -> Result<Vec<String>> {
        let connection = self.shared.connect()?;
        let check = || {
            let mut problems = Vec::new();
            connection.pragma(None, "quick_check", PROBLEMS_MAX as i64, |row| {
                problems.push(row.get::<_, String>(0)?);
                Ok(())
            })?;
            problems.retain(|problem| problem != "ok");
            Ok(problems)
        };
        check().map_err(|error| self.shared.failed(error))
    }

    fn name(&self) -> String {
        self.shared.file.display().to_string()
    }

    fn file(&self) -> Option<&Path> {
        Some(&self.shared.file)
    }

    fn close(&self) -> Result<()> {
        self.flush()?;
        self.shared.readers.lock().clear();
        let writer = self.shared.writer.lock().take();
        let closed = match writer {
            Some(writer) => writer.close().map_err(|(_, error)| self.shared.failed(error)),
            None => Ok(()),
        };
        *self.shared.claim.lock() = None;
        closed
    }
}
