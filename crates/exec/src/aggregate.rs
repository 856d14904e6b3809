//! Groups of rows, and what aggregates make of them.

use crate::cell::{Cell, Interner};
use crate::error::{Error, Result};
use crate::expr::one_nan;
use crate::table::Table;
use function::Accumulate;
use model::Value;
use plan::AggregateUse;
use syntax::Span;

/// Groups that are asked how much they hold.
const SAMPLED_STATES: usize = 4096;

/// Rows of a rule's head on the way to one row a group.
pub(crate) struct Groups {
    /// One row a group: the plain columns.
    keys: Table,
    /// Places of the plain columns in the head.
    plain: Vec<usize>,
    /// Places of the aggregates, and how each begins.
    makers: Vec<(usize, Maker)>,
    /// One of each aggregate a group.
    states: Vec<State>,
    arity: usize,
    span: Span,
    /// For aggregates that draw.
    seed: u64,
}

enum Maker {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
    Other(AggregateUse, Vec<Value>),
}

/// Where one group's aggregate stands.
enum State {
    Count(i64),
    /// Whole numbers exactly, fractions beside them.
    Sum {
        ints: i128,
        floats: f64,
        has_floats: bool,
    },
    Mean {
        ints: i128,
        floats: f64,
        rows: u64,
    },
    Least(Cell),
    Greatest(Cell),
    Other(Box<dyn Accumulate>),
}

impl Groups {
    /// No rows yet. `args` are the further arguments of each aggregate.
    pub(crate) fn new(
        aggregates: &[Option<AggregateUse>],
        args: Vec<Vec<Value>>,
        span: Span,
        seed: u64,
    ) -> Self {
        let plain: Vec<usize> =
            (0..aggregates.len()).filter(|&i| aggregates[i].is_none()).collect();
        let used = aggregates.iter().enumerate().filter_map(|(i, used)| Some((i, used.as_ref()?)));
        let makers = used.zip(args).map(|((i, used), args)| {
            let maker = match used.aggregate.name {
                "count" => Maker::Count,
                "sum" => Maker::Sum,
                "mean" => Maker::Mean,
                "min" => Maker::Least,
                "max" => Maker::Greatest,
                _ => Maker::Other(used.clone(), args),
            };
            (i, maker)
        });
        Self {
            keys: Table::new(plain.len(), plain.len()),
            makers: makers.collect(),
            states: Vec::new(),
            arity: aggregates.len(),
            plain,
            span,
            seed,
        }
    }

    /// Adds a row: `columns` of the head.
    ///
    /// # Errors
    /// A value that an aggregate does not take.
    pub(crate) fn add(
        &mut self,
        columns: &[&[Cell]],
        row: usize,
        interner: &Interner,
    ) -> Result<()> {
        let key: Vec<&[Cell]> = self.plain.iter().map(|&i| columns[i]).collect();
        let group = match self.keys.insert(&key, row) {
            true => {
                self.begin()?;
                self.keys.rows() - 1
            }
            false => {
                let cells: Vec<Cell> = key.iter().map(|column| column[row]).collect();
                self.keys.find(&cells).unwrap_or_default()
            }
        };
        let first = group * self.makers.len();
        for (i, (place, _)) in self.makers.iter().enumerate() {
            self.states[first + i].add(columns[*place][row], interner, self.span)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        for (_, maker) in &self.makers {
            self.states.push(match maker {
                Maker::Count => State::Count(0),
                Maker::Sum => State::Sum { ints: 0, floats: 0.0, has_floats: false },
                Maker::Mean => State::Mean { ints: 0, floats: 0.0, rows: 0 },
                Maker::Least => State::Least(Cell::NULL),
                Maker::Greatest => State::Greatest(Cell::NULL),
                Maker::Other(used, args) => {
                    let started = (used.aggregate.start)(args);
                    let mut state = started.map_err(|failure| self.failed(failure))?;
                    // An odd multiplier: each state draws its own.
                    let place = (self.states.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    state.seed(self.seed.wrapping_add(place));
                    State::Other(state)
                }
            });
        }
        Ok(())
    }

    fn failed(&self, failure: function::Failure) -> Error {
        Error::failed(failure, self.span)
    }

    /// About how many bytes are held.
    pub(crate) fn bytes(&self) -> u64 {
        let held = |state: &State| match state {
            State::Other(state) => state.bytes() as u64,
            _ => 0,
        };
        // Of very many groups some thousand are asked, all over, what they hold: this is asked for each batch.
        let step = self.states.len() / SAMPLED_STATES + 1;
        let sampled: u64 = self.states.iter().step_by(step).map(held).sum();
        self.keys.bytes() + (self.states.len() * size_of::<State>()) as u64 + sampled * step as u64
    }

    /// One row a group, in columns; without plain columns one row also of no rows.
    ///
    /// # Errors
    /// An aggregate that has no value.
    pub(crate) fn finish(mut self, interner: &Interner) -> Result<Vec<Vec<Cell>>> {
        if self.plain.is_empty() && self.keys.rows() == 0 {
            self.begin()?;
            self.keys.insert(&[], 0);
        }
        let mut columns = vec![Vec::with_capacity(self.keys.rows()); self.arity];
        for (i, &place) in self.plain.iter().enumerate() {
            columns[place].extend_from_slice(self.keys.column(i));
        }
        let makers = self.makers.len();
        for (i, mut state) in std::mem::take(&mut self.states).into_iter().enumerate() {
            let cell = state.finish(interner).map_err(|failure| self.failed(failure))?;
            columns[self.makers[i % makers].0].push(cell);
        }
        Ok(columns)
    }
}

impl State {
    #[inline]
    fn add(&mut self, cell: Cell, interner: &Interner, span: Span) -> Result<()> {
        match self {
            Self::Count(rows) => *rows += 1,
            Self::Sum { ints, floats, has_floats } => match cell.as_small_int() {
                Some(int) => *ints += i128::from(int),
                None => match number(cell, interner, "sum", span)? {
                    Number::Int(int) => *ints += int,
                    Number::Float(float) => {
                        *floats += float;
                        *has_floats = true;
                    }
                },
            },
            Self::Mean { ints, floats, rows } => {
                *rows += 1;
                match cell.as_small_int() {
                    Some(int) => *ints += i128::from(int),
                    None => match number(cell, interner, "mean", span)? {
                        Number::Int(int) => *ints += int,
                        Number::Float(float) => *floats += float,
                    },
                }
            }
            Self::Least(least) => {
                if cell != Cell::NULL
                    && (*least == Cell::NULL || interner.cmp(cell, *least).is_lt())
                {
                    *least = cell;
                }
            }
            Self::Greatest(greatest) => {
                if cell != Cell::NULL
                    && (*greatest == Cell::NULL || interner.cmp(cell, *greatest).is_gt())
                {
                    *greatest = cell;
                }
            }
            Self::Other(state) => {
                interner
                    .with(cell, |value| state.add(value))
                    .map_err(|failure| Error::failed(failure, span))?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, interner: &Interner) -> std::result::Result<Cell, function::Failure> {
        Ok(match self {
            Self::Count(rows) => interner.int(*rows),
            Self::Sum { ints, floats, has_floats } => {
                let whole = *ints as f64;
                interner.float(if *has_floats { whole + *floats } else { whole })
            }
            Self::Mean { ints, floats, rows } => {
                interner.float((*ints as f64 + *floats) / *rows as f64)
            }
            Self::Least(cell) | Self::Greatest(cell) => *cell,
            Self::Other(state) => match state.finish()? {
                Value::Float(float) => interner.float(one_nan(float)),
                value => interner.take(value),
            },
        })
    }
}

enum Number {
    Int(i128),
    Float(f64),
}

fn number(cell: Cell, interner: &Interner, of: &str, span: Span) -> Result<Number> {
    interner.with(cell, |value| match *value {
        Value::Int(int) => Ok(Number::Int(i128::from(int))),
        Value::Id(id) => Ok(Number::Int(i128::from(id))),
        Value::Float(float) => Ok(Number::Float(float)),
        ref other => Err(not_a_number(other, of, span)),
    })
}

fn not_a_number(value: &Value, of: &str, span: Span) -> Error {
    let found = match value {
        Value::Null => "null".to_owned(),
        other => format!("{} ({other})", other.kind()),
    };
    Error::value(format!("{of}: expected numbers, found {found}"), span)
}
