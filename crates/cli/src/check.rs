//! `quipu check`: verifies a database and prints the report.

use crate::args::Check;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, bytes, note, plural, print, print_json};
use quipu::{Options, Problem};
use serde_json::{Map, Value, json};

const TEMPLATE: &str = "checking {bar:30} {percent}%, {binary_bytes_per_sec}, {eta} left";

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    interrupt::watch();
    let bar = bar(0, TEMPLATE);
    let checked = quipu::check(&arguments.db, Options::default(), &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let found = match &checked {
        Ok(found) => found,
        Err(error) => match quipu::Check::of_error(error) {
            // The report goes to standard output; the error message says the rest.
            Some(found) if arguments.json => found,
            _ => return checked.map(drop).map_err(Into::into),
        },
    };
    if arguments.json {
        print_json(&as_json(found))?;
    } else {
        found.files.notes.iter().for_each(|text| note(&format!("note: {text}")));
        print(&as_text(found))?;
    }
    checked.map(drop).map_err(Into::into)
}

/// A problem as a JSON object.
pub(crate) fn problem(problem: &Problem) -> Value {
    json!({ "file": problem.file, "offset": problem.offset, "what": problem.what })
}

/// The report as a JSON object. It has the field `error` where problems were found.
pub(crate) fn as_json(found: &quipu::Check) -> Value {
    let graphs = found.graphs.iter().map(|(name, graph)| (name.clone(), json!(graph.edges)));
    let problems: Vec<Value> = found.problems().iter().map(problem).collect();
    let mut report = json!({
        "ok": found.is_sound(),
        "files": found.files.files,
        "blocks": found.files.blocks,
        "bytes": found.files.bytes,
        "rows": found.files.rows,
        "log_commits": found.files.log_commits,
        "seconds": found.files.duration_us as f64 / 1e6,
        "graphs": graphs.collect::<Map<String, Value>>(),
        "blobs": found.blobs.iter().map(|(name, blobs)| (name.clone(), json!(blobs.rows))).collect::<Map<String, Value>>(),
        "indexes": found.indexes.iter().map(|index| (index.name.clone(), json!(index.rows))).collect::<Map<String, Value>>(),
        "problems": problems,
        "problems_total": found.problems_total(),
        "notes": found.files.notes,
    });
    if let Some(first) = found.problems().first() {
        let file = first.file.as_ref().map(|file| format!("{}: ", file.display()));
        report["error"] = json!(format!("{}{}", file.unwrap_or_default(), first.what));
    }
    report
}

fn as_text(found: &quipu::Check) -> String {
    let mut text = format!(
        "ok: {}, {}, {}, {}, {} in the log\n",
        plural(found.files.files, "file", "files"),
        plural(found.files.blocks, "block", "blocks"),
        bytes(found.files.bytes),
        plural(found.files.rows, "row", "rows"),
        plural(found.files.log_commits, "commit", "commits"),
    );
    for (name, graph) in &found.graphs {
        let edges = plural(graph.edges, "edge", "edges");
        text.push_str(&format!("ok: graph {name:?}, {edges}, both directions agree\n"));
    }
    for (name, blobs) in &found.blobs {
        let (rows, large) = (plural(blobs.rows, "blob", "blobs"), blobs.large);
        text.push_str(&format!(
            "ok: blobs {name:?}, {rows}, {large} of them in chunks, all there\n"
        ));
    }
    for index in &found.indexes {
        let rows = plural(index.rows, "row", "rows");
        text.push_str(&format!("ok: index {:?}, {rows}, as its relation says\n", index.name));
    }
    text
}
