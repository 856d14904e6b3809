//! Resolves names: turns a syntax tree into a [`Program`].
//!
//! # How bodies are flattened
//! Negations move inwards and disjunctions outwards until each rule is a list of literals; a rule
//! with `or` becomes several rules with the same head. An argument of an atom that is not a
//! variable is replaced by a generated variable and an assignment, so that later passes see only
//! variables.

mod expression;
mod flatten;
mod in_order;
mod spelled;

pub(crate) use expression::call;
pub use expression::{resolve_expression, resolve_over};

use crate::catalog::{Catalog, ColumnInfo, RelationInfo};
use crate::ir::{
    AggregateUse, Expr, FixedInput, FixedUse, Literal, Predicate, PredicateKind, Program, Rule,
    Source, StoredUse, Var,
};
use expression::{expression, note_parameters};
use flatten::flatten;
use hashbrown::HashMap;
use model::Value;
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
    /// Creates the predicates first, so that rules can refer to them in any order.
    fn declare(&mut self, query: &syntax::Query) {
        for rule in &query.rules {
            let (name, columns, kind, span) = match rule {
                syntax::Rule::Inline { name, head, span, .. } => {
                    let columns: Vec<String> = head.iter().map(column_name).collect();
                    let mut aggregates = Vec::new();
                    for item in head {
                        let found = self.aggregate(item);
                        aggregates.push(self.keep(found).flatten());
                    }
                    (name, columns, PredicateKind::Inline { aggregates }, *span)
                }
                syntax::Rule::Constant { name, head, data, span } => {
                    let named = parameter_names(data);
                    let data = resolve_expression(data, &mut self.program.parameters);
                    let Some(data) = self.keep(data) else { continue };
                    let columns: Vec<String> =
                        head.iter().map(|ident| ident.text.clone()).collect();
                    let columns = match (columns.is_empty(), named, first_row_len(&data)) {
                        (true, Some(named), _) => named,
                        (true, None, Some(len)) => (0..len).map(|i| format!("_{i}")).collect(),
                        _ => columns,
                    };
                    (name, columns, PredicateKind::Constant(data), *span)
                }
                syntax::Rule::Fixed { name, head, algorithm, options, span, .. } => {
                    let arity = self.catalog.algorithm(algorithm, options);
                    let arity = self.keep(arity).flatten();
                    for (_, value) in options {
                        note_parameters(value, &mut self.program.parameters);
                    }
                    let fixed = FixedUse {
                        name: algorithm.text.clone(),
                        span: algorithm.span,
                        inputs: Vec::new(),
                        options: options
                            .iter()
                            .map(|(name, value)| (name.text.clone(), value.clone()))
                            .collect(),
                        has_head: !head.is_empty(),
                    };
                    let columns: Vec<String> = match (head.as_slice(), arity) {
                        ([], Some(arity)) => (0..arity).map(|i| format!("_{i}")).collect(),
                        _ => head.iter().map(|ident| ident.text.clone()).collect(),
                    };
                    if let Some(arity) = arity
                        && arity != columns.len()
                    {
                        let message = format!(
                            "{} gives {}, rule `{}` names {}",
                            algorithm.text,
                            columns_text(arity),
                            name.text,
                            columns.len()
                        );
                        self.errors.push(error(message, algorithm.span));
                    }
                    (name, columns, PredicateKind::Fixed(fixed), *span)
                }
            };
            self.declare_one(name, columns, kind, span);
        }
        match self.by_name.get("?") {
            Some(&entry) => self.program.entry = entry,
            // The entry rule exists, but has an error that was already reported.
            None if query.rules.iter().any(|rule| rule.name().text == "?") => {}
            None => self.errors.push(Diagnostic {
                message: "the query has no entry rule".to_owned(),
                span: query.span,
                hint: Some("name the rule whose rows are the result `?`: ?[a] := …".to_owned()),
            }),
        }
    }

    fn declare_one(&mut self, name: &Ident, columns: Vec<String>, kind: PredicateKind, span: Span) {
        let Some(&place) = self.by_name.get(&name.text) else {
            self.by_name.insert(name.text.clone(), self.program.predicates.len());
            let name = name.text.clone();
            self.program.predicates.push(Predicate {
                name,
                columns,
                kind,
                span,
                is_magic_set: false,
                is_sorted: false,
            });
            return;
        };
        let known = &self.program.predicates[place];
        let (message, hint) = match (&known.kind, &kind) {
            (
                PredicateKind::Inline { aggregates },
                PredicateKind::Inline { aggregates: others },
            ) => {
                if known.columns.len() != columns.len() {
                    let message = format!(
                        "rule `{}` has {} here and {} in its first definition",
                        name.text,
                        columns_text(columns.len()),
                        known.columns.len()
                    );
                    (message, "all definitions of a rule have the same columns")
                } else if !aggregates.iter().zip(others).all(|(a, b)| same_aggregate(a, b)) {
                    let message = format!(
                        "rule `{}` has other aggregates in its first definition",
                        name.text
                    );
                    (message, "all definitions of a rule have the same aggregates")
                } else {
                    // The last definition names the columns of the result, as in CozoDB.
                    self.program.predicates[place].columns = columns;
                    return;
                }
            }
            _ => (
                format!("rule `{}` is defined twice", name.text),
                "only inline rules (`:=`) may have several definitions",
            ),
        };
        self.errors.push(Diagnostic { message, span: name.span, hint: Some(hint.to_owned()) });
    }

    fn aggregate(&mut self, item: &HeadItem) -> Result<Option<AggregateUse>, Diagnostic> {
        let Some((name, args)) = &item.aggregate else { return Ok(None) };
        let own = self.catalog.aggregate(&name.text);
        let built_in = function::aggregate(&name.text);
        let Some(aggregate) = built_in.or(own.as_ref().map(|_| &function::OWN)) else {
            let owned = self.catalog.aggregates();
            let names = function::aggregates().iter().map(|known| known.name);
            let hint = closest(&name.text, names.chain(owned.iter().map(String::as_str)));
            return Err(Diagnostic::unknown(
                format!("no aggregate `{}`", name.text),
                name.span,
                hint,
            ));
        };
        let args_max = own.as_ref().map_or(aggregate.args_max, |own| own.args_max);
        if args.len() > args_max {
            let most = match args_max {
                0 => "no arguments".to_owned(),
                most => format!("at most {}", count_text(most, "argument")),
            };
            let message = format!(
                "aggregate `{}` takes {most} besides its variable, it is given {}",
                name.text,
                args.len()
            );
            return Err(error(message, item.span));
        }
        let parameters = &mut self.program.parameters;
        let args = args.iter().map(|arg| resolve_expression(arg, parameters));
        let args = args.collect::<Result<_, _>>()?;
        Ok(Some(AggregateUse { aggregate, own, args, span: item.span }))
    }

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

    fn literal(
        &mut self,
        atom: &Atom,
        negated: bool,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<(), Diagnostic> {
        match atom {
            Atom::Rule { name, args, span } => {
                let predicate = self.predicate(name)?;
                self.close(predicate, args.len());
                let known = &self.program.predicates[predicate];
                if known.columns.len() != args.len() {
                    let message = format!(
                        "rule `{}` has {}, {} given here",
                        name.text,
                        columns_text(known.columns.len()),
                        were(args.len())
                    );
                    return Err(error(message, *span));
                }
                let args = args.iter().map(|arg| self.place(arg, scope, body));
                let mut args: Vec<_> = args.collect::<Result<_, _>>()?;
                if !negated {
                    scope.note_row(&mut args);
                }
                distinct_places(&mut args, negated, scope, body);
                let source = Source::Derived(predicate);
                body.push(Literal::Atom { source, args, negated, at: None, span: *span });
            }
            Atom::Stored { name, index, args, at, span } => {
                let mut stored = self.stored(name, index.as_ref())?;
                let mut places = self.columns_of(stored, name, args, *span)?;
                if index.is_some() && at.is_some() {
                    let columns;
                    (stored, columns) = self.behind(stored, name)?;
                    places.iter_mut().for_each(|(column, _)| *column = columns[*column]);
                }
                let mut vars = vec![None; self.infos[stored].columns.len()];
                for (column, arg) in places {
                    vars[column] = self.place(arg, scope, body)?;
                }
                let at = at.as_ref().map(|at| self.scoped(at, scope)).transpose()?;
                self.check_at(stored, name, at.is_some(), *span)?;
                if !negated {
                    scope.note_row(&mut vars);
                }
                if let Some(atom) = self.spelled(stored, &vars, *span)? {
                    match negated {
                        true => scope.negated.push(atom),
                        false => atom.push(scope, body),
                    }
                    return Ok(());
                }
                distinct_places(&mut vars, negated, scope, body);
                let source = Source::Stored(stored);
                body.push(Literal::Atom { source, args: vars, negated, at, span: *span });
            }
            Atom::Search { span, .. } => return Err(not_yet_searched(*span)),
            Atom::Condition(expr) => {
                let condition = self.scoped(expr, scope)?;
                body.push(Literal::Condition(match negated {
                    true => call("negate", vec![condition], expr.span()),
                    false => condition,
                }));
            }
            Atom::Unify { variable, value } => {
                let span = variable.span;
                let value = self.scoped(value, scope)?;
                if variable.text.starts_with('_') {
                    return Ok(());
                }
                let var = scope.var(&variable.text);
                body.push(match negated {
                    true => Literal::Condition(other_than(var, value, span)),
                    false => Literal::Assign { var, value, span },
                });
            }
            Atom::Member { variable, list } => {
                let span = variable.span;
                let list = self.scoped(list, scope)?;
                let var = match variable.text.starts_with('_') {
                    true => scope.fresh(),
                    false => scope.var(&variable.text),
                };
                body.push(match negated {
                    true => {
                        let is_in = call("is_in", vec![Expr::Var(var), list], span);
                        Literal::Condition(call("negate", vec![is_in], span))
                    }
                    false => Literal::Member { var, list, span },
                });
            }
        }
        Ok(())
    }

    /// The variable for an argument of an atom. An argument that is not a variable adds an
    /// assignment to the body.
    fn place(
        &mut self,
        arg: &syntax::Expr,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<Option<Var>, Diagnostic> {
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

    fn input(&mut self, atom: &Atom) -> Result<FixedInput, Diagnostic> {
        let name_of = |arg: &syntax::Expr| match arg {
            syntax::Expr::Variable(ident) if !ident.text.starts_with('_') => Ok(ident.text.clone()),
            syntax::Expr::Variable(_) => Ok(String::new()),
            other => Err(error("only plain names stand in an input".to_owned(), other.span())),
        };
        match atom {
            Atom::Rule { name, args, span } => {
                let predicate = self.predicate(name)?;
                let known = self.program.predicates[predicate].columns.len();
                let mut names = args.iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
                // If the number of columns is only known when the rule has been computed, names are
                // checked then.
                if known > 0 {
                    names = padded(names, known).map_err(|given| {
                        let what = (columns_text(known), were(given));
                        let message =
                            format!("rule `{}` has {}, {} given here", name.text, what.0, what.1);
                        error(message, *span)
                    })?;
                }
                let columns = (0..known).collect();
                let source = Source::Derived(predicate);
                Ok(FixedInput { source, columns, names, at: None, span: *span })
            }
            Atom::Stored { name, index, args, at, span } => {
                let mut stored = self.stored(name, index.as_ref())?;
                let known = self.infos[stored].columns.len();
                let (mut columns, names): (Vec<usize>, Vec<String>) = match args {
                    Args::Positional(args) if args.len() <= known => {
                        let names = args.iter().map(name_of).collect::<Result<Vec<_>, _>>()?;
                        ((0..known).collect(), padded(names, known).unwrap_or_default())
                    }
                    args => {
                        let places = self.columns_of(stored, name, args, *span)?;
                        let names = places.iter().map(|(_, arg)| name_of(arg));
                        let names = names.collect::<Result<Vec<_>, _>>()?;
                        (places.iter().map(|(column, _)| *column).collect(), names)
                    }
                };
                if columns.is_empty() {
                    // Empty braces mean all columns, as empty brackets do.
                    columns = (0..known).collect();
                }
                if index.is_some() && at.is_some() {
                    let in_relation;
                    (stored, in_relation) = self.behind(stored, name)?;
                    columns.iter_mut().for_each(|column| *column = in_relation[*column]);
                }
                let at = at
                    .as_ref()
                    .map(|at| resolve_expression(at, &mut self.program.parameters))
                    .transpose()?;
                self.check_at(stored, name, at.is_some(), *span)?;
                let source = match self.spelled(stored, &[], *span)? {
                    Some(atom) => Source::Derived(self.spelled_rows(&atom)),
                    None => Source::Stored(stored),
                };
                Ok(FixedInput { source, columns, names, at, span: *span })
            }
            Atom::Search { span, .. } => Err(not_yet_searched(*span)),
            Atom::Condition(expr) => Err(error("an input is a relation".to_owned(), expr.span())),
            Atom::Unify { variable, .. } | Atom::Member { variable, .. } => {
                Err(error("an input is a relation".to_owned(), variable.span))
            }
        }
    }

    fn keep<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|problem| self.errors.push(problem)).ok()
    }
}

/// Pads the names of an input's columns with wildcards to `known` columns. An empty list stays
/// empty: then the columns keep their own names.
///
/// # Errors
/// The number of names, if there are more than columns.
fn padded(mut names: Vec<String>, known: usize) -> Result<Vec<String>, usize> {
    if names.len() > known {
        return Err(names.len());
    }
    if !names.is_empty() {
        names.resize(known, String::new());
    }
    Ok(names)
}

/// The negation of `var = value`. Like `=` it compares by identity, so `1` and `1.0` differ.
fn other_than(var: Var, value: Expr, span: Span) -> Expr {
    let is_number = |value: &Value| matches!(value, Value::Int(_) | Value::Id(_) | Value::Float(_));
    if let Expr::Const(said) = &value
        && !is_number(said)
    {
        // Only for numbers does `==` differ from identity.
        return call("neq", vec![Expr::Var(var), value], span);
    }
    let same = call("is_in", vec![Expr::Var(var), call("list", vec![value], span)], span);
    call("negate", vec![same], span)
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

/// Renames repeated variables of a positive atom, except for the first occurrence. Negated atoms
/// only compare, so they may repeat variables.
fn distinct_places(
    args: &mut [Option<Var>],
    negated: bool,
    scope: &mut Scope,
    body: &mut Vec<Literal>,
) {
    if negated {
        return;
    }
    for place in 1..args.len() {
        let (before, rest) = args.split_at_mut(place);
        let Some(var) = rest[0] else { continue };
        if before.contains(&Some(var)) {
            let other = scope.fresh();
            rest[0] = Some(other);
            body.push(Literal::Same(var, other));
        }
    }
}

fn column_name(item: &HeadItem) -> String {
    match &item.aggregate {
        Some((aggregate, _)) => format!("{}({})", aggregate.text, item.variable.text),
        None => item.variable.text.clone(),
    }
}

/// Column names of `[[$x, $y]]`: a single row that consists of parameters is named after them.
fn parameter_names(data: &syntax::Expr) -> Option<Vec<String>> {
    let syntax::Expr::List(rows, _) = data else { return None };
    let [syntax::Expr::List(items, _)] = rows.as_slice() else { return None };
    let name = |item: &syntax::Expr| match item {
        syntax::Expr::Parameter(ident) => Some(ident.text.clone()),
        _ => None,
    };
    items.iter().map(name).collect()
}

fn first_row_len(data: &Expr) -> Option<usize> {
    Some(data.list_items()?.first()?.list_items()?.len())
}

fn same_aggregate(a: &Option<AggregateUse>, b: &Option<AggregateUse>) -> bool {
    let name = |one: &Option<AggregateUse>| {
        let own = |one: &AggregateUse| one.own.as_ref().map(|own| own.name.clone());
        one.as_ref().map(|one| (one.aggregate.name, own(one)))
    };
    name(a) == name(b)
}

fn not_yet_searched(span: Span) -> Diagnostic {
    Diagnostic {
        message: "search indexes are not there yet".to_owned(),
        span,
        hint: Some("HNSW, full text and LSH come in a later version".to_owned()),
    }
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
