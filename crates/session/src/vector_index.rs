//! Vector indexes as their definitions describe them.

use base::KeyspaceId;
use exec::storage::access_path::StoredPath;
use exec::storage::vector_index::VectorIndex;
use model::{Value, VectorKind};
use relation::{Schema, SearchDef, SearchPart};
use search::hnsw::{GraphSettings, Metric};

/// Where the rows of a part of an index are.
pub(crate) fn part_path(
    def: &SearchDef,
    ids: &[KeyspaceId],
    part: SearchPart,
) -> store::Result<StoredPath> {
    let place = def.method.parts().iter().position(|known| *known == part);
    let id = place.and_then(|place| ids.get(place)).copied();
    let id = id.ok_or_else(|| unreadable(def, "a part is missing"))?;
    Ok(StoredPath::of(def.part_schema(part), id))
}

/// The parts of an index that searches read; `schema` and `main` are the relation's.
///
/// # Errors
/// A definition that cannot be read.
pub(crate) fn vector_index(
    def: &SearchDef,
    ids: &[KeyspaceId],
    schema: &Schema,
    main: KeyspaceId,
) -> store::Result<VectorIndex> {
    let path = |part: SearchPart| part_path(def, ids, part);
    let settings = graph_settings(def).ok_or_else(|| unreadable(def, "a setting is missing"))?;
    let kind = match def.setting("dtype") {
        Some(Value::Str(name)) if name == "F64" => VectorKind::F64,
        _ => VectorKind::F32,
    };
    let Some(Value::List(names)) = def.setting("fields") else {
        return Err(unreadable(def, "no fields"));
    };
    let field = |name: &Value| {
        let place = schema.values.iter().position(|column| match name {
            Value::Str(name) => *name == column.name,
            _ => false,
        });
        let place = place.map(|place| place + schema.keys.len());
        place.ok_or_else(|| unreadable(def, "the relation has no such field"))
    };
    let fields = names.iter().map(field).collect::<store::Result<_>>()?;
    let (links, vertices) = (path(SearchPart::Links)?, path(SearchPart::Vertices)?);
    let relation = StoredPath::of(schema.clone(), main);
    Ok(VectorIndex { links, vertices, relation, settings, kind, fields })
}

/// The error of a definition that cannot be used.
pub(crate) fn unreadable(def: &SearchDef, why: &str) -> store::Error {
    let what = format!("the definition of index {:?} cannot be read: {why}", def.name);
    store::Error::new(store::ErrorKind::Corruption, what)
}

/// How the graph of an index is made.
fn graph_settings(def: &SearchDef) -> Option<GraphSettings> {
    let number = |name: &str| match def.setting(name) {
        Some(Value::Int(number)) => usize::try_from(*number).ok().filter(|number| *number > 0),
        _ => None,
    };
    let is_set = |name: &str| matches!(def.setting(name), Some(Value::Bool(true)));
    let metric = match def.setting("distance") {
        Some(Value::Str(name)) => Metric::of_name(name)?,
        _ => return None,
    };
    Some(GraphSettings {
        dim: number("dim")?,
        metric,
        m: number("m")?,
        ef_construction: number("ef_construction")?,
        extends_candidates: is_set("extend_candidates"),
        keeps_pruned: is_set("keep_pruned_connections"),
    })
}
