//! Chooses the order in which a body's literals are evaluated, and an operator for each.
//!
//! # How the order is found
//! A greedy search starts from each atom, and the cheapest result is chosen. Free literals
//! (conditions, assignments, comparisons) come first, then the atom with the smallest estimated
//! number of rows, given the bound variables. Ties are broken by the order of the script. An
//! exhaustive search (Selinger et al., SIGMOD 1979) would gain less than the estimates are wrong
//! by.

use crate::bounds::{self, RangeHint, Sharpness};
use crate::catalog::{AccessPath, PrefixStatistics, RelationInfo};
use crate::check;
use crate::frontier::Frontier;
use crate::ir::{Expr, Literal, Program, Rule, Source, Var};
use crate::live::{self, Duplicates};
use crate::look_first;
use crate::together;
use crate::unequal;
use syntax::{Diagnostic, Span};

/// Maximum number of atoms that are each tried as the first. A larger body starts with the atom
/// that is estimated to leave the fewest rows.
pub(crate) const BEGINNINGS_MAX: usize = 12;

/// Estimated share of rows that match a bound column without statistics.
const REPEAT_RATE: f64 = 0.1;

/// Estimated rows of a derived relation whose size is unknown.
const ROWS_UNKNOWN: f64 = 1000.0;

/// As [`ROWS_UNKNOWN`], for recursive relations in an order of lookups only. Larger than any
/// relation, so that the recursion comes after all other lookups and is asked for as few values as
/// possible.
const ROWS_RECURSIVE: f64 = 1e12;

/// Number of scanned rows that cost as much as finding one row in an index and looking it up in its
/// relation: 20 to 40 ns each, against about 300 ns.
pub const LOOK_UP_ROWS: u64 = 10;

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

/// An operator of a pipeline.
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
        /// column.
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
            Self::Same { .. } | Self::Derived { .. } => None,
        }
    }
}

/// An operator with estimates and properties of the rows after it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The operator.
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
    pub finds_alike: bool,
    /// Position in the script.
    pub span: Span,
    /// Number of the following steps that belong to the same intersection group. They only check
    /// for a matching row, so the variable that this step binds can be found by intersecting all of
    /// them.
    pub together: usize,
}

/// How often the values of a variable repeat. If the data is skewed, the number of rows that a
/// lookup finds depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Comes {
    /// Each value once, as far as known.
    Once,
    /// As often as in some other column.
    Again,
    /// As often as in this column of this stored relation.
    From(usize, usize),
}

/// The plan of a rule's body: a pipeline of operators.
#[derive(Clone, Debug)]
pub struct BodyPlan {
    /// Operators in order.
    pub steps: Vec<Planned>,
    /// How duplicates are treated.
    pub duplicates: Duplicates,
    /// Estimated number of result rows.
    pub rows: f64,
    /// For each step, the index of its literal in the body.
    pub places: Vec<usize>,
    /// For the entry, if its rows are provably distinct: the number of leading head columns that
    /// form a unique key.
    pub unequal: Option<usize>,
    /// Head variables whose values are never compared, in ascending order.
    pub loose: Vec<Var>,
    /// An alternative order, to be tried before this one with its full scan.
    pub tried: Option<Box<Tried>>,
}

/// An order that starts with bound values, limited in the rows that it may read.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The plan of the order.
    pub plan: BodyPlan,
    /// Rows after which the alternative is abandoned, over all rounds of a recursion. A lookup
    /// counts as [`LOOK_UP_ROWS`].
    pub rows_max: u64,
}

/// Estimated sizes of relations.
pub(crate) struct Sizes<'a> {
    /// Estimated rows of each predicate, if known.
    pub(crate) predicates: &'a [Option<f64>],
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
) -> Result<BodyPlan, Diagnostic> {
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
                if other.run(Some(place), version).is_none() && other.cost < best.cost * 0.9 {
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
    let tried = look_first::find(program, rule, sizes, version, &best);
    let tried = tried.map(|(order, rows_max)| {
        Box::new(Tried { plan: finished(program, rule, sizes, order), rows_max })
    });
    Ok(BodyPlan { tried, ..finished(program, rule, sizes, best) })
}

/// Turns a complete order into a plan.
fn finished(program: &Program, rule: &Rule, sizes: &Sizes<'_>, order: Orderer<'_>) -> BodyPlan {
    let Orderer { rows, mut steps, mut places, .. } = order;
    together::find(&mut steps, &mut places);
    let duplicates = live::duplicates(program, rule);
    live::find(program, rule, sizes.infos, duplicates, &mut steps);
    // Only computed for the entry.
    let is_entry = rule.predicate == program.entry;
    let unequal = if is_entry { unequal::columns(program, rule, sizes.infos) } else { None };
    let loose = unequal::loose(rule, unequal);
    let plan = BodyPlan { steps, duplicates, rows, places, unequal, loose, tried: None };
    check::body(rule, &plan);
    plan
}

pub(crate) fn is_positive(literal: &Literal) -> bool {
    matches!(literal, Literal::Atom { negated: false, .. })
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
    bound: Vec<bool>,
    /// Variables whose value comes from the script or its parameters.
    known: Vec<bool>,
    /// Valid for bound variables.
    comes: Vec<Comes>,
    rows: f64,
    pub(crate) steps: Vec<Planned>,
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
            bound: vec![false; variables],
            known: vec![false; variables],
            comes: vec![Comes::Once; variables],
            rows: 1.0,
            steps: Vec::new(),
            places: Vec::with_capacity(rule.body.len()),
            cost: 0.0,
            frontier,
        }
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
            // A random value is drawn for each row of the literals written before it.
            let waits = |place: usize, literal: &Literal| {
                let is_row = |(other, before): &(usize, &Literal)| {
                    *other < place
                        && (is_positive(before) || matches!(before, Literal::Member { .. }))
                };
                literal.is_drawn() && left.iter().any(is_row)
            };
            let free = left
                .iter()
                .position(|(place, literal)| self.is_free(literal) && !waits(*place, literal));
            let next = match free {
                Some(free) => free,
                None => {
                    let mut best: Option<(f64, usize)> = None;
                    for (i, (place, literal)) in left.iter().enumerate() {
                        if waits(*place, literal) {
                            continue;
                        }
                        let Some(mut cost) = self.cost(literal, version(*place)) else { continue };
                        if self.is_round && self.is_apart(literal) {
                            cost += f64::MAX / 2.0;
                        }
                        if first == Some(*place) {
                            best = Some((cost, i));
                            break;
                        }
                        if best.is_none_or(|(least, _)| cost < least) {
                            best = Some((cost, i));
                        }
                    }
                    first = None;
                    // An atom may depend on a random value, for example in its `@ time`.
                    let drawn = || left.iter().position(|(_, literal)| self.is_free(literal));
                    match best.map(|(_, best)| best).or_else(drawn) {
                        Some(best) => best,
                        None => return Some(self.unbound(&left)),
                    }
                }
            };
            let (place, literal) = left.remove(next);
            self.places.push(place);
            let before = self.rows;
            let once = self.once(literal);
            self.take(literal, version(place));
            // A lookup costs about as much as passing on one or two rows. A condition costs almost
            // nothing.
            self.cost += match literal {
                Literal::Atom { .. } => once + before + self.rows,
                _ => before * 0.2,
            };
            self.frontier.bind(literal, self.sizes);
            self.rows = self.rows.min(self.frontier.rows_max(&self.bound, &left));
            // Duplicates are only removed before another join.
            if let Some(last) = self.steps.last_mut()
                && left.iter().any(|(_, literal)| is_positive(literal))
            {
                last.rows = self.rows;
            }
        }
        None
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

    /// Whether a literal costs almost nothing and adds no rows.
    fn is_free(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Condition(expr) => expr.is_bound(&self.bound),
            Literal::Assign { value, .. } => value.is_bound(&self.bound),
            Literal::Same(a, b) => self.bound[*a] || self.bound[*b],
            Literal::Atom { negated: true, args, at, .. } => {
                args.iter().flatten().all(|&var| self.bound[var])
                    && at.iter().all(|at| at.is_bound(&self.bound))
            }
            Literal::Member { var, list, .. } => self.bound[*var] && list.is_bound(&self.bound),
            Literal::Atom { .. } => false,
        }
    }

    /// Estimated rows that an atom or a list reads and leaves. `None` if it cannot be evaluated
    /// yet.
    fn cost(&self, literal: &Literal, version: Version) -> Option<f64> {
        match literal {
            Literal::Member { list, .. } => list.is_bound(&self.bound).then_some(self.rows * 3.0),
            Literal::Atom { source, args, negated: false, at, .. } => {
                if !at.iter().all(|at| at.is_bound(&self.bound))
                    || !self.may_look(*source, args, at.is_some())
                {
                    return None;
                }
                match *source {
                    Source::Derived(predicate) => {
                        Some(self.rows * self.derived_fanout(predicate, args, version).max(0.9))
                    }
                    Source::Stored(stored) => {
                        let (path, prefix) = self.path(stored, args, at.is_some());
                        let fanout = self.stored_fanout(stored, path, prefix, args);
                        let once = match prefix {
                            0 => {
                                self.sizes.infos[stored].rows as f64
                                    * 0.1
                                    * self.share(stored, path, 0, args)
                            }
                            _ => 0.0,
                        };
                        Some(self.rows * fanout.max(0.9) + once)
                    }
                }
            }
            _ => None,
        }
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

    fn derived_fanout(&self, predicate: usize, args: &[Option<Var>], version: Version) -> f64 {
        // The more columns of a recursive relation are bound, the fewer values it is asked for, so
        // it should come after other atoms.
        let unknown = if self.looks { ROWS_RECURSIVE } else { ROWS_UNKNOWN };
        let rows = self.sizes.predicates[predicate].unwrap_or(unknown).max(1.0);
        let rows = if version == Version::Delta { (rows * 0.1).max(1.0) } else { rows };
        let bound = args.iter().flatten().filter(|&&var| self.bound[var]).count();
        rows.powf(1.0 - bound as f64 / args.len().max(1) as f64)
    }

    /// The access path with the longest bound prefix, and the length of the prefix. Among paths
    /// with equal prefixes:
    ///
    /// - Without a prefix, the path whose next column has the most selective range wins. Its real
    ///   selectivity is measured when the query runs.
    /// - With a prefix, another path than the first is chosen only if the first has no range for
    ///   its next column, and the other one either contains all columns or has few rows per value.
    ///
    /// A read with `@` uses the relation itself, because it needs all versions of a key, which are
    /// adjacent only there.
    fn path(&self, stored: usize, args: &[Option<Var>], is_at: bool) -> (usize, usize) {
        let is_bound = |&&column: &&usize| args[column].is_some_and(|var| self.bound[var]);
        let paths = &self.sizes.infos[stored].paths;
        if is_at {
            let keys = &paths[0].keys;
            let keys = &keys[..keys.len().saturating_sub(1)];
            return (0, keys.iter().take_while(is_bound).count());
        }
        let mut best = (0, 0);
        let mut best_value = (0, Sharpness::Nothing);
        for (number, path) in paths.iter().enumerate() {
            let prefix = path.keys.iter().take_while(is_bound).count();
            if prefix < best_value.0 {
                continue;
            }
            let hint = match paths.len() {
                // There is no choice.
                1 => None,
                _ => self.range(path.keys.get(prefix).copied(), args),
            };
            let sharpness = hint.map_or(Sharpness::Nothing, |hint| hint.sharpness());
            let is_better = match prefix {
                _ if prefix > best_value.0 => true,
                0 => sharpness > best_value.1,
                _ if best_value.1 > Sharpness::Nothing => false,
                _ if self.covers(path, args) => sharpness > Sharpness::Nothing,
                _ => {
                    sharpness == Sharpness::Point
                        && self.values(stored, path, prefix) >= LOOK_UP_ROWS as f64
                }
            };
            if is_better {
                (best, best_value) = ((number, prefix), (prefix, sharpness));
            }
        }
        best
    }

    /// Whether the path contains all columns that an atom uses.
    fn covers(&self, path: &AccessPath, args: &[Option<Var>]) -> bool {
        let mut asked = args.iter().enumerate().filter(|(_, var)| var.is_some());
        asked.all(|(column, _)| path.covers.contains(&column))
    }

    fn stored_fanout(
        &self,
        stored: usize,
        path: usize,
        prefix: usize,
        args: &[Option<Var>],
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
                None => rows.powf(1.0 - prefix as f64 / path.keys.len() as f64),
            },
        };
        let bound = args.iter().enumerate().filter(|(column, var)| {
            var.is_some_and(|var| self.bound[var]) && !path.keys[..prefix].contains(column)
        });
        let hints = self.share(stored, number, prefix, args);
        // A bound column that is not in the prefix leaves a part of the rows.
        bound.fold(found * hints, |found, (column, _)| {
            let rate = info.repeat_rates.get(column).copied().flatten();
            (found * rate.unwrap_or(REPEAT_RATE)).max(found.min(1.0))
        })
    }

    /// Estimated rows that a lookup by these columns finds. If the values repeat as they do in the
    /// column itself, frequent values are looked up more often, and the estimate is `rows_met`. If
    /// each value occurs once, it is the mean. Otherwise, the distributions are assumed to be
    /// correlated, and the estimate is between the two.
    fn found(
        &self,
        stored: usize,
        prefix: &[usize],
        args: &[Option<Var>],
        known: &PrefixStatistics,
    ) -> f64 {
        let handle = |stored: usize| self.sizes.infos[stored].handle;
        let mean = (self.sizes.infos[stored].rows as f64).max(1.0) / known.values.max(1.0);
        let met = known.rows_met.max(mean);
        let comes = prefix.iter().map(|&column| args[column].map(|var| (column, self.comes[var])));
        let mut comes = comes.flatten().filter(|(_, comes)| *comes != Comes::Once).peekable();
        if comes.peek().is_none() {
            return mean;
        }
        let is_same = |(column, comes)| match comes {
            Comes::From(from, there) => handle(from) == handle(stored) && there == column,
            Comes::Once | Comes::Again => false,
        };
        if comes.all(is_same) { met } else { (mean * met).sqrt() }
    }

    /// Estimated share of the rows with a prefix that the range of the next column leaves.
    fn share(&self, stored: usize, path: usize, prefix: usize, args: &[Option<Var>]) -> f64 {
        let path = &self.sizes.infos[stored].paths[path];
        let hint = self.range(path.keys.get(prefix).copied(), args);
        match hint.map_or(Sharpness::Nothing, |hint| hint.sharpness()) {
            Sharpness::Nothing => 1.0,
            Sharpness::OneSide => 0.3,
            Sharpness::Stretch => 0.1,
            Sharpness::Point => 1.0 / self.values(stored, path, prefix),
        }
    }

    /// Estimated number of distinct values of the key column after a prefix, for one value of the
    /// prefix.
    fn values(&self, stored: usize, path: &AccessPath, prefix: usize) -> f64 {
        let distinct = |keys: usize| Some(path.prefixes.get(keys.wrapping_sub(1))?.values);
        let rows = (self.sizes.infos[stored].rows as f64).max(1.0);
        let values = match (prefix, distinct(prefix), distinct(prefix + 1)) {
            (0, _, Some(values)) => values,
            (_, Some(before), Some(values)) => values / before.max(1.0),
            _ => rows.powf(1.0 / path.keys.len() as f64),
        };
        values.max(1.0)
    }

    /// The range that conditions imply for a column that is not bound yet.
    fn range(&self, column: Option<usize>, args: &[Option<Var>]) -> Option<Box<RangeHint>> {
        let var = args[column?]?;
        if self.bound[var] { None } else { bounds::find(self.rule, var) }
    }

    fn take(&mut self, literal: &Literal, version: Version) {
        let before = self.rows;
        match literal {
            Literal::Assign { var, value: expr, .. } | Literal::Member { var, list: expr, .. } => {
                let mut is_known = !expr.is_drawn();
                expr.each_var(&mut |var| is_known &= self.known[var]);
                self.known[*var] |= is_known;
                if !is_known && !self.bound[*var] {
                    self.comes[*var] = Comes::Again;
                }
            }
            Literal::Same(a, b) => {
                let is_known = self.known[*a] || self.known[*b];
                (self.known[*a], self.known[*b]) = (is_known, is_known);
                let bound = if self.bound[*a] { *a } else { *b };
                (self.comes[*a], self.comes[*b]) = (self.comes[bound], self.comes[bound]);
            }
            Literal::Atom { source, args, negated: false, .. } => self.come(*source, args),
            Literal::Atom { .. } | Literal::Condition(_) => {}
        }
        let step = match literal {
            Literal::Condition(expr) => {
                self.rows *= 0.5;
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
                self.rows *= 3.0;
                Step::Member { var: *var, list: list.clone(), compare: self.bound[*var] }
            }
            Literal::Atom { source: Source::Derived(predicate), args, negated, .. } => {
                let fanout = self.derived_fanout(*predicate, args, version);
                let (bound, outputs) = self.split(args);
                self.rows *= if *negated { 0.5 } else { fanout };
                Step::Derived { predicate: *predicate, version, bound, outputs, negated: *negated }
            }
            Literal::Atom { source: Source::Stored(stored), args, negated, at, .. } => {
                let (path, prefix) = self.path(*stored, args, at.is_some());
                let fanout = self.stored_fanout(*stored, path, prefix, args);
                let keys = &self.sizes.infos[*stored].paths[path].keys;
                let range = match keys.get(prefix) {
                    Some(&column) => self.range(Some(column), args),
                    None => None,
                };
                let own_key = self.sizes.infos[*stored].paths[0].keys.first().copied();
                let own_range = match (path, prefix) {
                    (1.., 0) => self.range(own_key, args),
                    _ => None,
                };
                let (mut checks, outputs) = self.split(args);
                checks.retain(|(column, _)| !keys[..prefix].contains(column));
                let prefix: Vec<Var> =
                    keys[..prefix].iter().filter_map(|&column| args[column]).collect();
                self.rows *= if *negated { 0.5 } else { fanout };
                Step::Stored {
                    stored: *stored,
                    path,
                    prefix,
                    range,
                    own_range,
                    checks,
                    outputs,
                    at: at.clone(),
                    negated: *negated,
                }
            }
        };
        literal.each_var(&mut |var| self.bound[var] = true);
        self.rows = self.rows.max(0.01);
        self.steps.push(Planned {
            step,
            live: Vec::new(),
            rows: self.rows,
            grows: self.rows / before,
            distinct: false,
            finds_alike: false,
            span: literal.span().unwrap_or(self.rule.span),
            together: 0,
        });
    }

    /// Records how often the values repeat that an atom binds.
    fn come(&mut self, source: Source, args: &[Option<Var>]) {
        for (column, var) in args.iter().enumerate() {
            let Some(var) = *var else { continue };
            if self.bound[var] {
                continue;
            }
            self.comes[var] = match source {
                Source::Derived(_) if args.len() == 1 => Comes::Once,
                Source::Derived(_) => Comes::Again,
                Source::Stored(stored) => match self.sizes.infos[stored].keys == 1 && column == 0 {
                    true => Comes::Once,
                    false => Comes::From(stored, column),
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
