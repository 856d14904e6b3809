//! Fast path: queries that are one lookup in a stored relation, with expressions over its rows.
//!
//! The session tries it first.
//!
//! # Why
//! The store answers a lookup in a microsecond or less. Tables, batches and a sink would take
//! several times as long. Here the rows go directly from the store to the result.
//!
//! # Invariants
//! 1. The rows are those that the plan's steps find, each once: the head has every key column that
//!    is not bound.
//! 2. Few rows are read. If there are more, the plan's steps start from the beginning; they check
//!    the clock and the memory limit.

use crate::error::Result;
use crate::expr::Computer;
use crate::expr::batch::Bindings;
use crate::operator::row_step::RowStep;
use crate::storage::access_path::{SHORT_ROWS, StoredPath};
use crate::storage::relation_source::Relation;
use crate::value::cell::{Cell, Interner};
use crate::value::columns::Columns;
use plan::{Expr, PerStored, Plan, PlannedStep, PredicateKind, Step, VarId};
use store::Read;

/// A plan that is one lookup.
pub struct PointLookup<'p> {
    path: &'p StoredPath,
    /// Values of the bound key columns.
    known: Vec<&'p Expr>,
    /// Columns of the relation that are read.
    wanted: Vec<usize>,
    /// Assignments and conditions on the found rows.
    then: &'p [PlannedStep],
    /// The variables.
    vars: Vars<'p>,
}

/// Roles of the rule's variables.
struct Vars<'p> {
    /// Variables of the bound key columns, in key order.
    known: &'p [VarId],
    /// Columns that are read, with their variables.
    read: &'p [(usize, VarId)],
    head: &'p [VarId],
    /// Number of variables of the rule.
    number: usize,
}

impl<'p> PointLookup<'p> {
    /// The lookup of a plan; `None` where the plan does more.
    pub fn of(plan: &'p Plan, relations: &'p PerStored<Relation>) -> Option<Self> {
        let program = &plan.program;
        let ([group], 1) = (&plan.groups[..], relations.len()) else { return None };
        let relation = relations.iter().next()?;
        let ([planned], false) = (&group.rules[..], group.group.is_recursive) else { return None };
        let rule = &program.rules[planned.rule];
        let definition = &program.predicates[rule.predicate];
        let is_inline = matches!(definition.kind, PredicateKind::Inline { .. });
        if rule.predicate != program.entry || !is_inline || definition.is_aggregated() {
            return None;
        }
        let steps = &planned.first.as_ref()?.steps;
        let look = steps.iter().position(|step| matches!(step.step, Step::Stored { .. }))?;
        let (given, rest) = steps.split_at(look);
        let (look, then) = rest.split_first()?;
        let Step::Stored {
            path: number,
            prefix,
            range: None,
            own_range: None,
            checks,
            outputs,
            at: None,
            negated: false,
            ..
        } = &look.step
        else {
            return None;
        };
        let Relation::Stored(relation) = relation else { return None };
        let path = relation.paths.get(*number)?;
        // Every step but the last says a value of the key, so that nothing else can fail or keep a
        // row out.
        let says_key = |step: &PlannedStep| prefix.iter().any(|&var| value_of(step, var).is_some());
        let wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        if prefix.is_empty()
            || !checks.is_empty()
            || !given.iter().all(says_key)
            || !then.iter().all(is_of_row)
            || !path.covers(&wanted)
        {
            return None;
        }
        let mut known = Vec::with_capacity(prefix.len());
        for &var in prefix {
            known.push(given.iter().find_map(|step| value_of(step, var))?);
        }
        let keys = path.columns.get(prefix.len()..path.schema.keys.len())?;
        let tells_apart = |column: &usize| {
            outputs.iter().any(|(read, var)| read == column && rule.head.contains(var))
        };
        let number = rule.variables.len();
        let vars = Vars { known: prefix, read: outputs, head: &rule.head, number };
        keys.iter().all(tells_apart).then_some(Self { path, known, wanted, then, vars })
    }

    /// All rows, or at least the first `enough`; `None` if there are too many to be read at once.
    ///
    /// # Errors
    /// Those of the store and of expressions.
    pub fn rows(
        &self,
        read: &dyn Read,
        computer: &Computer<'_>,
        enough: usize,
    ) -> Result<Option<Columns>> {
        // With a condition, the number of rows to read for the few wanted ones is unknown.
        let keeps_all = |step: &PlannedStep| matches!(step.step, Step::Assign { .. });
        if enough <= SHORT_ROWS && !self.then.iter().all(keeps_all) {
            return Ok(None);
        }
        let (interner, parameters) = (computer.interner, computer.parameters);
        let given: Vec<Cell> =
            self.known.iter().map(|value| cell_of(value, parameters, interner)).collect();
        let rows_max = enough.min(SHORT_ROWS);
        let found = self.path.few(read, &given, &self.wanted, rows_max, interner)?;
        let Some(found) = found else { return Ok(None) };
        if found.rows == SHORT_ROWS && enough > SHORT_ROWS {
            return Ok(None);
        }
        self.computed(found, &given, computer).map(Some)
    }

    /// Computes expressions over the rows found, and drops rows that fail a condition.
    fn computed(&self, found: Columns, given: &[Cell], computer: &Computer<'_>) -> Result<Columns> {
        let mut all = Bindings::unit(self.vars.number);
        all.rows = found.rows;
        for (&(_, var), column) in self.vars.read.iter().zip(found.columns) {
            all.columns[var] = column;
        }
        for (&var, &cell) in self.vars.known.iter().zip(given) {
            all.columns[var] = vec![cell; all.rows];
        }
        for planned in self.then {
            if let Some(step) = RowStep::new(planned, computer)? {
                all = step.apply(all, computer)?;
            }
        }
        let columns = self.vars.head.iter().map(|&var| all.columns[var].clone()).collect();
        Ok(Columns { rows: all.rows, columns })
    }
}

fn cell_of(known: &Expr, parameters: &[Cell], interner: &Interner) -> Cell {
    match known {
        Expr::Param(number) => parameters[*number],
        Expr::Const(value) => interner.cell(value),
        Expr::Var(_) | Expr::Call(..) => unreachable!("only known values are looked up"),
    }
}

/// Whether a step computes something of each row, or keeps it or not.
fn is_of_row(step: &PlannedStep) -> bool {
    matches!(step.step, Step::Assign { compare: false, .. } | Step::Filter(_))
}

/// The value that a step says a variable is, if that is known without computing it.
fn value_of(step: &PlannedStep, var: VarId) -> Option<&Expr> {
    match &step.step {
        Step::Assign { var: other, value, compare: false } if *other == var => {
            matches!(value, Expr::Const(_) | Expr::Param(_)).then_some(value)
        }
        _ => None,
    }
}
