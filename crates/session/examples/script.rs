//! Runs scripts from standard input on databases in memory; prints each result as a line of JSON.
//!
//! For comparing answers with other engines of the same language. Without arguments, standard input
//! has scripts separated by lines of `---`, for one database. With `--programs`, each line is
//! `[way, [[script, parameters], …]]`, for a database of its own, and the answer is a line with the
//! list of their results: `fuzz/datalog/differ.py` uses that. `way` is a bit set: the first bit
//! enables parallel execution from the first rows on, the second statistics of small relations, the
//! third result streams.

use env::MemoryEnv;
use env::sync::Mutex;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_session::{Engine, Parameters, Part, Run};
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// The bits of `way`, and scripts with their parameters.
type Program = (u64, Vec<(String, serde_json::Map<String, serde_json::Value>)>);

fn main() {
    let mut out = std::io::stdout().lock();
    if std::env::args().any(|argument| argument == "--programs") {
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("standard input is text");
            let (way, scripts): Program =
                serde_json::from_str(&line).expect("a line is [way, [[script, parameters], …]]");
            let engine = engine();
            if way & 1 != 0 {
                engine.set_parallel_rows(8);
            }
            if way & 2 != 0 {
                engine.set_sampled_rows(1);
            }
            engine.set_range_rows(3);
            let results = scripts.into_iter().map(|(script, parameters)| {
                let parameters = parameters.into_iter().map(|(name, json)| (name, value(json)));
                let parameters = parameters.collect();
                match way & 4 {
                    0 => answer(&engine, &script, &parameters),
                    _ => answer_in_parts(&engine, &script, &parameters),
                }
            });
            let results: serde_json::Value = results.collect();
            writeln!(out, "{results}").and_then(|()| out.flush()).expect("stdout is open");
        }
        return;
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("standard input is text");
    let engine = engine();
    for script in text.split("\n---\n") {
        let result = answer(&engine, script, &Parameters::new());
        writeln!(out, "{result}").expect("stdout is open");
    }
}

fn engine() -> Engine {
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default());
    let store: Arc<dyn store::Store> = Arc::new(store.expect("a database in memory opens"));
    Engine::new(store, env, 1 << 30)
}

fn answer(engine: &Engine, script: &str, parameters: &Parameters) -> serde_json::Value {
    match engine.run(script, parameters) {
        Ok(output) => {
            let rows: Vec<serde_json::Value> =
                (0..output.rows).map(|row| output.row(row).iter().map(json).collect()).collect();
            serde_json::json!({"headers": output.headers, "rows": rows})
        }
        Err(error) => serde_json::json!({"error": error.render(script)}),
    }
}

/// The answer of a streamed result, whose parts come in no order.
fn answer_in_parts(engine: &Engine, script: &str, parameters: &Parameters) -> serde_json::Value {
    let found = Mutex::new((Vec::new(), Vec::new(), false));
    let take = |Part { output, types }: Part<'_>| {
        let mut found = found.lock();
        found.1.extend((0..output.rows).map(|row| output.row(row)));
        (found.0, found.2) = (output.headers, types.is_some());
        Ok(true)
    };
    match engine.stream(script, &Run::new(parameters), &take) {
        Ok(()) => {
            let (headers, mut rows, came_early) = found.into_inner();
            if came_early {
                rows.sort();
            }
            let rows: Vec<serde_json::Value> =
                rows.iter().map(|row| row.iter().map(json).collect()).collect();
            serde_json::json!({"headers": headers, "rows": rows})
        }
        Err(error) => serde_json::json!({"error": error.render(script)}),
    }
}

fn value(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(value) => Value::Bool(value),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        serde_json::Value::String(text) => Value::Str(text),
        serde_json::Value::Array(items) => Value::List(items.into_iter().map(value).collect()),
        object @ serde_json::Value::Object(_) => Value::Str(object.to_string()),
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Id(value) => (*value).into(),
        Value::Float(value) => float(*value),
        Value::Str(value) => value.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Json(json) => serde_json::from_str(json.as_str()).unwrap_or_default(),
        Value::Validity(validity) => serde_json::json!([validity.timestamp_us, validity.assert]),
        Value::Vector(model::Vector::F32(items)) => {
            items.iter().map(|&item| float(item.into())).collect()
        }
        Value::Vector(model::Vector::F64(items)) => items.iter().map(|&item| float(item)).collect(),
        Value::Bytes(bytes) => {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
        }
        other => other.to_string().into(),
    }
}

fn float(value: f64) -> serde_json::Value {
    match value.is_finite() {
        true => value.into(),
        false => format!("{value}").into(),
    }
}
