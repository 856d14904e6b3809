//! The plan of a rule's body: a pipeline of operators, with its estimates, and other plans of the
//! same body that execution may prefer.

use crate::duplicates::Duplicates;
use crate::ids::VarId;
use crate::physical::Physical;
use crate::step::Step;
use syntax::Span;

/// The plan of a rule's body: a pipeline of operators.
#[derive(Clone, Debug)]
pub struct PipelinePlan {
    /// Operators in order.
    pub steps: Vec<PlannedStep>,
    /// How duplicates are treated.
    pub duplicates: Duplicates,
    /// Estimated number of result rows.
    pub rows: f64,
    /// For each step, the index of its literal in the body.
    pub places: Vec<usize>,
    /// For the entry, if its rows are provably distinct: the number of leading head columns that
    /// form a unique key.
    pub distinct_keys: Option<usize>,
    /// Head variables whose values are never compared, in ascending order.
    pub not_compared: Vec<VarId>,
    /// An alternative order, to be tried before this one with its full scan.
    pub tried: Option<Box<Alternative>>,
    /// Plans that read the first rows first, to be tried where only those are wanted: one for the
    /// order of a query, or one for each aggregate.
    pub in_order: Vec<InOrder>,
    /// Other orders of a semi-naive round, for when its sizes make one of them cheaper.
    pub by_size: Vec<Self>,
    /// Estimated rows that the steps read and leave.
    pub cost: f64,
}

/// A step with its operator, estimates and properties of the rows after it.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The logical step.
    pub step: Step,
    /// Live variables: bound, and used by a later step or the head.
    pub live: Vec<VarId>,
    /// Estimated rows after the step, without duplicates.
    pub rows: f64,
    /// Estimated rows that each input row produces, including duplicates.
    pub grows: f64,
    /// Whether duplicates may be removed here: variables were dropped, and more joins follow.
    pub distinct: bool,
    /// Whether the join may produce duplicates: it finds rows that differ only in columns it does
    /// not use.
    pub may_duplicate: bool,
    /// Position in the script.
    pub span: Span,
    /// Number of the following steps that belong to the same intersection group. They only check
    /// for a matching row, so the variable that this step binds can be found by intersecting all of
    /// them.
    pub group_steps: usize,
    /// The operator that answers the step.
    pub operator: Physical,
    /// How the step reads in order, if it does.
    pub row_order: Option<RowOrder>,
}

/// An order that starts with bound values, limited in the rows that it may read.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The plan of the order.
    pub plan: PipelinePlan,
    /// Rows after which the alternative is abandoned, over all rounds of a recursion. A lookup
    /// counts as [`LOOK_UP_ROWS`](crate::LOOK_UP_ROWS).
    pub rows_max: u64,
}

/// How a step reads in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowOrder {
    /// Whether it reads from the greatest key to the least.
    pub backwards: bool,
    /// Number of key columns after the prefix in whose order the result is.
    pub columns: usize,
    /// How rows that are equal in these columns come.
    pub ties: Ties,
    /// Estimated result rows for each row that is read.
    pub kept: f64,
    /// Estimated rows that the plan that sorts reads; `None` if it reads the same range of keys.
    pub sorting_rows: Option<f64>,
    /// Rows that the plan that sorts counts for each row of the range.
    pub sorting_row_cost: f64,
    /// Path and number of bound key columns by which the plan that sorts reads the relation first,
    /// if these are other keys than those that are read in order.
    pub sorting_lookup: Option<(usize, usize)>,
}

/// How rows come that are equal in the columns of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// In the order of the result, or in any order if that does not matter.
    InOrder,
    /// In the reverse order of the result: the first of them are at the other end.
    Reversed,
    /// In another order. They have to be sorted.
    Unordered,
}

/// A plan whose first rows are the first in the order of a query.
#[derive(Clone, Debug)]
pub struct InOrder {
    /// The plan. One of its steps has a [`RowOrder`].
    pub plan: PipelinePlan,
    /// Rows that the query asks for, offset included, if that is known.
    pub rows: Option<u64>,
}
