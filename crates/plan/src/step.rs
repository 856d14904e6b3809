//! A logical step of a pipeline.

use crate::bounds::RangeHint;
use crate::ids::{PredicateId, StoredId, VarId};
use crate::ir::{Expr, SearchUse};

/// The rows of a derived relation that an atom reads in semi-naive evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// All rows so far.
    Total,
    /// The rows from before the last round.
    Old,
    /// The rows that the last round added.
    Delta,
}

/// A logical step of a pipeline. [`Physical`](crate::Physical) names the operators that can execute
/// it.
#[derive(Clone, Debug)]
pub enum Step {
    /// Assigns the value of an expression to a variable, or compares if it is already bound.
    Assign {
        /// The variable.
        var: VarId,
        /// The expression.
        value: Expr,
        /// Whether it compares.
        compare: bool,
    },
    /// Keeps rows for which the expression is true.
    Filter(Expr),
    /// Keeps rows in which two variables have the same value, or binds the second variable.
    Same {
        /// A bound variable.
        a: VarId,
        /// Bound if `compare` is set.
        b: VarId,
        /// Whether it compares.
        compare: bool,
    },
    /// Produces a row for each item of a list.
    Member {
        /// The variable that gets the item.
        var: VarId,
        /// The list.
        list: Expr,
        /// Whether the variable is already bound, so that items are compared with it.
        compare: bool,
    },
    /// Joins with a derived relation.
    Derived {
        /// One of [`Program::predicates`](crate::Program::predicates).
        predicate: PredicateId,
        /// The rows that are read.
        version: Version,
        /// Bound columns with their variables.
        bound: Vec<(usize, VarId)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, VarId)>,
        /// Anti-join: keeps rows without a match.
        negated: bool,
    },
    /// Joins with a stored relation.
    Stored {
        /// One of [`Program::stored`](crate::Program::stored).
        stored: StoredId,
        /// The access path, as an index into [`RelationInfo::paths`](crate::RelationInfo::paths).
        path: usize,
        /// Variables of the path's leading key columns that are bound.
        prefix: Vec<VarId>,
        /// The range of the key column after the prefix.
        range: Option<Box<RangeHint>>,
        /// If an index was chosen only for its range: the range of the relation's own first key
        /// column. For a scan in order: the range of
        /// [`RowOrder::sorting_lookup`](crate::RowOrder::sorting_lookup).
        own_range: Option<Box<RangeHint>>,
        /// Other bound columns.
        checks: Vec<(usize, VarId)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, VarId)>,
        /// Time at which the relation is read.
        at: Option<Expr>,
        /// Anti-join: keeps rows without a match.
        negated: bool,
    },
    /// Produces a row for each row that a search index finds.
    Search(Box<SearchUse>),
}

impl Step {
    /// The expression that the operator evaluates, if any.
    #[must_use]
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Self::Assign { value: expr, .. }
            | Self::Filter(expr)
            | Self::Member { list: expr, .. } => Some(expr),
            Self::Stored { at, .. } => at.as_ref(),
            Self::Same { .. } | Self::Derived { .. } | Self::Search(_) => None,
        }
    }
}
