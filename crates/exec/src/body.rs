//! Runs the steps of a body over batches of bindings.
//!
//! # How
//! A batch is a column of cells for each variable that is bound and still needed. A step makes batches of a batch, and hands each to
//! the next step before it makes another: so memory holds a batch a step, and `:limit` stops where it is reached.
//!
//! # Invariants
//! 1. A batch that enters a step holds exactly the columns that the plan calls live after the step before.
//! 2. Rows that a join makes of one batch are handed on before much more than [`BATCH_ROWS`] of them wait, but for one row that finds
//!    more by itself.

use crate::cell::{Cell, Interner};
use crate::error::{Error, Result};
use crate::expr::{Compiled, Computer, Rows};
use crate::query::{Query, Relation};
use crate::stored::{CHUNK_ROWS, Columns};
use crate::table::Table;
use model::Value;
use plan::{BodyPlan, Planned, Step, Version};
use std::ops::Range;
use syntax::Span;

/// Rows of a batch that a join is asked for at once.
const PROBE_ROWS: usize = 1024;

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 8192;

/// Bindings of variables: a column each, empty where the variable is not bound or not needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bindings {
    /// Rows.
    pub rows: usize,
    /// By variable.
    pub columns: Vec<Vec<Cell>>,
}

impl Rows for Bindings {
    #[inline]
    fn cell(&self, var: usize, row: usize) -> Cell {
        self.columns[var][row]
    }
}

impl Bindings {
    /// One row that binds nothing.
    pub(crate) fn unit(variables: usize) -> Self {
        Self { rows: 1, columns: vec![Vec::new(); variables] }
    }

    /// The live columns of these rows, in this order.
    fn gather(&self, rows: &[u32], live: &[usize]) -> Self {
        let mut columns = vec![Vec::new(); self.columns.len()];
        for &var in live {
            let column = &self.columns[var];
            if !column.is_empty() {
                columns[var] = rows.iter().map(|&row| column[row as usize]).collect();
            }
        }
        Self { rows: rows.len(), columns }
    }

    /// Keeps the live columns.
    fn keep(mut self, live: &[usize]) -> Self {
        for (var, column) in self.columns.iter_mut().enumerate() {
            if !column.is_empty() && !live.contains(&var) {
                *column = Vec::new();
            }
        }
        self
    }

    fn slice(&self, rows: Range<usize>) -> Self {
        let cut = |column: &Vec<Cell>| match column.is_empty() {
            true => Vec::new(),
            false => column[rows.clone()].to_vec(),
        };
        Self { rows: rows.len(), columns: self.columns.iter().map(cut).collect() }
    }
}

/// Whether more rows are wanted.
pub(crate) type Wanted = bool;

/// Takes the rows that come out.
pub(crate) type Emit<'e> = &'e mut dyn FnMut(&Query<'_>, &Bindings) -> Result<Wanted>;

/// A body whose expressions are ready.
pub(crate) struct Body<'p> {
    steps: Vec<Ready<'p>>,
    variables: usize,
    /// Rows may come out once however often they are found.
    is_set: bool,
}

struct Ready<'p> {
    planned: &'p Planned,
    /// The expression of an assignment, a filter, a list, a time.
    expr: Option<Compiled>,
    /// Bounds of a range.
    lower: Option<Value>,
    upper: Option<Value>,
    starts_with: Option<Value>,
    /// Rows that were handed on, where equal ones are made one.
    seen: Option<Table>,
}

/// Row numbers of a derived relation that its versions are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Marks {
    /// Rows before the last round.
    pub old: usize,
    /// Rows after it.
    pub total: usize,
}

impl<'p> Body<'p> {
    /// Makes a plan's expressions ready. `is_set`: the rows that come out become a set.
    ///
    /// # Errors
    /// An expression that fails whatever the rows are.
    pub(crate) fn new(
        plan: &'p BodyPlan,
        variables: usize,
        is_set: bool,
        computer: &Computer<'_>,
    ) -> Result<Self> {
        let mut steps = Vec::with_capacity(plan.steps.len());
        for planned in &plan.steps {
            let known = |expr: &Option<plan::Expr>| {
                expr.as_ref().map(|expr| computer.known(expr)).transpose()
            };
            let mut ready = Ready {
                planned,
                expr: None,
                lower: None,
                upper: None,
                starts_with: None,
                seen: None,
            };
            match &planned.step {
                Step::Assign { value: expr, .. }
                | Step::Filter(expr)
                | Step::Member { list: expr, .. } => {
                    ready.expr = Some(computer.compile(expr)?);
                }
                Step::Stored { range, at, .. } => {
                    if let Some(at) = at {
                        ready.expr = Some(computer.compile(at)?);
                    }
                    if let Some(range) = range {
                        ready.lower = known(&range.lower)?;
                        ready.upper = known(&range.upper)?;
                        ready.starts_with = known(&range.starts_with)?;
                    }
                }
                Step::Same { .. } | Step::Derived { .. } => {}
            }
            if planned.distinct && is_set {
                ready.seen = Some(Table::new(planned.live.len(), planned.live.len()));
            }
            steps.push(ready);
        }
        Ok(Self { steps, variables, is_set })
    }

    /// Runs it; `emit` gets the rows.
    ///
    /// # Errors
    /// Whatever stops the query.
    pub(crate) fn run(&mut self, query: &mut Query<'_>, emit: Emit<'_>) -> Result<Wanted> {
        self.step(0, Bindings::unit(self.variables), query, emit)
    }

    fn step(
        &mut self,
        at: usize,
        input: Bindings,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        query.check(0)?;
        if input.rows == 0 {
            return Ok(true);
        }
        let Some(ready) = self.steps.get(at) else { return emit(query, &input) };
        let planned = ready.planned;
        match &planned.step {
            Step::Assign { var, compare, .. } => {
                let computer = query.computer();
                let Some(expr) = &ready.expr else { return Ok(true) };
                let mut column = Vec::with_capacity(input.rows);
                for row in 0..input.rows {
                    column.push(computer.compute(expr, &input, row)?);
                }
                if *compare {
                    let kept: Vec<u32> = (0..input.rows as u32)
                        .filter(|&row| {
                            let other = input.columns[*var][row as usize];
                            is_same(column[row as usize], other, query.interner)
                        })
                        .collect();
                    return self.hand_on(at, input.gather(&kept, &planned.live), query, emit);
                }
                let mut output = input;
                output.columns[*var] = column;
                self.hand_on(at, output.keep(&planned.live), query, emit)
            }
            Step::Filter(_) => {
                let computer = query.computer();
                let Some(expr) = &ready.expr else { return Ok(true) };
                let mut kept = Vec::with_capacity(input.rows);
                for row in 0..input.rows {
                    let cell = computer.compute(expr, &input, row)?;
                    if computer.truth(cell, "a condition", span_of(&planned.step))? {
                        kept.push(row as u32);
                    }
                }
                let output = match kept.len() == input.rows {
                    true => input.keep(&planned.live),
                    false => input.gather(&kept, &planned.live),
                };
                self.hand_on(at, output, query, emit)
            }
            Step::Same { a, b, compare } => {
                if *compare {
                    let (a, b) = (&input.columns[*a], &input.columns[*b]);
                    let kept = (0..input.rows).filter(|&row| a[row] == b[row]);
                    let kept: Vec<u32> = kept.map(|row| row as u32).collect();
                    return self.hand_on(at, input.gather(&kept, &planned.live), query, emit);
                }
                let mut output = input;
                output.columns[*b] = output.columns[*a].clone();
                self.hand_on(at, output.keep(&planned.live), query, emit)
            }
            Step::Member { .. } => self.members(at, &input, query, emit),
            Step::Derived { predicate, version, bound, outputs, negated } => {
                let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
                let vars: Vec<usize> = bound.iter().map(|(_, var)| *var).collect();
                let table = query.table(*predicate, &columns);
                let marks = query.marks(*predicate);
                let rows = match version {
                    Version::Total => 0..marks.total,
                    Version::Old => 0..marks.old,
                    Version::Delta => marks.old..marks.total,
                };
                let join = TableJoin { columns, vars, outputs, rows, negated: *negated };
                self.join_table(at, input, &table, &join, query, emit)
            }
            Step::Stored { stored, .. } => match query.relation(*stored) {
                Relation::Stored(_) => self.join_stored(at, input, query, emit),
                Relation::Memory(table) => {
                    let Step::Stored { prefix, checks, outputs, negated, path, .. } = &planned.step
                    else {
                        return Ok(true);
                    };
                    let keys = &query.plan.infos[*stored].paths[*path].keys;
                    let prefix = keys.iter().copied().zip(prefix.iter().copied());
                    let bound: Vec<_> = prefix.chain(checks.iter().copied()).collect();
                    let columns: Vec<usize> = bound.iter().map(|(column, _)| *column).collect();
                    let vars = bound.iter().map(|(_, var)| *var).collect();
                    let table = query.memory_table(*stored, table, &columns);
                    let rows = 0..table.rows();
                    let join = TableJoin { columns, vars, outputs, rows, negated: *negated };
                    self.join_table(at, input, &table, &join, query, emit)
                }
            },
        }
    }

    /// A row for each item of a list, or those rows whose list has what is bound.
    fn members(
        &mut self,
        at: usize,
        input: &Bindings,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Member { var, compare, .. } = &planned.step else { return Ok(true) };
        let Some(expr) = self.steps[at].expr.clone() else { return Ok(true) };
        let interner = query.interner;
        let make = |rows: &[u32], items: &[Cell]| {
            let mut output = input.gather(rows, &planned.live);
            if !*compare && planned.live.contains(var) {
                output.columns[*var] = items.to_vec();
            }
            output
        };
        let (mut rows, mut items) = (Vec::new(), Vec::new());
        // Most lists are the same in each row: their items are looked up once.
        let mut last: Option<(Cell, Vec<Cell>)> = None;
        for row in 0..input.rows {
            let list = query.computer().compute(&expr, input, row)?;
            if last.as_ref().is_none_or(|(of, _)| *of != list) {
                let cells = match interner.value(list) {
                    Value::List(list) => list.into_iter().map(|item| interner.take(item)).collect(),
                    other => {
                        let what = format!("`in` expects a list, found {}", other.kind());
                        return Err(Error::value(what, span_of(&planned.step)));
                    }
                };
                last = Some((list, cells));
            }
            let Some((_, cells)) = &last else { continue };
            for piece in cells.chunks(BATCH_ROWS) {
                for &cell in piece {
                    if !*compare || is_same(cell, input.columns[*var][row], interner) {
                        rows.push(row as u32);
                        items.push(cell);
                    }
                }
                if rows.len() >= BATCH_ROWS {
                    let output = make(&rows, &items);
                    if !self.hand_on(at, output, query, emit)? {
                        return Ok(false);
                    }
                    rows.clear();
                    items.clear();
                }
            }
        }
        let output = make(&rows, &items);
        self.hand_on(at, output, query, emit)
    }

    /// Hands rows to the next step, equal ones once where the plan says so.
    fn hand_on(
        &mut self,
        at: usize,
        mut output: Bindings,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let ready = &mut self.steps[at];
        if let Some(seen) = &mut ready.seen {
            let live = &ready.planned.live;
            let kept: Vec<u32> = {
                let columns: Vec<&[Cell]> =
                    live.iter().map(|&var| output.columns[var].as_slice()).collect();
                (0..output.rows as u32).filter(|&row| seen.insert(&columns, row as usize)).collect()
            };
            if kept.len() < output.rows {
                output = output.gather(&kept, live);
            }
            query.check(seen.bytes())?;
        }
        if output.rows <= 2 * BATCH_ROWS {
            return self.step(at + 1, output, query, emit);
        }
        let mut start = 0;
        while start < output.rows {
            let end = (start + BATCH_ROWS).min(output.rows);
            if !self.step(at + 1, output.slice(start..end), query, emit)? {
                return Ok(false);
            }
            start = end;
        }
        Ok(true)
    }

    fn join_table(
        &mut self,
        at: usize,
        input: Bindings,
        table: &Table,
        join: &TableJoin<'_>,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let live = &self.steps[at].planned.live;
        let once = join.negated || (join.outputs.is_empty() && self.is_set);
        let (mut rows, mut found) = (Vec::new(), Vec::new());
        let mut key = Vec::with_capacity(join.vars.len());
        for row in 0..input.rows {
            if join.columns.is_empty() {
                let mut any = false;
                for there in join.rows.clone().filter(|&there| table.is_live(there)) {
                    any = true;
                    if once {
                        break;
                    }
                    rows.push(row as u32);
                    found.push(there as u32);
                    if rows.len() >= BATCH_ROWS {
                        let output = joined(&input, &rows, live, table, &found, join.outputs);
                        if !self.hand_on(at, output, query, emit)? {
                            return Ok(false);
                        }
                        rows.clear();
                        found.clear();
                    }
                }
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            } else {
                key.clear();
                key.extend(join.vars.iter().map(|&var| input.columns[var][row]));
                let mut any = false;
                table.each_match(&join.columns, &key, &join.rows, |there| {
                    any = true;
                    if !once {
                        rows.push(row as u32);
                        found.push(there as u32);
                    }
                    !once
                });
                if once && any != join.negated {
                    rows.push(row as u32);
                }
            }
            if rows.len() >= BATCH_ROWS {
                let output = joined(&input, &rows, live, table, &found, join.outputs);
                if !self.hand_on(at, output, query, emit)? {
                    return Ok(false);
                }
                rows.clear();
                found.clear();
            }
        }
        let output = joined(&input, &rows, live, table, &found, join.outputs);
        self.hand_on(at, output, query, emit)
    }

    fn join_stored(
        &mut self,
        at: usize,
        input: Bindings,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { stored, path, prefix, checks, outputs, negated, range, at: time } =
            &planned.step
        else {
            return Ok(true);
        };
        let Relation::Stored(relation) = query.relation(*stored) else { return Ok(true) };
        let times = match (&self.steps[at].expr, time) {
            (Some(expr), Some(_)) => Some(query.times(expr, &input)?),
            _ => None,
        };
        // What cannot be asked of the path by key is read whole, once, and found by hash.
        let is_historical = times.is_some();
        if prefix.is_empty() && !checks.is_empty() && !is_historical && range.is_none() {
            let columns: Vec<usize> = checks.iter().map(|(column, _)| *column).collect();
            let vars: Vec<usize> = checks.iter().map(|(_, var)| *var).collect();
            let mut wanted = columns.clone();
            wanted.extend(outputs.iter().map(|(column, _)| *column));
            wanted.sort_unstable();
            wanted.dedup();
            let place = |column: usize| wanted.iter().position(|&one| one == column).unwrap_or(0);
            let mapped: Vec<usize> = columns.iter().map(|&column| place(column)).collect();
            let outputs: Vec<(usize, usize)> =
                outputs.iter().map(|&(column, var)| (place(column), var)).collect();
            let table = query.hashed(*stored, &wanted, &mapped)?;
            let rows = 0..table.rows();
            let join =
                TableJoin { columns: mapped, vars, outputs: &outputs, rows, negated: *negated };
            return self.join_table(at, input, &table, &join, query, emit);
        }
        let stored_path = &relation.paths[*path];
        let mut wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        wanted.extend(checks.iter().map(|(column, _)| *column));
        if is_historical {
            return self.join_history(
                at,
                &input,
                &relation,
                &times.unwrap_or_default(),
                query,
                emit,
            );
        }
        let once = *negated || (outputs.is_empty() && self.is_set);
        if prefix.is_empty() {
            // Nothing ties it to what is bound: every row of the range with every row of the batch.
            let mut key_range = match stored_path.prefix(&[], query.interner) {
                Some(range) => range,
                None => return Ok(true),
            };
            self.narrow(at, &mut key_range, &[], stored_path, query);
            let (read, interner) = (query.read, query.interner);
            let mut any = false;
            let mut wants_more = true;
            let chunk_rows = (BATCH_ROWS / input.rows).clamp(64, CHUNK_ROWS);
            stored_path.scan(read, key_range, &wanted, chunk_rows, interner, &mut |found| {
                any = true;
                if once && checks.is_empty() {
                    return Ok(false);
                }
                let pairs = input.rows * found.rows;
                let mut rows = Vec::with_capacity(pairs);
                let mut places = Vec::with_capacity(pairs);
                for row in 0..input.rows as u32 {
                    for place in 0..found.rows as u32 {
                        rows.push(row);
                        places.push(place);
                    }
                }
                wants_more =
                    self.check_and_hand_on(at, &input, &rows, &places, &found, query, emit)?;
                Ok::<bool, Error>(wants_more)
            })?;
            if once && checks.is_empty() && any != *negated {
                return self.hand_on(at, input.keep(&planned.live), query, emit);
            }
            return Ok(wants_more);
        }
        let has_range = range.is_some() && prefix.len() < stored_path.schema.keys.len();
        let mut start = 0;
        while start < input.rows {
            let end = (start + PROBE_ROWS).min(input.rows);
            let keys: Vec<&[Cell]> =
                prefix.iter().map(|&var| &input.columns[var][start..end]).collect();
            let (read, interner) = (query.read, query.interner);
            let mut rows = Vec::new();
            // What an index does not hold is looked up in the relation, by its key.
            let main = &relation.paths[0];
            let main_keys: Vec<usize> = (0..main.schema.keys.len()).collect();
            let is_covered = stored_path.covers(&wanted);
            let asked = if is_covered { &wanted } else { &main_keys };
            let mut found = if has_range {
                self.probe_ranges(at, &keys, end - start, asked, stored_path, query, &mut rows)?
            } else {
                stored_path.probe(read, &keys, end - start, asked, interner, &mut rows)?
            };
            if !is_covered {
                let keys: Vec<&[Cell]> = found.columns.iter().map(Vec::as_slice).collect();
                let mut there = Vec::with_capacity(found.rows);
                let full = main.probe(read, &keys, found.rows, &wanted, interner, &mut there)?;
                rows = there.iter().map(|&place| rows[place as usize]).collect();
                found = full;
            }
            rows.iter_mut().for_each(|row| *row += start as u32);
            let wants_more = if once {
                let mut is_found = vec![false; end - start];
                for (place, &row) in rows.iter().enumerate() {
                    if !is_found[row as usize - start]
                        && passes(&input, row, place, &found, outputs.len(), checks, interner)
                    {
                        is_found[row as usize - start] = true;
                    }
                }
                let kept: Vec<u32> = (start..end)
                    .filter(|row| is_found[row - start] != *negated)
                    .map(|row| row as u32)
                    .collect();
                let output = input.gather(&kept, &planned.live);
                self.hand_on(at, output, query, emit)?
            } else {
                let places: Vec<u32> = (0..rows.len() as u32).collect();
                self.check_and_hand_on(at, &input, &rows, &places, &found, query, emit)?
            };
            if !wants_more {
                return Ok(false);
            }
            start = end;
        }
        Ok(true)
    }

    /// Keeps the pairs whose other columns agree, and hands them on.
    #[expect(clippy::too_many_arguments, reason = "the two sides of a join and where it goes")]
    fn check_and_hand_on(
        &mut self,
        at: usize,
        input: &Bindings,
        rows: &[u32],
        places: &[u32],
        found: &Columns,
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { checks, outputs, .. } = &planned.step else { return Ok(true) };
        let live = &planned.live;
        let make = |rows: &[u32], places: &[u32]| {
            let mut output = input.gather(rows, live);
            for (i, (_, var)) in outputs.iter().enumerate() {
                if live.contains(var) {
                    let column = &found.columns[i];
                    output.columns[*var] =
                        places.iter().map(|&place| column[place as usize]).collect();
                }
            }
            output
        };
        if checks.is_empty() {
            let output = make(rows, places);
            return self.hand_on(at, output, query, emit);
        }
        let kept: (Vec<u32>, Vec<u32>) = rows
            .iter()
            .zip(places)
            .filter(|&(&row, &place)| {
                passes(input, row, place as usize, found, outputs.len(), checks, query.interner)
            })
            .unzip();
        let output = make(&kept.0, &kept.1);
        self.hand_on(at, output, query, emit)
    }

    fn narrow(
        &self,
        at: usize,
        range: &mut base::KeyRange,
        prefix: &[Cell],
        path: &crate::stored::StoredPath,
        query: &Query<'_>,
    ) {
        let Ready { lower, upper, starts_with, .. } = &self.steps[at];
        path.narrow(range, prefix, lower.as_ref(), upper.as_ref(), query.interner);
        if let Some(Value::Str(text)) = starts_with {
            path.narrow_to_text(range, prefix, text, query.interner);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one probe and its bounds")]
    fn probe_ranges(
        &self,
        at: usize,
        keys: &[&[Cell]],
        rows: usize,
        wanted: &[usize],
        path: &crate::stored::StoredPath,
        query: &Query<'_>,
        found: &mut Vec<u32>,
    ) -> Result<Columns> {
        let mut all = Columns { rows: 0, columns: vec![Vec::new(); wanted.len()] };
        for row in 0..rows {
            let prefix: Vec<Cell> = keys.iter().map(|column| column[row]).collect();
            let Some(mut range) = path.prefix(&prefix, query.interner) else { continue };
            self.narrow(at, &mut range, &prefix, path, query);
            path.scan(query.read, range, wanted, CHUNK_ROWS, query.interner, &mut |columns| {
                found.extend(std::iter::repeat_n(row as u32, columns.rows));
                all.rows += columns.rows;
                for (all, more) in all.columns.iter_mut().zip(columns.columns) {
                    all.extend(more);
                }
                Ok::<bool, Error>(true)
            })?;
        }
        Ok(all)
    }

    /// Joins with what held at a time: of each key without its validity the newest row that is not later, if it asserts.
    fn join_history(
        &mut self,
        at: usize,
        input: &Bindings,
        relation: &crate::query::StoredRelation,
        times: &[i64],
        query: &mut Query<'_>,
        emit: Emit<'_>,
    ) -> Result<Wanted> {
        let planned = self.steps[at].planned;
        let Step::Stored { path, prefix, checks, outputs, negated, .. } = &planned.step else {
            return Ok(true);
        };
        let path = &relation.paths[*path];
        let keys = relation.paths[0].schema.keys.len();
        let once = *negated || (outputs.is_empty() && self.is_set);
        let mut wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        wanted.extend(checks.iter().map(|(column, _)| *column));
        let asked = wanted.len();
        wanted.extend(0..keys);
        for (row, &time) in times.iter().enumerate() {
            let prefix: Vec<Cell> = prefix.iter().map(|&var| input.columns[var][row]).collect();
            // Where no key can be of such values, nothing is found: what a negation is after.
            let range = path.prefix(&prefix, query.interner);
            let (read, interner) = (query.read, query.interner);
            let mut last: Option<Vec<Cell>> = None;
            let (mut any, mut wants_more) = (false, true);
            let mut visit = |found: Columns| {
                let mut places = Vec::new();
                for place in 0..found.rows {
                    let keys = &found.columns[asked..asked + keys];
                    if crate::history::newest(keys, place, time, &mut last, interner) {
                        places.push(place as u32);
                    }
                }
                if once {
                    any |= places.iter().any(|&place| {
                        let place = place as usize;
                        passes(input, row as u32, place, &found, outputs.len(), checks, interner)
                    });
                    return Ok(!any);
                }
                let rows = vec![row as u32; places.len()];
                wants_more =
                    self.check_and_hand_on(at, input, &rows, &places, &found, query, emit)?;
                Ok::<bool, Error>(wants_more)
            };
            if let Some(range) = range {
                path.scan(read, range, &wanted, CHUNK_ROWS, interner, &mut visit)?;
            }
            if once && any != *negated {
                let output = input.gather(&[row as u32], &planned.live);
                wants_more = self.hand_on(at, output, query, emit)?;
            }
            if !wants_more {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A join with rows in memory.
struct TableJoin<'j> {
    /// Columns that are bound.
    columns: Vec<usize>,
    /// By which variables.
    vars: Vec<usize>,
    /// Columns that bind variables.
    outputs: &'j [(usize, usize)],
    /// Which rows are seen.
    rows: Range<usize>,
    negated: bool,
}

fn joined(
    input: &Bindings,
    rows: &[u32],
    live: &[usize],
    table: &Table,
    found: &[u32],
    outputs: &[(usize, usize)],
) -> Bindings {
    let mut output = input.gather(rows, live);
    for &(column, var) in outputs {
        if live.contains(&var) && found.len() == rows.len() {
            let column = table.column(column);
            output.columns[var] = found.iter().map(|&there| column[there as usize]).collect();
        }
    }
    output
}

/// Whether the columns that are bound besides the key agree.
fn passes(
    input: &Bindings,
    row: u32,
    place: usize,
    found: &Columns,
    outputs: usize,
    checks: &[(usize, usize)],
    interner: &Interner,
) -> bool {
    checks.iter().enumerate().all(|(i, (_, var))| {
        is_same(found.columns[outputs + i][place], input.columns[*var][row as usize], interner)
    })
}

/// Whether two cells are the same value, or an integer and a float of the same size.
#[inline]
fn is_same(a: Cell, b: Cell, interner: &Interner) -> bool {
    if a == b {
        return true;
    }
    let number = |cell: Cell| match interner.value(cell) {
        Value::Int(int) => Some((int as f64, false)),
        Value::Float(float) => Some((float, true)),
        _ => None,
    };
    // Two integers or two floats that are not the same cell are not the same value.
    match (a.as_small_int(), b.as_small_int()) {
        (Some(_), Some(_)) => false,
        _ => match (number(a), number(b)) {
            (Some((a, true)), Some((b, false))) | (Some((a, false)), Some((b, true))) => a == b,
            _ => false,
        },
    }
}

fn span_of(step: &Step) -> Span {
    match step {
        Step::Filter(plan::Expr::Call(_, _, span))
        | Step::Member { list: plan::Expr::Call(_, _, span), .. } => *span,
        _ => Span::default(),
    }
}
