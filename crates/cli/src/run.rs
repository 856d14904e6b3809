//! `quipu run`: runs scripts and prints the rows of the last one.

use crate::args::{RowFormat, Run};
use crate::failure::Failure;
use crate::{interrupt, parameters, rows};
use quipu::{Database, ErrorKind, Options, Parameters, QueryResult, RunOptions};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};

/// A script, and the name of its file for messages.
struct Script {
    /// `None` for the script of `--script`.
    name: Option<String>,
    text: String,
}

impl Script {
    /// Says that the script has failed.
    fn failure(&self, error: quipu::Error) -> Failure {
        let failure = match error.kind() {
            // A timeout, not Ctrl-C.
            ErrorKind::Cancelled if interrupt::go_on() => Failure::Request(error.to_string()),
            _ => error.into(),
        };
        match &self.name {
            Some(name) => failure.in_file(name, 0),
            None => failure,
        }
    }
}

pub(crate) fn run(arguments: &Run) -> Result<(), Failure> {
    let scripts = scripts(arguments)?;
    let parameters = parameters::values(&arguments.parameters);
    let format = row_format(arguments)?;
    let changes = scripts.iter().any(|script| quipu::may_change(&script.text));
    let database = Database::open(
        &arguments.db,
        Options {
            read_only: !changes,
            create: changes,
            memory_limit_bytes: arguments.memory_limit,
            files: arguments.readable.clone(),
            ..Options::default()
        },
    )?;
    interrupt::watch();
    let go_on = || interrupt::go_on();
    let debug = |name: &str, answer: &QueryResult| rows::debug(name, answer);
    let options = RunOptions {
        timeout: arguments.timeout,
        go_on: Some(&go_on),
        debug: Some(&debug),
        ..RunOptions::default()
    };
    let mut answer = Ok(None);
    for (place, script) in scripts.iter().enumerate() {
        let is_last = place + 1 == scripts.len();
        answer = match arguments.stream && is_last {
            true => stream(&database, script, &parameters, &options, format).map(|()| None),
            false => database
                .run_with(&script.text, &parameters, &options)
                .map(Some)
                .map_err(|error| script.failure(error)),
        };
        if answer.is_err() {
            break;
        }
    }
    // Commits are flushed, so that the next command has no WAL to replay.
    let closed = database.close();
    let answer = answer?;
    closed?;
    let Some(answer) = answer else { return Ok(()) };
    let mut out = BufWriter::new(io::stdout());
    rows::write(&mut out, &answer, format)?;
    out.flush().map_err(Failure::output)
}

/// The format in which rows are printed.
///
/// # Errors
/// It cannot be shown by a terminal, or not be streamed.
fn row_format(arguments: &Run) -> Result<RowFormat, Failure> {
    let format = match (arguments.format, io::stdout().is_terminal()) {
        (Some(RowFormat::Parquet | RowFormat::Arrow), true) => {
            let what = "a terminal does not show this format";
            return Err(Failure::Request(format!("{what}\nhint: … --format parquet > FILE")));
        }
        (Some(format), _) => format,
        (None, true) => RowFormat::Table,
        (None, false) => RowFormat::Csv,
    };
    if arguments.stream && format == RowFormat::Table {
        let what = "a table is laid out once all rows are known: --stream prints none";
        return Err(Failure::Request(format!("{what}\nhint: --format csv, jsonl, parquet, …")));
    }
    Ok(format)
}

/// Runs a script, and prints its rows as they are found.
fn stream(
    database: &Database,
    script: &Script,
    parameters: &Parameters,
    options: &RunOptions<'_>,
    format: RowFormat,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout());
    let mut writer = rows::ResultWriter::new(&mut out, format);
    let mut failed = None;
    let take = |part: QueryResult| {
        failed = writer.write(&part).err();
        Ok(failed.is_none())
    };
    let done = database.stream(&script.text, parameters, options, take);
    done.map_err(|error| script.failure(error))?;
    failed.map_or_else(|| writer.finish(), Err)?;
    out.flush().map_err(Failure::output)
}

/// The scripts in the order in which they run: those of files, then that of `--script`.
fn scripts(arguments: &Run) -> Result<Vec<Script>, Failure> {
    let mut scripts = Vec::new();
    for file in &arguments.files {
        let is_input = file.as_os_str() == "-";
        let name = if is_input { "standard input".to_owned() } else { file.display().to_string() };
        let mut text = String::new();
        let read = match is_input {
            true => io::stdin().read_to_string(&mut text),
            false => File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
        };
        read.map_err(|error| Failure::File(name.clone(), error))?;
        scripts.push(Script { name: Some(name), text });
    }
    if let Some(text) = &arguments.script {
        scripts.push(Script { name: None, text: text.clone() });
    }
    Ok(scripts)
}
