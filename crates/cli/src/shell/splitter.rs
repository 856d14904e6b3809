//! Divides text of several lines into scripts and commands.
//!
//! A script ends at an empty line, before a command, or at the end of the text. An empty line
//! inside of an unfinished script does not end it. A command is one line.

use super::command;

/// A script or a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Lines of the text before its first line.
    pub lines_before: usize,
    pub text: String,
}

/// Receives lines and returns the scripts and commands that they complete.
#[derive(Default)]
pub(super) struct Splitter {
    script: String,
    /// Lines before the script.
    lines_before: usize,
    lines: usize,
}

impl Splitter {
    /// The pieces that end before or with this line, in their order: at most a script and then
    /// a command.
    pub(super) fn push(&mut self, line: &str) -> impl Iterator<Item = Piece> + use<> {
        let number = self.lines;
        self.lines += 1;
        let is_blank = line.trim().is_empty();
        let is_word = command::of_word(line).is_some();
        // Parses the whole script, so only for lines that could end it.
        let is_between = (is_blank || is_word)
            && (self.script.is_empty() || !quipu::is_unfinished(&self.script));
        let is_command = line.starts_with('\\') || is_word && is_between;
        let ends_script = is_command || is_blank && is_between;
        let script = if ends_script { self.take() } else { None };
        let command = is_command.then(|| Piece { lines_before: number, text: line.to_owned() });
        if !is_command && (!is_blank || !self.script.is_empty()) {
            if self.script.is_empty() {
                self.lines_before = number;
            }
            self.script.push_str(line);
            self.script.push('\n');
        }
        script.into_iter().chain(command)
    }

    /// The script that the end of the text ends.
    pub(super) fn take(&mut self) -> Option<Piece> {
        let text = std::mem::take(&mut self.script);
        (!text.is_empty()).then_some(Piece { lines_before: self.lines_before, text })
    }
}

/// The pieces of a text.
pub(super) fn pieces_of(text: &str) -> Vec<Piece> {
    let mut splitter = Splitter::default();
    let mut found: Vec<Piece> = text.lines().flat_map(|line| splitter.push(line)).collect();
    found.extend(splitter.take());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(usize, String)> {
        let pieces = pieces_of(text).into_iter();
        pieces.map(|piece| (piece.lines_before, piece.text.trim_end().to_owned())).collect()
    }

    fn expected(pieces: &[(usize, &str)]) -> Vec<(usize, String)> {
        pieces.iter().map(|&(before, text)| (before, text.to_owned())).collect()
    }

    #[test]
    fn scripts_end_at_empty_lines_and_before_commands() {
        let text = "\n?[a] := a = 1\n\n\n?[b] := b = 2\n\\rows 3\n?[c] :=\n\nc = 3\nquit\n";
        let want = [
            (1, "?[a] := a = 1"),
            (4, "?[b] := b = 2"),
            (5, "\\rows 3"),
            (6, "?[c] :=\n\nc = 3"),
            (9, "quit"),
        ];
        assert_eq!(shown(text), expected(&want));
    }

    #[test]
    fn rules_without_an_entry_rule_go_on_after_an_empty_line() {
        let text = "r[a] := a = 1\n\n?[a] := r[a]";
        assert_eq!(shown(text), expected(&[(0, text)]));
    }
}
