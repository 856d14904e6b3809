//! Tokenizers and filters by name, as settings of an index name them.

use model::Value;
use std::fmt;

/// A tokenizer or a filter with its arguments: `NGram(2, 3)`, `Lowercase`.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Name in lower case.
    pub name: String,
    /// Arguments in order.
    pub args: Vec<Value>,
}

impl Component {
    /// A component. Names are compared in lower case.
    #[must_use]
    pub fn new(name: &str, args: Vec<Value>) -> Self {
        Self { name: name.to_lowercase(), args }
    }

    /// The argument at `place` as a number from 0 on.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn count(&self, place: usize, what: &str) -> Result<Option<usize>, SettingError> {
        match self.args.get(place) {
            None => Ok(None),
            Some(Value::Int(int)) if *int >= 0 => Ok(usize::try_from(*int).ok()),
            Some(other) => {
                let what = format!("{what} of `{}` is a number from 0 on, not {other}", self.name);
                Err(SettingError::new(what, "write it as an integer"))
            }
        }
    }

    /// Checks the number of arguments.
    ///
    /// # Errors
    /// There are more than `max`.
    pub(crate) fn args_max(&self, max: usize) -> Result<(), SettingError> {
        match self.args.len() <= max {
            true => Ok(()),
            false => {
                let what =
                    format!("`{}` takes {max} arguments, not {}", self.name, self.args.len());
                Err(SettingError::new(what, "leave out the others"))
            }
        }
    }
}

/// A setting of an index that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// The error, in words.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl SettingError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\nhint: {}", self.what, self.hint)
    }
}

impl std::error::Error for SettingError {}
