//! Chooses the order in which a body's literals are evaluated, and an operator for each.
//!
//! # How the order is found
//! A greedy search (`orderer.rs`) starts from each atom, and the cheapest result is chosen. An
//! exhaustive search (Selinger et al., SIGMOD 1979) would gain less than the estimates are wrong
//! by.

use crate::alternative;
use crate::cost;
use crate::finish::finished;
use crate::frontier::Frontier;
use crate::ir::{Program, Rule};
use crate::orderer::{BEGINNINGS_MAX, Orderer};
use crate::pipeline::{Alternative, PipelinePlan};
use crate::round_orders;
use crate::sizes::Sizes;
use crate::step::Version;
use syntax::Diagnostic;

/// Plans a rule. `version` returns the rows that a recursive atom reads, by its index in the body.
///
/// # Errors
/// A variable is not bound.
pub(crate) fn order(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    version: &dyn Fn(usize) -> Version,
) -> Result<PipelinePlan, Diagnostic> {
    let frontier = Frontier::new(program, rule);
    // A round must start with the delta. Scanning anything else costs the same even if the delta is
    // small.
    let new = (0..rule.body.len()).find(|&place| version(place) == Version::Delta);
    let mut best = match new {
        Some(_) => Orderer::of_round(rule, sizes, frontier.clone()),
        None => Orderer::new(rule, sizes, frontier.clone()),
    };
    let unbound = best.run(new, version);
    if unbound.is_none() && new.is_none() {
        // The atom that leaves the fewest rows is not always the best start: a small relation may
        // lead to a large one.
        let begins = rule.body.iter().enumerate().filter(|(_, literal)| literal.is_positive());
        let begins: Vec<usize> = begins.map(|(place, _)| place).collect();
        if (2..=BEGINNINGS_MAX).contains(&begins.len()) {
            for &place in &begins {
                let mut other = Orderer::new(rule, sizes, frontier.clone());
                if other.run(Some(place), version).is_none()
                    && other.cost < best.cost * cost::BETTER_SHARE
                {
                    best = other;
                }
            }
        }
    }
    if let Some(problem) = unbound {
        return Err(problem);
    }
    if let Some(problem) = best.unbound_in_head() {
        return Err(problem);
    }
    let tried = alternative::find(program, rule, sizes, version, &best);
    let tried = tried.map(|(order, rows_max)| {
        Box::new(Alternative { plan: finished(program, rule, sizes, order), rows_max })
    });
    let mut plan = PipelinePlan { tried, ..finished(program, rule, sizes, best) };
    if new.is_some() {
        plan.by_size = round_orders::find(program, rule, sizes, version, &plan);
    }
    Ok(plan)
}
