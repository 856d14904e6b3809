//! Finds constant expressions, so that their errors do not depend on the plan.
//!
//! # Why they are evaluated in advance
//! An expression without variables has one value or always fails. Whether the step that contains it
//! is reached depends on the join order, on the rest of the query and on the rows. Whether a script
//! is valid must not. So all constant expressions are evaluated before the first row is read, even
//! those of rules that nothing reads.

use crate::ids::PerPredicate;
use crate::ir::{Expr, Literal, PredicateKind, Program};
use syntax::Span;

/// An expression without variables.
#[derive(Clone, Debug)]
pub struct Constant {
    /// The expression.
    pub expr: Expr,
    /// The kind of value that is required.
    pub wanted: Wanted,
    /// Position in the script.
    pub span: Span,
}

/// A requirement on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// No requirement.
    Any,
    /// A list, after `in`.
    List,
    /// A boolean, in a condition.
    Bool,
}

/// Functions with short-circuit evaluation: only the first argument is always evaluated.
const LAZY: &[&str] = &["and", "or", "coalesce", "if", "cond"];

/// The constant expressions of all rules. `is_read` says for each predicate whether it is computed
/// anyway.
pub(crate) fn find(program: &Program, is_read: &PerPredicate<bool>) -> Vec<Constant> {
    let mut found = Vec::new();
    for (id, predicate) in program.predicates.enumerate() {
        match &predicate.kind {
            PredicateKind::Constant(data) if !is_read[id] => {
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
                Literal::Search(search) => {
                    for (_, expr, span) in &search.inputs {
                        add(expr, Wanted::Any, *span, &mut found);
                    }
                    if let Some((filter, span)) = &search.filter {
                        add(filter, Wanted::Bool, *span, &mut found);
                    }
                }
                Literal::Atom { at: None, .. } | Literal::Same(..) => {}
            }
        }
    }
    found
}

/// Adds the largest parts of an expression that are constant and can fail.
fn add(expr: &Expr, wanted: Wanted, span: Span, found: &mut Vec<Constant>) {
    match expr {
        Expr::Const(_) | Expr::Param(_) if wanted == Wanted::Any => {}
        // The list is known to be a list, so only its items are checked.
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
