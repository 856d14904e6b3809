//! Adds an alternative order that starts with bound values, to be tried before an order with a full
//! scan.
//!
//! # Why
//! Statistics describe the average value, not the one that a query asks for. `?[count(c)] := *f[$v,
//! a], *f[a, b], *f[b, c]` may be estimated to find more rows than the relation has, since some
//! values have very many, so the best order seems to start with a scan. But most values of `$v`
//! find few rows or none. A few lookups decide this at a small part of the scan's cost, and the
//! scan starts only if they find many rows. Similar to re-optimization during execution: Kabra and
//! DeWitt, *Efficient mid-query re-optimization*, SIGMOD 1998; Markl et al., *Robust query
//! processing through progressive optimization*, SIGMOD 2004.

use crate::ir::{Literal, Program, Rule};
use crate::orderer::{BEGINNINGS_MAX, Orderer};
use crate::sizes::Sizes;
use crate::step::{Step, Version};

/// Minimum number of rows in full scans for which an alternative is considered.
const WHOLE_MIN: u64 = 1024;

/// The alternative may read the number of scanned rows divided by this.
const SPENT_PART: u64 = 2;

/// If `best` scans many rows in full and there is an order that does not: that order, and the
/// number of rows that it may read.
pub(crate) fn find<'a>(
    program: &'a Program,
    rule: &'a Rule,
    sizes: &'a Sizes<'a>,
    version: &dyn Fn(usize) -> Version,
    best: &Orderer<'_>,
) -> Option<(Orderer<'a>, u64)> {
    let whole = rows_read_whole(best, sizes);
    if whole < WHOLE_MIN || rule.body.iter().any(Literal::is_random) {
        return None;
    }
    let begins = rule.body.iter().enumerate().filter(|(_, literal)| literal.is_positive());
    let mut found: Option<(u64, Orderer<'a>)> = None;
    for (place, _) in begins.take(BEGINNINGS_MAX) {
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

/// Rows that are read to build the hash tables of an order. Later queries reuse the tables.
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

/// Rows that an order reads in full scans.
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
