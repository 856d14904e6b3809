//! Values of a script's parameters, from flags and from the shell.

use crate::failure::Failure;
use quipu::{Parameters, Value};

/// The parameters of all `--param` flags.
pub(crate) fn values(given: &[(String, String)]) -> Result<Parameters, Failure> {
    given.iter().map(|(name, text)| Ok((name.clone(), value(name, text)?))).collect()
}

/// The value of a parameter: JSON, or else the string itself.
pub(crate) fn value(name: &str, text: &str) -> Result<Value, Failure> {
    match serde_json::from_str(text) {
        Ok(value) => value_of(value)
            .map_err(|why| Failure::Request(format!("parameter ${name} cannot be {text}: {why}"))),
        Err(_) => Ok(Value::Str(text.to_owned())),
    }
}

fn value_of(value: serde_json::Value) -> Result<Value, String> {
    Ok(match value {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(bool) => Value::Bool(bool),
        serde_json::Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int),
            (None, Some(id)) => Value::id(id),
            (None, None) => Value::Float(number.as_f64().ok_or("it is not a number")?),
        },
        serde_json::Value::String(text) => Value::Str(text),
        serde_json::Value::Array(items) => {
            Value::List(items.into_iter().map(value_of).collect::<Result<_, _>>()?)
        }
        object @ serde_json::Value::Object(_) => {
            let json = quipu::Json::parse(&object.to_string());
            Value::Json(json.map_err(|error| error.to_string())?)
        }
    })
}
