//! Fixed rules and aggregates that the program brings along.
//!
//! # Invariants
//! 1. None has the name of one that is built in.
//! 2. No lock is held while one runs, but for the share that a changing script has (`engine/inside.rs`): so one may run scripts.

use crate::cell::Cell;
use crate::error::{Error, Result};
use crate::fixed::{Call, has_algorithm};
use env::sync::RwLock;
use function::{Failure, OwnAggregate};
use model::{Frame, Series, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::ErrorKind;
use syntax::Span;

/// Rows between two questions whether the query goes on.
const ROWS_UNCHECKED: usize = 4096;

/// A fixed rule of the program's.
pub trait FixedRule: Send + Sync {
    /// How many columns it gives.
    fn columns(&self) -> usize;

    /// Its rows, each of so many values; in any order, and a row that comes twice is one.
    ///
    /// # Errors
    /// What is wrong with its inputs or options. The script fails with it, and with the rule's name and place.
    fn run(&self, call: &RuleCall<'_>) -> std::result::Result<Vec<Vec<Value>>, Failure>;
}

/// What a fixed rule is given.
pub struct RuleCall<'c> {
    /// The relations that it reads, in order: sorted, their columns named as the script or the relation names them.
    pub inputs: &'c [Frame],
    /// Its options by name.
    pub options: &'c BTreeMap<String, Value>,
    go_on: &'c dyn Fn() -> bool,
}

impl RuleCall<'_> {
    /// Whether to go on: false once the query was stopped, when whatever the rule returns is dropped. A rule that takes long asks
    /// now and then.
    #[must_use]
    pub fn go_on(&self) -> bool {
        (self.go_on)()
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
pub(crate) struct Own {
    rules: RwLock<BTreeMap<String, Arc<dyn FixedRule>>>,
    aggregates: RwLock<BTreeMap<String, Arc<OwnAggregate>>>,
}

impl Own {
    pub(crate) fn add_rule(&self, name: &str, rule: Arc<dyn FixedRule>) -> store::Result<()> {
        check_name("fixed rule", name, has_algorithm(name))?;
        insert(&self.rules, "fixed rule", name, rule)
    }

    pub(crate) fn remove_rule(&self, name: &str) -> store::Result<bool> {
        check_name("fixed rule", name, has_algorithm(name))?;
        let removed = self.rules.write().remove(name);
        Ok(removed.is_some())
    }

    pub(crate) fn rule(&self, name: &str) -> Option<Arc<dyn FixedRule>> {
        self.rules.read().get(name).cloned()
    }

    pub(crate) fn rule_names(&self) -> Vec<String> {
        self.rules.read().keys().cloned().collect()
    }

    pub(crate) fn add_aggregate(&self, aggregate: OwnAggregate) -> store::Result<()> {
        let name = aggregate.name.clone();
        check_name("aggregate", &name, function::aggregate(&name).is_some())?;
        insert(&self.aggregates, "aggregate", &name, Arc::new(aggregate))
    }

    pub(crate) fn remove_aggregate(&self, name: &str) -> store::Result<bool> {
        check_name("aggregate", name, function::aggregate(name).is_some())?;
        let removed = self.aggregates.write().remove(name);
        Ok(removed.is_some())
    }

    pub(crate) fn aggregate(&self, name: &str) -> Option<Arc<OwnAggregate>> {
        self.aggregates.read().get(name).cloned()
    }

    pub(crate) fn aggregate_names(&self) -> Vec<String> {
        self.aggregates.read().keys().cloned().collect()
    }

    pub(crate) fn clear(&self) {
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

fn check_name(kind: &str, name: &str, is_built_in: bool) -> store::Result<()> {
    let refused = |what: String| Err(store::Error::new(ErrorKind::InvalidInput, what));
    if is_built_in {
        return refused(format!("the {kind} `{name}` is built in"));
    }
    match syntax::parse_expression(name) {
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
    let mut inputs = Vec::with_capacity(call.fixed.inputs.len());
    for number in 0..call.fixed.inputs.len() {
        let columns = call.columns(number)?;
        let rows = columns.first().map_or(0, Vec::len);
        let by: Vec<(&[Cell], bool)> = columns.iter().map(|one| (one.as_slice(), false)).collect();
        let order = crate::sort::order(&by, rows, interner, &|| call.query.check(0))?;
        let values = |column: &Vec<Cell>| -> Series {
            let values = order.iter().map(|&row| interner.value(column[row as usize]));
            values.collect::<Vec<_>>().into()
        };
        let mut seen = BTreeSet::new();
        let names = call.names(number)?.into_iter().chain(std::iter::repeat(String::new()));
        let names = names.take(columns.len()).enumerate().map(|(place, name)| {
            // Wildcards, and what is there twice.
            let is_new = !name.is_empty() && seen.insert(name.clone());
            if is_new { name } else { format!("_{place}") }
        });
        let frame = Frame::new(names.collect(), columns.iter().map(values).collect());
        inputs
            .push(frame.map_err(|error| Error::value(error.to_string(), call.input_span(number)))?);
    }
    let mut options = BTreeMap::new();
    for (option, expr) in &call.fixed.options {
        options.insert(option.clone(), call.known(expr)?);
    }
    let go_on = || call.query.check(0).is_ok();
    let given = RuleCall { inputs: &inputs, options: &options, go_on: &go_on };
    let answer = rule.run(&given);
    // What stopped the query is the cause of what the rule says.
    call.query.check(0)?;
    let rows = answer.map_err(|failure| fails(name, failure, span))?;
    let wanted = rule.columns();
    let mut columns = vec![Vec::with_capacity(rows.len()); wanted];
    for (place, row) in rows.into_iter().enumerate() {
        if row.len() != wanted {
            let what = format!("gave a row of {} values, and has {wanted} columns", row.len());
            return Err(Error::value(format!("{name} {what}"), span));
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.push(interner.take(value));
        }
        if place.is_multiple_of(ROWS_UNCHECKED) {
            call.query.check(8 * (place * wanted) as u64)?;
        }
    }
    Ok(columns)
}

fn fails(name: &str, failure: Failure, span: Span) -> Error {
    Error::failed(Failure { message: format!("{name}: {}", failure.message), ..failure }, span)
}
