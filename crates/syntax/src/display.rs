//! Formats syntax trees as text. Parsing the text returns the same tree except for spans.
//!
//! Schemas store default expressions as this text. Databases hold texts of earlier versions, so the
//! format may change, but the parser must still read them.
//!
//! # Invariants
//! 1. Parentheses are written only where the text would be parsed differently without them.

use std::fmt::{Display, Formatter, Result};

use model::{Validity, Value, Vector};

use crate::ast::{Args, Atom, Expr, Formula, HeadItem, Ident, Rule};
use crate::operator::{self, Operator};

impl Display for Ident {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&crate::words::quote_name(&self.text))
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Inline { name, head, body, .. } => {
                write!(f, "{name}")?;
                separated(f, "[", head, "]", |f, item| write!(f, "{item}"))?;
                write!(f, " := {body}")
            }
            Self::Constant { name, head, data, .. } => {
                write!(f, "{name}")?;
                separated(f, "[", head, "]", |f, column| write!(f, "{column}"))?;
                write!(f, " <- {data}")
            }
            Self::Fixed { name, head, algorithm, inputs, options, .. } => {
                write!(f, "{name}")?;
                separated(f, "[", head, "]", |f, column| write!(f, "{column}"))?;
                write!(f, " <~ {algorithm}")?;
                separated(f, "(", inputs, "", |f, input| write!(f, "{input}"))?;
                let between = if inputs.is_empty() || options.is_empty() { "" } else { ", " };
                separated(f, between, options, ")", named)
            }
        }
    }
}

impl Display for HeadItem {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Some((aggregate, args)) = &self.aggregate else {
            return f.write_str(&self.variable.text);
        };
        // A variable has no backquotes, whatever its dots.
        write!(f, "{aggregate}({}", self.variable.text)?;
        let between = if args.is_empty() { "" } else { ", " };
        separated(f, between, args, ")", |f, arg| write!(f, "{arg}"))
    }
}

impl Display for Formula {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::And(parts) => separated(f, "", parts, "", |f, part| match part {
                Self::And(_) => write!(f, "({part})"),
                _ => write!(f, "{part}"),
            }),
            Self::Or(parts) => {
                for (i, part) in parts.iter().enumerate() {
                    f.write_str(if i == 0 { "" } else { " or " })?;
                    within(f, part)?;
                }
                Ok(())
            }
            Self::Not(inner, _) => {
                f.write_str("not ")?;
                within(f, inner)
            }
            Self::Atom(atom) => write!(f, "{atom}"),
        }
    }
}

/// Formats an operand of `or` or `not`, in parentheses if it is a conjunction or a disjunction.
fn within(f: &mut Formatter<'_>, part: &Formula) -> Result {
    match part {
        Formula::And(_) | Formula::Or(_) => write!(f, "({part})"),
        _ => write!(f, "{part}"),
    }
}

impl Display for Atom {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Rule { name, args, .. } => {
                write!(f, "{name}")?;
                separated(f, "[", args, "]", |f, arg| write!(f, "{arg}"))
            }
            Self::Stored { name, index, args, at, .. } => {
                write!(f, "*{name}")?;
                if let Some(index) = index {
                    write!(f, ":{index}")?;
                }
                let close = match args {
                    Args::Positional(args) => {
                        separated(f, "[", args, "", |f, arg| write!(f, "{arg}"))?;
                        "]"
                    }
                    Args::Named(args) => {
                        separated(f, "{", args, "", column)?;
                        "}"
                    }
                };
                if let Some(at) = at {
                    write!(f, " @ {at}")?;
                }
                f.write_str(close)
            }
            Self::Search { name, index, args, parameters, .. } => {
                write!(f, "~{name}:{index}")?;
                separated(f, "{", args, " | ", column)?;
                separated(f, "", parameters, "}", named)
            }
            Self::Condition(expr) => write!(f, "{expr}"),
            Self::Unify { variable, value } => write!(f, "{} = {value}", variable.text),
            Self::Member { variable, list } => write!(f, "{} in {list}", variable.text),
        }
    }
}

/// `column: expression`, or `column` if the variable has the same name.
fn column(f: &mut Formatter<'_>, (name, expr): &(Ident, Expr)) -> Result {
    match expr {
        Expr::Variable(variable) if variable.text == name.text => write!(f, "{name}"),
        _ => write!(f, "{name}: {expr}"),
    }
}

fn named(f: &mut Formatter<'_>, (name, expr): &(Ident, Expr)) -> Result {
    write!(f, "{name}: {expr}")
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Literal(value, _) => literal(f, value),
            // Neither has backquotes in an expression, whatever its dots.
            Self::Variable(name) => f.write_str(&name.text),
            Self::Parameter(name) => write!(f, "${}", name.text),
            Self::List(items, _) => separated(f, "[", items, "]", |f, item| write!(f, "{item}")),
            Self::Object(fields, _) => {
                separated(f, "{", fields, "}", |f, (name, value)| write!(f, "{name}: {value}"))
            }
            Self::Call { name, args, .. } => {
                if let Some(operator) = operator_of(self) {
                    return operation(f, operator, args);
                }
                match (prefix_of(self), args.as_slice()) {
                    (Some(prefix), [arg]) if operator_of(arg).is_some() => {
                        write!(f, "{prefix}({arg})")
                    }
                    (Some(prefix), [arg]) => write!(f, "{prefix}{arg}"),
                    _ => {
                        write!(f, "{name}")?;
                        separated(f, "(", args, ")", |f, arg| write!(f, "{arg}"))
                    }
                }
            }
        }
    }
}

/// The binary operator for this call, if there is one.
fn operator_of(expr: &Expr) -> Option<&'static Operator> {
    let Expr::Call { name, args, .. } = expr else { return None };
    let operator = operator::of_function(&name.text)?;
    let fits = args.len() == 2 || args.len() > 2 && operator.chains;
    fits.then_some(operator)
}

/// The prefix operator for this call, if there is one. A `-` before a number is part of the number.
fn prefix_of(expr: &Expr) -> Option<char> {
    let Expr::Call { name, args, .. } = expr else { return None };
    match (name.text.as_str(), args.as_slice()) {
        ("minus", [Expr::Literal(Value::Int(_) | Value::Id(_) | Value::Float(_), _)]) => None,
        ("minus", [_]) => Some('-'),
        ("negate", [_]) => Some('!'),
        _ => None,
    }
}

/// Formats a call as operands with the operator's symbol between them. An operand gets parentheses
/// if it binds less tightly than the operator, or equally and on the side that does not group.
fn operation(f: &mut Formatter<'_>, operator: &Operator, args: &[Expr]) -> Result {
    for (i, arg) in args.iter().enumerate() {
        let parentheses = operator_of(arg).is_some_and(|inner| {
            let as_tight = inner.tightness == operator.tightness;
            // An operand that is a chain of the same operator would become a part of this chain.
            let stays = if i == 0 {
                !(operator.right_associative || operator.chains && inner.kind == operator.kind)
            } else {
                operator.right_associative
            };
            inner.tightness < operator.tightness || as_tight && !stays
        });
        if i > 0 {
            write!(f, " {} ", operator.symbol)?;
        }
        if parentheses { write!(f, "({arg})")? } else { write!(f, "{arg}")? }
    }
    Ok(())
}

/// Formats a value as a literal, or as a call that returns it if its kind has no literals.
fn literal(f: &mut Formatter<'_>, value: &Value) -> Result {
    match value {
        Value::Float(float) if float.is_nan() => f.write_str("to_float(\"NAN\")"),
        Value::Float(float) if float.is_infinite() => {
            f.write_str(if *float > 0.0 { "1e999" } else { "-1e999" })
        }
        Value::List(items) => separated(f, "[", items, "]", literal),
        Value::Vector(Vector::F32(_)) => write!(f, "vec({value})"),
        Value::Vector(Vector::F64(_)) => write!(f, "vec({value}, \"F64\")"),
        Value::Uuid(_) => write!(f, "to_uuid(\"{value}\")"),
        Value::Date(_) => write!(f, "to_date(\"{value}\")"),
        Value::Timestamp(_) => write!(f, "to_timestamp(\"{value}\")"),
        Value::Duration(_) => write!(f, "to_duration(\"{value}\")"),
        Value::Decimal(_) => write!(f, "to_decimal(\"{value}\")"),
        Value::Json(json) => write!(f, "parse_json({})", Value::Str(json.as_str().to_owned())),
        Value::Validity(Validity { timestamp_us, assert }) => {
            write!(f, "validity({timestamp_us}, {assert})")
        }
        Value::Bytes(bytes) => write!(f, "decode_base64(\"{}\")", base64(bytes)),
        _ => write!(f, "{value}"),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, i| bits << 8 | u32::from(*group.get(i).unwrap_or(&0)));
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn separated<T>(
    f: &mut Formatter<'_>,
    open: &str,
    items: &[T],
    close: &str,
    show: impl Fn(&mut Formatter<'_>, &T) -> Result,
) -> Result {
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        f.write_str(if i == 0 { "" } else { ", " })?;
        show(f, item)?;
    }
    f.write_str(close)
}
