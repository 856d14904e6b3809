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
mod message;
mod resolver;
mod scope;
mod search;
mod spelled;

pub(crate) use expression::call;
pub use expression::{resolve_expression, resolve_over};

use crate::catalog::{Catalog, RelationInfo};
use crate::ids::{Id, PerPredicate, PerStored, PredicateId, VarId};
use crate::ir::{PredicateKind, Program, Rule};
use flatten::flatten;
use hashbrown::HashMap;
use resolver::Resolver;
use scope::Scope;
use syntax::{Atom, Diagnostic, HeadItem, Span, closest};

/// Resolves the rules of a query. Also returns the stored relations that they read.
///
/// # Errors
/// All errors in names and numbers of columns.
pub fn resolve(
    query: &syntax::Query,
    catalog: &dyn Catalog,
) -> Result<(Program, PerStored<RelationInfo>), Vec<Diagnostic>> {
    let mut resolver = Resolver {
        catalog,
        program: Program {
            predicates: PerPredicate::default(),
            rules: Vec::new(),
            stored: PerStored::default(),
            entry: PredicateId::new(0),
            parameters: Vec::new(),
        },
        infos: PerStored::default(),
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
        predicate: PredicateId,
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
        let head: Vec<VarId> = head
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
}
