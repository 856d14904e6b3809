//! Output of commands, and numbers in a form for people.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use quipu::{Database, Options};
use std::io::{self, Write};
use std::path::Path;

/// Opens a database read-only; another process may write it.
pub(crate) fn open_to_read(folder: &Path) -> Result<Database, Failure> {
    let options = Options { read_only: true, create: false, ..Options::default() };
    Ok(Database::open(folder, options)?)
}

/// Writes to standard output, and flushes it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::output)
}

/// Writes a JSON value on one line.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{value}\n"))
}

/// Writes a line to standard error; an error of it is ignored.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A progress bar of `total` units on standard error; hidden where that is not a terminal.
pub(crate) fn bar(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// `16518947` as `16,518,947`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in decimal units, which disks are sold in and `ls --si` shows.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would print as 1000.0 with one decimal.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `1 edge`, `2 edges`.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Rows of cells as aligned text, the first column left-aligned, the others right-aligned.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let line: Vec<String> = cells
            .map(
                |(i, (cell, &width))| {
                    if i == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
                },
            )
            .collect();
        text.push_str(line.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_thousands_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (16_518_947, "16,518,947")]
        {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn bytes_have_the_unit_that_reads_best() {
        let cases = [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (74_250_000, "74.2 MB"),
            (u64::MAX, "18446.7 PB"),
        ];
        for (number, text) in cases {
            assert_eq!(bytes(number), text, "{number}");
        }
    }

    #[test]
    fn a_table_is_aligned_and_has_no_blanks_at_line_ends() {
        let rows =
            [vec!["name".to_owned(), "edges".to_owned()], vec!["g".to_owned(), "7".to_owned()]];
        assert_eq!(table(&rows), "name  edges\ng         7\n");
    }
}
