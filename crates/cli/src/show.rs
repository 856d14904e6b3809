//! Results as tables that fit the width of a terminal.
//!
//! # Which columns are narrowed
//! The widest first: all columns that are wider than some width get that width. Where even narrow
//! columns do not fit next to each other, the last ones are left out and named below the table;
//! `\x` shows rows vertically instead.
//!
//! # Invariants
//! 1. No line has more cells than the terminal. A character may take two cells.
//! 2. A note names the omitted rows and columns.

use crate::output::{count, plural};
use crate::paint::Paint;
use quipu::{QueryResult, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest width of a column, in cells.
const COLUMN_WIDTH_MIN: usize = 6;

/// Width and options of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Cells in a line.
    pub(crate) width: usize,
    /// Rows of a table at most; 0 is all.
    pub(crate) rows_max: usize,
    /// Whether rows are shown vertically, with a line per column.
    pub(crate) is_expanded: bool,
    /// Colors, or none.
    pub(crate) paint: Paint,
}

/// The result as lines, with a note about omitted rows and columns.
pub(crate) fn shown(answer: &QueryResult, screen: &Screen) -> String {
    let rows = match screen.rows_max {
        0 => answer.len(),
        max => answer.len().min(max),
    };
    let mut text = match (screen.is_expanded, answer.columns().is_empty()) {
        (_, true) => String::new(),
        (true, _) => expanded(answer, rows, screen),
        (false, _) => table(answer, rows, screen),
    };
    if rows < answer.len() {
        let (first, all) = (count(rows as u64), count(answer.len() as u64));
        let note = format!(
            "… {first} of {all} rows; `\\rows 0` shows all, `\\o FILE` writes them to a file"
        );
        note_lines(&mut text, &note, screen);
    }
    text
}

/// Appends a note, wrapped to the width of the screen.
fn note_lines(text: &mut String, note: &str, screen: &Screen) {
    let mut line = String::new();
    for word in note.split(' ') {
        if !line.is_empty() && line.width() + 1 + word.width() > screen.width {
            text.push_str(&screen.paint.dim(&line));
            text.push('\n');
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&cut(word, screen.width));
    }
    text.push_str(&screen.paint.dim(&line));
    text.push('\n');
}

/// A column of the table, with the width it gets.
struct Column {
    name: String,
    cells: Vec<Cell>,
    width: usize,
    is_number: bool,
}

/// A value of the table, on one line.
struct Cell {
    text: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    Number,
    Other,
}

fn cell(answer: &QueryResult, row: usize, column: usize) -> Cell {
    let kind = answer.with_value(row, column, |value| match value {
        Value::Null => Kind::Null,
        Value::Int(_) | Value::Id(_) | Value::Float(_) | Value::Decimal(_) => Kind::Number,
        _ => Kind::Other,
    });
    Cell { text: on_one_line(&answer.shown(row, column)), kind }
}

fn columns(answer: &QueryResult, rows: usize) -> Vec<Column> {
    let column = |(place, name): (usize, &String)| {
        let name = on_one_line(name);
        let cells: Vec<Cell> = (0..rows).map(|row| cell(answer, row, place)).collect();
        let widths = cells.iter().map(|cell| cell.text.width());
        let width = widths.fold(name.width(), usize::max);
        let is_number = cells.iter().any(|cell| cell.kind == Kind::Number)
            && cells.iter().all(|cell| cell.kind != Kind::Other);
        Column { name, cells, width, is_number }
    };
    answer.columns().iter().enumerate().map(column).collect()
}

fn table(answer: &QueryResult, rows: usize, screen: &Screen) -> String {
    let paint = screen.paint;
    let mut columns = columns(answer, rows);
    let hidden = columns.split_off(fitting(&columns, screen.width));
    fit(&mut columns, screen.width);
    let mut text = String::new();
    let mut line = |cells: Vec<String>, gap: &str| {
        text.push_str(cells.join(&paint.dim(gap)).trim_end());
        text.push('\n');
    };
    let last = columns.len().saturating_sub(1);
    let padded = |column: usize, text: &str, painted: &dyn Fn(&str) -> String| {
        let Column { width, is_number, .. } = columns[column];
        let text = cut(text, width);
        let gap = " ".repeat(width - text.width());
        match (is_number, column == last) {
            (true, _) => gap + &painted(&text),
            (false, true) => painted(&text),
            (false, false) => painted(&text) + &gap,
        }
    };
    let names = (0..columns.len())
        .map(|column| padded(column, &columns[column].name, &|text| paint.bold(text)));
    line(names.collect(), " │ ");
    let rules = columns.iter().map(|column| paint.dim(&"─".repeat(column.width)));
    line(rules.collect(), "─┼─");
    for row in 0..rows {
        let cells = (0..columns.len()).map(|column| {
            let Cell { text, kind } = &columns[column].cells[row];
            padded(column, text, &|text| painted(text, *kind, paint))
        });
        line(cells.collect(), " │ ");
    }
    if !hidden.is_empty() {
        let names: Vec<&str> = hidden.iter().map(|column| column.name.as_str()).collect();
        let many = plural(hidden.len() as u64, "column", "columns");
        let note = format!("… {many} more: {}; `\\x` shows all", names.join(", "));
        note_lines(&mut text, &note, screen);
    }
    text
}

/// How many of the first columns fit next to each other at their minimum width; at least one.
fn fitting(columns: &[Column], width: usize) -> usize {
    let mut used = 0;
    for (place, column) in columns.iter().enumerate() {
        used += column.width.min(COLUMN_WIDTH_MIN) + if place == 0 { 0 } else { 3 };
        // The first column is always shown.
        if used > width && place > 0 {
            return place;
        }
    }
    columns.len()
}

/// Narrows the widest columns until the line fits.
fn fit(columns: &mut [Column], width: usize) {
    let room = width.saturating_sub(3 * columns.len().saturating_sub(1));
    let needs = |most: usize| -> usize { columns.iter().map(|one| one.width.min(most)).sum() };
    let widest = columns.iter().map(|column| column.width).max().unwrap_or(0);
    if needs(widest) <= room {
        return;
    }
    // Binary search for the largest width that fits.
    let (mut fits, mut not) = (1, widest);
    while not - fits > 1 {
        let middle = fits.midpoint(not);
        if needs(middle) <= room { fits = middle } else { not = middle }
    }
    let mut left = room.saturating_sub(needs(fits));
    for column in columns {
        if column.width > fits {
            let more = usize::from(left > 0);
            left -= more;
            column.width = fits + more;
        }
    }
}

/// Rows shown vertically, a line per column; long values are wrapped.
fn expanded(answer: &QueryResult, rows: usize, screen: &Screen) -> String {
    let paint = screen.paint;
    let names: Vec<String> = answer.columns().iter().map(|name| on_one_line(name)).collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let name_width = widest.min((screen.width / 2).saturating_sub(3)).max(1);
    let room = screen.width.saturating_sub(name_width + 3).max(1);
    let mut text = String::new();
    for row in 0..rows {
        let title = cut(&format!("── row {} ", count(row as u64 + 1)), screen.width);
        let rest = "─".repeat(screen.width.min(40).saturating_sub(title.width()));
        text.push_str(&paint.dim(&format!("{title}{rest}")));
        text.push('\n');
        for (column, name) in names.iter().enumerate() {
            let name = cut(name, name_width);
            let gap = " ".repeat(name_width - name.width());
            let Cell { text: value, kind } = cell(answer, row, column);
            let mut left = paint.bold(&name) + &gap;
            for piece in pieces(&value, room) {
                let line = format!("{left}{}{}", paint.dim(" │ "), painted(piece, kind, paint));
                text.push_str(line.trim_end());
                text.push('\n');
                left = " ".repeat(name_width);
            }
        }
    }
    text
}

/// Splits a string into pieces of at most `width` cells; at least one piece.
fn pieces(text: &str, width: usize) -> Vec<&str> {
    let (mut pieces, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        let cells = c.width().unwrap_or(0);
        if used + cells > width && at > start {
            pieces.push(&text[start..at]);
            (start, used) = (at, 0);
        }
        used += cells;
    }
    pieces.push(&text[start..]);
    pieces
}

fn painted(text: &str, kind: Kind, paint: Paint) -> String {
    match kind {
        Kind::Null => paint.dim(text),
        Kind::Number => paint.cyan(text),
        Kind::Other => text.to_owned(),
    }
}

/// The string in at most `width` cells, with `…` where it was truncated.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quipu::{Database, Options, Parameters};

    fn answer(script: &str) -> QueryResult {
        let db = Database::in_memory(Options::default()).unwrap();
        db.run(script, &Parameters::new()).unwrap()
    }

    fn screen(width: usize) -> Screen {
        Screen { width, rows_max: 0, is_expanded: false, paint: Paint::none() }
    }

    #[track_caller]
    fn check(script: &str, screen: &Screen, lines: &[&str]) {
        let text = shown(&answer(script), screen);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines, "\n{text}");
        assert!(text.lines().all(|line| line.width() <= screen.width), "{text}");
    }

    #[test]
    fn numbers_stand_right_and_texts_left() {
        check(
            "?[name, n] <- [['a', 1], ['bcd', 20], [null, null]]",
            &screen(80),
            &["name │    n", "─────┼─────", "null │ null", "a    │    1", "bcd  │   20"],
        );
    }

    #[test]
    fn the_widest_column_gives_way_and_wide_characters_count_twice() {
        check(
            "?[a, b] <- [[1, 'a text that is long'], [2, '漢字漢字漢字漢字']]",
            &screen(14),
            &["a │ b", "──┼───────────", "1 │ a text th…", "2 │ 漢字漢字…"],
        );
    }

    #[test]
    fn columns_that_do_not_fit_are_named() {
        check(
            "?[aaaaaaaa, bbbbbbbb, cccccccc] <- [[1, 2, 3]]",
            &screen(20),
            &[
                "aaaaaaaa │ bbbbbbbb",
                "─────────┼─────────",
                "       1 │        2",
                "… 1 column more:",
                "cccccccc; `\\x` shows",
                "all",
            ],
        );
    }

    #[test]
    fn rows_that_are_left_out_are_counted() {
        let screen = Screen { rows_max: 2, ..screen(80) };
        check(
            "?[a] := a in int_range(1200)",
            &screen,
            &[
                "a",
                "─",
                "0",
                "1",
                "… 2 of 1,200 rows; `\\rows 0` shows all, `\\o FILE` writes them to a file",
            ],
        );
    }

    #[test]
    fn rows_one_below_the_other_show_all_of_a_value() {
        let screen = Screen { is_expanded: true, ..screen(20) };
        check(
            "?[name, b] <- [['abcdefghijklmnopqrstuvwxyz', null]]",
            &screen,
            &[
                "── row 1 ───────────",
                "name │ abcdefghijklm",
                "     │ nopqrstuvwxyz",
                "b    │ null",
            ],
        );
    }

    #[test]
    fn no_width_is_too_small() {
        for width in 0..12 {
            for is_expanded in [false, true] {
                let screen = Screen { is_expanded, ..screen(width) };
                shown(&answer("?[a, bbbbbbbbb] <- [['漢字', 'text'], [1, 2.5]]"), &screen);
            }
        }
    }
}
