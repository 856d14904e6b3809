//! Moves conditions on columns of a rule into the rule.
//!
//! # Why
//! `adult[n, a] := *person{name: n, age: a} ?[n] := adult[n, a], a < 20` would compute all of
//! `adult` first. With the condition inside, the rule reads a stretch of an index (pushing
//! selections through views: Selinger et al., SIGMOD 1979; through rules: Ullman, Principles of
//! Database and Knowledge-Base Systems, 1989). Equalities with `=` are magic sets' business.
//!
//! # Invariants
//! 1. Only into a rule that one atom reads, so that nobody misses the rows that are gone.
//! 2. Only as long as bodies have no more than [`LITERALS_MAX`] literals: in a long chain of rules
//!    each condition would move from rule to rule to its end.
//! 3. Only conditions on a column that is not aggregated: a group is there whole or not at all.
//! 4. What fails for some values is tried of no row of which it was not tried before. `==` never
//!    fails. `<` and its kind do where values have no common order, and `starts_with` where one is
//!    no text, so they move only from a body whose one positive atom reads the rule, past nothing
//!    that may keep rows from them, to the end of bodies whose one positive atom binds all that
//!    comes before: the rows of one are then the rows of the other.

use crate::bounds::{comparison, each_conjunct};
use crate::ir::{Expr, LITERALS_MAX, Literal, PredicateKind, Program, Rule, Source, Var};
use crate::resolve::call;
use crate::stratify::components_of;
use syntax::Span;

/// Comparisons that fail for some values: those that have no common order, and what is no text.
const FAILING: &[&str] = &["gt", "ge", "lt", "le", "starts_with"];

/// Moves all that can be moved, from the entry on.
pub(crate) fn push(program: &mut Program) {
    let uses = uses(program);
    let rules_of = program.rules_of();
    let mut readers_first = components_of(program);
    readers_first.reverse();
    for predicate in readers_first.into_iter().flatten() {
        for &number in &rules_of[predicate] {
            push_from(program, number, &uses, &rules_of);
        }
    }
}

/// By how many atoms and algorithms each predicate is read; the entry once more, by whoever asks.
pub(crate) fn uses(program: &Program) -> Vec<usize> {
    let mut uses = vec![0; program.predicates.len()];
    uses[program.entry] += 1;
    let mut note = |source: &Source| {
        if let Source::Derived(read) = *source {
            uses[read] += 1;
        }
    };
    for literal in program.rules.iter().flat_map(|rule| &rule.body) {
        if let Literal::Atom { source, .. } = literal {
            note(source);
        }
    }
    for predicate in &program.predicates {
        if let PredicateKind::Fixed(fixed) = &predicate.kind {
            fixed.inputs.iter().for_each(|input| note(&input.source));
        }
    }
    uses
}

/// A comparison of a column of a rule.
struct Moved {
    to: usize,
    column: usize,
    function: &'static str,
    value: Expr,
    span: Span,
}

/// Moves conditions of one rule into those that it reads.
fn push_from(program: &mut Program, number: usize, uses: &[usize], rules_of: &[Vec<usize>]) {
    let rule = &program.rules[number];
    let mut moved = Vec::new();
    let mut left = Vec::with_capacity(rule.body.len());
    // Whether something before, or a join, may keep rows from what follows.
    let mut is_guarded = !has_one_source(rule);
    for literal in &rule.body {
        let mut all = false;
        match literal {
            Literal::Atom { negated: false, .. } => {}
            Literal::Assign { var, value, .. } if value.is_known() && !is_in_atom(rule, *var) => {}
            Literal::Condition(condition) => {
                all = true;
                each_conjunct(condition, &mut |one| match target(program, rule, one, uses) {
                    Some(one) if !have_room(program, &rules_of[one.to], moved.len()) => {
                        (all, is_guarded) = (false, true);
                    }
                    Some(one) if one.function == "eq" => moved.push(one),
                    Some(one) if !is_guarded && all_have_one_source(program, &rules_of[one.to]) => {
                        moved.push(one);
                    }
                    _ => (all, is_guarded) = (false, true),
                });
            }
            _ => is_guarded = true,
        }
        if !all {
            left.push(literal.clone());
        }
    }
    if moved.is_empty() {
        return;
    }
    program.rules[number].body = left;
    for Moved { to, column, function, value, span } in moved {
        for &number in &rules_of[to] {
            let rule = &mut program.rules[number];
            let args = vec![Expr::Var(rule.head[column]), value.clone()];
            rule.body.push(Literal::Condition(call(function, args, span)));
        }
    }
}

/// Whether one positive atom binds whatever a body's conditions need, in the order in which they
/// are written.
fn has_one_source(rule: &Rule) -> bool {
    let atoms = rule.body.iter().filter(|one| matches!(one, Literal::Atom { negated: false, .. }));
    atoms.count() == 1 && !rule.body.iter().any(|one| matches!(one, Literal::Member { .. }))
}

fn all_have_one_source(program: &Program, rules: &[usize]) -> bool {
    rules.iter().all(|&number| has_one_source(&program.rules[number]))
}

/// Whether rules may take one more condition besides so many that move to them or to others.
fn have_room(program: &Program, rules: &[usize], moving: usize) -> bool {
    moving < LITERALS_MAX
        && rules.iter().all(|&number| program.rules[number].body.len() + moving < LITERALS_MAX)
}

/// Whether a positive atom binds the variable too, so that assigning it keeps rows out.
fn is_in_atom(rule: &Rule, var: Var) -> bool {
    rule.body.iter().any(|literal| match literal {
        Literal::Atom { args, negated: false, .. } => args.contains(&Some(var)),
        _ => false,
    })
}

/// Where a condition may go.
fn target(program: &Program, rule: &Rule, condition: &Expr, uses: &[usize]) -> Option<Moved> {
    let Expr::Call(_, _, span) = condition else { return None };
    let mut vars = Vec::new();
    condition.each_var(&mut |var| vars.push(var));
    let place = |var: Var| {
        let mut atoms = rule.body.iter().filter_map(|literal| match literal {
            Literal::Atom { source: Source::Derived(to), args, negated: false, .. } => {
                let column = args.iter().position(|arg| *arg == Some(var))?;
                let PredicateKind::Inline { aggregates } = &program.predicates[*to].kind else {
                    return None;
                };
                let is_ours = uses[*to] == 1 && *to != rule.predicate;
                (is_ours && aggregates[column].is_none()).then_some((*to, column))
            }
            _ => None,
        });
        atoms.next()
    };
    vars.into_iter().find_map(|var| {
        let (function, value) = comparison(rule, condition, var)?;
        let (to, column) = place(var)?;
        let is_comparison = function == "eq" || FAILING.contains(&function);
        is_comparison.then_some(Moved { to, column, function, value, span: *span })
    })
}
