//! Fast path: the first rows of a rule of lookups, found depth first, one row at a time.
//!
//! The session tries it for queries with a small limit.
//!
//! # Why
//! Where a few rows are enough, most work on batches is wasted: of paths with four edges, one row
//! in a hundred is used. Here each row that a lookup finds is followed to the end of the rule
//! before the next one.
//!
//! # Invariants
//! 1. The rows are some of those that the plan's steps find, each once. There are fewer than wanted
//!    only if no more exist.
//! 2. It gives up after a number of lookups and rows. Then the plan's steps start from the
//!    beginning.

use crate::error::Result;
use crate::expr::Computer;
use crate::expr::batch::Bindings;
use crate::limits::QueryLimits;
use crate::operator::row_step::{RowStep, is_row_step};
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Relation;
use crate::table::Table;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use plan::{PerStored, Plan, PlannedStep, PredicateKind, Step, VarId};
use store::Read;

/// Lookups after which it gives up.
const LOOKS_MAX: usize = 64;

/// Rows read after which it gives up.
const ROWS_MAX: usize = 1024;

/// Rows of a lookup, at least: this many cost little more than one.
const LOOK_ROWS_MIN: usize = 32;

/// Steps of a body that is followed so: each lookup is a frame of the stack.
const STEPS_MAX: usize = 32;

/// A rule of lookups.
pub struct DepthFirst<'p> {
    /// Steps before the first lookup.
    first: Vec<RowStep<'p>>,
    lookups: Vec<Lookup<'p>>,
    head: &'p [VarId],
    /// Number of variables of the rule.
    variables: usize,
}

/// A lookup of the rows whose keys begin with the bound values, and the steps on each row.
struct Lookup<'p> {
    path: &'p StoredPath,
    /// Variables of the prefix.
    prefix: &'p [VarId],
    /// Columns that are read, and the variables that they bind.
    wanted: Vec<usize>,
    outputs: &'p [(usize, VarId)],
    live: &'p [VarId],
    then: Vec<RowStep<'p>>,
}

/// Whether to continue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    /// Enough rows were found.
    Enough,
    /// The search takes too long.
    GivenUp,
}

/// A search in progress.
struct Traversal<'w> {
    read: &'w dyn Read,
    computer: &'w Computer<'w>,
    limits: &'w QueryLimits<'w>,
    found: Table,
    enough: usize,
    looks_left: usize,
    rows_left: usize,
}

impl<'p> DepthFirst<'p> {
    /// The search that answers a plan; `None` where the plan is not suitable.
    ///
    /// # Errors
    /// A constant expression that fails.
    pub fn of(
        plan: &'p Plan,
        relations: &'p PerStored<Relation>,
        computer: &Computer<'_>,
    ) -> Result<Option<Self>> {
        let program = &plan.program;
        let [group] = &plan.groups[..] else { return Ok(None) };
        let ([planned], false) = (&group.rules[..], group.group.is_recursive) else {
            return Ok(None);
        };
        let rule = &program.rules[planned.rule];
        let definition = &program.predicates[rule.predicate];
        let is_inline = matches!(definition.kind, PredicateKind::Inline { .. });
        if rule.predicate != program.entry || !is_inline || definition.is_aggregated() {
            return Ok(None);
        }
        let Some(body) = &planned.first else { return Ok(None) };
        // The order of steps that starts with the bound variables is the one to follow.
        let body = body.tried.as_ref().map_or(body, |tried| &tried.plan);
        // All steps are checked first, because compiling an expression evaluates its constant
        // parts.
        if body.steps.len() > STEPS_MAX || !body.steps.iter().all(is_followed) {
            return Ok(None);
        }
        let variables = rule.variables.len();
        let mut search =
            Self { first: Vec::new(), lookups: Vec::new(), head: &rule.head, variables };
        for planned in &body.steps {
            if let Some(step) = RowStep::new(planned, computer)? {
                let last = search.lookups.last_mut();
                last.map_or(&mut search.first, |lookup| &mut lookup.then).push(step);
                continue;
            }
            match Lookup::of(planned, relations) {
                Some(lookup) => search.lookups.push(lookup),
                None => return Ok(None),
            }
        }
        Ok(Some(search))
    }

    /// About `enough` rows, or all; `None` if they are not found soon.
    ///
    /// # Errors
    /// Those of the store and of expressions.
    pub fn rows(
        &self,
        read: &dyn Read,
        computer: &Computer<'_>,
        enough: usize,
        limits: &QueryLimits<'_>,
    ) -> Result<Option<Columns>> {
        let mut search = Traversal {
            read,
            computer,
            limits,
            found: Table::set(self.head.len()),
            enough,
            looks_left: LOOKS_MAX,
            rows_left: ROWS_MAX,
        };
        let mut rows = Bindings::unit(self.variables);
        for step in &self.first {
            rows = step.apply(rows, computer)?;
        }
        if self.follow(0, &rows, &mut search)? == Flow::GivenUp {
            return Ok(None);
        }
        let found = search.found;
        Ok(Some(Columns { rows: found.rows(), columns: found.into_sorted_columns() }))
    }

    /// Follows each of some rows from a lookup on.
    fn follow(&self, at: usize, rows: &Bindings, search: &mut Traversal<'_>) -> Result<Flow> {
        for row in 0..rows.rows {
            let flow = match self.lookups.get(at) {
                None => self.arrive(rows, row, search),
                Some(lookup) => self.follow_found(at, lookup, rows, row, search)?,
            };
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Follows the rows that one row finds by a lookup.
    fn follow_found(
        &self,
        at: usize,
        lookup: &Lookup<'_>,
        rows: &Bindings,
        row: usize,
        search: &mut Traversal<'_>,
    ) -> Result<Flow> {
        let Some((found, is_cut)) = lookup.find(rows, row, search)? else {
            return Ok(Flow::GivenUp);
        };
        let flow = match lookup.then.is_empty() {
            true => self.follow(at + 1, &found, search)?,
            false => self.follow_each(at, lookup, &found, search)?,
        };
        // Of a range that is longer, the rest is not followed.
        Ok(if flow == Flow::Next && is_cut { Flow::GivenUp } else { flow })
    }

    /// Evaluates the steps after a lookup on its rows, one by one: an expression may fail for a
    /// row that is not reached.
    fn follow_each(
        &self,
        at: usize,
        lookup: &Lookup<'_>,
        found: &Bindings,
        search: &mut Traversal<'_>,
    ) -> Result<Flow> {
        for row in 0..found.rows {
            let mut rows = found.slice(row..row + 1);
            for step in &lookup.then {
                rows = step.apply(rows, search.computer)?;
            }
            let flow = self.follow(at + 1, &rows, search)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    /// Takes a row that has come to its end.
    fn arrive(&self, rows: &Bindings, row: usize, search: &mut Traversal<'_>) -> Flow {
        let cells = self.head.iter().map(|&var| rows.columns[var].as_slice());
        search.found.insert(&cells.collect::<Vec<&[Cell]>>(), row);
        if search.found.rows() >= search.enough { Flow::Enough } else { Flow::Next }
    }
}

/// Whether a step can be followed: a lookup, or one that reads no relation.
fn is_followed(planned: &PlannedStep) -> bool {
    match &planned.step {
        Step::Stored { range, checks, at, negated, .. } => {
            range.is_none() && checks.is_empty() && at.is_none() && !negated
        }
        step => is_row_step(step),
    }
}

impl<'p> Lookup<'p> {
    /// The lookup that a step is; `None` where its rows are not in one stored order.
    fn of(planned: &'p PlannedStep, relations: &'p PerStored<Relation>) -> Option<Self> {
        let Step::Stored { stored, path, prefix, outputs, .. } = &planned.step else { return None };
        let Relation::Stored(relation) = relations.get(*stored)? else { return None };
        let path = relation.paths.get(*path)?;
        let wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        let then = Vec::new();
        path.covers(&wanted).then_some(Self {
            path,
            prefix,
            wanted,
            outputs,
            live: &planned.live,
            then,
        })
    }

    /// The rows that one row finds, and whether there are more; `None` where it takes too long.
    fn find(
        &self,
        rows: &Bindings,
        row: usize,
        search: &mut Traversal<'_>,
    ) -> Result<Option<(Bindings, bool)>> {
        // Where nothing is read of its rows, one of them says as much as all.
        let rows_max = match self.outputs.is_empty() {
            true => 1,
            false => search.enough.max(LOOK_ROWS_MIN).min(search.rows_left),
        };
        if search.looks_left == 0 || rows_max == 0 {
            return Ok(None);
        }
        let computer = search.computer;
        search.limits.check(computer.interner.bytes())?;
        let sought: Vec<Cell> = self.prefix.iter().map(|&var| rows.columns[var][row]).collect();
        let found =
            self.path.few(search.read, &sought, &self.wanted, rows_max, computer.interner)?;
        // Long rows are read a few at once, which this search does not do.
        let Some(found) = found else { return Ok(None) };
        search.looks_left -= 1;
        search.rows_left = search.rows_left.saturating_sub(found.rows);
        let is_cut = found.rows == rows_max && !self.outputs.is_empty();
        let input = rows.gather(&vec![row as u32; found.rows], self.live);
        let vars = self.outputs.iter().map(|(_, var)| *var);
        Ok(Some((input.binding(vars, found, self.live), is_cut)))
    }
}
