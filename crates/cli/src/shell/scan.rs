//! A tokenizer for scripts that are being typed, for colors and completion.
//!
//! # Why not the parser
//! The parser needs a whole script. Here the text is half written and ends at the cursor, and each
//! token only needs a position and a rough kind. A wrong color does no harm.

use std::ops::Range;
use unicode_ident::{is_xid_continue, is_xid_start};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `# …` and `/* … */`
    Comment,
    /// A string in quotes, closed or not.
    Text,
    /// `$name`
    Parameter,
    /// `*name`
    Stored,
    /// `:name`, `::name` or `%name`
    Option,
    Number,
    Word,
    /// Any other single character.
    Sign,
    Space,
}

/// A token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) range: Range<usize>,
    /// Whether it is a comment or a string without its end.
    pub(crate) is_open: bool,
}

/// All tokens of the text, in order and without gaps.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut start = 0;
    while let Some(c) = text[start..].chars().next() {
        let token = token_at(text, start, c, is_after_value(text, &found));
        start = token.range.end;
        found.push(token);
    }
    found
}

/// Whether the last of the tokens, spaces aside, ends a value.
fn is_after_value(text: &str, found: &[Token]) -> bool {
    let Some(last) = found.iter().rfind(|token| token.kind != Kind::Space) else { return false };
    let shown = &text[last.range.clone()];
    match last.kind {
        Kind::Word => !matches!(shown, "and" | "in" | "not" | "or"),
        Kind::Number | Kind::Text | Kind::Parameter => true,
        Kind::Sign => shown.ends_with([')', ']', '}']),
        _ => false,
    }
}

/// The token that begins at a position with the character `c`.
fn token_at(text: &str, start: usize, c: char, is_after_value: bool) -> Token {
    let rest = &text[start..];
    let word_after = |signs: usize| {
        let word = word_bytes(&rest[signs..]);
        (word > 0).then_some(signs + word)
    };
    let line = text[..start].trim_end_matches([' ', '\t']);
    let at_line_start = line.is_empty() || line.ends_with('\n');
    let mut is_open = false;
    let (kind, bytes) = match c {
        '#' => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => {
            let end = rest.get(2..).and_then(|inside| inside.find("*/")).map(|at| at + 4);
            is_open = end.is_none();
            (Kind::Comment, end.unwrap_or(rest.len()))
        }
        '"' | '\'' => {
            let end = closing(rest, c);
            is_open = end.is_none();
            (Kind::Text, end.unwrap_or(rest.len()))
        }
        '$' => match word_after(1) {
            Some(bytes) => (Kind::Parameter, bytes),
            None => (Kind::Sign, 1),
        },
        '`' => match quoted_name_bytes(rest) {
            Some(bytes) => (Kind::Word, bytes),
            None => (Kind::Sign, 1),
        },
        '*' if !is_after_value || at_line_start => {
            match quoted_name_bytes(&rest[1..]).map(|bytes| 1 + bytes).or_else(|| word_after(1)) {
                Some(bytes) => (Kind::Stored, bytes),
                None => (Kind::Sign, 1),
            }
        }
        ':' if rest.starts_with("::") => match word_after(2) {
            Some(bytes) => (Kind::Option, bytes),
            None => (Kind::Sign, 2),
        },
        ':' | '%' if at_line_start || rest.starts_with(":o") || is_after_rule(text, start) => {
            match word_after(1) {
                Some(bytes) => (Kind::Option, bytes),
                None => (Kind::Sign, 1),
            }
        }
        _ if c.is_ascii_digit() => {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
            (Kind::Number, end.unwrap_or(rest.len()))
        }
        _ if c.is_whitespace() => {
            (Kind::Space, rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len()))
        }
        _ if c == '_' || is_xid_start(c) => (Kind::Word, word_bytes(rest)),
        _ => (Kind::Sign, c.len_utf8()),
    };
    Token { kind, range: start..start + bytes, is_open }
}

/// Whether an option may begin here: after a bracket and a space, as in `… := *r[a] :limit 1`.
fn is_after_rule(text: &str, start: usize) -> bool {
    let before = &text[..start];
    before.ends_with([' ', '\t', '{']) && !before.trim_end().ends_with([',', '(', '['])
}

/// Bytes of the name at the start of the text, which may contain dots.
fn word_bytes(text: &str) -> usize {
    text.find(|c: char| !(c == '.' || is_xid_continue(c))).unwrap_or(text.len())
}

/// Bytes of the name in backquotes at the start of the text, quotes included.
fn quoted_name_bytes(text: &str) -> Option<usize> {
    let end = text.strip_prefix('`')?.find(['`', '\n'])?;
    (end > 0 && text[1 + end..].starts_with('`')).then_some(end + 2)
}

/// The byte after the closing quote of a string.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let found = tokens(text);
        let shown: Vec<String> = found
            .iter()
            .filter(|token| token.kind != Kind::Space)
            .map(|token| format!("{:?}<{}>", token.kind, &text[token.range.clone()]))
            .collect();
        assert_eq!(shown.join(" "), want);
        let all: String = found.iter().map(|token| &text[token.range.clone()]).collect();
        assert_eq!(all, text, "no gaps");
    }

    #[test]
    fn stored_relations_are_told_from_products() {
        check(
            "a * b, *rel.x{a}",
            "Word<a> Sign<*> Word<b> Sign<,> Stored<*rel.x> Sign<{> Word<a> Sign<}>",
        );
    }

    #[test]
    fn options_and_system_ops_are_told_from_columns_and_indexes() {
        check(
            "::columns r\n?[a] := *r{b: a} :limit 10",
            "Option<::columns> Word<r> Sign<?> Sign<[> Word<a> Sign<]> Sign<:> Sign<=> Stored<*r> \
             Sign<{> Word<b> Sign<:> Word<a> Sign<}> Option<:limit> Number<10>",
        );
        check("*r:i", "Stored<*r> Sign<:> Word<i>");
        check(
            "*`a-b`{`c-d`: x, `} * `",
            "Stored<*`a-b`> Sign<{> Word<`c-d`> Sign<:> Word<x> Sign<,> Word<`} * `>",
        );
    }

    /// Vowel signs are not letters, but they are part of a name.
    #[test]
    fn a_name_of_any_script_is_one_piece() {
        check(
            "*हिन्दी{é: $数据}",
            "Stored<*हिन्दी> Sign<{> Word<é> Sign<:> Parameter<$数据> Sign<}>",
        );
    }

    #[test]
    fn texts_and_comments_hide_what_is_in_them() {
        check("'a\\'*b' # *c\n/* $d", "Text<'a\\'*b'> Comment<# *c> Comment</* $d>");
        check("\"öpen *é", "Text<\"öpen *é>");
    }
}
