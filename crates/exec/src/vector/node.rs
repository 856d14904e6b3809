//! The column form of an expression.
//!
//! It is made for one scan: constants and the values of the scan's input row are known then, lists
//! become sets, and regular expressions are compiled.

use super::arithmetic::{Binary, Unary};
use super::list_set::ListSet;
use super::text::{TextChange, TextTest};
use crate::expr::{Comparison, Compiled, Computer, Kind};
use crate::value::cell::{Cell, Interner};
use function::{Function, FunctionContext, Pattern};
use hashbrown::HashMap;
use memchr::memmem;
use model::Value;
use plan::VarId;
use std::sync::Arc;

/// Length from which on a known text is not copied for each row, in bytes.
const LONG_BYTES: usize = 256;

/// Functions whose result is a number, a truth value or a short text, whatever their arguments are.
const SHORT: &[&str] = &[
    "and",
    "cos_dist",
    "div",
    "ends_with",
    "eq",
    "format_timestamp",
    "ge",
    "gt",
    "haversine",
    "haversine_deg_input",
    "ip_dist",
    "is_bytes",
    "is_finite",
    "is_float",
    "is_in",
    "is_infinite",
    "is_int",
    "is_json",
    "is_list",
    "is_nan",
    "is_null",
    "is_num",
    "is_string",
    "is_uuid",
    "is_vec",
    "l2_dist",
    "le",
    "length",
    "lt",
    "negate",
    "neq",
    "or",
    "parse_timestamp",
    "regex_matches",
    "signum",
    "starts_with",
    "str_includes",
    "to_float",
    "to_int",
    "uuid_timestamp",
];

/// Functions whose result is not longer than their arguments, or twice as long.
const AS_LONG: &[&str] = &[
    "abs",
    "acos",
    "add",
    "asin",
    "atan",
    "atan2",
    "bit_and",
    "bit_not",
    "bit_or",
    "bit_xor",
    "cos",
    "max",
    "min",
    "mod",
    "mul",
    "pow",
    "regex_extract_first",
    "sin",
    "slice_string",
    "sub",
    "tan",
    "to_bool",
    "to_string",
    "to_unity",
];

/// An expression over columns.
#[derive(Debug)]
pub(crate) enum Node {
    /// A value that does not depend on the row.
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// A column of the batch, or one that an assignment made.
    Column(VarId),
    Compare(Comparison, Box<[Node; 2]>),
    /// Whether two values are the same, as joins compare.
    Same(Box<[Node; 2]>),
    Binary(Binary, Box<[Node; 2]>),
    Unary(Unary, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    /// Pairs of a condition and a value, and perhaps a value for the other rows.
    If(Vec<(Node, Node)>, Option<Box<Node>>),
    Coalesce(Vec<Node>),
    IsIn(Box<Node>, Arc<ListSet>),
    IsNull(Box<Node>),
    Length(Box<Node>),
    Test(TextTest, Box<Node>),
    Change(TextChange, Box<Node>),
    /// Evaluated row by row. The result is short.
    Rows(Compiled),
}

/// The columns and variables that an expression may refer to.
pub(crate) struct Scope<'s> {
    /// Variables that have a column of a kind that typed columns have.
    pub is_typed: &'s dyn Fn(VarId) -> bool,
    /// The cell of a variable that has the same value in all rows.
    pub known: &'s dyn Fn(VarId) -> Option<Cell>,
    /// Sets of lists that are constant for the query.
    pub sets: &'s mut ListSets,
    pub computer: &'s Computer<'s>,
}

/// Sets of constant lists, so that each is made once for all scans of a pipeline.
pub(crate) type ListSets = HashMap<Cell, Arc<ListSet>, foldhash::fast::FixedState>;

impl Scope<'_> {
    /// The column form of an expression whose result is a truth value: a condition.
    pub(crate) fn condition(&mut self, expr: &Compiled) -> Node {
        match is_deterministic(expr) {
            true => self.node(expr).unwrap_or_else(|| Node::Rows(expr.clone())),
            false => Node::Rows(expr.clone()),
        }
    }

    /// The column form of an expression; `None` if its results may be long, or differ from call to
    /// call.
    pub(crate) fn value(&mut self, expr: &Compiled) -> Option<Node> {
        if is_deterministic(expr) { self.node(expr) } else { None }
    }

    /// `None` where a result may be long.
    fn node(&mut self, expr: &Compiled) -> Option<Node> {
        let (kind, function, args) = match expr {
            Compiled::Const(cell) => return known(*cell, self.computer.interner),
            Compiled::Var(var) => match (self.known)(*var) {
                Some(cell) => return known(cell, self.computer.interner),
                None => return (self.is_typed)(*var).then_some(Node::Column(*var)),
            },
            Compiled::Call { kind, function, args, .. } => (*kind, *function, args.as_slice()),
            Compiled::Path { calls, .. } => return self.node(calls),
        };
        self.kernel(kind, function, args).or_else(|| {
            let is_short = SHORT.contains(&function.name)
                || AS_LONG.contains(&function.name)
                    && args.iter().all(|arg| self.node(arg).is_some())
                || kind == Kind::Item && self.is_item_of_batch(args);
            is_short.then(|| Node::Rows(expr.clone()))
        })
    }

    /// Whether a call asks for an item of a list in the batch. Items are not longer than their
    /// lists, which are stored.
    fn is_item_of_batch(&mut self, args: &[Compiled]) -> bool {
        match args.split_first() {
            Some((Compiled::Var(list), others)) => {
                (self.known)(*list).is_none() && others.iter().all(|arg| self.node(arg).is_some())
            }
            _ => false,
        }
    }

    /// A call for which there is a kernel.
    fn kernel(&mut self, kind: Kind, function: &Function, args: &[Compiled]) -> Option<Node> {
        match (kind, args) {
            (Kind::Compare(by), [a, b]) => {
                Some(Node::Compare(by, Box::new([self.node(a)?, self.node(b)?])))
            }
            (Kind::Add | Kind::Sub | Kind::Mul | Kind::Div, [a, b]) => {
                let by = match kind {
                    Kind::Add => Binary::Add,
                    Kind::Sub => Binary::Sub,
                    Kind::Mul => Binary::Mul,
                    _ => Binary::Div,
                };
                Some(Node::Binary(by, Box::new([self.node(a)?, self.node(b)?])))
            }
            (Kind::And, args) => Some(Node::And(self.nodes(args)?)),
            (Kind::Or, args) => Some(Node::Or(self.nodes(args)?)),
            (Kind::Coalesce, args) => Some(Node::Coalesce(self.nodes(args)?)),
            (Kind::If | Kind::Cond, args) => {
                let (pairs, rest) = args.as_chunks::<2>();
                let pair =
                    |pair: &[Compiled; 2]| Some((self.node(&pair[0])?, self.node(&pair[1])?));
                let pairs = pairs.iter().map(pair).collect::<Option<Vec<_>>>()?;
                let otherwise = match (kind, rest) {
                    (Kind::If, [otherwise]) => Some(Box::new(self.node(otherwise)?)),
                    _ => None,
                };
                Some(Node::If(pairs, otherwise))
            }
            (Kind::IsIn, [item, list]) => {
                let item = self.node(item)?;
                let list = match list {
                    Compiled::Const(list) => *list,
                    _ => return None,
                };
                Some(Node::IsIn(Box::new(item), self.set(list)?))
            }
            (Kind::Plain, args) => self.plain(function.name, args),
            _ => None,
        }
    }

    fn plain(&mut self, name: &str, args: &[Compiled]) -> Option<Node> {
        match args {
            [arg] => {
                let arg = Box::new(self.node(arg)?);
                if let Some(by) = Unary::of(name) {
                    return Some(Node::Unary(by, arg));
                }
                if let Some(by) = TextChange::of(name) {
                    return Some(Node::Change(by, arg));
                }
                match name {
                    "negate" => Some(Node::Not(arg)),
                    "is_null" => Some(Node::IsNull(arg)),
                    "length" => Some(Node::Length(arg)),
                    _ => None,
                }
            }
            [a, b] if name == "mod" => {
                Some(Node::Binary(Binary::Mod, Box::new([self.node(a)?, self.node(b)?])))
            }
            [text, part] => {
                let text = Box::new(self.node(text)?);
                let Some(Node::Text(part)) = self.node(part) else { return None };
                let test = match name {
                    "starts_with" => TextTest::StartsWith(part),
                    "ends_with" => TextTest::EndsWith(part),
                    "str_includes" => TextTest::Includes(Box::new(
                        memmem::Finder::new(part.as_bytes()).into_owned(),
                    )),
                    "regex_matches" => {
                        TextTest::Matches(Pattern::new(&part, self.computer.ambient).ok()?)
                    }
                    _ => return None,
                };
                Some(Node::Test(test, text))
            }
            _ => None,
        }
    }

    fn nodes(&mut self, exprs: &[Compiled]) -> Option<Vec<Node>> {
        exprs.iter().map(|expr| self.node(expr)).collect()
    }

    /// The set of a constant list.
    fn set(&mut self, list: Cell) -> Option<Arc<ListSet>> {
        if let Some(set) = self.sets.get(&list) {
            return Some(Arc::clone(set));
        }
        let ambient: &dyn FunctionContext = self.computer.ambient;
        let interner = self.computer.interner;
        let set = interner.with(list, |list| match list {
            Value::List(items) => {
                ambient.request_memory(ListSet::bytes(items) + interner.bytes()).ok()?;
                Some(Arc::new(ListSet::new(items)))
            }
            _ => None,
        })?;
        self.sets.insert(list, Arc::clone(&set));
        Some(set)
    }
}

/// The node of a known value; `None` if it is long or has a kind that no typed column has.
pub(crate) fn known(cell: Cell, interner: &Interner) -> Option<Node> {
    interner.with(cell, |value| match value {
        Value::Null => Some(Node::Null),
        Value::Bool(bool) => Some(Node::Bool(*bool)),
        Value::Int(int) => Some(Node::Int(*int)),
        Value::Float(float) => Some(Node::Float(*float)),
        Value::Str(text) if text.len() < LONG_BYTES => Some(Node::Text(text.clone())),
        _ => None,
    })
}

fn is_deterministic(expr: &Compiled) -> bool {
    match expr {
        Compiled::Const(_) | Compiled::Var(_) => true,
        Compiled::Call { function, args, .. } => {
            function.deterministic && args.iter().all(is_deterministic)
        }
        Compiled::Path { calls, .. } => is_deterministic(calls),
    }
}
