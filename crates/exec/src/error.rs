//! What can go wrong with a script.

use std::fmt;
use syntax::{Diagnostic, Span};

/// Why a script did not run to its end.
#[derive(Debug)]
pub enum Error {
    /// The text is wrong, or what it asks for cannot be: all that was found.
    Script(Vec<Diagnostic>),
    /// A value that a function, an aggregate or a relation does not take.
    Value(Diagnostic),
    /// It was killed, or ran into its timeout.
    Stopped(String),
    /// It needs more memory than it may have.
    Limit(String),
    /// The store failed, or another transaction won.
    Store(store::Error),
    /// It was to be brief, and may take longer.
    Long,
}

/// What [`Error::Long`] says.
const LONG: &str = "the script may take longer than was asked for";

/// Alias with this module's error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A value that is refused, somewhere in the script.
    pub fn value(message: impl Into<String>, span: Span) -> Self {
        Self::Value(Diagnostic { message: message.into(), span, hint: None })
    }

    /// The same with a hint.
    pub fn hinted(message: impl Into<String>, span: Span, hint: impl Into<String>) -> Self {
        Self::Value(Diagnostic { message: message.into(), span, hint: Some(hint.into()) })
    }

    /// The same, said to be at a place unless it knows its own.
    pub(crate) fn at(self, span: Span) -> Self {
        match self {
            Self::Value(problem) if problem.span == Span::default() => {
                Self::Value(Diagnostic { span, ..problem })
            }
            other => other,
        }
    }

    /// A name that is not known, and one like it that is.
    pub(crate) fn unknown(message: impl Into<String>, span: Span, near: Option<&str>) -> Self {
        Self::Value(Diagnostic::unknown(message, span, near))
    }

    /// What a function or an aggregate refuses, or what stopped it.
    pub(crate) fn failed(failure: function::Failure, span: Span) -> Self {
        match failure {
            function::Failure { is_stopped: true, message, .. } => Self::Stopped(message),
            function::Failure { is_limit: true, message, .. } => Self::Limit(message),
            function::Failure { message, hint, .. } => {
                Self::Value(Diagnostic { message, span, hint })
            }
        }
    }

    /// The message with lines of the script and carets.
    pub fn render(&self, text: &str) -> String {
        match self {
            Self::Script(problems) => {
                let shown: Vec<String> =
                    problems.iter().map(|problem| problem.render(text)).collect();
                shown.join("\n\n")
            }
            Self::Value(problem) if problem.span == Span::default() => match &problem.hint {
                Some(hint) => format!("{}\nhint: {hint}", problem.message),
                None => problem.message.clone(),
            },
            Self::Value(problem) => problem.render(text),
            Self::Stopped(message) | Self::Limit(message) => message.clone(),
            Self::Store(error) => error.to_string(),
            Self::Long => LONG.to_owned(),
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
            Self::Value(problem) => f.write_str(&problem.message),
            Self::Stopped(message) | Self::Limit(message) => f.write_str(message),
            Self::Store(error) => error.fmt(f),
            Self::Long => f.write_str(LONG),
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
