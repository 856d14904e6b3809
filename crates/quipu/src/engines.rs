//! Opens a database: in a folder, or on another engine than `kv` by its address such as
//! `sqlite://…`. Each of these engines is a feature.

use crate::database::Database;
use crate::options::Options;
use env::{RealEnv, RealOptions};
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Result};

/// Where a database is, if not in a folder: `engine://rest`.
struct Address {
    engine: String,
    rest: String,
}

impl Address {
    /// The address that a path is; `None` for a folder. `:memory:`, as SQLite and DuckDB write it,
    /// is `memory://`.
    fn of(path: &Path) -> Option<Self> {
        let text = match path.to_str()? {
            ":memory:" => "memory://",
            other => other,
        };
        let (engine, rest) = text.split_once("://")?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+-".contains(&byte);
        (!engine.is_empty() && engine.bytes().all(is_name))
            .then(|| Self { engine: engine.to_ascii_lowercase(), rest: rest.to_owned() })
    }

    fn refused(&self, what: &str, hint: &str) -> Error {
        let Self { engine, rest } = self;
        let what = format!("{engine}://{rest}: {what}");
        Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}"))
    }
}

/// Whether a database is at an address of another engine, and not in a folder.
#[must_use]
pub fn is_address(path: impl AsRef<Path>) -> bool {
    Address::of(path.as_ref()).is_some()
}

impl Database {
    /// Opens the database in `folder`, and creates it unless the options forbid that.
    ///
    /// Instead of a folder it may be the address of another engine: `memory://` or `:memory:`; with
    /// the feature `sqlite` a file, such as `sqlite:///data/cites.db` or `sqlite://cites.db`; with
    /// the feature `postgres` a server, such as `postgres://user@host/database`; with the feature
    /// `tikv` a cluster, such as `tikv://pd1:2379,pd2:2379/name` (`docs/guides/scale-out.md`).
    ///
    /// # Errors
    /// [`ErrorKind::Locked`] if another process has it open for writing (the message names the
    /// process); [`ErrorKind::Corruption`] with file and offset; [`ErrorKind::InvalidInput`] if the
    /// folder holds something else, or no database and [`Options::create`] is false.
    pub fn open(folder: impl AsRef<Path>, options: Options) -> Result<Self> {
        if let Some(address) = Address::of(folder.as_ref()) {
            return Self::open_address(&address, options);
        }
        let env = RealEnv::new(RealOptions {
            threads: options.threads,
            direct_writes: options.direct_io,
            ..RealOptions::default()
        });
        let absolute = |path: &Path| {
            std::path::absolute(path).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
        };
        let folder = absolute(folder.as_ref())?;
        // The database stores these paths, and may be opened from another working directory.
        let table_folders: Result<_> = options.table_folders.iter().map(|p| absolute(p)).collect();
        let options = Options { table_folders: table_folders?, ..options };
        Self::open_in(Arc::new(env), Some(folder), options)
    }

    /// Opens the database at an address.
    fn open_address(address: &Address, options: Options) -> Result<Self> {
        match address.engine.as_str() {
            "memory" if address.rest.is_empty() => Self::in_memory(options),
            "memory" => Err(address.refused("databases in memory have no names", "use memory://")),
            "sqlite" => open_sqlite(address, options),
            "postgres" | "postgresql" => open_postgres(address, options),
            "tikv" => open_tikv(address, options),
            _ => {
                let hint = "engines are memory, sqlite, postgres and tikv; a folder has no \"://\" \
                            in its path";
                Err(address.refused("there is no such engine", hint))
            }
        }
    }

    /// A database over the store of another engine, which this process may write alone.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "tikv"))]
    fn over_engine(store: impl store::Store + 'static, options: Options) -> Result<Self> {
        use env::Env;
        let store: Arc<dyn store::Store> = Arc::new(store);
        let env: Arc<dyn Env> = Arc::new(RealEnv::new(RealOptions {
            threads: options.threads,
            ..RealOptions::default()
        }));
        if !options.read_only {
            crate::database::finish_what_was_left(&store, &env)?;
        }
        Self::over(store, None, env, None, options)
    }
}

#[cfg(feature = "sqlite")]
fn open_sqlite(address: &Address, options: Options) -> Result<Database> {
    use engine_sqlite::{SqliteMap, SqliteOptions};
    let file = Path::new(&address.rest);
    if address.rest.is_empty() || address.rest.ends_with('/') {
        return Err(address.refused("a file is missing", "write sqlite:///folder/name.db"));
    }
    // The database may be used from another working directory.
    let file = std::path::absolute(file);
    let file = file.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
    let sqlite = SqliteOptions {
        durability: options.durability,
        // Each connection has its own.
        cache_bytes: options.cache_bytes / 16,
        read_only: options.read_only,
        create: options.create,
    };
    let map = SqliteMap::open(&file, sqlite)?;
    let store = ordered::OrderedStore::open(map, ordered_options(&options))?;
    Database::over_engine(store, options)
}

#[cfg(not(feature = "sqlite"))]
fn open_sqlite(address: &Address, _: Options) -> Result<Database> {
    let hint = "build quipu with the feature \"sqlite\"";
    Err(address.refused("this build has no engine for it", hint))
}

#[cfg(feature = "postgres")]
fn open_postgres(address: &Address, options: Options) -> Result<Database> {
    use engine_postgres::{PostgresMap, PostgresOptions};
    let postgres = PostgresOptions {
        durability: options.durability,
        read_only: options.read_only,
        create: options.create,
    };
    let map = PostgresMap::open(&format!("postgres://{}", address.rest), postgres)?;
    let store = ordered::OrderedStore::open(map, ordered_options(&options))?;
    Database::over_engine(store, options)
}

#[cfg(not(feature = "postgres"))]
fn open_postgres(address: &Address, _: Options) -> Result<Database> {
    // Not the rest, which may have a password.
    let address = Address { engine: address.engine.clone(), rest: String::new() };
    let hint = "build quipu with the feature \"postgres\"";
    Err(address.refused("this build has no engine for it", hint))
}

#[cfg(feature = "tikv")]
fn open_tikv(address: &Address, options: Options) -> Result<Database> {
    let map = engine_tikv::TikvMap::open(&format!("tikv://{}", address.rest))?;
    let store = ordered::OrderedStore::open(map, ordered_options(&options))?;
    Database::over_engine(store, options)
}

#[cfg(not(feature = "tikv"))]
fn open_tikv(address: &Address, _: Options) -> Result<Database> {
    let hint = "build quipu with the feature \"tikv\"";
    Err(address.refused("this build has no engine for it", hint))
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "tikv"))]
fn ordered_options(options: &Options) -> ordered::OrderedOptions {
    ordered::OrderedOptions {
        writers: ordered::Writers::One,
        read_only: options.read_only,
        create: options.create,
        transaction_bytes_max: options.memory_limit_bytes / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_folders() {
        for (path, engine) in [
            ("sqlite:///a/b.db", Some("sqlite")),
            ("SQLite://b.db", Some("sqlite")),
            ("memory://", Some("memory")),
            ("a/b.quipu", None),
            ("/a/b://c", None),
            ("://b", None),
        ] {
            let address = Address::of(Path::new(path)).map(|address| address.engine);
            assert_eq!(address.as_deref(), engine, "{path}");
        }
    }

    #[test]
    fn an_unknown_engine_is_refused_with_a_hint() {
        for path in ["oracle://x", "memory://x"] {
            let error = Database::open(path, Options::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("\nhint: "), "{error}");
        }
        assert!(Database::open("memory://", Options::default()).is_ok());
    }

    #[cfg(not(feature = "sqlite"))]
    #[test]
    fn an_engine_that_was_not_built_says_how_to_build_it() {
        let error = Database::open("sqlite://x.db", Options::default()).unwrap_err();
        assert!(error.to_string().contains("feature \"sqlite\""), "{error}");
    }
}
