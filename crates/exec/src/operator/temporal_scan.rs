//! Operator: joins with a relation that has history, as of a time.

use crate::batch_size::{CHUNK_ROWS, Wanted};
use crate::context::ExecContext;
use crate::error::{Error, Result};
use crate::expr::batch::Bindings;
use crate::operator::pairs::Pairs;
use crate::pipeline::{CHECKED_ROWS, Operator, Pipeline};
use crate::sink::Out;
use crate::storage::probe_keys::ProbeKeys;
use crate::storage::relation_source::StoredRelation;
use crate::value::cell::Cell;
use crate::value::columns::Columns;
use crate::value::validity::newest;
use plan::{OperatorName, Step};

/// A join with a relation as of a time.
pub(crate) struct TemporalScan<'i> {
    /// The step.
    pub(crate) at: usize,
    /// The batch.
    pub(crate) input: &'i Bindings,
    /// The relation.
    pub(crate) relation: &'i StoredRelation,
    /// The time of each row.
    pub(crate) times: &'i [i64],
}

impl Operator for TemporalScan<'_> {
    const NAME: OperatorName = OperatorName::TemporalScan;

    /// Joins with the rows valid at a time: of each key without its validity the newest row that is
    /// not later, if it asserts.
    ///
    /// # Errors
    /// Those of the store, and what stops the query.
    fn push(
        self,
        pipeline: &mut Pipeline<'_>,
        context: &ExecContext<'_>,
        out: Out<'_>,
    ) -> Result<Wanted> {
        let Self { at, input, relation, times } = self;
        let planned = pipeline.steps[at].planned;
        let Step::Stored { path, checks, outputs, negated, .. } = &planned.step else {
            return Ok(true);
        };
        let asked = ProbeKeys::new(&planned.step, input, None, context.plan);
        let path = &relation.paths[*path];
        let keys = relation.paths[0].schema.keys.len();
        let once = *negated || (outputs.is_empty() && pipeline.is_set());
        let mut wanted: Vec<usize> = outputs.iter().map(|(column, _)| *column).collect();
        wanted.extend(checks.iter().map(|(column, _)| *column));
        let others = wanted.len();
        wanted.extend(0..keys);
        for (row, &time) in times.iter().enumerate() {
            let prefix: Vec<Cell> =
                asked.cells[..asked.prefix].iter().map(|column| column[row]).collect();
            // If no key can have these values, nothing matches; a negation then holds.
            let range = path.prefix(&prefix, context.interner);
            let (read, interner) = (context.read, context.interner);
            let mut last: Option<Vec<Cell>> = None;
            let (mut any, mut wants_more) = (false, true);
            let mut visit = |found: Columns| {
                if found.rows >= CHECKED_ROWS {
                    context.check(found.bytes())?;
                }
                let key_columns = &found.columns[others..others + keys];
                let is_newest =
                    |place: &u32| newest(key_columns, *place as usize, time, &mut last, interner);
                let places: Vec<u32> = (0..found.rows as u32).filter(is_newest).collect();
                if once {
                    any |= places.iter().any(|&place| {
                        asked.agree(row as u32, &found, outputs.len(), place as usize)
                    });
                    return Ok(!any);
                }
                let rows = vec![row as u32; places.len()];
                let pairs = Pairs { rows: &rows, places: &places, found: &found, asked: &asked };
                wants_more = pipeline.check_and_hand_on(at, input, &pairs, context, out)?;
                Ok::<bool, Error>(wants_more)
            };
            if let Some(range) = range {
                path.scan(read, range, &wanted, CHUNK_ROWS, interner, &mut visit)?;
            }
            if once && any != *negated {
                let output = input.gather(&[row as u32], &planned.live);
                wants_more = pipeline.hand_on(at, output, context, out)?;
            }
            if !wants_more {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
