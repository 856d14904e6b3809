//! A column of values of one kind, one for each selected row.

use crate::expr::{Computer, Made};
use crate::value::cell::{Cell, Interner};
use crate::value::columns::gather;
use model::Value;
use std::borrow::Cow;

/// Values of one column. A null row has a filler among the values.
#[derive(Clone, Debug)]
pub(crate) struct TypedColumn<'v> {
    /// The values.
    pub values: Values<'v>,
    /// Which rows are null; `None` if no row is.
    pub nulls: Option<Vec<bool>>,
}

/// The values of a column, by kind.
#[derive(Clone, Debug)]
pub(crate) enum Values<'v> {
    /// The same for all rows.
    Known(Known<'v>),
    Bools(Vec<bool>),
    Ints(Cow<'v, [i64]>),
    Floats(Cow<'v, [f64]>),
    Texts(Texts<'v>),
    /// Of several kinds, or of one that has no variant here.
    Mixed(Vec<Made>),
}

/// A value that does not depend on the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Known<'v> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(&'v str),
}

/// Strings as parts of one string.
#[derive(Clone, Debug)]
pub(crate) struct Texts<'v> {
    /// The string that contains all of them.
    pub heap: Cow<'v, str>,
    /// The first byte of each, and the one after its last.
    pub spans: Vec<(u32, u32)>,
    /// Whether the heap has only ASCII characters.
    pub is_ascii: bool,
}

impl Texts<'_> {
    /// No strings yet.
    pub(crate) fn new(rows: usize) -> Self {
        let spans = Vec::with_capacity(rows);
        Texts { heap: Cow::Owned(String::new()), spans, is_ascii: true }
    }

    /// Appends a string; `None` if the heap is full.
    pub(crate) fn push(&mut self, text: &str) -> Option<()> {
        let heap = self.heap.to_mut();
        let start = u32::try_from(heap.len()).ok()?;
        heap.push_str(text);
        self.spans.push((start, u32::try_from(heap.len()).ok()?));
        self.is_ascii &= text.is_ascii();
        Some(())
    }

    /// The string of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> &str {
        let (start, end) = self.spans[row];
        &self.heap[start as usize..end as usize]
    }

    /// Number of bytes of a row's string.
    #[inline]
    pub(crate) fn len(&self, row: usize) -> usize {
        let (start, end) = self.spans[row];
        (end - start) as usize
    }
}

impl<'v> TypedColumn<'v> {
    /// A column without nulls.
    pub(crate) fn of(values: Values<'v>) -> Self {
        Self { values, nulls: None }
    }

    /// The same value for all rows.
    pub(crate) fn known(known: Known<'v>) -> Self {
        Self::of(Values::Known(known))
    }

    /// Truth values.
    pub(crate) fn bools(bools: Vec<bool>) -> Self {
        Self::of(Values::Bools(bools))
    }

    /// A column of made values, with a kind if all that are not null have one.
    pub(crate) fn of_made(made: Vec<Made>, interner: &Interner) -> Self {
        let rows = made.len();
        let nulls: Vec<bool> = made.iter().map(|one| one.is_null()).collect();
        let has_nulls = nulls.contains(&true);
        let first = made.iter().find(|one| !one.is_null());
        let Some(first) = first else { return Self::known(Known::Null) };
        let values = match first.known(interner) {
            Some(KnownKind::Bool) => typed(&made, Made::as_bool, false).map(Values::Bools),
            Some(KnownKind::Int) => {
                typed(&made, Made::as_int, 0).map(|ints| Values::Ints(Cow::Owned(ints)))
            }
            Some(KnownKind::Float) => {
                typed(&made, Made::as_float, 0.0).map(|floats| Values::Floats(Cow::Owned(floats)))
            }
            Some(KnownKind::Text) => texts(&made, rows, interner).map(Values::Texts),
            None => None,
        };
        match values {
            Some(values) => Self { values, nulls: has_nulls.then_some(nulls) },
            None => Self::of(Values::Mixed(made)),
        }
    }

    /// Whether a row is null.
    #[inline]
    pub(crate) fn is_null(&self, row: usize) -> bool {
        if self.nulls.as_ref().is_some_and(|nulls| nulls[row]) {
            return true;
        }
        match &self.values {
            Values::Known(known) => *known == Known::Null,
            Values::Mixed(made) => made[row].is_null(),
            _ => false,
        }
    }

    /// Whether some of the rows are null.
    pub(crate) fn has_nulls(&self) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.contains(&true))
            || match &self.values {
                Values::Known(known) => *known == Known::Null,
                Values::Mixed(made) => made.iter().any(Made::is_null),
                _ => false,
            }
    }

    /// The value of a row, which is not interned.
    pub(crate) fn made(&self, row: usize) -> Made {
        if self.is_null(row) {
            return Made::Cell(Cell::NULL);
        }
        match &self.values {
            Values::Known(known) => known.made(),
            Values::Bools(bools) => Made::Cell(Cell::bool(bools[row])),
            Values::Ints(ints) => Made::of(Value::Int(ints[row])),
            Values::Floats(floats) => Made::of(Value::Float(floats[row])),
            Values::Texts(texts) => Made::of_text(texts.get(row)),
            Values::Mixed(made) => made[row].clone(),
        }
    }

    /// The value of a row.
    pub(crate) fn value(&self, row: usize, computer: &Computer<'_>) -> Value {
        computer.value_of(self.made(row))
    }

    /// The cells of all `rows` rows. If they are not compared, equal texts may get several cells.
    pub(crate) fn into_cells(
        self,
        rows: usize,
        is_compared: bool,
        interner: &Interner,
    ) -> Vec<Cell> {
        let Self { values, nulls } = self;
        let mut cells: Vec<Cell> = match values {
            Values::Known(known) => {
                vec![known.made().into_cell(interner); rows]
            }
            Values::Bools(bools) => bools.into_iter().map(Cell::bool).collect(),
            Values::Ints(ints) => ints.iter().map(|&int| interner.int(int)).collect(),
            Values::Floats(floats) => floats.iter().map(|&float| interner.float(float)).collect(),
            Values::Texts(texts) => text_cells(&texts, nulls.as_deref(), is_compared, interner),
            Values::Mixed(made) => made.into_iter().map(|made| made.into_cell(interner)).collect(),
        };
        for (cell, _) in cells.iter_mut().zip(nulls.iter().flatten()).filter(|(_, null)| **null) {
            *cell = Cell::NULL;
        }
        cells
    }

    /// The values of some rows.
    pub(crate) fn gathered(&self, rows: &[u32]) -> TypedColumn<'_> {
        let values = match &self.values {
            Values::Known(known) => Values::Known(*known),
            Values::Bools(bools) => Values::Bools(gather(bools, rows)),
            Values::Ints(ints) => Values::Ints(Cow::Owned(gather(ints, rows))),
            Values::Floats(floats) => Values::Floats(Cow::Owned(gather(floats, rows))),
            Values::Texts(texts) => Values::Texts(Texts {
                heap: Cow::Borrowed(&texts.heap),
                spans: gather(&texts.spans, rows),
                is_ascii: texts.is_ascii,
            }),
            Values::Mixed(made) => {
                Values::Mixed(rows.iter().map(|&row| made[row as usize].clone()).collect())
            }
        };
        let nulls = self.nulls.as_ref().map(|nulls| gather(nulls, rows));
        TypedColumn { values, nulls }
    }

    /// The same `rows` values, without borrowed data.
    pub(crate) fn into_owned(self, rows: usize) -> TypedColumn<'static> {
        let values = match self.values {
            Values::Known(Known::Text(text)) => Values::Texts(Texts {
                heap: Cow::Owned(text.to_owned()),
                // A known text is short.
                spans: vec![(0, text.len() as u32); rows],
                is_ascii: text.is_ascii(),
            }),
            Values::Known(Known::Null) => Values::Known(Known::Null),
            Values::Known(Known::Bool(bool)) => Values::Known(Known::Bool(bool)),
            Values::Known(Known::Int(int)) => Values::Known(Known::Int(int)),
            Values::Known(Known::Float(float)) => Values::Known(Known::Float(float)),
            Values::Bools(bools) => Values::Bools(bools),
            Values::Ints(ints) => Values::Ints(Cow::Owned(ints.into_owned())),
            Values::Floats(floats) => Values::Floats(Cow::Owned(floats.into_owned())),
            Values::Texts(texts) => Values::Texts(Texts {
                heap: Cow::Owned(texts.heap.into_owned()),
                spans: texts.spans,
                is_ascii: texts.is_ascii,
            }),
            Values::Mixed(made) => Values::Mixed(made),
        };
        TypedColumn { values, nulls: self.nulls }
    }

    /// The same values, without a copy where possible.
    pub(crate) fn borrowed(&self) -> TypedColumn<'_> {
        let values = match &self.values {
            Values::Known(known) => Values::Known(*known),
            Values::Bools(bools) => Values::Bools(bools.clone()),
            Values::Ints(ints) => Values::Ints(Cow::Borrowed(ints)),
            Values::Floats(floats) => Values::Floats(Cow::Borrowed(floats)),
            Values::Texts(texts) => Values::Texts(Texts {
                heap: Cow::Borrowed(&texts.heap),
                spans: texts.spans.clone(),
                is_ascii: texts.is_ascii,
            }),
            Values::Mixed(made) => Values::Mixed(made.clone()),
        };
        TypedColumn { values, nulls: self.nulls.clone() }
    }
}

/// The values of one kind; `None` if a value that is not null has another.
fn typed<T: Copy>(made: &[Made], get: impl Fn(&Made) -> Option<T>, filler: T) -> Option<Vec<T>> {
    made.iter().map(|one| if one.is_null() { Some(filler) } else { get(one) }).collect()
}

/// The strings; `None` if a value that is not null is none.
fn texts<'v>(made: &[Made], rows: usize, interner: &Interner) -> Option<Texts<'v>> {
    let mut texts = Texts::new(rows);
    for one in made {
        match one {
            Made::Cell(Cell::NULL) | Made::Value(Value::Null) => texts.push("")?,
            Made::Value(Value::Str(text)) => texts.push(text)?,
            Made::Value(_) => return None,
            Made::Cell(cell) => interner.with_text(*cell, |text| texts.push(text)).flatten()?,
        }
    }
    Some(texts)
}

fn text_cells(
    texts: &Texts<'_>,
    nulls: Option<&[bool]>,
    is_compared: bool,
    interner: &Interner,
) -> Vec<Cell> {
    let rows = texts.spans.len();
    let is_null = |row: usize| nulls.is_some_and(|nulls| nulls[row]);
    let mut cells = Vec::with_capacity(rows);
    if is_compared {
        let cell = |row| if is_null(row) { Cell::NULL } else { interner.text(texts.get(row)) };
        cells.extend((0..rows).map(cell));
        return cells;
    }
    let done: Result<(), std::convert::Infallible> = interner.intern_not_compared(|cell_of| {
        let cell = |row| if is_null(row) { Cell::NULL } else { cell_of(texts.get(row)) };
        cells.extend((0..rows).map(cell));
        Ok(())
    });
    match done {
        Ok(()) => cells,
        Err(never) => match never {},
    }
}

impl Known<'_> {
    /// The value, which is not interned.
    fn made(self) -> Made {
        match self {
            Self::Null => Made::Cell(Cell::NULL),
            Self::Bool(bool) => Made::Cell(Cell::bool(bool)),
            Self::Int(int) => Made::of(Value::Int(int)),
            Self::Float(float) => Made::of(Value::Float(float)),
            Self::Text(text) => Made::of_text(text),
        }
    }
}

/// A kind of values that a column may have.
enum KnownKind {
    Bool,
    Int,
    Float,
    Text,
}

impl Made {
    /// A string that is not interned.
    pub(crate) fn of_text(text: &str) -> Self {
        match Cell::short_text(text) {
            Some(cell) => Self::Cell(cell),
            None => Self::Value(Value::Str(text.to_owned())),
        }
    }

    fn is_null(&self) -> bool {
        matches!(self, Self::Cell(Cell::NULL) | Self::Value(Value::Null))
    }

    fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Cell(cell) => cell.as_bool(),
            Self::Value(_) => None,
        }
    }

    fn as_int(&self) -> Option<i64> {
        match self {
            Self::Cell(cell) => cell.as_small_int(),
            Self::Value(Value::Int(int)) => Some(*int),
            Self::Value(_) => None,
        }
    }

    fn as_float(&self) -> Option<f64> {
        match self {
            Self::Cell(cell) => cell.as_plain_float(),
            Self::Value(Value::Float(float)) => Some(*float),
            Self::Value(_) => None,
        }
    }

    fn known(&self, interner: &Interner) -> Option<KnownKind> {
        if self.as_bool().is_some() {
            Some(KnownKind::Bool)
        } else if self.as_int().is_some() {
            Some(KnownKind::Int)
        } else if self.as_float().is_some() {
            Some(KnownKind::Float)
        } else {
            let is_text = match self {
                Self::Cell(cell) => interner.with_text(*cell, |_| ()).is_some(),
                Self::Value(value) => matches!(value, Value::Str(_)),
            };
            is_text.then_some(KnownKind::Text)
        }
    }
}
