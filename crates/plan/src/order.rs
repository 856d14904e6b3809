//! In which order a body's literals are taken, and how each is computed.
//!
//! # How the order is found
//! Greedily from each atom as the first, and the cheapest of these orders is taken: what is free (a
//! condition, an assignment, a comparison) comes first; then the atom that is thought to leave the
//! fewest rows, given what is bound. Written order only breaks ties. An exhaustive search (Selinger
//! et al., SIGMOD 1979) would mend estimates that are coarser than its gain.

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

/// Atoms of a body that are each tried as the first; larger bodies begin with the one that leaves
/// fewest rows.
pub(crate) const BEGINNINGS_MAX: usize = 12;

/// Of the rows that are left, those in which a column of which nothing is known is what it must be.
const REPEAT_RATE: f64 = 0.1;

/// Rows of a derived relation of which nothing is known.
const ROWS_UNKNOWN: f64 = 1000.0;

/// The same of a recursive one in an order that only looks for what is bound: more than any
/// relation, so that all else that may be looked up is, and the recursion is asked for as little as
/// can be.
const ROWS_RECURSIVE: f64 = 1e12;

/// Rows of a scan that cost as much as one that is found in an index and looked up in its relation
/// (20 to 40 ns and some 300).
pub const LOOK_UP_ROWS: u64 = 10;

/// A column, and the variable that stands there.
type Place = (usize, Var);

/// Which rows of a derived relation an atom reads, in semi-naive evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// All that there are.
    Total,
    /// Those that were there before the last round.
    Old,
    /// Those that the last round found.
    Delta,
}

/// One operator.
#[derive(Clone, Debug)]
pub enum Step {
    /// Binds or, where it is bound, compares.
    Assign {
        /// The variable.
        var: Var,
        /// Its value.
        value: Expr,
        /// Whether it is compared.
        compare: bool,
    },
    /// Keeps rows for which it is true.
    Filter(Expr),
    /// Keeps rows in which two variables are the same value, or binds the second.
    Same {
        /// Bound.
        a: Var,
        /// Bound where `compare`.
        b: Var,
        /// Whether both are bound.
        compare: bool,
    },
    /// A row for each item of a list.
    Member {
        /// The variable.
        var: Var,
        /// The list.
        list: Expr,
        /// Whether it is compared.
        compare: bool,
    },
    /// Joins with a derived relation.
    Derived {
        /// Which.
        predicate: usize,
        /// Which of its rows.
        version: Version,
        /// Columns that are bound, and by which variable.
        bound: Vec<(usize, Var)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, Var)>,
        /// Keeps rows that find none.
        negated: bool,
    },
    /// Joins with a stored relation.
    Stored {
        /// Entry of [`Program::stored`].
        stored: usize,
        /// Entry of [`RelationInfo::paths`].
        path: usize,
        /// Key columns of the path that are bound, and by which variables.
        prefix: Vec<Var>,
        /// What is known of the key column after the prefix.
        range: Option<Box<RangeHint>>,
        /// Where a path that is not the relation itself was chosen for its range alone: what is
        /// known of the relation's own first key column.
        own_range: Option<Box<RangeHint>>,
        /// Other bound columns.
        checks: Vec<(usize, Var)>,
        /// Columns that bind variables.
        outputs: Vec<(usize, Var)>,
        /// As of when.
        at: Option<Expr>,
        /// Keeps rows that find none.
        negated: bool,
    },
}

impl Step {
    /// The expression that it computes.
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

/// A step, and what is left after it.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The operator.
    pub step: Step,
    /// Variables that are bound and still needed.
    pub live: Vec<Var>,
    /// Rows thought to be there, where equal ones are made one.
    pub rows: f64,
    /// Rows that it is thought to make of each row, equal ones included.
    pub grows: f64,
    /// Equal rows may be made one here: what made them differ is needed no more, and more joins
    /// follow.
    pub distinct: bool,
    /// A join that finds rows which differ only in what it does not ask for.
    pub finds_alike: bool,
    /// Where it is written.
    pub span: Span,
    /// So many steps after this one, all of which ask whether a row is there, may be answered
    /// together with it: they bind the variable that this step binds, by intersection.
    pub together: usize,
}

/// How often the values of a variable come again: how many rows a look-up by it finds depends on
/// it, where some values have many.
#[derive(Clone, Copy, PartialEq)]
enum Comes {
    /// Each once, as far as is known.
    Once,
    /// As often as they are in some other column.
    Again,
    /// As often as they are in this column of this stored relation.
    From(usize, usize),
}

/// How a body is computed.
#[derive(Clone, Debug)]
pub struct BodyPlan {
    /// In order.
    pub steps: Vec<Planned>,
    /// What equal rows mean.
    pub duplicates: Duplicates,
    /// Rows thought to come out.
    pub rows: f64,
    /// Places of the body's literals, in the order of the steps.
    pub places: Vec<usize>,
    /// Of the entry: so many of the first columns of the head tell all rows apart that come out;
    /// `None` where some may be equal.
    pub unequal: Option<usize>,
    /// Variables of the head whose values are compared with nothing, in order.
    pub loose: Vec<Var>,
    /// Another order, to be tried before this one, which reads a relation whole.
    pub tried: Option<Box<Tried>>,
}

/// An order that begins with what is bound.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The order.
    pub plan: BodyPlan,
    /// Rows after which it is given up, in all rounds of a recursion together; a look-up counts as
    /// [`LOOK_UP_ROWS`] of them.
    pub rows_max: u64,
}

/// What is thought of the sizes of derived relations.
pub(crate) struct Sizes<'a> {
    /// Of each predicate, where it is known.
    pub(crate) predicates: &'a [Option<f64>],
    /// Of stored relations.
    pub(crate) infos: &'a [RelationInfo],
}

/// The plan of a rule whose recursive atoms read the versions that `version` says, by place in the
/// body.
///
/// # Errors
/// A variable that nothing binds.
pub(crate) fn order(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    version: &dyn Fn(usize) -> Version,
) -> Result<BodyPlan, Diagnostic> {
    let frontier = Frontier::new(program, rule);
    let mut best = Orderer::new(rule, sizes, frontier.clone());
    // A round that reads anything but what is new whole costs as much as that, however little is
    // new.
    let new = (0..rule.body.len()).find(|&place| version(place) == Version::Delta);
    best.is_round = new.is_some();
    let unbound = best.run(new, version);
    if unbound.is_none() && new.is_none() {
        // The atom that leaves fewest rows is not always the one to begin with: what is small may
        // lead to what is large.
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

/// The plan of an order that takes all literals.
fn finished(program: &Program, rule: &Rule, sizes: &Sizes<'_>, order: Orderer<'_>) -> BodyPlan {
    let Orderer { rows, mut steps, mut places, .. } = order;
    together::find(&mut steps, &mut places);
    let duplicates = live::duplicates(program, rule);
    live::find(program, rule, sizes.infos, duplicates, &mut steps);
    // Of another rule nobody asks.
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

/// An order that is being made.
#[derive(Clone)]
pub(crate) struct Orderer<'a> {
    rule: &'a Rule,
    sizes: &'a Sizes<'a>,
    /// Whether it is of a round, in which all pairs of what is new and what was asked are too many:
    /// how much is asked is not known.
    is_round: bool,
    /// Whether it may only look for what is bound.
    looks: bool,
    bound: Vec<bool>,
    /// Bound to values that the script or its parameters say.
    known: Vec<bool>,
    /// Of those that are bound.
    comes: Vec<Comes>,
    rows: f64,
    pub(crate) steps: Vec<Planned>,
    /// Places of the body's literals, in the order of the steps.
    pub(crate) places: Vec<usize>,
    /// Rows that the steps look at and leave, in all.
    pub(crate) cost: f64,
    /// How many rows can differ.
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

    /// One that only looks for what is bound, or begins with few rows.
    pub(crate) fn looking(program: &'a Program, rule: &'a Rule, sizes: &'a Sizes<'a>) -> Self {
        let frontier = Frontier::new(program, rule);
        Self { looks: true, ..Self::new(rule, sizes, frontier) }
    }

    /// Takes all literals, the one at place `first` before all other atoms; what is wrong if they
    /// cannot all be taken.
    pub(crate) fn run(
        &mut self,
        mut first: Option<usize>,
        version: &dyn Fn(usize) -> Version,
    ) -> Option<Diagnostic> {
        let mut left: Vec<(usize, &Literal)> = self.rule.body.iter().enumerate().collect();
        while !left.is_empty() {
            // A value is drawn for each row of what is written before it.
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
                    // An atom may wait for what is drawn: as of when it is asked, say.
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
            // To look something up costs about as much as to hand on a row or two; a condition is
            // next to nothing.
            self.cost += match literal {
                Literal::Atom { .. } => once + before + self.rows,
                _ => before * 0.2,
            };
            self.frontier.bind(literal, self.sizes);
            self.rows = self.rows.min(self.frontier.rows_max(&self.bound, &left));
            // Only before another join are equal rows made one.
            if let Some(last) = self.steps.last_mut()
                && left.iter().any(|(_, literal)| is_positive(literal))
            {
                last.rows = self.rows;
            }
        }
        None
    }

    /// Rows that are read once, before the first look-up.
    fn once(&self, literal: &Literal) -> f64 {
        match literal {
            Literal::Atom { source: Source::Stored(stored), args, negated: false, at, .. } => {
                let (_, prefix) = self.path(*stored, args, at.is_some());
                let is_bound = args.iter().flatten().any(|&var| self.bound[var]);
                match prefix == 0 && is_bound {
                    // Made for all rows, of whatever range.
                    true => self.sizes.infos[*stored].rows as f64,
                    false => 0.0,
                }
            }
            _ => 0.0,
        }
    }

    /// Whether an atom has nothing to do with what is bound.
    fn is_apart(&self, literal: &Literal) -> bool {
        match literal {
            Literal::Atom { args, .. } => !args.iter().flatten().any(|&var| self.bound[var]),
            _ => false,
        }
    }

    /// Whether it costs next to nothing and adds no rows.
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

    /// Rows looked at and left by an atom or a list; `None` where it cannot be taken yet.
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

    /// Whether an atom may be taken now where only what is bound is looked for: if anything of it
    /// is bound, or it is the first and a rule's.
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
            // How many rows a rule has is known when it was computed: it may have none.
            Source::Derived(_) => is_bound || is_first,
            // Where no stored order begins with what is bound, a table in memory does, which is
            // kept for the next query.
            Source::Stored(stored) => is_bound || self.path(stored, args, is_at).1 > 0,
        }
    }

    fn derived_fanout(&self, predicate: usize, args: &[Option<Var>], version: Version) -> f64 {
        // A recursive rule is asked for less the more of it is bound, so that it comes after
        // others.
        let unknown = if self.looks { ROWS_RECURSIVE } else { ROWS_UNKNOWN };
        let rows = self.sizes.predicates[predicate].unwrap_or(unknown).max(1.0);
        let rows = if version == Version::Delta { (rows * 0.1).max(1.0) } else { rows };
        let bound = args.iter().flatten().filter(|&&var| self.bound[var]).count();
        rows.powf(1.0 - bound as f64 / args.len().max(1) as f64)
    }

    /// The path with the longest bound prefix, and its length. Where two are equal: without a
    /// prefix the one of whose next column conditions say most, for how much that really is is
    /// asked when the query runs; after a prefix another than the first only where conditions say
    /// nothing of the first one's, and it has all columns or few rows of a value. What held at a
    /// time is found among all rows of a key without its validity, and only where those stand
    /// together.
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
                // There is nothing to choose.
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

    /// Whether all columns that an atom asks for are read there.
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
        // A bound column that is no key of the path: some of its values are left.
        bound.fold(found * hints, |found, (column, _)| {
            let rate = info.repeat_rates.get(column).copied().flatten();
            (found * rate.unwrap_or(REPEAT_RATE)).max(found.min(1.0))
        })
    }

    /// Rows that a look-up by these columns finds. By values that come as often as they do here, as
    /// many as a row has beside it; by values that come once each, the mean; who comes more often
    /// elsewhere tends to do so here too, and lies between.
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

    /// The share of a path's rows with a prefix that conditions on the next column are thought to
    /// leave.
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

    /// How many values the key column after a prefix is thought to have where the prefix is one.
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

    /// What conditions say of a column that is not bound yet.
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

    /// How often the values come that an atom binds.
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

    /// Columns whose variables are bound, and those that bind theirs.
    fn split(&self, args: &[Option<Var>]) -> (Vec<Place>, Vec<Place>) {
        let places = args.iter().enumerate().filter_map(|(column, var)| Some((column, (*var)?)));
        places.partition(|(_, var)| self.bound[*var])
    }

    fn unbound(&self, left: &[(usize, &Literal)]) -> Diagnostic {
        // What would be bound if the literals could be taken is not to blame, unless they wait for
        // each other.
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
