//! `quipu repair`: writes the intact data of a damaged database to a new one, and prints the
//! report.

use crate::args::Repair;
use crate::check;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, note, plural, print, print_json};
use quipu::{Options, RepairReport, RepairedKeyspace};
use serde_json::{Value, json};

const TEMPLATE: &str = "repairing {bar:30} {percent}%, {eta} left";

pub(crate) fn run(arguments: &Repair) -> Result<(), Failure> {
    interrupt::watch();
    let bar = bar(0, TEMPLATE);
    let repaired =
        quipu::repair(&arguments.db, &arguments.target, Options::default(), &|done, total| {
            bar.set_length(total);
            bar.set_position(done);
            interrupt::go_on()
        });
    bar.finish_and_clear();
    let report = repaired?;
    if arguments.json {
        print_json(&as_json(&report))?;
    } else {
        report.damages.iter().for_each(|damage| note(&format!("damaged: {damage}")));
        print(&as_text(&report))?;
    }
    if report.complete { Ok(()) } else { Err(Failure::Incomplete) }
}

fn as_json(report: &RepairReport) -> Value {
    let keyspace = |keyspace: &RepairedKeyspace| {
        let lost = keyspace.lost.iter().map(|lost| {
            json!({
                "first": lost.first, "last": lost.last, "rows": lost.rows, "file": lost.file,
            })
        });
        json!({
            "name": keyspace.name,
            "rows_kept": keyspace.rows_kept,
            "rows_lost": keyspace.rows_lost,
            "range_deletes_lost": keyspace.range_deletes_lost,
            "stale_max": keyspace.stale_max,
            "lost": lost.collect::<Vec<_>>(),
            "lost_more": keyspace.lost_more,
        })
    };
    let graphs = report.graphs.iter().map(|(def, done)| {
        json!({
            "name": def.name,
            "edges": done.edges,
            "rebuilt_forward": done.rebuilt_forward,
            "rebuilt_reverse": done.rebuilt_reverse,
            "removed": done.removed,
            "in_doubt": done.in_doubt,
            "unnamed": done.unnamed,
            "names_rebuilt": done.names_rebuilt,
        })
    });
    let damages = report
        .damages
        .iter()
        .map(|damage| json!({ "file": damage.file, "offset": damage.offset, "what": damage.what }));
    json!({
        "complete": report.complete,
        "keyspaces": report.keyspaces.iter().map(keyspace).collect::<Vec<_>>(),
        "graphs": graphs.collect::<Vec<_>>(),
        "indexes": report.indexes,
        "not_unique": report.not_unique.iter().map(|(index, rows)| json!({ "index": index, "rows": rows })).collect::<Vec<_>>(),
        "blobs": report.blobs.iter().map(|(name, done)| json!({ "name": name, "rows": done.rows, "lost": done.lost })).collect::<Vec<_>>(),
        "damages": damages.collect::<Vec<_>>(),
        "files_skipped": report.files_skipped,
        "commits_kept": report.commits_kept,
        "commits_incomplete": report.commits_incomplete,
        "log_lost_bytes": report.log_lost_bytes,
        "manifest_whole": report.manifest_whole,
        "check": check::as_json(&report.check),
        "seconds": report.seconds,
    })
}

fn as_text(report: &RepairReport) -> String {
    let mut text = String::new();
    for keyspace in &report.keyspaces {
        let kept = plural(keyspace.rows_kept, "row version", "row versions");
        text.push_str(&format!("{}: {kept} kept, {} lost", keyspace.name, keyspace.rows_lost));
        if keyspace.stale_max > 0 {
            text.push_str(&format!(", at most {} may be stale", keyspace.stale_max));
        }
        text.push('\n');
        for lost in &keyspace.lost {
            let rows = plural(lost.rows, "row version", "row versions");
            text.push_str(&format!("  lost: {rows} from {} to {}\n", lost.first, lost.last));
        }
        if keyspace.lost_more > 0 {
            text.push_str(&format!("  and {} more ranges\n", keyspace.lost_more));
        }
    }
    for (def, done) in &report.graphs {
        let edges = plural(done.edges, "edge", "edges");
        let rebuilt = done.rebuilt_forward + done.rebuilt_reverse;
        text.push_str(&format!("graph {:?}: {edges}, {rebuilt} rebuilt", def.name));
        let more = [
            (done.names_rebuilt, "names rebuilt"),
            (done.removed, "removed in one direction, now in both"),
            (done.in_doubt, "may be stale"),
            (done.unnamed, "lost with a name of their vertices"),
        ];
        for (number, what) in more.into_iter().filter(|(number, _)| *number > 0) {
            text.push_str(&format!(", {number} {what}"));
        }
        text.push('\n');
    }
    for name in &report.indexes {
        text.push_str(&format!("index {name:?}: made anew from its relation\n"));
    }
    for (name, why) in &report.not_unique {
        text.push_str(&format!("index {name:?}: not unique any more: {why}\n"));
    }
    for (name, done) in &report.blobs {
        let (rows, lost) = (plural(done.rows, "blob", "blobs"), done.lost);
        text.push_str(&format!(
            "blobs {name:?}: {rows}, {lost} lost with chunks of their values\n"
        ));
    }
    text.push_str(&format!("log: {} kept", plural(report.commits_kept, "commit", "commits")));
    if report.log_lost_bytes > 0 || report.commits_incomplete > 0 {
        let (lost, parts) = (report.log_lost_bytes, report.commits_incomplete);
        text.push_str(&format!(", {lost} bytes lost, {parts} cut short"));
    }
    text.push('\n');
    if !report.manifest_whole {
        text.push_str("the manifest is damaged: the tables are those of an earlier moment\n");
    }
    text.push_str(match report.complete {
        true => "the new database is sound and holds everything\n",
        false => "the new database is sound; what may be missing or stale is named above\n",
    });
    text
}
