//! An order that begins with what is bound, to be tried before one that reads a relation whole.
//!
//! # Why
//! How many rows a look-up finds is known of all values together, not of the one that is asked for.
//! `?[count(c)] := *f[$v, a], *f[a, b], *f[b, c]` may be thought to find more than the relation has
//! rows, for some have very many, and so the best order seems to be one that begins with a scan;
//! but most values of `$v` find little or nothing. A few look-ups tell: they cost a small part of
//! the scan, which is begun only when they have found much. (A plan that is doubted while it runs:
//! Kabra and DeWitt, *Efficient mid-query re-optimization*, SIGMOD 1998; Markl and others, *Robust
//! query processing through progressive optimization*, SIGMOD 2004.)

use crate::ir::{Literal, Program, Rule};
use crate::order::{Orderer, Sizes, Step, Version, is_positive};

/// Rows that are read whole without a question whether there is a better way.
const WHOLE_MIN: u64 = 1024;

/// The part of what is read whole that may be spent on looking first.
const SPENT_PART: u64 = 2;

/// The order, and how much it may do, where `best` reads much whole and there is one that does not.
pub(crate) fn find<'a>(
    program: &'a Program,
    rule: &'a Rule,
    sizes: &'a Sizes<'a>,
    version: &dyn Fn(usize) -> Version,
    best: &Orderer<'_>,
) -> Option<(Orderer<'a>, u64)> {
    let whole = rows_read_whole(best, sizes);
    if whole < WHOLE_MIN || rule.body.iter().any(Literal::is_drawn) {
        return None;
    }
    let begins = rule.body.iter().enumerate().filter(|(_, literal)| is_positive(literal));
    let mut found: Option<(u64, Orderer<'a>)> = None;
    for (place, _) in begins.take(crate::order::BEGINNINGS_MAX) {
        let mut other = Orderer::looking(program, rule, sizes);
        if other.run(Some(place), version).is_none() {
            let read = rows_read_whole(&other, sizes);
            let is_better =
                |known: &(u64, Orderer<'_>)| (read, other.cost) < (known.0, known.1.cost);
            if found.as_ref().is_none_or(is_better) {
                found = Some((read, other));
            }
        }
    }
    let found = found.map(|(_, order)| order).filter(|order| order.places != best.places);
    found.map(|order| {
        let rows_max = whole / SPENT_PART + rows_of_tables(&order, sizes);
        (order, rows_max)
    })
}

/// Rows that are read to make the tables in memory that an order needs: once, and not for the next
/// query.
fn rows_of_tables(order: &Orderer<'_>, sizes: &Sizes<'_>) -> u64 {
    let steps = order.steps.iter().map(|planned| match &planned.step {
        Step::Stored { stored, prefix, checks, negated: false, at: None, .. }
            if prefix.is_empty() && !checks.is_empty() =>
        {
            sizes.infos[*stored].rows
        }
        _ => 0,
    });
    steps.sum()
}

/// Rows of the relations that an order reads from their first row to their last.
fn rows_read_whole(order: &Orderer<'_>, sizes: &Sizes<'_>) -> u64 {
    let steps = order.steps.iter().map(|planned| match &planned.step {
        Step::Stored { stored, prefix, range: None, negated: false, at: None, .. }
            if prefix.is_empty() =>
        {
            sizes.infos[*stored].rows
        }
        _ => 0,
    });
    steps.sum()
}
