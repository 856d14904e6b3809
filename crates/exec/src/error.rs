//! What can go wrong with a script.

use std::fmt;
use store::ErrorKind;
use syntax::{Diagnostic, Span};

/// Why a script did not run to its end.
#[derive(Debug)]
pub enum Error {
    /// The text is wrong, or what it asks for cannot be: all that was found.
    Script(Vec<Diagnostic>),
    /// A value that a function, an aggregate or a relation does not take.
    Value(Diagnostic),
    /// What a rule or an aggregate of the program's refuses, and why.
    UserDefined(Diagnostic, function::Cause),
    /// It was killed, or ran into its timeout.
    Stopped(String),
    /// It needs more memory than it may have.
    Limit(String),
    /// It changes something, and may not.
    ReadOnly(Diagnostic),
    /// The store failed, or another transaction won.
    Store(store::Error),
    /// It must not block, and would.
    WouldBlock,
}

/// What [`Error::WouldBlock`] says.
const WOULD_BLOCK: &str = "the script may take longer than was asked for";

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
    pub fn at(self, span: Span) -> Self {
        match self {
            Self::Value(problem) if problem.span == Span::default() => {
                Self::Value(Diagnostic { span, ..problem })
            }
            other => other,
        }
    }

    /// A name that is not known, and one like it that is.
    pub fn unknown(message: impl Into<String>, span: Span, near: Option<&str>) -> Self {
        Self::Value(Diagnostic::unknown(message, span, near))
    }

    /// A change where only reading is allowed.
    pub fn read_only(message: impl Into<String>, span: Span) -> Self {
        Self::ReadOnly(Diagnostic { message: message.into(), span, hint: None })
    }

    /// What the catalog or the store says of a mistake in the script, with its place. Any other
    /// error keeps its kind.
    pub fn refused(error: store::Error, span: Span) -> Self {
        match error.kind() {
            ErrorKind::InvalidInput => Self::value(error.to_string(), span),
            _ => Self::Store(error),
        }
    }

    /// What a function or an aggregate refuses, what stopped it, or what failed below it.
    pub fn failed(failure: function::Failure, span: Span) -> Self {
        let function::Failure { message, hint, is_stopped, is_limit, cause } = failure;
        if let Some(error) = cause.as_ref().and_then(function::Cause::get::<Self>) {
            match error {
                Self::Stopped(_) => return Self::Stopped(message),
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
        match (is_stopped, is_limit) {
            (true, _) => Self::Stopped(message),
            (false, true) => Self::Limit(message),
            (false, false) => {
                let problem = Diagnostic { message, span, hint };
                match cause {
                    Some(cause) => Self::UserDefined(problem, cause),
                    None => Self::Value(problem),
                }
            }
        }
    }

    /// Whether the script or its values are to blame. Only these errors may be ignored by a script:
    /// any other means that what it read may be incomplete, or that it must end.
    pub fn is_mistake(&self) -> bool {
        match self {
            Self::Script(_) | Self::Value(_) | Self::UserDefined(..) => true,
            Self::Store(error) => error.kind() == ErrorKind::InvalidInput,
            Self::Stopped(_) | Self::Limit(_) | Self::ReadOnly(_) | Self::WouldBlock => false,
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
            Self::Value(problem) | Self::UserDefined(problem, _) | Self::ReadOnly(problem) => {
                match &problem.hint {
                    _ if problem.span != Span::default() => problem.render(text),
                    Some(hint) => format!("{}\nhint: {hint}", problem.message),
                    None => problem.message.clone(),
                }
            }
            Self::Stopped(message) | Self::Limit(message) => message.clone(),
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
            Self::Stopped(message) | Self::Limit(message) => f.write_str(message),
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
