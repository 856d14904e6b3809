//! Parses system operations (`::…`) to [`SystemOp`]. `session` runs them.

use crate::ast::{Expr, Ident, IndexColumn, Span, SystemOp};
use crate::diagnostic::closest;
use crate::expression::Operand;
use crate::lexer::Kind;
use crate::parser::{Parse, Parser};

/// Names of the system operations, also used for hints and completion.
pub(crate) const OPS: [&str; 19] = [
    "relations",
    "columns",
    "column",
    "indices",
    "remove",
    "rename",
    "describe",
    "index",
    "hnsw",
    "fts",
    "lsh",
    "show_triggers",
    "set_triggers",
    "access_level",
    "running",
    "kill",
    "explain",
    "compact",
    "fixed_rules",
];

/// Access levels of a relation. They must be the names in `relation::Access`.
const LEVELS: [&str; 4] = ["normal", "protected", "read_only", "hidden"];

impl Parser<'_> {
    /// `::…`
    pub(crate) fn system_op(&mut self) -> Parse<SystemOp> {
        let start = self.bump().span;
        if !self.at(Kind::Word) {
            return Err(self.unexpected("the name of a system op"));
        }
        let name = self.word(self.token);
        if !OPS.contains(&name) {
            let hint = closest(name, OPS.into_iter()).map(|op| format!("did you mean `::{op}`?"));
            let span = Span { start: start.start, end: self.token.span.end };
            return Err(self.report(span, format!("there is no system op `::{name}`"), hint));
        }
        let op = self.take_name();
        Ok(match name {
            "relations" => SystemOp::Relations,
            "running" => SystemOp::Running,
            "compact" => SystemOp::Compact,
            "fixed_rules" => SystemOp::FixedRules,
            "columns" => SystemOp::Columns(self.relation_or_index()?),
            "indices" => SystemOp::Indices(self.relation_or_index()?),
            "show_triggers" => SystemOp::ShowTriggers(self.dotted_name("a relation")?),
            "remove" => SystemOp::Remove(self.relations()?),
            "rename" => SystemOp::Rename(self.listed(Self::rename_pair)?),
            "describe" => {
                let relation = self.relation_or_index()?;
                let text = matches!(self.token.kind, Kind::Quoted | Kind::Raw);
                let text = if text { self.text_literal()? } else { String::new() };
                SystemOp::Describe(relation, text)
            }
            "access_level" => {
                let level = self.word(self.token);
                if !LEVELS.contains(&level) {
                    let expected = "`normal`, `protected`, `read_only` or `hidden`";
                    return Err(self.unexpected(expected));
                }
                SystemOp::AccessLevel(self.take_name(), self.relations()?)
            }
            "kill" => SystemOp::Kill(self.expression()?),
            "explain" => {
                let analyzes = self.word(self.token) == "analyze";
                if analyzes {
                    self.bump();
                }
                self.opening_brace(if analyzes { "`analyze`" } else { "`::explain`" })?;
                let query = Box::new(self.query(self.braces)?);
                self.closing_brace()?;
                if analyzes { SystemOp::Analyze(query) } else { SystemOp::Explain(query) }
            }
            "index" => self.index_op()?,
            "column" => self.column_op()?,
            "set_triggers" => self.set_triggers()?,
            _ => self.search_index(op)?,
        })
    }

    /// One or more items with commas between them.
    fn listed<T>(&mut self, item: impl Fn(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Kind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn relations(&mut self) -> Parse<Vec<Ident>> {
        self.listed(|parser| parser.dotted_name("a relation"))
    }

    /// `name` or `name:index`, as one name.
    fn relation_or_index(&mut self) -> Parse<Ident> {
        let mut name = self.dotted_name("a relation")?;
        if self.index_follows() {
            let index = self.index_name()?;
            name.text = format!("{}:{}", name.text, index.text);
            name.span = self.span_from(name.span);
        }
        Ok(name)
    }

    fn rename_pair(&mut self) -> Parse<(Ident, Ident)> {
        let from = self.dotted_name("a relation")?;
        if !self.eat(Kind::Arrow) {
            return Err(self.unexpected("`->` and the new name"));
        }
        Ok((from, self.dotted_name("a relation")?))
    }

    /// `relation:index`
    fn index_path(&mut self) -> Parse<(Ident, Ident)> {
        let relation = self.dotted_name("a relation")?;
        if !self.eat(Kind::Colon) {
            return Err(self.unexpected("`:` and the name of an index"));
        }
        Ok((relation, self.plain_name("an index")?))
    }

    /// `create` (true) or `drop` (false).
    fn creates(&mut self) -> Parse<bool> {
        let creates = match self.word(self.token) {
            "create" => true,
            "drop" => false,
            _ => return Err(self.unexpected("`create` or `drop`")),
        };
        self.bump();
        Ok(creates)
    }

    fn index_op(&mut self) -> Parse<SystemOp> {
        let creates = self.creates()?;
        let (relation, index) = self.index_path()?;
        if !creates {
            return Ok(SystemOp::IndexDrop(relation, index));
        }
        if !self.at(Kind::LeftBrace) {
            return Err(self.unexpected("`{` and the columns of the index"));
        }
        let what = format!("the columns of index `{}`", index.text);
        let columns = self.items(Kind::RightBrace, &what, Self::index_column)?;
        let is_unique = self.word(self.token) == "unique";
        if is_unique {
            self.bump();
        }
        Ok(SystemOp::IndexCreate(relation, index, columns, is_unique))
    }

    /// `column`, `expression` or `name: expression`
    fn index_column(&mut self) -> Parse<IndexColumn> {
        Ok(match self.index_value()? {
            Expr::Variable(name) if self.eat(Kind::Colon) => {
                IndexColumn::Expression(Some(name), self.index_value()?)
            }
            Expr::Variable(name) => IndexColumn::Column(name),
            expr => IndexColumn::Expression(None, expr),
        })
    }

    /// A column, whose name may be in backquotes, or an expression that begins with one or with a
    /// call.
    fn index_value(&mut self) -> Parse<Expr> {
        if self.at(Kind::Word) && self.ahead.kind == Kind::LeftParen {
            return self.expression();
        }
        let first = Operand::leaf(Expr::Variable(self.plain_name("a column")?));
        Ok(self.operations(first)?.expr)
    }

    /// `add r {…}`, `drop r {…}` or `rename r {…}`.
    fn column_op(&mut self) -> Parse<SystemOp> {
        let does = self.word(self.token).to_owned();
        if !["add", "drop", "rename"].contains(&does.as_str()) {
            return Err(self.unexpected("`add`, `drop` or `rename`"));
        }
        self.bump();
        let relation = self.dotted_name("a relation")?;
        if !self.at(Kind::LeftBrace) {
            let columns = match does.as_str() {
                "add" => "{column: Int?}",
                "drop" => "{column}",
                _ => "{column -> name}",
            };
            let hint = format!("as in `::column {does} {} {columns}`", relation.text);
            return Err(self.unexpected_with("`{` and the columns", Some(hint)));
        }
        let what = format!("the columns of relation `{}`", relation.text);
        let name = |parser: &mut Self| parser.plain_name("a column");
        Ok(match does.as_str() {
            "add" => {
                let spec = self.spec(&relation)?;
                SystemOp::ColumnAdd(relation, spec)
            }
            "drop" => SystemOp::ColumnDrop(relation, self.items(Kind::RightBrace, &what, name)?),
            _ => {
                let pair = |parser: &mut Self| {
                    let from = parser.plain_name("a column")?;
                    if !parser.eat(Kind::Arrow) {
                        return Err(parser.unexpected("`->` and the new name"));
                    }
                    Ok((from, parser.plain_name("a column")?))
                };
                SystemOp::ColumnRename(relation, self.items(Kind::RightBrace, &what, pair)?)
            }
        })
    }

    /// An operation on a search index.
    fn search_index(&mut self, op: Ident) -> Parse<SystemOp> {
        let creates = self.creates()?;
        let (relation, index) = self.index_path()?;
        if !creates {
            return Ok(SystemOp::SearchDrop(op, relation, index));
        }
        if !self.at(Kind::LeftBrace) {
            return Err(self.unexpected("`{` and the settings of the index"));
        }
        let what = format!("the settings of index `{}`", index.text);
        let settings = self.items(Kind::RightBrace, &what, Self::named_option)?;
        Ok(SystemOp::SearchCreate(op, relation, index, settings))
    }

    fn set_triggers(&mut self) -> Parse<SystemOp> {
        let relation = self.dotted_name("a relation")?;
        let (mut put, mut rm, mut replace) = (Vec::new(), Vec::new(), Vec::new());
        while self.word(self.token) == "on" {
            self.bump();
            let scripts = match self.word(self.token) {
                "put" => &mut put,
                "rm" => &mut rm,
                "replace" => &mut replace,
                _ => return Err(self.unexpected("`put`, `rm` or `replace` after `on`")),
            };
            self.bump();
            self.opening_brace("the event")?;
            let query = self.query(self.braces)?;
            self.closing_brace()?;
            if let Some(span) = query.span_of_any_parameter() {
                let hint = "it runs with scripts to come, whose parameters are their own";
                return Err(self.report(
                    span,
                    "a trigger has no parameters",
                    Some(hint.to_owned()),
                ));
            }
            scripts.push(self.source(query.span).to_owned());
        }
        Ok(SystemOp::SetTriggers { relation, put, rm, replace })
    }

    pub(crate) fn opening_brace(&mut self, after: &str) -> Parse<()> {
        if self.eat(Kind::LeftBrace) {
            return Ok(());
        }
        Err(self.unexpected(format_args!("`{{` after {after}")))
    }

    pub(crate) fn closing_brace(&mut self) -> Parse<()> {
        if self.eat(Kind::RightBrace) {
            return Ok(());
        }
        Err(self.unexpected("`}`, or a rule or an option"))
    }
}
