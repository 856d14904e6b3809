//! State of the parser: the current tokens, nesting and errors. Each part of the grammar has its
//! own module, which adds methods to [`Parser`].
//!
//! # Why the error type is empty
//! An error is recorded where it is found; callers only need to abort. Rules and statements catch
//! it and continue with the next one, so several errors can be reported together.
//!
//! # Invariants
//! 1. No token is read more than a fixed number of times, so parsing takes linear time.
//! 2. Recursion goes through [`Parser::nested`] and is at most [`NESTING_MAX`] levels deep.
//! 3. Only [`Parser::report`] creates an [`ErrorReported`].

use std::fmt::Display;

use crate::ast::{Ident, Span};
use crate::diagnostic::{Diagnostic, line_and_column};
use crate::lexer::{Kind, Lexer, Token};

/// Maximum nesting of brackets, blocks and the like.
pub(crate) const NESTING_MAX: u32 = 128;

/// Maximum number of errors that are reported.
const MISTAKES_MAX: usize = 20;

/// Maximum number of tokens to look ahead for the end of a rule's head.
const HEAD_TOKENS_MAX: usize = 256;

/// Maximum number of characters of a token in a message.
const SHOWN_CHARACTERS: usize = 30;

/// An error was recorded; whatever depends on the failed part is abandoned.
#[derive(Debug)]
pub(crate) struct ErrorReported(());

/// Result of parsing a part of the script.
pub(crate) type Parse<T> = Result<T, ErrorReported>;

#[derive(Debug)]
pub(crate) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The current token.
    pub(crate) token: Token,
    /// The next token.
    pub(crate) ahead: Token,
    /// The previous token; an empty one at the start.
    pub(crate) before: Token,
    /// Number of braces that are open.
    pub(crate) braces: u32,
    depth: u32,
    /// Maximum nesting that the caller allows. [`NESTING_MAX`] applies too.
    levels_max: u32,
    /// Deepest nesting so far.
    deepest: u32,
    mistakes: Vec<Diagnostic>,
    /// Whether the first error was found at the end of the text.
    cut_short: bool,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text, 0);
        let token = lexer.next_token();
        let ahead = lexer.next_token();
        let before = Token { kind: Kind::End, span: Span::default(), spaced: false };
        let mistakes = Vec::new();
        Self {
            text,
            lexer,
            token,
            ahead,
            before,
            braces: 0,
            depth: 0,
            levels_max: u32::MAX,
            deepest: 0,
            mistakes,
            cut_short: false,
        }
    }

    /// Returns `result`, or the errors if there are any.
    pub(crate) fn finish<T>(self, result: Parse<T>) -> Result<T, Vec<Diagnostic>> {
        match result {
            Ok(tree) if self.mistakes.is_empty() => Ok(tree),
            _ => Err(self.mistakes),
        }
    }

    /// Whether the first error is that the text ends too early. False without errors.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.cut_short
    }

    // Tokens

    pub(crate) fn bump(&mut self) -> Token {
        match self.token.kind {
            Kind::LeftBrace => self.braces = self.braces.saturating_add(1),
            Kind::RightBrace => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        self.before = self.token;
        self.token = self.ahead;
        self.ahead = self.lexer.next_token();
        self.before
    }

    pub(crate) fn at(&self, kind: Kind) -> bool {
        self.token.kind == kind
    }

    /// Skips the token if it has this kind. Returns whether it did.
    pub(crate) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    pub(crate) fn source(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// The text of a word token; empty for other tokens.
    pub(crate) fn word(&self, token: Token) -> &'a str {
        if token.kind == Kind::Word { self.source(token.span) } else { "" }
    }

    /// Whether the current line contains `sought` before the token.
    pub(crate) fn line_has(&self, sought: &str) -> bool {
        let before = self.text.get(..self.token.span.start as usize).unwrap_or_default();
        before.rsplit('\n').next().is_some_and(|line| line.contains(sought))
    }

    /// Whether the next token follows without white space.
    pub(crate) fn joined(&self) -> bool {
        !self.ahead.spaced
    }

    /// The span from the beginning of `start` to the end of the previous token.
    pub(crate) fn span_from(&self, start: Span) -> Span {
        Span { start: start.start, end: self.before.span.end.max(start.start) }
    }

    /// Removes the first byte of the token: `>=` becomes `=`.
    pub(crate) fn split_token(&mut self) {
        let start = self.token.span.start as usize + 1;
        self.lexer = Lexer::new(self.text, start);
        self.token = self.lexer.next_token();
        self.ahead = self.lexer.next_token();
    }

    // Names

    /// Takes the current token as a name.
    pub(crate) fn take_name(&mut self) -> Ident {
        let token = self.bump();
        Ident { text: self.source(token.span).trim_matches('`').to_owned(), span: token.span }
    }

    /// A name without dots.
    pub(crate) fn plain_name(&mut self, what: &str) -> Parse<Ident> {
        let name = self.any_name(what)?;
        if name.text.contains('.') {
            let message = format!("the name of {what} holds no dot, found `{}`", name.text);
            return Err(self.report(name.span, message, None));
        }
        Ok(name)
    }

    /// A name whose dots, if any, are between words.
    pub(crate) fn dotted_name(&mut self, what: &str) -> Parse<Ident> {
        let is_quoted = self.at(Kind::QuotedName);
        let name = self.any_name(what)?;
        if !is_quoted && name.text.split('.').any(str::is_empty) {
            let message = format!("a dot stands between two words, found `{}`", name.text);
            return Err(self.report(name.span, message, None));
        }
        Ok(name)
    }

    /// A name with dots anywhere, or a name in backquotes.
    pub(crate) fn any_name(&mut self, what: &str) -> Parse<Ident> {
        if self.at(Kind::Word) || self.at(Kind::QuotedName) {
            return Ok(self.take_name());
        }
        Err(self.unexpected(format_args!("the name of {what}")))
    }

    // Nesting

    /// Calls `read` one nesting level deeper.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let levels_max = self.levels_max.min(NESTING_MAX);
        if self.depth >= levels_max {
            return Err(self.too_deep(self.token.span, levels_max));
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Limits nesting to `levels_max`.
    pub(crate) fn within(self, levels_max: u32) -> Self {
        Self { levels_max, ..self }
    }

    /// Deepest nesting so far.
    pub(crate) fn deepest(&self) -> u32 {
        self.deepest
    }

    /// Records the depth of an expression tree that ends at `span`.
    ///
    /// # Errors
    /// The tree is deeper than `levels_max` or than the caller allows.
    pub(crate) fn note_levels(&mut self, levels: u32, levels_max: u32, span: Span) -> Parse<()> {
        let levels_max = self.levels_max.min(levels_max);
        if levels > levels_max {
            return Err(self.too_deep(span, levels_max));
        }
        self.deepest = self.deepest.max(levels);
        Ok(())
    }

    pub(crate) fn too_deep(&mut self, span: Span, levels_max: u32) -> ErrorReported {
        let message = format!("this is nested more than {levels_max} levels deep");
        let hint = "name a part of it: bind it to a variable, or make it a rule";
        let reported = self.report(span, message, Some(hint.to_owned()));
        // The remaining brackets would be reported as further errors.
        self.abandon();
        reported
    }

    /// Items separated by commas up to `close`, with an optional trailing comma. The current token
    /// is the opening bracket. `what` describes the items in messages, as in "the columns of rule
    /// `a`".
    pub(crate) fn items<T>(
        &mut self,
        close: Kind,
        what: &dyn Display,
        mut item: impl FnMut(&mut Self) -> Parse<T>,
    ) -> Parse<Vec<T>> {
        let open = self.bump();
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(Kind::Comma) && !self.at(close) {
                return Err(self.unclosed(open, close, what));
            }
        }
        Ok(items)
    }

    // Errors

    /// Records an error.
    pub(crate) fn report(
        &mut self,
        span: Span,
        message: impl Into<String>,
        hint: Option<String>,
    ) -> ErrorReported {
        let again = self.mistakes.last().is_some_and(|last| last.span.start == span.start);
        if self.mistakes.is_empty() {
            let open = matches!(self.token.kind, Kind::UnclosedText | Kind::UnclosedComment);
            self.cut_short = open || self.at(Kind::End);
        }
        if self.mistakes.len() < MISTAKES_MAX && !again {
            self.mistakes.push(Diagnostic { message: message.into(), span, hint });
        }
        if self.mistakes.len() >= MISTAKES_MAX {
            self.abandon();
        }
        ErrorReported(())
    }

    /// Skips to the end of the text.
    pub(crate) fn abandon(&mut self) {
        self.lexer = Lexer::new(self.text, self.text.len());
        self.token = self.lexer.next_token();
        self.ahead = self.token;
    }

    /// Reports that the current token is not allowed here.
    pub(crate) fn unexpected(&mut self, expected: impl Display) -> ErrorReported {
        self.unexpected_with(expected, None)
    }

    pub(crate) fn unexpected_with(
        &mut self,
        expected: impl Display,
        hint: Option<String>,
    ) -> ErrorReported {
        // At the end of the text, the error is after the last token.
        let span = match self.at(Kind::End) {
            true => Span { start: self.before.span.end, end: self.before.span.end },
            false => self.token.span,
        };
        if let Some((message, own_hint)) = self.broken_token() {
            let first = Span { start: span.start, end: (span.start + 1).min(span.end) };
            let unclosed = matches!(self.token.kind, Kind::UnclosedText | Kind::UnclosedComment);
            return self.report(if unclosed { first } else { span }, message, own_hint);
        }
        let found = self.found();
        self.report(span, format!("expected {expected}, found {found}"), hint)
    }

    /// The message and hint for a token that is invalid anywhere.
    fn broken_token(&self) -> Option<(String, Option<String>)> {
        let source = self.source(self.token.span);
        let (message, hint) = match self.token.kind {
            Kind::UnclosedText => {
                let underscores = source.bytes().take_while(|&byte| byte == b'_').count();
                let quote = source.get(underscores..=underscores).unwrap_or_default();
                let close = format!("{quote}{}", source.get(..underscores).unwrap_or_default());
                ("this text is not closed".to_owned(), format!("it ends with `{close}`"))
            }
            Kind::UnclosedComment => {
                ("this comment is not closed".to_owned(), "each `/*` needs its `*/`".to_owned())
            }
            Kind::BadNumber => {
                let message = format!("the number `{}` holds letters", clipped(source));
                (message, "names do not begin with digits".to_owned())
            }
            Kind::Unknown => {
                let hint = match source {
                    "&" => "`&&` joins conditions, `,` atoms",
                    "“" | "”" | "„" | "‘" | "’" | "`" | "«" | "»" => {
                        "texts stand in `\"…\"` or `'…'`"
                    }
                    "." => "no dot ends a rule; `;` may",
                    "$" => "a parameter is `$` and a name",
                    "←" => "a constant rule is written `name[…] <- […]`",
                    _ if source.chars().all(char::is_whitespace) => {
                        "it looks like a blank; write a plain one"
                    }
                    _ => "",
                };
                (format!("`{source}` means nothing here"), hint.to_owned())
            }
            _ => return None,
        };
        Some((message, Some(hint).filter(|hint| !hint.is_empty())))
    }

    /// The current token as shown in messages.
    fn found(&self) -> String {
        let source = clipped(self.source(self.token.span));
        match self.token.kind {
            Kind::End => "the end of the text".to_owned(),
            Kind::Less if self.arrow().is_some() => {
                let end = self.ahead.span.end;
                format!("`{}`", self.source(Span { end, ..self.token.span }))
            }
            Kind::Colon if self.ahead.kind == Kind::Word && self.joined() => {
                format!("`:{}`", clipped(self.source(self.ahead.span)))
            }
            _ => format!("`{source}`"),
        }
    }

    /// Reports an item in brackets that is followed by neither a comma nor the closing bracket.
    pub(crate) fn unclosed(
        &mut self,
        open: Token,
        close: Kind,
        what: &dyn Display,
    ) -> ErrorReported {
        let close = match close {
            Kind::RightBracket => ']',
            Kind::RightBrace => '}',
            _ => ')',
        };
        let hint = self.hint_in_brackets(open);
        self.unexpected_with(format_args!("`{close}` or `,` after {what}"), hint)
    }

    fn hint_in_brackets(&self, open: Token) -> Option<String> {
        match self.token.kind {
            Kind::Equals => return Some("`==` compares".to_owned()),
            Kind::Word => match self.word(self.token) {
                "or" => return Some("between expressions write `||`".to_owned()),
                "and" => return Some("between expressions write `&&`".to_owned()),
                _ => {}
            },
            _ => {}
        }
        let (line, column) = line_and_column(self.text, open.span.start);
        let open = format!("the `{}` at line {line}, column {column}", self.source(open.span));
        if !self.begins_expression() || self.rule_starts() {
            return Some(format!("{open} is not closed"));
        }
        let between = Span { start: self.before.span.end, end: self.token.span.start };
        if self.source(between).contains('\n') {
            return Some(format!("a `,` may be missing, or {open} is not closed"));
        }
        Some("a `,` may be missing".to_owned())
    }

    /// Whether the token can start an expression.
    pub(crate) fn begins_expression(&self) -> bool {
        matches!(
            self.token.kind,
            Kind::Word
                | Kind::Parameter
                | Kind::Int
                | Kind::Float
                | Kind::Quoted
                | Kind::Raw
                | Kind::LeftBracket
                | Kind::LeftBrace
                | Kind::LeftParen
        )
    }

    // Look-ahead for rules

    /// Recognizes an arrow: `:=`, or the second token of `<-` or `<~`.
    pub(crate) fn arrow(&self) -> Option<Kind> {
        match (self.token.kind, self.ahead.kind) {
            (Kind::Define, _) => Some(Kind::Define),
            (Kind::Less, kind @ (Kind::Minus | Kind::Tilde)) if self.joined() => Some(kind),
            _ => None,
        }
    }

    /// Whether `name[…]` and an arrow follow.
    pub(crate) fn rule_starts(&self) -> bool {
        self.after_head(Kind::LeftBracket, Kind::RightBracket).is_some_and(|(first, second)| {
            let tail = matches!(second.kind, Kind::Minus | Kind::Tilde) && !second.spaced;
            first.kind == Kind::Define || first.kind == Kind::Less && tail
        })
    }

    /// Whether `name[…]` or `name(…)` follows, and then something similar to an arrow.
    pub(crate) fn rule_was_meant(&self) -> bool {
        let (open, close) = match self.ahead.kind {
            Kind::LeftParen => (Kind::LeftParen, Kind::RightParen),
            _ => (Kind::LeftBracket, Kind::RightBracket),
        };
        self.after_head(open, close).is_some_and(|(first, _)| {
            use Kind::{Arrow, Colon, Define, Equals, EqualsEquals, Less, LessEquals, Minus};
            let arrow = [Arrow, Colon, Define, Equals, EqualsEquals, Less, LessEquals, Minus];
            arrow.contains(&first.kind)
        })
    }

    /// The two tokens after `name[…]`. Looks ahead at most [`HEAD_TOKENS_MAX`] tokens.
    fn after_head(&self, open: Kind, close: Kind) -> Option<(Token, Token)> {
        let name = matches!(self.token.kind, Kind::Word | Kind::Question);
        if !name || self.ahead.kind != open {
            return None;
        }
        let mut lexer = self.lexer;
        for _ in 0..HEAD_TOKENS_MAX {
            match lexer.next_token().kind {
                kind if kind == close => return Some((lexer.next_token(), lexer.next_token())),
                Kind::Word | Kind::Comma | Kind::LeftParen | Kind::RightParen => {}
                Kind::Int | Kind::Float | Kind::Quoted | Kind::Raw | Kind::Parameter => {}
                _ => return None,
            }
        }
        None
    }

    /// Whether `:name` follows after white space.
    fn option_starts(&self) -> bool {
        self.at(Kind::Colon) && self.token.spaced && self.ahead.kind == Kind::Word && self.joined()
    }

    /// Continues after an error: skips to the next rule or option, or to the brace that closes the
    /// block if `braces` are open. `start` is the start of the failed part, which is not tried
    /// again.
    pub(crate) fn recover(&mut self, start: u32, braces: u32) {
        if self.token.span.start == start {
            self.skip(braces);
        }
        while !self.at(Kind::End) {
            let closes = self.at(Kind::RightBrace) && braces > 0 && self.braces <= braces;
            if closes || self.rule_starts() || self.option_starts() {
                return;
            }
            self.skip(braces);
        }
    }

    fn skip(&mut self, braces: u32) {
        let closes = self.at(Kind::RightBrace) && braces > 0 && self.braces <= braces;
        if !closes {
            self.bump();
        }
    }
}

/// The start of a token, shortened for a message.
fn clipped(source: &str) -> String {
    let line = source.split('\n').next().unwrap_or_default();
    let short: String = line.chars().take(SHOWN_CHARACTERS).collect();
    if short.len() < source.len() { format!("{short}…") } else { short }
}
