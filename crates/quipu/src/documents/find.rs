//! Indexes on fields of documents, and documents found by the values of a field.

use super::{DocumentRows, Documents, invalid};
use crate::script::Parameters;
use document::Pointer;
use model::{Json, JsonStep, Value};
use relation::JsonPath;
use store::Result;
use syntax::words::quote_name;

/// Values of a field by which documents are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValues {
    /// This value. Numbers are compared by value. Null is also the value of a field that is
    /// missing.
    Equal(Json),
    /// Numbers, or strings, from the first to the second, both included; without one of them, all
    /// up to the other.
    Between(Option<Json>, Option<Json>),
}

impl Documents {
    /// Creates an index on fields, by which [`Documents::find`] and scripts find documents. It has
    /// the documents that exist, and follows every change.
    ///
    /// In a unique index, documents must differ in the fields, unless one of them is missing or
    /// null. A change that would leave two equal ones fails with
    /// [`store::ErrorKind::InvalidInput`].
    ///
    /// # Errors
    /// See [`Documents`]; [`store::ErrorKind::InvalidInput`] for a name that is invalid or taken,
    /// for no fields, for the whole document, in a transaction, and for a unique index on fields in
    /// which documents are equal.
    pub fn create_index(&self, name: &str, fields: &[Pointer], is_unique: bool) -> Result<()> {
        let paths = fields.iter().map(path).collect::<Result<Vec<_>>>()?.join(", ");
        let unique = if is_unique { " unique" } else { "" };
        let (documents, name) = (self.quoted(), quote_name(name));
        self.change_indexes(&format!("create {documents}:{name} {{{paths}}}{unique}"))
    }

    /// Drops an index.
    ///
    /// # Errors
    /// See [`Documents`]; [`store::ErrorKind::InvalidInput`] if there is none with this name, and
    /// in a transaction.
    pub fn drop_index(&self, name: &str) -> Result<()> {
        self.change_indexes(&format!("drop {}:{}", self.quoted(), quote_name(name)))
    }

    fn change_indexes(&self, change: &str) -> Result<()> {
        if self.transaction.is_some() {
            // The error of a transaction that has ended comes first.
            self.relation()?;
            return Err(invalid("indexes are created and dropped outside of transactions"));
        }
        self.database.run(&format!("::index {change}"), &Parameters::new()).map(drop)
    }

    /// The documents whose field has some values, in key order: through an index on the field if
    /// there is one, or else by reading all documents.
    ///
    /// # Errors
    /// See [`Documents`]; [`store::ErrorKind::InvalidInput`] for the whole document as the field,
    /// and for bounds that are not both numbers or both strings.
    pub fn find(&self, field: &Pointer, values: &FieldValues) -> Result<DocumentRows> {
        let (name, path) = (self.quoted(), path(field)?);
        let mut parameters = Parameters::new();
        let condition = match values {
            FieldValues::Equal(value) => {
                parameters.insert("value".to_owned(), value.text().value());
                "v == $value".to_owned()
            }
            FieldValues::Between(least, greatest) => {
                let mut condition = kind_test(least.as_ref(), greatest.as_ref())?.to_owned();
                for (bound, parameter, sign) in
                    [(least, "least", ">="), (greatest, "greatest", "<=")]
                {
                    if let Some(bound) = bound {
                        parameters.insert(parameter.to_owned(), bound.text().value());
                        condition += &format!(" && v {sign} ${parameter}");
                    }
                }
                condition
            }
        };
        let script = format!("?[key, doc] := *{name}{{key, doc}}, v = {path}, {condition}");
        self.found(&script, &parameters)
    }
}

/// The condition that `v` is of the kind of two bounds: others cannot be compared with them.
fn kind_test(least: Option<&Json>, greatest: Option<&Json>) -> Result<&'static str> {
    let kind = |bound: &Json| match bound.text().value() {
        Value::Int(_) | Value::Id(_) | Value::Float(_) => Some("is_num(v)"),
        Value::Str(_) => Some("is_string(v)"),
        _ => None,
    };
    let mut kinds = least.into_iter().chain(greatest).map(kind);
    match (kinds.next(), kinds.next()) {
        (Some(Some(one)), None) => Ok(one),
        (Some(Some(one)), Some(Some(other))) if one == other => Ok(one),
        _ => Err(invalid("the bounds of a field are numbers or strings, both of one kind")),
    }
}

/// A field as a path of the query language.
fn path(field: &Pointer) -> Result<String> {
    if field.is_root() {
        return Err(invalid("the whole document is no field"));
    }
    let step = |token: &String| match token.parse::<i64>() {
        Ok(index) if index >= 0 && index.to_string() == *token => {
            JsonStep::Index(index.cast_unsigned())
        }
        _ => JsonStep::Name(token.clone()),
    };
    let steps = field.tokens().iter().map(step).collect();
    Ok(JsonPath { column: "doc".to_owned(), steps }.to_string())
}
