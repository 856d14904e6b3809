//! Texts of errors.

use syntax::{Diagnostic, Span};

pub(super) fn error(message: String, span: Span) -> Diagnostic {
    Diagnostic { message, span, hint: None }
}

pub(super) fn columns_text(columns: usize) -> String {
    count_text(columns, "column")
}

pub(super) fn count_text(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

pub(super) fn were(n: usize) -> String {
    format!("{n} {}", if n == 1 { "is" } else { "are" })
}
