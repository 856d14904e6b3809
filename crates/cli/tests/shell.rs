//! The shell as a user sees it: on a terminal, and in a pipe.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // processes and files
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use quipu::{Database, GraphOptions, Options, Parameters};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longest wait for output: enough for the slowest machine, usually much longer than needed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A folder with a database `db`, whose graph `cites` has the edges 1→2, 2→3 and 3→4.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: TempDir::new().unwrap() };
        let db = place.open();
        let cites = db.graph("cites", GraphOptions::default()).unwrap();
        for (from, to) in [(1, 2), (2, 3), (3, 4)] {
            cites.upsert(from, to, None).unwrap();
        }
        db.close().unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> Database {
        Database::open(self.path("db"), Options::default()).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quipu"));
        command.current_dir(self.folder.path()).args(arguments);
        command.env("XDG_STATE_HOME", self.path("state")).env_remove("NO_COLOR");
        command.env("TERM", "xterm");
        command
    }

    fn history(&self) -> PathBuf {
        self.path("state").join("quipu").join("history")
    }

    /// A shell on a terminal with `columns` columns.
    fn terminal(&self, columns: u16, arguments: &[&str]) -> Terminal {
        Terminal::new(columns, self.command(arguments))
    }
}

/// A process on a pseudo-terminal.
struct Terminal {
    child: Child,
    keyboard: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn new(columns: u16, mut command: Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let path = Path::new(name.to_str().unwrap());
        let theirs = File::options().read(true).write(true).open(path).unwrap();
        let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&theirs, size).unwrap();
        let child = command
            .stdin(Stdio::from(theirs.try_clone().unwrap()))
            .stdout(Stdio::from(theirs.try_clone().unwrap()))
            .stderr(Stdio::from(theirs))
            .spawn()
            .unwrap();
        let keyboard = File::from(ours);
        let mut from = keyboard.try_clone().unwrap();
        let (send, screen) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once the process has closed the terminal.
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                if send.send(bytes[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, screen, seen: String::new() }
    }

    fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the text is on the screen, and returns the output up to there.
    #[track_caller]
    fn sees(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let left = PATIENCE.saturating_sub(begin.elapsed());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(_) => panic!("{text:?} is not shown, but {:?}", self.seen),
            }
        }
    }

    /// Types a line once the prompt is shown. Before that, the terminal itself would interpret some
    /// keys.
    #[track_caller]
    fn runs(&mut self, line: &str) {
        self.sees("> ");
        self.types(line);
        self.types("\r");
    }

    #[track_caller]
    fn leaves(mut self, keys: &str) {
        self.sees("> ");
        self.types(keys);
        let begin = Instant::now();
        // The channel closes when the process has ended.
        while self.screen.recv_timeout(PATIENCE.saturating_sub(begin.elapsed())).is_ok() {}
        assert!(self.child.try_wait().unwrap().is_none_or(|status| status.success()));
        assert!(begin.elapsed() < PATIENCE, "the shell goes on");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has already ended if the test succeeded.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_script_of_several_lines_runs_once_it_is_whole() {
    let place = Place::new();
    let mut shell = place.terminal(80, &["shell", "db"]);
    shell.runs("far[b] := *cites{src: 1, dst: b}");
    shell.types("far[c] := far[b], *cites{src: b, dst: c}\r?[vertex] := far[vertex]\r");
    shell.sees("vertex");
    shell.sees("4");
    shell.sees("3 rows");
    shell.sees(" ms");
    // An empty line runs the text, complete or not.
    shell.runs("far[b] := *cites{src: 1,\r");
    shell.sees("the end of the text");
    shell.leaves("\\q\r");
}

#[test]
fn several_scripts_that_are_pasted_run_one_by_one() {
    let place = Place::new();
    let mut shell = place.terminal(80, &["shell", "db"]);
    let scripts =
        "?[first] <- [['one']]\n\nr[a] <- [['two']]\n\n?[second] := r[second]\n\\p x 3\n\\p";
    // As a terminal sends what is pasted.
    shell.runs(&format!("\x1b[200~{scripts}\x1b[201~"));
    shell.sees("first");
    shell.sees("1 row");
    shell.sees("second");
    shell.sees("1 row");
    shell.sees("$x = 3");
    // The first failure ends the text.
    shell.runs("\x1b[200~?[first] <- [['three']]\n\n?[] := broken\n\n?[never] <- [[4]]\x1b[201~");
    shell.sees("three");
    shell.sees("broken");
    shell.runs("\\p");
    shell.sees("$x = 3");
    shell.leaves("\\q\r");
}

#[test]
fn tab_completes_relations_and_columns() {
    let place = Place::new();
    let mut shell = place.terminal(80, &["shell", "db"]);
    shell.sees("> ");
    shell.types("?[dst] := *ci\t{src: 2, d\t}\r");
    shell.sees("1 row");
    shell.leaves("\\q\r");
}

#[test]
fn an_interrupt_stops_the_script_and_not_the_shell() {
    let place = Place::new();
    let mut shell = place.terminal(80, &["shell", "db"]);
    // The query would take days. The output of `%debug` shows that it runs: at the prompt, a signal
    // would end the shell.
    let days = "c[x] := x in int_range(100000) ?[x] := c[x], c[y], c[z], x + y + z < 0";
    shell.runs(&format!("{{?[a] <- [['begun']]}} as _a %debug _a {{{days}}}"));
    shell.sees("_a: 1 row");
    let kill = format!("kill -INT {}", shell.child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    shell.sees("interrupted");
    shell.runs("?[a] <- [['still here']]");
    shell.sees("still here");
    shell.sees("1 row");
    shell.leaves("\x04");
}

#[test]
fn lines_are_kept_for_the_next_shell_unless_that_is_unwanted() {
    let place = Place::new();
    let mut shell = place.terminal(80, &["shell", "db", "--no-history"]);
    shell.runs("?[a] <- [['unkept']]");
    shell.sees("1 row");
    shell.leaves("\\q\r");
    assert!(!place.history().exists());

    let mut shell = place.terminal(80, &["shell", "db"]);
    shell.runs("?[a] <- [['kept']]");
    shell.sees("1 row");
    shell.leaves("\x04");
    assert!(fs::read_to_string(place.history()).unwrap().contains("kept"));
    let mut shell = place.terminal(80, &["shell", "db"]);
    shell.runs("\x1b[A");
    shell.sees("1 row");
    shell.leaves("\x04");
}

#[test]
fn colours_are_for_terminals_and_those_who_want_them() {
    let place = Place::new();
    let coloured = |command: Command| {
        let mut shell = Terminal::new(80, command);
        shell.runs("?[a] := *nothing{a}");
        let seen = shell.sees("nothing`");
        shell.leaves("\\q\r");
        seen.contains("\x1b[1;31m")
    };
    assert!(coloured(place.command(&["shell", "db"])));
    assert!(!coloured(place.command(&["shell", "db", "--color", "never"])));
    let mut command = place.command(&["shell", "db"]);
    command.env("NO_COLOR", "1");
    assert!(!coloured(command));
}

#[test]
fn a_table_fits_a_narrow_terminal() {
    let place = Place::new();
    let mut shell = place.terminal(40, &["shell", "--color", "never"]);
    shell
        .runs("?[a, b] <- [['a text of more than forty characters', 'and another one beside it']]");
    shell.sees("\r\na ");
    let table = shell.sees("1 row");
    assert!(table.contains('…'));
    assert!(table.lines().all(|line| line.trim_end().chars().count() <= 40), "{table}");
    shell.leaves("\\q\r");
}

#[test]
fn a_reading_shell_follows_what_a_writer_commits() {
    let place = Place::new();
    let writer = place.open();
    let refused = place.command(&["shell", "db"]).stdin(Stdio::null()).output().unwrap();
    let refused = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.contains("hint: --read-only"), "{refused}");
    let mut shell = place.terminal(80, &["shell", "db", "--read-only"]);
    shell.runs("?[count(src)] := *cites{src}");
    shell.sees("1 row");
    let put = "?[src, dst] <- [[10, 11]] :put cites {src, dst}";
    writer.run(put, &Parameters::new()).unwrap();
    shell.runs("?[src] := *cites{src, dst: 11}");
    shell.sees("1 row");
    shell.runs(put);
    shell.sees("opened read-only");
    shell.leaves("\\q\r");
    writer.close().unwrap();
}

/// Runs a shell with piped input: status, standard output, standard error.
fn piped(place: &Place, input: &str) -> (Option<i32>, String, String) {
    let mut child = place
        .command(&["shell", "db"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The shell may have ended already, after a failure.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn scripts_in_a_pipe_are_apart_by_empty_lines_and_end_at_a_failure() {
    let place = Place::new();
    let input = "\\p v 2\nvia[b] := *cites{src: $v, dst: b}\n\n?[to] := via[b], *cites{src: b, dst: to}\n\n\
                 ?[a] <- [[1]]\n:limit 0\n\\o rows.json\n";
    assert_eq!(
        piped(&place, input),
        (Some(0), "to\n4\na\n0 rows of the last answer to rows.json\n".to_owned(), String::new())
    );
    assert_eq!(
        fs::read_to_string(place.path("rows.json")).unwrap(),
        "{\"columns\":[\"a\"],\"rows\":[]}\n"
    );
    let (status, out, err) =
        piped(&place, "?[a] <- [[1]]\n\n?[b] := *nothing{b}\n\n?[c] <- [[3]]\n");
    assert_eq!((status, out.as_str()), (Some(1), "a\n1\n"));
    assert!(
        err.starts_with("error: no relation `nothing`\n--> standard input, line 3, column 10"),
        "{err}"
    );
}

#[test]
fn help_exit_and_quit_are_commands_as_at_any_prompt() {
    let place = Place::new();
    let (status, help, err) = piped(&place, "help\n");
    assert_eq!((status, help, err), piped(&place, "\\h\n"));
    assert_eq!(piped(&place, "help PageRank\n"), piped(&place, "\\h PageRank\n"));
    assert_eq!(piped(&place, "HELP\n"), piped(&place, "help\n"));
    for word in ["exit", "quit", "exit;", "quit()", "Exit"] {
        let input = format!("?[a] <- [[1]]\n\n{word}\n\n?[a] <- [[2]]\n");
        let want = (Some(0), "a\n1\n".to_owned(), String::new());
        assert_eq!(piped(&place, &input), want, "{word}");
    }
    let mut shell = place.terminal(80, &["shell", "db", "--no-history"]);
    shell.sees("quipu>");
    shell.types("help\r");
    shell.sees("Enter runs a complete script");
    shell.sees("quipu>");
    shell.types("exit\r");
    assert!(shell.child.wait().unwrap().success());
}

#[test]
fn every_command_of_the_shell_does_what_its_help_says() {
    let place = Place::new();
    let says = |input: &str| {
        let (status, out, err) = piped(&place, input);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{input}: {out}");
        out
    };
    let help = says("\\h\n");
    for command in ["\\r [PART]", "\\d NAME", "\\p", "\\o FILE", "\\i FILE", "\\x", "\\timing"] {
        assert!(help.contains(command), "{command}: {help}");
    }
    let neq = says("\\h neq\n");
    assert!(
        neq.starts_with("neq(a, b) (function)\n    a != b. Whether two values differ.\n"),
        "{neq}"
    );
    let limit = says("\\h :limit\n");
    assert!(limit.starts_with(":limit n, :offset n\n    returns at most n rows"), "{limit}");
    let (status, _, err) = piped(&place, "\\h nothing\n");
    assert_eq!(status, Some(1));
    assert!(err.contains("the language has no nothing"), "{err}");
    assert_eq!(says("\\r\n"), "cites {src: Id, dst: Id}\n");
    assert!(says("\\r nothing\n").contains("no relations"));
    let described = says("\\d cites\n");
    assert!(described.contains("src") && described.contains("dst"), "{described}");
    fs::write(place.path("script.q"), "?[n] := *cites{src: $v, dst: n}\n").unwrap();
    assert_eq!(says("\\p v 2\n\\i script.q\n"), "n\n3\n");
    assert_eq!(says("\\p v 2\n\\p v\n"), "$v = 2\n");
    let (status, _, err) = piped(&place, "\\p v 2\n\\p -v\n\\i script.q\n");
    assert_eq!(status, Some(1), "a parameter that was forgotten is none");
    assert!(err.contains("$v"), "{err}");
}

#[test]
fn a_terminal_shows_rows_one_below_the_other_fewer_of_them_and_the_time() {
    let place = Place::new();
    let ask = "?[src, dst] := *cites{src, dst}";
    let mut shell = place.terminal(100, &["shell", "db", "--color", "never"]);
    shell.runs(ask);
    let table = shell.sees("3 rows");
    assert!(!table.contains(", 0") && !table.contains(" ms"), "no time is shown at first: {table}");
    shell.runs("\\x on");
    shell.sees("one below the other");
    shell.runs(ask);
    let below = shell.sees("3 rows");
    let lines = below.lines().filter(|line| line.trim_start().starts_with("src ")).count();
    assert_eq!(lines, 3, "{below}");
    shell.runs("\\x off");
    shell.sees("as a table");
    shell.runs("\\rows 1");
    shell.runs(ask);
    shell.sees("… 1 of 3 rows; `\\rows 0` shows all");
    shell.runs("\\timing on");
    shell.sees("timing on");
    shell.runs(ask);
    shell.sees("3 rows, ");
    shell.leaves("\\q\r");
}
