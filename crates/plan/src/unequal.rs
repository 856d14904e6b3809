//! Whether the rows that a rule makes cannot be equal, so that nobody has to look.
//!
//! # How it is told
//! A body makes a row for each choice of one row from each of its atoms, and a row of a relation is told by its key. So if a head's variables
//! determine the keys of all atoms, no two of its rows are equal. What determines what is the closure under functional dependencies (Armstrong,
//! *Dependency structures of data base relationships*, IFIP 1974): a key its values, an expression's variables its value.

use crate::catalog::RelationInfo;
use crate::ir::{Expr, Literal, Program, Rule, Source, Var};

/// Whether no two rows of a rule's head are equal. Where it is not known, it is `false`.
pub(crate) fn are_unequal(program: &Program, rule: &Rule, infos: &[RelationInfo]) -> bool {
    let mut told = vec![false; rule.variables.len()];
    rule.head.iter().for_each(|&var| told[var] = true);
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
