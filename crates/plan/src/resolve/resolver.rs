//! The state of name resolution: the program so far, and lookups of rules, relations and columns.

use super::expression::expression;
use super::message::{columns_text, error, were};
use super::scope::Scope;
use crate::catalog::{Catalog, ColumnInfo, RelationInfo};
use crate::ids::{PerStored, PredicateId, StoredId, VarId};
use crate::ir::{Expr, Literal, PredicateKind, Program, StoredUse};
use hashbrown::HashMap;
use syntax::{Args, Diagnostic, Ident, Span, closest};

/// A query whose names are being resolved.
pub(super) struct Resolver<'a> {
    pub(super) catalog: &'a dyn Catalog,
    pub(super) program: Program,
    pub(super) infos: PerStored<RelationInfo>,
    pub(super) by_name: HashMap<String, PredicateId>,
    pub(super) errors: Vec<Diagnostic>,
}

/// An atom over a stored relation, as it is written.
pub(super) struct StoredAtom<'e> {
    pub(super) name: &'e Ident,
    /// Name of the index, if one is read.
    pub(super) index: Option<&'e Ident>,
    pub(super) args: &'e Args,
    /// Time at which the relation is read.
    pub(super) at: Option<&'e syntax::Expr>,
    pub(super) span: Span,
}

impl Resolver<'_> {
    pub(super) fn scoped(
        &mut self,
        expr: &syntax::Expr,
        scope: &mut Scope,
    ) -> Result<Expr, Diagnostic> {
        expression(expr, &mut self.program.parameters, &mut |ident| Ok(scope.var(&ident.text)))
    }

    /// The variable for an argument of an atom. An argument that is not a variable adds an
    /// assignment to the body.
    pub(super) fn place(
        &mut self,
        arg: &syntax::Expr,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<Option<VarId>, Diagnostic> {
        match arg {
            syntax::Expr::Variable(ident) if ident.text.starts_with('_') => Ok(None),
            syntax::Expr::Variable(ident) => Ok(Some(scope.var(&ident.text))),
            other => {
                let value = self.scoped(other, scope)?;
                let var = scope.fresh();
                body.push(Literal::Assign { var, value, span: other.span() });
                Ok(Some(var))
            }
        }
    }

    pub(super) fn predicate(&mut self, name: &Ident) -> Result<PredicateId, Diagnostic> {
        if let Some(&predicate) = self.by_name.get(&name.text) {
            return Ok(predicate);
        }
        let mut problem = error(format!("no rule `{}`", name.text), name.span);
        let stored = self.catalog.names();
        let mut rules: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
        rules.sort_unstable();
        problem.hint = match closest(&name.text, rules.into_iter()) {
            _ if stored.contains(&name.text) => {
                Some(format!("there is a stored relation of this name: write `*{name}`"))
            }
            Some(near) => Some(format!("did you mean `{near}`?")),
            None => None,
        };
        Err(problem)
    }

    /// Sets the columns of a rule without a head whose number of columns is only known when it has
    /// been computed. The first use determines them.
    pub(super) fn close(&mut self, predicate: PredicateId, columns: usize) {
        let known = &mut self.program.predicates[predicate];
        let is_open = match &known.kind {
            PredicateKind::Fixed(fixed) => !fixed.has_head,
            PredicateKind::Constant(data) => first_row_len(data).is_none(),
            PredicateKind::Inline { .. } => false,
        };
        if is_open && known.columns.is_empty() {
            known.columns = (0..columns).map(|i| format!("_{i}")).collect();
        }
    }

    pub(super) fn stored(
        &mut self,
        name: &Ident,
        index: Option<&Ident>,
    ) -> Result<StoredId, Diagnostic> {
        let full = match index {
            Some(index) => format!("{}:{}", name.text, index.text),
            None => name.text.clone(),
        };
        let is_same = |(_, known): &(StoredId, &StoredUse)| known.name == full;
        if let Some((known, _)) = self.program.stored.enumerate().find(is_same) {
            return Ok(known);
        }
        let found = self.catalog.relation(&full).map_err(|why| error(why, name.span))?;
        let Some(info) = found else {
            let names = self.catalog.names();
            let hint = match self.by_name.contains_key(&full) {
                true => Some(format!("there is a rule of this name: write `{full}[…]`")),
                false => closest(&full, names.iter().map(String::as_str))
                    .map(|near| format!("did you mean `{near}`?")),
            };
            let mut problem = error(format!("no relation `{full}`"), name.span);
            problem.hint = hint;
            return Err(problem);
        };
        self.program.stored.push(StoredUse { handle: info.handle, name: full });
        Ok(self.infos.push(info))
    }

    /// Assigns arguments to columns.
    pub(super) fn columns_of<'e>(
        &self,
        stored: StoredId,
        name: &Ident,
        args: &'e Args,
        span: Span,
    ) -> Result<Vec<(usize, &'e syntax::Expr)>, Diagnostic> {
        let columns = &self.infos[stored].columns;
        match args {
            Args::Positional(args) => {
                if args.len() != columns.len() {
                    let message = format!(
                        "relation `{}` has {}, {} given here",
                        name.text,
                        columns_text(columns.len()),
                        were(args.len())
                    );
                    let hint = format!("name the columns that you want: *{name}{{…}}");
                    return Err(Diagnostic { message, span, hint: Some(hint) });
                }
                Ok(args.iter().enumerate().collect())
            }
            Args::Named(args) => {
                let mut found: Vec<(usize, &syntax::Expr)> = Vec::new();
                for (column, arg) in args {
                    let place = columns.iter().position(|known| known.name == column.text);
                    let Some(place) = place else {
                        let names = || columns.iter().map(|column| column.name.as_str());
                        let hint = match closest(&column.text, names()) {
                            Some(near) => format!("did you mean `{near}`?"),
                            None => format!(
                                "its columns are {}",
                                names().collect::<Vec<_>>().join(", ")
                            ),
                        };
                        let message =
                            format!("relation `{}` has no column `{}`", name.text, column.text);
                        return Err(Diagnostic { message, span: column.span, hint: Some(hint) });
                    };
                    if found.iter().any(|(known, _)| *known == place) {
                        let message = format!("column `{}` is given twice", column.text);
                        return Err(error(message, column.span));
                    }
                    found.push((place, arg));
                }
                Ok(found)
            }
        }
    }

    /// For an index that is read with `@`: its relation, and the relation's positions of the index
    /// columns. Such a read needs the newest version of each key, and the versions of a key are not
    /// adjacent in an index. So the relation is read instead, by the best access path.
    pub(super) fn behind(
        &mut self,
        index: StoredId,
        name: &Ident,
    ) -> Result<(StoredId, Vec<usize>), Diagnostic> {
        let relation = self.stored(name, None)?;
        let place = |column: &ColumnInfo| {
            let columns = &mut self.infos[relation].columns.iter();
            columns.position(|known| known.name == column.name)
        };
        let columns: Option<Vec<usize>> = self.infos[index].columns.iter().map(place).collect();
        match columns {
            Some(columns) => Ok((relation, columns)),
            None => Err(error(format!("`@` is asked of `{}` itself", name.text), name.span)),
        }
    }

    pub(super) fn check_at(
        &self,
        stored: StoredId,
        name: &Ident,
        asked: bool,
        span: Span,
    ) -> Result<(), Diagnostic> {
        if asked && !self.infos[stored].is_historical {
            let message =
                format!("relation `{}` keeps no history, so `@` cannot be asked", name.text);
            let hint = "the last key column of a relation with history is of type Validity";
            return Err(Diagnostic { message, span, hint: Some(hint.to_owned()) });
        }
        Ok(())
    }

    pub(super) fn keep<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|problem| self.errors.push(problem)).ok()
    }
}

pub(super) fn first_row_len(data: &Expr) -> Option<usize> {
    Some(data.list_items()?.first()?.list_items()?.len())
}
