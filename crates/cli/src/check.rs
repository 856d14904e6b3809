//! `quipu check`.

use crate::args::Check;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, bytes, open_to_read, plural, print, print_json};
use quipu::ErrorKind;
use serde_json::{Map, Value, json};

const TEMPLATE: &str = "checking {bar:30} {bytes} of {total_bytes}, {eta} left";

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    interrupt::watch();
    let checked = check(arguments);
    if let (Err(Failure::Database(error)), true) = (&checked, arguments.json)
        && error.kind() == ErrorKind::Corruption
    {
        print_json(&json!({ "ok": false, "error": error.to_string() }))?;
    }
    checked
}

fn check(arguments: &Check) -> Result<(), Failure> {
    let database = open_to_read(&arguments.db)?;
    let bar = bar(0, TEMPLATE);
    let found = database.check(&|done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let found = found?;
    if arguments.json {
        let graphs = found.graphs.iter().map(|(name, graph)| (name.clone(), json!(graph.edges)));
        return print_json(&json!({
            "ok": true,
            "files": found.files.files,
            "bytes": found.files.bytes,
            "rows": found.files.rows,
            "graphs": graphs.collect::<Map<String, Value>>(),
        }));
    }
    let mut text = format!(
        "ok: {}, {}, {}\n",
        plural(found.files.files, "file", "files"),
        bytes(found.files.bytes),
        plural(found.files.rows, "row", "rows"),
    );
    for (name, graph) in &found.graphs {
        let edges = plural(graph.edges, "edge", "edges");
        text.push_str(&format!("ok: graph {name:?}, {edges}, both directions agree\n"));
    }
    print(&text)
}
