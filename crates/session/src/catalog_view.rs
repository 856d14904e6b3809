//! The catalog as a script sees it: stored relations, and its temporary ones.
//!
//! The planner asks it for names; it remembers the relations that were requested.

use crate::search_storage::search_storage;
use exec::fixed_rule::registry::UserDefined;
use exec::storage::access_path::StoredPath;
use exec::storage::relation_source::{Relation, StoredRelation};
use exec::storage::search_index::SearchIndex;
use exec::storage::statistics::PathStatistics;
use exec::table::owned::OwnedTable;
use function::UserAggregate;
use model::Type;
use plan::{AccessPath, AlgorithmColumns, ColumnInfo, DictionaryColumns, RelationInfo};
use relation::{Access, Catalog, Dictionary, Entry, GraphPart, NameOverlay, Schema};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::{ErrorKind, Read};

/// A temporary relation, which lives as long as its script.
#[derive(Clone, Debug)]
pub(crate) struct TempRelation {
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
    /// Defaults of its columns, by name.
    pub defaults: Vec<(String, plan::Expr)>,
    /// Number of key columns, which come first.
    pub keys: usize,
    /// Its rows.
    pub table: OwnedTable,
}

/// Statistics of a relation with about this many rows, for each path.
type DistributionOf<'s> =
    dyn Fn(&StoredRelation, u64) -> store::Result<Vec<Arc<PathStatistics>>> + 's;

/// The catalog for planning one query; remembers the relations that were requested.
pub(crate) struct CatalogView<'s> {
    catalog: &'s Catalog,
    read: &'s dyn Read,
    temp_relations: &'s BTreeMap<String, TempRelation>,
    names: &'s NameOverlay,
    found: RefCell<Vec<Relation>>,
    distribution: &'s DistributionOf<'s>,
    own: &'s UserDefined,
    /// The first failure of the store. The planner gets it as a string, which has no kind.
    failure: RefCell<Option<store::Error>>,
}

impl<'s> CatalogView<'s> {
    /// A view of the catalog, without requested relations yet.
    pub(crate) fn new(
        catalog: &'s Catalog,
        read: &'s dyn Read,
        temp_relations: &'s BTreeMap<String, TempRelation>,
        names: &'s NameOverlay,
        distribution: &'s DistributionOf<'s>,
        own: &'s UserDefined,
    ) -> Self {
        let (found, failure) = (RefCell::default(), RefCell::default());
        Self { catalog, read, temp_relations, names, found, distribution, own, failure }
    }

    /// The requested relations, in the order of their handles.
    ///
    /// # Errors
    /// A lookup failed for another reason than an error in the query. The plan must not be used
    /// then.
    pub(crate) fn into_relations(self) -> store::Result<Vec<Relation>> {
        match self.failure.into_inner() {
            Some(error) => Err(error),
            None => Ok(self.found.into_inner()),
        }
    }

    /// The message for the planner. The error itself is kept unless it is one in the query.
    fn failed(&self, error: store::Error) -> String {
        let message = error.to_string();
        if error.kind() != ErrorKind::InvalidInput {
            self.failure.borrow_mut().get_or_insert(error);
        }
        message
    }

    fn keep(&self, relation: Relation) -> usize {
        let mut found = self.found.borrow_mut();
        found.push(relation);
        found.len() - 1
    }

    /// The search index that an entry is.
    fn search_index(&self, entry: &Entry) -> store::Result<Option<SearchIndex>> {
        if !entry.name().contains(':') {
            return Ok(None);
        }
        let Some((def, ids)) = self.catalog.search_index(entry.name())? else { return Ok(None) };
        if !self.catalog.is_ready(self.read, &def.name)? {
            let what = format!(
                "the index `{}` is not complete\n\
                 hint: its creation is still running, or was interrupted; then create it again",
                def.name
            );
            return Err(store::Error::new(ErrorKind::InvalidInput, what));
        }
        let Some(owner) = self.catalog.find(crate::access::owner(entry.name()))? else {
            return Ok(None);
        };
        search_storage(&def, &ids, &owner.schema(), owner.keyspace()).map(Some)
    }

    fn stored(&self, name: &str) -> Result<Option<RelationInfo>, String> {
        let failed = |error: store::Error| self.failed(error);
        let found = self.catalog.find_in(self.names, name).map_err(failed)?;
        let Some(entry) = found else { return Ok(None) };
        crate::access::check(self.catalog, self.read, name, Access::Hidden).map_err(failed)?;
        let paths = stored_paths(self.catalog, self.read, &entry).map_err(failed)?;
        let Some(main) = paths.first() else { return Ok(None) };
        let rows = self.read.estimate(main.keyspace, &main.all()).map_err(failed)?.rows;
        let schema = &main.schema;
        let columns = columns_of(schema);
        let is_historical = schema.is_historical();
        let keys = schema.keys.len();
        let own = main.keyspace;
        let search_index = self.search_index(&entry).map_err(failed)?;
        let search = search_index.as_ref().map(SearchIndex::method);
        let relation = StoredRelation { paths, search_index };
        let distribution = (self.distribution)(&relation, rows).map_err(failed)?;
        let repeat_rates =
            distribution.first().map(|own| own.repeat_rates.clone()).unwrap_or_default();
        let info_paths =
            relation.paths.iter().zip(&distribution).map(|(path, distribution)| AccessPath {
                name: if path.keyspace == own { String::new() } else { path.schema.name.clone() },
                keys: path.columns[..path.schema.keys.len()].to_vec(),
                covers: path.columns.clone(),
                unique: path.schema.distinct_columns().len(),
                prefixes: distribution.prefixes.clone(),
            });
        let info_paths = info_paths.collect();
        let path_columns = path_columns_of(&relation.paths);
        let handle = self.keep(Relation::Stored(Arc::new(relation)));
        let spelled = entry.string_graph().map(|_| DictionaryColumns {
            columns: entry.string_columns().collect(),
            names: format!("{}{}", crate::access::owner(name), GraphPart::Names.suffix()),
        });
        let paths = info_paths;
        Ok(Some(RelationInfo {
            handle,
            columns,
            keys,
            rows,
            paths,
            path_columns,
            repeat_rates,
            is_in_memory: false,
            is_historical,
            spelled,
            search,
        }))
    }
}

/// A schema's columns with their types; columns that may be null have nullable types.
pub(crate) fn columns_of(schema: &Schema) -> Vec<ColumnInfo> {
    let keys = schema
        .keys
        .iter()
        .map(|key| ColumnInfo { name: key.name.clone(), column_type: key.column_type.clone() });
    let values = schema
        .values
        .iter()
        .map(|value| ColumnInfo { name: value.name.clone(), column_type: value.shown_type() });
    keys.chain(values).collect()
}

/// The values at paths that indexes have, in the order of their indexes.
fn path_columns_of(paths: &[StoredPath]) -> Vec<plan::PathColumn> {
    let all = paths.iter().flat_map(|path| &path.path_columns);
    let mut all: Vec<_> = all.map(|path| (path.index, path)).collect();
    all.sort_by_key(|(index, _)| *index);
    all.dedup_by_key(|(index, _)| *index);
    let column = |(_, of): (usize, &exec::storage::access_path::PathColumn)| plan::PathColumn {
        column: of.column,
        steps: of.path.steps.clone(),
        text: of.path.to_string(),
    };
    all.into_iter().map(column).collect()
}

/// The orders in which an entry's rows are stored, its own keyspace first.
///
/// # Errors
/// A definition that cannot be read.
pub(crate) fn stored_paths(
    catalog: &Catalog,
    read: &dyn Read,
    entry: &Entry,
) -> store::Result<Vec<StoredPath>> {
    let mut paths = vec![StoredPath::of(entry.schema(), entry.keyspace())];
    if let Entry::Blobs(..) = entry {
        // The first value column is null where a long value is stored in another keyspace.
        paths[0].kept_elsewhere = Some(0);
    }
    if let Entry::Graph(def, _) = entry {
        paths[0].ordered_ends = def.is_undirected.then_some([0, 1]);
        if let Some(reverse) = catalog.find(&def.keyspace_name(GraphPart::Reverse))? {
            let mut path = StoredPath::of(reverse.schema(), reverse.keyspace());
            path.columns = (0..path.schema.columns()).collect();
            path.columns.swap(0, 1);
            path.ordered_ends = def.is_undirected.then_some([1, 0]);
            paths.push(path);
        }
        return Ok(paths);
    }
    if !entry.name().contains(':') {
        let mut path_columns = Vec::new();
        for (index, keyspace) in catalog.indexes_of(read, entry.name())? {
            let relation = &paths[0].schema;
            paths.extend(StoredPath::of_index(relation, index, keyspace, &mut path_columns));
        }
    } else if let Some((graph, part)) = dictionary_of(entry.name())
        && let Some(def) = catalog.find(graph)?.as_ref().and_then(Entry::string_graph)
    {
        if part == GraphPart::Ids {
            paths[0].has_raw_keys = true;
        } else if let Some(ids) = catalog.find(&def.keyspace_name(GraphPart::Ids))? {
            // Finds a name by its id, and an id by its name.
            let mut path = StoredPath::of(ids.schema(), ids.keyspace());
            (path.columns, path.has_raw_keys) = (vec![1, 0], true);
            paths.push(path);
        }
    }
    Ok(paths)
}

/// The dictionary of a graph whose vertices are strings.
///
/// # Errors
/// A definition that cannot be read, or a graph without its dictionary.
pub(crate) fn dictionary(catalog: &Catalog, entry: &Entry) -> store::Result<Option<Dictionary>> {
    let Some(def) = entry.string_graph() else { return Ok(None) };
    let part = |part| -> store::Result<_> {
        let name = def.keyspace_name(part);
        if let Some(found) = catalog.find(&name)? {
            return Ok(found.keyspace());
        }
        // A graph that is dropped meanwhile loses all parts together.
        let now = catalog.find(&def.name)?;
        let is_there = now.is_some_and(|now| now.string_graph() == Some(def));
        let kind = if is_there { ErrorKind::Corruption } else { ErrorKind::InvalidInput };
        Err(store::Error::new(kind, format!("the graph {:?} has no part {name:?}", def.name)))
    };
    let (ids, names) = (part(GraphPart::Ids)?, part(GraphPart::Names)?);
    Ok(Some(Dictionary { ids, names }))
}

/// The graph to whose dictionary a name belongs, and the part of the dictionary.
fn dictionary_of(name: &str) -> Option<(&str, GraphPart)> {
    let half = |part: GraphPart| Some((name.strip_suffix(part.suffix())?, part));
    [GraphPart::Ids, GraphPart::Names].into_iter().find_map(half)
}

impl plan::Catalog for CatalogView<'_> {
    fn relation(&self, name: &str) -> Result<Option<RelationInfo>, String> {
        let Some(temp_relations) = self.temp_relations.get(name) else { return self.stored(name) };
        let columns = temp_relations
            .columns
            .iter()
            .map(|column| ColumnInfo { name: column.name.clone(), column_type: Type::Any })
            .collect();
        let all: Vec<usize> = (0..temp_relations.columns.len()).collect();
        let path = AccessPath {
            name: String::new(),
            keys: all[..temp_relations.keys].to_vec(),
            covers: all,
            unique: temp_relations.keys,
            prefixes: Vec::new(),
        };
        Ok(Some(RelationInfo {
            handle: self.keep(Relation::Script(temp_relations.table.clone())),
            columns,
            keys: temp_relations.keys,
            rows: temp_relations.table.live_rows() as u64,
            paths: vec![path],
            path_columns: Vec::new(),
            repeat_rates: Vec::new(),
            is_in_memory: true,
            is_historical: false,
            spelled: None,
            search: None,
        }))
    }

    fn names(&self) -> Vec<String> {
        let listed = self.catalog.list_in(self.names);
        let stored = listed.map_err(|error| self.failed(error)).unwrap_or_default();
        let stored = stored.into_iter().map(|(name, _)| name);
        stored.chain(self.temp_relations.keys().cloned()).collect()
    }

    fn algorithm(
        &self,
        name: &syntax::Ident,
        options: &[(syntax::Ident, syntax::Expr)],
    ) -> Result<AlgorithmColumns, syntax::Diagnostic> {
        exec::fixed_rule::columns(name, options, self.own)
    }

    fn aggregate(&self, name: &str) -> Option<Arc<UserAggregate>> {
        self.own.aggregate(name)
    }

    fn aggregates(&self) -> Vec<String> {
        self.own.aggregate_names()
    }
}
