//! Compiles and evaluates expressions over rows of cells.
//!
//! # Why row by row
//! `if`, `cond`, `and`, `or` and `coalesce` must not evaluate arguments that they do not need:
//! `if(x != 0, y / x)` is not an error. A tree walk with shortcuts for numbers costs some ten
//! nanoseconds per node; conditions with a larger effect were pushed into key ranges during
//! planning.
//!
//! # Invariants
//! 1. Intermediate values of an expression are not interned; they are freed when its value is made
//!    (`meter.rs`).

pub mod batch;
mod json_path;
pub(crate) mod list_item;
pub(crate) mod meter;

use crate::batch_size::ROWS_A_LOOK;
use crate::error::{Error, Result};
use crate::expr::batch::{Bindings, NoRows, Rows};
use crate::expr::meter::Meter;
use crate::value::cell::{Cell, Interner, Sought, select_small_ints};
use function::{Failure, Function, FunctionContext, UNASKED_BYTES, bytes_of};
use model::{JsonStep, Value};
use plan::{Expr, VarId};
use syntax::Span;

/// An expression that is ready for evaluation.
#[derive(Clone, Debug)]
pub enum Compiled {
    /// A constant.
    Const(Cell),
    /// The column of a variable.
    Var(VarId),
    /// A function call.
    Call {
        /// How the call is evaluated.
        kind: Kind,
        /// The function.
        function: &'static Function,
        /// Its arguments.
        args: Vec<Compiled>,
        /// Its place in the script.
        span: Span,
    },
    /// Calls of `maybe_get` with constant steps: a path into JSON.
    Path {
        /// The document.
        of: Box<Compiled>,
        /// The steps.
        steps: Vec<JsonStep>,
        /// The calls, which decide where the document is no JSON.
        calls: Box<Compiled>,
    },
}

/// How a call is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By the function.
    Plain,
    /// Strings directly, others by the function.
    Concat,
    /// Numbers directly, others by the function.
    Add,
    /// As `Add`.
    Sub,
    /// As `Add`.
    Mul,
    /// As `Add`.
    Div,
    /// Compares numbers directly.
    Compare(Comparison),
    /// Evaluates arguments as needed.
    And,
    /// As `And`.
    Or,
    /// As `And`.
    Coalesce,
    /// As `And`.
    If,
    /// As `And`.
    Cond,
    /// By a hash table of the list if it is constant, otherwise by the function.
    IsIn,
    /// An item of a list, without a copy of the list. Others by the function.
    Item,
}

impl Kind {
    /// Whether argument `i` is evaluated only if those before it require it.
    fn is_lazy(self, i: usize) -> bool {
        i > 0 && matches!(self, Self::And | Self::Or | Self::Coalesce | Self::If | Self::Cond)
    }
}

/// A comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Eq,
    /// `!=`
    Neq,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Comparison {
    /// The comparison that holds of the sides exchanged.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Eq | Self::Neq => self,
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
        }
    }
}

/// The value of a call of `args` arguments that are evaluated as needed: by `arg`, or by `truth` as
/// a truth value.
#[inline]
fn lazy(
    kind: Kind,
    args: usize,
    arg: impl Fn(usize) -> Result<Made>,
    truth: impl Fn(usize) -> Result<bool>,
) -> Result<Made> {
    match kind {
        Kind::And | Kind::Or => {
            for i in 0..args {
                if truth(i)? == (kind == Kind::Or) {
                    return Ok(Made::Cell(Cell::bool(kind == Kind::Or)));
                }
            }
            Ok(Made::Cell(Cell::bool(kind == Kind::And)))
        }
        Kind::Coalesce => {
            for i in 0..args {
                match arg(i)? {
                    Made::Cell(Cell::NULL) => {}
                    made => return Ok(made),
                }
            }
            Ok(Made::Cell(Cell::NULL))
        }
        _ => {
            let mut i = 0;
            while i + 1 < args {
                if truth(i)? {
                    return arg(i + 1);
                }
                i += 2;
            }
            let otherwise = i < args && kind == Kind::If;
            if otherwise { arg(i) } else { Ok(Made::Cell(Cell::NULL)) }
        }
    }
}

/// Evaluates expressions of one query.
pub struct Computer<'a> {
    /// Interner of the query.
    pub interner: &'a Interner,
    /// Parameters of the query, by number.
    pub parameters: &'a [Cell],
    /// Clock and randomness.
    pub ambient: &'a dyn FunctionContext,
    meter: Meter<'a>,
}

/// The value of a part of an expression.
#[derive(Clone, Debug)]
pub enum Made {
    /// A value that its cell holds, or that is interned.
    Cell(Cell),
    /// A value that does not fit a cell and is not interned yet.
    Value(Value),
}

impl Made {
    /// Its cell; interns the value where needed.
    pub(crate) fn into_cell(self, interner: &Interner) -> Cell {
        match self {
            Self::Cell(cell) => cell,
            Self::Value(value) => interner.take(value),
        }
    }

    /// A value, as a cell if it fits one.
    pub(crate) fn of(value: Value) -> Self {
        match crate::value::cell::inline(&value) {
            Some(cell) => Self::Cell(cell),
            None => Self::Value(value),
        }
    }
}

impl<'a> Computer<'a> {
    /// For expressions without rows.
    pub fn new(
        interner: &'a Interner,
        parameters: &'a [Cell],
        ambient: &'a dyn FunctionContext,
    ) -> Self {
        Self { interner, parameters, ambient, meter: Meter::new(ambient, interner) }
    }

    /// Compiles an expression, and evaluates deterministic calls of constants.
    ///
    /// # Errors
    /// A call of constants that fails, unless it may never be evaluated.
    pub fn compile(&self, expr: &Expr) -> Result<Compiled> {
        self.compile_at(expr, false)
    }

    /// `is_lazy` says whether an argument before it decides if the expression is evaluated.
    fn compile_at(&self, expr: &Expr, is_lazy: bool) -> Result<Compiled> {
        Ok(match expr {
            Expr::Const(value) => Compiled::Const(self.interner.cell(value)),
            Expr::Param(number) => Compiled::Const(self.parameters[*number]),
            Expr::Var(var) => Compiled::Var(*var),
            Expr::Call(function, args, span) => {
                let kind = kind_of(function.name);
                let mark = self.interner.mark();
                let args = args.iter().enumerate();
                let args = args.map(|(i, arg)| self.compile_at(arg, is_lazy || kind.is_lazy(i)));
                let args = args.collect::<Result<Vec<_>>>()?;
                let is_known = args.iter().all(|arg| matches!(arg, Compiled::Const(_)));
                let call = Compiled::Call { kind, function, args, span: *span };
                if !is_known || !function.deterministic {
                    return Ok(self.as_path(call));
                }
                match self.compute(&call, &NoRows, 0) {
                    Ok(cell) => {
                        if self.interner.bytes() > mark.bytes() + UNASKED_BYTES {
                            // The arguments are not needed any more.
                            self.interner.sweep(&mark, &mut |keep| keep(cell));
                        }
                        Compiled::Const(cell)
                    }
                    Err(_) if is_lazy => call,
                    Err(error) => return Err(error),
                }
            }
        })
    }

    /// The value of an expression without variables.
    ///
    /// # Errors
    /// Those of its functions.
    pub fn known(&self, expr: &Expr) -> Result<Value> {
        Ok(self.interner.value(self.known_cell(expr)?))
    }

    /// The value of an expression without variables, as a cell.
    ///
    /// # Errors
    /// Those of its functions.
    pub fn known_cell(&self, expr: &Expr) -> Result<Cell> {
        self.compute(&self.compile(expr)?, &NoRows, 0)
    }

    /// The value for one row.
    ///
    /// # Errors
    /// Those of its functions.
    pub fn compute(&self, expr: &Compiled, rows: &dyn Rows, row: usize) -> Result<Cell> {
        match expr {
            Compiled::Const(cell) => Ok(*cell),
            Compiled::Var(var) => Ok(rows.cell(*var, row)),
            Compiled::Call { .. } | Compiled::Path { .. } => {
                let made = self.make(expr, rows, row)?;
                Ok(self.cell_of(made))
            }
        }
    }

    /// As `compute`; a new value is not interned.
    ///
    /// # Errors
    /// Those of its functions.
    pub(crate) fn make(&self, expr: &Compiled, rows: &dyn Rows, row: usize) -> Result<Made> {
        self.meter.set_held_bytes(0);
        self.part(expr, rows, row)
    }

    /// The value of an expression inside of another one.
    fn part(&self, expr: &Compiled, rows: &dyn Rows, row: usize) -> Result<Made> {
        let (kind, function, args, span) = match expr {
            Compiled::Const(cell) => return Ok(Made::Cell(*cell)),
            Compiled::Var(var) => return rows.made(*var, row),
            Compiled::Call { kind, function, args, span } => (*kind, function, args, *span),
            Compiled::Path { of, steps, calls } => {
                return match self.at_path(of, steps, rows, row)? {
                    Some(made) => Ok(made),
                    None => self.part(calls, rows, row),
                };
            }
        };
        let held_bytes = self.meter.held_bytes();
        let arg = |i: usize| self.part(&args[i], rows, row);
        match kind {
            Kind::Plain => {}
            Kind::And | Kind::Or | Kind::Coalesce | Kind::If | Kind::Cond => {
                let truth =
                    |i: usize| self.truth(self.cell_of(arg(i)?), function.name, args[i].span(span));
                return lazy(kind, args.len(), arg, truth);
            }
            Kind::Compare(comparison) if args.len() == 2 => {
                let (a, b) = (arg(0)?, arg(1)?);
                if let (&Made::Cell(a), &Made::Cell(b)) = (&a, &b)
                    && let Some(answer) = compare(comparison, a, b)
                {
                    return Ok(Made::Cell(Cell::bool(answer)));
                }
                return self.call(function, [a, b].into_iter().map(Ok), held_bytes, span);
            }
            Kind::Add | Kind::Sub | Kind::Mul | Kind::Div if args.len() == 2 => {
                let (a, b) = (arg(0)?, arg(1)?);
                if let (&Made::Cell(a), &Made::Cell(b)) = (&a, &b)
                    && let Some(answer) = self.arithmetic(kind, a, b)
                {
                    return Ok(Made::Cell(answer));
                }
                return self.call(function, [a, b].into_iter().map(Ok), held_bytes, span);
            }
            Kind::IsIn
                if let [_, Compiled::Const(list)] = args.as_slice()
                    && self.interner.with(*list, |list| matches!(list, Value::List(_))) =>
            {
                return self.is_in(&arg(0)?, *list, held_bytes, span);
            }
            Kind::Item if let Some(item) = self.item_of_list(function.name, args, rows, row)? => {
                return Ok(self.made(item, held_bytes));
            }
            Kind::Concat => {
                let made = (0..args.len()).map(arg).collect::<Result<Vec<_>>>()?;
                let joined = self.joined(&made);
                if let Some(text) = joined.map_err(|failure| Error::failed(failure, span))? {
                    return Ok(self.made(text, held_bytes));
                }
                return self.call(function, made.into_iter().map(Ok), held_bytes, span);
            }
            _ => {}
        }
        if let [_] = args.as_slice() {
            return self.call_with_one(function, arg(0)?, held_bytes, span);
        }
        self.call(function, (0..args.len()).map(arg), held_bytes, span)
    }

    /// Whether a constant list has an item.
    #[inline]
    fn is_in(&self, item: &Made, list: Cell, held_bytes: u64, span: Span) -> Result<Made> {
        let sought = match item {
            Made::Cell(cell) => Sought::Cell(*cell),
            Made::Value(value) => Sought::Value(value),
        };
        let found = self.interner.has_item(list, sought, &self.meter);
        let found = found.map_err(|failure| Error::failed(failure, span))?;
        self.meter.set_held_bytes(held_bytes);
        Ok(Made::Cell(Cell::bool(found == Some(true))))
    }

    /// Calls a function of one argument. An interned one is passed by reference, without a copy.
    #[inline]
    fn call_with_one(
        &self,
        function: &Function,
        arg: Made,
        held_bytes: u64,
        span: Span,
    ) -> Result<Made> {
        match arg {
            Made::Cell(cell) => {
                let call = |arg: &Value| function.compute(std::slice::from_ref(arg), &self.meter);
                let found = self.interner.with(cell, call);
                let found = found.map_err(|failure| Error::failed(failure, span))?;
                Ok(self.made(found, held_bytes))
            }
            made => self.call(function, [made].into_iter().map(Ok), held_bytes, span),
        }
    }

    /// Indexes of the rows in which a condition is true.
    ///
    /// # Errors
    /// Those of its functions; a condition without a truth value, reported at `span`.
    pub(crate) fn select(&self, expr: &Compiled, input: &Bindings, span: Span) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(input.rows);
        // Most conditions compare a column with a constant, or two columns: those need no tree
        // walk.
        let quick = match expr {
            Compiled::Call { kind: Kind::Compare(comparison), args, .. } => match args.as_slice() {
                [a, b] => Operand::new(a, input)
                    .zip(Operand::new(b, input))
                    .map(|(a, b)| (*comparison, a, b)),
                _ => None,
            },
            _ => None,
        };
        if let Some((by, a, b)) = &quick
            && select_small(*by, a, b, input.rows, &mut kept)
        {
            return Ok(kept);
        }
        for row in 0..input.rows {
            if row % ROWS_A_LOOK == ROWS_A_LOOK - 1 {
                self.go_on(span)?;
            }
            let known =
                quick.as_ref().and_then(|(by, a, b)| compare(*by, a.cell(row), b.cell(row)));
            let is_true = match known {
                Some(is_true) => is_true,
                None => self.truth(self.compute(expr, input, row)?, "a condition", span)?,
            };
            if is_true {
                kept.push(row as u32);
            }
        }
        Ok(kept)
    }

    /// The truth value of a cell.
    ///
    /// # Errors
    /// The cell is not a truth value.
    pub fn truth(&self, cell: Cell, of: &str, span: Span) -> Result<bool> {
        cell.as_bool().ok_or_else(|| {
            let found = self.interner.value(cell);
            let kind = found.kind();
            let found = match found {
                Value::Null => "null".to_owned(),
                other => format!("{kind} ({other})"),
            };
            Error::value(format!("{of}: expected a Bool, found {found}"), span)
        })
    }

    fn arithmetic(&self, kind: Kind, a: Cell, b: Cell) -> Option<Cell> {
        if let (Some(a), Some(b)) = (a.as_small_int(), b.as_small_int()) {
            return match kind {
                Kind::Add => Some(self.interner.int(a + b)),
                Kind::Sub => Some(self.interner.int(a - b)),
                Kind::Mul => a.checked_mul(b).map(|int| self.interner.int(int)),
                _ => Some(self.interner.float(one_nan(a as f64 / b as f64))),
            };
        }
        let float = |cell: Cell| {
            cell.as_plain_float().or_else(|| cell.as_small_int().map(|int| int as f64))
        };
        let (a, b) = (float(a)?, float(b)?);
        Some(self.interner.float(one_nan(match kind {
            Kind::Add => a + b,
            Kind::Sub => a - b,
            Kind::Mul => a * b,
            _ => a / b,
        })))
    }

    /// Calls a function; `held_bytes` were held before its arguments were evaluated.
    fn call(
        &self,
        function: &Function,
        args: impl ExactSizeIterator<Item = Result<Made>>,
        held_bytes: u64,
        span: Span,
    ) -> Result<Made> {
        let failed = |failure| Error::failed(failure, span);
        let mut values = Vec::with_capacity(args.len());
        for made in args {
            values.push(match made? {
                Made::Cell(cell) => self.interner.copy(cell, &self.meter).map_err(failed)?,
                Made::Value(value) => value,
            });
        }
        let found = function.compute(&values, &self.meter).map_err(failed)?;
        Ok(self.made(found, held_bytes))
    }

    /// The result of a function whose arguments are freed; `held_bytes` were held before they were
    /// evaluated.
    fn made(&self, value: Value, held_bytes: u64) -> Made {
        let value = match value {
            Value::Float(float) => Value::Float(one_nan(float)),
            value => value,
        };
        let made = Made::of(value);
        let more = match &made {
            Made::Value(value) => bytes_of(value),
            Made::Cell(_) => 0,
        };
        self.meter.set_held_bytes(held_bytes + more);
        made
    }

    /// Concatenates strings without copying them first; `None` if an argument is not a string.
    fn joined(&self, parts: &[Made]) -> std::result::Result<Option<Value>, Failure> {
        let mut bytes = 0;
        for part in parts {
            let len = match part {
                Made::Value(Value::Str(text)) => Some(text.len()),
                Made::Value(_) => None,
                Made::Cell(cell) => self.interner.with_text(*cell, str::len),
            };
            let Some(len) = len else { return Ok(None) };
            bytes += len;
        }
        if bytes as u64 >= UNASKED_BYTES {
            self.meter.request_memory(bytes as u64)?;
        }
        let mut joined = String::new();
        if joined.try_reserve_exact(bytes).is_err() {
            return Err(Failure::limit(format!(
                "a text of {bytes} bytes is more than there is memory for"
            )));
        }
        for part in parts {
            match part {
                Made::Value(Value::Str(text)) => joined.push_str(text),
                Made::Value(_) => {}
                Made::Cell(cell) => {
                    self.interner.with_text(*cell, |text| joined.push_str(text));
                }
            }
        }
        Ok(Some(Value::Str(joined)))
    }

    /// Asks whether the query may continue.
    ///
    /// # Errors
    /// The errors that stop the query.
    pub(crate) fn go_on(&self, span: Span) -> Result<()> {
        self.ambient.check_cancelled().map_err(|failure| Error::failed(failure, span))
    }

    /// Interns a part's value where needed, and returns its cell.
    pub(crate) fn cell_of(&self, made: Made) -> Cell {
        made.into_cell(self.interner)
    }

    /// The value of a part.
    pub(crate) fn value_of(&self, made: Made) -> Value {
        match made {
            Made::Cell(cell) => self.interner.value(cell),
            Made::Value(value) => value,
        }
    }
}

/// A side of a comparison that needs no evaluation.
enum Operand<'b> {
    Column(&'b [Cell]),
    Known(Cell),
    /// The column's cell, or the constant where that is null.
    Otherwise(&'b [Cell], Cell),
}

impl<'b> Operand<'b> {
    fn new(expr: &Compiled, input: &'b Bindings) -> Option<Self> {
        Some(match expr {
            Compiled::Var(var) => Self::Column(&input.columns[*var]),
            Compiled::Const(cell) => Self::Known(*cell),
            Compiled::Call { kind: Kind::Coalesce, args, .. } => match args.as_slice() {
                [Compiled::Var(var), Compiled::Const(cell)] => {
                    Self::Otherwise(&input.columns[*var], *cell)
                }
                _ => return None,
            },
            Compiled::Call { .. } | Compiled::Path { .. } => return None,
        })
    }

    #[inline]
    fn cell(&self, row: usize) -> Cell {
        match self {
            Self::Column(column) => column[row],
            Self::Known(cell) => *cell,
            Self::Otherwise(column, other) => match column[row] {
                Cell::NULL => *other,
                cell => cell,
            },
        }
    }
}

impl Compiled {
    /// Calls `visit` with each constant cell.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(Cell)) {
        match self {
            Self::Const(cell) => visit(*cell),
            Self::Var(_) => {}
            Self::Call { args, .. } => args.iter().for_each(|arg| arg.each_cell(visit)),
            Self::Path { calls, .. } => calls.each_cell(visit),
        }
    }

    fn span(&self, otherwise: Span) -> Span {
        match self {
            Self::Call { span, .. } => *span,
            Self::Path { calls, .. } => calls.span(otherwise),
            _ => otherwise,
        }
    }
}

/// Appends the rows for which a comparison holds. Returns false, without rows, if an operand is not
/// a small integer.
fn select_small(
    by: Comparison,
    a: &Operand<'_>,
    b: &Operand<'_>,
    rows: usize,
    kept: &mut Vec<u32>,
) -> bool {
    /// Matches on the operands once, outside of the loop over rows.
    fn by_operands(
        a: &Operand<'_>,
        b: &Operand<'_>,
        rows: usize,
        holds: impl Fn(i64, i64) -> bool,
        kept: &mut Vec<u32>,
    ) -> bool {
        let or = |cell: Cell, other: Cell| if cell == Cell::NULL { other } else { cell };
        match (a, b) {
            (Operand::Column(a), &Operand::Known(b)) => {
                select_small_ints(a.iter().map(|&a| (a, b)), holds, rows, kept)
            }
            (&Operand::Known(a), Operand::Column(b)) => {
                select_small_ints(b.iter().map(|&b| (a, b)), holds, rows, kept)
            }
            (&Operand::Otherwise(a, other), &Operand::Known(b)) => {
                select_small_ints(a.iter().map(|&a| (or(a, other), b)), holds, rows, kept)
            }
            _ => {
                let cells = (0..rows).map(|row| (a.cell(row), b.cell(row)));
                select_small_ints(cells, holds, rows, kept)
            }
        }
    }
    match by {
        Comparison::Eq => by_operands(a, b, rows, |a, b| a == b, kept),
        Comparison::Neq => by_operands(a, b, rows, |a, b| a != b, kept),
        Comparison::Lt => by_operands(a, b, rows, |a, b| a < b, kept),
        Comparison::Le => by_operands(a, b, rows, |a, b| a <= b, kept),
        Comparison::Gt => by_operands(a, b, rows, |a, b| a > b, kept),
        Comparison::Ge => by_operands(a, b, rows, |a, b| a >= b, kept),
    }
}

fn compare(comparison: Comparison, a: Cell, b: Cell) -> Option<bool> {
    let order = match (a.as_small_int(), b.as_small_int()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_plain_float()?.partial_cmp(&b.as_plain_float()?)?,
    };
    Some(comparison.of(order))
}

fn kind_of(name: &str) -> Kind {
    match name {
        "add" => Kind::Add,
        "sub" => Kind::Sub,
        "mul" => Kind::Mul,
        "div" => Kind::Div,
        "eq" => Kind::Compare(Comparison::Eq),
        "neq" => Kind::Compare(Comparison::Neq),
        "lt" => Kind::Compare(Comparison::Lt),
        "le" => Kind::Compare(Comparison::Le),
        "gt" => Kind::Compare(Comparison::Gt),
        "ge" => Kind::Compare(Comparison::Ge),
        "and" => Kind::And,
        "or" => Kind::Or,
        "coalesce" => Kind::Coalesce,
        "if" => Kind::If,
        "cond" => Kind::Cond,
        "concat" => Kind::Concat,
        "is_in" => Kind::IsIn,
        name if list_item::is_item_of_list(name) => Kind::Item,
        _ => Kind::Plain,
    }
}

/// Normalizes NaN to the one that sorts after all numbers: 0/0 gives one with the other sign on
/// some machines, which would sort before them.
pub fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}
