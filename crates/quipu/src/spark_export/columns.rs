//! Columns of exported files: their names and types.

use super::{GoOn, for_each_frame, invalid};
use crate::column_kind::{Kind, Seen};
use crate::relation::Relation;
use model::Type;
use session::{ColumnOf, Interner};
use std::sync::Arc;
use store::{Result, Snapshot};

/// The columns of a relation. Those of any type get the type that all their values have at the
/// snapshot, which reads all rows; or else strings.
pub(super) fn settled(
    relation: &Relation,
    snapshot: &Arc<dyn Snapshot>,
    go_on: GoOn<'_>,
) -> Result<Vec<ColumnOf>> {
    let mut columns = relation.columns().to_vec();
    for column in &mut columns {
        column.column_type = with_strings(&column.column_type);
    }
    let is_any = |column: &ColumnOf| *column.column_type.without_null() == Type::Any;
    let unknown: Vec<usize> = (0..columns.len()).filter(|&place| is_any(&columns[place])).collect();
    if unknown.is_empty() {
        return Ok(columns);
    }
    let mut seen: Vec<Seen> = unknown.iter().map(|_| Seen::default()).collect();
    for_each_frame(relation, snapshot, go_on, |frame| {
        let interner = Interner::default();
        for (seen, &place) in seen.iter_mut().zip(&unknown) {
            let series = &frame.columns()[place];
            for row in 0..series.len() {
                seen.look(interner.cell(&series.value(row)), &interner);
            }
        }
        Ok(())
    })?;
    for (seen, place) in seen.iter().zip(unknown) {
        columns[place].column_type = Type::Nullable(Box::new(type_of(seen.kind())));
    }
    Ok(columns)
}

/// The type with strings in place of UUIDs, which Spark does not have, and of decimals, whose
/// digits differ from file to file.
fn with_strings(of: &Type) -> Type {
    match of {
        Type::Uuid | Type::Decimal => Type::String,
        Type::Nullable(of) => Type::Nullable(Box::new(with_strings(of))),
        of => of.clone(),
    }
}

fn type_of(kind: Kind) -> Type {
    match kind {
        Kind::Bool => Type::Bool,
        Kind::Int => Type::Int,
        Kind::Id => Type::Id,
        Kind::Float => Type::Float,
        Kind::Bytes => Type::Bytes,
        Kind::Json => Type::Json,
        Kind::Validity => Type::Validity,
        Kind::Date => Type::Date,
        Kind::Timestamp => Type::Timestamp,
        Kind::Duration => Type::Duration,
        Kind::Vector(kind, len) => Type::Vector(kind, len as u64),
        // The items of lists are not looked at one by one, so these are written as their text.
        Kind::List(_) | Kind::Null | Kind::Str | Kind::Uuid | Kind::Decimal(_) | Kind::Literal => {
            Type::String
        }
    }
}

/// The type of the vertices of a relation that is no graph.
///
/// # Errors
/// They are neither numbers nor strings, or source and target have two types.
pub(super) fn vertex_type(
    source: &ColumnOf,
    target: &ColumnOf,
    columns: &[ColumnOf],
) -> Result<Type> {
    let [of, other] = [&columns[0], &columns[1]].map(|column| column.column_type.without_null());
    let both = format!("the columns {:?} and {:?}", source.name, target.name);
    if of != other {
        return Err(invalid(format!(
            "{both} are source and target, and have the types {of} and {other}\n\
             hint: give both one type"
        )));
    }
    match of {
        Type::Int | Type::Id | Type::String => Ok(of.clone()),
        _ => Err(invalid(format!("{both} are of type {of}, and vertices are numbers or strings"))),
    }
}

/// The columns of the properties that a relation of vertices has, without its key.
///
/// # Errors
/// The relation has another number of keys, or a key that cannot be a vertex of this type.
pub(super) fn of_properties(
    relation: &Relation,
    vertex: &Type,
    snapshot: &Arc<dyn Snapshot>,
    go_on: GoOn<'_>,
) -> Result<Vec<ColumnOf>> {
    let name = relation.name();
    if relation.columns().iter().filter(|column| column.is_key).count() != 1 {
        return Err(invalid(format!(
            "{name:?} needs one key, the vertex, to be properties of vertices"
        )));
    }
    let mut columns = settled(relation, snapshot, go_on)?;
    let key = columns.remove(0);
    let of = key.column_type.without_null();
    let fits = match vertex {
        Type::String => *of == Type::String,
        _ => matches!(of, Type::Int | Type::Id),
    };
    // Without rows, a column of any type is one of strings.
    if !fits && !relation.is_empty()? {
        return Err(invalid(format!(
            "the key {:?} of {name:?} is of type {of}, and the vertices are of type {vertex}",
            key.name
        )));
    }
    for column in &mut columns {
        // Vertices without a row have nulls.
        if !matches!(column.column_type, Type::Nullable(_)) {
            column.column_type = Type::Nullable(Box::new(column.column_type.clone()));
        }
    }
    Ok(columns)
}

/// Refuses columns that Spark cannot tell apart, because it ignores case.
pub(super) fn check_names(relation: &str, columns: &[ColumnOf]) -> Result<()> {
    for (place, column) in columns.iter().enumerate() {
        let same = |other: &&ColumnOf| other.name.to_lowercase() == column.name.to_lowercase();
        if let Some(other) = columns[..place].iter().find(same) {
            return Err(invalid(format!(
                "{relation:?} has a column {:?}, and the export one {:?}, which Spark cannot tell \
                 apart\nhint: rename the column",
                column.name, other.name
            )));
        }
    }
    Ok(())
}
