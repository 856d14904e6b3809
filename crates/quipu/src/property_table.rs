//! Makes the rows of a relation of edges or of vertices from rows that were read.

use crate::property_types::{Unfit, WHOLE_MAX, converted, converted_series, whole_vertices};
use crate::raw_rows::{RawColumn, RawRows};
use ingest::{InputError, Missing, OnError, Place, SKIPPED_KEPT_MAX, TextOptions};
use model::{Frame, Series, Type, Value};
use std::collections::BTreeMap;
use store::{Error, ErrorKind, Result};

/// A column of an input, and the column of the relation that it becomes.
pub(crate) struct Picked {
    /// Its place among the columns of the input.
    pub(crate) column: usize,
    pub(crate) name: String,
    pub(crate) column_type: Type,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A vertex, which is never missing.
    Vertex,
    /// The key of an edge, which is never missing.
    Key,
    /// The weight, for which the options say what a missing one means.
    Weight,
    Property,
}

/// Rows for a relation, and what the report says about them.
#[derive(Default)]
pub(crate) struct PropertyTable {
    pub(crate) frame: Frame,
    pub(crate) skipped: Vec<InputError>,
    pub(crate) skipped_count: u64,
    pub(crate) missing: Vec<InputError>,
    pub(crate) missing_count: u64,
    pub(crate) detected: Vec<(&'static str, String)>,
    pub(crate) bytes_read: u64,
}

impl PropertyTable {
    /// The rows of all inputs. `pick` returns the columns of an input.
    ///
    /// # Errors
    /// A field that does not fit its column or a missing vertex, unless the options skip such rows;
    /// missing weights, unless the options say what they mean; inputs with different columns.
    pub(crate) fn of(
        inputs: Vec<RawRows>,
        pick: &dyn Fn(&RawRows) -> Result<Vec<Picked>>,
        options: &TextOptions,
    ) -> Result<Self> {
        let mut table = Self::default();
        for (place, input) in inputs.into_iter().enumerate() {
            let picked = pick(&input)?;
            let name = input.name.clone();
            let frame = table.take(input, &picked, options)?;
            if place == 0 {
                table.frame = frame;
                continue;
            }
            if table.frame.names() != frame.names() {
                let (first, other) = (table.frame.names().join(", "), frame.names().join(", "));
                let what = format!("{name} has the columns {other}, files before it {first}");
                let hint = "files that are imported together have the same columns";
                return Err(Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
            }
            table.frame.append(frame);
        }
        if table.missing_count > 0 && options.edges.missing == Missing::Fail {
            let error = ingest::missing_error(table.missing_count, &table.missing);
            return Err(Error::caused(ErrorKind::InvalidInput, error));
        }
        Ok(table)
    }

    fn take(
        &mut self,
        mut input: RawRows,
        picked: &[Picked],
        options: &TextOptions,
    ) -> Result<Frame> {
        let mut bad = BTreeMap::new();
        let mut left_out = Vec::new();
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        let mut raw: Vec<Option<RawColumn>> =
            std::mem::take(&mut input.columns).into_iter().map(Some).collect();
        for one in picked {
            let Some(column) = raw.get_mut(one.column).and_then(Option::take) else { continue };
            let series = convert(column, one, &input, options, &mut bad);
            let series = match one.role {
                Role::Weight => {
                    let at = (&input, one.column);
                    self.weights(series, at, options, &mut bad, &mut left_out)
                }
                Role::Vertex | Role::Key | Role::Property => {
                    note_nulls(&series, one, &input, &mut bad);
                    series
                }
            };
            names.push(one.name.clone());
            columns.push(series);
        }
        self.detected = if self.detected.is_empty() { input.detected } else { Vec::new() };
        self.bytes_read += input.bytes_read;
        self.skipped_count += input.skipped_count + bad.len() as u64;
        self.skipped.append(&mut input.skipped);
        if let Some((_, error)) = bad.first_key_value()
            && options.on_error == OnError::Fail
        {
            let of_vertices = picked.iter().filter(|one| one.role == Role::Vertex);
            let columns: Vec<u32> = of_vertices.map(|one| one.column as u32 + 1).collect();
            let is_of_vertex = |error: &&InputError| columns.contains(&error.column);
            let error = match is_of_vertex(&error) {
                true => {
                    let all = || bad.values().filter(is_of_vertex);
                    let first: Vec<_> = all().take(SKIPPED_KEPT_MAX).cloned().collect();
                    ingest::vertices_error(all().count() as u64, &first)
                }
                false => error.clone(),
            };
            return Err(Error::caused(ErrorKind::InvalidInput, error));
        }
        self.skipped.extend(bad.values().cloned());
        self.skipped.truncate(SKIPPED_KEPT_MAX);
        if !bad.is_empty() || !left_out.is_empty() {
            left_out.sort_unstable();
            let is_kept =
                |row: &usize| !bad.contains_key(row) && left_out.binary_search(row).is_err();
            let kept: Vec<u32> = (0..input.rows).filter(is_kept).map(|row| row as u32).collect();
            columns = columns.iter().map(|column: &Series| column.gather(&kept)).collect();
        }
        Frame::new(names, columns).map_err(|error| Error::caused(ErrorKind::InvalidInput, error))
    }

    /// Counts missing weights, and gives them the weight of the options. Rows to leave out are
    /// added to `left_out`; if bad rows are skipped and the options do not say what a missing
    /// weight means, such rows are bad.
    fn weights(
        &mut self,
        series: Series,
        (input, column): (&RawRows, usize),
        options: &TextOptions,
        bad: &mut BTreeMap<usize, InputError>,
        left_out: &mut Vec<usize>,
    ) -> Series {
        let missing: Vec<usize> = (0..series.len()).filter(|&row| is_null(&series, row)).collect();
        if missing.is_empty() {
            return series;
        }
        let error = |row| input.error(row, column, "a weight".to_owned(), "nothing".to_owned());
        if options.edges.missing == Missing::Fail && options.on_error == OnError::Skip {
            for row in missing {
                bad.entry(row).or_insert_with(|| error(row));
            }
            return series;
        }
        self.missing_count += missing.len() as u64;
        let free = SKIPPED_KEPT_MAX.saturating_sub(self.missing.len());
        self.missing.extend(missing.iter().take(free).map(|&row| error(row)));
        match options.edges.missing {
            Missing::Fail => series,
            Missing::Skip => {
                left_out.extend(missing);
                series
            }
            Missing::Weight(weight) => {
                let value = |row| match series.value(row) {
                    Value::Null => Value::Float(weight),
                    value => value,
                };
                (0..series.len()).map(value).collect::<Vec<_>>().into()
            }
        }
    }
}

/// Converts a column to its type. `bad` gets the first error of each row.
fn convert(
    column: RawColumn,
    one: &Picked,
    input: &RawRows,
    options: &TextOptions,
    bad: &mut BTreeMap<usize, InputError>,
) -> Series {
    let mut unfit = Vec::new();
    let series = match column {
        RawColumn::Text(column) => converted(&column, &one.column_type, options, &mut unfit),
        RawColumn::FileValues(series) => converted_series(series, &one.column_type, &mut unfit),
        RawColumn::Values(series) => series,
    };
    let series = match (one.role, &one.column_type) {
        (Role::Vertex, of @ (Type::Id | Type::Int)) => {
            let max = input.whole_max.get(one.column).copied().unwrap_or(WHOLE_MAX);
            whole_vertices(series, of, max, &mut unfit)
        }
        _ => series,
    };
    for Unfit { row, expected, found } in unfit {
        bad.entry(row).or_insert_with(|| input.error(row, one.column, expected, found));
    }
    series
}

/// Adds the rows without a value in a column that needs one to `bad`.
fn note_nulls(
    series: &Series,
    one: &Picked,
    input: &RawRows,
    bad: &mut BTreeMap<usize, InputError>,
) {
    if matches!(one.column_type, Type::Nullable(_)) {
        return;
    }
    let expected = match one.role {
        Role::Vertex => "a vertex",
        Role::Key => "a key",
        Role::Weight | Role::Property => "a value",
    };
    for row in (0..series.len()).filter(|&row| is_null(series, row)) {
        bad.entry(row).or_insert_with(|| {
            input.error(row, one.column, expected.to_owned(), "nothing".to_owned())
        });
    }
}

fn is_null(series: &Series, row: usize) -> bool {
    match &series.values {
        model::Values::Any(values) => values[row] == Value::Null,
        model::Values::Null(_) => true,
        _ => !series.valid.is_valid(row),
    }
}

impl RawRows {
    /// The error of a field, by its row and column from 0.
    fn error(&self, row: usize, column: usize, expected: String, found: String) -> InputError {
        let place = match &self.lines {
            Some(lines) => Place::Line(lines.get(row).copied().unwrap_or_default()),
            None => Place::Row(row as u64 + 1),
        };
        let (file, column) = (self.name.clone(), column as u32 + 1);
        InputError { file, place, column, expected, found, hint: None }
    }
}
