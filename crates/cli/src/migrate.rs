//! `quipu migrate`, with a progress bar and a report.

use crate::args::Migrate;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, plural, print, print_json};
use quipu::MigrateReport;
use serde_json::json;

const COPYING: &str = "copying and comparing {bar:30} {pos} of {len} rows, {eta} left";

pub(crate) fn run(arguments: &Migrate) -> Result<(), Failure> {
    interrupt::watch();
    let bar = bar(0, COPYING);
    let made = quipu::migrate(&arguments.from, &arguments.to, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let MigrateReport { keyspaces, rows, seconds } = made?;
    if arguments.json {
        return print_json(&json!({ "keyspaces": keyspaces, "rows": rows, "seconds": seconds }));
    }
    print(&format!(
        "{}: {} in {}, copied and compared in {seconds:.2} s\n",
        arguments.to.display(),
        plural(rows, "row", "rows"),
        plural(keyspaces, "keyspace", "keyspaces"),
    ))
}
