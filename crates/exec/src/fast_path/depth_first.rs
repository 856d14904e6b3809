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
use crate::expr::batch::Rows;
use crate::expr::{Compiled, Computer};
use crate::limits::QueryLimits;
use crate::storage::access_path::StoredPath;
use crate::storage::relation_source::Relation;
use crate::table::Table;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use plan::{Plan, Planned, PredicateKind, Step, Var};
use store::Read;
use syntax::Span;

/// Lookups after which it gives up.
const LOOKS_MAX: usize = 64;

/// Rows read after which it gives up.
const ROWS_MAX: usize = 1024;

/// Least rows of a lookup: this many cost little more than one.
const LOOK_ROWS_MIN: usize = 32;

/// Most steps of a rule: each takes a stack frame.
const STEPS_MAX: usize = 32;

/// A rule of lookups.
pub struct DepthFirst<'p> {
    stages: Vec<Stage<'p>>,
    head: &'p [Var],
    /// Number of variables of the rule.
    variables: usize,
}

/// A step applied to one row.
enum Stage<'p> {
    /// Looks up the rows whose keys start with the bound variables.
    Lookup {
        path: &'p StoredPath,
        /// Variables of the key prefix.
        prefix: &'p [Var],
        /// Columns to read, with the variables that they bind.
        wanted: Vec<usize>,
        outputs: &'p [(usize, Var)],
    },
    Assign {
        var: Var,
        value: Compiled,
        compare: bool,
    },
    Filter(Compiled, Span),
    Same {
        a: Var,
        b: Var,
        compare: bool,
    },
}

/// The values of the variables in the current row.
struct Bound(Vec<Cell>);

impl Rows for Bound {
    #[inline]
    fn cell(&self, var: usize, _: usize) -> Cell {
        self.0[var]
    }
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
    bound: Bound,
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
        relations: &'p [Relation],
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
        if body.steps.len() > STEPS_MAX {
            return Ok(None);
        }
        // All steps are checked first: compiling an expression evaluates its constant parts.
        let is_walked = |planned: &Planned| match &planned.step {
            Step::Stored { range, checks, at, negated, .. } => {
                range.is_none() && checks.is_empty() && at.is_none() && !negated
            }
            Step::Assign { .. } | Step::Filter(_) | Step::Same { .. } => true,
            Step::Derived { .. } | Step::Member { .. } => false,
        };
        if !body.steps.iter().all(is_walked) {
            return Ok(None);
        }
        let mut stages = Vec::with_capacity(body.steps.len());
        for planned in &body.steps {
            stages.push(match &planned.step {
                Step::Stored { stored, path, prefix, outputs, .. } => {
                    let Some(Relation::Stored(relation)) = relations.get(*stored) else {
                        return Ok(None);
                    };
                    let Some(path) = relation.paths.get(*path) else { return Ok(None) };
                    let wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
                    if !path.covers(&wanted) {
                        return Ok(None);
                    }
                    Stage::Lookup { path, prefix, wanted, outputs }
                }
                Step::Assign { var, value, compare } => {
                    let value = computer.compile(value)?;
                    Stage::Assign { var: *var, value, compare: *compare }
                }
                Step::Filter(condition) => {
                    Stage::Filter(computer.compile(condition)?, planned.span)
                }
                Step::Same { a, b, compare } => Stage::Same { a: *a, b: *b, compare: *compare },
                Step::Derived { .. } | Step::Member { .. } => return Ok(None),
            });
        }
        Ok(Some(Self { stages, head: &rule.head, variables: rule.variables.len() }))
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
        let mut way = Traversal {
            read,
            computer,
            limits,
            bound: Bound(vec![Cell::NULL; self.variables]),
            found: Table::set(self.head.len()),
            enough,
            looks_left: LOOKS_MAX,
            rows_left: ROWS_MAX,
        };
        if self.follow(0, &mut way)? == Flow::GivenUp {
            return Ok(None);
        }
        let found = way.found;
        Ok(Some(Columns { rows: found.rows(), columns: found.into_sorted_columns() }))
    }

    /// Follows the current row from step `at` on.
    fn follow(&self, at: usize, way: &mut Traversal<'_>) -> Result<Flow> {
        let Some(stage) = self.stages.get(at) else { return Ok(self.arrive(way)) };
        match stage {
            Stage::Lookup { path, prefix, wanted, outputs } => {
                // If no column of its rows is read, one row is as good as all.
                let rows_max = match outputs.is_empty() {
                    true => 1,
                    false => way.enough.max(LOOK_ROWS_MIN).min(way.rows_left),
                };
                if way.looks_left == 0 || rows_max == 0 {
                    return Ok(Flow::GivenUp);
                }
                let interner = way.computer.interner;
                way.limits.check(interner.bytes())?;
                let sought: Vec<Cell> = prefix.iter().map(|&var| way.bound.0[var]).collect();
                let found = path.few(way.read, &sought, wanted, rows_max, interner)?;
                // Long rows are read in small pieces, which this search does not support.
                let Some(found) = found else { return Ok(Flow::GivenUp) };
                way.looks_left -= 1;
                way.rows_left = way.rows_left.saturating_sub(found.rows);
                for row in 0..found.rows {
                    for (column, &(_, var)) in found.columns.iter().zip(*outputs) {
                        way.bound.0[var] = column[row];
                    }
                    match self.follow(at + 1, way)? {
                        Flow::Next => {}
                        flow => return Ok(flow),
                    }
                }
                // The rest of a longer range would not be followed.
                let is_cut = found.rows == rows_max && !outputs.is_empty();
                Ok(if is_cut { Flow::GivenUp } else { Flow::Next })
            }
            Stage::Assign { var, value, compare } => {
                let cell = way.computer.compute(value, &way.bound, 0)?;
                if *compare {
                    return self.follow_if(way.bound.0[*var] == cell, at, way);
                }
                way.bound.0[*var] = cell;
                self.follow(at + 1, way)
            }
            Stage::Filter(condition, span) => {
                let cell = way.computer.compute(condition, &way.bound, 0)?;
                let is_true = way.computer.truth(cell, "a condition", *span)?;
                self.follow_if(is_true, at, way)
            }
            Stage::Same { a, b, compare } => {
                if *compare {
                    return self.follow_if(way.bound.0[*a] == way.bound.0[*b], at, way);
                }
                way.bound.0[*b] = way.bound.0[*a];
                self.follow(at + 1, way)
            }
        }
    }

    fn follow_if(&self, is_kept: bool, at: usize, way: &mut Traversal<'_>) -> Result<Flow> {
        if is_kept { self.follow(at + 1, way) } else { Ok(Flow::Next) }
    }

    /// Adds a row that has passed all steps.
    fn arrive(&self, way: &mut Traversal<'_>) -> Flow {
        let cells = self.head.iter().map(|&var| std::slice::from_ref(&way.bound.0[var]));
        way.found.insert(&cells.collect::<Vec<&[Cell]>>(), 0);
        if way.found.rows() >= way.enough { Flow::Enough } else { Flow::Next }
    }
}
