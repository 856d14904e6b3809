//! Parses queries: rules and options.

use std::collections::BTreeSet;

use crate::ast::{
    Atom, Expr, HeadItem, Ident, Mutation, MutationOp, Options, Query, Rule, Span, Spec, SpecColumn,
};
use crate::diagnostic::closest;
use crate::lexer::Kind;
use crate::operator;
use crate::parser::{ErrorReported, Parse, Parser};

/// The part of a graph that is written like a relation: the properties of its vertices.
const VERTICES: &str = "nodes";

/// Names of the options, also used for hints.
pub(crate) const OPTIONS: [&str; 18] = [
    "limit",
    "offset",
    "order",
    "sort",
    "timeout",
    "sleep",
    "assert",
    "returning",
    "disable_magic_rewrite",
    "create",
    "replace",
    "put",
    "insert",
    "update",
    "rm",
    "delete",
    "ensure",
    "ensure_not",
];

/// First words of statements in SQL.
const SQL: [&str; 18] = [
    "select", "insert", "update", "delete", "create", "drop", "alter", "with", "explain", "begin",
    "commit", "rollback", "show", "describe", "desc", "copy", "pragma", "truncate",
];
/// First words of statements in Cypher that are none in SQL.
const CYPHER: [&str; 7] = ["match", "optional", "merge", "unwind", "call", "return", "load"];
/// First words of queries in SPARQL that are none in the others.
const SPARQL: [&str; 3] = ["prefix", "ask", "construct"];

/// The query language whose statements begin with this word.
fn foreign_language(word: &str) -> Option<&'static str> {
    let is = |known: &&str| word.eq_ignore_ascii_case(known);
    match () {
        () if SQL.iter().any(is) => Some("SQL"),
        () if CYPHER.iter().any(is) => Some("Cypher"),
        () if SPARQL.iter().any(is) => Some("SPARQL"),
        () => None,
    }
}

/// The kind of the last parsed part. It decides where a `;` is allowed, whether a comma is missing,
/// and the hint if an error follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Nothing,
    /// An inline rule without `;`, which may have been meant to continue.
    Body,
    Other,
}

impl Parser<'_> {
    /// Parses rules and options up to the end of the text, or to the closing brace of the block if
    /// `braces` are open. After an error it continues with the next rule or option.
    pub(crate) fn query(&mut self, braces: u32) -> Parse<Query> {
        let start = self.token.span;
        let mut query = Query { rules: Vec::new(), options: Options::default(), span: start };
        let mut last = Last::Nothing;
        let mut failed = None;
        while !(self.at(Kind::End) || braces > 0 && self.at(Kind::RightBrace)) {
            let at = self.token.span.start;
            let read = match self.token.kind {
                Kind::Semicolon if last != Last::Nothing => {
                    self.bump();
                    Ok(Last::Other)
                }
                Kind::Colon => self.option(&mut query.options).map(|()| Last::Other),
                _ => self.rule(last).map(|rule| {
                    let last = match rule {
                        Rule::Inline { .. } => Last::Body,
                        _ => Last::Other,
                    };
                    query.rules.push(rule);
                    last
                }),
            };
            last = read.unwrap_or_else(|reported| {
                failed = Some(reported);
                self.recover(at, braces);
                Last::Other
            });
        }
        query.span = self.span_from(start);
        match failed {
            Some(reported) => Err(reported),
            None if last == Last::Nothing => Err(self.unexpected("a rule")),
            None => Ok(query),
        }
    }

    fn rule(&mut self, last: Last) -> Parse<Rule> {
        let start = self.token.span;
        if !matches!(self.token.kind, Kind::Word | Kind::Question) || self.misses_comma(last) {
            return Err(self.no_rule(last));
        }
        if self.ahead.kind != Kind::LeftBracket {
            return Err(self.no_head());
        }
        let name = self.take_name();
        if name.text.contains('.') || name.text.starts_with('_') {
            let message =
                format!("the name of a rule has no dot and no `_` first, found `{}`", name.text);
            return Err(self.report(name.span, message, None));
        }
        let what = format!("the columns of rule `{}`", name.text);
        let head = self.items(Kind::RightBracket, &what, Self::head_item)?;
        let Some(arrow) = self.arrow() else {
            return Err(self.no_arrow(&name));
        };
        self.bump();
        if arrow != Kind::Define {
            self.bump();
        }
        match arrow {
            Kind::Minus => {
                let head = self.plain_head("constant", head)?;
                let data = self.expression()?;
                Ok(Rule::Constant { name, head, data, span: self.span_from(start) })
            }
            Kind::Tilde => {
                let head = self.plain_head("fixed", head)?;
                self.fixed_rule(name, head, start)
            }
            _ => {
                if head.is_empty() {
                    let span = self.span_from(start);
                    let message = format!("rule `{}` has no columns", name.text);
                    return Err(self.report(span, message, None));
                }
                let body = self.body()?;
                self.body_is_over()?;
                Ok(Rule::Inline { name, head, body, span: self.span_from(start) })
            }
        }
    }

    /// Whether a comma is missing: after a body, a word belongs to the body unless it looks like
    /// the head of a rule.
    fn misses_comma(&self, last: Last) -> bool {
        last == Last::Body && self.at(Kind::Word) && !self.rule_was_meant()
    }

    /// Fails if an arrow follows the body. Then what was parsed as the last atom is the head of the
    /// next rule.
    fn body_is_over(&mut self) -> Parse<()> {
        if self.arrow().is_none() || self.before.kind != Kind::RightBracket {
            return Ok(());
        }
        let hint = "the rule before ends with a `,`, so this head is read as a part of its body";
        Err(self.unexpected_with("the end of the body", Some(hint.to_owned())))
    }

    fn no_rule(&mut self, last: Last) -> ErrorReported {
        let mut hint = match (self.token.kind, self.word(self.ahead)) {
            (Kind::LeftBrace, _) => Some("a block stands alone, not beside rules".to_owned()),
            (Kind::Slash, _) => Some("a comment begins with `#`, or is `/* … */`".to_owned()),
            (Kind::Minus, _) if self.ahead.kind == Kind::Minus => {
                Some("a comment begins with `#`".to_owned())
            }
            _ if self.line_has("--") => Some("a comment begins with `#`".to_owned()),
            (Kind::ColonColon, _) => Some("a system op is a script of its own".to_owned()),
            _ => None,
        };
        if last == Last::Body {
            hint = match self.line_has("--") {
                true => hint,
                false => self.hint_after_atom().or(hint),
            };
            return self.unexpected_with("`,`, `or` or the end of the rule", hint);
        }
        let is_block = self.at(Kind::LeftBrace);
        let reported = self.unexpected_with("a rule or an option", hint);
        if is_block {
            // The content of the block would be reported as further errors.
            self.abandon();
        }
        reported
    }

    fn no_head(&mut self) -> ErrorReported {
        let name = self.token;
        self.bump();
        let name = self.source(name.span);
        let foreign = foreign_language(name).map(|language| {
            format!(
                "this looks like {language}; scripts are Datalog: `?[a, b] := *relation{{a, b}}`, \
                 see docs/guides/datalog.md"
            )
        });
        let hint = foreign.or_else(|| match self.token.kind {
            Kind::LeftParen => Some(format!("the columns stand in `[…]`: `{name}[…] := …`")),
            Kind::LeftBrace => Some(format!("a stored relation is written to with `:put {name}`")),
            _ => None,
        });
        self.unexpected_with(format_args!("`[` after the name of rule `{name}`"), hint)
    }

    fn no_arrow(&mut self, name: &Ident) -> ErrorReported {
        let hint = match self.token.kind {
            Kind::Equals | Kind::EqualsEquals | Kind::Colon => "did you mean `:=`?".to_owned(),
            Kind::LessEquals => "did you mean `<-`?".to_owned(),
            Kind::Less if matches!(self.ahead.kind, Kind::Minus | Kind::Tilde) => {
                "`<-` and `<~` are written without a space".to_owned()
            }
            Kind::Arrow | Kind::Minus => "did you mean `<-`?".to_owned(),
            _ => {
                let hint = "`:=` and a body, `<-` and rows, or `<~` and an algorithm make a rule";
                hint.to_owned()
            }
        };
        let expected = format!("`:=`, `<-` or `<~` after the head of rule `{}`", name.text);
        self.unexpected_with(expected, Some(hint))
    }

    /// A variable, or an aggregate of one.
    fn head_item(&mut self) -> Parse<HeadItem> {
        let start = self.token.span;
        if !self.at(Kind::Word) {
            let hint = "columns of a head are variables: bind one to the value in the body";
            let hint = self.begins_expression().then(|| hint.to_owned());
            return Err(self.unexpected_with("a variable or an aggregate", hint));
        }
        if self.ahead.kind != Kind::LeftParen {
            let variable = self.take_name();
            if operator::of_kind(self.token.kind).is_some() {
                let hint = "columns of a head are variables: bind one to the value in the body";
                let hint = Some(hint.to_owned());
                return Err(self.unexpected_with("`]` or `,` after a column of a head", hint));
            }
            return Ok(HeadItem { aggregate: None, span: variable.span, variable });
        }
        let aggregate = self.plain_name("an aggregate")?;
        let what = format!("the arguments of `{}`", aggregate.text);
        let mut variable = None;
        let args = self.items(Kind::RightParen, &what, |parser| {
            if variable.is_some() {
                return parser.expression().map(Some);
            }
            if !parser.at(Kind::Word) {
                let hint = "an aggregate takes a variable: bind one to the value in the body";
                return Err(parser.unexpected_with("a variable", Some(hint.to_owned())));
            }
            variable = Some(parser.take_name());
            Ok(None)
        })?;
        let args: Vec<Expr> = args.into_iter().flatten().collect();
        let span = self.span_from(start);
        match variable {
            Some(variable) => Ok(HeadItem { aggregate: Some((aggregate, args)), variable, span }),
            None => {
                let message = format!("`{}` names no variable", aggregate.text);
                let hint = format!("write `{}(variable)`", aggregate.text);
                Err(self.report(span, message, Some(hint)))
            }
        }
    }

    /// The head of a constant or fixed rule, which cannot have aggregates.
    fn plain_head(&mut self, kind: &str, head: Vec<HeadItem>) -> Parse<Vec<Ident>> {
        let mut names = Vec::with_capacity(head.len());
        for item in head {
            if item.aggregate.is_some() {
                let message = format!("a {kind} rule has no aggregates");
                let hint = "aggregate in an inline rule that reads it".to_owned();
                return Err(self.report(item.span, message, Some(hint)));
            }
            names.push(item.variable);
        }
        Ok(names)
    }

    fn fixed_rule(&mut self, name: Ident, head: Vec<Ident>, start: Span) -> Parse<Rule> {
        let algorithm = self.dotted_name("an algorithm")?;
        if !self.at(Kind::LeftParen) {
            let expected = format!("`(` after algorithm `{}`", algorithm.text);
            return Err(self.unexpected(expected));
        }
        let what = format!("the inputs and options of `{}`", algorithm.text);
        let (mut inputs, mut options) = (Vec::new(), Vec::new());
        self.items(Kind::RightParen, &what, |parser| {
            match (parser.token.kind, parser.ahead.kind) {
                (Kind::Star, _) => inputs.push(parser.stored_atom()?),
                (Kind::Word, Kind::LeftBracket) => inputs.push(parser.rule_atom()?),
                (Kind::Word, Kind::Colon) => {
                    options.push(parser.named_option()?);
                    return Ok(());
                }
                _ => {
                    let hint = "an input is `rule[…]` or `*relation[…]`, an option `name: value`";
                    let hint = Some(hint.to_owned());
                    return Err(parser.unexpected_with("an input or an option", hint));
                }
            }
            inputs.last().map_or(Ok(()), |input| parser.input_has_variables(input))
        })?;
        let span = self.span_from(start);
        Ok(Rule::Fixed { name, head, algorithm, inputs, options, span })
    }

    fn input_has_variables(&mut self, input: &Atom) -> Parse<()> {
        use crate::ast::Args;
        let other = |expr: &&Expr| !matches!(expr, Expr::Variable(_));
        let odd = match input {
            Atom::Rule { args, .. } | Atom::Stored { args: Args::Positional(args), .. } => {
                args.iter().find(other)
            }
            Atom::Stored { args: Args::Named(args), .. } => {
                args.iter().map(|(_, expr)| expr).find(other)
            }
            _ => None,
        };
        let Some(odd) = odd else { return Ok(()) };
        let hint = "filter in a rule, and give that rule to the algorithm".to_owned();
        let message = "the columns of an algorithm's input are variables";
        Err(self.report(odd.span(), message, Some(hint)))
    }

    // Options

    fn option(&mut self, options: &mut Options) -> Parse<()> {
        if self.ahead.kind != Kind::Word || !self.joined() {
            return Err(self.unexpected("a rule or an option"));
        }
        let span = Span { end: self.ahead.span.end, ..self.token.span };
        let name = self.word(self.ahead);
        let op = match name {
            "create" => MutationOp::Create,
            "replace" => MutationOp::Replace,
            "put" => MutationOp::Put,
            "insert" => MutationOp::Insert,
            "update" => MutationOp::Update,
            "rm" => MutationOp::Rm,
            "delete" => MutationOp::Delete,
            "ensure" => MutationOp::Ensure,
            "ensure_not" => MutationOp::EnsureNot,
            _ => return self.plain_option(name, span, options),
        };
        self.take_option();
        let mutation = self.mutation(op)?;
        if options.mutation.is_some() {
            let hint = "write one query a relation, each in braces".to_owned();
            let message = "a query changes one stored relation";
            return Err(self.report(span, message, Some(hint)));
        }
        options.mutation = Some(mutation);
        Ok(())
    }

    /// Skips the colon and the name.
    fn take_option(&mut self) {
        self.bump();
        self.bump();
    }

    fn plain_option(&mut self, name: &str, span: Span, options: &mut Options) -> Parse<()> {
        if !OPTIONS.contains(&name) {
            let hint = match name {
                "select" | "return" | "yield" => Some("the rule `?[…]` is the result".to_owned()),
                _ => closest(name, OPTIONS.into_iter())
                    .map(|name| format!("did you mean `:{name}`?")),
            };
            return Err(self.report(span, format!("there is no option `:{name}`"), hint));
        }
        self.take_option();
        match name {
            "limit" => self.once(name, span, &mut options.limit)?,
            "offset" => self.once(name, span, &mut options.offset)?,
            "timeout" => self.once(name, span, &mut options.timeout)?,
            "sleep" => self.once(name, span, &mut options.sleep)?,
            "disable_magic_rewrite" => {
                self.once(name, span, &mut options.disable_magic_rewrite)?;
            }
            "returning" => options.returning = true,
            "assert" => {
                let some = match self.word(self.token) {
                    "some" => true,
                    "none" => false,
                    _ => return Err(self.unexpected("`some` or `none` after `:assert`")),
                };
                self.bump();
                if options.assert_some.replace(some).is_some() {
                    let message = "a query asserts once";
                    return Err(self.report(span, message, None));
                }
            }
            _ => self.order(&mut options.order)?,
        }
        Ok(())
    }

    /// Parses the value of an option that may occur only once.
    fn once(&mut self, name: &str, span: Span, option: &mut Option<Expr>) -> Parse<()> {
        let value = self.expression()?;
        match option.replace(value) {
            None => Ok(()),
            Some(_) => Err(self.report(span, format!("`:{name}` occurs twice"), None)),
        }
    }

    /// `-a, b`
    fn order(&mut self, order: &mut Vec<(Ident, bool)>) -> Parse<()> {
        loop {
            let descends = self.at(Kind::Minus);
            if descends || self.at(Kind::Plus) {
                self.bump();
            }
            order.push((self.column_of_head("a column to order by")?, descends));
            if matches!(self.word(self.token), "desc" | "asc" | "DESC" | "ASC") {
                let hint = "`-column` orders from the largest down, `column` up".to_owned();
                return Err(self.unexpected_with("`,` or the end of the option", Some(hint)));
            }
            if !self.eat(Kind::Comma) {
                return Ok(());
            }
        }
    }

    /// `name`, or `aggregate(name)`, which is the name of an aggregated column in the result.
    fn column_of_head(&mut self, what: &str) -> Parse<Ident> {
        let mut name = self.any_name(what)?;
        if self.at(Kind::LeftParen) && !self.token.spaced {
            self.bump();
            let inner = self.any_name("a variable")?;
            if !self.eat(Kind::RightParen) {
                return Err(self.unexpected("`)` after the variable"));
            }
            name.text = format!("{}({})", name.text, inner.text);
            name.span = self.span_from(name.span);
        }
        Ok(name)
    }

    fn mutation(&mut self, op: MutationOp) -> Parse<Mutation> {
        let mut relation = self.dotted_name("a stored relation")?;
        if self.index_follows() && self.word(self.ahead) == VERTICES {
            let part = self.index_name()?;
            relation.text = format!("{}:{}", relation.text, part.text);
            relation.span = self.span_from(relation.span);
        }
        if self.at(Kind::Colon) && !self.token.spaced && !OPTIONS.contains(&self.word(self.ahead)) {
            let hint = "an index changes with its relation, and is not written to".to_owned();
            return Err(self.unexpected_with("the columns of the relation", Some(hint)));
        }
        let spec = if self.at(Kind::LeftBrace) { Some(self.spec(&relation)?) } else { None };
        // Empty braces mean the same as none: the columns are those of the head.
        let spec = spec.filter(|spec| spec.columns().next().is_some());
        Ok(Mutation { op, relation, spec })
    }

    /// `{k: T, … => v: T, …}`
    pub(crate) fn spec(&mut self, relation: &Ident) -> Parse<Spec> {
        let open = self.bump();
        let (mut keys, mut values, mut in_values) = (Vec::new(), Vec::new(), false);
        let mut names = BTreeSet::new();
        while !self.eat(Kind::RightBrace) {
            if !in_values && self.eat(Kind::FatArrow) {
                in_values = true;
                continue;
            }
            let column = self.spec_column()?;
            if !names.insert(column.name.text.clone()) {
                let message = format!("column `{}` occurs twice", column.name.text);
                return Err(self.report(column.name.span, message, None));
            }
            if in_values { &mut values } else { &mut keys }.push(column);
            let arrow = !in_values && self.at(Kind::FatArrow);
            if !self.eat(Kind::Comma) && !self.at(Kind::RightBrace) && !arrow {
                if self.at(Kind::Arrow) {
                    let hint = "`=>` stands between keys and values".to_owned();
                    return Err(self.unexpected_with("`,`, `=>` or `}`", Some(hint)));
                }
                let what = format!("the columns of relation `{}`", relation.text);
                return Err(self.unclosed(open, Kind::RightBrace, &what));
            }
        }
        Ok(Spec { keys, values, span: self.span_from(open.span) })
    }

    fn spec_column(&mut self) -> Parse<SpecColumn> {
        let name = self.plain_name("a column")?;
        if name.text.starts_with('_') {
            let message =
                format!("the name of a column does not begin with `_`, found `{}`", name.text);
            return Err(self.report(name.span, message, None));
        }
        let column_type = if self.eat(Kind::Colon) { Some(self.column_type()?) } else { None };
        let (mut default, mut binding) = (None, None);
        if self.word(self.token) == "default" {
            self.bump();
            default = Some(self.expression()?);
        }
        if self.eat(Kind::Equals) {
            binding = Some(self.column_of_head("a column of the head")?);
        }
        Ok(SpecColumn { name, column_type, default, binding })
    }
}
