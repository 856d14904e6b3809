//! Finds other orders for a semi-naive round. One may be cheaper once the sizes of the round are
//! known.
//!
//! # Why
//! The order of a round begins with the delta, whose size is unknown when the query is planned. In
//! `pt[y, w] := *load[y, x], pt[x, z], pt[z, w]` a delta `pt[z, w]` of a few rows is best looked up
//! in `pt` and then in `load`. A delta of many rows meets hundreds of rows of `pt` each, most of
//! which `load` drops; then the order that begins with `load` makes a part of the rows. Before each
//! round the executor compares the orders by the sizes of deltas and tables
//! (`exec/src/fixpoint/round_order.rs`).
//!
//! # Invariants
//! 1. Every order evaluates all literals, and its atoms read the same versions. So each finds the
//!    same rows.
//! 2. No order has a cross product.

use crate::finish::finished;
use crate::frontier::Frontier;
use crate::ir::{Literal, Program, Rule};
use crate::orderer::{BEGINNINGS_MAX, Orderer};
use crate::pipeline::PipelinePlan;
use crate::sizes::Sizes;
use crate::step::{Step, Version};

/// Fewest atoms of a body that has other orders. Two atoms are joined by as many rows from either.
const ATOMS_MIN: usize = 3;

/// The orders of a round that begin with another atom than `best`.
pub(crate) fn find(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    version: &dyn Fn(usize) -> Version,
    best: &PipelinePlan,
) -> Vec<PipelinePlan> {
    let atoms = rule.body.iter().enumerate().filter(|(_, literal)| literal.is_positive());
    let atoms: Vec<usize> = atoms.map(|(place, _)| place).collect();
    let is_other = |literal: &Literal| literal.is_random() || matches!(literal, Literal::Search(_));
    if !(ATOMS_MIN..=BEGINNINGS_MAX).contains(&atoms.len()) || rule.body.iter().any(is_other) {
        return Vec::new();
    }
    let mut found: Vec<PipelinePlan> = Vec::new();
    for place in atoms {
        let mut other = Orderer::of_round(rule, sizes, Frontier::new(program, rule));
        if other.run(Some(place), version).is_some() || has_cross_product(&other) {
            continue;
        }
        let other = finished(program, rule, sizes, other);
        if other.places != best.places && found.iter().all(|one| one.places != other.places) {
            found.push(other);
        }
    }
    found
}

/// Whether a join after the first has no bound column.
fn has_cross_product(order: &Orderer<'_>) -> bool {
    let joins = order.steps.iter().filter_map(|planned| match &planned.step {
        Step::Derived { bound, negated: false, .. } => Some(bound.is_empty()),
        Step::Stored { prefix, checks, negated: false, .. } => {
            Some(prefix.is_empty() && checks.is_empty())
        }
        _ => None,
    });
    joins.skip(1).any(|is_unbound| is_unbound)
}
