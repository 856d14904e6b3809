//! `quipu run`.

use crate::args::{RowFormat, Run};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::plural;
use quipu::{Answer, Database, ErrorKind, Options, Parameters, RunOptions, Value, Vector};
use serde_json::{Map, json};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let script = script(arguments)?;
    let parameters: Result<Parameters, Failure> = arguments
        .parameters
        .iter()
        .map(|(name, text)| Ok((name.clone(), parameter(name, text)?)))
        .collect();
    let parameters = parameters?;
    let changes = quipu::may_change(&script);
    let database = Database::open(
        &arguments.db,
        Options {
            read_only: !changes,
            create: changes,
            memory_limit_bytes: arguments.memory_limit,
            ..Options::default()
        },
    )?;
    interrupt::watch();
    let go_on = || interrupt::go_on();
    let options = RunOptions { timeout: arguments.timeout, go_on: Some(&go_on) };
    let answer = database.run_with(&script, &parameters, &options);
    // What was committed is flushed, so that the next command has no log to read.
    let closed = database.close();
    let answer = answer.map_err(|error| match error.kind() {
        // A timeout is no Ctrl-C.
        ErrorKind::Cancelled if interrupt::go_on() => Failure::Request(error.to_string()),
        _ => error.into(),
    })?;
    closed?;
    let is_terminal = io::stdout().is_terminal();
    let default = if is_terminal { RowFormat::Table } else { RowFormat::Csv };
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out, &answer, arguments.format.unwrap_or(default))
        .and_then(|()| out.flush())
        .map_err(Failure::output)
}

fn script(arguments: &Run) -> Result<String, Failure> {
    let mut script = String::new();
    match (&arguments.script, &arguments.file) {
        (Some(script), _) => return Ok(script.clone()),
        (None, Some(file)) if file.as_os_str() != "-" => File::open(file)
            .and_then(|mut file| file.read_to_string(&mut script))
            .map_err(|error| Failure::File(file.display().to_string(), error))?,
        (None, _) => io::stdin()
            .read_to_string(&mut script)
            .map_err(|error| Failure::File("standard input".to_owned(), error))?,
    };
    Ok(script)
}

/// The value of a parameter: JSON, else the text itself.
fn parameter(name: &str, text: &str) -> Result<Value, Failure> {
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
            (None, None) => Value::Float(number.as_f64().ok_or("it is no number")?),
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

fn write(out: &mut impl Write, answer: &Answer, format: RowFormat) -> io::Result<()> {
    let (rows, columns) = (answer.len(), answer.columns().len());
    match format {
        RowFormat::Table => {
            out.write_all(answer.to_table(usize::MAX).as_bytes())?;
            writeln!(out, "({})", plural(rows as u64, "row", "rows"))
        }
        RowFormat::Csv => {
            let names: Vec<String> = answer.columns().iter().map(|name| quoted(name)).collect();
            writeln!(out, "{}", names.join(","))?;
            for row in 0..rows {
                for column in 0..columns {
                    let gap = if column == 0 { "" } else { "," };
                    write!(out, "{gap}{}", answer.with_value(row, column, csv))?;
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        RowFormat::Json => {
            let names = json!(answer.columns());
            write!(out, "{{\"columns\":{names},\"rows\":[")?;
            for row in 0..rows {
                let values = (0..columns).map(|column| answer.with_value(row, column, json));
                let gap = if row == 0 { "" } else { "," };
                write!(out, "{gap}{}", serde_json::Value::Array(values.collect()))?;
            }
            writeln!(out, "]}}")
        }
        RowFormat::Jsonl => {
            for row in 0..rows {
                let values = (0..columns).map(|column| answer.with_value(row, column, json));
                let fields = answer.columns().iter().cloned().zip(values);
                writeln!(out, "{}", serde_json::Value::Object(fields.collect::<Map<_, _>>()))?;
            }
            Ok(())
        }
    }
}

/// A cell of CSV: null is nothing, an empty text is `""`.
fn csv(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) if text.is_empty() => "\"\"".to_owned(),
        Value::Str(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(bool) => json!(bool),
        Value::Int(int) => json!(int),
        Value::Id(id) => json!(id),
        Value::Float(float) => json!(float),
        Value::Str(text) => json!(text),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Vector(Vector::F32(items)) => json!(items),
        Value::Vector(Vector::F64(items)) => json!(items),
        Value::Json(json) => serde_json::from_str(json.as_str()).unwrap_or_default(),
        Value::Validity(validity) => json!([validity.timestamp_us, validity.assert]),
        Value::Bytes(_) | Value::Uuid(_) => json!(value.to_string()),
    }
}
