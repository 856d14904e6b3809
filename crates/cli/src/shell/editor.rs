//! The line editor: when Enter runs a script, completion, colors, and the history file.

use super::command;
use super::complete::{self, DatabaseNames};
use super::scan::{Kind, tokens};
use crate::paint::Paint;
use quipu::{Database, Parameters, Words};
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::config::Configurer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, Config, Context, Editor, Helper, KeyCode, KeyEvent, Modifiers,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Entries in the history at most.
const HISTORY_LINES_MAX: usize = 10_000;

/// The line editor, with [`Script`] as its helper.
pub(crate) type Lines = Editor<Script, FileHistory>;

/// Completion, validation and highlighting of scripts.
pub(crate) struct Script {
    database: Database,
    words: Words,
    parameters: Rc<RefCell<Parameters>>,
    files: FilenameCompleter,
    paint: Paint,
}

/// An editor without history.
///
/// # Errors
/// The terminal does not support line editing.
pub(crate) fn editor(
    database: Database,
    parameters: Rc<RefCell<Parameters>>,
    paint: Paint,
) -> rustyline::Result<Lines> {
    let config = Config::builder()
        .max_history_size(HISTORY_LINES_MAX)?
        .history_ignore_dups(true)?
        .completion_type(CompletionType::List)
        .tab_stop(4)
        .build();
    let mut lines = Editor::with_config(config)?;
    lines.set_color_mode(if paint.is_on() { ColorMode::Enabled } else { ColorMode::Disabled });
    let files = FilenameCompleter::new();
    lines.set_helper(Some(Script { database, words: quipu::words(), parameters, files, paint }));
    lines.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
    Ok(lines)
}

/// The history file, in the folder for a user's state; `None` where that is not known.
pub(crate) fn history_file() -> Option<PathBuf> {
    let folder = |name: &str| {
        std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
    };
    let state = folder("XDG_STATE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".local").join("state")))
        .or_else(|| folder("LOCALAPPDATA"))?;
    Some(state.join("quipu").join("history"))
}

/// Reads the history of earlier sessions. An error is reported and does not end the shell.
pub(crate) fn load(lines: &mut Lines, file: &Path) -> Result<(), String> {
    let told = |error: &dyn std::fmt::Display| format!("history {}: {error}", file.display());
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| told(&error))?;
    }
    if !file.exists() {
        return Ok(());
    }
    lines.load_history(file).map_err(|error| told(&error))
}

/// Whether Enter runs the text: it is a complete script or a command, or its last line is empty.
pub(crate) fn is_whole(text: &str) -> bool {
    let last = text.rsplit('\n').next().unwrap_or_default();
    let ends_blank = text.contains('\n') && last.trim().is_empty();
    let is_command = text.starts_with('\\') || command::of_word(text).is_some();
    text.trim().is_empty() || is_command || ends_blank || !quipu::is_unfinished(text)
}

impl Completer for Script {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        if line.starts_with("\\i ") || line.starts_with("\\o ") {
            return self.files.complete(line, pos, context);
        }
        let parameters = self.parameters.borrow().keys().cloned().collect();
        let names = DatabaseNames { database: &self.database, parameters };
        let (start, found) = complete::candidates(&line[..pos], &self.words, &names);
        let pairs = found.into_iter().map(|name| Pair { display: name.clone(), replacement: name });
        Ok((start, pairs.collect()))
    }
}

impl Validator for Script {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match is_whole(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl Highlighter for Script {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        if !self.paint.is_on() || line.starts_with('\\') {
            return Cow::Borrowed(line);
        }
        let paint = self.paint;
        let painted = tokens(line).into_iter().map(|token| {
            let text = &line[token.range];
            match token.kind {
                Kind::Comment => paint.dim(text),
                Kind::Text => paint.green(text),
                Kind::Parameter => paint.magenta(text),
                Kind::Stored => paint.yellow(text),
                Kind::Option => paint.blue(text),
                Kind::Number => paint.cyan(text),
                Kind::Word | Kind::Sign | Kind::Space => text.to_owned(),
            }
        });
        Cow::Owned(painted.collect())
    }

    fn highlight_char(&self, _line: &str, _pos: usize, kind: CmdKind) -> bool {
        kind != CmdKind::MoveCursor
    }
}

impl Hinter for Script {
    type Hint = String;
}

impl Helper for Script {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_runs_what_is_whole_and_an_empty_line_runs_anything() {
        for text in
            ["", "  ", "\\d", "?[a] := *r[a]", "::relations", "no script", "?[a] := *r[\n", "a\n  "]
        {
            assert!(is_whole(text), "{text:?}");
        }
        for text in ["?[a] := *r[", "b[a] := *r[a]", "?[a] := *r[a],\n  a > 1,", "# what follows"] {
            assert!(!is_whole(text), "{text:?}");
        }
    }
}
