//! Parses full-text queries.
//!
//! ```text
//! query   := group*                              adjacent groups must all match
//! group   := both ("NOT" both)*                  the loosest operator, as in CozoDB
//! both    := either ("AND" either)*
//! either  := item (("OR" | "," | ";") item)*     the tightest
//! item    := "(" query ")" | near | words
//! near    := "NEAR" ["/" number] "(" words* ")"  positions from first to last, 10 by default
//! words   := (word | quoted) ["*"] ["^" number]  a prefix; a boost
//! ```
//! A word ends at white space and at any of `( ) " * ^ , ;`. A quoted text is a phrase, and so is a
//! word that the index splits into several.

use std::fmt;

/// Positions within which `NEAR` finds words, if the query does not say.
const NEAR_DEFAULT: u32 = 10;

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 64;

/// A parsed query.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// Words of the query, not split yet.
    Words(Words),
    /// Words that are near each other.
    Near {
        /// The words.
        items: Vec<Words>,
        /// Positions between the first and the last of them.
        distance: u32,
    },
    /// All must match. An empty list matches nothing.
    And(Vec<Query>),
    /// One must match.
    Or(Vec<Query>),
    /// The first must match, and the second must not.
    Not(Box<Query>, Box<Query>),
}

/// A word or a phrase of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    /// As written, without quotes.
    pub text: String,
    /// Whether words that begin with it match.
    pub is_prefix: bool,
    /// Its scores are multiplied by this.
    pub boost: f64,
}

/// A query that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// Offset of the mistake in the query, in bytes.
    pub at: usize,
    /// The error, in words.
    pub what: String,
    /// What to write instead.
    pub hint: String,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, what, hint } = self;
        write!(f, "{what}, at byte {at} of the query\nhint: {hint}")
    }
}

impl std::error::Error for QueryError {}

/// Parses a query.
///
/// # Errors
/// [`QueryError`] for operators without something to work on, and for quotes and parentheses that
/// are not closed.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let query = parser.groups()?;
    match parser.peek() {
        None => Ok(query),
        Some(_) => Err(parser.error("`)` closes nothing", "quote it to search for it")),
    }
}

struct Parser<'q> {
    text: &'q str,
    at: usize,
    depth: usize,
}

impl<'q> Parser<'q> {
    fn rest(&self) -> &'q str {
        &self.text[self.at..]
    }

    /// The next character after white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
        self.rest().chars().next()
    }

    fn eat(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    /// The plain word that comes next.
    fn next_word(&mut self) -> &'q str {
        self.peek();
        let rest = self.rest();
        &rest[..rest.find(ends_word).unwrap_or(rest.len())]
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let is_next = self.next_word() == word;
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn error(&self, what: impl Into<String>, hint: impl Into<String>) -> QueryError {
        QueryError { at: self.at, what: what.into(), hint: hint.into() }
    }

    /// Groups up to the end or to a closing parenthesis.
    fn groups(&mut self) -> Result<Query, QueryError> {
        let mut groups = Vec::new();
        while self.peek().is_some_and(|c| c != ')') {
            groups.push(self.group()?);
        }
        Ok(single(groups, Query::And))
    }

    fn group(&mut self) -> Result<Query, QueryError> {
        let group = self.both()?;
        let mut unwanted = Vec::new();
        while self.eat_word("NOT") {
            unwanted.push(self.both()?);
        }
        // One level however many there are, so that a long query does not nest deep.
        Ok(match unwanted.is_empty() {
            true => group,
            false => Query::Not(Box::new(group), Box::new(single(unwanted, Query::Or))),
        })
    }

    fn both(&mut self) -> Result<Query, QueryError> {
        let mut all = vec![self.either()?];
        while self.eat_word("AND") {
            if self.next_word() == "NOT" {
                return Err(self.error("`AND NOT` is no operator", "write `a NOT b`"));
            }
            all.push(self.either()?);
        }
        Ok(single(all, Query::And))
    }

    fn either(&mut self) -> Result<Query, QueryError> {
        let mut some = vec![self.item()?];
        while self.eat(',') || self.eat(';') || self.eat_word("OR") {
            some.push(self.item()?);
        }
        Ok(single(some, Query::Or))
    }

    fn item(&mut self) -> Result<Query, QueryError> {
        if self.eat('(') {
            self.depth += 1;
            if self.depth > DEPTH_MAX {
                return Err(self.error("too many nested parentheses", "at most 64 are read"));
            }
            let inner = self.groups()?;
            self.depth -= 1;
            self.close()?;
            return Ok(inner);
        }
        let word = self.next_word();
        let after = self.text[self.at + word.len()..].trim_start();
        if word == "NEAR" && after.starts_with('(') || word.starts_with("NEAR/") {
            return self.near(word);
        }
        self.words().map(Query::Words)
    }

    fn close(&mut self) -> Result<(), QueryError> {
        match self.eat(')') {
            true => Ok(()),
            false => Err(self.error("`(` is not closed", "add `)`, or quote it to search for it")),
        }
    }

    /// `NEAR(…)` or `NEAR/n(…)`; `word` is its first part.
    fn near(&mut self, word: &str) -> Result<Query, QueryError> {
        let distance = match word.strip_prefix("NEAR/") {
            None => NEAR_DEFAULT,
            Some(number) => number.parse().map_err(|_| {
                let hint = "write NEAR/5(one other)";
                self.error(format!("`{word}` has no number of positions"), hint)
            })?,
        };
        self.at += word.len();
        if !self.eat('(') {
            return Err(self.error("`NEAR` needs its words", "write NEAR/5(one other)"));
        }
        let mut items = Vec::new();
        while self.peek().is_some_and(|c| c != ')') {
            items.push(self.words()?);
        }
        self.close()?;
        Ok(Query::Near { items, distance })
    }

    /// A word or a quoted text, with its marks.
    fn words(&mut self) -> Result<Words, QueryError> {
        let start = self.at;
        let text = match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote)?,
            _ => {
                let word = self.next_word();
                if word.is_empty() {
                    return Err(self.nothing());
                }
                if let "AND" | "OR" | "NOT" = word {
                    let what = format!("`{word}` needs something before it");
                    return Err(self.error(what, format!("quote it to search for it: \"{word}\"")));
                }
                self.at += word.len();
                word.to_owned()
            }
        };
        debug_assert!(self.at > start, "a word is read, so parsing ends");
        // Marks follow without white space.
        let is_prefix = self.rest().starts_with('*');
        self.at += usize::from(is_prefix);
        Ok(Words { text, is_prefix, boost: self.boost()? })
    }

    /// The error where a word is missing.
    fn nothing(&mut self) -> QueryError {
        match self.peek() {
            None => self.error("the query ends where a word should be", "add what to search for"),
            Some(c) => {
                let hint = "quote it to search for it, or write a word before it";
                self.error(format!("`{c}` is not a word"), hint)
            }
        }
    }

    /// A quoted text; a backslash takes the next character as it is.
    fn quoted(&mut self, quote: char) -> Result<String, QueryError> {
        let (mut text, mut is_escaped) = (String::new(), false);
        let mut chars = self.rest().char_indices().skip(1);
        for (at, c) in chars.by_ref() {
            match c {
                _ if is_escaped => {
                    text.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                _ if c == quote => {
                    self.at += at + c.len_utf8();
                    return Ok(text);
                }
                _ => text.push(c),
            }
        }
        Err(self.error(format!("{quote} is not closed"), format!("add {quote} after the phrase")))
    }

    /// `^2` or `^0.5`, 1 if there is none.
    fn boost(&mut self) -> Result<f64, QueryError> {
        let Some(rest) = self.rest().strip_prefix('^') else { return Ok(1.0) };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        match rest[..end].parse::<f64>() {
            Ok(boost) if boost.is_finite() => {
                self.at += 1 + end;
                Ok(boost)
            }
            _ => Err(self.error("`^` needs a number", "write fox^2 or fox^0.5")),
        }
    }
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '"' | '*' | '^' | ',' | ';')
}

/// The only one of some queries, or all of them together.
fn single(mut queries: Vec<Query>, all: impl Fn(Vec<Query>) -> Query) -> Query {
    match queries.len() {
        1 => queries.remove(0),
        _ => all(queries),
    }
}
