//! A bulk load from one batch in memory.

use base::Batch;
use store::{Result, SortedRows};

/// A partition of a bulk load that consists of one batch, sorted by key, with each key once. `None`
/// once it was read.
pub struct OneBatch(pub Option<Batch>);

impl SortedRows for OneBatch {
    fn next_rows(&mut self, out: &mut Batch) -> Result<bool> {
        let Some(batch) = self.0.take() else { return Ok(false) };
        for i in 0..batch.rows {
            out.keys.push(batch.keys.get(i).as_ref());
            for (to, from) in out.values.iter_mut().zip(&batch.values) {
                to.push_from(from, i);
            }
            out.rows += 1;
        }
        Ok(true)
    }
}
