//! Estimated sizes of the relations that a rule reads.

use crate::catalog::RelationInfo;
use crate::ids::{PerPredicate, PerStored};

/// Estimated sizes of relations.
pub(crate) struct Sizes<'a> {
    /// Estimated rows of each predicate, if known.
    pub(crate) predicates: &'a PerPredicate<Option<f64>>,
    /// For each recursive magic set, by predicate: the columns that its recursion passes on
    /// unchanged. Empty for other predicates.
    pub(crate) unchanged: &'a PerPredicate<Vec<bool>>,
    /// The stored relations.
    pub(crate) infos: &'a PerStored<RelationInfo>,
}
