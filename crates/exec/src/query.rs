//! One query: its relations, its derived tables, and the fixpoint that fills them.
//!
//! # How recursion is computed
//! Semi-naively (Bancilhon and Ramakrishnan, SIGMOD 1986): in each round one recursive atom of a rule reads what the last round found, those
//! before it everything, those after it what was there before. Tables only grow, so the three are ranges of row numbers.
//! A rule with meet aggregates keeps one row a group; a better one is appended and the old one dies.
//!
//! # Invariants
//! 1. While bodies run, no table that they read changes: what is found waits in a table of its own until the round is over.

use crate::batch_size::CHUNK_ROWS;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::expr::{Compiled, Computer};
use crate::limits::{Check, Watch};
use crate::parallel::{Helpers, Spread};
use crate::pipeline::Body;
use crate::profile::{Clock, Profile};
use crate::result_stream::Outlet;
use crate::sink::aggregate::Grouped;
use crate::sink::groups::Groups;
use crate::sink::list::RowList;
use crate::sink::meet::{Best, join_best};
use crate::sink::set::RowSet;
use crate::sink::top_k::First;
use crate::sink::{Alone, Waiting};
use crate::sink::{Sink, plain_columns};
use crate::storage::relation_source::Readable;
use crate::storage::relation_source::Relation;
use crate::table::derived::Marks;
use crate::table::derived::Tables;
use crate::table::{ROWS_MAX, Table};
use crate::trie::cache::{KeptTries, QueryTries};
use crate::value::cell::{Cell, Interner};
use crate::value::columns::Columns;
use crate::value::list_items::not_a_list;
use base::STEPS;
use function::Ambient;
use hashbrown::HashMap;
use model::Value;
use plan::{AggregateUse, BodyPlan, GroupPlan, Plan, PredicateKind, Source, Step, Tried, Var};
use std::sync::Arc;
use store::Read;
use syntax::Span;

/// A running query.
pub(crate) struct Query<'a> {
    /// What it sees.
    pub read: &'a dyn Read,
    /// Its values.
    pub interner: &'a Interner,
    /// What it does.
    pub plan: &'a Plan,
    /// Its parameters, by number.
    pub parameters: Vec<Cell>,
    /// When it stops.
    pub watch: &'a Watch<'a>,
    /// The world outside.
    pub ambient: &'a dyn Ambient,
    /// Algorithms.
    pub algorithms: &'a dyn Algorithms,
    relations: Vec<Readable>,
    tables: Tables,
    marks: Vec<Marks>,
    /// Shared with the threads that help.
    pub(crate) tries: Arc<QueryTries>,
    /// Tries of other queries, if this one may use them.
    pub(crate) kept_tries: Option<KeptTries<'a>>,
    /// Threads that may help, if any may.
    pub(crate) helpers: Option<&'a Helpers>,
    /// Bytes that the sinks of other threads hold.
    pub(crate) beside_bytes: u64,
    /// Rows of the entry that are enough.
    enough: usize,
    /// The rows of the entry that are wanted, where others need not be kept.
    pub(crate) first: Option<Arc<First>>,
    /// Where the rows of the entry go straight to the caller: its columns that `:order` names.
    pub(crate) goes_out: Option<Vec<usize>>,
    /// While it runs the entry's body: variables whose values nothing compares, on the way or behind it.
    pub(crate) loose: Vec<Var>,
    /// While it runs the entry's body: the first rows that are wanted, and the variable that their order begins with.
    pub(crate) by: Option<(Arc<First>, Var)>,
    /// Takes the rows of the entry while they are found, if somebody does.
    pub(crate) outlet: Option<&'a Outlet<'a>>,
    /// Rows of the entry, where none can be equal and nobody asks for them again, and how many of their first columns tell them apart.
    listed: Option<(Columns, usize)>,
    /// Of orders that are tried, by their address: rows that they may still read or make.
    tried: HashMap<usize, u64>,
    /// What it did, where somebody asks.
    pub profile: Option<Profile>,
}

/// What a query stands on, whoever runs a part of it.
#[derive(Clone, Copy)]
pub(crate) struct Stands<'a> {
    read: &'a dyn Read,
    interner: &'a Interner,
    plan: &'a Plan,
    /// When it stops.
    pub watch: &'a Watch<'a>,
    ambient: &'a dyn Ambient,
    algorithms: &'a dyn Algorithms,
    kept_tries: Option<KeptTries<'a>>,
}

/// Takes columns and their number of rows; says how many bytes it holds.
pub(crate) type Visit<'v> = &'v mut dyn FnMut(&[&[Cell]], usize) -> Result<u64>;

/// Algorithms that rules apply with `<~`.
pub(crate) trait Algorithms: Sync {
    /// The rows of a fixed rule, in columns.
    ///
    /// # Errors
    /// An unknown name, wrong inputs or options, and what stops the query.
    fn run(&self, query: &Query<'_>, fixed: &plan::FixedUse) -> Result<Vec<Vec<Cell>>>;
}

impl<'a> Query<'a> {
    /// A query that has not begun. `relations` are the plan's stored relations, in order.
    ///
    /// # Errors
    /// What stops the query.
    #[expect(clippy::too_many_arguments, reason = "what a query stands on")]
    pub(crate) fn new(
        plan: &'a Plan,
        read: &'a dyn Read,
        interner: &'a Interner,
        relations: Vec<Relation>,
        parameters: Vec<Cell>,
        watch: &'a Watch<'a>,
        ambient: &'a dyn Ambient,
        algorithms: &'a dyn Algorithms,
    ) -> Result<Self> {
        let tables = Tables::new(plan.program.predicates.len());
        let marks = vec![Marks::default(); plan.program.predicates.len()];
        let readable = |relation| Readable::of(relation, interner, watch);
        let relations = relations.into_iter().map(readable).collect::<Result<_>>()?;
        Ok(Self {
            read,
            interner,
            plan,
            parameters,
            watch,
            ambient,
            algorithms,
            relations,
            tables,
            marks,
            tries: Arc::default(),
            kept_tries: None,
            helpers: None,
            beside_bytes: 0,
            enough: usize::MAX,
            first: None,
            goes_out: None,
            loose: Vec::new(),
            by: None,
            outlet: None,
            listed: None,
            tried: HashMap::new(),
            profile: None,
        })
    }

    /// What it stands on.
    pub(crate) fn stands(&self) -> Stands<'a> {
        let Self { read, interner, plan, watch, ambient, algorithms, kept_tries, .. } = *self;
        Stands { read, interner, plan, watch, ambient, algorithms, kept_tries }
    }

    /// The same for another thread, which runs a part of a body. `stands` is this one's.
    pub(crate) fn fork<'b>(&self, stands: Stands<'b>) -> Query<'b> {
        let Stands { read, interner, plan, watch, ambient, algorithms, kept_tries } = stands;
        Query {
            read,
            interner,
            plan,
            parameters: self.parameters.clone(),
            watch,
            ambient,
            algorithms,
            relations: self.relations.clone(),
            tables: self.tables.clone(),
            marks: self.marks.clone(),
            tries: Arc::clone(&self.tries),
            kept_tries,
            helpers: None,
            beside_bytes: 0,
            enough: self.enough,
            first: None,
            goes_out: None,
            loose: self.loose.clone(),
            by: self.by.clone(),
            outlet: None,
            listed: None,
            tried: HashMap::new(),
            profile: None,
        }
    }

    /// What computes its expressions.
    pub(crate) fn computer(&self) -> Computer<'_> {
        Computer::new(self.interner, &self.parameters, self.ambient)
    }

    /// # Errors
    /// Once the query has to stop; `more_bytes` are held besides its tables.
    pub(crate) fn check(&self, more_bytes: u64) -> Result<()> {
        let besides = self.tries.bytes() + self.interner.bytes() + self.beside_bytes;
        let held = self.tables.bytes() + besides + more_bytes;
        let interned = self.interner.bytes();
        self.watch.note_held(held.saturating_sub(interned), interned);
        if let Some(profile) = &self.profile {
            profile.held(held);
        }
        self.watch.check(held)
    }

    /// The items of a list that is in the interner.
    ///
    /// # Errors
    /// It is no list; what stops the query.
    pub(crate) fn items_of(&self, list: Cell, span: Span) -> Result<Vec<Cell>> {
        let kind = |value: &Value| value.kind();
        let len = self.interner.with(list, |list| match list {
            Value::List(items) => Ok(items.len()),
            other => Err(not_a_list(kind(other), span)),
        })?;
        self.check(8 * len as u64)?;
        let mut cells = Vec::with_capacity(len);
        for start in (0..len).step_by(STEPS) {
            let some = self.interner.with(list, |list| match list {
                Value::List(items) => items[start..len.min(start + STEPS)].to_vec(),
                _ => Vec::new(),
            });
            cells.extend(some.into_iter().map(|item| self.interner.take(item)));
            self.check(8 * len as u64)?;
        }
        Ok(cells)
    }

    /// The same of one that is given away.
    ///
    /// # Errors
    /// It is no list; what stops the query.
    pub(crate) fn items(&self, list: Value, span: Span) -> Result<Vec<Cell>> {
        let Value::List(items) = list else { return Err(not_a_list(list.kind(), span)) };
        let bytes = (size_of::<Cell>() + size_of::<Value>()) as u64 * items.len() as u64;
        self.check(bytes)?;
        let mut cells = Vec::with_capacity(items.len());
        for item in items {
            cells.push(self.interner.take(item));
            if cells.len().is_multiple_of(STEPS) {
                self.check(bytes)?;
            }
        }
        Ok(cells)
    }

    /// A stored relation.
    pub(crate) fn relation(&self, stored: usize) -> Readable {
        self.relations[stored].clone()
    }

    /// A derived relation.
    pub(crate) fn table(&self, predicate: usize) -> Arc<Table> {
        Arc::clone(&self.tables[predicate])
    }

    /// Which rows of a derived relation its versions are.
    pub(crate) fn marks(&self, predicate: usize) -> Marks {
        self.marks[predicate]
    }

    /// Hands some columns of all rows of a relation to `visit`, which says how many bytes it holds.
    ///
    /// # Errors
    /// Those of the store and of `visit`, and what stops the query.
    pub(crate) fn each_row(
        &self,
        source: Source,
        wanted: &[usize],
        at: Option<i64>,
        visit: Visit<'_>,
    ) -> Result<()> {
        let table = match source {
            Source::Derived(predicate) => Arc::clone(&self.tables[predicate]),
            Source::Stored(stored) => match &self.relations[stored] {
                Readable::Memory(table) => Arc::clone(table),
                Readable::Stored(relation) => {
                    let path = &relation.paths[0];
                    let range = path.all();
                    let mut all = wanted.to_vec();
                    let keys = path.schema.keys.len();
                    if at.is_some() {
                        all.extend(0..keys);
                    }
                    let mut last: Option<Vec<Cell>> = None;
                    let (read, interner) = (self.read, self.interner);
                    return path.scan(read, range, &all, CHUNK_ROWS, interner, &mut |mut found| {
                        if let Some(at) = at {
                            let asked = wanted.len();
                            let kept: Vec<usize> = (0..found.rows)
                                .filter(|&row| {
                                    crate::value::validity::newest(
                                        &found.columns[asked..],
                                        row,
                                        at,
                                        &mut last,
                                        interner,
                                    )
                                })
                                .collect();
                            for column in &mut found.columns {
                                *column = kept.iter().map(|&row| column[row]).collect();
                            }
                            found.rows = kept.len();
                        }
                        let columns: Vec<&[Cell]> =
                            found.columns.iter().take(wanted.len()).map(Vec::as_slice).collect();
                        let held = visit(&columns, found.rows)?;
                        self.check(held)?;
                        Ok(true)
                    });
                }
            },
        };
        let live: Vec<usize> = (0..table.rows()).filter(|&row| table.is_live(row)).collect();
        for rows in live.chunks(CHUNK_ROWS) {
            let columns: Vec<Vec<Cell>> = wanted
                .iter()
                .map(|&column| rows.iter().map(|&row| table.column(column)[row]).collect())
                .collect();
            let columns: Vec<&[Cell]> = columns.iter().map(Vec::as_slice).collect();
            let held = visit(&columns, rows.len())?;
            self.check(held)?;
        }
        Ok(())
    }

    /// The microseconds that an expression after `@` says, a row each.
    ///
    /// # Errors
    /// A value that is no time.
    pub(crate) fn times(&self, expr: &Compiled, input: &Bindings) -> Result<Vec<i64>> {
        let computer = self.computer();
        let time = |row: usize| {
            let cell = computer.compute(expr, input, row)?;
            self.interner.with(cell, |value| crate::value::validity::time_of(value, self.ambient))
        };
        (0..input.rows).map(time).collect()
    }

    /// Fills all tables; the entry's is enough with `enough` rows.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run(&mut self, enough: usize) -> Result<()> {
        let plan = self.plan;
        self.enough = enough;
        for (number, group) in plan.groups.iter().enumerate() {
            let began_us = if self.profile.is_some() { self.watch.now_us() } else { 0 };
            self.run_group(group, number)?;
            if let Some(profile) = &mut self.profile {
                profile.end_group(self.watch.now_us().saturating_sub(began_us));
            }
        }
        Ok(())
    }

    /// The rows of the entry rule, and how many of their first columns tell them apart. They are let go, unless somebody looks at what the query did.
    pub(crate) fn take_result(&mut self) -> (Columns, usize) {
        if let Some(listed) = self.listed.take() {
            return listed;
        }
        let entry = self.plan.program.entry;
        let table = match self.profile {
            None => self.tables.change(entry, std::mem::take),
            Some(_) => Arc::clone(&self.tables[entry]),
        };
        let rows = table.live_rows();
        let columns = match Arc::try_unwrap(table) {
            Ok(table) if table.rows() == rows => table.into_sorted_columns(),
            Ok(table) => table.live_columns(),
            Err(table) => table.live_columns(),
        };
        let all = columns.len();
        (Columns { rows, columns }, all)
    }

    fn run_group(&mut self, group: &GroupPlan, number: usize) -> Result<()> {
        let plan = self.plan;
        for &predicate in &group.group.predicates {
            let definition = &plan.program.predicates[predicate];
            match &definition.kind {
                PredicateKind::Inline { aggregates } => {
                    let is_kept = group.group.is_recursive && definition.is_meet();
                    let table = Arc::new(match is_kept {
                        true => Table::new(aggregates.len(), plain_columns(aggregates)),
                        false => Table::set(aggregates.len()),
                    });
                    self.tables.change(predicate, |slot| *slot = table);
                }
                PredicateKind::Constant(data) => {
                    let rows =
                        crate::fast_path::values::columns(data, definition, &self.computer())?;
                    self.fill(predicate, rows.len(), &rows)?;
                }
                PredicateKind::Fixed(fixed) => {
                    let algorithms = self.algorithms;
                    let mut columns = algorithms.run(self, fixed)?;
                    let named = definition.columns.len();
                    if columns.is_empty() {
                        // No rows, and nothing but them would have told the columns.
                        columns = vec![Vec::new(); named];
                    }
                    if named != 0 && named != columns.len() {
                        let what = format!(
                            "{} gives {} columns, rule `{}` has {named}",
                            fixed.name,
                            columns.len(),
                            definition.name,
                        );
                        return Err(Error::value(what, fixed.span));
                    }
                    self.fill(predicate, columns.len(), &columns)?;
                }
            }
        }
        match group.group.is_recursive {
            true if !self.is_needed(number) => {}
            true => self.run_recursive(group)?,
            false => self.run_once(group)?,
        }
        for &predicate in &group.group.predicates {
            if plan.program.predicates[predicate].is_sorted {
                self.sort_table(predicate)?;
            }
        }
        Ok(())
    }

    /// Brings the rows of a derived relation into the order of their columns.
    fn sort_table(&mut self, predicate: usize) -> Result<()> {
        let columns = self.tables[predicate].live_columns();
        let rows = columns.first().map_or(0, Vec::len);
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let order = crate::value::sort::order(&by, rows, self.interner, &|| self.check(0))?;
        let sorted = |column: &Vec<Cell>| order.iter().map(|&row| column[row as usize]).collect();
        let sorted: Vec<Vec<Cell>> = columns.iter().map(sorted).collect();
        let table = Table::set(sorted.len()).with_rows(&sorted, rows, &|| self.check(0))?;
        self.check_rows(&table)?;
        self.set_table(predicate, table.sorted());
        Ok(())
    }

    fn run_once(&mut self, group: &GroupPlan) -> Result<()> {
        let plan = self.plan;
        let Some(first) = group.rules.first() else { return Ok(()) };
        let predicate = plan.program.rules[first.rule].predicate;
        let definition = &plan.program.predicates[predicate];
        let PredicateKind::Inline { aggregates } = &definition.kind else { return Ok(()) };
        if definition.is_aggregated() {
            let mut sink = Grouped { groups: self.groups(aggregates, definition.span)?, head: &[] };
            for rule in &group.rules {
                let Some(body) = &rule.first else { continue };
                sink.head = &plan.program.rules[rule.rule].head;
                self.run_body(body, rule.rule, &mut sink)?;
            }
            let columns = sink.groups.finish(self.interner, &|| self.check(0))?;
            return self.fill(predicate, aggregates.len(), &columns);
        }
        let is_entry = predicate == plan.program.entry;
        let enough = if is_entry { self.enough } else { usize::MAX };
        if let ([rule], None, true) = (&*group.rules, &self.profile, is_entry)
            && let Some(body) = &rule.first
            && let Some(told) = body.unequal
        {
            if let Some(outlet) = self.outlet {
                self.run_flow(body, rule.rule, outlet, enough)?;
                self.loose = Vec::new();
                return Ok(());
            }
            let head = &plan.program.rules[rule.rule].head;
            let first = self.first.take();
            if let Some(order) = self.goes_out.take() {
                let is_ordered = |var: &Var| order.iter().any(|&column| head[column] == *var);
                self.loose = body.loose.iter().copied().filter(|var| !is_ordered(var)).collect();
            }
            self.by = first.clone().map(|first| {
                let var = head[first.order[0].0];
                (first, var)
            });
            let list = Columns::of(aggregates.len());
            let mut sink = RowList { list, head, told, enough, first };
            self.run_body(body, rule.rule, &mut sink)?;
            (self.loose, self.by) = (Vec::new(), None);
            self.listed = Some((sink.list, told));
            return Ok(());
        }
        let mut sink =
            RowSet { table: Table::set(aggregates.len()), head: &[], known: None, enough };
        for rule in &group.rules {
            let Some(body) = &rule.first else { continue };
            sink.head = &plan.program.rules[rule.rule].head;
            if sink.table.rows() >= enough {
                break;
            }
            self.run_body(body, rule.rule, &mut sink)?;
        }
        self.set_table(predicate, sink.table);
        Ok(())
    }

    fn run_recursive(&mut self, group: &GroupPlan) -> Result<()> {
        let plan = self.plan;
        let is_meet = |predicate: usize| plan.program.predicates[predicate].is_meet();
        let mut is_first = true;
        loop {
            if let Some(profile) = &mut self.profile {
                profile.round();
            }
            let mut fresh: HashMap<usize, Table> = HashMap::new();
            for &predicate in &group.group.predicates {
                let arity = self.tables[predicate].arity();
                let kind = &plan.program.predicates[predicate].kind;
                let table = match is_meet(predicate) {
                    true => Table::new(arity, plain_columns(aggregates_of(kind))),
                    false => Table::set(arity),
                };
                fresh.insert(predicate, table);
            }
            for rule in &group.rules {
                let predicate = plan.program.rules[rule.rule].predicate;
                let head = &plan.program.rules[rule.rule].head;
                let bodies: &[BodyPlan] = match (&rule.first, is_first) {
                    (Some(body), true) => std::slice::from_ref(body),
                    (_, false) => &rule.rounds,
                    (None, true) => &[],
                };
                for body in bodies {
                    let Some(table) = fresh.remove(&predicate) else { continue };
                    let aggregates = aggregates_of(&plan.program.predicates[predicate].kind);
                    let found = if is_meet(predicate) {
                        let mut sink = Best { table, head, aggregates };
                        self.run_body(body, rule.rule, &mut sink)?;
                        sink.table
                    } else {
                        // Before the sink shares the table, which would be copied to be indexed.
                        self.index_for(body)?;
                        if let Some(tried) = &body.tried {
                            self.index_for(&tried.plan)?;
                        }
                        let known = Some(Arc::clone(&self.tables[predicate]));
                        let mut sink = RowSet { table, head, known, enough: usize::MAX };
                        self.run_body(body, rule.rule, &mut sink)?;
                        sink.table
                    };
                    fresh.insert(predicate, found);
                }
            }
            is_first = false;
            let mut grown = false;
            for &predicate in &group.group.predicates {
                let Some(found) = fresh.remove(&predicate) else { continue };
                let before = self.tables[predicate].rows();
                let aggregates = aggregates_of(&plan.program.predicates[predicate].kind);
                let (watch, interner) = (self.watch, self.interner);
                let check = || watch.check(interner.bytes());
                self.tables.change(predicate, |table| {
                    let table = Arc::make_mut(table);
                    match is_meet(predicate) {
                        true => join_best(table, aggregates, &found, interner, &check),
                        false => table.insert_all(&found, &check),
                    }
                })?;
                let total = self.tables[predicate].rows();
                self.marks[predicate] = Marks { old: before, total };
                grown |= total > before;
            }
            self.check(0)?;
            if !grown {
                return Ok(());
            }
        }
    }

    /// Runs a body, with the indexes that its joins need.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run_body<S: Sink>(
        &mut self,
        body: &BodyPlan,
        rule: usize,
        sink: &mut S,
    ) -> Result<()> {
        if let Some(tried) = &body.tried
            && self.try_body(tried, rule, sink)?
        {
            return Ok(());
        }
        self.run_untried(body, rule, sink)
    }

    /// The same without the order that would be tried before.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run_untried<S: Sink>(
        &mut self,
        body: &BodyPlan,
        rule: usize,
        sink: &mut S,
    ) -> Result<()> {
        self.index_for(body)?;
        let variables = self.plan.program.rules[rule].variables.len();
        let plan = body;
        let mut body = Body::new(plan, variables, &self.computer())?;
        body.clock = self.profile.as_ref().map(|_| Clock::new(plan.steps.len()));
        body.set_enough(sink.enough());
        body.sweep_from(self);
        // What an analysed query does is told of one thread.
        match self.helpers.filter(|_| body.clock.is_none()) {
            Some(helpers) => {
                let spread = Spread::new(helpers, self.stands(), plan, variables, sink);
                spread.run(&mut body, self)?;
            }
            None => drop(body.run(self, &mut Alone(sink))?),
        }
        if let (Some(profile), Some(clock)) = (&mut self.profile, body.clock.take()) {
            profile.add(plan, clock);
        }
        Ok(())
    }

    /// Runs the order that begins with what is bound as long as it finds little; whether it came to its end.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn try_body<S: Sink>(
        &mut self,
        tried: &Tried,
        rule: usize,
        sink: &mut S,
    ) -> Result<bool> {
        let key = std::ptr::from_ref(tried).addr();
        let rows_max = self.tried.get(&key).copied().unwrap_or(tried.rows_max);
        if rows_max == 0 {
            return Ok(false);
        }
        self.index_for(&tried.plan)?;
        let variables = self.plan.program.rules[rule].variables.len();
        let mut body = Body::new(&tried.plan, variables, &self.computer())?;
        body.clock = self.profile.as_ref().map(|_| Clock::new(tried.plan.steps.len()));
        body.set_enough(sink.enough());
        body.try_with(rows_max);
        // Nobody may see rows of an order that is given up: they would be counted twice.
        let mut waiting = Waiting::default();
        let mark = self.interner.mark();
        let is_over_limit = match body.run(self, &mut waiting) {
            // The other order may read fewer or shorter values.
            Err(Error::Limit(_)) => true,
            other => {
                other?;
                false
            }
        };
        if let (Some(profile), Some(clock)) = (&mut self.profile, body.clock.take()) {
            profile.add(&tried.plan, clock);
        }
        let is_given_up = is_over_limit || body.is_given_up();
        self.tried.insert(key, if is_given_up { 0 } else { body.rows_left() });
        if is_given_up {
            drop((body, waiting));
            self.interner.sweep(&mark, &mut |_| {});
            return Ok(false);
        }
        for rows in waiting.found {
            if !sink.take(self, &rows)? {
                break;
            }
        }
        Ok(true)
    }

    /// Makes the indexes that a body's joins need.
    ///
    /// # Errors
    /// What stops the query.
    pub(crate) fn index_for(&mut self, body: &BodyPlan) -> Result<()> {
        let (watch, interner) = (self.watch, self.interner);
        let check = || watch.check(interner.bytes());
        for planned in &body.steps {
            match &planned.step {
                Step::Derived { predicate, bound, .. } if !bound.is_empty() => {
                    let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
                    let table = &self.tables[*predicate];
                    if !table.is_indexed(&columns) {
                        let is_copied = Arc::strong_count(table) > 1;
                        debug_assert!(
                            !is_copied,
                            "a table of a rule was shared before it was indexed"
                        );
                        self.tables.change(*predicate, |table| index(table, &columns, &check))?;
                    }
                }
                Step::Stored { stored, path, prefix, checks, .. } => {
                    if let Readable::Memory(table) = &mut self.relations[*stored] {
                        let keys = &self.plan.infos[*stored].paths[*path].keys;
                        let prefix = keys.iter().take(prefix.len()).copied();
                        let columns: Vec<usize> =
                            prefix.chain(checks.iter().map(|(column, _)| *column)).collect();
                        if !columns.is_empty() {
                            index(table, &columns, &check)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// # Errors
    /// Once a table has as many rows as can be numbered, or the query has to stop.
    pub(crate) fn check_rows(&self, table: &Table) -> Result<()> {
        if table.rows() >= ROWS_MAX / 2 {
            return Err(Error::Limit("a rule has more than 2 billion rows".to_owned()));
        }
        self.check(table.bytes())
    }

    fn set_table(&mut self, predicate: usize, table: Table) {
        self.marks[predicate] = Marks { old: 0, total: table.rows() };
        self.tables.change(predicate, |slot| *slot = Arc::new(table));
    }

    fn fill(&mut self, predicate: usize, arity: usize, columns: &[Vec<Cell>]) -> Result<()> {
        let rows = columns.first().map_or(0, Vec::len);
        let table = Table::set(arity).with_rows(columns, rows, &|| self.check(0))?;
        self.check_rows(&table)?;
        self.set_table(predicate, table);
        Ok(())
    }

    fn groups(&self, aggregates: &[Option<AggregateUse>], span: Span) -> Result<Groups> {
        let computer = self.computer();
        let args = aggregates.iter().flatten().map(|used| {
            used.args.iter().map(|arg| computer.known(arg)).collect::<Result<Vec<Value>>>()
        });
        Ok(Groups::new(aggregates, args.collect::<Result<_>>()?, span, self.ambient.random()))
    }
}

/// Makes an index unless it is there. A table that is shared is copied, so it is indexed before it is shared.
fn index(table: &mut Arc<Table>, columns: &[usize], check: Check<'_>) -> Result<()> {
    match table.is_indexed(columns) {
        true => Ok(()),
        false => Arc::make_mut(table).index(columns, check),
    }
}

fn aggregates_of(kind: &PredicateKind) -> &[Option<AggregateUse>] {
    match kind {
        PredicateKind::Inline { aggregates } => aggregates,
        _ => &[],
    }
}
