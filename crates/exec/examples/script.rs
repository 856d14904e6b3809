//! Runs scripts from standard input, separated by lines of `---`, on one database in memory; prints each result as a line of JSON.
//!
//! For comparing answers with other engines of the same language.

use env::MemoryEnv;
use kv::{Kv, KvOptions};
use model::Value;
use quipu_exec::{Engine, Parameters};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).expect("standard input is text");
    let env: Arc<dyn env::Env> = Arc::new(MemoryEnv::new(2));
    let store = Kv::open(Arc::clone(&env), Path::new("/memory"), KvOptions::default());
    let store: Arc<dyn store::Store> = Arc::new(store.expect("a database in memory opens"));
    let engine = Engine::new(store, env, 1 << 30);
    for script in text.split("\n---\n") {
        let line = match engine.run(script, &Parameters::new()) {
            Ok(output) => {
                let rows: Vec<serde_json::Value> = (0..output.rows)
                    .map(|row| output.row(row).iter().map(json).collect())
                    .collect();
                serde_json::json!({"headers": output.headers, "rows": rows})
            }
            Err(error) => serde_json::json!({"error": error.render(script)}),
        };
        println!("{line}");
    }
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Id(value) => (*value).into(),
        Value::Float(value) if value.is_finite() => (*value).into(),
        Value::Float(value) => format!("{value}").into(),
        Value::Str(value) => value.as_str().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Json(json) => serde_json::from_str(json.as_str()).unwrap_or_default(),
        other => other.to_string().into(),
    }
}
