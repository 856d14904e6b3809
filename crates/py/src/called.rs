//! Names of Python values in messages.

use std::fmt;

/// The name of a value in messages.
#[derive(Clone, Copy)]
pub(crate) enum Called<'n> {
    /// A parameter of a script.
    Parameter(&'n str),
    /// A value of a column.
    Column(&'n str),
    /// The result of a user-defined rule or aggregate.
    Answer,
}

impl fmt::Display for Called<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter(name) => write!(f, "parameter `${name}`"),
            Self::Column(name) => write!(f, "a value of column `{name}`"),
            Self::Answer => f.write_str("the result"),
        }
    }
}
