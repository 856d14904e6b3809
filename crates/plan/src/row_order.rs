//! Finds the access path whose order is the one that a query asks for, so that its first rows are
//! read first.
//!
//! # Why
//! `:order -ts :limit 10` needs ten rows. An index by `ts` that is read backwards finds them first,
//! while sorting reads all rows (interesting orders: Selinger et al., *Access path selection in a
//! relational database management system*, SIGMOD 1979).
//!
//! # Invariants
//! 1. A plan in order is an addition: the plan that sorts stays, and runs if reading in order takes
//!    too long. Both give the same rows.
//! 2. The rows of the reading step arrive in the order of [`RowOrder::columns`] key columns. Later
//!    steps do not change these columns, so the first rows of the result come from the first rows
//!    that are read.

use crate::bounds::{self, Selectivity};
use crate::catalog::RelationInfo;
use crate::cost;
use crate::finish::finished;
use crate::ids::{PerVar, StoredId, VarId};
use crate::ir::{Expr, Literal, PredicateKind, Program, Rule, Source};
use crate::key_value::KeyValue;
use crate::orderer::Orderer;
use crate::physical::{OperatorName, Physical};
use crate::pipeline::{InOrder, PipelinePlan, RowOrder, Ties};
use crate::resolve::resolve_expression;
use crate::sizes::Sizes;
use crate::step::{Step, Version};
use model::{Type, Value};

/// Rows that a query is taken to ask for if its limit is a parameter.
const ROWS_UNKNOWN: f64 = 10.0;

/// An order whose rows are checked by joins is taken to cost this many times its estimate.
const JOIN_DOUBT: f64 = 4.0;

/// Bodies with more atoms are not searched for an order.
const ATOMS_MAX: usize = 6;

/// The first rows in an order, as a query or an aggregate asks for them.
pub(crate) struct FirstRows {
    /// Columns of the head, and whether each is descending.
    order: Vec<(usize, bool)>,
    /// Number of rows, if known.
    rows: Option<u64>,
    /// Whether rows that are equal in these columns are equally good.
    is_any_of_equals: bool,
}

impl FirstRows {
    /// The first rows of a query with `:order` and `:limit`, if it has both.
    pub(crate) fn of_query(query: &syntax::Query, program: &Program) -> Option<Self> {
        let options = &query.options;
        let limit = options.limit.as_ref()?;
        let headers = &program.predicates[program.entry].columns;
        let mut order = Vec::with_capacity(options.order.len());
        for (name, descends) in &options.order {
            order.push((headers.iter().position(|header| *header == name.text)?, *descends));
        }
        let known = |expr: &syntax::Expr| match resolve_expression(expr, &mut Vec::new()) {
            Ok(Expr::Const(Value::Int(rows))) => u64::try_from(rows).ok(),
            _ => None,
        };
        let offset = options.offset.as_ref().map_or(Some(0), known);
        let rows = known(limit).zip(offset).map(|(limit, offset)| limit.saturating_add(offset));
        (!order.is_empty()).then_some(Self { order, rows, is_any_of_equals: false })
    }

    /// The rows that the aggregates of a predicate need, if all are `min` or `max` of one variable:
    /// those with its least and its greatest value.
    fn of_aggregates(program: &Program, rule: &Rule) -> Vec<Self> {
        let PredicateKind::Inline { aggregates } = &program.predicates[rule.predicate].kind else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (column, used) in aggregates.iter().enumerate() {
            let is_greatest = match used.as_ref().map(|used| used.aggregate.name) {
                Some("max") => true,
                Some("min") => false,
                _ => return Vec::new(),
            };
            let order = vec![(column, is_greatest)];
            found.push(Self { order, rows: Some(1), is_any_of_equals: true });
        }
        let is_one_variable = rule.head.iter().all(|var| *var == rule.head[0]);
        if is_one_variable { found } else { Vec::new() }
    }
}

/// Finds the plans in order of a rule, if they are estimated to read less than `sorting`: none,
/// one, or one for each aggregate. `first` is what the query asks of the entry, if this rule is
/// the entry's only one.
pub(crate) fn find(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    first: Option<&FirstRows>,
    sorting: &PipelinePlan,
) -> Vec<InOrder> {
    let find = |first: &FirstRows| find_one(program, rule, sizes, first, sorting);
    if program.predicates[rule.predicate].is_aggregated() {
        let firsts = FirstRows::of_aggregates(program, rule);
        return firsts.iter().map(find).collect::<Option<_>>().unwrap_or_default();
    }
    first.and_then(find).into_iter().collect()
}

/// The plan in order that is estimated to read least, if that is less than `sorting`.
fn find_one(
    program: &Program,
    rule: &Rule,
    sizes: &Sizes<'_>,
    first: &FirstRows,
    sorting: &PipelinePlan,
) -> Option<InOrder> {
    let atoms: Vec<usize> =
        (0..rule.body.len()).filter(|&place| rule.body[place].is_positive()).collect();
    if atoms.len() > ATOMS_MAX || rule.body.iter().any(Literal::is_random) {
        return None;
    }
    let mut orderers = Vec::with_capacity(atoms.len());
    for begin in atoms {
        let mut orderer = Orderer::of_means(program, rule, sizes);
        if orderer.run(Some(begin), &|_| Version::Total).is_none() {
            orderers.push(orderer);
        }
    }
    let least = |of: &dyn Fn(&Orderer<'_>) -> f64| orderers.iter().map(of).fold(f64::MAX, f64::min);
    let result_rows = least(&|orderer| orderer.steps.last().map_or(1.0, |last| last.rows));
    let mean_cost = least(&|orderer| orderer.cost);
    let has_joins = orderers.len() > 1;
    let search = Search { rule, sizes, first, sorting, has_joins, result_rows, mean_cost };
    let mut best: Option<Candidate> = None;
    for orderer in &orderers {
        for candidate in search.candidates(orderer) {
            let is_better = best.as_ref().is_none_or(|best| candidate.cost < best.cost);
            if is_better && candidate.cost < candidate.sorting_cost {
                best = Some(Candidate { orderer: Some(orderer.clone()), ..candidate });
            }
        }
    }
    let best = best?;
    let mut orderer = best.orderer?;
    orderer.steps[best.at].step = best.step;
    orderer.steps[best.at].operator = Physical::Fixed(OperatorName::OrderedScan);
    orderer.steps[best.at].row_order = Some(best.row_order);
    let plan = finished(program, rule, sizes, orderer);
    Some(InOrder { plan, rows: first.rows })
}

/// A step that may read in order.
struct Candidate<'a> {
    orderer: Option<Orderer<'a>>,
    at: usize,
    step: Step,
    row_order: RowOrder,
    /// Estimated rows to be read.
    cost: f64,
    /// As `cost`, for the plan that sorts.
    sorting_cost: f64,
}

/// The inputs from which candidates are built.
struct Search<'a> {
    rule: &'a Rule,
    sizes: &'a Sizes<'a>,
    first: &'a FirstRows,
    sorting: &'a PipelinePlan,
    /// Whether the body has several positive atoms.
    has_joins: bool,
    /// Estimated result rows, if lookups find as many rows as the mean.
    result_rows: f64,
    /// Estimated cost of the cheapest order of the literals, if lookups find as many rows as the
    /// mean.
    mean_cost: f64,
}

/// A key column order that a path satisfies.
struct Match {
    backwards: bool,
    columns: usize,
    ties: Ties,
}

impl<'a> Search<'a> {
    /// All ways to read in order in an order of the literals.
    fn candidates(&self, orderer: &Orderer<'_>) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        let mut bound = PerVar::filled(false, self.rule.variables.len());
        let mut is_single = true;
        for (at, &place) in orderer.places.iter().enumerate() {
            let literal = &self.rule.body[place];
            if let Literal::Atom {
                source: Source::Stored(stored),
                args,
                negated: false,
                at: None,
                ..
            } = literal
                && !self.sizes.infos[*stored].is_in_memory
            {
                let input_rows = match at {
                    0 => 1.0,
                    _ => orderer.steps[at - 1].rows.max(1.0),
                };
                let atom = Atom { at, place, stored: *stored, args, bound: &bound, is_single };
                let input_rows = if is_single { 1.0 } else { input_rows };
                for path in 0..self.sizes.infos[*stored].paths.len() {
                    found.extend(self.candidate(orderer, &atom, path, input_rows));
                }
            }
            is_single &= !matches!(literal, Literal::Atom { negated: false, .. })
                && !matches!(literal, Literal::Member { .. } | Literal::Search(_));
            literal.each_var(&mut |var| bound[var] = true);
        }
        found
    }

    /// Reading an atom by a path, if the path has the order.
    fn candidate(
        &self,
        orderer: &Orderer<'_>,
        atom: &Atom<'_>,
        path: usize,
        input_rows: f64,
    ) -> Option<Candidate<'a>> {
        let info = &self.sizes.infos[atom.stored];
        let keys = &info.paths[path].keys;
        let value = |column: usize| KeyValue::of(info, atom.args, column);
        let bound_var = |column| value(column)?.bound_var(self.rule, atom.bound);
        let is_bound = |&&column: &&usize| bound_var(column).is_some();
        let prefix = keys.iter().take_while(is_bound).count();
        if prefix == 0 && !atom.is_single {
            return None;
        }
        let matched = self.matched(info, atom, &keys[prefix..])?;
        let range = keys.get(prefix).and_then(|&column| bounds::find(self.rule, value(column)?));
        let selectivity = range.as_ref().map_or(Selectivity::Nothing, |one| one.selectivity());
        let range_rows = range_rows(info, path, prefix, selectivity).max(1.0);
        let read = input_rows * range_rows;
        let kept = (self.result_rows / read).max(1.0 / read);
        let wanted = self.first.rows.map_or(ROWS_UNKNOWN, |rows| rows as f64);
        let row_cost = self.row_cost(atom, path);
        let seeks = if atom.is_single { 0.0 } else { input_rows * cost::SEEK_ROWS as f64 };
        let before = if atom.is_single { 0.0 } else { orderer.steps[atom.at - 1].rows };
        // The last rows that are equal in the order's columns are read to their end.
        let equal = match info.paths[path].prefixes.get(prefix + matched.columns - 1) {
            Some(known) if matched.ties == Ties::Unordered => {
                info.rows as f64 / known.values.max(1.0)
            }
            _ => 0.0,
        };
        let cost = (wanted / kept + equal).min(read) * row_cost + seeks + before;
        // How many rows of the range a join keeps is uncertain.
        let cost = if self.has_joins && atom.is_single { cost * JOIN_DOUBT } else { cost };
        let sorting = self.sorting(atom, &keys[..prefix], range.is_some());
        let sorting_cost = sorting.rows.unwrap_or(read * sorting.row_cost);
        let bound = keys[..prefix].iter().filter_map(|&column| bound_var(column)).collect();
        let step = step(atom, path, &keys[..prefix], bound, range, sorting.range);
        let row_order = RowOrder {
            backwards: matched.backwards,
            columns: matched.columns,
            ties: matched.ties,
            kept,
            sorting_rows: sorting.rows,
            sorting_row_cost: sorting.row_cost,
            sorting_lookup: sorting.lookup,
        };
        Some(Candidate { orderer: None, at: atom.at, step, row_order, cost, sorting_cost })
    }

    /// How many of these key columns are in the order of the query.
    fn matched(&self, info: &RelationInfo, atom: &Atom<'_>, keys: &[usize]) -> Option<Match> {
        let wanted = self.wanted(info, atom);
        let &(first, backwards) = wanted.first()?;
        let (columns, matched) = self.follows(info, atom, keys, &wanted, backwards);
        let skips_nulls = self.first.is_any_of_equals && !backwards;
        if matched == 0 || skips_nulls && self.may_be_null(info, atom, first) {
            return None;
        }
        let (keys, wanted) = (&keys[columns..], &wanted[matched..]);
        // Rows of different prefixes may be equal in all keys that follow.
        let ties = match () {
            () if wanted.is_empty() || self.first.is_any_of_equals => Ties::InOrder,
            () if !atom.is_single => Ties::Unordered,
            () if keys.is_empty() => Ties::InOrder,
            () => match self.follows(info, atom, keys, wanted, !backwards) {
                (columns, matched) if columns == keys.len() || matched == wanted.len() => {
                    Ties::Reversed
                }
                _ => Ties::Unordered,
            },
        };
        Some(Match { backwards, columns, ties })
    }

    /// The variables by which the result is ordered, and whether each is descending: those of the
    /// order, then all columns of the head. Variables with one value are left out.
    fn wanted(&self, info: &RelationInfo, atom: &Atom<'_>) -> Vec<(VarId, bool)> {
        let head = &self.rule.head;
        let mut wanted: Vec<(VarId, bool)> = Vec::new();
        let order = self.first.order.iter().map(|&(column, descends)| (head[column], descends));
        let ties = head.iter().map(|&var| (var, false)).filter(|_| !self.first.is_any_of_equals);
        for (var, descends) in order.chain(ties) {
            let is_one = |(column, own): (usize, &Option<VarId>)| {
                *own == Some(var) && self.is_one_value(info, column, var)
            };
            let is_constant = self.is_constant(var) || atom.args.iter().enumerate().any(is_one);
            if !is_constant && wanted.iter().all(|(other, _)| *other != var) {
                wanted.push((var, descends));
            }
        }
        wanted
    }

    /// How many key columns are the first of `wanted` when they are read in one direction, and of
    /// how many. Columns with one value may be between them.
    fn follows(
        &self,
        info: &RelationInfo,
        atom: &Atom<'_>,
        keys: &[usize],
        wanted: &[(VarId, bool)],
        backwards: bool,
    ) -> (usize, usize) {
        let (mut columns, mut matched) = (0, 0);
        for (place, &column) in keys.iter().enumerate() {
            let Some(own) = KeyValue::of(info, atom.args, column) else { break };
            if let KeyValue::Var(own) = own
                && (self.is_constant(own) && atom.bound[own]
                    || self.is_one_value(info, column, own))
            {
                continue;
            }
            let is_wanted = |&(var, descends): &(VarId, bool)| {
                descends == backwards && own.is_var(self.rule, var)
            };
            let is_bound = own.bound_var(self.rule, atom.bound).is_some();
            if is_bound || !wanted.get(matched).is_some_and(is_wanted) {
                break;
            }
            (columns, matched) = (place + 1, matched + 1);
        }
        (columns, matched)
    }

    /// Whether a variable has one value in all rows.
    fn is_constant(&self, var: VarId) -> bool {
        self.rule.body.iter().any(|literal| match literal {
            Literal::Assign { var: assigned, value, .. } => *assigned == var && value.is_known(),
            _ => false,
        })
    }

    /// Whether a condition leaves one value of a column: `author == 1`. Equal numbers are one value
    /// only in columns of integers.
    fn is_one_value(&self, info: &RelationInfo, column: usize, var: VarId) -> bool {
        let of = info.columns[column].column_type.without_null();
        (matches!(of, Type::Int | Type::Id | Type::Bool | Type::String | Type::Uuid)
            || of.is_temporal())
            && bounds::find(self.rule, KeyValue::Var(var)).is_some_and(|range| range.is_point)
    }

    /// Whether a variable may be null in rows of an atom: `min` skips nulls.
    fn may_be_null(&self, info: &RelationInfo, atom: &Atom<'_>, var: VarId) -> bool {
        match atom.args.iter().position(|own| *own == Some(var)) {
            Some(column) => {
                matches!(info.columns[column].column_type, Type::Any | Type::Nullable(_))
            }
            None => true,
        }
    }

    /// Rows that each row of a path counts as: a lookup, if the path lacks a column.
    fn row_cost(&self, atom: &Atom<'_>, path: usize) -> f64 {
        match self.sizes.infos[atom.stored].paths[path].covers_atom(atom.args) {
            true => 1.0,
            false => 1.0 + cost::LOOK_UP_ROWS as f64,
        }
    }

    /// The rows that the sorting plan reads instead of an atom's range of keys.
    fn sorting(&self, atom: &Atom<'_>, prefix: &[usize], has_range: bool) -> Sorting {
        // The rows that a batch of prefixes finds are estimated again when the prefixes are known.
        // The rows of one range that a join keeps are not, so skewed values must not excuse it.
        let rows = match atom.is_single {
            true => Some(self.sorting.cost.min(self.mean_cost)),
            false => Some(self.sorting.cost),
        };
        let whole = Sorting { rows, row_cost: 1.0, lookup: None, range: None };
        let Some(at) = self.sorting.places.iter().position(|&place| place == atom.place) else {
            return whole;
        };
        let reads = |step: &Step| {
            matches!(step, Step::Derived { negated: false, .. })
                || matches!(step, Step::Stored { negated: false, .. } | Step::Member { .. })
                || matches!(step, Step::Search(_))
        };
        let is_first = !self.sorting.steps[..at].iter().any(|planned| reads(&planned.step));
        let Step::Stored { path, prefix: bound, range, .. } = &self.sorting.steps[at].step else {
            return whole;
        };
        if !is_first || !atom.is_single {
            return whole;
        }
        let keys = &self.sizes.infos[atom.stored].paths[*path].keys[..bound.len()];
        let is_same = keys.len() == prefix.len() && keys.iter().all(|key| prefix.contains(key));
        let row_cost = self.row_cost(atom, *path);
        if is_same && range.is_some() <= has_range {
            return Sorting { rows: None, row_cost, ..whole };
        }
        let lookup = (!bound.is_empty() || range.is_some()).then_some((*path, bound.len()));
        Sorting { row_cost, lookup, range: range.clone(), ..whole }
    }
}

/// The rows that the sorting plan reads of a relation, and their cost.
struct Sorting {
    /// Estimated rows; `None` if it reads the same range of keys.
    rows: Option<f64>,
    /// The cost of one of them.
    row_cost: f64,
    /// See [`RowOrder::sorting_lookup`].
    lookup: Option<(usize, usize)>,
    /// The range of the key column after the bound ones.
    range: Option<Box<bounds::RangeHint>>,
}

/// An atom, and the variables bound before it.
struct Atom<'s> {
    /// Number of its step.
    at: usize,
    /// Its index in the body.
    place: usize,
    stored: StoredId,
    args: &'s [Option<VarId>],
    bound: &'s PerVar<bool>,
    /// Whether there is one row before it.
    is_single: bool,
}

/// The step that reads an atom by a path whose first key columns, `keys`, are bound.
fn step(
    atom: &Atom<'_>,
    path: usize,
    keys: &[usize],
    prefix: Vec<VarId>,
    range: Option<Box<bounds::RangeHint>>,
    own_range: Option<Box<bounds::RangeHint>>,
) -> Step {
    let places = atom.args.iter().enumerate().filter_map(|(column, var)| Some((column, (*var)?)));
    let (mut checks, outputs): (Vec<_>, Vec<_>) = places.partition(|(_, var)| atom.bound[*var]);
    checks.retain(|(column, _)| !keys.contains(column));
    let stored = atom.stored;
    let (at, negated) = (None, false);
    Step::Stored { stored, path, prefix, range, own_range, checks, outputs, at, negated }
}

/// Estimated rows of a path whose keys begin with one prefix, and lie in a range of the next
/// column.
fn range_rows(info: &RelationInfo, path: usize, prefix: usize, selectivity: Selectivity) -> f64 {
    let path = &info.paths[path];
    let all = info.rows as f64;
    let with_prefix = match prefix {
        0 => all,
        _ => match path.prefixes.get(prefix - 1) {
            Some(known) => all / known.values.max(1.0),
            None => path.rows_unknown(all, prefix),
        },
    };
    let of_point = || match path.prefixes.get(prefix) {
        Some(known) => (all / known.values.max(1.0) / with_prefix).min(1.0),
        None => cost::RANGE_SHARE,
    };
    with_prefix * selectivity.share(of_point)
}
