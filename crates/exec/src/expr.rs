//! Expressions over rows of cells.
//!
//! # Why row by row
//! `if`, `cond`, `and`, `or` and `coalesce` must not compute what they do not take: `if(x != 0, y / x)` is no error. A tree walk
//! with quick ways for numbers costs some ten nanoseconds a node; what is worth more was pushed into ranges of keys.

use crate::bindings::Bindings;
use crate::cell::{Cell, Interner, select_small_ints};
use crate::error::{Error, Result};
use function::{Ambient, Function};
use model::Value;
use plan::Expr;
use syntax::Span;

/// An expression ready to be computed.
#[derive(Clone, Debug)]
pub(crate) enum Compiled {
    /// A known cell.
    Const(Cell),
    /// A variable's column.
    Var(usize),
    /// A call.
    Call {
        /// The quick or lazy way, if there is one.
        kind: Kind,
        /// The function.
        function: &'static Function,
        /// Its arguments.
        args: Vec<Compiled>,
        /// Where it is written.
        span: Span,
    },
}

/// How a call is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// By the function.
    Plain,
    /// Numbers at once, others by the function.
    Add,
    /// As above.
    Sub,
    /// As above.
    Mul,
    /// As above.
    Div,
    /// Compares numbers at once.
    Compare(Comparison),
    /// Lazily.
    And,
    /// Lazily.
    Or,
    /// Lazily.
    Coalesce,
    /// Lazily.
    If,
    /// Lazily.
    Cond,
}

impl Kind {
    /// Whether argument `i` is computed only where those before it ask for it.
    fn is_lazy(self, i: usize) -> bool {
        i > 0 && matches!(self, Self::And | Self::Or | Self::Coalesce | Self::If | Self::Cond)
    }
}

/// A comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
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

/// Columns that expressions read.
pub(crate) trait Rows {
    /// The cell of a variable in a row.
    fn cell(&self, var: usize, row: usize) -> Cell;
}

/// Rows for expressions without variables.
pub(crate) struct NoRows;

impl Rows for NoRows {
    fn cell(&self, _: usize, _: usize) -> Cell {
        Cell::NULL
    }
}

/// What expressions are computed with.
pub(crate) struct Computer<'a> {
    /// Of the query.
    pub interner: &'a Interner,
    /// Of the query, by number.
    pub parameters: &'a [Cell],
    /// The world outside.
    pub ambient: &'a dyn Ambient,
}

impl Computer<'_> {
    /// Makes an expression ready; calls of known values that always give the same become known.
    ///
    /// # Errors
    /// A call of known values that fails, unless it stands where it may never be computed.
    pub(crate) fn compile(&self, expr: &Expr) -> Result<Compiled> {
        self.compile_at(expr, false)
    }

    /// `is_lazy`: what stands before the expression decides whether it is computed at all.
    fn compile_at(&self, expr: &Expr, is_lazy: bool) -> Result<Compiled> {
        Ok(match expr {
            Expr::Const(value) => Compiled::Const(self.interner.cell(value)),
            Expr::Param(number) => Compiled::Const(self.parameters[*number]),
            Expr::Var(var) => Compiled::Var(*var),
            Expr::Call(function, args, span) => {
                let kind = kind_of(function.name);
                let args = args.iter().enumerate();
                let args = args.map(|(i, arg)| self.compile_at(arg, is_lazy || kind.is_lazy(i)));
                let args = args.collect::<Result<Vec<_>>>()?;
                let is_known = args.iter().all(|arg| matches!(arg, Compiled::Const(_)));
                let call = Compiled::Call { kind, function, args, span: *span };
                if !is_known || !function.deterministic {
                    return Ok(call);
                }
                match self.compute(&call, &NoRows, 0) {
                    Ok(cell) => Compiled::Const(cell),
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
    pub(crate) fn known(&self, expr: &Expr) -> Result<Value> {
        Ok(self.interner.value(self.known_cell(expr)?))
    }

    /// The same, as a cell.
    ///
    /// # Errors
    /// Those of its functions.
    pub(crate) fn known_cell(&self, expr: &Expr) -> Result<Cell> {
        self.compute(&self.compile(expr)?, &NoRows, 0)
    }

    /// The value in one row.
    ///
    /// # Errors
    /// Those of its functions.
    pub(crate) fn compute(&self, expr: &Compiled, rows: &dyn Rows, row: usize) -> Result<Cell> {
        let (kind, function, args, span) = match expr {
            Compiled::Const(cell) => return Ok(*cell),
            Compiled::Var(var) => return Ok(rows.cell(*var, row)),
            Compiled::Call { kind, function, args, span } => (*kind, function, args, *span),
        };
        let arg = |i: usize| self.compute(&args[i], rows, row);
        match kind {
            Kind::Plain => {}
            Kind::And | Kind::Or => {
                for (i, operand) in args.iter().enumerate() {
                    let cell = arg(i)?;
                    match self.truth(cell, function.name, operand.span(span))? {
                        is if is == (kind == Kind::Or) => return Ok(Cell::bool(is)),
                        _ => {}
                    }
                }
                return Ok(Cell::bool(kind == Kind::And));
            }
            Kind::Coalesce => {
                for i in 0..args.len() {
                    let cell = arg(i)?;
                    if cell != Cell::NULL {
                        return Ok(cell);
                    }
                }
                return Ok(Cell::NULL);
            }
            Kind::If | Kind::Cond => {
                let mut i = 0;
                while i + 1 < args.len() {
                    let cell = arg(i)?;
                    if self.truth(cell, function.name, args[i].span(span))? {
                        return arg(i + 1);
                    }
                    i += 2;
                }
                return if i < args.len() && kind == Kind::If { arg(i) } else { Ok(Cell::NULL) };
            }
            Kind::Compare(comparison) if args.len() == 2 => {
                let (a, b) = (arg(0)?, arg(1)?);
                if let Some(answer) = compare(comparison, a, b) {
                    return Ok(Cell::bool(answer));
                }
                return self.call(function, &[a, b], span);
            }
            Kind::Add | Kind::Sub | Kind::Mul | Kind::Div if args.len() == 2 => {
                let (a, b) = (arg(0)?, arg(1)?);
                if let Some(answer) = self.arithmetic(kind, a, b) {
                    return Ok(answer);
                }
                return self.call(function, &[a, b], span);
            }
            _ => {}
        }
        let mut cells = Vec::with_capacity(args.len());
        for i in 0..args.len() {
            cells.push(arg(i)?);
        }
        self.call(function, &cells, span)
    }

    /// Numbers of the rows in which a condition is true.
    ///
    /// # Errors
    /// Those of its functions; a condition that has no truth value, said to be at `span`.
    pub(crate) fn select(&self, expr: &Compiled, input: &Bindings, span: Span) -> Result<Vec<u32>> {
        let mut kept = Vec::with_capacity(input.rows);
        // Most conditions compare a column with a value, or two columns: those need no walk through a tree.
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

    /// Whether a cell is true.
    ///
    /// # Errors
    /// Where it is no truth value.
    pub(crate) fn truth(&self, cell: Cell, of: &str, span: Span) -> Result<bool> {
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

    fn call(&self, function: &Function, args: &[Cell], span: Span) -> Result<Cell> {
        let values = self.interner.values(args, self.ambient);
        match values.and_then(|args| (function.call)(&args, self.ambient)) {
            Ok(Value::Float(float)) => Ok(self.interner.float(one_nan(float))),
            Ok(value) => Ok(self.interner.take(value)),
            Err(failure) => Err(Error::failed(failure, span)),
        }
    }
}

/// One side of a comparison that is there without computing.
enum Operand<'b> {
    Column(&'b [Cell]),
    Known(Cell),
    /// The column's cell, or the other one where it is null.
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
            Compiled::Call { .. } => return None,
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
    fn span(&self, otherwise: Span) -> Span {
        match self {
            Self::Call { span, .. } => *span,
            _ => otherwise,
        }
    }
}

/// Appends the rows for which a comparison holds, where all that is compared are small integers; whether it did.
fn select_small(
    by: Comparison,
    a: &Operand<'_>,
    b: &Operand<'_>,
    rows: usize,
    kept: &mut Vec<u32>,
) -> bool {
    /// Looks at the operands once, so that the loop does not look at them for each row.
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
    Some(match comparison {
        Comparison::Eq => order.is_eq(),
        Comparison::Neq => order.is_ne(),
        Comparison::Lt => order.is_lt(),
        Comparison::Le => order.is_le(),
        Comparison::Gt => order.is_gt(),
        Comparison::Ge => order.is_ge(),
    })
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
        _ => Kind::Plain,
    }
}

/// What is computed has one NaN, after all numbers: 0/0 gives one of the other sign on some machines, which would be before.
pub(crate) fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}
