//! Errors of functions and aggregates.

use std::fmt;
use std::sync::Arc;

/// Why a function failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the function, the expected argument and the given one.
    pub message: String,
    /// A suggestion, if there is a likely one.
    pub hint: Option<String>,
    /// The kind of the failure.
    pub kind: FailureKind,
    /// An underlying error that the arguments did not cause. The script ends with this error and
    /// its kind.
    pub cause: Option<Cause>,
}

/// The kind of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The function does not take its arguments, or something below it failed.
    Refused,
    /// The query ended early.
    Stopped(Stop),
    /// A memory limit would have been exceeded.
    Limit,
}

/// Why a query ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Another session killed it.
    Killed,
    /// Its caller asked it to end, for example by Ctrl-C.
    Interrupted,
    /// It ran longer than its timeout.
    TimedOut,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "the query was killed",
            Self::Interrupted => "the query was interrupted",
            Self::TimedOut => "the query ran into its timeout",
        })
    }
}

/// The underlying error of a [`Failure`].
#[derive(Clone, Debug)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// The error if it has type `E`.
    #[must_use]
    pub fn get<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The error as a trait object.
    #[must_use]
    pub fn error(&self) -> &(dyn std::error::Error + 'static) {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for Cause {}

impl Failure {
    /// A failure without a hint.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, kind: FailureKind::Refused, cause: None }
    }

    /// A failure with an underlying error, such as a failed read of the database.
    pub fn caused(cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        let message = cause.to_string();
        Self { cause: Some(Cause(Arc::new(cause))), ..Self::new(message) }
    }

    /// A failure because the query ends early.
    #[must_use]
    pub fn stopped(why: Stop) -> Self {
        Self { kind: FailureKind::Stopped(why), ..Self::new(why.to_string()) }
    }

    /// A failure because of a memory limit.
    pub fn limit(why: impl Into<String>) -> Self {
        Self { kind: FailureKind::Limit, ..Self::new(why) }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Failure {}
