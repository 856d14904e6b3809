//! Values of a script's parameters, from flags and from the shell.

use quipu::{Parameters, Value};

/// The parameters of all `--param` flags.
pub(crate) fn values(given: &[(String, String)]) -> Parameters {
    given.iter().map(|(name, text)| (name.clone(), value(text))).collect()
}

/// The value of a parameter: JSON, or else the string itself.
pub(crate) fn value(text: &str) -> Value {
    serde_json::from_str(text).map_or_else(|_| Value::Str(text.to_owned()), Value::of_tree)
}
