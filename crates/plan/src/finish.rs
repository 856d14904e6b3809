//! Turns a complete order of literals into the plan of a body.

use crate::check;
use crate::distinct;
use crate::duplicates::duplicates;
use crate::intersection;
use crate::ir::{Program, Rule};
use crate::live;
use crate::orderer::Orderer;
use crate::pipeline::PipelinePlan;
use crate::sizes::Sizes;

/// Turns a complete order into a plan.
pub(crate) fn finished(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    order: Orderer<'_>,
) -> PipelinePlan {
    let Orderer { rows, cost, mut steps, mut places, .. } = order;
    intersection::find(&mut steps, &mut places);
    let duplicates = duplicates(program, rule);
    live::find(program, rule, sizes.infos, duplicates, &mut steps);
    // Only computed for the entry.
    let is_entry = rule.predicate == program.entry;
    let distinct_keys = if is_entry { distinct::columns(program, rule, sizes.infos) } else { None };
    let not_compared = distinct::not_compared(rule, distinct_keys);
    let (tried, in_order, by_size) = (None, Vec::new(), Vec::new());
    let plan = PipelinePlan {
        steps,
        duplicates,
        rows,
        places,
        distinct_keys,
        not_compared,
        tried,
        in_order,
        by_size,
        cost,
    };
    check::body(rule, &plan);
    plan
}
