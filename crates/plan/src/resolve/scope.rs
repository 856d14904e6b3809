//! Variables of a rule while its body is resolved, and negated atoms that come after all others.

use crate::ids::{PerVar, StoredId, VarId};
use crate::ir::Literal;
use hashbrown::HashMap;
use syntax::Span;

/// Variables of a rule.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) names: PerVar<String>,
    pub(super) by_name: HashMap<String, VarId>,
    /// Variables of dictionary ids, by names relation and string variable.
    pub(super) numbers: HashMap<(StoredId, VarId), VarId>,
    /// If the order of rows matters: the variables in the columns of the body's atoms, in written
    /// order.
    pub(super) rows: Option<Vec<VarId>>,
    /// Negated atoms over dictionary-encoded columns. They are added to the body after all others.
    pub(super) negated: Vec<SpelledAtom>,
}

impl Scope {
    pub(super) fn var(&mut self, name: &str) -> VarId {
        if let Some(&var) = self.by_name.get(name) {
            return var;
        }
        let var = self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), var);
        var
    }

    pub(super) fn fresh(&mut self) -> VarId {
        self.names.fresh()
    }

    /// Records an atom's columns if the order of rows matters, including those that are not used
    /// otherwise.
    pub(super) fn note_row(&mut self, args: &mut [Option<VarId>]) {
        if self.rows.is_none() {
            return;
        }
        for arg in args.iter_mut() {
            let var = arg.unwrap_or_else(|| self.fresh());
            *arg = Some(var);
            let rows = self.rows.get_or_insert_default();
            if !rows.contains(&var) {
                rows.push(var);
            }
        }
    }
}

/// An atom over an encoded relation whose arguments are still strings.
pub(super) struct SpelledAtom {
    pub(super) stored: StoredId,
    /// The relation `{id => string}`, as an index into [`Program::stored`](crate::Program::stored).
    pub(super) names: StoredId,
    /// The encoded columns.
    pub(super) columns: Vec<usize>,
    pub(super) args: Vec<Option<VarId>>,
    pub(super) span: Span,
}

/// Renames repeated variables of a positive atom, except for the first occurrence. Negated atoms
/// only compare, so they may repeat variables.
pub(super) fn distinct_places(
    args: &mut [Option<VarId>],
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
