//! Fixed rules and aggregates that the program brings along.
//!
//! # Invariants
//! 1. None has the name of one that is built in.
//! 2. No lock is held while one runs, but for the share that a changing script has
//!    (`reentrancy.rs` of the session): so one may run scripts.

use crate::error::{Error, Result};
use crate::fixed_rule::{Call, has_algorithm};
use crate::value::cell::{Cell, bytes_of};
use env::sync::RwLock;
use function::{Failure, UserAggregate};
use model::{Frame, Series, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::ErrorKind;
use syntax::Span;

/// Rows between two questions whether the query goes on.
const ROWS_UNCHECKED: usize = 4096;

/// Bytes of values of rows between two such questions.
const BYTES_UNCHECKED: u64 = 256 << 10;

/// A fixed rule of the program's.
pub trait FixedRule: Send + Sync {
    /// How many columns it gives.
    fn columns(&self) -> usize;

    /// Its rows, each of so many values; in any order, and a row that comes twice is one. They are
    /// returned, or given one by one to [`RuleCall::add`], where they count among what the query
    /// holds at once; or both.
    ///
    /// # Errors
    /// What is wrong with its inputs or options. The script fails with it, and with the rule's name
    /// and place.
    fn run(&self, call: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure>;
}

/// What a fixed rule is given.
pub struct RuleCall<'c> {
    /// The relations that it reads, in order: sorted, their columns named as the script or the
    /// relation names them.
    pub inputs: &'c [Frame],
    /// Its options by name.
    pub options: &'c BTreeMap<String, Value>,
    go_on: &'c dyn Fn() -> bool,
    add: &'c dyn Fn(Vec<Value>) -> std::result::Result<(), Failure>,
}

impl RuleCall<'_> {
    /// Whether to go on: false once the query was stopped, when whatever the rule returns is
    /// dropped. A rule that takes long asks now and then.
    #[must_use]
    pub fn go_on(&self) -> bool {
        (self.go_on)()
    }

    /// Takes a row of the rule's.
    ///
    /// # Errors
    /// It has another number of values than the rule has columns; the query may not hold more, or
    /// has to stop: the rule returns the error.
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

/// Those of an engine, by name.
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

    /// Removes a rule; whether there was one of this name.
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

    /// Removes an aggregate; whether there was one of this name.
    ///
    /// # Errors
    /// The name is built in.
    pub fn remove_aggregate(&self, name: &str) -> store::Result<bool> {
        check_name("aggregate", name, function::aggregate(name).is_some())?;
        let removed = self.aggregates.write().remove(name);
        Ok(removed.is_some())
    }

    /// The aggregate of this name.
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

/// A name that nests deeper is not a word; the parser stops there, however small the stack.
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

/// Runs a rule of the program's on what a script gives it.
///
/// # Errors
/// The rule's, with its name and place; what stops the query.
pub(crate) fn run(rule: &dyn FixedRule, call: &Call<'_, '_>) -> Result<Vec<Vec<Cell>>> {
    let interner = call.query.interner;
    let (name, span) = (call.name(), call.fixed.span);
    let mut given_bytes = 0;
    let mut inputs = Vec::with_capacity(call.fixed.inputs.len());
    for number in 0..call.fixed.inputs.len() {
        let columns = call.columns(number)?;
        let rows = columns.first().map_or(0, Vec::len);
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let order = crate::value::sort::order(&by, rows, interner, &|| call.query.check(0))?;
        let mut values = |column: &Vec<Cell>| -> Result<Series> {
            let mut values = Vec::with_capacity(rows);
            for some in order.chunks(ROWS_UNCHECKED) {
                let bytes = |&row: &u32| interner.with(column[row as usize], bytes_of);
                given_bytes += some.iter().map(bytes).sum::<u64>();
                call.query.check(given_bytes)?;
                values.extend(some.iter().map(|&row| interner.value(column[row as usize])));
            }
            Ok(values.into())
        };
        let mut seen = BTreeSet::new();
        let names = call.names(number)?.into_iter().chain(std::iter::repeat(String::new()));
        let names = names.take(columns.len()).enumerate().map(|(place, name)| {
            // Wildcards, and what is there twice.
            let is_new = !name.is_empty() && seen.insert(name.clone());
            if is_new { name } else { format!("_{place}") }
        });
        let series = columns.iter().map(&mut values).collect::<Result<Vec<_>>>()?;
        let frame = Frame::new(names.collect(), series);
        inputs
            .push(frame.map_err(|error| Error::value(error.to_string(), call.input_span(number)))?);
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
    // What stopped the query takes precedence over the rule's own error, unless that one is an
    // error of the store.
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

/// Rows that a rule has made.
struct Made<'c, 'a, 'q> {
    call: &'c Call<'a, 'q>,
    /// Bytes of its inputs, which are there as long as it runs.
    given_bytes: u64,
    columns: Vec<Vec<Cell>>,
    /// Bytes of the interner when it was last asked whether they may be as many.
    checked_bytes: u64,
    /// Why a row was not taken.
    failed: Option<Error>,
}

impl Made<'_, '_, '_> {
    /// Takes a row; an error is kept, so that it is the script's whatever the rule makes of it.
    fn add_or_fail(&mut self, row: Vec<Value>) -> std::result::Result<(), Failure> {
        let added = self.add(row);
        added.map_err(|error| {
            let what = error.to_string();
            self.failed = Some(error);
            Failure::stopped(what)
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
