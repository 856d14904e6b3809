//! Runs imperative scripts: blocks, conditions, loops. A session implements the statements.

use exec::error::{Error, Result};
use exec::query_result::QueryResult;
use syntax::{Block, Condition, Ident, Query, Span, Statement, SystemOp};

/// The statements of an imperative script.
pub(crate) trait Blocks {
    /// Runs a query.
    ///
    /// # Errors
    /// See [`Error`].
    fn query(&mut self, query: &Query) -> Result<QueryResult>;
    /// Runs a system op.
    ///
    /// # Errors
    /// See [`Error`].
    fn system(&mut self, op: &SystemOp) -> Result<QueryResult>;
    /// Stores rows as a temporary relation.
    ///
    /// # Errors
    /// The errors that stop the script.
    fn keep(&mut self, name: &str, output: &QueryResult) -> Result<()>;
    /// The rows of a temporary relation, if it exists.
    ///
    /// # Errors
    /// The errors that stop the script.
    fn kept(&self, name: &str) -> Result<Option<QueryResult>>;
    /// Swaps the names of two relations, both temporary or both stored.
    ///
    /// # Errors
    /// One does not exist or may not be renamed; one is stored and the other is not.
    fn swap(&mut self, a: &Ident, b: &Ident) -> Result<()>;
    /// Shows a relation's rows to the receiver of `%debug`.
    fn debug(&self, name: &str, output: &QueryResult);
    /// Checks the limits.
    ///
    /// # Errors
    /// Once the script has to stop.
    fn check(&self) -> Result<()>;
    /// Calls `act`, and undoes its changes if it fails.
    ///
    /// # Errors
    /// Those of `act`.
    fn whole(
        &mut self,
        act: &mut dyn FnMut(&mut dyn Blocks) -> Result<QueryResult>,
    ) -> Result<QueryResult>;
    /// Whether an error may come from the script's cache, and would not occur without it.
    fn may_be_stale(&self, error: &Error) -> bool;
}

/// How a statement continues.
enum Flow {
    Next,
    Break(Option<String>, Span),
    Continue(Option<String>, Span),
    Return,
}

/// Runs statements. The result is the rows of the last block, or those returned.
///
/// # Errors
/// See [`Error`].
pub(crate) fn run(blocks: &mut dyn Blocks, statements: &[Statement]) -> Result<QueryResult> {
    let mut last = QueryResult::status("OK");
    match run_all(blocks, statements, &mut last)? {
        Flow::Next | Flow::Return => Ok(last),
        Flow::Break(None, span) | Flow::Continue(None, span) => {
            Err(Error::value("there is no loop to leave or to go on with", span))
        }
        Flow::Break(Some(name), span) | Flow::Continue(Some(name), span) => {
            Err(Error::value(format!("no loop around this is marked `{name}`"), span))
        }
    }
}

fn run_all(
    blocks: &mut dyn Blocks,
    statements: &[Statement],
    last: &mut QueryResult,
) -> Result<Flow> {
    for statement in statements {
        blocks.check()?;
        let flow = run_one(blocks, statement, last)?;
        if !matches!(flow, Flow::Next) {
            return Ok(flow);
        }
    }
    Ok(Flow::Next)
}

fn run_one(blocks: &mut dyn Blocks, statement: &Statement, last: &mut QueryResult) -> Result<Flow> {
    match statement {
        Statement::Run(block, name) => {
            *last = run_block(blocks, block)?;
            if let Some(name) = name {
                blocks.keep(&name.text, last)?;
            }
        }
        Statement::If { negated, condition, then, otherwise } => {
            // A condition is true if it has rows, whatever their values.
            let is_true = (rows_of(blocks, condition)?.rows > 0) != *negated;
            return run_all(blocks, if is_true { then } else { otherwise }, last);
        }
        Statement::Loop { label, body } => return run_loop(blocks, label.as_ref(), body, last),
        Statement::Break(label, span) => {
            return Ok(Flow::Break(label.as_ref().map(|label| label.text.clone()), *span));
        }
        Statement::Continue(label, span) => {
            return Ok(Flow::Continue(label.as_ref().map(|label| label.text.clone()), *span));
        }
        Statement::Return(items, _) => {
            // All are evaluated; the rows of the first one are the result.
            let mut outputs = Vec::with_capacity(items.len());
            for item in items {
                outputs.push(rows_of(blocks, item)?);
            }
            *last = outputs.into_iter().next().unwrap_or_else(|| QueryResult::status("OK"));
            return Ok(Flow::Return);
        }
        Statement::Debug(name) => {
            let output = relation(blocks, name)?;
            blocks.debug(&name.text, &output);
        }
        Statement::IgnoreError(block, name) => {
            run_ignoring_error(blocks, block, name.as_ref(), last)?;
        }
        Statement::Swap(a, b) => blocks.swap(a, b)?,
    }
    Ok(Flow::Next)
}

fn run_loop(
    blocks: &mut dyn Blocks,
    label: Option<&Ident>,
    body: &[Statement],
    last: &mut QueryResult,
) -> Result<Flow> {
    let is_mine = |name: &Option<String>| match (name, label) {
        (None, _) => true,
        (Some(name), Some(label)) => *name == label.text,
        (Some(_), None) => false,
    };
    loop {
        blocks.check()?;
        match run_all(blocks, body, last)? {
            Flow::Next => {}
            Flow::Continue(name, _) if is_mine(&name) => {}
            Flow::Break(name, _) if is_mine(&name) => return Ok(Flow::Next),
            other => return Ok(other),
        }
    }
}

/// Runs a block, and goes on where it has a mistake.
fn run_ignoring_error(
    blocks: &mut dyn Blocks,
    block: &Block,
    name: Option<&Ident>,
    last: &mut QueryResult,
) -> Result<()> {
    match blocks.whole(&mut |blocks| run_block(blocks, block)) {
        Ok(output) => {
            *last = output;
            if let Some(name) = name {
                blocks.keep(&name.text, last)?;
            }
        }
        // An error of the storage is not the block's own: the statements after it would read
        // incomplete data.
        Err(error) if !error.is_mistake() => return Err(error),
        Err(error) if blocks.may_be_stale(&error) => return Err(error),
        // A relation that has the name already stays as it is.
        Err(_) => *last = QueryResult::status("FAILED"),
    }
    Ok(())
}

fn run_block(blocks: &mut dyn Blocks, block: &Block) -> Result<QueryResult> {
    match block {
        Block::Query(query) => blocks.query(query),
        Block::System(op) => blocks.system(op),
    }
}

fn rows_of(blocks: &mut dyn Blocks, condition: &Condition) -> Result<QueryResult> {
    match condition {
        Condition::Query(query) => blocks.query(query),
        Condition::Relation(name) => relation(blocks, name),
    }
}

fn relation(blocks: &dyn Blocks, name: &Ident) -> Result<QueryResult> {
    let kept = blocks.kept(&name.text).map_err(|error| error.at(name.span))?;
    kept.ok_or_else(|| unknown(name))
}

fn unknown(name: &Ident) -> Error {
    match name.text.starts_with('_') {
        true => no_temporary(name),
        false => Error::value(format!("no relation `{}`", name.text), name.span),
    }
}

/// The error for an unknown temporary relation.
pub(crate) fn no_temporary(name: &Ident) -> Error {
    let what = format!("the script has no relation `{}`", name.text);
    let hint = match name.text.starts_with('_') {
        true => "a block's rows are kept by `as _name`, or by `:create _name {…}` in it",
        false => "two relations of the script, or two stored ones, are exchanged",
    };
    Error::hinted(what, name.span, hint)
}
