//! Moves conditions on a rule's columns into the rule (selection pushdown).
//!
//! # Why
//! `adult[n, a] := *person{name: n, age: a} ?[n] := adult[n, a], a < 20` would first compute all of
//! `adult`. With the condition inside, the rule reads only a range of an index (through views:
//! Selinger et al., SIGMOD 1979; through rules: Ullman, Principles of Database and Knowledge-Base
//! Systems, 1989). Equalities with `=` are left to magic sets.
//!
//! # Invariants
//! 1. A condition moves only into a rule with a single reader, so that no other reader misses rows.
//! 2. It moves only while bodies have at most [`LITERALS_MAX`] literals. In a long chain of rules
//!    each condition would move from rule to rule to the end.
//! 3. It moves only to columns without an aggregate: a group is computed completely or not at all.
//! 4. A condition that can fail is not evaluated on additional rows. `==` never fails. `<` and
//!    similar comparisons fail for values without a common order, `starts_with` for values that are
//!    not strings. So these move only from a body whose single positive atom reads the rule, if
//!    nothing before them can filter rows, to the end of bodies with a single positive atom. Both
//!    bodies then have the same rows.

use crate::bounds::{comparison, each_conjunct};
use crate::ids::{PerPredicate, PredicateId, VarId};
use crate::ir::{Expr, LITERALS_MAX, Literal, PredicateKind, Program, Rule, Source};
use crate::resolve::call;
use crate::stratify::components_of;
use syntax::Span;

/// Comparisons that fail for some values: without a common order, or not a string.
const FAILING: &[&str] = &["gt", "ge", "lt", "le", "starts_with"];

/// Moves all conditions that can move, from the entry to the rules that it depends on.
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

/// For each predicate, the number of atoms and algorithms that read it. The entry counts one more
/// reader, the result.
pub(crate) fn uses(program: &Program) -> PerPredicate<usize> {
    let mut uses = PerPredicate::filled(0, program.predicates.len());
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

/// A condition on a column of another rule.
struct Moved {
    to: PredicateId,
    column: usize,
    function: &'static str,
    value: Expr,
    span: Span,
}

/// Moves conditions of a rule into the rules that it reads.
fn push_from(
    program: &mut Program,
    number: usize,
    uses: &PerPredicate<usize>,
    rules_of: &PerPredicate<Vec<usize>>,
) {
    let rule = &program.rules[number];
    let mut moved = Vec::new();
    let mut left = Vec::with_capacity(rule.body.len());
    // Whether a join or an earlier literal may filter the rows that later literals see.
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

/// Whether the body has a single positive atom and no list members.
fn has_one_source(rule: &Rule) -> bool {
    let atoms = rule.body.iter().filter(|one| matches!(one, Literal::Atom { negated: false, .. }));
    let makes_rows = |one: &Literal| matches!(one, Literal::Member { .. } | Literal::Search(_));
    atoms.count() == 1 && !rule.body.iter().any(makes_rows)
}

fn all_have_one_source(program: &Program, rules: &[usize]) -> bool {
    rules.iter().all(|&number| has_one_source(&program.rules[number]))
}

/// Whether the rules can take another condition, if `moving` conditions are already moving.
fn have_room(program: &Program, rules: &[usize], moving: usize) -> bool {
    moving < LITERALS_MAX
        && rules.iter().all(|&number| program.rules[number].body.len() + moving < LITERALS_MAX)
}

/// Whether a positive atom also binds the variable, so that assigning it filters rows.
fn is_in_atom(rule: &Rule, var: VarId) -> bool {
    rule.body.iter().any(|literal| match literal {
        Literal::Atom { args, negated: false, .. } => args.contains(&Some(var)),
        _ => false,
    })
}

/// The rule and column to which a condition can move.
fn target(
    program: &Program,
    rule: &Rule,
    condition: &Expr,
    uses: &PerPredicate<usize>,
) -> Option<Moved> {
    let Expr::Call(_, _, span) = condition else { return None };
    let mut vars = Vec::new();
    condition.each_var(&mut |var| vars.push(var));
    let place = |var: VarId| {
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
