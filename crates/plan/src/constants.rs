//! What a query computes whatever rows there are.
//!
//! # Why it is listed
//! A part of an expression that has no variable has one value, or none. Whether a step that holds
//! it is ever reached depends on the order of joins, on what else is asked and on the rows. Whether
//! a script is right must not: so all such parts are computed before the first row is read, also
//! those of rules that nothing reads.

use crate::ir::{Expr, Literal, PredicateKind, Program};
use syntax::Span;

/// An expression without variables.
#[derive(Clone, Debug)]
pub struct Constant {
    /// It.
    pub expr: Expr,
    /// What it has to be.
    pub wanted: Wanted,
    /// Where it is written.
    pub span: Span,
}

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Anything.
    Any,
    /// A list, behind `in`.
    List,
    /// A truth value, of a condition.
    Bool,
}

/// Functions that compute an argument but the first only where those before it ask for it.
const LAZY: &[&str] = &["and", "or", "coalesce", "if", "cond"];

/// The constants of all rules; `is_read` says of each predicate whether it is computed in any case.
pub(crate) fn find(program: &Program, is_read: &[bool]) -> Vec<Constant> {
    let mut found = Vec::new();
    for (number, predicate) in program.predicates.iter().enumerate() {
        match &predicate.kind {
            PredicateKind::Constant(data) if !is_read[number] => {
                add(data, Wanted::Any, predicate.span, &mut found);
            }
            PredicateKind::Inline { aggregates } => {
                for used in aggregates.iter().flatten() {
                    used.args.iter().for_each(|arg| add(arg, Wanted::Any, used.span, &mut found));
                }
            }
            PredicateKind::Constant(_) | PredicateKind::Fixed(_) => {}
        }
    }
    for rule in &program.rules {
        for literal in &rule.body {
            let span = literal.span().unwrap_or(rule.span);
            match literal {
                Literal::Condition(expr) => add(expr, Wanted::Bool, span, &mut found),
                Literal::Assign { value, .. } => add(value, Wanted::Any, span, &mut found),
                Literal::Member { list, .. } => add(list, Wanted::List, span, &mut found),
                Literal::Atom { at: Some(at), .. } => add(at, Wanted::Any, span, &mut found),
                Literal::Atom { at: None, .. } | Literal::Same(..) => {}
            }
        }
    }
    found
}

/// Adds the largest parts of an expression that are constant and may fail.
fn add(expr: &Expr, wanted: Wanted, span: Span, found: &mut Vec<Constant>) {
    match expr {
        Expr::Const(_) | Expr::Param(_) if wanted == Wanted::Any => {}
        // The list itself is one, whatever its items are.
        Expr::Call(function, items, _) if function.name == "list" && wanted != Wanted::Bool => {
            items.iter().for_each(|item| add(item, Wanted::Any, span, found));
        }
        known if known.is_known() => found.push(Constant { expr: known.clone(), wanted, span }),
        Expr::Call(function, args, _) => {
            let computed = if LAZY.contains(&function.name) { 1 } else { args.len() };
            args[..computed.min(args.len())]
                .iter()
                .for_each(|arg| add(arg, Wanted::Any, span, found));
        }
        _ => {}
    }
}
