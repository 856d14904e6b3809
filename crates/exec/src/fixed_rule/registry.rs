//! User-defined fixed rules and aggregates, registered by the program around the database.
//!
//! # Invariants
//! 1. None has the name of a built-in one.
//! 2. No lock is held while one runs, except the share of a script that changes data
//!    (`reentrancy.rs` of the session): so one may run scripts itself.

use crate::error::{Error, Result};
use crate::fixed_rule::{Call, has_algorithm};
use crate::value::cell::{Cell, bytes_of};
use env::sync::RwLock;
use function::{Failure, FailureKind, UserAggregate};
use model::{Frame, Series, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::ErrorKind;
use syntax::Span;

/// Rows between two checks of the query's limits.
const ROWS_UNCHECKED: usize = 4096;

/// Bytes of row values between two such checks.
const BYTES_UNCHECKED: u64 = 256 << 10;

/// A user-defined fixed rule.
pub trait FixedRule: Send + Sync {
    /// Its number of columns.
    fn columns(&self) -> usize;

    /// Evaluates the rule. Each row has as many values as the rule has columns; rows may come in
    /// any order, and repeated rows count once. Rows are returned, or passed to [`RuleCall::add`],
    /// which charges them to the query's memory limit immediately; or both.
    ///
    /// # Errors
    /// An error in its inputs or options. The script fails with it, with the rule's name and
    /// position.
    fn run(&self, call: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure>;
}

/// Arguments of a user-defined fixed rule.
pub struct RuleCall<'c> {
    /// Its input relations, in order: sorted, with the column names of the script or the relation.
    pub inputs: &'c [Frame],
    /// Its options, by name.
    pub options: &'c BTreeMap<String, Value>,
    go_on: &'c dyn Fn() -> bool,
    add: &'c dyn Fn(Vec<Value>) -> std::result::Result<(), Failure>,
}

impl RuleCall<'_> {
    /// Whether to continue. False once the query was stopped; the rule's rows are then dropped. A
    /// rule that takes long should check regularly.
    #[must_use]
    pub fn go_on(&self) -> bool {
        (self.go_on)()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The row has the wrong number of values, or the query exceeds a limit or has to stop. The
    /// rule should return the error.
    pub fn add(&self, row: Vec<Value>) -> std::result::Result<(), Failure> {
        (self.add)(row)
    }
}

impl std::fmt::Debug for RuleCall<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { inputs, options, .. } = self;
        f.debug_struct("RuleCall").field("inputs", inputs).field("options", options).finish()
    }
}

/// The user-defined rules and aggregates of an engine, by name.
#[derive(Default)]
pub struct UserDefined {
    rules: RwLock<BTreeMap<String, Arc<dyn FixedRule>>>,
    aggregates: RwLock<BTreeMap<String, Arc<UserAggregate>>>,
}

impl UserDefined {
    /// Registers a rule.
    ///
    /// # Errors
    /// The name is built in or registered, or scripts could not write it.
    pub fn add_rule(&self, name: &str, rule: Arc<dyn FixedRule>) -> store::Result<()> {
        check_name("fixed rule", name, has_algorithm(name))?;
        insert(&self.rules, "fixed rule", name, rule)
    }

    /// Removes a rule; returns whether it existed.
    ///
    /// # Errors
    /// The name is built in.
    pub fn remove_rule(&self, name: &str) -> store::Result<bool> {
        check_name("fixed rule", name, has_algorithm(name))?;
        let removed = self.rules.write().remove(name);
        Ok(removed.is_some())
    }

    pub(crate) fn rule(&self, name: &str) -> Option<Arc<dyn FixedRule>> {
        self.rules.read().get(name).cloned()
    }

    /// Names of the rules, sorted.
    pub fn rule_names(&self) -> Vec<String> {
        self.rules.read().keys().cloned().collect()
    }

    /// Registers an aggregate.
    ///
    /// # Errors
    /// As [`UserDefined::add_rule`].
    pub fn add_aggregate(&self, aggregate: UserAggregate) -> store::Result<()> {
        let name = aggregate.name.clone();
        check_name("aggregate", &name, function::aggregate(&name).is_some())?;
        insert(&self.aggregates, "aggregate", &name, Arc::new(aggregate))
    }

    /// Removes an aggregate; returns whether it existed.
    ///
    /// # Errors
    /// The name is built in.
    pub fn remove_aggregate(&self, name: &str) -> store::Result<bool> {
        check_name("aggregate", name, function::aggregate(name).is_some())?;
        let removed = self.aggregates.write().remove(name);
        Ok(removed.is_some())
    }

    /// The aggregate with this name.
    pub fn aggregate(&self, name: &str) -> Option<Arc<UserAggregate>> {
        self.aggregates.read().get(name).cloned()
    }

    /// Names of the aggregates, sorted.
    pub fn aggregate_names(&self) -> Vec<String> {
        self.aggregates.read().keys().cloned().collect()
    }

    /// Removes all rules and aggregates.
    pub fn clear(&self) {
        let rules = std::mem::take(&mut *self.rules.write());
        let aggregates = std::mem::take(&mut *self.aggregates.write());
        drop((rules, aggregates));
    }
}

fn insert<T>(
    all: &RwLock<BTreeMap<String, T>>,
    kind: &str,
    name: &str,
    new: T,
) -> store::Result<()> {
    let mut all = all.write();
    if all.contains_key(name) {
        let what = format!("the {kind} `{name}` is registered already");
        let hint = "unregister it first";
        return Err(store::Error::new(ErrorKind::InvalidInput, format!("{what}\nhint: {hint}")));
    }
    all.insert(name.to_owned(), new);
    Ok(())
}

/// A name that nests deeper is not a word. The limit keeps the parser within small stacks.
const NAME_LEVELS_MAX: u32 = 4;

fn check_name(kind: &str, name: &str, is_built_in: bool) -> store::Result<()> {
    let refused = |what: String| Err(store::Error::new(ErrorKind::InvalidInput, what));
    if is_built_in {
        return refused(format!("the {kind} `{name}` is built in"));
    }
    match syntax::parse_expression_within(name, NAME_LEVELS_MAX) {
        Ok(syntax::Expr::Variable(ident)) if ident.text == name => Ok(()),
        _ => refused(format!(
            "{name:?} cannot be the name of a {kind}\nhint: a letter, then letters, digits and `_`"
        )),
    }
}

/// Runs a user-defined rule on the inputs of a script.
///
/// # Errors
/// The rule's, with its name and place; what stops the query.
pub(crate) fn run(rule: &dyn FixedRule, call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let interner = call.query.interner;
    let (name, span) = (call.name(), call.fixed.span);
    let mut given_bytes = 0;
    let mut inputs = Vec::with_capacity(call.fixed.inputs.len());
    for number in 0..call.fixed.inputs.len() {
        inputs.push(input_frame(call, number, &mut given_bytes)?);
    }
    let mut options = BTreeMap::new();
    for (option, expr) in &call.fixed.options {
        options.insert(option.clone(), call.known(expr)?);
    }
    let go_on = || call.query.check(0).is_ok();
    let made = RefCell::new(Made {
        call,
        given_bytes,
        columns: vec![Vec::new(); rule.columns()],
        checked_bytes: interner.bytes(),
        failed: None,
    });
    let add = |row| made.borrow_mut().add_or_fail(row);
    let given = RuleCall { inputs: &inputs, options: &options, go_on: &go_on, add: &add };
    let answer = rule.run(&given);
    let mut made = made.into_inner();
    // A limit or cancellation takes precedence over the rule's own error, unless that is an error
    // of the store.
    if let Some(error) = made.failed {
        return Err(error);
    }
    let is_below = |failure: &Failure| {
        let below = failure.cause.as_ref().and_then(function::Cause::get::<store::Error>);
        below.is_some_and(|error| error.kind() != ErrorKind::InvalidInput)
    };
    if !answer.as_ref().is_err_and(is_below) {
        call.query.check(0)?;
    }
    for row in answer.map_err(|failure| fails(name, failure, span))? {
        made.add(row)?;
    }
    Ok(made.columns)
}

/// An input of a rule, sorted, with a name for each column. Adds the bytes of its values to
/// `given_bytes`.
fn input_frame(call: &Call<'_, '_>, number: usize, given_bytes: &mut u64) -> Result<Frame> {
    let interner = call.query.interner;
    let columns = call.columns(number)?;
    let rows = columns.first().map_or(0, Vec::len);
    let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
    let order = crate::value::sort::order(&by, rows, interner, &|| call.query.check(0))?;
    let mut values = |column: &Vec<Cell>| -> Result<Series> {
        let mut values = Vec::with_capacity(rows);
        for some in order.chunks(ROWS_UNCHECKED) {
            let bytes = |&row: &u32| interner.with(column[row as usize], bytes_of);
            *given_bytes += some.iter().map(bytes).sum::<u64>();
            call.query.check(*given_bytes)?;
            values.extend(some.iter().map(|&row| interner.value(column[row as usize])));
        }
        Ok(values.into())
    };
    let mut seen = BTreeSet::new();
    let names = call.names(number)?.into_iter().chain(std::iter::repeat(String::new()));
    let names = names.take(columns.len()).enumerate().map(|(place, name)| {
        // Replaces wildcards and repeated names.
        let is_new = !name.is_empty() && seen.insert(name.clone());
        if is_new { name } else { format!("_{place}") }
    });
    let series = columns.iter().map(&mut values).collect::<Result<Vec<_>>>()?;
    let frame = Frame::new(names.collect(), series);
    frame.map_err(|error| Error::value(error.to_string(), call.input_span(number)))
}

/// Rows that a rule has added.
struct Made<'c, 'a, 'q> {
    call: &'c Call<'a, 'q>,
    /// Bytes of its inputs, which are held while it runs.
    given_bytes: u64,
    columns: Vec<Vec<Cell>>,
    /// Size of the interner at the last check of the limits, in bytes.
    checked_bytes: u64,
    /// Why a row was refused.
    failed: Option<Error>,
}

impl Made<'_, '_, '_> {
    /// Adds a row. An error is kept, so that the script fails with it even if the rule ignores it.
    fn add_or_fail(&mut self, row: Vec<Value>) -> std::result::Result<(), Failure> {
        let added = self.add(row);
        added.map_err(|error| {
            let kind = match &error {
                Error::Stopped(why) => FailureKind::Stopped(*why),
                Error::Limit(_) => FailureKind::Limit,
                _ => FailureKind::Refused,
            };
            let failure = Failure { kind, ..Failure::new(error.to_string()) };
            self.failed = Some(error);
            failure
        })
    }

    fn add(&mut self, row: Vec<Value>) -> Result<()> {
        let (name, wanted) = (self.call.name(), self.columns.len());
        if row.len() != wanted {
            let what = format!("gave a row of {} values, and has {wanted} columns", row.len());
            return Err(Error::value(format!("{name} {what}"), self.call.fixed.span));
        }
        let query = self.call.query;
        for (column, value) in self.columns.iter_mut().zip(row) {
            column.push(query.interner.take(value));
        }
        let rows = self.columns.first().map_or(0, Vec::len);
        let bytes = query.interner.bytes();
        let is_long = bytes.saturating_sub(self.checked_bytes) >= BYTES_UNCHECKED;
        if is_long || rows.is_multiple_of(ROWS_UNCHECKED) {
            self.checked_bytes = bytes;
            query.check(self.given_bytes + 8 * (rows * wanted) as u64)?;
        }
        Ok(())
    }
}

fn fails(name: &str, failure: Failure, span: Span) -> Error {
    Error::failed(Failure { message: format!("{name}: {}", failure.message), ..failure }, span)
}
