//! Errors of scripts and queries, with their positions and hints. `quipu` maps them to
//! `store::ErrorKind`.

use function::{FailureKind, Stop};
use std::fmt;
use store::ErrorKind;
use syntax::{Diagnostic, Span};

/// Why a script failed.
#[derive(Debug)]
pub enum Error {
    /// The script has errors, syntactic or semantic; all that were found.
    Script(Vec<Diagnostic>),
    /// A value that a function, aggregate or relation does not accept.
    Value(Diagnostic),
    /// An error of a user-defined rule or aggregate, with its cause.
    UserDefined(Diagnostic, function::Cause),
    /// The script was killed, or exceeded its timeout.
    Stopped(Stop),
    /// The script would exceed its memory limit.
    Limit(String),
    /// The script would change something and must not.
    ReadOnly(Diagnostic),
    /// The store failed, or another transaction won.
    Store(store::Error),
    /// A non-blocking call would have to block.
    WouldBlock,
}

/// Message of [`Error::WouldBlock`].
const WOULD_BLOCK: &str = "the script may take longer than was asked for";

/// `Result` with this module's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error about a value, at a place in the script.
    pub fn value(message: impl Into<String>, span: Span) -> Self {
        Self::Value(Diagnostic { message: message.into(), span, hint: None })
    }

    /// As [`Error::value`], with a hint.
    pub fn hinted(message: impl Into<String>, span: Span, hint: impl Into<String>) -> Self {
        Self::Value(Diagnostic { message: message.into(), span, hint: Some(hint.into()) })
    }

    /// Sets the place of an error about a value that has none yet.
    pub fn at(self, span: Span) -> Self {
        match self {
            Self::Value(problem) if problem.span == Span::default() => {
                Self::Value(Diagnostic { span, ..problem })
            }
            other => other,
        }
    }

    /// An unknown name; `near` is a known one that is similar.
    pub fn unknown(message: impl Into<String>, span: Span, near: Option<&str>) -> Self {
        Self::Value(Diagnostic::unknown(message, span, near))
    }

    /// An error for a change where only reading is allowed.
    pub fn read_only(message: impl Into<String>, span: Span) -> Self {
        Self::ReadOnly(Diagnostic { message: message.into(), span, hint: None })
    }

    /// An error of the catalog or the store. One about invalid input gets its place in the script;
    /// others keep their kind.
    pub fn refused(error: store::Error, span: Span) -> Self {
        match error.kind() {
            ErrorKind::InvalidInput => Self::value(error.to_string(), span),
            _ => Self::Store(error),
        }
    }

    /// Converts the failure of a function or an aggregate: its own error, what stopped it, or an
    /// error below it.
    pub fn failed(failure: function::Failure, span: Span) -> Self {
        let function::Failure { message, hint, kind, cause } = failure;
        if let Some(error) = cause.as_ref().and_then(function::Cause::get::<Self>) {
            match error {
                Self::Stopped(why) => return Self::Stopped(*why),
                Self::Limit(_) => return Self::Limit(message),
                Self::WouldBlock => return Self::WouldBlock,
                Self::Store(error) => return Self::Store(error.clone().with_message(message)),
                Self::ReadOnly(_) => return Self::read_only(message, span),
                Self::Script(_) | Self::Value(_) | Self::UserDefined(..) => {}
            }
        }
        if let Some(error) = cause.as_ref().and_then(function::Cause::get::<store::Error>)
            && error.kind() != ErrorKind::InvalidInput
        {
            return Self::Store(error.clone().with_message(message));
        }
        match kind {
            FailureKind::Stopped(why) => Self::Stopped(why),
            FailureKind::Limit => Self::Limit(message),
            FailureKind::Refused => {
                let problem = Diagnostic { message, span, hint };
                match cause {
                    Some(cause) => Self::UserDefined(problem, cause),
                    None => Self::Value(problem),
                }
            }
        }
    }

    /// Whether the script or its values caused the error. A script may ignore only these errors:
    /// after others, its rows may be incomplete, or it must end.
    pub fn is_mistake(&self) -> bool {
        match self {
            Self::Script(_) | Self::Value(_) | Self::UserDefined(..) => true,
            Self::Store(error) => error.kind() == ErrorKind::InvalidInput,
            Self::Stopped(_) | Self::Limit(_) | Self::ReadOnly(_) | Self::WouldBlock => false,
        }
    }

    /// The message, with lines of the script and carets.
    pub fn render(&self, text: &str) -> String {
        match self {
            Self::Script(problems) => {
                let shown: Vec<String> =
                    problems.iter().map(|problem| problem.render(text)).collect();
                shown.join("\n\n")
            }
            Self::Value(problem) | Self::UserDefined(problem, _) | Self::ReadOnly(problem) => {
                match &problem.hint {
                    _ if problem.span != Span::default() => problem.render(text),
                    Some(hint) => format!("{}\nhint: {hint}", problem.message),
                    None => problem.message.clone(),
                }
            }
            Self::Stopped(why) => why.to_string(),
            Self::Limit(message) => message.clone(),
            Self::Store(error) => error.to_string(),
            Self::WouldBlock => WOULD_BLOCK.to_owned(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(problems) => {
                for (i, problem) in problems.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { "\n" }, problem.message)?;
                }
                Ok(())
            }
            Self::Value(problem) | Self::UserDefined(problem, _) | Self::ReadOnly(problem) => {
                f.write_str(&problem.message)
            }
            Self::Stopped(why) => why.fmt(f),
            Self::Limit(message) => f.write_str(message),
            Self::Store(error) => error.fmt(f),
            Self::WouldBlock => f.write_str(WOULD_BLOCK),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<Vec<Diagnostic>> for Error {
    fn from(problems: Vec<Diagnostic>) -> Self {
        Self::Script(problems)
    }
}
