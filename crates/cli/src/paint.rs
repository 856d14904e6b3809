//! Colors on a terminal.
//!
//! # Invariants
//! 1. Colors carry no information: the same text is written without them.

use clap::ValueEnum;

/// When to use colors: the value of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Colors strings, or leaves them unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    /// Whether colors are used is decided by the flag, the environment and whether this is a
    /// terminal.
    pub(crate) fn new(color: Color, is_terminal: bool) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_on = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && !is_set("NO_COLOR") && !is_dumb,
        };
        Self { is_on }
    }

    /// Leaves all strings unchanged.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { is_on: false }
    }

    /// Whether it colors.
    pub(crate) fn is_on(self) -> bool {
        self.is_on
    }

    fn styled(self, code: &str, text: &str) -> String {
        if self.is_on && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Names of columns, and messages.
    pub(crate) fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    /// Less important parts: frames, nulls, times.
    pub(crate) fn dim(self, text: &str) -> String {
        self.styled("2", text)
    }

    /// Errors.
    pub(crate) fn red(self, text: &str) -> String {
        self.styled("1;31", text)
    }

    /// Strings in scripts, and success.
    pub(crate) fn green(self, text: &str) -> String {
        self.styled("32", text)
    }

    /// Stored relations.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.styled("33", text)
    }

    /// Options and system ops.
    pub(crate) fn blue(self, text: &str) -> String {
        self.styled("1;34", text)
    }

    /// Parameters.
    pub(crate) fn magenta(self, text: &str) -> String {
        self.styled("35", text)
    }

    /// Numbers and hints.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.styled("36", text)
    }

    /// Colors an error of the engine: the message, its position, the line with carets, hints.
    pub(crate) fn error(self, message: &str) -> String {
        if !self.is_on {
            return message.to_owned();
        }
        let mut is_first = true;
        let lines = message.lines().map(|line| {
            let is_message = std::mem::take(&mut is_first);
            let carets = line.trim_start();
            if let Some(hint) = line.strip_prefix("hint: ") {
                format!("{} {hint}", self.cyan("hint:"))
            } else if line.starts_with("--> ") {
                self.dim(line)
            } else if !carets.is_empty() && carets.bytes().all(|byte| byte == b'^') {
                self.red(line)
            } else if is_message {
                match line.split_once(": ") {
                    Some((kind @ ("error" | "interrupted"), rest)) => {
                        format!("{} {}", self.red(&format!("{kind}:")), self.bold(rest))
                    }
                    _ => self.bold(line),
                }
            } else if line.is_empty() {
                // An empty line separates mistakes.
                is_first = true;
                String::new()
            } else {
                line.to_owned()
            }
        });
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if message.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_colours_is_as_it_was_and_with_them_says_the_same() {
        let text = "error: no `a`\n--> line 1, column 2\n  ?[a]\n    ^\nhint: b\n\nand no `c`\n";
        assert_eq!(Paint::none().error(text), text);
        let coloured = Paint { is_on: true }.error(text);
        assert!(coloured.contains("\x1b[1;31m    ^\x1b[0m"), "{coloured:?}");
        let mut plain = coloured;
        while let Some(start) = plain.find('\x1b') {
            let end = start + plain[start..].find('m').unwrap() + 1;
            plain.replace_range(start..end, "");
        }
        assert_eq!(plain, text);
    }
}
