//! The ordered map in a PostgreSQL table.

use crate::connection::{Connection, connect, failed, has_table};
use env::sync::atomic::{AtomicBool, Ordering};
use env::sync::{Mutex, MutexGuard};
use ordered::{MapRead, MapWriter, Order, OrderedMap, Pair};
use postgres::Config;
use std::str::FromStr;
use std::sync::Arc;
use store::{Durability, Error, ErrorKind, Result};

/// Connections that are kept for later snapshots.
const KEPT_MAX: usize = 8;

/// Keys of advisory locks, beside the table's number.
const LOCK_COMMIT: &str = "SELECT pg_advisory_xact_lock(20854, 'quipu'::regclass::oid::int8::int4)";
const LOCK_WRITER: &str = "SELECT pg_try_advisory_lock(20855, 'quipu'::regclass::oid::int8::int4)";

/// Two processes that create the table at once would fail.
const CREATE: &str = "BEGIN; SELECT pg_advisory_xact_lock(20856); \
    CREATE TABLE IF NOT EXISTS quipu(key bytea PRIMARY KEY, value bytea NOT NULL); COMMIT";

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct PostgresOptions {
    /// The failures that a commit survives: a power cut at the server, or the end of this process.
    pub durability: Durability,
    /// The table is only read.
    pub read_only: bool,
    /// A missing table is created.
    pub create: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { durability: Durability::Sync, read_only: false, create: true }
    }
}

/// An ordered map in a PostgreSQL table.
pub struct PostgresMap {
    shared: Arc<Shared>,
    /// Whether this process asked to be the only writer, so that the writer's connection must hold
    /// the lock for that.
    is_claimed: AtomicBool,
}

struct Shared {
    config: Config,
    options: PostgresOptions,
    place: String,
    /// `None` if it is read-only, closed or lost.
    writer: Mutex<Option<Connection>>,
    readers: Mutex<Vec<Connection>>,
    is_closed: AtomicBool,
}

impl PostgresMap {
    /// Connects to the database at an address such as `postgres://user@host/database`. The table is
    /// in the first schema of the connection's search path. There is no encryption.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a wrong address, or a missing table that must not be
    /// created; failures of the server and of the network.
    pub fn open(address: &str, options: PostgresOptions) -> Result<Self> {
        let config = Config::from_str(address);
        let config = config.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
        let place = place_of(&config);
        let mut client = connect(&config, &place)?;
        let there = has_table(&mut client).map_err(|error| failed(&place, error))?;
        if !there && (options.read_only || !options.create) {
            let what = format!("{place} holds no quipu database");
            return Err(Error::new(ErrorKind::InvalidInput, what));
        }
        if !there {
            client.batch_execute(CREATE).map_err(|error| failed(&place, error))?;
        }
        let shared = Shared {
            config,
            options,
            place,
            writer: Mutex::default(),
            readers: Mutex::default(),
            is_closed: AtomicBool::new(false),
        };
        Ok(Self { shared: Arc::new(shared), is_claimed: AtomicBool::new(false) })
    }

    /// The writer's connection, made again if it was lost.
    fn connect_writer(&self, writer: &mut Option<Connection>) -> Result<()> {
        if self.shared.options.read_only || self.shared.is_closed.load(Ordering::Acquire) {
            let what = format!("{} is closed, or was opened read-only", self.shared.place);
            return Err(Error::new(ErrorKind::ReadOnly, what));
        }
        if writer.as_ref().is_some_and(|writer| !writer.is_lost()) {
            return Ok(());
        }
        *writer = None;
        let mut made = self.shared.connect()?;
        if self.is_claimed.load(Ordering::Acquire) && !made.value::<bool>(LOCK_WRITER)? {
            let what = format!("another process has {} open for writing", self.shared.place);
            let hint = "open it read-only, or wait until the other process has closed it";
            return Err(Error::new(ErrorKind::Locked, format!("{what}\nhint: {hint}")));
        }
        *writer = Some(made);
        Ok(())
    }
}

/// Hosts and name of the database, without user and password.
fn place_of(config: &Config) -> String {
    let hosts = config.get_hosts().iter().map(|host| match host {
        postgres::config::Host::Tcp(name) => name.clone(),
        postgres::config::Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<_> = hosts.collect();
    format!("postgres://{}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

impl Shared {
    fn connect(&self) -> Result<Connection> {
        Connection::open(&self.config, &self.place, self.options.durability)
    }
}

/// A read transaction.
struct Snapshot {
    shared: Arc<Shared>,
    /// `None` once it was given back.
    connection: Option<Connection>,
}

impl Snapshot {
    fn connection(&mut self) -> Result<&mut Connection> {
        let closed = || Error::new(ErrorKind::InvalidInput, "the snapshot has ended");
        self.connection.as_mut().ok_or_else(closed)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        if connection.execute("ROLLBACK").is_ok() && !self.shared.is_closed.load(Ordering::Acquire)
        {
            let mut readers = self.shared.readers.lock();
            if readers.len() < KEPT_MAX {
                readers.push(connection);
            }
        }
    }
}

/// The write transaction.
struct Writer<'m> {
    place: &'m str,
    connection: MutexGuard<'m, Option<Connection>>,
    is_open: bool,
}

impl Writer<'_> {
    fn connection(&mut self) -> Result<&mut Connection> {
        let lost = || Error::new(ErrorKind::Io, format!("{}: the connection is lost", self.place));
        self.connection.as_mut().ok_or_else(lost)
    }
}

/// Implements [`MapRead`] through a connection.
macro_rules! read_through_a_connection {
    ($type:ty) => {
        impl MapRead for $type {
            fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
                self.connection()?.get(keys, out)
            }

            fn scan(
                &mut self,
                lower: &[u8],
                upper: &[u8],
                order: Order,
                limit: usize,
                out: &mut Vec<Pair>,
            ) -> Result<()> {
                self.connection()?.scan((lower, upper), order, limit, out)
            }

            fn scan_many(
                &mut self,
                ranges: &[(Vec<u8>, Vec<u8>)],
                limit: usize,
                out: &mut Vec<Vec<Pair>>,
            ) -> Result<()> {
                self.connection()?.scan_many(ranges, limit, out)
            }
        }
    };
}

read_through_a_connection!(Snapshot);
read_through_a_connection!(Writer<'_>);

impl MapWriter for Writer<'_> {
    fn put(&mut self, pairs: &[Pair]) -> Result<()> {
        self.connection()?.put(pairs)
    }

    fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        self.connection()?.delete(keys)
    }

    fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.connection()?.delete_range(lower, upper)
    }

    fn commit(mut self: Box<Self>) -> Result<()> {
        // A transaction that has failed would be rolled back by `COMMIT` without an error, but then
        // the failed statement's error has already ended this commit.
        let connection = self.connection()?;
        match connection.execute("COMMIT") {
            Ok(()) => {
                self.is_open = false;
                Ok(())
            }
            Err(error) if connection.is_lost() => {
                let hint = "whether the commit took place is unknown: read before you repeat it";
                Err(error.clone().with_message(format!("{error}\nhint: {hint}")))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Writer<'_> {
    fn drop(&mut self) {
        if self.is_open
            && let Some(connection) = &mut *self.connection
            && connection.execute("ROLLBACK").is_err()
        {
            *self.connection = None;
        }
    }
}

impl OrderedMap for PostgresMap {
    fn snapshot(&self) -> Result<Box<dyn MapRead + Send>> {
        let kept = self.shared.readers.lock().pop();
        let mut connection = match kept.filter(|kept| !kept.is_lost()) {
            Some(connection) => connection,
            None => self.shared.connect()?,
        };
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        Ok(Box::new(Snapshot { shared: Arc::clone(&self.shared), connection: Some(connection) }))
    }

    fn writer(&self) -> Result<Box<dyn MapWriter + '_>> {
        let mut connection = self.shared.writer.lock();
        self.connect_writer(&mut connection)?;
        let mut writer = Writer { place: &self.shared.place, connection, is_open: false };
        writer.connection()?.execute("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        writer.is_open = true;
        writer.connection()?.execute(LOCK_COMMIT)?;
        Ok(Box::new(writer))
    }

    fn claim(&self) -> Result<()> {
        self.is_claimed.store(true, Ordering::Release);
        let mut writer = self.shared.writer.lock();
        *writer = None;
        self.connect_writer(&mut writer)
    }

    fn flush(&self) -> Result<()> {
        if self.shared.options.durability == Durability::Sync || self.shared.options.read_only {
            return Ok(());
        }
        let mut writer = self.shared.writer.lock();
        self.connect_writer(&mut writer)?;
        let Some(writer) = &mut *writer else { return Ok(()) };
        // A commit that is synced syncs all before it.
        let synced = "BEGIN; SET LOCAL synchronous_commit = on; SELECT txid_current(); COMMIT";
        writer.execute(synced)
    }

    fn compact(&self) -> Result<()> {
        let mut writer = self.shared.writer.lock();
        self.connect_writer(&mut writer)?;
        writer.as_mut().map_or(Ok(()), |writer| writer.execute("VACUUM (ANALYZE) quipu"))
    }

    fn bytes(&self) -> Result<u64> {
        let mut connection = self.shared.connect()?;
        let bytes: i64 = connection.value("SELECT pg_total_relation_size('quipu')")?;
        Ok(bytes.cast_unsigned())
    }

    fn name(&self) -> String {
        self.shared.place.clone()
    }

    fn close(&self) -> Result<()> {
        self.flush()?;
        self.shared.is_closed.store(true, Ordering::Release);
        self.shared.readers.lock().clear();
        *self.shared.writer.lock() = None;
        Ok(())
    }
}
