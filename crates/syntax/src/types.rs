//! Parses the types of columns.

use model::{Type, Value, VectorKind};

use crate::ast::Expr;
use crate::diagnostic::closest;
use crate::lexer::Kind;
use crate::parser::{Parse, Parser};

const TYPES: [(&str, Type); 14] = [
    ("Any", Type::Any),
    ("Bool", Type::Bool),
    ("Int", Type::Int),
    ("Id", Type::Id),
    ("Float", Type::Float),
    ("String", Type::String),
    ("Bytes", Type::Bytes),
    ("Uuid", Type::Uuid),
    ("Json", Type::Json),
    ("Validity", Type::Validity),
    ("Date", Type::Date),
    ("Timestamp", Type::Timestamp),
    ("Duration", Type::Duration),
    ("Decimal", Type::Decimal),
];

impl Parser<'_> {
    /// A type with an optional `?`.
    pub(crate) fn column_type(&mut self) -> Parse<Type> {
        let found = self.nested(|parser| match parser.token.kind {
            Kind::LeftBracket => parser.list_type(),
            Kind::LeftParen => {
                let what = "the types of the tuple";
                parser.items(Kind::RightParen, &what, Self::column_type).map(Type::Tuple)
            }
            Kind::Less => parser.vector_type(),
            Kind::Word => parser.named_type(),
            _ => Err(parser.unexpected("a type")),
        })?;
        if self.eat(Kind::Question) {
            return Ok(Type::Nullable(Box::new(found)));
        }
        Ok(found)
    }

    fn named_type(&mut self) -> Parse<Type> {
        let name = self.word(self.token);
        if let Some((_, found)) = TYPES.iter().find(|(known, _)| *known == name) {
            self.bump();
            return Ok(found.clone());
        }
        let meant = match name.to_lowercase().as_str() {
            "text" | "str" | "varchar" => Some("String"),
            "integer" | "bigint" | "number" | "i64" => Some("Int"),
            "double" | "real" | "f64" | "f32" => Some("Float"),
            "boolean" => Some("Bool"),
            "list" | "array" => Some("[Any]"),
            "vec" | "vector" => Some("<F32; 128>"),
            _ => closest(name, TYPES.iter().map(|(name, _)| *name)),
        };
        let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
        let span = self.token.span;
        Err(self.report(span, format!("there is no type `{name}`"), hint))
    }

    /// `[T]`, `[T; n]`
    fn list_type(&mut self) -> Parse<Type> {
        let open = self.bump();
        let item = self.column_type()?;
        let len = if self.eat(Kind::Semicolon) { Some(self.length()?) } else { None };
        if !self.eat(Kind::RightBracket) {
            return Err(self.unclosed(open, Kind::RightBracket, &"the type of the items"));
        }
        Ok(Type::List(Box::new(item), len))
    }

    /// `<F32; n>`
    fn vector_type(&mut self) -> Parse<Type> {
        self.bump();
        let kind = match self.word(self.token) {
            "F32" | "Float" => VectorKind::F32,
            "F64" | "Double" => VectorKind::F64,
            _ => return Err(self.unexpected("`F32` or `F64`")),
        };
        self.bump();
        if !self.eat(Kind::Semicolon) {
            let hint = "a vector's type is `<F32; 128>`".to_owned();
            return Err(self.unexpected_with("`;` and the length", Some(hint)));
        }
        // Only a number is allowed here: an expression would take the closing `>` as an operator.
        if !self.at(Kind::Int) {
            return Err(self.unexpected("the length of the vector"));
        }
        let token = self.bump();
        let len = crate::literal::int(self.source(token.span), false);
        let Some(len) = len.and_then(whole) else {
            return Err(self.report(token.span, "no such length", None));
        };
        match self.token.kind {
            Kind::Greater => {
                self.bump();
            }
            // `<F32; 3>=> v`
            Kind::GreaterEquals => self.split_token(),
            _ => return Err(self.unexpected("`>` after the length")),
        }
        Ok(Type::Vector(kind, len))
    }

    fn length(&mut self) -> Parse<u64> {
        let expr = self.expression()?;
        let len = match &expr {
            Expr::Literal(value, _) => whole(value.clone()),
            _ => None,
        };
        match len {
            Some(len) => Ok(len),
            None => Err(self.report(expr.span(), "the length of a list is a whole number", None)),
        }
    }
}

fn whole(value: Value) -> Option<u64> {
    match value {
        Value::Int(len) => u64::try_from(len).ok(),
        Value::Id(len) => Some(len),
        _ => None,
    }
}
