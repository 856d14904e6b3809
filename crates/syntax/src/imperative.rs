//! Parses imperative scripts: blocks in braces and `%` statements.

use crate::ast::{Block, Condition, Ident, Span, Statement};
use crate::diagnostic::closest;
use crate::lexer::Kind;
use crate::parser::{Parse, Parser};

/// Keywords that start a statement, also used for hints and completion.
pub(crate) const STATEMENTS: [&str; 10] = [
    "if",
    "if_not",
    "loop",
    "mark",
    "break",
    "continue",
    "return",
    "debug",
    "ignore_error",
    "swap",
];

impl Parser<'_> {
    /// All statements of a script. Reports several errors.
    pub(crate) fn imperative(&mut self) -> Parse<Vec<Statement>> {
        let mut statements = Vec::new();
        let mut failed = None;
        while !self.at(Kind::End) {
            let start = self.token.span.start;
            if failed.is_some() && matches!(self.keyword(), "then" | "else" | "end") {
                // Belongs to a statement that failed.
                self.take_keyword();
                continue;
            }
            if let Err(reported) = self.statement(&mut statements) {
                failed = Some(reported);
                self.recover_statement(start);
            }
        }
        failed.map_or(Ok(statements), Err)
    }

    /// Skips to the next block or statement after an error.
    fn recover_statement(&mut self, start: u32) {
        if self.token.span.start == start {
            self.bump();
        }
        while !self.at(Kind::End) {
            let block = self.at(Kind::LeftBrace) && self.braces == 0;
            let statement = self.at(Kind::Percent) && STATEMENTS.contains(&self.word(self.ahead));
            if block || statement {
                self.braces = 0;
                return;
            }
            self.bump();
        }
    }

    /// The keyword of a `%` statement, or an empty string.
    fn keyword(&self) -> &str {
        if self.at(Kind::Percent) && self.joined() { self.word(self.ahead) } else { "" }
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.keyword() == keyword;
        if found {
            self.bump();
            self.bump();
        }
        found
    }

    /// Parses one statement and appends it. A condition `{…} as _name` is appended first, as a
    /// statement of its own.
    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parse<()> {
        let start = self.token.span;
        if self.at(Kind::LeftBrace) {
            let block = self.block()?;
            let name = self.result_name()?;
            statements.push(Statement::Run(block, name));
            return Ok(());
        }
        if !self.at(Kind::Percent) {
            return Err(self.no_statement());
        }
        let statement = match self.keyword() {
            "if" | "if_not" => {
                let negated = self.keyword() == "if_not";
                self.take_keyword();
                self.nested(|parser| parser.branches(negated, statements))?
            }
            "mark" => {
                self.take_keyword();
                let label = self.plain_name("a label")?;
                if self.keyword() != "loop" {
                    return Err(self.unexpected("`%loop` after `%mark`"));
                }
                self.take_keyword();
                self.nested(|parser| parser.loop_body(Some(label)))?
            }
            "loop" => {
                self.take_keyword();
                self.nested(|parser| parser.loop_body(None))?
            }
            "break" => {
                self.take_keyword();
                let label = self.label();
                Statement::Break(label, self.span_from(start))
            }
            "continue" => {
                self.take_keyword();
                let label = self.label();
                Statement::Continue(label, self.span_from(start))
            }
            "return" => {
                self.take_keyword();
                self.returned(start, statements)?
            }
            "debug" => {
                self.take_keyword();
                Statement::Debug(self.plain_name("a relation")?)
            }
            "ignore_error" => {
                self.take_keyword();
                if !self.at(Kind::LeftBrace) {
                    return Err(self.unexpected("`{` after `%ignore_error`"));
                }
                let block = self.block()?;
                let name = self.result_name()?;
                Statement::IgnoreError(block, name)
            }
            "swap" => {
                self.take_keyword();
                let first = self.dotted_name("a relation")?;
                self.eat(Kind::Comma);
                Statement::Swap(first, self.dotted_name("a relation")?)
            }
            _ => return Err(self.no_statement()),
        };
        statements.push(statement);
        Ok(())
    }

    /// Skips `%` and the keyword.
    fn take_keyword(&mut self) {
        self.bump();
        self.bump();
    }

    fn no_statement(&mut self) -> crate::parser::ErrorReported {
        let keyword = self.keyword();
        if !self.at(Kind::Percent) || keyword.is_empty() {
            let hint = match self.token.kind {
                Kind::Semicolon => Some("no `;` stands between statements".to_owned()),
                Kind::Word | Kind::Question | Kind::Colon => {
                    Some("beside blocks a query stands in braces, too".to_owned())
                }
                _ => None,
            };
            return self.unexpected_with("a block in `{…}` or a `%` statement", hint);
        }
        let span = Span { end: self.ahead.span.end, ..self.token.span };
        if matches!(keyword, "end" | "else" | "then") {
            let message = format!("`%{keyword}` has no `%if` or `%loop` before it");
            return self.report(span, message, None);
        }
        let hint = closest(keyword, STATEMENTS.into_iter());
        let hint = hint.map(|keyword| format!("did you mean `%{keyword}`?"));
        let message = format!("there is no statement `%{keyword}`");
        self.report(span, message, hint)
    }

    /// `{ … }`
    fn block(&mut self) -> Parse<Block> {
        self.bump();
        let block = if self.at(Kind::ColonColon) {
            self.nested(Self::system_op).map(Block::System)
        } else {
            self.query(self.braces).map(Block::Query)
        };
        if block.is_ok() {
            self.closing_brace()?;
        } else {
            // After an error in the block, parsing continues after its brace.
            self.eat(Kind::RightBrace);
        }
        block
    }

    /// `as _name`
    fn result_name(&mut self) -> Parse<Option<Ident>> {
        if self.word(self.token) != "as" {
            return Ok(None);
        }
        self.bump();
        let name = self.plain_name("a temporary relation")?;
        if !name.text.starts_with('_') || name.text.len() < 2 {
            let message =
                format!("the name of a temporary relation begins with `_`, found `{}`", name.text);
            let hint = Some(format!("did you mean `_{}`?", name.text.trim_start_matches('_')));
            return Err(self.report(name.span, message, hint));
        }
        Ok(Some(name))
    }

    fn label(&mut self) -> Option<Ident> {
        self.at(Kind::Word).then(|| self.take_name())
    }

    /// `condition %then … %else … %end`
    fn branches(&mut self, negated: bool, before: &mut Vec<Statement>) -> Parse<Statement> {
        let condition = self.condition_of(before)?;
        self.eat_keyword("then");
        let then = self.statements_until(&["else", "end"])?;
        let otherwise =
            if self.eat_keyword("else") { self.statements_until(&["end"])? } else { Vec::new() };
        self.take_keyword();
        Ok(Statement::If { negated, condition, then, otherwise })
    }

    fn loop_body(&mut self, label: Option<Ident>) -> Parse<Statement> {
        let body = self.statements_until(&["end"])?;
        self.take_keyword();
        Ok(Statement::Loop { label, body })
    }

    fn statements_until(&mut self, ends: &[&str]) -> Parse<Vec<Statement>> {
        let mut statements = Vec::new();
        while !ends.contains(&self.keyword()) {
            if self.at(Kind::End) {
                return Err(self.unexpected("a statement or `%end`"));
            }
            self.statement(&mut statements)?;
        }
        Ok(statements)
    }

    /// A query in braces or a name. `{…} as _name` becomes a statement in `before` and the name.
    fn condition_of(&mut self, before: &mut Vec<Statement>) -> Parse<Condition> {
        if !self.at(Kind::LeftBrace) {
            return Ok(Condition::Relation(self.plain_name("a relation")?));
        }
        let start = self.token.span;
        let query = match self.block()? {
            Block::Query(query) => query,
            Block::System(_) => {
                let span = self.span_from(start);
                return Err(self.report(span, "a system op gives no rows to test", None));
            }
        };
        match self.result_name()? {
            None => Ok(Condition::Query(query)),
            Some(name) => {
                before.push(Statement::Run(Block::Query(query), Some(name.clone())));
                Ok(Condition::Relation(name))
            }
        }
    }

    /// The results after `%return`, with optional commas between them.
    fn returned(&mut self, start: Span, before: &mut Vec<Statement>) -> Parse<Statement> {
        let mut returned = Vec::new();
        while matches!(self.token.kind, Kind::Word | Kind::LeftBrace) {
            returned.push(self.condition_of(before)?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        Ok(Statement::Return(returned, self.span_from(start)))
    }
}
