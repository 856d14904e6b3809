//! Parses the query language into syntax trees and diagnostics. Performs no I/O.
//!
//! # Invariants
//! 1. Any text results in a tree or at least one diagnostic, in time linear in its length.
//! 2. Every span is inside the text and on character boundaries.
//! 3. Trees are shallow enough for recursive functions.
//!
//! # Floors
//! A module imports only from modules that are named before it (`crates/testkit/tests/floors.rs`).
//!
//! 1. `ast`, `literal`: the tree, and the values of literals.
//! 2. `diagnostic`, `lexer`, `parameters`: errors, tokens, and `$name` in trees.
//! 3. `operator`, `parser`: operators, and the state that all parts of the grammar share.
//! 4. `expression`, `imperative`, `query`, `system`, `types`, `body`, `words`: the grammar.
//! 5. `display`: trees as text.

mod ast;
mod body;
mod diagnostic;
mod display;
mod expression;
mod imperative;
mod lexer;
mod literal;
mod operator;
mod parameters;
mod parser;
mod query;
mod system;
#[cfg(test)]
mod tests;
mod types;
pub mod words;

pub use ast::{
    Args, Atom, Block, Condition, Expr, Formula, HeadItem, Ident, IndexColumn, Mutation,
    MutationOp, Options, Query, Rule, Script, Span, Spec, SpecColumn, Statement, SystemOp,
};
pub use diagnostic::{Diagnostic, closest, line_and_column};
use model::Type;

use lexer::Kind;
use parser::{Parse, Parser};

/// Maximum length of a script in bytes.
pub const SCRIPT_BYTES_MAX: usize = 64 << 20;

/// Parses a script.
///
/// # Errors
/// Up to 20 errors, in the order of the text.
///
/// # Examples
/// ```
/// let Ok(quipu_syntax::Script::Query(query)) = quipu_syntax::parse("?[x] := x in [1, 2] :limit 1")
/// else { panic!() };
/// assert_eq!(query.rules[0].to_string(), "?[x] := x in [1, 2]");
///
/// let text = "?[x] = x in [1, 2]";
/// let mistakes = quipu_syntax::parse(text).unwrap_err();
/// assert_eq!(mistakes[0].hint.as_deref(), Some("did you mean `:=`?"));
/// println!("{}", mistakes[0].render(text));
/// ```
pub fn parse(text: &str) -> Result<Script, Vec<Diagnostic>> {
    read(text, "script", script)
}

/// As [`parse`], but refuses scripts that nest deeper than `levels_max`, for callers with a small
/// stack. Also returns the nesting depth of the script.
///
/// # Errors
/// As [`parse`].
pub fn parse_within(text: &str, levels_max: u32) -> Result<(Script, u32), Vec<Diagnostic>> {
    read_within(text, "script", levels_max, script)
}

fn script(parser: &mut Parser<'_>) -> Parse<Script> {
    match parser.token.kind {
        Kind::ColonColon => parser.system_op().map(Script::System),
        Kind::LeftBrace | Kind::Percent => parser.imperative().map(Script::Imperative),
        _ => parser.query(0).map(Script::Query),
    }
}

/// Whether a script only lacks its end: a bracket, a string, a rule or a statement is still open,
/// or it has rules but no entry rule `?`. An interactive prompt then waits for the next line.
///
/// ```
/// assert!(quipu_syntax::is_unfinished("?[a] := *edge{from: a,"));
/// assert!(quipu_syntax::is_unfinished("far[a] := *edge{from: a}"));
/// assert!(!quipu_syntax::is_unfinished("?[a] := *edge{from: a}"));
/// assert!(!quipu_syntax::is_unfinished("?[a] = *edge{from: a"));
/// ```
#[must_use]
pub fn is_unfinished(text: &str) -> bool {
    if text.len() > SCRIPT_BYTES_MAX {
        return false;
    }
    let mut parser = Parser::new(text);
    match script(&mut parser) {
        Ok(Script::Query(query)) if parser.at(Kind::End) => {
            let is_entry = |rule: &Rule| rule.name().text == "?";
            // An empty body binds no variable of the head.
            let is_bare = |rule: &Rule| matches!(rule, Rule::Inline { body: Formula::And(all), .. } if all.is_empty());
            let rules = &query.rules;
            // A body may end with a comma, but a user who types one wants to continue.
            parser.is_cut_short()
                || parser.before.kind == Kind::Comma
                || rules.last().is_some_and(is_bare)
                || !rules.is_empty() && !rules.iter().any(is_entry)
        }
        _ => parser.is_cut_short(),
    }
}

/// Parses a single expression.
///
/// # Errors
/// Up to 20 errors, in the order of the text.
pub fn parse_expression(text: &str) -> Result<Expr, Vec<Diagnostic>> {
    parse_expression_within(text, u32::MAX)
}

/// As [`parse_expression`], with a lower limit on nesting; see [`parse_within`].
///
/// # Errors
/// As [`parse_expression`].
pub fn parse_expression_within(text: &str, levels_max: u32) -> Result<Expr, Vec<Diagnostic>> {
    read_within(text, "expression", levels_max, |parser| parser.expression()).map(|(tree, _)| tree)
}

/// Parses a type, such as `Int` or `[Float?; 3]`.
///
/// # Errors
/// Up to 20 errors, in the order of the text.
pub fn parse_type(text: &str) -> Result<Type, Vec<Diagnostic>> {
    read(text, "type", |parser| parser.column_type())
}

/// Parses all of `text` with `tree`. `whole` names what the text should be, for messages.
fn read<T>(
    text: &str,
    whole: &str,
    tree: impl FnOnce(&mut Parser<'_>) -> Parse<T>,
) -> Result<T, Vec<Diagnostic>> {
    read_within(text, whole, u32::MAX, tree).map(|(tree, _)| tree)
}

fn read_within<T>(
    text: &str,
    whole: &str,
    levels_max: u32,
    tree: impl FnOnce(&mut Parser<'_>) -> Parse<T>,
) -> Result<(T, u32), Vec<Diagnostic>> {
    if text.len() > SCRIPT_BYTES_MAX {
        let mib = SCRIPT_BYTES_MAX >> 20;
        let message = format!("a script has at most {mib} MiB");
        let hint = Some("give rows as a parameter, or load them in bulk".to_owned());
        return Err(vec![Diagnostic { message, span: Span::default(), hint }]);
    }
    let mut parser = Parser::new(text).within(levels_max);
    let mut result = tree(&mut parser);
    if result.is_ok() && !parser.at(Kind::End) {
        result = Err(parser.unexpected(format_args!("the end of the {whole}")));
    }
    let deepest = parser.deepest();
    parser.finish(result).map(|tree| (tree, deepest))
}
