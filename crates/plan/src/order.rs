//! Chooses the order in which a body's literals are evaluated, and an operator for each.
//!
//! # How the order is found
//! A greedy search starts from each atom, and the cheapest result is chosen. Free literals
//! (conditions, assignments, comparisons) come first, then the atom with the smallest estimated
//! number of rows, given the bound variables. Ties are broken by the order of the script. An
//! exhaustive search (Selinger et al., SIGMOD 1979) would gain less than the estimates are wrong
//! by.

use crate::alternative;
use crate::bounds::{self, RangeHint};
use crate::catalog::RelationInfo;
use crate::check;
use crate::cost;
use crate::distinct;
use crate::frontier::Frontier;
use crate::intersection;
use crate::ir::{Expr, Literal, Program, Rule, SearchUse, Source, Var};
use crate::key_value::KeyValue;
use crate::live::{self, Duplicates};
use crate::physical::{self, Physical};
use crate::round_orders;
use crate::row_order::{InOrder, RowOrder};
use syntax::{Diagnostic, Span};

mod estimate;

/// Maximum number of atoms that are each tried as the first. A larger body starts with the atom
/// that is estimated to leave the fewest rows.
pub(crate) const BEGINNINGS_MAX: usize = 12;

/// A column and its variable.
type Place = (usize, Var);

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

/// A logical step of a pipeline. [`Physical`] names the operators that can execute it.
#[derive(Clone, Debug)]
pub enum Step {
    /// Assigns the value of an expression to a variable, or compares if it is already bound.
    Assign {
        /// The variable.
        var: Var,
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
        a: Var,
        /// Bound if `compare` is set.
        b: Var,
        /// Whether it compares.
        compare: bool,
    },
    /// Produces a row for each item of a list.
    Member {
        /// The variable that gets the item.
        var: Var,
        /// The list.
        list: Expr,
        /// Whether the variable is already bound, so that items are compared with it.
        compare: bool,
    },
    /// Joins with a derived relation.
    Derived {
        /// The relation, as an index into [`Program::predicates`].
        predicate: usize,
        /// The rows that are read.
        version: Version,
        /// Bound columns with their variables.
        bound: Vec<(usize, Var)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, Var)>,
        /// Anti-join: keeps rows without a match.
        negated: bool,
    },
    /// Joins with a stored relation.
    Stored {
        /// The relation, as an index into [`Program::stored`].
        stored: usize,
        /// The access path, as an index into [`RelationInfo::paths`].
        path: usize,
        /// Variables of the path's leading key columns that are bound.
        prefix: Vec<Var>,
        /// The range of the key column after the prefix.
        range: Option<Box<RangeHint>>,
        /// If an index was chosen only for its range: the range of the relation's own first key
        /// column. For a scan in order: the range of [`RowOrder::sorting_lookup`].
        own_range: Option<Box<RangeHint>>,
        /// Other bound columns.
        checks: Vec<(usize, Var)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, Var)>,
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

/// A step with its operator, estimates and properties of the rows after it.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// The logical step.
    pub step: Step,
    /// Live variables: bound, and used by a later step or the head.
    pub live: Vec<Var>,
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

/// How often the values of a variable repeat. If the data is skewed, the number of rows that a
/// lookup finds depends on it.
#[derive(Clone, Copy, PartialEq)]
enum ValueDistribution {
    /// Each value once, as far as known.
    Once,
    /// As often as in some other column.
    Again,
    /// As often as in this column of this stored relation.
    From(usize, usize),
}

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
    pub not_compared: Vec<Var>,
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

/// An order that starts with bound values, limited in the rows that it may read.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The plan of the order.
    pub plan: PipelinePlan,
    /// Rows after which the alternative is abandoned, over all rounds of a recursion. A lookup
    /// counts as [`LOOK_UP_ROWS`](crate::LOOK_UP_ROWS).
    pub rows_max: u64,
}

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

/// Plans a rule. `version` returns the rows that a recursive atom reads, by its index in the body.
///
/// # Errors
/// A variable is not bound.
pub(crate) fn order(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    version: &dyn Fn(usize) -> Version,
) -> Result<PipelinePlan, Diagnostic> {
    let frontier = Frontier::new(program, rule);
    let mut best = Orderer::new(rule, sizes, frontier.clone());
    // A round must start with the delta. Scanning anything else costs the same even if the delta is
    // small.
    let new = (0..rule.body.len()).find(|&place| version(place) == Version::Delta);
    best.is_round = new.is_some();
    let unbound = best.run(new, version);
    if unbound.is_none() && new.is_none() {
        // The atom that leaves the fewest rows is not always the best start: a small relation may
        // lead to a large one.
        let begins = rule.body.iter().enumerate().filter(|(_, literal)| is_positive(literal));
        let begins: Vec<usize> = begins.map(|(place, _)| place).collect();
        if (2..=BEGINNINGS_MAX).contains(&begins.len()) {
            for &place in &begins {
                let mut other = Orderer::new(rule, sizes, frontier.clone());
                if other.run(Some(place), version).is_none()
                    && other.cost < best.cost * cost::BETTER_SHARE
                {
                    best = other;
                }
            }
        }
    }
    if let Some(problem) = unbound {
        return Err(problem);
    }
    if let Some(&var) = rule.head.iter().find(|&&var| !best.bound[var]) {
        return Err(self::unbound(rule, var, rule.span));
    }
    let tried = alternative::find(program, rule, sizes, version, &best);
    let tried = tried.map(|(order, rows_max)| {
        Box::new(Alternative { plan: finished(program, rule, sizes, order), rows_max })
    });
    let mut plan = PipelinePlan { tried, ..finished(program, rule, sizes, best) };
    if new.is_some() {
        plan.by_size = round_orders::find(program, rule, sizes, version, &plan);
    }
    Ok(plan)
}

/// Turns a complete order into a plan.
pub(crate) fn finished(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    order: Orderer<'_>,
) -> PipelinePlan {
    let Orderer { rows, cost, mut steps, mut places, .. } = order;
    intersection::find(&mut steps, &mut places);
    let duplicates = live::duplicates(program, rule);
    live::find(program, rule, sizes.infos, duplicates, &mut steps);
    // Only computed for the entry.
    let is_entry = rule.predicate == program.entry;
    let distinct_keys = if is_entry { distinct::columns(program, rule, sizes.infos) } else { None };
    let not_compared = distinct::not_compared(rule, distinct_keys);
    let (tried, in_order, by_size) = (None, Vec::new(), Vec::new());
    let plan = PipelinePlan {
        steps,
        duplicates,
        rows,
        places,
        distinct_keys,
        not_compared,
        tried,
        in_order,
        by_size,
        cost,
    };
    check::body(rule, &plan);
    plan
}

pub(crate) fn is_positive(literal: &Literal) -> bool {
    matches!(literal, Literal::Atom { negated: false, .. })
}

/// Whether a literal must wait for one of `left`: a random value is drawn for each row of the
/// literals written before it.
fn waits(place: usize, literal: &Literal, left: &[(usize, &Literal)]) -> bool {
    let is_row = |(other, before): &(usize, &Literal)| {
        let makes_rows = matches!(before, Literal::Member { .. } | Literal::Search(_));
        *other < place && (is_positive(before) || makes_rows)
    };
    literal.is_random() && left.iter().any(is_row)
}

/// An order under construction.
#[derive(Clone)]
pub(crate) struct Orderer<'a> {
    rule: &'a Rule,
    sizes: &'a Sizes<'a>,
    /// Whether it is for a semi-naive round. Then it avoids cross products, because the size of a
    /// magic set is unknown and its product with the delta may be too large.
    is_round: bool,
    /// Whether it may only use lookups of bound values.
    looks: bool,
    /// Whether every lookup is taken to find as many rows as the mean, however skewed the values.
    means: bool,
    bound: Vec<bool>,
    /// Variables whose value comes from the script or its parameters.
    known: Vec<bool>,
    /// Valid for bound variables.
    comes: Vec<ValueDistribution>,
    rows: f64,
    pub(crate) steps: Vec<PlannedStep>,
    /// For each step, the index of its literal in the body.
    pub(crate) places: Vec<usize>,
    /// Cost so far: the total rows that the steps read and leave.
    pub(crate) cost: f64,
    /// Bound on the number of distinct rows.
    frontier: Frontier,
}

impl<'a> Orderer<'a> {
    fn new(rule: &'a Rule, sizes: &'a Sizes<'a>, frontier: Frontier) -> Self {
        let variables = rule.variables.len();
        Self {
            rule,
            sizes,
            is_round: false,
            looks: false,
            means: false,
            bound: vec![false; variables],
            known: vec![false; variables],
            comes: vec![ValueDistribution::Once; variables],
            rows: 1.0,
            steps: Vec::new(),
            places: Vec::with_capacity(rule.body.len()),
            cost: 0.0,
            frontier,
        }
    }

    /// An order of a semi-naive round.
    pub(crate) fn of_round(rule: &'a Rule, sizes: &'a Sizes<'a>, frontier: Frontier) -> Self {
        Self { is_round: true, ..Self::new(rule, sizes, frontier) }
    }

    /// An order whose lookups are taken to find as many rows as the mean.
    pub(crate) fn of_means(program: &'a Program, rule: &'a Rule, sizes: &'a Sizes<'a>) -> Self {
        Self { means: true, ..Self::new(rule, sizes, Frontier::new(program, rule)) }
    }

    /// An order that uses only lookups of bound values, or starts with a derived relation.
    pub(crate) fn looking(program: &'a Program, rule: &'a Rule, sizes: &'a Sizes<'a>) -> Self {
        let frontier = Frontier::new(program, rule);
        Self { looks: true, ..Self::new(rule, sizes, frontier) }
    }

    /// Adds all literals, with the atom at index `first` before other atoms. Returns the error if
    /// some cannot be added.
    pub(crate) fn run(
        &mut self,
        mut first: Option<usize>,
        version: &dyn Fn(usize) -> Version,
    ) -> Option<Diagnostic> {
        let mut left: Vec<(usize, &Literal)> = self.rule.body.iter().enumerate().collect();
        while !left.is_empty() {
            let free = left.iter().position(|&(place, literal)| {
                self.is_free(literal) && !waits(place, literal, &left)
            });
            let next = match free {
                Some(free) => free,
                None => {
                    let best = self.cheapest(&left, first.take(), version);
                    // An atom may depend on a random value, for example in its `@ time`.
                    let drawn = || left.iter().position(|(_, literal)| self.is_free(literal));
                    match best.or_else(drawn) {
                        Some(best) => best,
                        None => return Some(self.unbound(&left)),
                    }
                }
            };
            let (place, literal) = left.remove(next);
            self.add(place, literal, version(place), &left);
        }
        None
    }

    /// Index in `left` of the literal that is estimated to cost least, or of the one at `first` in
    /// the body.
    fn cheapest(
        &self,
        left: &[(usize, &Literal)],
        first: Option<usize>,
        version: &dyn Fn(usize) -> Version,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (i, &(place, literal)) in left.iter().enumerate() {
            if waits(place, literal, left) {
                continue;
            }
            let Some(mut cost) = self.cost(literal, version(place)) else { continue };
            if self.is_round && self.is_apart(literal) {
                cost += cost::CROSS_PRODUCT_COST;
            } else if self.is_round && self.is_unrestricted_magic(literal) {
                cost += cost::UNRESTRICTED_MAGIC_COST;
            }
            if first == Some(place) {
                return Some(i);
            }
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, i));
            }
        }
        best.map(|(_, best)| best)
    }

    /// Adds the literal at `place` in the body, with its cost; `left` are those that follow.
    fn add(
        &mut self,
        place: usize,
        literal: &Literal,
        version: Version,
        left: &[(usize, &Literal)],
    ) {
        self.places.push(place);
        let before = self.rows;
        let once = self.once(literal);
        self.take(literal, version);
        // A lookup costs about as much as passing on one or two rows. A condition costs almost
        // nothing.
        self.cost += match literal {
            Literal::Atom { .. } => once + before + self.rows,
            _ => before * cost::EXPRESSION_COST,
        };
        self.frontier.bind(literal, self.sizes);
        self.rows = self.rows.min(self.frontier.rows_max(&self.bound, left));
        // Duplicates are only removed before another join.
        if let Some(last) = self.steps.last_mut()
            && left.iter().any(|(_, literal)| is_positive(literal))
        {
            last.rows = self.rows;
        }
    }

    /// Rows that are read once before the first lookup, to build a hash table.
    fn once(&self, literal: &Literal) -> f64 {
        match literal {
            Literal::Atom { source: Source::Stored(stored), args, negated: false, at, .. } => {
                let (_, prefix) = self.path(*stored, args, at.is_some());
                let is_bound = args.iter().flatten().any(|&var| self.bound[var]);
                match prefix == 0 && is_bound {
                    // The table contains all rows, even if there is a range.
                    true => self.sizes.infos[*stored].rows as f64,
                    false => 0.0,
                }
            }
            _ => 0.0,
        }
    }

    /// Whether no variable of an atom is bound: it would be a cross product.
    fn is_apart(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Atom { args, .. } => !args.iter().flatten().any(|&var| self.bound[var]),
            _ => false,
        }
    }

    /// Whether an atom of a recursive magic set is bound only in columns that the recursion passes
    /// on unchanged. All rows of the set may have the same values there, so that the join would be
    /// a cross product. An example is a closure with both ends bound: its magic set pairs the one
    /// start with every vertex.
    fn is_unrestricted_magic(&self, literal: &Literal) -> bool {
        let Literal::Atom { source: Source::Derived(read), args, .. } = literal else {
            return false;
        };
        let unchanged = self.sizes.unchanged.get(*read).map_or(&[][..], Vec::as_slice);
        let is_bound = |var: &Option<Var>| var.is_some_and(|var| self.bound[var]);
        let mut changed = args.iter().zip(unchanged).filter(|(_, unchanged)| !**unchanged);
        changed.clone().next().is_some() && !changed.any(|(var, _)| is_bound(var))
    }

    /// Whether a literal costs almost nothing and adds no rows.
    fn is_free(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Condition(expr) => expr.is_bound(&self.bound),
            Literal::Assign { value, .. } => value.is_bound(&self.bound),
            Literal::Same(a, b) => {
                (self.bound[*a] || self.bound[*b]) && !self.is_sought(*a) && !self.is_sought(*b)
            }
            Literal::Atom { negated: true, args, at, .. } => {
                args.iter().flatten().all(|&var| self.bound[var])
                    && at.iter().all(|at| at.is_bound(&self.bound))
            }
            Literal::Member { var, list, .. } => self.bound[*var] && list.is_bound(&self.bound),
            Literal::Atom { .. } | Literal::Search(_) => false,
        }
    }

    /// Whether a search that is still to be added binds a variable: nothing else may.
    fn is_sought(&self, var: Var) -> bool {
        let binds = |literal: &Literal| match literal {
            Literal::Search(search) => {
                let mut is_own = false;
                search.each_bound(&mut |bound| is_own |= bound == var);
                is_own
            }
            _ => false,
        };
        !self.bound[var] && self.rule.body.iter().any(binds)
    }

    /// Whether an atom may be added now. If only lookups are allowed, one of its variables must be
    /// bound, or it must be the first and derived.
    fn may_look(&self, source: Source, args: &[Option<Var>], is_at: bool) -> bool {
        if !self.looks {
            return true;
        }
        let is_bound = args.iter().flatten().any(|&var| self.bound[var]);
        let is_first = !self
            .steps
            .iter()
            .any(|planned| matches!(planned.step, Step::Stored { .. } | Step::Derived { .. }));
        match source {
            // A derived relation may come first: its size is known when it is read, and it may be
            // empty.
            Source::Derived(_) => is_bound || is_first,
            // If no access path starts with a bound column, a hash table is used. It is cached for
            // later queries.
            Source::Stored(stored) => is_bound || self.path(stored, args, is_at).1 > 0,
        }
    }

    /// The range that conditions imply for a key column of a stored relation that is not bound yet.
    fn range(
        &self,
        stored: usize,
        column: Option<usize>,
        args: &[Option<Var>],
    ) -> Option<Box<RangeHint>> {
        let value = KeyValue::of(&self.sizes.infos[stored], args, column?)?;
        match value.bound_var(self.rule, &self.bound) {
            Some(_) => None,
            None => bounds::find(self.rule, value),
        }
    }

    /// The bound variable with the value of a key column of a stored relation.
    fn bound_key(&self, stored: usize, args: &[Option<Var>], column: usize) -> Option<Var> {
        let value = KeyValue::of(&self.sizes.infos[stored], args, column)?;
        value.bound_var(self.rule, &self.bound)
    }

    /// Appends the step of a literal, and marks its variables as bound.
    fn take(&mut self, literal: &Literal, version: Version) {
        let before = self.rows;
        self.note_values(literal);
        let step = self.step(literal, version);
        literal.each_var(&mut |var| self.bound[var] = true);
        self.rows = self.rows.max(cost::ROWS_MIN);
        self.steps.push(PlannedStep {
            operator: physical::operator_of(&step, self.sizes.infos),
            step,
            live: Vec::new(),
            rows: self.rows,
            grows: self.rows / before,
            distinct: false,
            may_duplicate: false,
            span: literal.span().unwrap_or(self.rule.span),
            group_steps: 0,
            row_order: None,
        });
    }

    /// Records of the variables of a literal whether they come from the script, and how often their
    /// values repeat.
    fn note_values(&mut self, literal: &Literal) {
        match literal {
            Literal::Assign { var, value: expr, .. } | Literal::Member { var, list: expr, .. } => {
                let mut is_known = !expr.is_random();
                expr.each_var(&mut |var| is_known &= self.known[var]);
                self.known[*var] |= is_known;
                if !is_known && !self.bound[*var] {
                    self.comes[*var] = ValueDistribution::Again;
                }
            }
            Literal::Same(a, b) => {
                let is_known = self.known[*a] || self.known[*b];
                (self.known[*a], self.known[*b]) = (is_known, is_known);
                let bound = if self.bound[*a] { *a } else { *b };
                (self.comes[*a], self.comes[*b]) = (self.comes[bound], self.comes[bound]);
            }
            Literal::Atom { source, args, negated: false, .. } => self.come(*source, args),
            Literal::Search(search) => {
                search.each_bound(&mut |var| self.comes[var] = ValueDistribution::Again);
            }
            Literal::Atom { .. } | Literal::Condition(_) => {}
        }
    }

    /// The step of a literal, given the bound variables. Multiplies `rows` by the rows that it
    /// leaves of each.
    fn step(&mut self, literal: &Literal, version: Version) -> Step {
        match literal {
            Literal::Condition(expr) => {
                self.rows *= cost::CONDITION_SHARE;
                Step::Filter(expr.clone())
            }
            Literal::Assign { var, value, .. } => {
                let compare = self.bound[*var];
                Step::Assign { var: *var, value: value.clone(), compare }
            }
            Literal::Same(a, b) => {
                let (a, b) = if self.bound[*a] { (*a, *b) } else { (*b, *a) };
                Step::Same { a, b, compare: self.bound[b] }
            }
            Literal::Member { var, list, .. } => {
                self.rows *= cost::LIST_ROWS;
                Step::Member { var: *var, list: list.clone(), compare: self.bound[*var] }
            }
            Literal::Search(search) => {
                self.rows *= cost::SEARCH_ROWS;
                Step::Search(search.clone())
            }
            Literal::Atom { source: Source::Derived(predicate), args, negated, .. } => {
                let fanout = self.derived_fanout(*predicate, args, version);
                let (bound, outputs) = self.split(args);
                self.rows *= if *negated { cost::CONDITION_SHARE } else { fanout };
                Step::Derived { predicate: *predicate, version, bound, outputs, negated: *negated }
            }
            Literal::Atom { source: Source::Stored(stored), args, negated, at, .. } => {
                self.stored_step(*stored, args, *negated, at.clone())
            }
        }
    }

    /// The step of an atom over a stored relation, on its best access path.
    fn stored_step(
        &mut self,
        stored: usize,
        args: &[Option<Var>],
        negated: bool,
        at: Option<Expr>,
    ) -> Step {
        let (path, prefix) = self.path(stored, args, at.is_some());
        let fanout = self.stored_fanout(stored, path, prefix, args);
        let keys = &self.sizes.infos[stored].paths[path].keys;
        let range = match keys.get(prefix) {
            Some(&column) => self.range(stored, Some(column), args),
            None => None,
        };
        let own_key = self.sizes.infos[stored].paths[0].keys.first().copied();
        let own_range = match (path, prefix) {
            (1.., 0) => self.range(stored, own_key, args),
            _ => None,
        };
        let (mut checks, outputs) = self.split(args);
        checks.retain(|(column, _)| !keys[..prefix].contains(column));
        let bound = |&column: &usize| self.bound_key(stored, args, column);
        let prefix: Vec<Var> = keys[..prefix].iter().filter_map(bound).collect();
        self.rows *= if negated { cost::CONDITION_SHARE } else { fanout };
        Step::Stored { stored, path, prefix, range, own_range, checks, outputs, at, negated }
    }

    /// Records how often the values repeat that an atom binds.
    fn come(&mut self, source: Source, args: &[Option<Var>]) {
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

    /// Splits columns into those with bound variables and those that bind them.
    fn split(&self, args: &[Option<Var>]) -> (Vec<Place>, Vec<Place>) {
        let places = args.iter().enumerate().filter_map(|(column, var)| Some((column, (*var)?)));
        places.partition(|(_, var)| self.bound[*var])
    }

    fn unbound(&self, left: &[(usize, &Literal)]) -> Diagnostic {
        // A variable that another remaining literal would bind is not to blame, unless the literals
        // wait for each other.
        let mut bound = self.bound.clone();
        left.iter().for_each(|(_, literal)| literal.each_bound(&mut |var| bound[var] = true));
        for bound in [&bound, &self.bound] {
            for (_, literal) in left {
                let mut first = None;
                literal.each_var(&mut |var| first = first.or((!bound[var]).then_some(var)));
                if let Some(var) = first {
                    let span = literal.span_of(var).unwrap_or(self.rule.span);
                    return unbound(self.rule, var, span);
                }
            }
        }
        unbound(self.rule, 0, self.rule.span)
    }
}

fn unbound(rule: &Rule, var: Var, span: Span) -> Diagnostic {
    let name = rule.variables.get(var).map_or("?", String::as_str);
    let message = match name.strip_prefix('*') {
        None => format!("`{name}` is bound by nothing"),
        Some(_) => "this depends on a variable that nothing binds".to_owned(),
    };
    let hint = "a variable is bound by a rule, by a stored relation, by `=` or by `in`; `not` and conditions bind nothing";
    Diagnostic { message, span, hint: Some(hint.to_owned()) }
}
