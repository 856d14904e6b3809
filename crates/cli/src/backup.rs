//! `quipu backup` and `quipu restore`, with a progress bar and a report.

use crate::args::{Backup, Restore};
use crate::failure::Failure;
use crate::interrupt;
use crate::output::{bar, bytes, open_to_read, plural, print, print_json};
use quipu::{BackupOptions, BackupReport, RestoreOptions, RestoreReport};
use serde_json::json;

const BACKUP: &str = "backing up {bar:30} {bytes} of {total_bytes}, {eta} left";
const RESTORE: &str = "restoring {bar:30} {bytes} of {total_bytes}, {eta} left";

pub(crate) fn back_up(arguments: &Backup) -> Result<(), Failure> {
    interrupt::watch();
    let database = open_to_read(&arguments.db)?;
    let options = BackupOptions { earlier: arguments.earlier.clone(), ..BackupOptions::default() };
    let bar = bar(0, BACKUP);
    let made = database.backup(&arguments.target, &options, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let report = made?;
    if arguments.json {
        let BackupReport { files, linked, copied, reused, .. } = report;
        return print_json(&json!({
            "files": files,
            "linked": linked,
            "copied": copied,
            "reused": reused,
            "bytes_written": report.bytes_written,
            "bytes_total": report.bytes_total,
            "sequence": report.seq.0,
            "seconds": report.seconds,
        }));
    }
    let tables = [(report.linked, "linked"), (report.reused, "reused"), (report.copied, "copied")];
    let tables = tables.iter().filter(|(count, _)| *count > 0);
    let tables: Vec<_> =
        tables.map(|(count, how)| format!("{} {how}", plural(*count, "table", "tables"))).collect();
    print(&format!(
        "{}: {}, {} written in {:.2} s{}{}\n",
        arguments.target.display(),
        bytes(report.bytes_total),
        bytes(report.bytes_written),
        report.seconds,
        if tables.is_empty() { "" } else { "; " },
        tables.join(", "),
    ))
}

pub(crate) fn restore(arguments: &Restore) -> Result<(), Failure> {
    interrupt::watch();
    let options = RestoreOptions { replace: arguments.replace };
    let bar = bar(0, RESTORE);
    let made = quipu::restore(&arguments.backup, &arguments.target, options, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
        interrupt::go_on()
    });
    bar.finish_and_clear();
    let RestoreReport { files, bytes: size, rows, seq, moment_us, seconds, .. } = made?;
    if arguments.json {
        return print_json(&json!({
            "files": files,
            "bytes": size,
            "rows": rows,
            "sequence": seq.0,
            "moment": moment_us as f64 / 1e6,
            "seconds": seconds,
        }));
    }
    print(&format!(
        "{}: {}, {}, checked and in place in {seconds:.2} s\n",
        arguments.target.display(),
        bytes(size),
        plural(rows, "row", "rows"),
    ))
}
