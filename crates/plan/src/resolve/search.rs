//! Turns search atoms into literals.

use super::expression::expression;
use super::message::error;
use super::resolver::Resolver;
use super::scope::Scope;
use crate::ids::VarId;
use crate::ir::{self, Literal, SearchUse};
use crate::search::{SearchInput, SearchMethod, SearchParameter};
use hashbrown::HashMap;
use syntax::{Args, Diagnostic, Expr, Ident, Span, closest};

/// A search atom, as it is written.
pub(super) struct SearchAtom<'e> {
    pub(super) name: &'e Ident,
    pub(super) index: &'e Ident,
    pub(super) args: &'e [(Ident, Expr)],
    pub(super) parameters: &'e [(Ident, Expr)],
    pub(super) span: Span,
}

impl Resolver<'_> {
    /// Appends the literals of a search atom. The search binds variables of its own, which are then
    /// compared with those of the atom, so that it need not know what is bound before it.
    pub(super) fn search_literal(
        &mut self,
        atom: &SearchAtom<'_>,
        scope: &mut Scope,
        body: &mut Vec<Literal>,
    ) -> Result<(), Diagnostic> {
        let &SearchAtom { name, index, args, parameters, span } = atom;
        let relation = self.stored(name, None)?;
        let searched = self.stored(name, Some(index))?;
        let Some(method) = self.infos[searched].search else {
            let message = format!("`{name}:{index}` is not a search index");
            let hint = Some(format!("its rows are read as `*{name}:{index}{{…}}`"));
            return Err(Diagnostic { message, span: index.span, hint });
        };
        let args = Args::Named(args.to_vec());
        let (mut columns, mut same) = (Vec::new(), Vec::new());
        let mut own: HashMap<String, VarId> = HashMap::new();
        for (column, arg) in self.columns_of(relation, name, &args, span)? {
            let Some(var) = self.place(arg, scope, body)? else { continue };
            let bound = scope.fresh();
            columns.push((column, bound));
            same.push(Literal::Same(var, bound));
            if let Expr::Variable(ident) = arg {
                own.entry(ident.text.clone()).or_insert(bound);
            }
        }
        let (mut inputs, mut computed, mut filter) = (Vec::new(), Vec::new(), None);
        for (place, (parameter, value)) in parameters.iter().enumerate() {
            if parameters[..place].iter().any(|(other, _)| other.text == parameter.text) {
                let message = format!("`{parameter}` is given twice");
                return Err(error(message, parameter.span));
            }
            match parameter_of(method, parameter)? {
                SearchParameter::Input(of) => {
                    inputs.push((of, self.scoped(value, scope)?, value.span()));
                }
                SearchParameter::Output(of) => {
                    let Expr::Variable(ident) = value else {
                        let message = format!("`{parameter}` binds a variable");
                        return Err(error(message, value.span()));
                    };
                    let Some(var) = self.place(value, scope, body)? else { continue };
                    let bound = scope.fresh();
                    computed.push((of, bound));
                    same.push(Literal::Same(var, bound));
                    own.entry(ident.text.clone()).or_insert(bound);
                }
                SearchParameter::Filter => filter = Some(value),
            }
        }
        check_needed(atom, method, &|needed| inputs.iter().any(|(of, ..)| *of == needed))?;
        let filter = filter.map(|filter| self.search_filter(filter, &own, scope)).transpose()?;
        let search =
            SearchUse { relation, index: searched, inputs, columns, computed, filter, span };
        body.push(Literal::Search(Box::new(search)));
        body.append(&mut same);
        Ok(())
    }

    /// The filter runs inside of the search, on the variables that the search binds (`own`).
    fn search_filter(
        &mut self,
        filter: &Expr,
        own: &HashMap<String, VarId>,
        scope: &mut Scope,
    ) -> Result<(ir::Expr, Span), Diagnostic> {
        let resolved = expression(filter, &mut self.program.parameters, &mut |ident| {
            Ok(own.get(&ident.text).copied().unwrap_or_else(|| scope.var(&ident.text)))
        })?;
        Ok((resolved, filter.span()))
    }
}

fn parameter_of(method: SearchMethod, parameter: &Ident) -> Result<SearchParameter, Diagnostic> {
    let known = method.parameters();
    let found = known.iter().find(|(name, _)| *name == parameter.text);
    found.map(|(_, parameter)| *parameter).ok_or_else(|| {
        let names = || known.iter().map(|(name, _)| *name);
        let hint = match closest(&parameter.text, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("a search has no parameter `{parameter}`");
        Diagnostic { message, span: parameter.span, hint: Some(hint) }
    })
}

/// Fails where an atom lacks an input that the method needs.
fn check_needed(
    atom: &SearchAtom<'_>,
    method: SearchMethod,
    is_given: &dyn Fn(SearchInput) -> bool,
) -> Result<(), Diagnostic> {
    let &SearchAtom { name, index, span, .. } = atom;
    match method.needed().iter().find(|(_, input)| !is_given(*input)) {
        None => Ok(()),
        Some((needed, _)) => {
            let message = format!("the search lacks the parameter `{needed}`");
            let hint = format!("write ~{name}:{index}{{… | {needed}: …}}");
            Err(Diagnostic { message, span, hint: Some(hint) })
        }
    }
}
