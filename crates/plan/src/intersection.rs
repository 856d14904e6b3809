//! Finds intersection groups: steps that bind a variable by intersecting several relations.
//!
//! # Why
//! A body such as the triangle `e[a, b], e[b, c], e[a, c]` has more rows after any two of its atoms
//! than at its end. If one step binds a variable and later ones only check whether a row with it
//! exists, the values of the variable are the intersection of sorted lists. It takes as much time
//! as the shortest list (generic join, Ngo, Ré and Rudra, "Skew strikes back", SIGMOD Record 2013;
//! as the intersection of adjacency lists in Mhedhbi and Salihoglu, VLDB 2019). This pass moves
//! such steps next to each other and records their number.

use crate::ids::VarId;
use crate::physical::{OperatorName, Physical};
use crate::pipeline::PlannedStep;
use crate::step::Step;

/// Moves the steps of each intersection group next to each other. `places` is permuted in the same
/// way.
pub(crate) fn find(steps: &mut [PlannedStep], places: &mut [usize]) {
    let mut at = 0;
    while at < steps.len() {
        let Some(var) = binds_one(&steps[at].step).filter(|_| has_trie(&steps[at])) else {
            at += 1;
            continue;
        };
        let bound = bound_before(steps, at);
        let mut together = 0;
        for later in at + 1..steps.len() {
            if has_trie(&steps[later]) && asks_of(&steps[later].step, var, &bound) {
                together += 1;
                steps[at + together..=later].rotate_right(1);
                places[at + together..=later].rotate_right(1);
                // The step now comes before others that filter rows, so its estimate changes.
                steps[at + together].rows = steps[at].rows * crate::cost::GROUP_SHARE;
            }
        }
        steps[at].group_steps = together;
        at += 1 + together;
    }
}

/// Whether the columns of a step may be those of a trie. They are not where a key column is the
/// value at a path.
fn has_trie(planned: &PlannedStep) -> bool {
    planned.operator != Physical::Fixed(OperatorName::IndexJoin)
}

/// The variable of a join with a stored relation that binds exactly one variable and has a bound
/// column.
fn binds_one(step: &Step) -> Option<VarId> {
    match step {
        Step::Stored { outputs, prefix, checks, at: None, negated: false, range: None, .. }
            if !(prefix.is_empty() && checks.is_empty()) =>
        {
            match outputs.as_slice() {
                &[(_, var)] => Some(var),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether a step only checks for a row with `var` and variables among `bound`.
fn asks_of(step: &Step, var: VarId, bound: &[VarId]) -> bool {
    let Step::Stored { outputs, prefix, checks, at: None, negated: false, range: None, .. } = step
    else {
        return false;
    };
    let mut asked = prefix.iter().copied().chain(checks.iter().map(|(_, var)| *var));
    let others = asked.clone().filter(|&one| one != var).count();
    outputs.is_empty()
        && others > 0
        && asked.clone().filter(|&one| one == var).count() == 1
        && asked.all(|one| one == var || bound.contains(&one))
}

/// Variables that are bound before a step.
fn bound_before(steps: &[PlannedStep], at: usize) -> Vec<VarId> {
    let mut bound = Vec::new();
    for planned in &steps[..at] {
        match &planned.step {
            Step::Assign { var, .. } | Step::Member { var, .. } => bound.push(*var),
            Step::Same { a, b, .. } => bound.extend([*a, *b]),
            Step::Derived { outputs, .. } | Step::Stored { outputs, .. } => {
                bound.extend(outputs.iter().map(|(_, var)| *var));
            }
            Step::Search(search) => search.each_bound(&mut |var| bound.push(var)),
            Step::Filter(_) => {}
        }
    }
    bound
}
