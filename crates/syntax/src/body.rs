//! Parses bodies of rules.
//!
//! # Why a parenthesis is parsed as a body
//! `(a > 1) && b` is one condition and `(a > 1, b)` is two atoms, but the difference shows only
//! after the parenthesis. Trying both would double the time at each level of nesting. So the
//! content is parsed once, as a body. A single condition in it can then become an operand of an
//! expression.

use std::fmt::Display;

use crate::ast::{Args, Atom, Expr, Formula, Ident};
use crate::expression::Operand;
use crate::lexer::{Kind, Token};
use crate::operator;
use crate::parser::{ErrorReported, Parse, Parser};
use crate::query::OPTIONS;

/// A part of a body. For a single condition also the depth of its expression (`levels`): the caller
/// may use the condition as an operand.
type Part = (Formula, Option<u32>);

impl Parser<'_> {
    /// Atoms separated by commas, with an optional trailing comma.
    pub(crate) fn body(&mut self) -> Parse<Formula> {
        Ok(self.conjunction()?.0)
    }

    /// As [`Self::body`]. The part is a single condition only if there is one atom and no comma.
    fn conjunction(&mut self) -> Parse<Part> {
        let mut parts = Vec::new();
        let mut only = None;
        let mut lone = true;
        while !self.body_ends() {
            let (part, levels) = self.disjunction()?;
            only = levels;
            match part {
                Formula::And(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            if !self.eat(Kind::Comma) {
                break;
            }
            lone = false;
        }
        let levels = only.filter(|_| lone);
        Ok((one_or(parts, Formula::And), levels))
    }

    /// Whether the body ends here, where another atom could start.
    fn body_ends(&self) -> bool {
        matches!(
            self.token.kind,
            Kind::End
                | Kind::Semicolon
                | Kind::Colon
                | Kind::Question
                | Kind::RightBrace
                | Kind::RightParen
        )
    }

    fn disjunction(&mut self) -> Parse<Part> {
        let (first, levels) = self.atom()?;
        if self.word(self.token) != "or" {
            return Ok((first, levels));
        }
        let mut parts = Vec::new();
        let mut next = first;
        loop {
            match next {
                Formula::Or(inner) => parts.extend(inner),
                other => parts.push(other),
            }
            if self.word(self.token) != "or" {
                return Ok((one_or(parts, Formula::Or), None));
            }
            self.bump();
            next = self.atom()?.0;
        }
    }

    fn atom(&mut self) -> Parse<Part> {
        let atom = match self.token.kind {
            Kind::Word => match (self.word(self.token), self.ahead.kind) {
                ("not", ahead) if !continues_variable(ahead) => return self.negation(),
                (_, Kind::LeftBracket) => self.rule_atom()?,
                (_, Kind::Equals) => {
                    let variable = self.take_name();
                    self.bump();
                    Atom::Unify { variable, value: self.expression()? }
                }
                (_, Kind::Word) if self.word(self.ahead) == "in" => {
                    let variable = self.take_name();
                    self.bump();
                    Atom::Member { variable, list: self.expression()? }
                }
                _ => return self.condition(),
            },
            Kind::Star => self.stored_atom()?,
            Kind::Tilde => self.search_atom()?,
            Kind::LeftParen => return self.nested(Self::group),
            _ => return self.condition(),
        };
        Ok((Formula::Atom(atom), None))
    }

    fn negation(&mut self) -> Parse<Part> {
        let start = self.bump().span;
        let (inner, _) = self.nested(Self::atom)?;
        Ok((Formula::Not(Box::new(inner), self.span_from(start)), None))
    }

    fn condition(&mut self) -> Parse<Part> {
        if !self.begins_expression() && !matches!(self.token.kind, Kind::Minus | Kind::Bang) {
            return Err(self.unexpected("an atom of a body"));
        }
        let whole = self.measured_expression()?;
        self.no_equals_sign()?;
        Ok((Formula::Atom(Atom::Condition(whole.expr)), Some(whole.levels)))
    }

    /// Fails at `=`, whose left side must be a single variable.
    fn no_equals_sign(&mut self) -> Parse<()> {
        if !self.at(Kind::Equals) {
            return Ok(());
        }
        let hint = "`==` compares; `=` binds the variable left of it".to_owned();
        Err(self.unexpected_with("the end of the condition", Some(hint)))
    }

    /// `(…)`. A single condition in it is the first operand of an expression that may go on.
    fn group(&mut self) -> Parse<Part> {
        let open = self.bump();
        let (inside, levels) = self.conjunction()?;
        if !self.eat(Kind::RightParen) {
            return Err(self.unclosed_group(open));
        }
        let span = self.span_from(open.span);
        match (inside, levels) {
            (Formula::Atom(Atom::Condition(expr)), Some(levels)) => {
                let whole = self.operations(Operand { expr, span, levels, chain: None })?;
                self.no_equals_sign()?;
                Ok((Formula::Atom(Atom::Condition(whole.expr)), Some(whole.levels)))
            }
            (inside, _) => {
                if operator::of_kind(self.token.kind).is_some() {
                    return Err(self.operator_after_atom());
                }
                Ok((inside, None))
            }
        }
    }

    fn unclosed_group(&mut self, open: Token) -> ErrorReported {
        if operator::of_kind(self.token.kind).is_some() {
            return self.operator_after_atom();
        }
        if let Some(hint) = self.hint_after_atom() {
            return self.unexpected_with("`)`, `,` or `or`", Some(hint));
        }
        self.unclosed(open, Kind::RightParen, &"the atoms in parentheses")
    }

    fn operator_after_atom(&mut self) -> ErrorReported {
        let hint = self.hint_after_atom();
        self.unexpected_with("`,` or `or` after an atom", hint)
    }

    /// Suggests a fix at a token that cannot continue a body.
    pub(crate) fn hint_after_atom(&self) -> Option<String> {
        let before = self.word(self.before);
        let hint = match (self.token.kind, self.word(self.token)) {
            _ if before != "not" && before.eq_ignore_ascii_case("not") => {
                "before an atom write `not`, in small letters"
            }
            _ if before == "not" => "in an expression write `!`; `not` is for atoms of a body",
            (Kind::AndAnd, _) => "`&&` joins conditions; between atoms write `,`",
            (Kind::OrOr, _) => "`||` joins conditions; between atoms write `or`",
            (_, "and" | "AND") => "between atoms write `,`, in an expression `&&`",
            (_, "OR") => "between atoms write `or`, in small letters",
            (_, "not") if self.word(self.ahead) == "in" => {
                "write `!is_in(value, list)` for values that are not in a list"
            }
            (Kind::LeftBracket | Kind::LeftBrace, _) if self.before.kind == Kind::Word => {
                return Some(format!(
                    "a `,` may be missing before `{}`; a stored relation is read as `*name`",
                    self.source(self.before.span)
                ));
            }
            (Kind::LeftBracket, _) if self.before.kind == Kind::RightBracket => {
                "a `,` may be missing; an item of a list is `get(list, index)`"
            }
            (Kind::Equals, _) => "`==` compares; `=` binds the variable left of it",
            (Kind::Define, _) => "in a body `=` binds a variable",
            (_, "is" | "IS") => "`is_null(value)` asks for null",
            (Kind::At, _) => "`@ time` stands before the closing bracket of the relation",
            (Kind::Word, _) if self.rule_starts() => return None,
            (Kind::Word, word) if OPTIONS.contains(&word) => {
                return Some(format!("an option is written `:{word}`"));
            }
            (Kind::Star | Kind::Tilde | Kind::Bang, _) => "a `,` may be missing",
            _ if self.begins_expression() => "a `,` may be missing",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// `name[…]`
    pub(crate) fn rule_atom(&mut self) -> Parse<Atom> {
        let start = self.token.span;
        if self.word(self.token).contains('.') {
            let name = self.word(self.token);
            let message = format!("the name of a rule holds no dot, found `{name}`");
            let hint = format!("a stored relation is read as `*{name}[…]`");
            return Err(self.report(start, message, Some(hint)));
        }
        let name = self.take_name();
        let what = format!("the columns of rule `{}`", name.text);
        let args = self.items(Kind::RightBracket, &what, Self::expression)?;
        Ok(Atom::Rule { name, args, span: self.span_from(start) })
    }

    /// `*name[…]`, `*name{…}`, `*name:index{…}`
    pub(crate) fn stored_atom(&mut self) -> Parse<Atom> {
        let start = self.bump().span;
        let name = self.dotted_name("a stored relation")?;
        let index = if self.index_follows() { Some(self.index_name()?) } else { None };
        let what = format!("the columns of relation `{}`", name.text);
        let (args, at) = match self.token.kind {
            Kind::LeftBracket => {
                let (args, at) = self.timed(Kind::RightBracket, &what, Self::expression)?;
                (Args::Positional(args), at)
            }
            Kind::LeftBrace => {
                let (args, at) = self.timed(Kind::RightBrace, &what, Self::named_arg)?;
                (Args::Named(args), at)
            }
            _ => {
                let expected = format!("`[` or `{{` after relation `{}`", name.text);
                let hint = "`[…]` takes all columns by place, `{…}` some by name".to_owned();
                let hint = match self.token.kind {
                    Kind::LeftParen => Some(hint),
                    Kind::Minus if !self.token.spaced => {
                        let name = &name.text;
                        Some(format!("a name with `-` stands in backquotes: *`{name}-…`{{…}}"))
                    }
                    _ => None,
                };
                return Err(self.unexpected_with(expected, hint));
            }
        };
        Ok(Atom::Stored { name, index, args, at, span: self.span_from(start) })
    }

    /// Items in brackets, with an optional `@ time` at the end.
    fn timed<T>(
        &mut self,
        close: Kind,
        what: &dyn Display,
        item: impl Fn(&mut Self) -> Parse<T>,
    ) -> Parse<(Vec<T>, Option<Expr>)> {
        let open = self.bump();
        let mut items = Vec::new();
        while !self.eat(close) {
            if self.eat(Kind::At) {
                let at = self.expression()?;
                if !self.eat(close) {
                    return Err(self.unclosed(open, close, &"the time"));
                }
                return Ok((items, Some(at)));
            }
            items.push(item(self)?);
            if !self.eat(Kind::Comma) && !self.at(close) && !self.at(Kind::At) {
                return Err(self.unclosed(open, close, what));
            }
        }
        Ok((items, None))
    }

    /// `column: expression`, or only `column`.
    fn named_arg(&mut self) -> Parse<(Ident, Expr)> {
        let column = self.plain_name("a column")?;
        if self.eat(Kind::Colon) {
            return Ok((column, self.expression()?));
        }
        let variable = Expr::Variable(column.clone());
        Ok((column, variable))
    }

    /// `name: expression`
    pub(crate) fn named_option(&mut self) -> Parse<(Ident, Expr)> {
        let name = self.plain_name("an option")?;
        if !self.eat(Kind::Colon) {
            return Err(self.unexpected(format_args!("`:` after option `{}`", name.text)));
        }
        Ok((name, self.expression()?))
    }

    /// Whether `:index` follows the name of a relation without white space.
    pub(crate) fn index_follows(&self) -> bool {
        let is_name = matches!(self.ahead.kind, Kind::Word | Kind::QuotedName);
        self.at(Kind::Colon) && !self.token.spaced && is_name && self.joined()
    }

    /// `:index`, or `:index:part`.
    pub(crate) fn index_name(&mut self) -> Parse<Ident> {
        self.bump();
        let mut name = self.plain_name("an index")?;
        while self.index_follows() {
            self.bump();
            let part = self.plain_name("an index")?;
            name.text = format!("{}:{}", name.text, part.text);
            name.span = self.span_from(name.span);
        }
        Ok(name)
    }

    /// `~name:index{… | …}`
    fn search_atom(&mut self) -> Parse<Atom> {
        let start = self.bump().span;
        let name = self.dotted_name("a stored relation")?;
        if !self.index_follows() {
            let hint = "a search is written `~relation:index{columns | query: …}`".to_owned();
            return Err(self.unexpected_with("`:` and the name of an index", Some(hint)));
        }
        let index = self.index_name()?;
        if !self.at(Kind::LeftBrace) {
            return Err(self.unexpected(format_args!("`{{` after index `{}`", index.text)));
        }
        let open = self.bump();
        let mut args = Vec::new();
        while !self.eat(Kind::Bar) {
            args.push(self.named_arg()?);
            if !self.eat(Kind::Comma) && !self.at(Kind::Bar) {
                let hint = "the search's parameters stand behind a `|`: `| query: …`".to_owned();
                return Err(self.unexpected_with("`|` or `,` after the columns", Some(hint)));
            }
        }
        let mut parameters = Vec::new();
        while !self.eat(Kind::RightBrace) {
            parameters.push(self.named_option()?);
            if !self.eat(Kind::Comma) && !self.at(Kind::RightBrace) {
                return Err(self.unclosed(open, Kind::RightBrace, &"the search's parameters"));
            }
        }
        Ok(Atom::Search { name, index, args, parameters, span: self.span_from(start) })
    }
}

/// Whether `not` is a variable here: the token can follow a variable but cannot start an atom.
fn continues_variable(ahead: Kind) -> bool {
    let prefix = matches!(ahead, Kind::Minus | Kind::Star | Kind::Tilde);
    let ends = matches!(
        ahead,
        Kind::Equals
            | Kind::Comma
            | Kind::Semicolon
            | Kind::Colon
            | Kind::RightParen
            | Kind::RightBrace
            | Kind::End
    );
    ends || operator::of_kind(ahead).is_some() && !prefix
}

/// The only part, or all parts combined.
fn one_or(mut parts: Vec<Formula>, all: impl FnOnce(Vec<Formula>) -> Formula) -> Formula {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            parts.push(last);
            all(parts)
        }
        (_, None) => all(parts),
    }
}
