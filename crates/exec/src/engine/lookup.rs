//! Queries that are one look at a stored relation: the row of a key, or the rows whose keys begin with what is known.
//!
//! # Why
//! The store answers such a query in a microsecond or less. Tables, batches of bindings and a sink for its rows would take several times as long;
//! here its rows go from the store to the result.
//!
//! # Invariants
//! 1. The rows are those that the plan's steps find, each once: the head has every key column that is not known.
//! 2. Few rows are read. Where there are more, the plan's steps begin anew: they look at the clock and at the memory that they hold.

use crate::cell::{Cell, Interner};
use crate::error::Result;
use crate::query::Relation;
use crate::stored::{Columns, SHORT_ROWS, StoredPath};
use crate::stored_keys::as_kind_of;
use crate::watch::Watch;
use plan::{Expr, Plan, Planned, PredicateKind, Step};
use store::Read;

/// A plan that is one look.
pub(super) struct Lookup<'p> {
    path: &'p StoredPath,
    /// Columns of the key that are known.
    known: Vec<Known<'p>>,
    /// Columns of the relation that are read.
    wanted: Vec<usize>,
    /// What stands in each column of the head.
    head: Vec<Place>,
}

/// A column of the key whose value is known.
struct Known<'p> {
    value: &'p Expr,
    /// The column's type, where numbers are looked for as its kind of number.
    of: Option<&'p model::Type>,
}

/// What stands in a column of the head.
#[derive(Clone, Copy)]
enum Place {
    /// Entry of what is read.
    Read(usize),
    /// Entry of what is known, as it is given.
    Known(usize),
}

impl<'p> Lookup<'p> {
    /// The look that a plan is; `None` where it is more.
    pub(super) fn of(plan: &'p Plan, relations: &'p [Relation]) -> Option<Self> {
        let program = &plan.program;
        let ([group], [relation]) = (&plan.groups[..], relations) else { return None };
        let ([planned], false) = (&group.rules[..], group.group.is_recursive) else { return None };
        let rule = &program.rules[planned.rule];
        let definition = &program.predicates[rule.predicate];
        let is_inline = matches!(definition.kind, PredicateKind::Inline { .. });
        if rule.predicate != program.entry || !is_inline || definition.is_aggregated() {
            return None;
        }
        let (last, given) = planned.first.as_ref()?.steps.split_last()?;
        let Step::Stored {
            stored,
            path: number,
            prefix,
            range: None,
            checks,
            known: said,
            outputs,
            at: None,
            negated: false,
        } = &last.step
        else {
            return None;
        };
        let Relation::Stored(relation) = relation else { return None };
        let path = relation.paths.get(*number)?;
        // Every step but the last says a value of the key, so that nothing else can fail or keep a row out.
        let says_key = |step: &Planned| prefix.iter().any(|&var| value_of(step, var).is_some());
        let wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        if prefix.is_empty()
            || !checks.is_empty()
            || !given.iter().all(says_key)
            || !path.covers(&wanted)
        {
            return None;
        }
        let info = &plan.infos[*stored];
        let mut known = Vec::with_capacity(prefix.len());
        for (column, var) in path.columns.iter().zip(prefix) {
            let of = said.contains(var).then(|| &info.columns[*column].column_type);
            let value = given.iter().find_map(|step| value_of(step, *var))?;
            known.push(Known { value, of });
        }
        let place = |var: &usize| {
            let read = outputs.iter().position(|(_, output)| output == var).map(Place::Read);
            read.or_else(|| prefix.iter().position(|known| known == var).map(Place::Known))
        };
        let head: Vec<Place> = rule.head.iter().map(place).collect::<Option<_>>()?;
        let keys = path.columns.get(prefix.len()..path.schema.keys.len())?;
        let tells_apart = |column: &usize| {
            head.iter().any(|place| matches!(place, Place::Read(i) if wanted[*i] == *column))
        };
        keys.iter().all(tells_apart).then_some(Self { path, known, wanted, head })
    }

    /// The rows, or the first `enough` of them; `None` where there are too many to be read at once.
    ///
    /// # Errors
    /// Those of the store; what stops the query.
    pub(super) fn rows(
        &self,
        read: &dyn Read,
        interner: &Interner,
        parameters: &[Cell],
        enough: usize,
        watch: &Watch<'_>,
    ) -> Result<Option<Columns>> {
        watch.check(0)?;
        let given: Vec<Cell> =
            self.known.iter().map(|known| known.cell(parameters, interner)).collect();
        let mut sought = given.clone();
        for (cell, known) in sought.iter_mut().zip(&self.known) {
            if let Some(of) = known.of {
                *cell = as_kind_of(of, &[*cell], interner)[0];
            }
        }
        let rows_max = enough.min(SHORT_ROWS);
        let found = self.path.few(read, &sought, &self.wanted, rows_max, interner)?;
        if found.rows == SHORT_ROWS && enough > SHORT_ROWS {
            return Ok(None);
        }
        watch.check(interner.bytes())?;
        let Columns { rows, columns } = found;
        let column = |place: &Place| match *place {
            Place::Read(i) => columns[i].clone(),
            Place::Known(i) => vec![given[i]; rows],
        };
        Ok(Some(Columns { rows, columns: self.head.iter().map(column).collect() }))
    }
}

impl Known<'_> {
    fn cell(&self, parameters: &[Cell], interner: &Interner) -> Cell {
        match self.value {
            Expr::Param(number) => parameters[*number],
            Expr::Const(value) => interner.cell(value),
            Expr::Var(_) | Expr::Call(..) => unreachable!("only known values are looked for"),
        }
    }
}

/// The value that a step says a variable is, if that is known without computing it.
fn value_of(step: &Planned, var: usize) -> Option<&Expr> {
    match &step.step {
        Step::Assign { var: other, value, compare: false } if *other == var => {
            matches!(value, Expr::Const(_) | Expr::Param(_)).then_some(value)
        }
        _ => None,
    }
}
