//! The settings of `::hnsw create`: checked, and as they are stored.

use crate::search_settings::check_expression;
use exec::error::{Error, Result};
use model::{Type, Value, VectorKind};
use relation::{Schema, ValueColumn};
use search::hnsw::Metric;
use syntax::{Expr, Ident, Span};

/// Settings with the spellings of `CozoDB`, and the name under which each is stored.
const SETTINGS: [(&str, &str); 12] = [
    ("dim", "dim"),
    ("fields", "fields"),
    ("m", "m"),
    ("m_neighbours", "m"),
    ("ef_construction", "ef_construction"),
    ("ef", "ef_construction"),
    ("dtype", "dtype"),
    ("distance", "distance"),
    ("dist", "distance"),
    ("filter", "filter"),
    ("extend_candidates", "extend_candidates"),
    ("keep_pruned_connections", "keep_pruned_connections"),
];

/// Greatest values of settings that are numbers.
const DIM_MAX: i64 = 65_536;
const M_MAX: i64 = 512;
const EF_CONSTRUCTION_MAX: i64 = 65_536;

/// The settings of a vector index as they are stored, with defaults.
///
/// # Errors
/// Settings that are unknown, given twice, missing or not valid; fields that do not have such
/// vectors.
pub(crate) fn vector_settings(
    name: &Ident,
    settings: &[(Ident, Expr)],
    schema: &Schema,
) -> Result<Vec<(String, Value)>> {
    let given = Given::of(settings)?;
    for (needed, example) in [("dim", "the numbers in a vector"), ("fields", "[a column]")] {
        if given.find(needed).is_none() {
            let what = format!("index `{name}` lacks the setting `{needed}`");
            return Err(Error::hinted(what, name.span, format!("write {needed}: {example}")));
        }
    }
    let dim = given.number("dim", 1, DIM_MAX, 0)?;
    let dtype = given.choice("dtype", &["F32", "F64"])?;
    let metrics = [Metric::L2, Metric::Cosine, Metric::InnerProduct].map(Metric::name);
    let kind = if dtype == "F64" { VectorKind::F64 } else { VectorKind::F32 };
    let fields = given.find("fields").map(|(_, value)| fields(value, schema, kind, dim));
    let mut stored = vec![
        ("dim", Value::Int(dim)),
        ("dtype", Value::Str(dtype)),
        ("fields", Value::List(fields.transpose()?.unwrap_or_default())),
        ("distance", Value::Str(given.choice("distance", &metrics)?)),
        ("m", Value::Int(given.number("m", 2, M_MAX, 16)?)),
        (
            "ef_construction",
            Value::Int(given.number("ef_construction", 1, EF_CONSTRUCTION_MAX, 128)?),
        ),
        ("extend_candidates", Value::Bool(given.is_set("extend_candidates")?)),
        ("keep_pruned_connections", Value::Bool(given.is_set("keep_pruned_connections")?)),
    ];
    if let Some((_, filter)) = given.find("filter") {
        check_expression(filter, schema)?;
        stored.push(("filter", Value::Str(filter.to_string())));
    }
    Ok(stored.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The settings of an index, each under the name by which it is stored.
struct Given<'s>(Vec<(&'static str, &'s Ident, &'s Expr)>);

impl<'s> Given<'s> {
    fn of(settings: &'s [(Ident, Expr)]) -> Result<Self> {
        let mut given = Self(Vec::new());
        for (setting, value) in settings {
            let known = SETTINGS.iter().find(|(known, _)| *known == setting.text);
            let Some((_, stored)) = known else { return Err(unknown(setting)) };
            if given.find(stored).is_some() {
                return Err(Error::value(format!("`{setting}` is given twice"), setting.span));
            }
            given.0.push((stored, setting, value));
        }
        Ok(given)
    }

    fn find(&self, wanted: &str) -> Option<(&'s Ident, &'s Expr)> {
        let found = self.0.iter().find(|(stored, ..)| *stored == wanted);
        found.map(|&(_, setting, value)| (setting, value))
    }

    fn number(&self, wanted: &str, least: i64, most: i64, default: i64) -> Result<i64> {
        match self.find(wanted) {
            None => Ok(default),
            Some((_, Expr::Literal(Value::Int(int), _))) if (least..=most).contains(int) => {
                Ok(*int)
            }
            Some((setting, value)) => {
                let what = format!("`{setting}` is an integer from {least} to {most}");
                Err(Error::value(what, value.span()))
            }
        }
    }

    /// One of some words; the first is the default.
    fn choice(&self, wanted: &str, of: &[&str]) -> Result<String> {
        let Some((setting, value)) = self.find(wanted) else { return Ok(of[0].to_owned()) };
        let found = word(value).filter(|word| of.contains(word));
        let what = || format!("`{setting}` is one of {}", of.join(", "));
        found.map(str::to_owned).ok_or_else(|| Error::value(what(), value.span()))
    }

    fn is_set(&self, wanted: &str) -> Result<bool> {
        match self.find(wanted) {
            None => Ok(false),
            Some((_, Expr::Literal(Value::Bool(is_set), _))) => Ok(*is_set),
            Some((setting, value)) => {
                Err(Error::value(format!("`{setting}` is true or false"), value.span()))
            }
        }
    }
}

fn unknown(setting: &Ident) -> Error {
    let what = format!("a vector index has no setting `{setting}`");
    let names = || SETTINGS.iter().map(|(name, _)| *name);
    match syntax::closest(&setting.text, names()) {
        Some(near) => Error::unknown(what, setting.span, Some(near)),
        None => {
            let hint = format!("there are {}", names().collect::<Vec<_>>().join(", "));
            Error::hinted(what, setting.span, hint)
        }
    }
}

/// A name, or a string.
fn word(value: &Expr) -> Option<&str> {
    match value {
        Expr::Variable(name) => Some(&name.text),
        Expr::Literal(Value::Str(text), _) => Some(text),
        _ => None,
    }
}

/// The names of the fields, each a column of vectors.
fn fields(value: &Expr, schema: &Schema, kind: VectorKind, dim: i64) -> Result<Vec<Value>> {
    let items = match value {
        Expr::List(items, _) => items.as_slice(),
        other => std::slice::from_ref(other),
    };
    if items.is_empty() {
        return Err(Error::value("an index has at least one field", value.span()));
    }
    let mut names: Vec<Value> = Vec::new();
    for item in items {
        let Some(name) = word(item) else {
            let hint = "write fields: [a, b] with columns of the relation";
            return Err(Error::hinted("a field is a column", item.span(), hint));
        };
        let name = Value::Str(check_field(name, item.span(), schema, kind, dim)?.name.clone());
        if names.contains(&name) {
            return Err(Error::value(format!("field {name} is given twice"), item.span()));
        }
        names.push(name);
    }
    Ok(names)
}

/// Checks that a column may have vectors of an index.
fn check_field<'s>(
    name: &str,
    span: Span,
    schema: &'s Schema,
    kind: VectorKind,
    dim: i64,
) -> Result<&'s ValueColumn> {
    if schema.keys.iter().any(|key| key.name == name) {
        return Err(Error::value(format!("`{name}` is a key column"), span));
    }
    let Some(column) = schema.values.iter().find(|column| column.name == name) else {
        let near = syntax::closest(name, schema.values.iter().map(|column| column.name.as_str()));
        return Err(Error::unknown(format!("no column `{name}`"), span, near));
    };
    let of = match &column.column_type {
        Type::List(item, _) => item.without_null(),
        of => of,
    };
    let fits = match of {
        Type::Vector(of, len) => *of == kind && i64::try_from(*len) == Ok(dim),
        of => *of == Type::Any,
    };
    if fits {
        return Ok(column);
    }
    let wanted = Type::Vector(kind, dim as u64);
    let what = format!("column `{name}` has the type {}, the index {wanted}", column.column_type);
    Err(Error::hinted(what, span, format!("the column may have {wanted}, or lists of these")))
}
