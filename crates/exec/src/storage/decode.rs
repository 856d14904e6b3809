//! Decodes rows of the store into cells, for `access_path.rs`.

use crate::storage::access_path::{Place, StoredPath};
use crate::value::cell::{Cell, Interner, push_small_ints};
use crate::value::columns::Columns;
use base::{Batch, BytesColumn, Column, Keys, word_to_float, word_to_int};
use model::{BorrowedValue, Type, Value, decode_next};
use store::{Error, ErrorKind, Result};

/// Which rows of a batch to decode.
pub(crate) enum Picked<'p> {
    Range(std::ops::Range<usize>),
    Rows(&'p [u32]),
}

impl Picked<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Range(rows) => rows.len(),
            Self::Rows(rows) => rows.len(),
        }
    }

    /// Calls `visit` for each row, until it fails.
    fn each(&self, mut visit: impl FnMut(usize) -> Result<()>) -> Result<()> {
        match self {
            Self::Range(rows) => rows.clone().try_for_each(visit),
            Self::Rows(rows) => rows.iter().try_for_each(|&row| visit(row as usize)),
        }
    }
}

impl StoredPath {
    /// Cells of these columns of the path, for some rows. Values of the relation's columns
    /// `not_compared` are never compared ([`Interner::intern_not_compared`]).
    pub(crate) fn cells(
        &self,
        batch: &Batch,
        rows: &Picked<'_>,
        places: &[Place],
        not_compared: &[usize],
        interner: &Interner,
    ) -> Result<Columns> {
        let mut out = Columns { rows: rows.len(), columns: vec![Vec::new(); places.len()] };
        let keyed = match &batch.keys {
            Keys::Bytes(keys) if places.iter().any(|place| matches!(place, Place::Key(_))) => {
                self.key_cells(keys, rows, places, interner)?
            }
            _ => Vec::new(),
        };
        for (column, &place) in out.columns.iter_mut().zip(places) {
            column.reserve(rows.len());
            match place {
                Place::Key(key) => match &batch.keys {
                    Keys::Words(words) => {
                        self.key_word_cells(&words[key], rows, place, interner, column)?;
                    }
                    // A column may be requested twice.
                    Keys::Bytes(_) => column.extend_from_slice(&keyed[key]),
                },
                Place::Value(value) => {
                    let is_compared = !not_compared.contains(&self.columns[self.number_of(place)]);
                    let values = &batch.values[value];
                    self.value_cells(values, rows, value, is_compared, interner, column)?;
                }
            }
        }
        Ok(out)
    }

    /// Appends the cells of a key column of words.
    fn key_word_cells(
        &self,
        words: &[u64],
        rows: &Picked<'_>,
        place: Place,
        interner: &Interner,
        out: &mut Vec<Cell>,
    ) -> Result<()> {
        match rows {
            Picked::Range(rows) => {
                self.piece_cells(place, &words[rows.clone()], |_| u64::MAX, interner, out)
            }
            Picked::Rows(rows) => {
                let words = rows.iter().map(|&row| Some(words[row as usize]));
                self.word_cells(place, words, interner, out)
            }
        }
    }

    /// Appends the cells of a value column, which is number `value` of those.
    fn value_cells(
        &self,
        values: &Column,
        rows: &Picked<'_>,
        value: usize,
        is_compared: bool,
        interner: &Interner,
        out: &mut Vec<Cell>,
    ) -> Result<()> {
        match (values, rows) {
            (Column::Words(found), Picked::Range(rows))
                if self.schema.values[value].merge.is_none() =>
            {
                let words = &found.words[rows.clone()];
                let valid = |row| found.validity.bits(rows.start + row);
                self.piece_cells(Place::Value(value), words, valid, interner, out)
            }
            (Column::Bytes(texts), rows)
                if self.schema.values[value].column_type == Type::String
                    && self.kept_elsewhere != Some(value)
                    && !is_compared =>
            {
                interner.intern_not_compared(|cell_of| {
                    rows.each(|i| {
                        out.push(match texts.validity.is_valid(i) {
                            true => cell_of(self.text(texts.get(i))?),
                            false => Cell::NULL,
                        });
                        Ok(())
                    })
                })
            }
            (values, rows) => rows.each(|i| {
                out.push(self.value_cell(values, value, i, interner)?);
                Ok(())
            }),
        }
    }

    /// Cells of the requested key columns for some rows; empty for the others.
    fn key_cells(
        &self,
        keys: &BytesColumn,
        rows: &Picked<'_>,
        places: &[Place],
        interner: &Interner,
    ) -> Result<Vec<Vec<Cell>>> {
        let mut columns = vec![Vec::new(); self.keys()];
        let wanted: Vec<bool> =
            (0..self.keys()).map(|key| places.contains(&Place::Key(key))).collect();
        for (column, _) in columns.iter_mut().zip(&wanted).filter(|(_, wanted)| **wanted) {
            column.reserve(rows.len());
        }
        rows.each(|i| {
            let mut key = keys.get(i);
            if self.has_raw_keys {
                columns[0].push(interner.text(self.text(key)?));
                return Ok(());
            }
            for (column, &wanted) in columns.iter_mut().zip(&wanted) {
                if key.is_empty() {
                    return Err(self.wrong("the key has another number of columns"));
                }
                let value =
                    decode_next(&mut key).map_err(|error| self.wrong(&error.to_string()))?;
                if wanted {
                    column.push(match value {
                        BorrowedValue::Str(text) => interner.text(text),
                        BorrowedValue::Value(value) => interner.take(value),
                    });
                }
            }
            match key.is_empty() {
                true => Ok(()),
                false => Err(self.wrong("the key has another number of columns")),
            }
        })?;
        Ok(columns)
    }

    /// Cells of consecutive words of a column; `valid` returns a bitmap of the non-null values for
    /// each 64 rows.
    fn piece_cells(
        &self,
        place: Place,
        words: &[u64],
        valid: impl Fn(usize) -> u64,
        interner: &Interner,
        out: &mut Vec<Cell>,
    ) -> Result<()> {
        let is_int = *self.column_type(place) == Type::Int;
        for (words, from) in words.chunks(64).zip((0..).step_by(64)) {
            let valid = valid(from);
            let ints = words.iter().map(|&word| word_to_int(word));
            if is_int && push_small_ints(ints, valid, out) {
                continue;
            }
            let words = words.iter().enumerate();
            let words = words.map(|(i, &word)| (valid >> i & 1 == 1).then_some(word));
            self.word_cells(place, words, interner, out)?;
        }
        Ok(())
    }

    /// Cells of words of a column.
    #[inline]
    pub(crate) fn word_cells(
        &self,
        place: Place,
        words: impl Iterator<Item = Option<u64>>,
        interner: &Interner,
        out: &mut Vec<Cell>,
    ) -> Result<()> {
        let of = self.column_type(place);
        if *of == Type::Int {
            out.extend(words.map(|word| match word {
                Some(word) => interner.int(word_to_int(word)),
                None => Cell::NULL,
            }));
            return Ok(());
        }
        for word in words {
            out.push(match word {
                Some(word) => self.word_cell(of, word, interner)?,
                None => Cell::NULL,
            });
        }
        Ok(())
    }

    #[inline]
    fn word_cell(&self, of: &Type, word: u64, interner: &Interner) -> Result<Cell> {
        Ok(match of {
            Type::Int => interner.int(word_to_int(word)),
            Type::Id => match i64::try_from(word) {
                Ok(id) => interner.int(id),
                Err(_) => interner.take(Value::Id(word)),
            },
            Type::Float => interner.float(word_to_float(word)),
            Type::Bool if word <= 1 => Cell::bool(word == 1),
            _ => match model::value_of_word(of, word) {
                Some(value) if of.is_temporal() => interner.take(value),
                _ => return Err(self.wrong("not a word of its type")),
            },
        })
    }

    pub(crate) fn value_cell(
        &self,
        column: &Column,
        value: usize,
        i: usize,
        interner: &Interner,
    ) -> Result<Cell> {
        match column {
            // Only a new string is copied.
            Column::Bytes(bytes)
                if self.schema.values[value].column_type == Type::String
                    && bytes.validity.is_valid(i) =>
            {
                Ok(interner.text(self.text(bytes.get(i))?))
            }
            _ => Ok(self.value_made(column, value, i)?.into_cell(interner)),
        }
    }

    pub(crate) fn text<'s>(&self, stored: &'s [u8]) -> Result<&'s str> {
        std::str::from_utf8(stored).map_err(|_| self.wrong("it is not UTF-8"))
    }

    pub(crate) fn wrong(&self, why: &str) -> Error {
        let what =
            format!("relation {:?} holds a row that does not fit it: {why}", self.schema.name);
        Error::new(ErrorKind::Corruption, what)
    }
}
