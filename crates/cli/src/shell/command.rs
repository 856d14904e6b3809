//! Commands of the shell: lines that begin with a backslash. This file parses them and has their
//! help; `mod.rs` executes them. A new command also belongs in `NAMES` and `HELP`.

use std::path::PathBuf;

/// A command with its argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// `\h`
    Help,
    /// `\h name`
    HelpOn(String),
    /// `\r`, `\r part`: all relations, or those whose names contain the part.
    Relations(Option<String>),
    /// `\d name`
    Describe(String),
    /// `\i file`
    Include(PathBuf),
    /// `\o file`
    Output(PathBuf),
    /// `\p`
    Parameters,
    /// `\p name`
    Parameter(String),
    /// `\p name value`
    SetParameter(String, String),
    /// `\p -name`
    ForgetParameter(String),
    /// `\rows n`
    Rows(usize),
    /// `\timing on`; `None` toggles.
    Timing(Option<bool>),
    /// `\x on`: rows are shown vertically; `None` toggles.
    Expanded(Option<bool>),
    /// `\q`
    Quit,
}

/// The command that is a word without a backslash, as people type it at any prompt, or `help` and a
/// name. No script is one or two words without brackets.
pub(crate) fn of_word(text: &str) -> Option<Command> {
    let text = text.trim().trim_end_matches([';', ')', '(']);
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let is_name = rest.chars().all(|c| c.is_alphanumeric() || "_ ".contains(c));
    match (word.to_ascii_lowercase().as_str(), rest.trim()) {
        ("help", "") => Some(Command::Help),
        ("help", name) if is_name => Some(Command::HelpOn(name.to_owned())),
        ("exit" | "quit", "") => Some(Command::Quit),
        _ => None,
    }
}

/// Names of the commands, for completion.
pub(crate) const NAMES: [&str; 10] = ["d", "h", "i", "o", "p", "q", "r", "rows", "timing", "x"];

/// The text of `\h`.
pub(crate) const HELP: &str = r"Enter runs a complete script, which has a rule `?` or is an op, and in which
nothing is open. Alt-Enter always starts a new line; an empty line runs the
script as it is. Tab completes names. Ctrl-C stops a running script.

  ?[to] := *way{fr: 'Bern', to}           rows of a stored relation
  far[b] := *way{fr: 'Bern', to: b}       a rule, defined twice: recursion
  far[c] := far[b], *way{fr: b, to: c}
  ?[place] := far[place] :limit 10
  ?[fr, to] <- [['Bern', 'Thun']] :put way {fr, to}
  ::relations   ::columns way   ::explain { … }   ::explain analyze { … }

  \r [PART]         relations             \d NAME           one, its indexes
  \p                parameters            \p NAME VALUE     $NAME: JSON, text
  \p -NAME          forgets one           \o FILE           last answer to
  \i FILE           runs a script           .csv .json .jsonl .parquet .arrow
  \x [on|off]       rows one below        \timing [on|off]  how long it took
                    the other             \rows N           rows of a table,
  \h                this help                               0: all
  \h NAME           what NAME is          \q, Ctrl-D        leaves
";

/// Parses a line that begins with a backslash.
pub(crate) fn parse(line: &str) -> Result<Command, String> {
    let line = line.trim();
    let body = line.strip_prefix('\\').unwrap_or(line);
    let (name, rest) = match body.split_once(char::is_whitespace) {
        Some((name, rest)) => (name, rest.trim()),
        None => (body, ""),
    };
    let given = || (!rest.is_empty()).then(|| rest.to_owned());
    let needs = |what: &str| given().ok_or_else(|| format!("\\{name} needs {what}"));
    let switch = || match rest {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        _ => Err(format!("\\{name} is followed by on, off or nothing")),
    };
    Ok(match name {
        "h" | "help" | "?" => given().map_or(Command::Help, Command::HelpOn),
        "r" => Command::Relations(given()),
        "d" => match given() {
            Some(name) => Command::Describe(name.trim_start_matches('*').to_owned()),
            None => Command::Relations(None),
        },
        "i" => Command::Include(needs("a file")?.into()),
        "o" => Command::Output(needs("a file")?.into()),
        "p" => match rest.split_once(char::is_whitespace) {
            Some((name, value)) => Command::SetParameter(
                name.trim_start_matches('$').to_owned(),
                value.trim().to_owned(),
            ),
            None => match (rest.strip_prefix('-'), rest.trim_start_matches('$')) {
                (_, "") => Command::Parameters,
                (Some(name), _) => Command::ForgetParameter(name.to_owned()),
                (None, name) => Command::Parameter(name.to_owned()),
            },
        },
        "rows" => Command::Rows(rest.parse().map_err(|_| "\\rows needs a number, 0 for all")?),
        "timing" => Command::Timing(switch()?),
        "x" => Command::Expanded(switch()?),
        "q" | "quit" | "exit" => Command::Quit,
        _ => return Err(format!("there is no command \\{name}\nhint: \\h lists them")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_with_what_they_need() {
        let text = |text: &str| text.to_owned();
        for (line, want) in [
            ("\\h", Ok(Command::Help)),
            ("\\h  count", Ok(Command::HelpOn(text("count")))),
            ("\\d *way ", Ok(Command::Describe(text("way")))),
            ("\\p", Ok(Command::Parameters)),
            ("\\p $who 'a b'", Ok(Command::SetParameter(text("who"), text("'a b'")))),
            ("\\p -who", Ok(Command::ForgetParameter(text("who")))),
            ("\\o a b.csv", Ok(Command::Output("a b.csv".into()))),
            ("\\o", Err(text("\\o needs a file"))),
            ("\\rows x", Err(text("\\rows needs a number, 0 for all"))),
            ("\\timing off", Ok(Command::Timing(Some(false)))),
            ("\\x maybe", Err(text("\\x is followed by on, off or nothing"))),
            ("\\nope", Err(text("there is no command \\nope\nhint: \\h lists them"))),
        ] {
            assert_eq!(parse(line), want, "{line}");
        }
    }

    #[test]
    fn the_help_names_all_commands_and_fits_a_screen() {
        for name in NAMES {
            assert!(HELP.contains(&format!("\\{name}")), "{name}");
            assert!(parse(&format!("\\{name} 1")).is_ok() || ["timing", "x"].contains(&name));
        }
        assert!(HELP.lines().count() < 24);
        assert!(HELP.lines().all(|line| line.chars().count() < 80));
    }
}
