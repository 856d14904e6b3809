//! Parses expressions.
//!
//! # Why operators are kept on stacks
//! With one function per precedence level, every pair of brackets would take a dozen nested calls.
//! With two stacks only brackets recurse, and a long chain of operators does not.
//!
//! # Invariants
//! 1. No expression tree is deeper than [`LEVELS_MAX`], so it can be processed recursively.

use model::Value;

use crate::ast::{Expr, Ident, Span};
use crate::lexer::{Kind, Token};
use crate::literal;
use crate::operator::{self, Operator};
use crate::parser::{Parse, Parser};

/// Maximum nesting of calls, lists and objects in one expression.
const LEVELS_MAX: u32 = 256;

/// An expression with the state needed to combine it with operators.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) expr: Expr,
    /// Position, including parentheses.
    pub(crate) span: Span,
    /// Depth of the tree.
    pub(crate) levels: u32,
    /// The operator, if the operand is a chain such as `a + b` without parentheses. Then `+ c`
    /// extends it to one call with three arguments.
    pub(crate) chain: Option<Kind>,
}

impl Operand {
    /// An operand without operators.
    pub(crate) fn leaf(expr: Expr) -> Self {
        let span = expr.span();
        Self { expr, span, levels: 0, chain: None }
    }
}

impl Parser<'_> {
    pub(crate) fn expression(&mut self) -> Parse<Expr> {
        Ok(self.measured_expression()?.expr)
    }

    pub(crate) fn measured_expression(&mut self) -> Parse<Operand> {
        let first = self.operand()?;
        self.operations(first)
    }

    /// Parses the rest of an expression after its first operand.
    pub(crate) fn operations(&mut self, first: Operand) -> Parse<Operand> {
        if operator::of_kind(self.token.kind).is_none() {
            return Ok(first);
        }
        let mut done = vec![first];
        let mut waiting: Vec<(&Operator, Span)> = Vec::new();
        while let Some(next) = operator::of_kind(self.token.kind) {
            while let Some(&(last, span)) = waiting.last() {
                let waits = last.tightness < next.tightness
                    || last.tightness == next.tightness && next.right_associative;
                if waits {
                    break;
                }
                waiting.pop();
                self.apply(&mut done, last, span)?;
            }
            let token = self.bump();
            waiting.push((next, token.span));
            done.push(self.operand()?);
        }
        while let Some((last, span)) = waiting.pop() {
            self.apply(&mut done, last, span)?;
        }
        match done.pop() {
            Some(whole) => Ok(whole),
            None => Err(self.unexpected("an expression")),
        }
    }

    /// Combines the last two operands.
    fn apply(&mut self, done: &mut Vec<Operand>, operator: &Operator, at: Span) -> Parse<()> {
        let (Some(right), Some(left)) = (done.pop(), done.pop()) else {
            return Err(self.unexpected("an expression"));
        };
        let span = Span { start: left.span.start, end: right.span.end };
        let chain = operator.chains.then_some(operator.kind);
        let (expr, levels) = match left.expr {
            Expr::Call { name, mut args, .. } if chain.is_some() && left.chain == chain => {
                args.push(right.expr);
                (Expr::Call { name, args, span }, left.levels.max(right.levels + 1))
            }
            first => {
                let name = Ident { text: operator.function.to_owned(), span: at };
                let args = vec![first, right.expr];
                (Expr::Call { name, args, span }, 1 + left.levels.max(right.levels))
            }
        };
        self.note_levels(levels, LEVELS_MAX, at)?;
        done.push(Operand { expr, span, levels, chain });
        Ok(())
    }

    /// A term with its prefix operators `-` and `!`.
    fn operand(&mut self) -> Parse<Operand> {
        let mut prefixes: Vec<Token> = Vec::new();
        while matches!(self.token.kind, Kind::Minus | Kind::Bang) {
            let prefix = self.bump();
            prefixes.push(prefix);
            if prefix.kind == Kind::Bang && self.atom_follows() {
                let hint = "before an atom write `not`; `!` is for conditions";
                return Err(self.unexpected_with("an expression after `!`", Some(hint.to_owned())));
            }
        }
        let number = matches!(self.token.kind, Kind::Int | Kind::Float);
        let minus = prefixes.pop_if(|prefix| number && prefix.kind == Kind::Minus);
        let mut operand = match minus {
            Some(minus) => Operand::leaf(self.number(Some(minus.span))?),
            None => self.term()?,
        };
        while let Some(prefix) = prefixes.pop() {
            let function = if prefix.kind == Kind::Minus { "minus" } else { "negate" };
            let name = Ident { text: function.to_owned(), span: prefix.span };
            let span = Span { start: prefix.span.start, end: operand.span.end };
            let levels = operand.levels + 1;
            self.note_levels(levels, LEVELS_MAX, prefix.span)?;
            let expr = Expr::Call { name, args: vec![operand.expr], span };
            operand = Operand { expr, span, levels, chain: None };
        }
        Ok(operand)
    }

    /// Whether a relation is read here, which is not an expression.
    fn atom_follows(&self) -> bool {
        match self.token.kind {
            Kind::Star | Kind::Tilde => true,
            Kind::Word => self.ahead.kind == Kind::LeftBracket,
            _ => false,
        }
    }

    fn term(&mut self) -> Parse<Operand> {
        let token = self.token;
        match token.kind {
            Kind::Int | Kind::Float => Ok(Operand::leaf(self.number(None)?)),
            Kind::Quoted | Kind::Raw => {
                let text = self.text_literal()?;
                Ok(Operand::leaf(Expr::Literal(Value::Str(text), token.span)))
            }
            Kind::Parameter => {
                self.bump();
                let text = self.source(token.span).trim_start_matches('$').to_owned();
                Ok(Operand::leaf(Expr::Parameter(Ident { text, span: token.span })))
            }
            Kind::Word => self.word_term(),
            Kind::LeftBracket => self.nested(Self::list),
            Kind::LeftBrace => self.nested(Self::object),
            Kind::LeftParen => self.nested(|parser| {
                let open = parser.bump();
                let inside = parser.measured_expression()?;
                if !parser.eat(Kind::RightParen) {
                    return Err(parser.unclosed_parenthesis(open));
                }
                Ok(Operand { span: parser.span_from(open.span), chain: None, ..inside })
            }),
            Kind::Slash if self.before.kind == Kind::Slash => {
                let hint = "a comment begins with `#`, or is `/* … */`".to_owned();
                Err(self.unexpected_with("an expression", Some(hint)))
            }
            Kind::Greater if self.before.kind == Kind::Less => {
                Err(self.unexpected_with("an expression", Some("write `!=`".to_owned())))
            }
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn word_term(&mut self) -> Parse<Operand> {
        let token = self.token;
        if self.ahead.kind == Kind::LeftParen {
            return self.nested(Self::call);
        }
        let value = match self.word(token) {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Ok(Operand::leaf(Expr::Variable(self.take_name()))),
        };
        self.bump();
        Ok(Operand::leaf(Expr::Literal(value, token.span)))
    }

    fn call(&mut self) -> Parse<Operand> {
        let start = self.token.span;
        if self.word(self.token) == "not" {
            let hint = "before a condition write `!`; `not` is for atoms of a body";
            return Err(self.unexpected_with("an expression", Some(hint.to_owned())));
        }
        let name = self.plain_name("a function")?;
        let what = format!("the arguments of `{}`", name.text);
        let (args, levels) = self.expressions(Kind::RightParen, &what)?;
        let span = self.span_from(start);
        Ok(Operand { expr: Expr::Call { name, args, span }, span, levels, chain: None })
    }

    fn list(&mut self) -> Parse<Operand> {
        let start = self.token.span;
        let (items, levels) = self.expressions(Kind::RightBracket, &"the items of the list")?;
        let span = self.span_from(start);
        Ok(Operand { expr: Expr::List(items, span), span, levels, chain: None })
    }

    fn object(&mut self) -> Parse<Operand> {
        let start = self.token.span;
        let mut levels = 0;
        let fields = self.items(Kind::RightBrace, &"the fields of the object", |parser| {
            let name = parser.measured_expression()?;
            if !parser.eat(Kind::Colon) {
                return Err(parser.unexpected("`:` after the name of a field"));
            }
            let value = parser.measured_expression()?;
            levels = levels.max(name.levels).max(value.levels);
            Ok((name.expr, value.expr))
        })?;
        let span = self.span_from(start);
        let expr = Expr::Object(fields, span);
        self.one_level_up(expr, levels)
    }

    /// Expressions in brackets, and the depth of the tree that they form.
    fn expressions(
        &mut self,
        close: Kind,
        what: &dyn std::fmt::Display,
    ) -> Parse<(Vec<Expr>, u32)> {
        let mut levels = 0;
        let exprs = self.items(close, what, |parser| {
            let item = parser.measured_expression()?;
            levels = levels.max(item.levels);
            Ok(item.expr)
        })?;
        self.note_levels(levels + 1, LEVELS_MAX, self.before.span)?;
        Ok((exprs, levels + 1))
    }

    fn one_level_up(&mut self, expr: Expr, levels: u32) -> Parse<Operand> {
        self.note_levels(levels + 1, LEVELS_MAX, self.before.span)?;
        Ok(Operand { levels: levels + 1, ..Operand::leaf(expr) })
    }

    /// A number. `minus` is the position of a `-` before it.
    fn number(&mut self, minus: Option<Span>) -> Parse<Expr> {
        let token = self.bump();
        let written = self.source(token.span);
        let value = match token.kind {
            Kind::Int => literal::int(written, minus.is_some()),
            _ => literal::float(written, minus.is_some()),
        };
        let span = self.span_from(minus.unwrap_or(token.span));
        match value {
            Some(value) => Ok(Expr::Literal(value, span)),
            None => {
                let message = match literal::odd_digit(written) {
                    Some((digit, kind)) => format!("`{digit}` is no {kind} digit"),
                    None => format!("`{written}` is not a valid 64-bit integer"),
                };
                Err(self.report(span, message, None))
            }
        }
    }

    /// A string literal in any of its forms.
    pub(crate) fn text_literal(&mut self) -> Parse<String> {
        let token = self.token;
        let written = self.source(token.span);
        match token.kind {
            Kind::Raw => {
                self.bump();
                Ok(literal::raw(written))
            }
            Kind::Quoted => {
                self.bump();
                match literal::quoted(written) {
                    Ok(text) => Ok(text),
                    Err(bad) => {
                        let offset = |at| token.span.start + u32::try_from(at).unwrap_or(0);
                        let span = Span { start: offset(bad.start), end: offset(bad.end) };
                        let hint = Some(bad.hint.to_owned()).filter(|hint| !hint.is_empty());
                        self.report(span, bad.message, hint);
                        // The error was reported. The rest of the script can still be parsed.
                        Ok(String::new())
                    }
                }
            }
            _ => Err(self.unexpected("a text")),
        }
    }

    /// Reports a token other than `)` after an expression.
    pub(crate) fn unclosed_parenthesis(&mut self, open: Token) -> crate::parser::ErrorReported {
        self.unclosed(open, Kind::RightParen, &"the expression in parentheses")
    }
}
