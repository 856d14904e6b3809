//! Measurements of a query: rows, batches and time of each step, rounds and memory of each stratum.
//!
//! The pipeline counts, the fixpoint collects, and `explain` shows them for `::explain analyze`.
//!
//! # Why by batches
//! A step's clock is read when a batch enters and leaves it, never per row. So the measured query
//! behaves almost as an unmeasured one; that checks once per batch whether it is measured.
//!
//! # Invariants
//! 1. A microsecond of a pipeline counts for one step: the last one that a batch entered and has
//!    not left.

use hashbrown::HashMap;
use plan::{OperatorName, PipelinePlan};

/// Figures of one step. The head counts as one more step after the last: its input is the rows
/// that the body finds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepFigures {
    /// Batches that entered the step.
    pub batches: u64,
    /// Rows of these batches.
    pub rows: u64,
    /// Microseconds in it and in no later step, of all threads.
    pub us: u64,
    /// Blocks that a filter could exclude, and those of them that were read.
    pub blocks: (u64, u64),
    /// Batches that each operator took, in the order of [`OperatorName::ALL`].
    pub operators: [u64; OperatorName::ALL.len()],
    /// Batches that came in typed columns.
    pub column_batches: u64,
}

impl StepFigures {
    fn add(&mut self, more: &Self) {
        self.batches += more.batches;
        self.rows += more.rows;
        self.us += more.us;
        self.column_batches += more.column_batches;
        self.blocks.0 += more.blocks.0;
        self.blocks.1 += more.blocks.1;
        for (all, more) in self.operators.iter_mut().zip(more.operators) {
            *all += more;
        }
    }

    /// The operators that ran, each with its batches.
    pub(crate) fn operators(&self) -> impl Iterator<Item = (OperatorName, u64)> {
        let counts = self.operators;
        OperatorName::ALL.into_iter().zip(counts).filter(|(_, batches)| *batches > 0)
    }
}

/// Figures of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyFigures {
    /// Number of runs.
    pub runs: u64,
    /// Figures of each step, and of the head.
    pub steps: Vec<StepFigures>,
}

/// Figures of a group.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupFigures {
    /// Rounds of its recursion; 0 where it has none.
    pub rounds: u64,
    /// Rows of its relations.
    pub rows: u64,
    /// Microseconds.
    pub us: u64,
    /// Most bytes that the query held meanwhile.
    pub held_bytes_max: u64,
}

/// Figures of a query.
#[derive(Debug, Default)]
pub struct Profile {
    /// By the address of the plan, which is borrowed as long as the query runs.
    bodies: HashMap<usize, BodyFigures>,
    /// Figures of each group of the plan, in order.
    pub groups: Vec<GroupFigures>,
    group: GroupFigures,
}

impl Profile {
    /// Counts a round of the current group.
    pub(crate) fn round(&mut self) {
        self.group.rounds += 1;
    }

    /// The present group is done after `us` microseconds. Its relations have `rows` rows, and it
    /// held `held_bytes_max` bytes at most.
    pub(crate) fn end_group(&mut self, us: u64, rows: u64, held_bytes_max: u64) {
        self.groups.push(GroupFigures { us, rows, held_bytes_max, ..self.group });
        self.group = GroupFigures::default();
    }

    /// A body ran.
    pub(crate) fn add(&mut self, plan: &PipelinePlan, clock: Clock) {
        let body = self.bodies.entry(address(plan)).or_default();
        body.runs += 1;
        body.steps.resize(clock.steps.len(), StepFigures::default());
        body.steps.iter_mut().zip(&clock.steps).for_each(|(all, more)| all.add(more));
    }

    /// The figures of a pipeline; zero if it never ran.
    pub(crate) fn body(&self, plan: &PipelinePlan) -> BodyFigures {
        self.bodies.get(&address(plan)).cloned().unwrap_or_default()
    }
}

fn address(plan: &PipelinePlan) -> usize {
    std::ptr::from_ref(plan).addr()
}

/// Measures one run of a body.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    steps: Vec<StepFigures>,
    /// The step that time counts for; `None` before the first batch.
    current: Option<usize>,
    since_us: u64,
}

impl Clock {
    /// A clock for a body with this many steps.
    pub(crate) fn new(steps: usize) -> Self {
        Self { steps: vec![StepFigures::default(); steps + 1], current: None, since_us: 0 }
    }

    /// Adds what another thread did.
    pub(crate) fn join(&mut self, other: &Self) {
        self.steps.iter_mut().zip(&other.steps).for_each(|(all, more)| all.add(more));
    }

    /// An operator answers a step for a batch.
    pub(crate) fn note_operator(&mut self, step: usize, name: OperatorName) {
        if let Some(figures) = self.steps.get_mut(step) {
            figures.operators[name as usize] += 1;
        }
    }

    /// A scan met blocks that its filter could exclude, and read some of them.
    pub(crate) fn note_blocks(&mut self, step: usize, met: u64, read: u64) {
        if let Some(figures) = self.steps.get_mut(step) {
            figures.blocks.0 += met;
            figures.blocks.1 += read;
        }
    }

    /// An earlier step also answered this one, for this number of batches and rows.
    pub(crate) fn note_fused(&mut self, step: usize, name: OperatorName, batches: u64, rows: u64) {
        if let Some(figures) = self.steps.get_mut(step) {
            figures.batches += batches;
            figures.rows += rows;
            figures.operators[name as usize] += batches;
        }
    }

    /// The last batch that entered a step had this many rows, in typed columns.
    pub(crate) fn note_columns(&mut self, step: usize, rows: u64) {
        if let Some(figures) = self.steps.get_mut(step) {
            figures.batches += 1;
            figures.rows += rows;
            figures.column_batches += 1;
        }
    }

    /// No step is busy on this thread: others run. The result is for [`Clock::leave`].
    pub(crate) fn pause(&mut self, now_us: u64) -> Option<usize> {
        let before = self.current;
        self.leave(None, now_us);
        before
    }

    /// Time counts for a step from now on. The result is for [`Clock::leave`].
    pub(crate) fn turn_to(&mut self, step: usize, now_us: u64) -> Option<usize> {
        let before = self.current;
        self.leave(Some(step), now_us);
        before
    }

    /// A batch enters a step. The result is for [`Clock::leave`].
    pub(crate) fn enter(&mut self, step: usize, rows: usize, now_us: u64) -> Option<usize> {
        if let Some(figures) = self.steps.get_mut(step) {
            figures.batches += 1;
            figures.rows += rows as u64;
        }
        self.turn_to(step, now_us)
    }

    /// Counts time for step `to` from now on.
    pub(crate) fn leave(&mut self, to: Option<usize>, now_us: u64) {
        if let Some(figures) = self.current.and_then(|step| self.steps.get_mut(step)) {
            figures.us += now_us.saturating_sub(self.since_us);
        }
        (self.current, self.since_us) = (to, now_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_counts_for_the_innermost_step() {
        let mut clock = Clock::new(1);
        let outer = clock.enter(0, 1, 10);
        let inner = clock.enter(1, 5, 14);
        clock.leave(inner, 20);
        let inner = clock.enter(1, 2, 21);
        clock.leave(inner, 24);
        clock.leave(outer, 30);
        let figures: Vec<(u64, u64, u64)> =
            clock.steps.iter().map(|step| (step.batches, step.rows, step.us)).collect();
        assert_eq!(figures, [(1, 1, 4 + 1 + 6), (2, 7, 6 + 3)]);
    }
}
