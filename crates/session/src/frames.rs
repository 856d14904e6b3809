//! Reads stored relations as frames, as a whole or in pieces, and creates relations. `quipu` calls
//! it.

use crate::catalog_view::{dictionary, stored_paths};
use crate::dml::dictionary_ids::spelled;
use crate::engine::Engine;
use base::{Batch, Keys, Projection, Validity};
use exec::error::{Error, Result};
use exec::storage::access_path::StoredPath;
use model::{Frame, Series, Type, Values};
use relation::{Access, Dictionary, KeyColumn, NameOverlay, Schema, ValueColumn};
use std::ops::Range;
use std::sync::Arc;
use store::{ErrorKind, Read, Scan, Snapshot};
use syntax::{Diagnostic, Expr, Ident, Script, Span};

/// A column of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnOf {
    /// Its name.
    pub name: String,
    /// Its type; with `?` where it may be null.
    pub column_type: Type,
    /// Whether it is a key column.
    pub is_key: bool,
    /// The default expression of the column.
    pub default: Option<String>,
}

/// A relation's rows in key order, from one snapshot.
pub struct Frames {
    scan: Box<dyn Scan>,
    /// The columns that are read.
    projection: Projection,
    path: StoredPath,
    /// The dictionary of its keys, if they hold dictionary ids.
    dictionary: Option<Dictionary>,
    /// The key columns that hold its ids.
    strings: Range<usize>,
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").field("relation", &self.path.schema.name).finish_non_exhaustive()
    }
}

impl Engine {
    /// A snapshot of the latest commit, after buffered increments were written.
    ///
    /// # Errors
    /// Failed writes.
    pub fn moment(&self) -> Result<Arc<dyn Snapshot>> {
        self.store.check_open()?;
        if let Some(host) = &self.host {
            host.flush_buffered(None)?;
        }
        Ok(self.store.snapshot())
    }

    /// The columns of a relation, keys first. `names` are those of the caller's transaction.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn columns(&self, names: &NameOverlay, name: &str) -> Result<Vec<ColumnOf>> {
        self.store.check_open()?;
        Ok(schema_columns(&self.entry(names, name)?.shown_schema()))
    }

    /// The columns of a spec, in the syntax after `:create name`.
    ///
    /// # Errors
    /// Text that is not a spec, or columns that cannot be stored.
    pub fn columns_of_spec(&self, spec: &str) -> Result<Vec<ColumnOf>> {
        let text = format!(":create relation {spec}");
        // Lines and columns would be those of the text around the spec.
        let wrong = |problems: Vec<Diagnostic>| {
            let what = problems.first().map_or("", |problem| problem.message.as_str());
            let hint = problems.iter().find_map(|problem| problem.hint.clone());
            let hint = hint.unwrap_or_else(|| "such as {key: Int => value: String?}".to_owned());
            Error::hinted(format!("the columns {spec:?}: {what}"), Span::default(), hint)
        };
        let mutation = match syntax::parse(&text).map_err(wrong)? {
            Script::Query(query) if query.rules.is_empty() => query.options.mutation,
            _ => None,
        };
        let Some(mutation) = mutation.filter(|mutation| mutation.spec.is_some()) else {
            return Err(wrong(Vec::new()));
        };
        Ok(schema_columns(&crate::dml::spec::schema_of(&mutation, &[])?))
    }

    /// Creates a relation with these columns unless it exists.
    ///
    /// # Errors
    /// It exists with other columns, has a name that scripts cannot write, or columns that cannot
    /// be stored.
    pub fn create(&self, name: &str, columns: &[ColumnOf]) -> Result<()> {
        let refused = |what: String, hint: &str| Error::hinted(what, Span::default(), hint);
        let is_word = |name: &str| matches!(crate::nesting::parse_expression(name), Ok(Expr::Variable(ident)) if ident.text == name);
        if !is_word(name) || name.starts_with('_') {
            let hint = "a letter, then letters, digits and `_`, and no word of the language";
            return Err(refused(format!("{name:?} cannot be a relation's name"), hint));
        }
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for column in columns {
            let ColumnOf { name, column_type, is_key, default } = column;
            if !is_word(name) {
                let hint = "letters, digits and `_`; rename it where the rows come from";
                return Err(refused(format!("{name:?} cannot be a column's name"), hint));
            }
            if let Some(default) = default {
                crate::nesting::parse_expression(default)?;
            }
            if *is_key {
                let key = KeyColumn::new(name, column_type.clone());
                keys.push(KeyColumn { default: default.clone(), ..key });
            } else {
                let value = ValueColumn::new(name, column_type.without_null().clone());
                let nullable = matches!(column_type, Type::Nullable(_));
                values.push(ValueColumn { nullable, default: default.clone(), ..value });
            }
        }
        let schema = Schema { name: name.to_owned(), keys, values };
        let there = match self.catalog.find(name)? {
            Some(there) => there,
            None => match self.catalog.create(&schema) {
                Ok(_) => return Ok(()),
                // Another thread may have created it meanwhile.
                Err(error) => self.catalog.find(name)?.ok_or(error)?,
            },
        };
        if there.schema() != schema {
            let shown = |schema: &Schema| {
                let text = |column: ColumnOf| format!("{}: {}", column.name, column.column_type);
                let all: Vec<String> = schema_columns(schema).into_iter().map(text).collect();
                let (keys, values) = all.split_at(schema.keys.len());
                let arrow = if values.is_empty() { "" } else { " => " };
                format!("{{{}{arrow}{}}}", keys.join(", "), values.join(", "))
            };
            let what = format!("relation `{name}` exists with other columns");
            let hint = format!("it has {}, not {}", shown(&there.schema()), shown(&schema));
            return Err(refused(what, &hint));
        }
        Ok(())
    }

    /// The rows of a relation, as `read` sees them. `projection` has all key columns or none; the
    /// columns that it leaves out are not read, and are null.
    ///
    /// # Errors
    /// There is none of this name, or its access level forbids it.
    pub fn frames(
        &self,
        read: &dyn Read,
        names: &NameOverlay,
        name: &str,
        projection: Projection,
    ) -> Result<Frames> {
        let (entry, path) = self.readable(read, names, name)?;
        let dictionary = dictionary(&self.catalog, &entry)?;
        let scan = read.scan(path.keyspace, path.all(), projection)?;
        Ok(Frames { scan, projection, path, dictionary, strings: entry.string_columns() })
    }

    /// Number of rows of a relation, as `read` sees them.
    ///
    /// # Errors
    /// As [`Engine::frames`].
    pub fn count(&self, read: &dyn Read, names: &NameOverlay, name: &str) -> Result<u64> {
        Ok(read.count(self.readable(read, names, name)?.1.keyspace)?)
    }

    fn entry(&self, names: &NameOverlay, name: &str) -> Result<relation::Entry> {
        let ident = Ident { text: name.to_owned(), span: Span::default() };
        crate::access::find(&self.catalog, names, &ident)
    }

    pub(crate) fn readable(
        &self,
        read: &dyn Read,
        names: &NameOverlay,
        name: &str,
    ) -> Result<(relation::Entry, StoredPath)> {
        let entry = self.entry(names, name)?;
        crate::access::check(&self.catalog, read, name, Access::Hidden)
            .map_err(|error| Error::refused(error, Span::default()))?;
        let path = stored_paths(&self.catalog, read, &entry)?.swap_remove(0);
        Ok((entry, path))
    }
}

/// The columns of a schema, keys first.
#[must_use]
pub fn schema_columns(schema: &Schema) -> Vec<ColumnOf> {
    let columns = crate::catalog_view::columns_of(schema).into_iter().zip(schema.defaults());
    let column = |(place, (column, default)): (usize, (plan::ColumnInfo, Option<&str>))| ColumnOf {
        name: column.name,
        column_type: column.column_type,
        is_key: place < schema.keys.len(),
        default: default.map(str::to_owned),
    };
    columns.enumerate().map(column).collect()
}

impl Frames {
    /// Whether the rows hold dictionary ids, whose strings are looked up when rows are read.
    #[must_use]
    pub fn are_spelled(&self) -> bool {
        self.dictionary.is_some()
    }

    /// Some rows; `None` at the end. Where there are dictionary ids, `read` must be the one that
    /// made this.
    ///
    /// # Errors
    /// Corruption, or a value that scripts cannot have.
    pub fn next_rows(&mut self, read: Option<&dyn Read>, rows_max: usize) -> Result<Option<Frame>> {
        let mut rows = Batch::new(&self.path.shape);
        if !self.scan.next_batch(rows_max.max(1), &mut rows)? {
            return Ok(None);
        }
        self.frame(read, rows).map(Some)
    }

    /// All remaining rows.
    ///
    /// # Errors
    /// As [`Frames::next_rows`].
    pub fn all(mut self, read: Option<&dyn Read>) -> Result<Frame> {
        let mut rows = Batch::new(&self.path.shape);
        while self.scan.next_batch(1 << 16, &mut rows)? {}
        self.frame(read, rows)
    }

    fn frame(&self, read: Option<&dyn Read>, rows: Batch) -> Result<Frame> {
        let spelled_by = self.dictionary.zip(read);
        frame(&self.path, spelled_by, self.strings.clone(), self.projection, rows)
    }
}

/// The rows of a path as a frame, with strings in place of the dictionary ids in the key columns
/// `strings`, which come first. The rows were read with the projection.
pub(crate) fn frame(
    path: &StoredPath,
    spelled_by: Option<(Dictionary, &dyn Read)>,
    strings: Range<usize>,
    projection: Projection,
    rows: Batch,
) -> Result<Frame> {
    check_readable(path, projection, &rows)?;
    let texts = match (spelled_by, &rows.keys) {
        (Some((dictionary, read)), Keys::Words(ids)) if projection.keys != 0 => {
            let text = |ids: &Vec<u64>| spelled(dictionary, read, ids);
            ids[strings].iter().map(text).collect::<Result<Vec<_>>>()?
        }
        _ => Vec::new(),
    };
    let frame = path.schema.frame_of(rows, projection)?;
    if texts.is_empty() {
        return Ok(frame);
    }
    let names = frame.names().to_vec();
    let values = frame.into_columns().into_iter().skip(texts.len());
    let valid = Validity::default;
    let keys = texts.into_iter().map(|text| Series { values: Values::Str(text), valid: valid() });
    let columns = keys.chain(values).collect();
    Frame::new(names, columns)
        .map_err(|error| store::Error::new(ErrorKind::Corruption, error.to_string()).into())
}

/// Refuses values that scripts cannot read: sums out of range, and values stored elsewhere.
fn check_readable(path: &StoredPath, projection: Projection, rows: &Batch) -> Result<()> {
    let columns = path.schema.values.iter().zip(&rows.values).enumerate();
    for (place, (column, stored)) in columns.filter(|(place, _)| projection.value(*place)) {
        if let (Some(merge), Some(words)) = (column.merge, stored.as_words())
            && (0..rows.rows).any(|row| words.get(row).is_some_and(|w| merge.is_past(w)))
        {
            let what = format!(
                "a sum in column {:?} of relation {:?} is past the range of Int",
                column.name, path.schema.name
            );
            return Err(store::Error::new(ErrorKind::Limit, what).into());
        }
        if path.kept_elsewhere == Some(place)
            && let Some(bytes) = stored.as_bytes()
            && (0..rows.rows).any(|row| !bytes.validity.is_valid(row))
        {
            let what = format!("a value of {:?} is too long for scripts", path.schema.name);
            let hint = "read it by its key as a blob";
            return Err(store::Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")).into());
        }
    }
    Ok(())
}
