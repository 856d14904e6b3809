//! An order of a body under construction: literals are added one by one, each with its step.
//!
//! Free literals (conditions, assignments, comparisons) come first, then the atom with the smallest
//! estimated number of rows, given the bound variables. Ties are broken by the order of the script.

use crate::cost;
use crate::estimate::{Bindings, ValueDistribution};
use crate::frontier::Frontier;
use crate::ids::{Id, PerVar, StoredId, VarId};
use crate::ir::{Expr, Literal, Program, Rule, Source};
use crate::physical;
use crate::pipeline::PlannedStep;
use crate::sizes::Sizes;
use crate::step::{Step, Version};
use syntax::{Diagnostic, Span};

/// Maximum number of atoms that are each tried as the first. A larger body starts with the atom
/// that is estimated to leave the fewest rows.
pub(crate) const BEGINNINGS_MAX: usize = 12;

/// A column and its variable.
type Place = (usize, VarId);

/// An order under construction.
#[derive(Clone)]
pub(crate) struct Orderer<'a> {
    bindings: Bindings<'a>,
    /// Whether it is for a semi-naive round. Then it avoids cross products, because the size of a
    /// magic set is unknown and its product with the delta may be too large.
    is_round: bool,
    /// Variables whose value comes from the script or its parameters.
    known: PerVar<bool>,
    /// Estimated rows after the steps so far.
    pub(crate) rows: f64,
    pub(crate) steps: Vec<PlannedStep>,
    /// For each step, the index of its literal in the body.
    pub(crate) places: Vec<usize>,
    /// Cost so far: the total rows that the steps read and leave.
    pub(crate) cost: f64,
    /// Bound on the number of distinct rows.
    frontier: Frontier,
}

impl<'a> Orderer<'a> {
    pub(crate) fn new(rule: &'a Rule, sizes: &'a Sizes<'a>, frontier: Frontier) -> Self {
        Self {
            bindings: Bindings::new(rule, sizes),
            is_round: false,
            known: PerVar::filled(false, rule.variables.len()),
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
        let bindings = Bindings { means: true, ..Bindings::new(rule, sizes) };
        Self { bindings, ..Self::new(rule, sizes, Frontier::new(program, rule)) }
    }

    /// An order that uses only lookups of bound values, or starts with a derived relation.
    pub(crate) fn looking(program: &'a Program, rule: &'a Rule, sizes: &'a Sizes<'a>) -> Self {
        let bindings = Bindings { looks: true, ..Bindings::new(rule, sizes) };
        Self { bindings, ..Self::new(rule, sizes, Frontier::new(program, rule)) }
    }

    /// The first head variable that no literal binds.
    pub(crate) fn unbound_in_head(&self) -> Option<Diagnostic> {
        let rule = self.bindings.rule;
        let var = rule.head.iter().find(|&&var| !self.bindings.bound[var])?;
        Some(unbound(rule, *var, rule.span))
    }

    /// Adds all literals, with the atom at index `first` before other atoms. Returns the error if
    /// some cannot be added.
    pub(crate) fn run(
        &mut self,
        mut first: Option<usize>,
        version: &dyn Fn(usize) -> Version,
    ) -> Option<Diagnostic> {
        let mut left: Vec<(usize, &Literal)> = self.bindings.rule.body.iter().enumerate().collect();
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

    /// Estimated rows that an atom or a list reads and leaves. `None` if it cannot be added yet.
    fn cost(&self, literal: &Literal, version: Version) -> Option<f64> {
        match literal {
            Literal::Atom { source, args, negated: false, at, .. }
                if !self.may_look(*source, args, at.is_some()) =>
            {
                None
            }
            _ => self.bindings.cost(literal, version, self.rows),
        }
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
        self.frontier.bind(literal, self.bindings.sizes);
        self.rows = self.rows.min(self.frontier.rows_max(&self.bindings.bound, left));
        // Duplicates are only removed before another join.
        if let Some(last) = self.steps.last_mut()
            && left.iter().any(|(_, literal)| literal.is_positive())
        {
            last.rows = self.rows;
        }
    }

    /// Rows that are read once before the first lookup, to build a hash table.
    fn once(&self, literal: &Literal) -> f64 {
        match literal {
            Literal::Atom { source: Source::Stored(stored), args, negated: false, at, .. } => {
                let (_, prefix) = self.bindings.path(*stored, args, at.is_some());
                let is_bound = args.iter().flatten().any(|&var| self.bindings.bound[var]);
                match prefix == 0 && is_bound {
                    // The table contains all rows, even if there is a range.
                    true => self.bindings.sizes.infos[*stored].rows as f64,
                    false => 0.0,
                }
            }
            _ => 0.0,
        }
    }

    /// Whether no variable of an atom is bound: it would be a cross product.
    fn is_apart(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Atom { args, .. } => {
                !args.iter().flatten().any(|&var| self.bindings.bound[var])
            }
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
        let unchanged = self.bindings.sizes.unchanged.get(*read).map_or(&[][..], Vec::as_slice);
        let is_bound = |var: &Option<VarId>| var.is_some_and(|var| self.bindings.bound[var]);
        let mut changed = args.iter().zip(unchanged).filter(|(_, unchanged)| !**unchanged);
        changed.clone().next().is_some() && !changed.any(|(var, _)| is_bound(var))
    }

    /// Whether a literal costs almost nothing and adds no rows.
    fn is_free(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Condition(expr) => expr.is_bound(&self.bindings.bound),
            Literal::Assign { value, .. } => value.is_bound(&self.bindings.bound),
            Literal::Same(a, b) => {
                (self.bindings.bound[*a] || self.bindings.bound[*b])
                    && !self.is_sought(*a)
                    && !self.is_sought(*b)
            }
            Literal::Atom { negated: true, args, at, .. } => {
                args.iter().flatten().all(|&var| self.bindings.bound[var])
                    && at.iter().all(|at| at.is_bound(&self.bindings.bound))
            }
            Literal::Member { var, list, .. } => {
                self.bindings.bound[*var] && list.is_bound(&self.bindings.bound)
            }
            Literal::Atom { .. } | Literal::Search(_) => false,
        }
    }

    /// Whether a search that is still to be added binds a variable: nothing else may.
    fn is_sought(&self, var: VarId) -> bool {
        let binds = |literal: &Literal| match literal {
            Literal::Search(search) => {
                let mut is_own = false;
                search.each_bound(&mut |bound| is_own |= bound == var);
                is_own
            }
            _ => false,
        };
        !self.bindings.bound[var] && self.bindings.rule.body.iter().any(binds)
    }

    /// Whether an atom may be added now. If only lookups are allowed, one of its variables must be
    /// bound, or it must be the first and derived.
    fn may_look(&self, source: Source, args: &[Option<VarId>], is_at: bool) -> bool {
        if !self.bindings.looks {
            return true;
        }
        let is_bound = args.iter().flatten().any(|&var| self.bindings.bound[var]);
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
            Source::Stored(stored) => is_bound || self.bindings.path(stored, args, is_at).1 > 0,
        }
    }

    /// Appends the step of a literal, and marks its variables as bound.
    fn take(&mut self, literal: &Literal, version: Version) {
        let before = self.rows;
        self.note_values(literal);
        let step = self.step(literal, version);
        literal.each_var(&mut |var| self.bindings.bound[var] = true);
        self.rows = self.rows.max(cost::ROWS_MIN);
        self.steps.push(PlannedStep {
            operator: physical::operator_of(&step, self.bindings.sizes.infos),
            step,
            live: Vec::new(),
            rows: self.rows,
            grows: self.rows / before,
            distinct: false,
            may_duplicate: false,
            span: literal.span().unwrap_or(self.bindings.rule.span),
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
                if !is_known && !self.bindings.bound[*var] {
                    self.bindings.comes[*var] = ValueDistribution::Again;
                }
            }
            Literal::Same(a, b) => {
                let is_known = self.known[*a] || self.known[*b];
                (self.known[*a], self.known[*b]) = (is_known, is_known);
                let bound = if self.bindings.bound[*a] { *a } else { *b };
                (self.bindings.comes[*a], self.bindings.comes[*b]) =
                    (self.bindings.comes[bound], self.bindings.comes[bound]);
            }
            Literal::Atom { source, args, negated: false, .. } => self.bindings.come(*source, args),
            Literal::Search(search) => {
                search.each_bound(&mut |var| self.bindings.comes[var] = ValueDistribution::Again);
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
                let compare = self.bindings.bound[*var];
                Step::Assign { var: *var, value: value.clone(), compare }
            }
            Literal::Same(a, b) => {
                let (a, b) = if self.bindings.bound[*a] { (*a, *b) } else { (*b, *a) };
                Step::Same { a, b, compare: self.bindings.bound[b] }
            }
            Literal::Member { var, list, .. } => {
                self.rows *= cost::LIST_ROWS;
                Step::Member { var: *var, list: list.clone(), compare: self.bindings.bound[*var] }
            }
            Literal::Search(search) => {
                self.rows *= cost::SEARCH_ROWS;
                Step::Search(search.clone())
            }
            Literal::Atom { source: Source::Derived(predicate), args, negated, .. } => {
                let fanout = self.bindings.derived_fanout(*predicate, args, version);
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
        stored: StoredId,
        args: &[Option<VarId>],
        negated: bool,
        at: Option<Expr>,
    ) -> Step {
        let (path, prefix) = self.bindings.path(stored, args, at.is_some());
        let fanout = self.bindings.stored_fanout(stored, path, prefix, args);
        let keys = &self.bindings.sizes.infos[stored].paths[path].keys;
        let range = match keys.get(prefix) {
            Some(&column) => self.bindings.range(stored, Some(column), args),
            None => None,
        };
        let own_key = self.bindings.sizes.infos[stored].paths[0].keys.first().copied();
        let own_range = match (path, prefix) {
            (1.., 0) => self.bindings.range(stored, own_key, args),
            _ => None,
        };
        let (mut checks, outputs) = self.split(args);
        checks.retain(|(column, _)| !keys[..prefix].contains(column));
        let bound = |&column: &usize| self.bindings.bound_key(stored, args, column);
        let prefix: Vec<VarId> = keys[..prefix].iter().filter_map(bound).collect();
        self.rows *= if negated { cost::CONDITION_SHARE } else { fanout };
        Step::Stored { stored, path, prefix, range, own_range, checks, outputs, at, negated }
    }

    /// Splits columns into those with bound variables and those that bind them.
    fn split(&self, args: &[Option<VarId>]) -> (Vec<Place>, Vec<Place>) {
        let places = args.iter().enumerate().filter_map(|(column, var)| Some((column, (*var)?)));
        places.partition(|(_, var)| self.bindings.bound[*var])
    }

    fn unbound(&self, left: &[(usize, &Literal)]) -> Diagnostic {
        // A variable that another remaining literal would bind is not to blame, unless the literals
        // wait for each other.
        let mut bound = self.bindings.bound.clone();
        left.iter().for_each(|(_, literal)| literal.each_bound(&mut |var| bound[var] = true));
        for bound in [&bound, &self.bindings.bound] {
            for (_, literal) in left {
                let mut first = None;
                literal.each_var(&mut |var| first = first.or((!bound[var]).then_some(var)));
                if let Some(var) = first {
                    let span = literal.span_of(var).unwrap_or(self.bindings.rule.span);
                    return unbound(self.bindings.rule, var, span);
                }
            }
        }
        unbound(self.bindings.rule, VarId::new(0), self.bindings.rule.span)
    }
}

/// Whether a literal must wait for one of `left`: a random value is drawn for each row of the
/// literals written before it.
fn waits(place: usize, literal: &Literal, left: &[(usize, &Literal)]) -> bool {
    let is_row = |(other, before): &(usize, &Literal)| {
        let makes_rows = matches!(before, Literal::Member { .. } | Literal::Search(_));
        *other < place && (before.is_positive() || makes_rows)
    };
    literal.is_random() && left.iter().any(is_row)
}

fn unbound(rule: &Rule, var: VarId, span: Span) -> Diagnostic {
    let name = rule.variables.get(var).map_or("?", String::as_str);
    let message = match name.strip_prefix('*') {
        None => format!("`{name}` is bound by nothing"),
        Some(_) => "this depends on a variable that nothing binds".to_owned(),
    };
    let hint = "a variable is bound by a rule, by a stored relation, by `=` or by `in`; `not` and conditions bind nothing";
    Diagnostic { message, span, hint: Some(hint.to_owned()) }
}
