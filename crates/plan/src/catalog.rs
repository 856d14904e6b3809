//! The interface through which planning reads the catalog.

use crate::ids::VarId;
use crate::search::SearchMethod;
use function::UserAggregate;
use model::{JsonStep, Type};
use std::sync::Arc;
use syntax::{Diagnostic, Expr, Ident};

/// A stored relation as planning sees it.
#[derive(Clone, Debug)]
pub struct RelationInfo {
    /// The catalog's id of the relation.
    pub handle: usize,
    /// Columns, keys first.
    pub columns: Vec<ColumnInfo>,
    /// Number of key columns.
    pub keys: usize,
    /// Estimated number of rows.
    pub rows: u64,
    /// Access paths: the relation itself first, then its indexes.
    pub paths: Vec<AccessPath>,
    /// Values at paths into JSON columns that indexes have as columns. Access paths count them as
    /// columns after those of the relation.
    pub path_columns: Vec<PathColumn>,
    /// For each column, the estimated probability that two rows have the same value in it. May be
    /// shorter than `columns`.
    pub repeat_rates: Vec<Option<f64>>,
    /// Whether its rows are in memory: a temporary relation of a script.
    pub is_in_memory: bool,
    /// Whether the last key column is a validity, so that `@` is allowed.
    pub is_historical: bool,
    /// Columns that hold dictionary ids of strings.
    pub spelled: Option<DictionaryColumns>,
    /// How it is searched, if it is a search index.
    pub search: Option<SearchMethod>,
}

/// Dictionary-encoded columns: they hold ids that stand for the strings of another relation. Used
/// for graphs with string vertices.
#[derive(Clone, Debug)]
pub struct DictionaryColumns {
    /// The encoded columns. Ids and strings correspond one to one.
    pub columns: Vec<usize>,
    /// Name of the relation `{id => string}`.
    pub names: String,
}

/// A column of a stored relation.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Name.
    pub name: String,
    /// Type; [`Type::Nullable`] if the column may be null.
    pub column_type: Type,
}

/// A column of an index that the relation does not have: the value at a path into a JSON column.
#[derive(Clone, Debug)]
pub struct PathColumn {
    /// The column into which the path goes.
    pub column: usize,
    /// The steps of the path.
    pub steps: Vec<JsonStep>,
    /// The path as it is written.
    pub text: String,
}

impl RelationInfo {
    /// The name of a column of an access path, or the path that it is the value of.
    #[must_use]
    pub fn column_name(&self, column: usize) -> &str {
        match column.checked_sub(self.columns.len()) {
            None => &self.columns[column].name,
            Some(path) => &self.path_columns[path].text,
        }
    }
}

/// An access path: a relation or one of its indexes, sorted by a list of columns.
#[derive(Clone, Debug)]
pub struct AccessPath {
    /// Name of the index; empty for the relation itself.
    pub name: String,
    /// Columns by which the path is sorted, in order: of the relation, or
    /// [`RelationInfo::path_columns`].
    pub keys: Vec<usize>,
    /// Columns of the relation that the path contains. Others need a lookup in the relation.
    pub covers: Vec<usize>,
    /// Number of first columns that at most one row has the same values in, if none of these is
    /// null: all of the relation's key, or the columns of a unique index.
    pub unique: usize,
    /// Statistics of the prefixes of `keys`, as far as known. `prefixes[0]` is for the first
    /// column.
    pub prefixes: Vec<PrefixStatistics>,
}

impl AccessPath {
    /// Whether the path contains all columns that an atom uses.
    pub(crate) fn covers_atom(&self, args: &[Option<VarId>]) -> bool {
        let mut asked = args.iter().enumerate().filter(|(_, var)| var.is_some());
        asked.all(|(column, _)| self.covers.contains(&column))
    }

    /// Estimated rows, of `rows`, whose keys begin with one prefix of this many columns, if there
    /// are no statistics of the prefix.
    pub(crate) fn rows_unknown(&self, rows: f64, prefix: usize) -> f64 {
        if prefix >= self.unique {
            return 1.0;
        }
        rows.powf(1.0 - prefix as f64 / self.keys.len() as f64)
    }
}

/// Statistics of the values of a key prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixStatistics {
    /// Estimated number of distinct values.
    pub values: f64,
    /// Expected number of rows that share the value of a randomly chosen row. Equals the mean if
    /// all values are equally frequent, and grows with skew.
    pub rows_met: f64,
}

/// The columns that an algorithm returns.
#[derive(Clone, Copy, Debug, Default)]
pub struct AlgorithmColumns {
    /// Their number; `None` if it is not known before the algorithm runs.
    pub count: Option<usize>,
    /// Those that hold vertices of its inputs.
    pub vertices: &'static [usize],
}

/// Access to the stored relations.
pub trait Catalog {
    /// The relation with this name, or an index if the name is `relation:index`. `None` if there is
    /// none.
    ///
    /// # Errors
    /// The reason why the catalog cannot be read.
    fn relation(&self, name: &str) -> Result<Option<RelationInfo>, String>;

    /// Names of all relations, for hints.
    fn names(&self) -> Vec<String>;

    /// The columns that an algorithm returns.
    ///
    /// # Errors
    /// The algorithm does not exist.
    fn algorithm(
        &self,
        _name: &Ident,
        _options: &[(Ident, Expr)],
    ) -> Result<AlgorithmColumns, Diagnostic> {
        Ok(AlgorithmColumns::default())
    }

    /// A user-defined aggregate.
    fn aggregate(&self, _name: &str) -> Option<Arc<UserAggregate>> {
        None
    }

    /// Names of the user-defined aggregates, for hints.
    fn aggregates(&self) -> Vec<String> {
        Vec::new()
    }
}
