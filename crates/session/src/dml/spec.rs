//! The column specification of a mutation, `{key => value}`, resolved against the relation.

use exec::error::{Error, Result};
use model::Type;
use plan::ColumnInfo;
use relation::{KeyColumn, Schema, ValueColumn};
use syntax::{Mutation, Span, Spec, SpecColumn};

/// Checks that the column specification of a change matches the columns of a relation: names, and
/// types where they are given.
///
/// # Errors
/// A column that it does not have, or of another type.
pub(crate) fn check_spec(
    mutation: &Mutation,
    columns: &[ColumnInfo],
    headers: &[String],
) -> Result<()> {
    let relation = &mutation.relation;
    let known = |name: &str, span: Span| {
        columns.iter().find(|known| known.name == name).ok_or_else(|| {
            let near = syntax::closest(name, columns.iter().map(|known| known.name.as_str()));
            let what = format!("relation `{}` has no column `{name}`", relation.text);
            Error::unknown(what, span, near)
        })
    };
    let Some(spec) = &mutation.spec else {
        // All columns of the head are meant.
        return headers.iter().try_for_each(|header| {
            known(variable_of(header), relation.span)?;
            Ok(())
        });
    };
    for column in spec.columns() {
        let is = &known(&column.name.text, column.name.span)?.column_type;
        let Some(said) = &column.column_type else { continue };
        let is_id = *is.without_null() == Type::Id && *said.without_null() == Type::Int;
        if said != is && !is_id && *said != Type::Nullable(Box::new(Type::Any)) {
            let (name, relation) = (&column.name, &relation.text);
            let what = format!("column `{name}` of relation `{relation}` is {is}, not {said}");
            return Err(Error::value(what, name.span));
        }
    }
    Ok(())
}

/// The columns that a spec says, or that all of a head's are keys.
///
/// # Errors
/// Columns that cannot be stored.
pub(crate) fn schema_of(mutation: &Mutation, headers: &[String]) -> Result<Schema> {
    let name = mutation.relation.text.clone();
    let (keys, values) = match &mutation.spec {
        None => {
            let key = |header: &String| {
                let column = variable_of(header);
                if is_column_name(column) {
                    return Ok(KeyColumn::new(column, any_type()));
                }
                let what = format!("`{column}` cannot be a column's name");
                let hint = "name the columns in the head of the query: ?[a, b] …";
                Err(Error::hinted(what, mutation.relation.span, hint))
            };
            (headers.iter().map(key).collect::<Result<_>>()?, Vec::new())
        }
        Some(spec) => {
            let keys = spec.keys.iter().map(|column| {
                let default = column.default.as_ref().map(ToString::to_string);
                KeyColumn { default, ..KeyColumn::new(&column.name.text, type_of(column)) }
            });
            (keys.collect(), spec.values.iter().map(value_column).collect())
        }
    };
    let schema = Schema { name, keys, values };
    schema.check().map_err(|error| Error::refused(error, mutation.relation.span))?;
    Ok(schema)
}

/// The type of a column without a type.
fn any_type() -> Type {
    Type::Nullable(Box::new(Type::Any))
}

fn type_of(column: &SpecColumn) -> Type {
    column.column_type.clone().unwrap_or_else(any_type)
}

/// The value column that a spec describes.
pub(crate) fn value_column(column: &SpecColumn) -> ValueColumn {
    let of = type_of(column);
    let nullable = matches!(of, Type::Nullable(_));
    let default = column.default.as_ref().map(ToString::to_string);
    let plain = ValueColumn::new(&column.name.text, of.without_null().clone());
    ValueColumn { nullable, default, ..plain }
}

/// Whether scripts can read a column of this name: not a wildcard, nor a number.
pub(crate) fn is_column_name(name: &str) -> bool {
    let is_word = matches!(crate::nesting::parse_expression(name), Ok(syntax::Expr::Variable(ident)) if ident.text == name);
    is_word && !name.starts_with('_') && !name.contains('.')
}

pub(crate) fn find<'s>(spec: &'s Spec, name: &str) -> Option<&'s SpecColumn> {
    spec.columns().find(|column| column.name.text == name)
}

/// The place of a header: as it is written, or the variable of an aggregate.
pub(crate) fn given_column(headers: &[String], wanted: &str) -> Option<usize> {
    let exact = headers.iter().position(|header| header == wanted);
    exact.or_else(|| headers.iter().position(|header| variable_of(header) == wanted))
}

/// `x` of `sum(x)`.
fn variable_of(header: &str) -> &str {
    match header.split_once('(') {
        Some((_, rest)) => rest.strip_suffix(')').unwrap_or(rest),
        None => header,
    }
}
