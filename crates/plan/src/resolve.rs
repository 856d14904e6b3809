//! Resolves names: turns a syntax tree into a [`Program`].
//!
//! # How bodies are flattened
//! Negations move inwards and disjunctions outwards until each rule is a list of literals; a rule
//! with `or` becomes several rules with the same head. An argument of an atom that is not a
//! variable is replaced by a generated variable and an assignment, so that later passes see only
//! variables.

mod declare;
mod expression;
mod flatten;
mod in_order;
mod input;
mod literal;
mod search;
mod spelled;

pub(crate) use expression::call;
pub use expression::{resolve_expression, resolve_over};

use crate::catalog::{Catalog, ColumnInfo, RelationInfo};
use crate::ir::{Expr, PredicateKind, Program, Rule, StoredUse, Var};
use expression::expression;
use flatten::flatten;
use hashbrown::HashMap;
use spelled::SpelledAtom;
use syntax::{Args, Atom, Diagnostic, HeadItem, Ident, Span, closest};

/// Resolves the rules of a query. Also returns the stored relations that they read.
///
/// # Errors
/// All errors in names and numbers of columns.
pub fn resolve(
    query: &syntax::Query,
    catalog: &dyn Catalog,
) -> Result<(Program, Vec<RelationInfo>), Vec<Diagnostic>> {
    let mut resolver = Resolver {
        catalog,
        program: Program {
            predicates: Vec::new(),
            rules: Vec::new(),
            stored: Vec::new(),
            entry: 0,
            parameters: Vec::new(),
        },
        infos: Vec::new(),
        by_name: HashMap::new(),
        errors: Vec::new(),
    };
    resolver.declare(query);
    if resolver.errors.is_empty() {
        query.rules.iter().for_each(|rule| resolver.define(rule));
    }
    match resolver.errors.is_empty() {
        true => Ok((resolver.program, resolver.infos)),
        false => Err(resolver.errors),
    }
}

struct Resolver<'a> {
    catalog: &'a dyn Catalog,
    program: Program,
    infos: Vec<RelationInfo>,
    by_name: HashMap<String, usize>,
    errors: Vec<Diagnostic>,
}

impl Resolver<'_> {
    fn define(&mut self, rule: &syntax::Rule) {
        match rule {
            syntax::Rule::Constant { .. } => {}
            syntax::Rule::Fixed { name, inputs, .. } => {
                let inputs: Vec<_> = inputs.iter().map(|input| self.input(input)).collect();
                let inputs: Vec<_> =
                    inputs.into_iter().filter_map(|input| self.keep(input)).collect();
                let predicate = self.by_name[&name.text];
                if let PredicateKind::Fixed(fixed) = &mut self.program.predicates[predicate].kind {
                    fixed.inputs = inputs;
                }
            }
            syntax::Rule::Inline { name, head, body, span } => {
                let mut disjuncts = Vec::new();
                if let Err(problem) = flatten(body, false, *span, &mut disjuncts) {
                    self.errors.push(problem);
                    return;
                }
                for atoms in disjuncts {
                    let rule = self.rule(self.by_name[&name.text], head, &atoms, *span);
                    if let Some(rule) = self.keep(rule) {
                        self.program.rules.push(rule);
                    }
                }
            }
        }
    }

    fn rule(
        &mut self,
        predicate: usize,
        head: &[HeadItem],
        atoms: &[(&Atom, bool)],
        span: Span,
    ) -> Result<Rule, Diagnostic> {
        let mut scope = Scope::default();
        let mut body = Vec::new();
        let in_order = self.tells_order(predicate);
        if in_order && self.needs_rows(atoms)? {
            scope.rows = Some(Vec::new());
        }
        for &(atom, negated) in atoms {
            self.literal(atom, negated, &mut scope, &mut body)?;
        }
        self.negated_spelled(&mut scope, &mut body);
        let head: Vec<Var> = head
            .iter()
            .map(|item| match scope.by_name.get(&item.variable.text) {
                Some(&var) => Ok(var),
                None => {
                    let names = scope.by_name.keys();
                    let mut names: Vec<&str> = names.map(String::as_str).collect();
                    names.sort_unstable();
                    let hint = closest(&item.variable.text, names.into_iter());
                    let message = format!(
                        "`{}` in the head is bound by nothing in the body",
                        item.variable.text
                    );
                    let unknown = Diagnostic::unknown(message, item.variable.span, hint);
                    let wildcard = "names that begin with `_` never bind".to_owned();
                    let hint = match item.variable.text.starts_with('_') {
                        true => Some(wildcard),
                        false => unknown.hint.clone(),
                    };
                    Err(Diagnostic { hint, ..unknown })
                }
            })
            .collect::<Result<_, _>>()?;
        if scope.rows.is_some() {
            return Ok(self.over_rows(predicate, &head, scope, body, span));
        }
        if in_order {
            self.read_in_order(&body);
        }
        scope.drop_unread(&head, &mut body);
        Ok(Rule { predicate, head, variables: scope.names, body, span })
    }

    fn scoped(&mut self, expr: &syntax::Expr, scope: &mut Scope) -> Result<Expr, Diagnostic> {
        expression(expr, &mut self.program.parameters, &mut |ident| Ok(scope.var(&ident.text)))
    }

    fn predicate(&mut self, name: &Ident) -> Result<usize, Diagnostic> {
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
    fn close(&mut self, predicate: usize, columns: usize) {
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

    fn stored(&mut self, name: &Ident, index: Option<&Ident>) -> Result<usize, Diagnostic> {
        let full = match index {
            Some(index) => format!("{}:{}", name.text, index.text),
            None => name.text.clone(),
        };
        if let Some(known) = self.program.stored.iter().position(|known| known.name == full) {
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
        self.infos.push(info);
        Ok(self.infos.len() - 1)
    }

    /// Assigns arguments to columns.
    fn columns_of<'e>(
        &self,
        stored: usize,
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
    fn behind(&mut self, index: usize, name: &Ident) -> Result<(usize, Vec<usize>), Diagnostic> {
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

    fn check_at(
        &self,
        stored: usize,
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

    fn keep<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|problem| self.errors.push(problem)).ok()
    }
}

/// An atom over a stored relation, as it is written.
struct StoredAtom<'e> {
    name: &'e Ident,
    /// Name of the index, if one is read.
    index: Option<&'e Ident>,
    args: &'e Args,
    /// Time at which the relation is read.
    at: Option<&'e syntax::Expr>,
    span: Span,
}

/// Variables of a rule.
#[derive(Default)]
struct Scope {
    names: Vec<String>,
    by_name: HashMap<String, Var>,
    /// Variables of dictionary ids, by names relation and string variable.
    numbers: HashMap<(usize, Var), Var>,
    /// If the order of rows matters: the variables in the columns of the body's atoms, in written
    /// order.
    rows: Option<Vec<Var>>,
    /// Negated atoms over dictionary-encoded columns. They are added to the body after all others.
    negated: Vec<SpelledAtom>,
}

impl Scope {
    fn var(&mut self, name: &str) -> Var {
        if let Some(&var) = self.by_name.get(name) {
            return var;
        }
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn fresh(&mut self) -> Var {
        self.names.push(format!("*{}", self.names.len()));
        self.names.len() - 1
    }
}

fn first_row_len(data: &Expr) -> Option<usize> {
    Some(data.list_items()?.first()?.list_items()?.len())
}

fn error(message: String, span: Span) -> Diagnostic {
    Diagnostic { message, span, hint: None }
}

fn columns_text(columns: usize) -> String {
    count_text(columns, "column")
}

fn count_text(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn were(n: usize) -> String {
    format!("{n} {}", if n == 1 { "is" } else { "are" })
}
