//! `quipu shell`: runs scripts from a terminal or a pipe and prints their results.
//!
//! # Where input comes from
//! On a terminal, input comes from a line editor. Otherwise lines are read as they come, and the
//! first failure ends the shell. A text of several lines, piped or pasted, is divided into scripts
//! and commands in one way (`splitter`).

mod command;
mod complete;
mod editor;
mod help;
mod scan;
mod splitter;

use crate::args::{RowFormat, Shell};
use crate::failure::Failure;
use crate::output::{note, plural};
use crate::paint::Paint;
use crate::show::{Screen, shown};
use crate::{interrupt, parameters, rows};
use command::Command;
use quipu::{Database, ErrorKind, Options, Parameters, QueryResult, RunOptions, Value};
use rustyline::error::ReadlineError;
use splitter::{Piece, Splitter, pieces_of};
use std::cell::RefCell;
use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Cells in a line where the terminal does not tell.
const WIDTH_DEFAULT: usize = 80;

/// Name of input that is not a terminal, in messages.
const INPUT: &str = "standard input";

/// Rows of a table on a terminal, until `\rows` changes it.
const ROWS_MAX: usize = 100;

pub(crate) fn run(arguments: &Shell) -> Result<(), Failure> {
    let options = Options {
        read_only: arguments.read_only,
        create: !arguments.read_only,
        memory_limit_bytes: arguments.memory_limit,
        files: arguments.readable.clone(),
        ..Options::default()
    };
    let database = match &arguments.db {
        None if arguments.read_only => {
            let what = "a database in memory is empty: there is nothing to read in it";
            return Err(Failure::Request(format!("{what}\nhint: name a folder")));
        }
        None => Database::in_memory(options)?,
        Some(folder) => Database::open(folder, options).map_err(|error| match error.kind() {
            ErrorKind::Locked => {
                let hint = "--read-only opens it beside the process that writes it";
                Failure::Request(format!("{error}\nhint: {hint}"))
            }
            _ => error.into(),
        })?,
    };
    let is_interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let paint = Paint::new(arguments.color, io::stdout().is_terminal());
    let session = Session {
        parameters: Rc::new(RefCell::new(parameters::values(&arguments.parameters))),
        format: arguments.format.unwrap_or(match io::stdout().is_terminal() {
            true => RowFormat::Table,
            false => RowFormat::Csv,
        }),
        timeout: arguments.timeout,
        rows_max: if is_interactive { ROWS_MAX } else { 0 },
        is_timed: is_interactive,
        is_expanded: false,
        is_interactive,
        last: None,
        paint,
        database: database.clone(),
    };
    let ran = match is_interactive {
        true => session.interactive(arguments),
        false => session.piped(),
    };
    let closed = database.close();
    ran?;
    Ok(closed?)
}

/// Completes a script that ends at the cursor: the byte at which the last word begins, and what it
/// may become. `parameters` are names that have a value. Where the context allows nothing, and
/// where the database cannot be read, there are no candidates.
#[must_use]
pub fn candidates(
    database: &Database,
    parameters: Vec<String>,
    before: &str,
) -> (usize, Vec<String>) {
    let names = complete::DatabaseNames { database, parameters };
    complete::candidates(before, &quipu::words(), &names)
}

/// Whether the shell goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Quit,
}

struct Session {
    database: Database,
    parameters: Rc<RefCell<Parameters>>,
    format: RowFormat,
    timeout: Option<Duration>,
    rows_max: usize,
    is_timed: bool,
    is_expanded: bool,
    is_interactive: bool,
    /// The last result, which `\o` writes.
    last: Option<QueryResult>,
    paint: Paint,
}

impl Session {
    fn interactive(mut self, arguments: &Shell) -> Result<(), Failure> {
        interrupt::watch_at_prompt();
        let of_terminal = |error: ReadlineError| {
            Failure::File("the terminal".to_owned(), io::Error::other(error))
        };
        let mut lines =
            editor::editor(self.database.clone(), Rc::clone(&self.parameters), self.paint)
                .map_err(of_terminal)?;
        let history = editor::history_file().filter(|_| !arguments.no_history);
        if let Some(file) = &history
            && let Err(what) = editor::load(&mut lines, file)
        {
            note(&what);
        }
        let name = match self.database.folder() {
            Some(folder) => folder.display().to_string(),
            None => "in memory".to_owned(),
        };
        let mode = if arguments.read_only { ", read-only" } else { "" };
        let version = env!("CARGO_PKG_VERSION");
        let begin = format!("Quipu {version}, {name}{mode}. \\h helps, Ctrl-D leaves.");
        self.say(&format!("{}\n", self.paint.dim(&begin)))?;
        let prompt = if arguments.read_only { "quipu (read-only)> " } else { "quipu> " };
        let prompt = (prompt.to_owned(), self.paint.bold(prompt));
        loop {
            let text = match lines.readline(&prompt) {
                Ok(text) => text,
                Err(ReadlineError::Interrupted) => continue,
                Err(ReadlineError::Eof) => return Ok(()),
                Err(error) => return Err(of_terminal(error)),
            };
            if text.trim().is_empty() {
                continue;
            }
            let added = lines.add_history_entry(text.trim_end());
            if let (Ok(true), Some(file)) = (added, &history) {
                // A history that cannot be written is no reason to stop.
                let _ = lines.append_history(file);
            }
            match self.typed(&text) {
                Ok(Flow::On) => {}
                Ok(Flow::Quit) => return Ok(()),
                Err(Failure::OutputClosed) => return Ok(()),
                Err(failure) => {
                    let mut err = io::stderr();
                    let _ = write!(err, "{}", self.paint.error(&failure.to_string()));
                }
            }
        }
    }

    /// Runs scripts from input that is not a terminal.
    fn piped(mut self) -> Result<(), Failure> {
        interrupt::watch();
        let mut splitter = Splitter::default();
        for line in io::stdin().lock().lines() {
            let line = line.map_err(|error| Failure::File(INPUT.to_owned(), error))?;
            for piece in splitter.push(&line) {
                if self.piece(&piece)? == Flow::Quit {
                    return Ok(());
                }
            }
        }
        splitter.take().map_or(Ok(()), |piece| self.piece(&piece).map(drop))
    }

    /// Runs a piece of input that is not a terminal.
    fn piece(&mut self, piece: &Piece) -> Result<Flow, Failure> {
        self.step(&piece.text).map_err(|failure| failure.in_file(INPUT, piece.lines_before))
    }

    /// Runs the input typed or pasted at the prompt. The first failure ends it.
    fn typed(&mut self, text: &str) -> Result<Flow, Failure> {
        for piece in pieces_of(text) {
            if self.step(&piece.text)? == Flow::Quit {
                return Ok(Flow::Quit);
            }
        }
        Ok(Flow::On)
    }

    /// Runs a script or a command.
    fn step(&mut self, text: &str) -> Result<Flow, Failure> {
        let command = match command::of_word(text) {
            Some(command) => command,
            None if text.starts_with('\\') => command::parse(text).map_err(Failure::Request)?,
            None => return self.script(text).map(|()| Flow::On),
        };
        match command {
            Command::Quit => return Ok(Flow::Quit),
            Command::Help => self.say(command::HELP)?,
            Command::HelpOn(name) => self.help_on(&name)?,
            Command::Relations(part) => self.relations(part.as_deref().unwrap_or_default())?,
            Command::Describe(name) => self.describe(&name)?,
            Command::Include(file) => {
                let text = fs::read_to_string(&file);
                let text =
                    text.map_err(|error| Failure::File(file.display().to_string(), error))?;
                self.script(&text)
                    .map_err(|failure| failure.in_file(&file.display().to_string(), 0))?;
            }
            Command::Output(file) => self.write_last(&file)?,
            Command::Parameters => {
                let all: Vec<String> = self
                    .parameters
                    .borrow()
                    .iter()
                    .map(|(name, value)| format!("${name} = {value}\n"))
                    .collect();
                self.say(&all.concat())?;
            }
            Command::Parameter(name) => {
                let value = self.parameters.borrow().get(&name).map(ToString::to_string);
                let none = || Failure::Request(format!("parameter ${name} has no value"));
                self.say(&format!("${name} = {}\n", value.ok_or_else(none)?))?;
            }
            Command::SetParameter(name, text) => {
                // Single quotes are strings in scripts, but not in JSON.
                let quoted = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
                let value = match quoted {
                    Some(text) => Value::Str(text.to_owned()),
                    None => parameters::value(&text),
                };
                self.parameters.borrow_mut().insert(name, value);
            }
            Command::ForgetParameter(name) => {
                self.parameters.borrow_mut().remove(&name);
            }
            Command::Rows(rows) => self.rows_max = rows,
            Command::Timing(on) => {
                self.is_timed = on.unwrap_or(!self.is_timed);
                self.say(if self.is_timed { "timing on\n" } else { "timing off\n" })?;
            }
            Command::Expanded(on) => {
                self.is_expanded = on.unwrap_or(!self.is_expanded);
                let text = if self.is_expanded { "one below the other" } else { "as a table" };
                self.say(&format!("rows {text}\n"))?;
            }
        }
        Ok(Flow::On)
    }

    fn script(&mut self, text: &str) -> Result<(), Failure> {
        // A read-only database shows the latest commits, not those at its opening.
        self.database.refresh()?;
        let begin = Instant::now();
        let answer = {
            let _running = interrupt::running();
            let go_on = || interrupt::go_on();
            let debug = |name: &str, answer: &QueryResult| rows::debug(name, answer);
            let options = RunOptions {
                timeout: self.timeout,
                go_on: Some(&go_on),
                debug: Some(&debug),
                ..RunOptions::default()
            };
            self.database.run_with(text, &self.parameters.borrow(), &options)
        };
        let took = begin.elapsed();
        let answer = answer.map_err(|error| match error.kind() {
            ErrorKind::Cancelled if interrupt::go_on() => Failure::Request(error.to_string()),
            _ => error.into(),
        })?;
        self.show(&answer, took)?;
        self.last = Some(answer);
        Ok(())
    }

    fn show(&self, answer: &QueryResult, took: Duration) -> Result<(), Failure> {
        if self.format != RowFormat::Table {
            let mut out = io::BufWriter::new(io::stdout());
            rows::write(&mut out, answer, self.format)?;
            return out.flush().map_err(Failure::output);
        }
        let is_status = answer.columns() == ["status"] && answer.len() == 1;
        let mut text = String::new();
        let mut last = if is_status {
            self.paint.green(&answer.shown(0, 0))
        } else {
            text = shown(answer, &self.screen());
            self.paint.dim(&plural(answer.len() as u64, "row", "rows"))
        };
        if self.is_timed {
            last.push_str(&self.paint.dim(&format!(", {}", time(took))));
        }
        self.say(&format!("{text}{last}\n"))
    }

    fn screen(&self) -> Screen {
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = match self.is_interactive {
            true => width.filter(|&width| width > 0).unwrap_or(WIDTH_DEFAULT),
            // A pipe has no width.
            false => usize::MAX,
        };
        Screen { width, rows_max: self.rows_max, is_expanded: self.is_expanded, paint: self.paint }
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        crate::output::print(text)
    }

    fn ask(&self, script: &str) -> Result<QueryResult, Failure> {
        self.database.refresh()?;
        Ok(self.database.run(script, &Parameters::new())?)
    }

    fn show_quietly(&self, answer: &QueryResult) -> Result<(), Failure> {
        self.say(&shown(answer, &self.screen()))
    }

    fn relations(&self, part: &str) -> Result<(), Failure> {
        // The columns of each relation on one line, as `:create` would name them.
        let names = self.ask("::relations")?;
        let mut text = String::new();
        for row in 0..names.len() {
            let name = names.shown(row, 0);
            if !name.contains(part) {
                continue;
            }
            let columns = self.ask(&format!("::columns {name}"))?;
            let (mut keys, mut values) = (Vec::new(), Vec::new());
            for row in 0..columns.len() {
                let is_key = columns.value(row, 1) == Value::Bool(true);
                let column = format!("{}: {}", columns.shown(row, 0), columns.shown(row, 3));
                if is_key { keys.push(column) } else { values.push(column) }
            }
            let arrow = if values.is_empty() { "" } else { " => " };
            let columns = format!("{}{arrow}{}", keys.join(", "), values.join(", "));
            let access = names.shown(row, 2);
            let access = if access == "normal" { String::new() } else { format!("  ({access})") };
            text.push_str(&format!(
                "{} {{{columns}}}{}\n",
                self.paint.yellow(&name),
                self.paint.dim(&access)
            ));
        }
        match text.is_empty() {
            true => self.say(&format!("{}\n", self.paint.dim("no relations"))),
            false => self.say(&text),
        }
    }

    fn describe(&self, name: &str) -> Result<(), Failure> {
        self.show_quietly(&self.ask(&format!("::columns {name}"))?)?;
        for (what, script) in [("indexes", "::indices"), ("triggers", "::show_triggers")] {
            // An index has no indexes or triggers of its own.
            if let Ok(answer) = self.ask(&format!("{script} {name}"))
                && !answer.is_empty()
            {
                self.say(&format!("\n{}\n", self.paint.dim(what)))?;
                self.show_quietly(&answer)?;
            }
        }
        Ok(())
    }

    fn help_on(&self, word: &str) -> Result<(), Failure> {
        let entries = help::entries(word);
        if entries.is_empty() {
            return Err(Failure::Request(format!("the language has no {word}")));
        }
        for (i, help::Entry { title, text }) in entries.iter().enumerate() {
            let between = if i > 0 { "\n" } else { "" };
            self.say(&format!("{between}{}\n{text}", self.paint.yellow(title)))?;
        }
        Ok(())
    }

    fn write_last(&self, file: &std::path::Path) -> Result<(), Failure> {
        let hint = "hint: run a script first; \\o writes the rows of the last answer";
        let none = || Failure::Request(format!("there is no answer yet\n{hint}"));
        let answer = self.last.as_ref().ok_or_else(none)?;
        let format = rows::format_of(file).ok_or_else(|| {
            let known = ".csv, .json, .jsonl, .parquet, .arrow or .txt";
            Failure::Request(format!("{}: the name should end in {known}", file.display()))
        })?;
        if self.database.holds(file) {
            return Err(quipu::in_the_database(file).into());
        }
        rows::write_file(file, answer, format)?;
        let many = plural(answer.len() as u64, "row", "rows");
        self.say(&format!("{many} of the last answer to {}\n", file.display()))
    }
}

/// A duration in the unit that fits it.
fn time(took: Duration) -> String {
    let ms = took.as_secs_f64() * 1e3;
    match ms {
        _ if ms < 10.0 => format!("{ms:.2} ms"),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", ms / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        for (us, text) in
            [(1, "0.00 ms"), (1234, "1.23 ms"), (56_700, "57 ms"), (2_346_000, "2.35 s")]
        {
            assert_eq!(time(Duration::from_micros(us)), text);
        }
    }
}
