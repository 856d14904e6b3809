//! Finds the live variables after each step of a body, and decides where duplicates are removed.
//!
//! # Why
//! When variables are no longer live, rows that differed only in them become equal and can be
//! merged. A rule that is a set loses nothing; a rule that counts keeps a multiplicity for each
//! row. So counting the paths along a chain of joins costs as much as the frontiers of the joins,
//! not as the paths. This is variable elimination (Dechter, Artificial Intelligence 1999; for
//! aggregates over joins Abo Khamis, Ngo and Rudra, "FAQ", PODS 2016).

use crate::catalog::RelationInfo;
use crate::duplicates::{Duplicates, asked_by_head};
use crate::ids::{PerStored, PerVar, VarId};
use crate::ir::{Expr, Program, Rule};
use crate::pipeline::PlannedStep;
use crate::step::Step;

/// Sets the live variables of each step, and the steps at which duplicates are removed.
pub(crate) fn find(
    program: &Program,
    rule: &Rule,
    infos: &PerStored<RelationInfo>,
    duplicates: Duplicates,
    steps: &mut [PlannedStep],
) {
    note_needed(program, rule, duplicates, steps);
    keep_bound(program, rule, infos, steps);
}

/// From the last step to the first: the variables that later steps and the head need, and the joins
/// before other joins, where duplicates may be removed.
fn note_needed(program: &Program, rule: &Rule, duplicates: Duplicates, steps: &mut [PlannedStep]) {
    let mut needed = asked_by_head(program, rule);
    let mut joins_follow = false;
    for planned in steps.iter_mut().rev() {
        planned.live = needed.which(|needed| *needed).collect();
        let is_join = matches!(
            planned.step,
            Step::Derived { negated: false, .. } | Step::Stored { negated: false, .. }
        );
        planned.distinct = is_join && joins_follow && duplicates != Duplicates::Keep;
        joins_follow |= is_join;
        // Outputs that are not live are not produced.
        if let Step::Derived { outputs, .. } | Step::Stored { outputs, .. } = &mut planned.step {
            outputs.retain(|(_, var)| needed[*var]);
        }
        // A random value must be drawn for each row, so rows before it are not merged.
        if planned.step.expr().is_some_and(Expr::is_random) {
            needed.iter_mut().for_each(|needed| *needed = true);
        }
        each_read(&planned.step, &mut |var| needed[var] = true);
    }
}

/// Calls `read` with each variable whose value a step reads.
fn each_read(step: &Step, read: &mut dyn FnMut(VarId)) {
    match step {
        Step::Assign { var, value: expr, compare } | Step::Member { var, list: expr, compare } => {
            expr.each_var(read);
            if *compare {
                read(*var);
            }
        }
        Step::Filter(expr) => expr.each_var(read),
        Step::Same { a, b, compare } => {
            read(*a);
            if *compare {
                read(*b);
            }
        }
        Step::Derived { bound, .. } => bound.iter().for_each(|(_, var)| read(*var)),
        Step::Stored { prefix, checks, at, .. } => {
            prefix.iter().for_each(|&var| read(var));
            checks.iter().for_each(|(_, var)| read(*var));
            at.iter().for_each(|at| at.each_var(read));
        }
        Step::Search(search) => search.each_read(read),
    }
}

/// Sets the bits of the variables that a step binds. A variable that is assigned the same value in
/// all rows is also noted in `constant`.
fn note_bound(step: &Step, bound: &mut PerVar<bool>, constant: &mut PerVar<bool>) {
    match step {
        Step::Assign { var, value, .. } => {
            constant[*var] |= !bound[*var] && is_constant(value);
            bound[*var] = true;
        }
        Step::Member { var, .. } => bound[*var] = true,
        Step::Same { b, .. } => bound[*b] = true,
        Step::Derived { outputs, .. } | Step::Stored { outputs, .. } => {
            outputs.iter().for_each(|(_, var)| bound[*var] = true);
        }
        Step::Search(search) => search.each_bound(&mut |var| bound[var] = true),
        Step::Filter(_) => {}
    }
}

/// From the first step to the last: only bound variables are live, and duplicates are removed where
/// there may be some.
fn keep_bound(
    program: &Program,
    rule: &Rule,
    infos: &PerStored<RelationInfo>,
    steps: &mut [PlannedStep],
) {
    let mut bound = PerVar::filled(false, rule.variables.len());
    // Constant in all rows: dropping such a variable makes no rows equal.
    let mut constant = PerVar::filled(false, rule.variables.len());
    let (mut before, mut constants_before) = (0, 0);
    let mut passes_over = false;
    for planned in steps {
        note_bound(&planned.step, &mut bound, &mut constant);
        // A join without outputs only checks for a match, or counts matches.
        let binds = matches!(
            &planned.step,
            Step::Derived { outputs, .. } | Step::Stored { outputs, .. } if !outputs.is_empty()
        );
        let leaves_out = leaves_keys_out(&planned.step, program, infos);
        passes_over |= leaves_out;
        planned.may_duplicate = binds && leaves_out;
        planned.live.retain(|&var| bound[var]);
        let count = |of: &dyn Fn(VarId) -> bool| bound.ids().filter(|&var| of(var)).count();
        let constants = planned.live.iter().filter(|&&var| constant[var]).count();
        let varies = planned.live.len() - constants;
        // If no variable with different values was dropped, distinct input rows stay distinct.
        let dropped = varies < count(&|var| bound[var] && !constant[var]) || before > varies;
        let dropped_constant =
            constants < count(&|var| constant[var]) || constants_before > constants;
        planned.distinct &= dropped || planned.may_duplicate || passes_over && dropped_constant;
        (before, constants_before) = (varies, constants);
    }
}

/// Whether a join may find several rows that differ only in columns it does not use.
fn leaves_keys_out(step: &Step, program: &Program, infos: &PerStored<RelationInfo>) -> bool {
    let (keys, asked): (usize, Vec<usize>) = match step {
        Step::Stored { stored, path, prefix, checks, outputs, negated: false, .. } => {
            let info = &infos[*stored];
            let begin = info.paths[*path].keys[..prefix.len()].iter().copied();
            let others = checks.iter().chain(outputs).map(|(column, _)| *column);
            (info.keys, begin.chain(others).collect())
        }
        Step::Derived { predicate, bound, outputs, negated: false, .. } => {
            let columns = program.predicates[*predicate].columns.len();
            (columns, bound.iter().chain(outputs).map(|(column, _)| *column).collect())
        }
        _ => return false,
    };
    (0..keys).any(|column| !asked.contains(&column))
}

/// Whether an expression has the same value for all rows.
fn is_constant(expr: &Expr) -> bool {
    let mut is_constant = !expr.is_random();
    expr.each_var(&mut |_| is_constant = false);
    is_constant
}
