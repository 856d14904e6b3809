//! Names the physical operators that answer each step.
//!
//! The name of an operator is that of its file in `exec/src/operator`. `::explain` prints it, and
//! `::explain analyze` prints which operators ran. Where statistics cannot tell which operator is
//! best, a step is adaptive: execution chooses for each batch.

use crate::catalog::RelationInfo;
use crate::ids::PerStored;
use crate::step::Step;

/// A physical operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorName {
    /// Reads a relation, or a range of its keys, once for each batch.
    Scan,
    /// Reads ranges of keys in the order of the result, until enough rows are found.
    OrderedScan,
    /// A scan that reads costly columns only of the rows that the following filters keep.
    LateMaterialize,
    /// Looks keys or key prefixes up in a stored order.
    IndexJoin,
    /// Probes a hash index of rows in memory, or passes all of them where no column is bound.
    HashJoin,
    /// Probes a trie of a stored relation, or intersects several.
    LeapfrogJoin,
    /// Reads a relation with history as of a time.
    TemporalScan,
    /// Keeps rows by a condition.
    Filter,
    /// Binds a variable to a computed value.
    Project,
    /// Makes a row for each item of a list.
    Unnest,
    /// Finds rows by a search index.
    Search,
}

impl OperatorName {
    /// All operators, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::Scan,
        Self::OrderedScan,
        Self::LateMaterialize,
        Self::IndexJoin,
        Self::HashJoin,
        Self::LeapfrogJoin,
        Self::TemporalScan,
        Self::Filter,
        Self::Project,
        Self::Unnest,
        Self::Search,
    ];

    /// Name of its file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::OrderedScan => "ordered_scan",
            Self::LateMaterialize => "late_materialize",
            Self::IndexJoin => "index_join",
            Self::HashJoin => "hash_join",
            Self::LeapfrogJoin => "leapfrog_join",
            Self::TemporalScan => "temporal_scan",
            Self::Filter => "filter",
            Self::Project => "project",
            Self::Unnest => "unnest",
            Self::Search => "search",
        }
    }
}

/// The operator that executes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Physical {
    /// Always this operator.
    Fixed(OperatorName),
    /// One of these, chosen for each batch.
    Adaptive(&'static [OperatorName]),
}

impl Physical {
    /// The operators that may run. Any scan may materialize late.
    #[must_use]
    pub fn may_be(self, name: OperatorName) -> bool {
        let is_among = |name: OperatorName| match self {
            Self::Fixed(one) => one == name,
            Self::Adaptive(some) => some.contains(&name),
        };
        is_among(name) || name == OperatorName::LateMaterialize && is_among(OperatorName::Scan)
    }
}

impl std::fmt::Display for Physical {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(name) => f.write_str(name.as_str()),
            Self::Adaptive(names) => f.write_str(
                &names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" or "),
            ),
        }
    }
}

/// The operator of a step.
pub(crate) fn operator_of(step: &Step, infos: &PerStored<RelationInfo>) -> Physical {
    use OperatorName::{HashJoin, IndexJoin, LeapfrogJoin, Scan, TemporalScan};
    Physical::Fixed(match step {
        Step::Filter(_) | Step::Assign { compare: true, .. } | Step::Same { compare: true, .. } => {
            OperatorName::Filter
        }
        Step::Assign { .. } | Step::Same { .. } => OperatorName::Project,
        Step::Member { .. } => OperatorName::Unnest,
        Step::Search(_) => OperatorName::Search,
        Step::Derived { .. } => HashJoin,
        Step::Stored { stored, .. } if infos[*stored].is_in_memory => HashJoin,
        Step::Stored { at: Some(_), .. } => TemporalScan,
        Step::Stored { stored, path, prefix, checks, range, .. } => {
            let info = &infos[*stored];
            let keys = info.paths[*path].keys.iter().take(prefix.len());
            match (prefix.is_empty(), checks.is_empty(), range) {
                (true, true, _) => Scan,
                (true, false, _) => return Physical::Adaptive(&[LeapfrogJoin, Scan]),
                // A trie has no values at paths.
                _ if keys.clone().any(|&column| column >= info.columns.len()) => IndexJoin,
                // A range of keys reaches few of them better than a trie.
                (false, _, Some(_)) => IndexJoin,
                (false, _, None) => return Physical::Adaptive(&[IndexJoin, LeapfrogJoin]),
            }
        }
    })
}
