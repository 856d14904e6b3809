//! Whether the rows that a rule makes cannot be equal, so that nobody has to look, and which of its
//! variables nobody compares.
//!
//! # How it is told
//! A body makes a row for each choice of one row from each of its atoms, and a row of a relation is
//! told by its key. So if a head's variables determine the keys of all atoms, no two of its rows
//! are equal. What determines what is the closure under functional dependencies (Armstrong,
//! *Dependency structures of data base relationships*, IFIP 1974): a key its values, an
//! expression's variables its value.

use crate::catalog::RelationInfo;
use crate::ir::{Expr, Literal, Program, Rule, Source, Var};

/// How many of the first columns of a rule's head tell all its rows apart, the fewest; `None` where
/// rows may be equal.
pub(crate) fn columns(program: &Program, rule: &Rule, infos: &[RelationInfo]) -> Option<usize> {
    // A search by halves would be one for what is mostly there at the first or the second.
    let all = rule.head.len();
    if !are_unequal(program, rule, &rule.head, infos) {
        return None;
    }
    (0..all).find(|&few| are_unequal(program, rule, &rule.head[..few], infos)).or(Some(all))
}

/// Variables that one place of the body binds and nothing but the head asks for, behind the columns
/// that tell its rows apart: their values are never compared with any.
pub(crate) fn loose(rule: &Rule, unequal: Option<usize>) -> Vec<Var> {
    let Some(first) = unequal else { return Vec::new() };
    let mut uses = vec![0; rule.variables.len()];
    rule.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
    let is_loose = |var: &&Var| uses[**var] == 1 && !rule.head[..first].contains(var);
    let mut loose: Vec<Var> = rule.head[first..].iter().filter(is_loose).copied().collect();
    loose.sort_unstable();
    loose.dedup();
    loose
}

/// Whether no two rows that these variables are taken of are equal in them. Where it is not known,
/// it is `false`.
pub(crate) fn are_unequal(
    program: &Program,
    rule: &Rule,
    head: &[Var],
    infos: &[RelationInfo],
) -> bool {
    let mut told = vec![false; rule.variables.len()];
    head.iter().for_each(|&var| told[var] = true);
    let is_spelling = |stored: usize| {
        let name = &program.stored[stored].name;
        infos.iter().filter_map(|info| info.spelled.as_ref()).any(|one| one.names == *name)
    };
    loop {
        let before = told.iter().filter(|&&told| told).count();
        for literal in &rule.body {
            match literal {
                Literal::Same(a, b) => {
                    let both = told[*a] || told[*b];
                    (told[*a], told[*b]) = (both, both);
                }
                Literal::Assign { var, value, .. } => {
                    told[*var] |= value.is_bound(&told) && is_function(value);
                }
                Literal::Atom {
                    source: Source::Stored(stored), args, negated: false, at, ..
                } => {
                    let keys = &args[..infos[*stored].keys];
                    let is_found = at.is_none() && all_told(keys, &told);
                    // Each text has one number.
                    let is_spelled =
                        is_spelling(*stored) && args.iter().flatten().any(|&var| told[var]);
                    if is_found || is_spelled {
                        args.iter().flatten().for_each(|&var| told[var] = true);
                    }
                }
                Literal::Atom { .. } | Literal::Condition(_) | Literal::Member { .. } => {}
            }
        }
        if told.iter().filter(|&&told| told).count() == before {
            break;
        }
    }
    rule.body.iter().all(|literal| match literal {
        Literal::Atom { negated: true, .. }
        | Literal::Condition(_)
        | Literal::Assign { .. }
        | Literal::Same(..) => true,
        Literal::Atom { source, args, at, .. } => {
            let keys = match source {
                Source::Stored(stored) => infos[*stored].keys,
                Source::Derived(_) => args.len(),
            };
            at.is_none() && all_told(&args[..keys], &told)
        }
        // An item may be in its list twice.
        Literal::Member { .. } => false,
    })
}

/// Whether there is a variable in each of these places, and all are told.
fn all_told(args: &[Option<Var>], told: &[bool]) -> bool {
    args.iter().all(|var| var.is_some_and(|var| told[var]))
}

/// Whether its value is the same wherever its variables are.
fn is_function(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) => true,
        Expr::Call(function, args, _) => function.deterministic && args.iter().all(is_function),
    }
}
