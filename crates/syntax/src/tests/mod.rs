//! Tests of parsed trees, of error messages, and of properties of any text.

mod any_text;
mod mistakes;
mod trees;

use std::fmt::Debug;

use crate::{Condition, Query, Script, Statement, SystemOp, ast::Block};

/// Valid scripts, separated by lines `---`.
const SCRIPTS: &str = include_str!("scripts.txt");

fn scripts() -> impl Iterator<Item = &'static str> {
    SCRIPTS.trim_end().split("\n---\n")
}

/// The debug format of a tree, without spans and with names shortened to their text.
fn shape(tree: &impl Debug) -> String {
    let debug = format!("{tree:?}");
    let mut shape = String::new();
    for (i, part) in debug.split("Span {").enumerate() {
        let part = if i > 0 { part.split_once('}').unwrap().1 } else { part };
        shape.push_str(part);
        shape.truncate(shape.strip_suffix("span: ").unwrap_or(&shape).trim_end_matches(", ").len());
    }
    shape.replace("Ident { text: ", "").replace("\" }", "\"")
}

/// All spans in a tree.
fn spans(tree: &impl Debug) -> Vec<(usize, usize)> {
    let debug = format!("{tree:?}");
    let number = |text: &str, name: &str| -> usize {
        let after = text.split_once(name).unwrap().1;
        after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    };
    let spans = debug.split("Span {").skip(1);
    spans.map(|text| (number(text, "start: "), number(text, "end: "))).collect()
}

/// All queries in a script.
fn queries(script: &Script) -> Vec<&Query> {
    match script {
        Script::Query(query) => vec![query],
        Script::System(SystemOp::Explain(query) | SystemOp::Analyze(query)) => vec![query],
        Script::System(_) => vec![],
        Script::Imperative(statements) => statements.iter().flat_map(of_statement).collect(),
    }
}

fn of_statement(statement: &Statement) -> Vec<&Query> {
    fn of_condition(condition: &Condition) -> Option<&Query> {
        match condition {
            Condition::Query(query) => Some(query),
            Condition::Relation(_) => None,
        }
    }
    match statement {
        Statement::Run(Block::Query(query), _) | Statement::IgnoreError(Block::Query(query), _) => {
            vec![query]
        }
        Statement::If { condition, then, otherwise, .. } => {
            let inside = then.iter().chain(otherwise).flat_map(of_statement);
            of_condition(condition).into_iter().chain(inside).collect()
        }
        Statement::Loop { body, .. } => body.iter().flat_map(of_statement).collect(),
        Statement::Return(returned, _) => returned.iter().filter_map(of_condition).collect(),
        _ => vec![],
    }
}
