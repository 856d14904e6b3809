//! Estimates how many rows a literal reads and leaves, given the variables that are bound.

use crate::bounds::{self, RangeHint, Selectivity};
use crate::catalog::{AccessPath, PrefixStatistics};
use crate::cost;
use crate::ids::{PerVar, PredicateId, StoredId, VarId};
use crate::ir::{Literal, Rule, Source};
use crate::key_value::KeyValue;
use crate::sizes::Sizes;
use crate::step::Version;

/// The variables that the literals so far bind, and what is known of their values.
#[derive(Clone)]
pub(crate) struct Bindings<'a> {
    pub(crate) rule: &'a Rule,
    pub(crate) sizes: &'a Sizes<'a>,
    /// Whether the order may only use lookups of bound values.
    pub(crate) looks: bool,
    /// Whether every lookup is taken to find as many rows as the mean, however skewed the values.
    pub(crate) means: bool,
    /// For each variable, whether it is bound.
    pub(crate) bound: PerVar<bool>,
    /// Valid for bound variables.
    pub(crate) comes: PerVar<ValueDistribution>,
}

/// How often the values of a variable repeat. If the data is skewed, the number of rows that a
/// lookup finds depends on it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ValueDistribution {
    /// Each value once, as far as known.
    Once,
    /// As often as in some other column.
    Again,
    /// As often as in this column of this stored relation.
    From(StoredId, usize),
}

impl<'a> Bindings<'a> {
    /// Before the first literal.
    pub(crate) fn new(rule: &'a Rule, sizes: &'a Sizes<'a>) -> Self {
        let variables = rule.variables.len();
        Self {
            rule,
            sizes,
            looks: false,
            means: false,
            bound: PerVar::filled(false, variables),
            comes: PerVar::filled(ValueDistribution::Once, variables),
        }
    }

    /// Estimated rows that an atom or a list reads and leaves, of `rows` before it. `None` if it
    /// cannot be evaluated yet.
    pub(crate) fn cost(&self, literal: &Literal, version: Version, rows: f64) -> Option<f64> {
        match literal {
            Literal::Member { list, .. } => {
                list.is_bound(&self.bound).then_some(rows * cost::LIST_ROWS)
            }
            Literal::Search(search) => {
                search.is_ready(&self.bound).then_some(rows * cost::SEARCH_COST)
            }
            Literal::Atom { source, args, negated: false, at, .. } => {
                if !at.iter().all(|at| at.is_bound(&self.bound)) {
                    return None;
                }
                match *source {
                    Source::Derived(predicate) => Some(
                        rows * self
                            .derived_fanout(predicate, args, version)
                            .max(cost::LOOKUP_COST_MIN),
                    ),
                    Source::Stored(stored) => {
                        let (path, prefix) = self.path(stored, args, at.is_some());
                        let fanout = self.stored_fanout(stored, path, prefix, args);
                        let once = match prefix {
                            0 => {
                                self.sizes.infos[stored].rows as f64
                                    * cost::SCAN_COST
                                    * self.share(stored, path, 0, args)
                            }
                            _ => 0.0,
                        };
                        Some(rows * fanout.max(cost::LOOKUP_COST_MIN) + once)
                    }
                }
            }
            _ => None,
        }
    }

    pub(crate) fn derived_fanout(
        &self,
        predicate: PredicateId,
        args: &[Option<VarId>],
        version: Version,
    ) -> f64 {
        // The more columns of a recursive relation are bound, the fewer values it is asked for, so
        // it should come after other atoms.
        let unknown = if self.looks { cost::ROWS_RECURSIVE } else { cost::ROWS_UNKNOWN };
        let rows = self.sizes.predicates[predicate].unwrap_or(unknown).max(1.0);
        let rows =
            if version == Version::Delta { (rows * cost::DELTA_SHARE).max(1.0) } else { rows };
        let bound = args.iter().flatten().filter(|&&var| self.bound[var]).count();
        rows.powf(1.0 - bound as f64 / args.len().max(1) as f64)
    }

    /// The access path with the longest bound prefix, and the length of the prefix. A prefix that
    /// at most one row has counts as the longest. Among paths with equal prefixes:
    ///
    /// - Without a prefix, the path whose next column has the most selective range wins. Its real
    ///   selectivity is measured when the query runs.
    /// - With a prefix, another path than the first is chosen only if the first has no range for
    ///   its next column, and the other one either contains all columns or has few rows per value.
    ///
    /// A read with `@` uses the relation itself, because it needs all versions of a key, which are
    /// adjacent only there.
    pub(crate) fn path(
        &self,
        stored: StoredId,
        args: &[Option<VarId>],
        is_at: bool,
    ) -> (usize, usize) {
        let is_bound = |&&column: &&usize| self.bound_key(stored, args, column).is_some();
        let paths = &self.sizes.infos[stored].paths;
        if is_at {
            let keys = &paths[0].keys;
            let keys = &keys[..keys.len().saturating_sub(1)];
            return (0, keys.iter().take_while(is_bound).count());
        }
        let mut best = (0, 0);
        let mut best_value = (0, Selectivity::Nothing);
        for (number, path) in paths.iter().enumerate() {
            let prefix = path.keys.iter().take_while(is_bound).count();
            let rank = if prefix > 0 && prefix >= path.unique { usize::MAX } else { prefix };
            if rank < best_value.0 {
                continue;
            }
            let hint = match paths.len() {
                // There is no choice.
                1 => None,
                _ => self.range(stored, path.keys.get(prefix).copied(), args),
            };
            let selectivity = hint.map_or(Selectivity::Nothing, |hint| hint.selectivity());
            let is_better = match prefix {
                _ if rank > best_value.0 => true,
                0 => selectivity > best_value.1,
                _ if best_value.1 > Selectivity::Nothing => false,
                _ if path.covers_atom(args) => selectivity > Selectivity::Nothing,
                _ => {
                    selectivity == Selectivity::Point
                        && self.values(stored, path, prefix) >= cost::LOOK_UP_ROWS as f64
                }
            };
            if is_better {
                (best, best_value) = ((number, prefix), (rank, selectivity));
            }
        }
        best
    }

    pub(crate) fn stored_fanout(
        &self,
        stored: StoredId,
        path: usize,
        prefix: usize,
        args: &[Option<VarId>],
    ) -> f64 {
        let info = &self.sizes.infos[stored];
        let rows = (info.rows as f64).max(1.0);
        let number = path;
        let path = &info.paths[number];
        let found = match prefix {
            0 => rows,
            _ if prefix >= path.keys.len() => 1.0,
            _ => match path.prefixes.get(prefix - 1) {
                Some(known) => self.found(stored, &path.keys[..prefix], args, known),
                None => path.rows_unknown(rows, prefix),
            },
        };
        let bound = args.iter().enumerate().filter(|(column, var)| {
            var.is_some_and(|var| self.bound[var]) && !path.keys[..prefix].contains(column)
        });
        let hints = self.share(stored, number, prefix, args);
        // A bound column that is not in the prefix leaves a part of the rows.
        bound.fold(found * hints, |found, (column, _)| {
            let rate = info.repeat_rates.get(column).copied().flatten();
            (found * rate.unwrap_or(cost::REPEAT_RATE)).max(found.min(1.0))
        })
    }

    /// Estimated rows that a lookup by these columns finds. If the values repeat as they do in the
    /// column itself, frequent values are looked up more often, and the estimate is `rows_met`. If
    /// each value occurs once, it is the mean. Otherwise, the distributions are assumed to be
    /// correlated, and the estimate is between the two.
    fn found(
        &self,
        stored: StoredId,
        prefix: &[usize],
        args: &[Option<VarId>],
        known: &PrefixStatistics,
    ) -> f64 {
        let handle = |stored: StoredId| self.sizes.infos[stored].handle;
        let mean = (self.sizes.infos[stored].rows as f64).max(1.0) / known.values.max(1.0);
        if self.means {
            return mean;
        }
        let met = known.rows_met.max(mean);
        let comes = prefix.iter().map(|&column| {
            self.bound_key(stored, args, column).map(|var| (column, self.comes[var]))
        });
        let mut comes =
            comes.flatten().filter(|(_, comes)| *comes != ValueDistribution::Once).peekable();
        if comes.peek().is_none() {
            return mean;
        }
        let is_same = |(column, comes)| match comes {
            ValueDistribution::From(from, there) => {
                handle(from) == handle(stored) && there == column
            }
            ValueDistribution::Once | ValueDistribution::Again => false,
        };
        if comes.all(is_same) { met } else { (mean * met).sqrt() }
    }

    /// Estimated share of the rows with a prefix that the range of the next column leaves.
    fn share(&self, stored: StoredId, path: usize, prefix: usize, args: &[Option<VarId>]) -> f64 {
        let path = &self.sizes.infos[stored].paths[path];
        let hint = self.range(stored, path.keys.get(prefix).copied(), args);
        let selectivity = hint.map_or(Selectivity::Nothing, |hint| hint.selectivity());
        selectivity.share(|| 1.0 / self.values(stored, path, prefix))
    }

    /// Estimated number of distinct values of the key column after a prefix, for one value of the
    /// prefix.
    fn values(&self, stored: StoredId, path: &AccessPath, prefix: usize) -> f64 {
        let distinct = |keys: usize| Some(path.prefixes.get(keys.wrapping_sub(1))?.values);
        let rows = (self.sizes.infos[stored].rows as f64).max(1.0);
        let values = match (prefix, distinct(prefix), distinct(prefix + 1)) {
            (0, _, Some(values)) => values,
            (_, Some(before), Some(values)) => values / before.max(1.0),
            _ => rows.powf(1.0 / path.keys.len() as f64),
        };
        values.max(1.0)
    }

    /// The range that conditions imply for a key column of a stored relation that is not bound yet.
    pub(crate) fn range(
        &self,
        stored: StoredId,
        column: Option<usize>,
        args: &[Option<VarId>],
    ) -> Option<Box<RangeHint>> {
        let value = KeyValue::of(&self.sizes.infos[stored], args, column?)?;
        match value.bound_var(self.rule, &self.bound) {
            Some(_) => None,
            None => bounds::find(self.rule, value),
        }
    }

    /// The bound variable with the value of a key column of a stored relation.
    pub(crate) fn bound_key(
        &self,
        stored: StoredId,
        args: &[Option<VarId>],
        column: usize,
    ) -> Option<VarId> {
        let value = KeyValue::of(&self.sizes.infos[stored], args, column)?;
        value.bound_var(self.rule, &self.bound)
    }

    /// Records how often the values repeat that an atom binds.
    pub(crate) fn come(&mut self, source: Source, args: &[Option<VarId>]) {
        for (column, var) in args.iter().enumerate() {
            let Some(var) = *var else { continue };
            if self.bound[var] {
                continue;
            }
            self.comes[var] = match source {
                Source::Derived(_) if args.len() == 1 => ValueDistribution::Once,
                Source::Derived(_) => ValueDistribution::Again,
                Source::Stored(stored) => match self.sizes.infos[stored].keys == 1 && column == 0 {
                    true => ValueDistribution::Once,
                    false => ValueDistribution::From(stored, column),
                },
            };
        }
    }
}
