//! Groups of rows with their aggregates, for `aggregate.rs`.
//!
//! # How
//! A batch is processed column by column: first the group of each row is found, then each aggregate
//! is updated in its own loop. Recent groups are cached: where there are few, or rows are ordered
//! by group, the table is not searched.

use crate::error::{Error, Result};
use crate::expr::one_nan;
use crate::limits::Check;
use crate::sink::sum::Sum;
use crate::sink::unique_values::UniqueValues;
use crate::table::Table;
use crate::value::cell::{Cell, Interner, bytes_of, small_range, small_sum};
use crate::vector::text_cells::TextCells;
use base::STEPS;
use function::Accumulate;
use model::Value;
use plan::AggregateUse;
use std::cmp::Ordering;
use syntax::Span;

/// States of an aggregate whose size is sampled.
const SAMPLED_STATES: usize = 4096;

/// Length from which on a value counts as long, in bytes.
const LONG_BYTES: usize = 4 << 10;

/// Bytes that groups may grow by without a check of the limits.
const UNCHECKED_BYTES: usize = 1 << 20;

/// Slots of the cache of recent groups; a power of two.
const REMEMBERED: usize = 512;

/// Groups of a rule's head with their aggregates.
pub(crate) struct Groups {
    /// The plain columns, one row per group.
    pub(super) keys: Table,
    /// Indexes of the plain columns in the head.
    pub(super) plain: Vec<usize>,
    /// Index of each aggregate in the head, and its states.
    pub(super) aggregates: Vec<(usize, States)>,
    /// Cache of recent groups: cells are stored with them if there is a single plain column.
    remembered: Vec<(Cell, u32)>,
    /// Group of each row in the current batch.
    pub(super) numbers: Vec<u32>,
    /// Cells of the strings of each plain column, where columns are typed.
    pub(super) texts: Vec<TextCells>,
    pub(super) arity: usize,
    /// Place of the rule.
    span: Span,
    /// Place of each aggregate.
    pub(super) spans: Vec<Span>,
    /// Seed for aggregates that are random.
    seed: u64,
}

/// The states of an aggregate, one per group.
pub(super) enum States {
    Count(Vec<u64>),
    Sum(Vec<Sum>),
    Mean(Vec<Sum>),
    Least(Vec<Cell>),
    Greatest(Vec<Cell>),
    Unique(Box<UniqueValues>),
    Other { used: AggregateUse, args: Vec<Value>, states: Vec<Box<dyn Accumulate>> },
}

/// A column of a batch, with the group of each row.
pub(super) struct GroupedCells<'c> {
    pub cells: &'c [Cell],
    pub groups: &'c [u32],
    /// Multiplicity of each row; empty if each row counts once.
    pub weights: &'c [u64],
}

/// Bytes that states have grown by through long values within a batch.
#[derive(Default)]
struct Grown {
    bytes: usize,
    checked_bytes: usize,
}

impl Grown {
    /// Size of a state before it takes a long value; `None` for a short one.
    fn before(&self, value: &Value, state: &dyn Accumulate) -> Option<usize> {
        let is_long = match value {
            Value::Str(text) => text.len() >= LONG_BYTES,
            Value::Bytes(bytes) => bytes.len() >= LONG_BYTES,
            Value::Json(json) => json.as_str().len() >= LONG_BYTES,
            Value::List(items) => items.len() >= LONG_BYTES / size_of::<Value>(),
            Value::Vector(_) => bytes_of(value) >= LONG_BYTES as u64,
            _ => false,
        };
        is_long.then(|| state.bytes())
    }

    /// Whether the states have grown so much that the limits should be checked.
    fn after(&mut self, before: Option<usize>, state: &dyn Accumulate) -> bool {
        let Some(before) = before else { return false };
        self.bytes += state.bytes().saturating_sub(before);
        let is_much = self.bytes - self.checked_bytes >= UNCHECKED_BYTES;
        if is_much {
            self.checked_bytes = self.bytes;
        }
        is_much
    }
}

impl Groups {
    /// No groups yet. `args` are the further arguments of each aggregate.
    pub(crate) fn new(
        aggregates: &[Option<AggregateUse>],
        args: Vec<Vec<Value>>,
        span: Span,
        seed: u64,
    ) -> Self {
        let plain: Vec<usize> =
            (0..aggregates.len()).filter(|&i| aggregates[i].is_none()).collect();
        let used = aggregates.iter().enumerate().filter_map(|(i, used)| Some((i, used.as_ref()?)));
        let states = used.zip(args).map(|((i, used), args)| {
            let states = match used.aggregate.name {
                "count" => States::Count(Vec::new()),
                "sum" => States::Sum(Vec::new()),
                "mean" => States::Mean(Vec::new()),
                "min" => States::Least(Vec::new()),
                "max" => States::Greatest(Vec::new()),
                "count_unique" => States::Unique(Box::new(UniqueValues::new(!plain.is_empty()))),
                _ => States::Other { used: used.clone(), args, states: Vec::new() },
            };
            (i, states)
        });
        Self {
            keys: Table::new(plain.len(), plain.len()),
            aggregates: states.collect(),
            remembered: vec![(Cell::NULL, u32::MAX); REMEMBERED],
            numbers: Vec::new(),
            texts: plain.iter().map(|_| TextCells::default()).collect(),
            arity: aggregates.len(),
            plain,
            span,
            spans: aggregates.iter().flatten().map(|used| used.span).collect(),
            seed,
        }
    }

    /// Adds rows with the columns of the head, each as often as its multiplicity says; without
    /// weights once. Columns that are only counted may be empty.
    ///
    /// # Errors
    /// A value that an aggregate does not accept; those of `check`, which is called with the bytes
    /// held where values are long.
    pub(crate) fn add(
        &mut self,
        columns: &[&[Cell]],
        rows: usize,
        weights: &[u64],
        interner: &Interner,
        check: &dyn Fn(u64) -> Result<()>,
    ) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        if weights.contains(&u64::MAX) {
            let what = "more rows are aggregated than 64 bits can count";
            return Err(Error::value(what, self.span));
        }
        let is_one_group = self.plain.is_empty() && weights.is_empty();
        self.find(columns, rows);
        self.begin()?;
        // Range of a column. `min` and `max` may both need it, each by its own index in the head.
        let mut seen = None;
        let keys = &self.keys;
        let check_grown = |grown_bytes: usize| check(keys.bytes() + grown_bytes as u64);
        for ((place, states), &span) in self.aggregates.iter_mut().zip(&self.spans) {
            let cells = columns[*place];
            let range = || match seen {
                Some((of, range)) if of == cells.as_ptr() => range,
                _ => seen.insert((cells.as_ptr(), small_range(cells))).1,
            };
            if is_one_group && states.add_all(cells, rows, range, interner, span)? {
                continue;
            }
            let batch = GroupedCells { cells, groups: &self.numbers, weights };
            states.add_each(&batch, interner, span, &check_grown)?;
        }
        Ok(())
    }

    /// Writes the group of each row into `numbers`.
    pub(super) fn find(&mut self, columns: &[&[Cell]], rows: usize) {
        let Self { keys, plain, remembered, numbers, .. } = self;
        match plain.as_slice() {
            [] => {
                keys.find_or_insert(&[], 0);
                // All entries are zero.
                numbers.resize(rows, 0);
            }
            &[only] => {
                let key = [columns[only]];
                numbers.clear();
                numbers.extend(columns[only][..rows].iter().enumerate().map(|(row, &cell)| {
                    // Fibonacci hashing: the product's high bits depend on all bits of the cell.
                    let mixed = cell.word().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
                    let slot = &mut remembered[mixed as usize % REMEMBERED];
                    if slot.0 != cell || slot.1 == u32::MAX {
                        *slot = (cell, keys.find_or_insert(&key, row) as u32);
                    }
                    slot.1
                }));
            }
            several => {
                let key: Vec<&[Cell]> = several.iter().map(|&i| columns[i]).collect();
                numbers.clear();
                for row in 0..rows {
                    let mixed = key.iter().fold(0_u64, |mixed, column| {
                        let word = mixed.rotate_left(32) ^ column[row].word();
                        word.wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    });
                    let (_, group) = &mut remembered[(mixed >> 32) as usize % REMEMBERED];
                    let is_it = |number: usize| {
                        let own = (0..key.len()).map(|i| keys.column(i)[number]);
                        own.zip(&key).all(|(own, column)| own == column[row])
                    };
                    if *group == u32::MAX || !is_it(*group as usize) {
                        *group = keys.find_or_insert(&key, row) as u32;
                    }
                    numbers.push(*group);
                }
            }
        }
    }

    /// Starts the states of new groups.
    pub(super) fn begin(&mut self) -> Result<()> {
        let groups = self.keys.rows();
        let several = self.aggregates.len() as u64;
        let spans = self.spans.iter();
        for (number, ((_, states), &span)) in self.aggregates.iter_mut().zip(spans).enumerate() {
            match states {
                States::Count(counts) => counts.resize(groups, 0),
                States::Sum(sums) | States::Mean(sums) => sums.resize(groups, Sum::default()),
                States::Least(cells) | States::Greatest(cells) => cells.resize(groups, Cell::NULL),
                States::Unique(unique) => unique.groups = groups,
                States::Other { used, args, states } => {
                    while states.len() < groups {
                        let started = match &used.own {
                            Some(own) => own.start(args),
                            None => (used.aggregate.start)(args),
                        };
                        let mut state = started.map_err(|failure| Error::failed(failure, span))?;
                        // An odd multiplier, so that each state gets another seed.
                        let place = states.len() as u64 * several + number as u64;
                        let place = place.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                        state.seed(self.seed.wrapping_add(place));
                        states.push(state);
                    }
                }
            }
        }
        Ok(())
    }

    /// Approximate size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let states: u64 = self.aggregates.iter().map(|(_, states)| states.bytes()).sum();
        let texts: usize = self.texts.iter().map(TextCells::bytes).sum();
        self.keys.bytes() + states + texts as u64
    }

    /// Calls `visit` with each cell held.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        crate::sink::each_cell_of(&self.keys.columns(), visit);
        for (_, states) in &self.aggregates {
            match states {
                States::Least(cells) | States::Greatest(cells) => {
                    cells.iter().for_each(|&cell| visit(cell));
                }
                States::Unique(unique) => unique.each_cell(visit),
                _ => {}
            }
        }
    }

    /// Whether two of these can be merged: not with the state of a user-defined function.
    pub(crate) fn is_joinable(&self) -> bool {
        !self.aggregates.iter().any(|(_, states)| matches!(states, States::Other { .. }))
    }

    /// Empty groups with the same aggregates, which must be joinable.
    pub(crate) fn fork(&self) -> Self {
        let states = |states: &States| match states {
            States::Count(_) => States::Count(Vec::new()),
            States::Sum(_) => States::Sum(Vec::new()),
            States::Mean(_) => States::Mean(Vec::new()),
            States::Least(_) => States::Least(Vec::new()),
            States::Greatest(_) => States::Greatest(Vec::new()),
            States::Unique(_) => {
                States::Unique(Box::new(UniqueValues::new(!self.plain.is_empty())))
            }
            States::Other { used, args, .. } => {
                States::Other { used: used.clone(), args: args.clone(), states: Vec::new() }
            }
        };
        Self {
            keys: Table::new(self.plain.len(), self.plain.len()),
            plain: self.plain.clone(),
            aggregates: self.aggregates.iter().map(|(place, of)| (*place, states(of))).collect(),
            remembered: vec![(Cell::NULL, u32::MAX); REMEMBERED],
            numbers: Vec::new(),
            texts: self.plain.iter().map(|_| TextCells::default()).collect(),
            spans: self.spans.clone(),
            ..*self
        }
    }

    /// Merges the groups of a fork.
    ///
    /// # Errors
    /// A sum that leaves its range.
    pub(crate) fn join(&mut self, other: Self, interner: &Interner) -> Result<()> {
        let columns = other.keys.columns();
        let rows = 0..other.keys.rows();
        let groups: Vec<usize> = rows.map(|row| self.keys.find_or_insert(&columns, row)).collect();
        self.begin()?;
        let own = self.aggregates.iter_mut().zip(&self.spans);
        for (((_, states), &span), (_, others)) in own.zip(other.aggregates) {
            let groups = groups.iter().copied();
            match (states, others) {
                (States::Count(counts), States::Count(others)) => {
                    for (group, other) in groups.zip(others) {
                        counts[group] = counts[group].saturating_add(other);
                    }
                }
                (States::Sum(sums), States::Sum(others)) => {
                    for (group, other) in groups.zip(others) {
                        sums[group].join(other, "sum", span)?;
                    }
                }
                (States::Mean(sums), States::Mean(others)) => {
                    for (group, other) in groups.zip(others) {
                        sums[group].join(other, "mean", span)?;
                    }
                }
                (States::Least(least), States::Least(others)) => {
                    groups.zip(others).for_each(|(group, other)| {
                        keep_better(&mut least[group], other, interner, Ordering::Less);
                    });
                }
                (States::Greatest(greatest), States::Greatest(others)) => {
                    groups.zip(others).for_each(|(group, other)| {
                        keep_better(&mut greatest[group], other, interner, Ordering::Greater);
                    });
                }
                (States::Unique(unique), States::Unique(others)) => {
                    unique.join(&others, groups.map(|group| group as u32).collect());
                }
                _ => unreachable!("a fork has the same aggregates, none of them a function's"),
            }
        }
        Ok(())
    }

    /// One row per group, in columns. Without plain columns there is one row even without input.
    ///
    /// # Errors
    /// An aggregate without a value; those of `check`.
    pub(crate) fn finish(
        mut self,
        interner: &Interner,
        check: Check<'_>,
    ) -> Result<Vec<Vec<Cell>>> {
        if self.plain.is_empty() {
            self.keys.find_or_insert(&[], 0);
            self.begin()?;
        }
        let mut columns = vec![Vec::new(); self.arity];
        for (i, &place) in self.plain.iter().enumerate() {
            columns[place] = self.keys.column(i).to_vec();
        }
        for ((place, states), span) in self.aggregates.into_iter().zip(self.spans) {
            columns[place] = states.finish(interner, span, check)?;
        }
        Ok(columns)
    }
}

/// Adds the value of each row to the state of its group, as [`States::add_each`] says.
fn add_values(
    states: &mut [Box<dyn Accumulate>],
    batch: &GroupedCells<'_>,
    interner: &Interner,
    span: Span,
    check: &dyn Fn(usize) -> Result<()>,
) -> Result<()> {
    let mut grown = Grown::default();
    for (&cell, &group) in batch.cells.iter().zip(batch.groups) {
        let state = &mut states[group as usize];
        let is_long = interner
            .with(cell, |value| {
                let before = grown.before(value, &**state);
                state.add(value)?;
                Ok(grown.after(before, &**state))
            })
            .map_err(|failure| Error::failed(failure, span))?;
        if is_long {
            check(grown.bytes)?;
        }
    }
    Ok(())
}

impl States {
    /// Adds each row to the state of its group. `check` is called with the bytes that states have
    /// grown by, where values are long.
    pub(super) fn add_each(
        &mut self,
        batch: &GroupedCells<'_>,
        interner: &Interner,
        span: Span,
        check: &dyn Fn(usize) -> Result<()>,
    ) -> Result<()> {
        let &GroupedCells { cells, groups, weights } = batch;
        let weight = |row: usize| weights.get(row).copied().unwrap_or(1);
        let numbered = groups.iter().map(|&group| group as usize).enumerate();
        match self {
            Self::Count(counts) if weights.is_empty() && counts.len() == 1 => {
                counts[0] = counts[0].saturating_add(groups.len() as u64);
            }
            Self::Count(counts) if weights.is_empty() => {
                groups.iter().for_each(|&group| counts[group as usize] += 1);
            }
            Self::Count(counts) => {
                for (row, group) in numbered {
                    counts[group] = counts[group].saturating_add(weight(row));
                }
            }
            Self::Sum(sums) => {
                for (row, group) in numbered {
                    sums[group].add(cells[row], weight(row), interner, "sum", span)?;
                }
            }
            Self::Mean(sums) => {
                for (row, group) in numbered {
                    sums[group].add(cells[row], weight(row), interner, "mean", span)?;
                }
            }
            Self::Least(least) => {
                for (row, group) in numbered {
                    keep_better(&mut least[group], cells[row], interner, Ordering::Less);
                }
            }
            Self::Greatest(greatest) => {
                for (row, group) in numbered {
                    keep_better(&mut greatest[group], cells[row], interner, Ordering::Greater);
                }
            }
            Self::Unique(unique) => unique.add(cells, groups),
            Self::Other { states, .. } => add_values(states, batch, interner, span, check)?,
        }
        Ok(())
    }

    /// Adds all cells of a batch to the only group, where that is faster than one by one: if they
    /// are small integers, whose range `range` returns. Returns whether it did.
    fn add_all(
        &mut self,
        cells: &[Cell],
        rows: usize,
        range: impl FnOnce() -> Option<(i64, i64)>,
        interner: &Interner,
        span: Span,
    ) -> Result<bool> {
        let add = |to: &mut Sum, of: &str| {
            let Some(sum) = small_sum(cells) else { return Ok(false) };
            to.rows = to.rows.saturating_add(rows as u64);
            to.add_ints(sum, 1, of, span).map(|()| true)
        };
        let keep = |best: &mut Cell, found: Option<i64>, better| {
            let Some(cell) = found.and_then(Cell::small_int) else { return false };
            keep_better(best, cell, interner, better);
            true
        };
        Ok(match self {
            Self::Sum(sums) => add(&mut sums[0], "sum")?,
            Self::Mean(sums) => add(&mut sums[0], "mean")?,
            Self::Least(best) => keep(&mut best[0], range().map(|range| range.0), Ordering::Less),
            Self::Greatest(best) => {
                keep(&mut best[0], range().map(|range| range.1), Ordering::Greater)
            }
            Self::Count(_) | Self::Unique(_) | Self::Other { .. } => false,
        })
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Count(counts) => 8 * counts.len() as u64,
            Self::Sum(sums) | Self::Mean(sums) => (size_of::<Sum>() * sums.len()) as u64,
            Self::Least(cells) | Self::Greatest(cells) => 8 * cells.len() as u64,
            Self::Unique(unique) => unique.bytes(),
            Self::Other { states, .. } => {
                // With very many groups, a sample of some thousand states is taken, because this is
                // called for each batch.
                let step = states.len() / SAMPLED_STATES + 1;
                let sampled: usize = states.iter().step_by(step).map(|state| state.bytes()).sum();
                (sampled * step + 16 * states.len()) as u64
            }
        }
    }

    fn finish(self, interner: &Interner, span: Span, check: Check<'_>) -> Result<Vec<Cell>> {
        check()?;
        Ok(match self {
            Self::Count(counts) => {
                let cell = |count: u64| match i64::try_from(count) {
                    Ok(count) => Ok(interner.int(count)),
                    Err(_) => Err(Error::value("count: more rows than the largest Int says", span)),
                };
                counts.into_iter().map(cell).collect::<Result<_>>()?
            }
            Self::Sum(sums) => {
                sums.iter().map(|sum| sum.total(interner, span)).collect::<Result<_>>()?
            }
            Self::Mean(sums) => {
                sums.iter().map(|sum| sum.mean(interner, span)).collect::<Result<_>>()?
            }
            Self::Least(cells) | Self::Greatest(cells) => cells,
            Self::Unique(unique) => unique.counts().into_iter().map(|n| interner.int(n)).collect(),
            Self::Other { states, .. } => {
                let cell = |mut state: Box<dyn Accumulate>| match state.finish() {
                    Ok(Value::Float(float)) => Ok(interner.float(one_nan(float))),
                    Ok(value) => Ok(interner.take(value)),
                    Err(failure) => Err(Error::failed(failure, span)),
                };
                let mut cells = Vec::with_capacity(states.len());
                for (group, state) in states.into_iter().enumerate() {
                    if group % STEPS == STEPS - 1 {
                        check()?;
                    }
                    cells.push(cell(state)?);
                }
                cells
            }
        })
    }
}

/// Replaces the best cell by a better one; nulls never win.
#[inline]
fn keep_better(best: &mut Cell, cell: Cell, interner: &Interner, better: Ordering) {
    if cell != *best
        && cell != Cell::NULL
        && (*best == Cell::NULL || interner.cmp(cell, *best) == better)
    {
        *best = cell;
    }
}
