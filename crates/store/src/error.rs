//! Errors of a store, classified by the caller's possible reaction.

use base::Corruption;
use std::fmt;
use std::sync::Arc;

/// Result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// Class of an error, by the caller's possible reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another transaction won. Retry with a fresh snapshot.
    Conflict,
    /// The request is wrong. Fix the arguments; a retry fails the same way.
    InvalidInput,
    /// Bytes on disk do not match their checksum or their format. Restore from a backup.
    Corruption,
    /// An earlier write or sync failed, so durability is unknown. Close and reopen.
    Poisoned,
    /// The caller stopped the operation.
    Cancelled,
    /// A limit that the user set was reached.
    Limit,
    /// Another process holds the folder.
    Locked,
    /// Another process opened the database, and this one was forked from it. Open it again here;
    /// the parent's database is unaffected.
    Forked,
    /// The database was opened read-only.
    ReadOnly,
    /// A read failed, or the operating system refused an operation before anything was written.
    Io,
    /// A bug of the database: a call ended in a panic. Report it; the changes of the call were not
    /// committed.
    Internal,
}

/// A failed call.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with the message that a user reads; a second line `hint: …` may say what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// An error with a cause. The cause's text becomes the message.
    #[must_use]
    pub fn caused(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { kind, message: source.to_string(), source: Some(Arc::new(source)) }
    }

    /// The same error with another message; kind and cause stay.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// The error of a transaction in which one thread rolled back the writes of another.
    #[must_use]
    pub fn undone_by_another() -> Self {
        let what = "a script failed in this transaction while another thread wrote there: what that one wrote is undone, too";
        let hint =
            "run the transaction again, and scripts that may fail while no other thread writes";
        Self::new(ErrorKind::Conflict, format!("{what}\nhint: {hint}"))
    }

    /// The error of a call that ended in a panic with this payload.
    #[must_use]
    pub fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let what = format!("internal error: {}", text.unwrap_or("a panic without a message"));
        let hint = "this is a mistake of quipu's, not yours; please report it with the steps that led to it";
        Self::new(ErrorKind::Internal, format!("{what}\nhint: {hint}"))
    }

    /// The class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The cause, if it has type `E` (for example an `ingest::InputError` with line and column).
    #[must_use]
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.source.as_deref().and_then(|source| source.downcast_ref())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<Corruption> for Error {
    fn from(corruption: Corruption) -> Self {
        Self::caused(ErrorKind::Corruption, corruption)
    }
}
