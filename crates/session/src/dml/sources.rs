//! The source of each column of a relation in a mutation: a column of the query, a default, or the
//! existing row.

use crate::catalog_view::columns_of;
use crate::dml::spec::{check_spec, find, given_column};
use exec::error::{Error, Result};
use relation::Schema;
use syntax::{Mutation, MutationOp};

/// Where the columns of a relation get their values from rows with these headers.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(super) headers: Vec<String>,
    /// Of each column.
    pub(super) of: Vec<Source>,
}

/// Where a column of a relation gets its values.
#[derive(Clone)]
pub(super) enum Source {
    /// A column of the rows.
    Column(usize),
    /// The same in each row.
    Default(plan::Expr),
    /// Left as it is.
    Kept,
}

impl Sources {
    /// Finds them. `defaults` are those of the relation's columns, by name.
    ///
    /// # Errors
    /// The mutation names a column that is not there, or of another type; a column gets no value.
    pub(super) fn find(
        mutation: &Mutation,
        schema: &Schema,
        defaults: &[(String, plan::Expr)],
        headers: &[String],
    ) -> Result<Self> {
        let keys = schema.keys.len();
        let of_keys_only =
            matches!(mutation.op, MutationOp::Rm | MutationOp::Delete | MutationOp::EnsureNot);
        let columns = columns_of(schema);
        check_spec(mutation, &columns, headers)?;
        let mut of = Vec::with_capacity(columns.len());
        for (place, column) in columns.iter().enumerate() {
            let said = mutation.spec.as_ref().and_then(|spec| find(spec, &column.name));
            let wanted = match (&mutation.spec, said) {
                (None, _) => Some(column.name.as_str()),
                (Some(_), Some(said)) => {
                    Some(said.binding.as_ref().map_or(column.name.as_str(), |b| b.text.as_str()))
                }
                (Some(_), None) => None,
            };
            let found = wanted.and_then(|wanted| given_column(headers, wanted));
            let default = defaults.iter().find(|(name, _)| *name == column.name);
            of.push(match (found, default) {
                // A row is found by its key: what else is given plays no part.
                _ if place >= keys && of_keys_only => Source::Kept,
                (Some(found), _) => Source::Column(found),
                (None, _) if place >= keys && mutation.op == MutationOp::Update => Source::Kept,
                (None, Some((_, default))) => Source::Default(default.clone()),
                (None, None) => {
                    let span = said.map_or(mutation.relation.span, |said| said.name.span);
                    let what = format!("column `{}` gets no value", column.name);
                    let given: Vec<_> = headers.iter().map(|h| format!("`{h}`")).collect();
                    let hint = format!("the rows have {}", given.join(", "));
                    return Err(Error::hinted(what, span, hint));
                }
            });
        }
        Ok(Self { headers: headers.to_vec(), of })
    }
}
