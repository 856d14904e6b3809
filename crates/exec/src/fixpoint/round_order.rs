//! Chooses the join order of a rule for a round, by the sizes of deltas and tables.
//!
//! # How
//! The plan has an order that begins with the delta, and others. Before a round, the rows of all
//! tables and the distinct values of their columns are known or cheaply sampled. The cost of an
//! order is the number of rows that its steps read and leave. A stored relation has the fan-out
//! that the planner took from statistics.
//!
//! # Invariants
//! 1. The choice depends on tables alone, not on time or threads. So a query makes the same choices
//!    each time.

use super::Fixpoint;
use crate::table::Table;
use hashbrown::{HashMap, HashSet};
use plan::{PipelinePlan, PlannedStep, PredicateId, Step, VarId, Version};

/// Fewest rows of a delta for which orders are compared. With fewer, a round takes less time than
/// the comparison.
const DELTA_ROWS_MIN: usize = 1024;

/// Another order is chosen if it costs less than this share of the one that begins with the delta:
/// estimates are wrong by more.
const BETTER_SHARE: f64 = 0.5;

/// Rows that are sampled to estimate distinct values.
const SAMPLED: usize = 1024;

/// Distinct values by table and columns, for the orders of one choice.
type Distinct = HashMap<(PredicateId, Vec<usize>), f64>;

impl Fixpoint<'_> {
    /// The order of a round's body that costs least.
    pub(super) fn order_for_round<'p>(&self, body: &'p PipelinePlan) -> &'p PipelinePlan {
        if let (Some(forced), 1..) = (self.round_order.checked_sub(1), body.by_size.len()) {
            let orders = std::iter::once(body).chain(&body.by_size);
            return orders.cycle().nth(forced).unwrap_or(body);
        }
        let delta = body.steps.iter().find_map(|planned| match planned.step {
            Step::Derived { predicate, version: Version::Delta, .. } => Some(predicate),
            _ => None,
        });
        let rows = delta.map_or(0, |delta| self.version_rows(delta, Version::Delta));
        if body.by_size.is_empty() || rows < DELTA_ROWS_MIN {
            return body;
        }
        let mut distinct = Distinct::new();
        let mut best = (self.cost_of(body, &mut distinct) * BETTER_SHARE, body);
        for other in &body.by_size {
            let cost = self.cost_of(other, &mut distinct);
            if cost < best.0 {
                best = (cost, other);
            }
        }
        best.1
    }

    fn version_rows(&self, predicate: PredicateId, version: Version) -> usize {
        let marks = self.context.marks(predicate);
        match version {
            Version::Total => marks.total,
            Version::Old => marks.old,
            Version::Delta => marks.total - marks.old,
        }
    }

    /// Rows that the steps of an order read and leave, by the present sizes of tables.
    fn cost_of(&self, order: &PipelinePlan, distinct: &mut Distinct) -> f64 {
        let (mut rows, mut cost) = (1.0, 0.0);
        // For each bound variable, most distinct values that it can have.
        let mut values: HashMap<VarId, f64> = HashMap::new();
        for planned in &order.steps {
            let before = rows;
            rows *= self.fan_out(planned, &values, distinct);
            if let Step::Derived { predicate, outputs, negated: false, .. } = &planned.step {
                for &(column, var) in outputs {
                    values.insert(var, self.distinct(*predicate, &[column], distinct));
                }
            }
            let is_join = matches!(planned.step, Step::Derived { .. } | Step::Stored { .. });
            cost += if is_join { before + rows } else { 0.0 };
            if planned.distinct {
                let known = planned.live.iter().map(|var| values.get(var).copied());
                let most = known.map(|most| most.unwrap_or(f64::INFINITY)).product::<f64>();
                rows = rows.min(most);
            }
        }
        cost
    }

    /// Rows that a step leaves of each of its rows.
    fn fan_out(
        &self,
        planned: &PlannedStep,
        values: &HashMap<VarId, f64>,
        distinct: &mut Distinct,
    ) -> f64 {
        let Step::Derived { predicate, version, bound, negated: false, .. } = &planned.step else {
            return planned.grows;
        };
        let rows = self.version_rows(*predicate, *version) as f64;
        if bound.is_empty() {
            return rows;
        }
        let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
        // The smaller of two sets of values is taken to be a part of the larger one.
        let asked: f64 = match &bound[..] {
            [(_, var)] => values.get(var).copied().unwrap_or(1.0),
            _ => 1.0,
        };
        rows / self.distinct(*predicate, &columns, distinct).max(asked)
    }

    /// About how many distinct values some columns of a table have, 1 at least.
    fn distinct(&self, predicate: PredicateId, columns: &[usize], known: &mut Distinct) -> f64 {
        let table = &self.context.tables[predicate];
        let count = || match table.keys_of_index(columns) {
            Some(keys) => keys as f64,
            None => sampled_distinct(table, columns),
        };
        known.entry((predicate, columns.to_vec())).or_insert_with(|| count().max(1.0)).to_owned()
    }
}

/// About how many distinct values some columns have. In a large table by a sample of random rows:
/// with this number of equally frequent values, it would find as many distinct ones.
fn sampled_distinct(table: &Table, columns: &[usize]) -> f64 {
    let all = table.rows();
    let key = |row: usize| columns.iter().map(|&i| table.column(i)[row]).collect::<Vec<_>>();
    if all <= SAMPLED {
        return (0..all).map(key).collect::<HashSet<_>>().len() as f64;
    }
    let drawn = SAMPLED as f64;
    let row = |number: usize| (mixed(number as u64 + 1) % all as u64) as usize;
    let found = (0..SAMPLED).map(row).map(key).collect::<HashSet<_>>().len() as f64;
    // The share of values that a sample misses is (1 - 1 / n) ^ drawn.
    let expected = |values: f64| values * (1.0 - (1.0 - 1.0 / values).powf(drawn));
    let (mut least, mut most) = (found, all as f64);
    while most - least > least / 16.0 {
        let middle = f64::midpoint(least, most);
        match expected(middle) < found {
            true => least = middle,
            false => most = middle,
        }
    }
    most
}

/// A random word for a number, the same each time (splitmix64, Steele, Lea and Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let word = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::cell::Cell;

    #[test]
    fn distinct_values_are_estimated_within_a_third() {
        for (rows, values) in [(100, 7), (5000, 40), (200_000, 3000), (50_000, 50_000)] {
            let cell = |i: i64| Cell::small_int(i).unwrap();
            let columns = vec![
                (0..rows).map(|i| cell(i * 7919 % values)).collect(),
                (0..rows).map(|i| cell(i * values / rows)).collect(),
                (0..rows).map(cell).collect::<Vec<_>>(),
            ];
            let table = Table::set(3).with_rows(&columns, rows as usize, &|| Ok(())).unwrap();
            for column in [0, 1] {
                let estimate = sampled_distinct(&table, &[column]);
                let ratio = estimate / values as f64;
                assert!((0.75..1.34).contains(&ratio), "{values}: {estimate}");
            }
        }
    }
}
