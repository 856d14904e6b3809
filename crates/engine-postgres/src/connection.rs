//! One connection, with its prepared statements.

use ordered::{Order, Pair};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, Statement};
use store::{Durability, Error, ErrorKind, Result};

/// Bytes of keys and values in one message to the server, about.
const MESSAGE_BYTES: usize = 8 << 20;

/// Without statistics of a new table the planner would read all of it.
const PLANS_BY_INDEX: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; \
    SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off";

const GET: &str = "SELECT k.i, q.value FROM unnest($1::bytea[]) WITH ORDINALITY AS k(key, i) \
    JOIN quipu q ON q.key = k.key";
const FORWARD: &str =
    "SELECT key, value FROM quipu WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3";
const BACKWARD: &str =
    "SELECT key, value FROM quipu WHERE key >= $1 AND key < $2 ORDER BY key DESC LIMIT $3";
const SCAN_MANY: &str = "SELECT r.i, q.key, q.value \
    FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY AS r(lower, upper, i) \
    CROSS JOIN LATERAL (SELECT key, value FROM quipu WHERE key >= r.lower AND key < r.upper \
    ORDER BY key LIMIT $3) q ORDER BY r.i, q.key";
const PUT: &str = "INSERT INTO quipu SELECT * FROM unnest($1::bytea[], $2::bytea[]) \
    ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM quipu WHERE key = ANY($1::bytea[])";
const DELETE_RANGE: &str = "DELETE FROM quipu WHERE key >= $1 AND key < $2";

/// A connection to a database that has the table.
pub(crate) struct Connection {
    client: Client,
    place: String,
    get: Statement,
    forward: Statement,
    backward: Statement,
    scan_many: Statement,
    put: Statement,
    delete: Statement,
    delete_range: Statement,
}

/// An error of the server or of the connection.
pub(crate) fn failed(place: &str, error: postgres::Error) -> Error {
    let kind = match error.code() {
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => ErrorKind::ReadOnly,
        Some(code) if *code == SqlState::PROGRAM_LIMIT_EXCEEDED => ErrorKind::Limit,
        Some(code) if [SqlState::DATA_CORRUPTED, SqlState::INDEX_CORRUPTED].contains(code) => {
            ErrorKind::Corruption
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => ErrorKind::InvalidInput,
        _ => ErrorKind::Io,
    };
    let what = match error.as_db_error() {
        Some(said) => said.message().to_owned(),
        None => std::error::Error::source(&error)
            .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")),
    };
    Error::caused(kind, error).with_message(format!("{place}: {what}"))
}

/// A client without prepared statements.
pub(crate) fn connect(config: &Config, place: &str) -> Result<Client> {
    config.connect(NoTls).map_err(|error| failed(place, error))
}

/// Whether the table is there.
pub(crate) fn has_table(client: &mut Client) -> std::result::Result<bool, postgres::Error> {
    Ok(client.query_one("SELECT to_regclass('quipu') IS NOT NULL", &[])?.get(0))
}

impl Connection {
    /// Connects, and prepares the statements.
    pub(crate) fn open(config: &Config, place: &str, durability: Durability) -> Result<Self> {
        let mut client = connect(config, place)?;
        let mut prepare = || {
            client.batch_execute(PLANS_BY_INDEX)?;
            if durability != Durability::Sync {
                client.batch_execute("SET synchronous_commit = off")?;
            }
            let mut statement = |text| client.prepare(text);
            Ok((
                [statement(GET)?, statement(FORWARD)?, statement(BACKWARD)?, statement(SCAN_MANY)?],
                [statement(PUT)?, statement(DELETE)?, statement(DELETE_RANGE)?],
            ))
        };
        let ([get, forward, backward, scan_many], [put, delete, delete_range]) =
            prepare().map_err(|error| failed(place, error))?;
        let place = place.to_owned();
        Ok(Self { client, place, get, forward, backward, scan_many, put, delete, delete_range })
    }

    /// Whether the server or the network has ended it.
    pub(crate) fn is_lost(&self) -> bool {
        self.client.is_closed()
    }

    fn run<R>(
        &mut self,
        run: impl FnOnce(&mut Self) -> std::result::Result<R, postgres::Error>,
    ) -> Result<R> {
        run(self).map_err(|error| failed(&self.place, error))
    }

    /// Runs statements without results.
    pub(crate) fn execute(&mut self, text: &str) -> Result<()> {
        self.run(|own| own.client.batch_execute(text))
    }

    /// The one value of a query.
    pub(crate) fn value<T: for<'a> postgres::types::FromSql<'a>>(
        &mut self,
        text: &str,
    ) -> Result<T> {
        self.run(|own| own.client.query_one(text, &[])?.try_get(0))
    }

    pub(crate) fn get(&mut self, keys: &[Vec<u8>], out: &mut Vec<Option<Vec<u8>>>) -> Result<()> {
        let first = out.len();
        out.resize(first + keys.len(), None);
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.run(|own| {
            for row in own.client.query(&own.get, &[&keys])? {
                let (i, value): (i64, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
                out[first + i as usize - 1] = Some(value);
            }
            Ok(())
        })
    }

    pub(crate) fn scan(
        &mut self,
        (lower, upper): (&[u8], &[u8]),
        order: Order,
        limit: usize,
        out: &mut Vec<Pair>,
    ) -> Result<()> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.run(|own| {
            let statement = if order == Order::Forward { &own.forward } else { &own.backward };
            for row in own.client.query(statement, &[&lower, &upper, &limit])? {
                out.push((row.try_get(0)?, row.try_get(1)?));
            }
            Ok(())
        })
    }

    pub(crate) fn scan_many(
        &mut self,
        ranges: &[(Vec<u8>, Vec<u8>)],
        limit: usize,
        out: &mut Vec<Vec<Pair>>,
    ) -> Result<()> {
        let first = out.len();
        out.resize(first + ranges.len(), Vec::new());
        let lowers: Vec<&[u8]> = ranges.iter().map(|(lower, _)| lower.as_slice()).collect();
        let uppers: Vec<&[u8]> = ranges.iter().map(|(_, upper)| upper.as_slice()).collect();
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.run(|own| {
            for row in own.client.query(&own.scan_many, &[&lowers, &uppers, &limit])? {
                let i: i64 = row.try_get(0)?;
                out[first + i as usize - 1].push((row.try_get(1)?, row.try_get(2)?));
            }
            Ok(())
        })
    }

    pub(crate) fn put(&mut self, pairs: &[Pair]) -> Result<()> {
        let mut rest = pairs;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |(key, value): &&Pair| {
                bytes += key.len() + value.len();
                bytes <= MESSAGE_BYTES
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (some, later) = rest.split_at(count);
            rest = later;
            let keys: Vec<&[u8]> = some.iter().map(|(key, _)| key.as_slice()).collect();
            let values: Vec<&[u8]> = some.iter().map(|(_, value)| value.as_slice()).collect();
            self.run(|own| own.client.execute(&own.put, &[&keys, &values]))?;
        }
        Ok(())
    }

    pub(crate) fn delete(&mut self, keys: &[Vec<u8>]) -> Result<()> {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        self.run(|own| own.client.execute(&own.delete, &[&keys]).map(drop))
    }

    pub(crate) fn delete_range(&mut self, lower: &[u8], upper: &[u8]) -> Result<()> {
        self.run(|own| own.client.execute(&own.delete_range, &[&lower, &upper]).map(drop))
    }
}
