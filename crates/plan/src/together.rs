//! Which atoms bind a variable together.
//!
//! # Why
//! A body like a triangle, `e[a, b], e[b, c], e[a, c]`, has more rows after any two of its atoms
//! than at its end. Where a step binds one variable and later ones only ask whether a row with it
//! is there, the variable's values are what all of them have: lists that are walked together, in
//! the time that the shortest takes (generic join, Ngo, Ré and Rudra, "Skew strikes back", SIGMOD
//! Record 2013; as the intersection of adjacency lists in Mhedhbi and Salihoglu, VLDB 2019). This
//! pass moves such steps next to each other and says how many they are.

use crate::ir::Var;
use crate::order::{Planned, Step};

/// Moves steps that can be answered together next to each other; `places` moves along.
pub(crate) fn find(steps: &mut [Planned], places: &mut [usize]) {
    let mut at = 0;
    while at < steps.len() {
        let Some(var) = binds_one(&steps[at].step) else {
            at += 1;
            continue;
        };
        let bound = bound_before(steps, at);
        let mut together = 0;
        for later in at + 1..steps.len() {
            if asks_of(&steps[later].step, var, &bound) {
                together += 1;
                steps[at + together..=later].rotate_right(1);
                places[at + together..=later].rotate_right(1);
                // It comes before what was to thin the rows out.
                steps[at + together].rows = steps[at].rows * 0.5;
            }
        }
        steps[at].together = together;
        at += 1 + together;
    }
}

/// The only variable that a join with a stored relation binds, from something that is bound.
fn binds_one(step: &Step) -> Option<Var> {
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

/// Whether a step asks if a row with this variable and some of those `bound` is there.
fn asks_of(step: &Step, var: Var, bound: &[Var]) -> bool {
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
fn bound_before(steps: &[Planned], at: usize) -> Vec<Var> {
    let mut bound = Vec::new();
    for planned in &steps[..at] {
        match &planned.step {
            Step::Assign { var, .. } | Step::Member { var, .. } => bound.push(*var),
            Step::Same { a, b, .. } => bound.extend([*a, *b]),
            Step::Derived { outputs, .. } | Step::Stored { outputs, .. } => {
                bound.extend(outputs.iter().map(|(_, var)| *var));
            }
            Step::Filter(_) => {}
        }
    }
    bound
}
