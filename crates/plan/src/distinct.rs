//! Proves that the rows of a rule are distinct, and finds variables that need no comparison.
//!
//! # How it is proved
//! A body has a row for each combination of rows of its atoms, and a key identifies a row of a
//! relation. So if the head variables determine the keys of all atoms, no two head rows are equal.
//! The determined variables are the closure under functional dependencies (Armstrong, *Dependency
//! structures of data base relationships*, IFIP 1974): a key determines its values, and the
//! variables of an expression determine its value.

use crate::catalog::RelationInfo;
use crate::ids::{PerStored, PerVar, StoredId, VarId};
use crate::ir::{Expr, Literal, Program, Rule, Source};

/// The smallest number of leading head columns that form a unique key; `None` if rows may be equal.
pub(crate) fn columns(
    program: &Program,
    rule: &Rule,
    infos: &PerStored<RelationInfo>,
) -> Option<usize> {
    // A linear search: the first or second column is usually enough, so a binary search would be
    // slower.
    let all = rule.head.len();
    if !are_distinct(program, rule, &rule.head, infos) {
        return None;
    }
    (0..all).find(|&few| are_distinct(program, rule, &rule.head[..few], infos)).or(Some(all))
}

/// Head variables after the unique key that occur only once in the body. Their values are never
/// compared.
pub(crate) fn not_compared(rule: &Rule, distinct_keys: Option<usize>) -> Vec<VarId> {
    let Some(first) = distinct_keys else { return Vec::new() };
    let mut uses = PerVar::filled(0, rule.variables.len());
    rule.body.iter().for_each(|literal| literal.each_var(&mut |var| uses[var] += 1));
    let is_loose = |var: &&VarId| uses[**var] == 1 && !rule.head[..first].contains(var);
    let mut not_compared: Vec<VarId> =
        rule.head[first..].iter().filter(is_loose).copied().collect();
    not_compared.sort_unstable();
    not_compared.dedup();
    not_compared
}

/// Whether rows are provably distinct in these variables. False if unknown.
pub(crate) fn are_distinct(
    program: &Program,
    rule: &Rule,
    head: &[VarId],
    infos: &PerStored<RelationInfo>,
) -> bool {
    let told = determined(program, rule, head, infos);
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
        // A list may contain an item twice, and a search may bind no key.
        Literal::Member { .. } | Literal::Search(_) => false,
    })
}

/// For each variable, whether those of `head` determine it, as far as is known.
fn determined(
    program: &Program,
    rule: &Rule,
    head: &[VarId],
    infos: &PerStored<RelationInfo>,
) -> PerVar<bool> {
    let mut told = PerVar::filled(false, rule.variables.len());
    head.iter().for_each(|&var| told[var] = true);
    let is_spelling = |stored: StoredId| {
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
                    // Each string has one id.
                    let is_spelled =
                        is_spelling(*stored) && args.iter().flatten().any(|&var| told[var]);
                    if is_found || is_spelled {
                        args.iter().flatten().for_each(|&var| told[var] = true);
                    }
                }
                Literal::Atom { .. }
                | Literal::Condition(_)
                | Literal::Member { .. }
                | Literal::Search(_) => {}
            }
        }
        if told.iter().filter(|&&told| told).count() == before {
            return told;
        }
    }
}

/// Whether all of these columns have determined variables.
fn all_told(args: &[Option<VarId>], told: &PerVar<bool>) -> bool {
    args.iter().all(|var| var.is_some_and(|var| told[var]))
}

/// Whether the expression is a function of its variables.
fn is_function(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) | Expr::Param(_) | Expr::Var(_) => true,
        Expr::Call(function, args, _) => function.deterministic && args.iter().all(is_function),
    }
}
