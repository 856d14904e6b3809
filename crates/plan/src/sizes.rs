//! Estimated sizes of the relations that a rule reads.

use crate::catalog::RelationInfo;

/// Estimated sizes of relations.
pub(crate) struct Sizes<'a> {
    /// Estimated rows of each predicate, if known.
    pub(crate) predicates: &'a [Option<f64>],
    /// For each recursive magic set, by predicate: the columns that its recursion passes on
    /// unchanged. Empty for other predicates.
    pub(crate) unchanged: &'a [Vec<bool>],
    /// The stored relations.
    pub(crate) infos: &'a [RelationInfo],
}
