//! What planning asks of the relations that are stored.

use function::OwnAggregate;
use model::Type;
use std::sync::Arc;
use syntax::{Diagnostic, Expr, Ident};

/// A stored relation as a query sees it.
#[derive(Clone, Debug)]
pub struct RelationInfo {
    /// The catalog's number for it.
    pub handle: usize,
    /// Its columns, keys first.
    pub columns: Vec<ColumnInfo>,
    /// How many of them are keys.
    pub keys: usize,
    /// About how many rows it has.
    pub rows: u64,
    /// Orders in which its rows are found; the first is the relation itself.
    pub paths: Vec<AccessPath>,
    /// Of each column, how likely two of its rows have the same value there, as far as known; it
    /// may be shorter.
    pub repeat_rates: Vec<Option<f64>>,
    /// Whether its last key column is a validity, so that `@` may be asked.
    pub is_historical: bool,
    /// Columns whose numbers stand for texts.
    pub spelled: Option<Spelled>,
}

/// Columns of a relation whose numbers stand for texts of another one: the vertices of a graph that
/// are text.
#[derive(Clone, Debug)]
pub struct Spelled {
    /// Which. Each of their numbers has one text, and each text one number.
    pub columns: Vec<usize>,
    /// The relation `{number => text}`.
    pub names: String,
}

/// A column of a stored relation.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// What it holds; nullable ones are [`Type::Nullable`].
    pub column_type: Type,
}

/// An order in which rows of a relation are found.
#[derive(Clone, Debug)]
pub struct AccessPath {
    /// What messages call it; the index's name, empty for the relation itself.
    pub name: String,
    /// Columns of the relation by which rows are found there, in order.
    pub keys: Vec<usize>,
    /// Columns of the relation that are read there; the others cost a look-up in the relation.
    pub covers: Vec<usize>,
    /// Of each prefix of `keys`, as far as known: `prefixes[0]` of the first column.
    pub prefixes: Vec<PrefixStatistics>,
}

/// How the rows of a path are spread over the values of a prefix of its key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixStatistics {
    /// About how many values there are.
    pub values: f64,
    /// About how many rows have the value that a row drawn at random has: as many as have one value
    /// if all have as many, and the more the more unequal they are.
    pub rows_met: f64,
}

/// The stored relations.
pub trait Catalog {
    /// The relation of this name, or of an index as `relation:index`.
    ///
    /// # Errors
    /// Says why the catalog cannot be read.
    fn relation(&self, name: &str) -> Result<Option<RelationInfo>, String>;

    /// All names, for hints.
    fn names(&self) -> Vec<String>;

    /// How many columns an algorithm gives, where that is known before it runs.
    ///
    /// # Errors
    /// There is no such algorithm.
    fn algorithm(
        &self,
        _name: &Ident,
        _options: &[(Ident, Expr)],
    ) -> Result<Option<usize>, Diagnostic> {
        Ok(None)
    }

    /// An aggregate of the program's.
    fn aggregate(&self, _name: &str) -> Option<Arc<OwnAggregate>> {
        None
    }

    /// Their names, for hints.
    fn aggregates(&self) -> Vec<String> {
        Vec::new()
    }
}
