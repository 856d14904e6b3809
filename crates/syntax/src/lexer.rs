//! Splits a script into tokens, one at a time.
//!
//! # Why there is no list of tokens
//! A script may have 64 MiB of constant rows. A list of its tokens would use more memory than its
//! tree.
//!
//! # Invariants
//! 1. Tokens are in the order of the text and do not overlap. Each ends at a character boundary.
//! 2. Every call except at the end advances, so a text has at most as many tokens as bytes.

use unicode_ident::{is_xid_continue, is_xid_start};

use crate::ast::Span;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    /// A name or keyword, which may contain dots.
    Word,
    /// A name in backquotes. It may contain anything but backquotes and line breaks.
    QuotedName,
    /// `$name`
    Parameter,
    Int,
    Float,
    /// A number directly followed by letters.
    BadNumber,
    /// `"…"` or `'…'`
    Quoted,
    /// `_"…"_`
    Raw,
    UnclosedText,
    UnclosedComment,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Comma,
    Semicolon,
    Colon,
    ColonColon,
    Question,
    At,
    Bar,
    /// `=`
    Equals,
    /// `=>`
    FatArrow,
    /// `:=`
    Define,
    /// `->`
    Arrow,
    OrOr,
    AndAnd,
    EqualsEquals,
    NotEquals,
    GreaterEquals,
    LessEquals,
    Greater,
    Less,
    Plus,
    PlusPlus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    /// A character that cannot start a token.
    Unknown,
}

/// A token with its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Whether white space or a comment precedes it.
    pub(crate) spaced: bool,
}

/// A position in a text, from which tokens are read. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at byte `at`, which must be a character boundary. The text must be shorter than 4
    /// GiB.
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        // Some editors start UTF-8 files with a byte order mark.
        let mark = if at == 0 && text.starts_with('\u{feff}') { 3 } else { 0 };
        Self { text, at: at + mark }
    }

    pub(crate) fn next_token(&mut self) -> Token {
        let from = self.at;
        let unclosed = self.skip_space();
        let start = self.at;
        let kind = match unclosed {
            Some(comment) => {
                self.at = self.text.len();
                return self.token(Kind::UnclosedComment, comment, true);
            }
            None => self.scan(),
        };
        self.token(kind, start, start > from)
    }

    fn token(&self, kind: Kind, start: usize, spaced: bool) -> Token {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Token { kind, span: Span { start: offset(start), end: offset(self.at) }, spaced }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at.saturating_add(ahead)).copied().unwrap_or(0)
    }

    /// Skips characters as long as `holds` returns true.
    fn skip_while(&mut self, holds: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !holds(c)).unwrap_or(rest.len());
    }

    /// Skips white space and comments. Returns the start of a comment that is not closed.
    fn skip_space(&mut self) -> Option<usize> {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => self.skip_while(|c| c != '\n'),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.at;
                    if !self.skip_comment() {
                        return Some(start);
                    }
                }
                _ => return None,
            }
        }
    }

    /// Skips a comment, which may contain others. Returns whether it is closed.
    fn skip_comment(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        let mut open = 0_u32;
        while let Some(pair) = bytes.get(self.at..self.at + 2) {
            match pair {
                b"/*" => open += 1,
                b"*/" => open -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if open == 0 {
                return true;
            }
        }
        false
    }

    fn scan(&mut self) -> Kind {
        let Some(first) = self.rest().chars().next() else { return Kind::End };
        match first {
            '"' | '\'' => return self.quoted(first),
            '0'..='9' => return self.number(),
            '`' => return self.quoted_name(),
            '$' => {
                self.at += 1;
                let start = self.at;
                self.skip_while(|c| is_xid_continue(c) || c == '.');
                return if self.at > start { Kind::Parameter } else { Kind::Unknown };
            }
            _ if first == '_' || is_xid_start(first) => return self.word(),
            _ => {}
        }
        let (kind, len) = symbol(first, self.byte(1));
        self.at += len;
        kind
    }

    /// A name, or a raw string such as `__"…"__`.
    fn word(&mut self) -> Kind {
        let rest = self.rest();
        let underscores = rest.bytes().take_while(|&b| b == b'_').count();
        if underscores > 0 && rest.as_bytes().get(underscores) == Some(&b'"') {
            return self.raw(underscores);
        }
        self.skip_while(|c| is_xid_continue(c) || c == '.');
        Kind::Word
    }

    fn raw(&mut self, underscores: usize) -> Kind {
        let body = self.rest().get(underscores + 1..).unwrap_or_default();
        // Each run of underscores after a quote is counted once, so this is linear.
        let (mut run, mut after_quote) = (0, false);
        for (at, byte) in body.bytes().enumerate() {
            match byte {
                b'"' => (run, after_quote) = (0, true),
                b'_' if after_quote => run += 1,
                _ => after_quote = false,
            }
            if after_quote && run == underscores {
                self.at += underscores + 1 + at + 1;
                return Kind::Raw;
            }
        }
        self.at = self.text.len();
        Kind::UnclosedText
    }

    fn quoted_name(&mut self) -> Kind {
        self.at += 1;
        let end = self.rest().find(['`', '\n']).filter(|&end| end > 0);
        match end {
            Some(end) if self.byte(end) == b'`' => {
                self.at += end + 1;
                Kind::QuotedName
            }
            _ => Kind::Unknown,
        }
    }

    fn quoted(&mut self, quote: char) -> Kind {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            match bytes.get(at) {
                None => {
                    self.at = self.text.len();
                    return Kind::UnclosedText;
                }
                // An escaped character may be longer than a byte, but its other bytes are never
                // quotes.
                Some(b'\\') => at += 2,
                Some(&byte) if char::from(byte) == quote => {
                    self.at = at + 1;
                    return Kind::Quoted;
                }
                Some(_) => at += 1,
            }
        }
    }

    fn number(&mut self) -> Kind {
        let mut kind = Kind::Int;
        let digit = |c: char| c == '_' || c.is_ascii_digit();
        match (self.byte(0), self.byte(1)) {
            (b'0', b'x' | b'o' | b'b') if self.byte(2).is_ascii_hexdigit() => {
                self.at += 2;
                self.skip_while(|c| c == '_' || c.is_ascii_hexdigit());
            }
            _ => {
                self.skip_while(digit);
                if self.byte(0) == b'.' {
                    kind = Kind::Float;
                    self.at += 1;
                    self.skip_while(digit);
                }
                let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
                let exponent = char::from(self.byte(1 + sign));
                if matches!(self.byte(0), b'e' | b'E') && digit(exponent) {
                    kind = Kind::Float;
                    self.at += 1 + sign;
                    self.skip_while(digit);
                }
            }
        }
        let start = self.at;
        self.skip_while(is_xid_continue);
        if self.at > start { Kind::BadNumber } else { kind }
    }
}

/// The token of one or two characters, and its length.
fn symbol(first: char, second: u8) -> (Kind, usize) {
    match (first, second) {
        (':', b'=') => (Kind::Define, 2),
        (':', b':') => (Kind::ColonColon, 2),
        ('=', b'>') => (Kind::FatArrow, 2),
        ('=', b'=') => (Kind::EqualsEquals, 2),
        ('!', b'=') => (Kind::NotEquals, 2),
        ('>', b'=') => (Kind::GreaterEquals, 2),
        ('<', b'=') => (Kind::LessEquals, 2),
        ('-', b'>') => (Kind::Arrow, 2),
        ('+', b'+') => (Kind::PlusPlus, 2),
        ('|', b'|') => (Kind::OrOr, 2),
        ('&', b'&') => (Kind::AndAnd, 2),
        ('[', _) => (Kind::LeftBracket, 1),
        (']', _) => (Kind::RightBracket, 1),
        ('{', _) => (Kind::LeftBrace, 1),
        ('}', _) => (Kind::RightBrace, 1),
        ('(', _) => (Kind::LeftParen, 1),
        (')', _) => (Kind::RightParen, 1),
        (',', _) => (Kind::Comma, 1),
        (';', _) => (Kind::Semicolon, 1),
        (':', _) => (Kind::Colon, 1),
        ('?', _) => (Kind::Question, 1),
        ('@', _) => (Kind::At, 1),
        ('|', _) => (Kind::Bar, 1),
        ('=', _) => (Kind::Equals, 1),
        ('>', _) => (Kind::Greater, 1),
        // `<-` and `<~` are two tokens, because `x <-1` is a comparison.
        ('<', _) => (Kind::Less, 1),
        ('+', _) => (Kind::Plus, 1),
        ('-', _) => (Kind::Minus, 1),
        ('*', _) => (Kind::Star, 1),
        ('/', _) => (Kind::Slash, 1),
        ('%', _) => (Kind::Percent, 1),
        ('^', _) => (Kind::Caret, 1),
        ('~', _) => (Kind::Tilde, 1),
        ('!', _) => (Kind::Bang, 1),
        _ => (Kind::Unknown, first.len_utf8()),
    }
}
