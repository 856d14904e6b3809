//! How a rule treats duplicate rows of its body, given the aggregates in its head.

use crate::ids::PerVar;
use crate::ir::{AggregateUse, PredicateKind, Program, Rule};

/// How a rule treats duplicate rows of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// Ignored: the rule is a set, or its aggregates are insensitive to duplicates.
    Merge,
    /// Counted: duplicates may be merged into one row with a multiplicity.
    Weigh,
    /// Kept: each duplicate must reach the head separately.
    Keep,
}

fn aggregates<'p>(program: &'p Program, rule: &Rule) -> &'p [Option<AggregateUse>] {
    match &program.predicates[rule.predicate].kind {
        PredicateKind::Inline { aggregates } => aggregates,
        _ => &[],
    }
}

/// How a rule treats duplicates, given the aggregates in its head.
pub(crate) fn duplicates(program: &Program, rule: &Rule) -> Duplicates {
    let mut duplicates = Duplicates::Merge;
    for used in aggregates(program, rule).iter().flatten() {
        match used.aggregate.name {
            "count" | "sum" | "mean" => duplicates = Duplicates::Weigh,
            "count_unique" | "unique" | "latest_by" | "smallest_by" => {}
            _ if used.aggregate.is_meet => {}
            _ => return Duplicates::Keep,
        }
    }
    duplicates
}

/// For each variable, whether the head uses its value.
pub(crate) fn asked_by_head(program: &Program, rule: &Rule) -> PerVar<bool> {
    let mut asked = PerVar::filled(false, rule.variables.len());
    let aggregates = aggregates(program, rule);
    for (place, &var) in rule.head.iter().enumerate() {
        // `count` does not use the value of its variable.
        let is_counted = aggregates.get(place).and_then(Option::as_ref);
        asked[var] |= is_counted.is_none_or(|used| used.aggregate.name != "count");
    }
    asked
}
