//! Errors of a store, sorted by what the caller can do about them.

use base::Corruption;
use std::fmt;
use std::sync::Arc;

/// Result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do.
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
    /// The caller stopped it.
    Cancelled,
    /// A limit that the user set was reached.
    Limit,
    /// Another process holds the folder.
    Locked,
    /// It was opened in another process, which this one was forked from. Open it again here; the
    /// parent's is as it was.
    Forked,
    /// Opened read-only.
    ReadOnly,
    /// The machine failed a read, or said no before anything was written.
    Io,
    /// A mistake of the database's own: a call ended in a panic. Report it; what the call changed
    /// was not committed.
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
    /// With the message a user reads; a second line `hint: …` may say what to do.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Keeps the cause, whose text becomes the message.
    #[must_use]
    pub fn caused(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self { kind, message: source.to_string(), source: Some(Arc::new(source)) }
    }

    /// The same error with more said about it; kind and cause stay.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// Of a transaction in which a thread undid what another had done.
    #[must_use]
    pub fn undone_by_another() -> Self {
        let what = "a script failed in this transaction while another thread wrote there: what that one wrote is undone, too";
        let hint =
            "run the transaction again, and scripts that may fail while no other thread writes";
        Self::new(ErrorKind::Conflict, format!("{what}\nhint: {hint}"))
    }

    /// Of a call that ended in a panic with this payload.
    #[must_use]
    pub fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        let what = format!("internal error: {}", text.unwrap_or("a panic without a message"));
        let hint = "this is a mistake of quipu's, not yours; please report it with what led to it";
        Self::new(ErrorKind::Internal, format!("{what}\nhint: {hint}"))
    }

    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The cause, where it is of type `E` (an `ingest::InputError` with line and column, say).
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
