//! Turns a text into the words that are indexed: a tokenizer, then filters in order. Documents and
//! queries pass the same analyzer.

use crate::component::{Component, SettingError};
use crate::filter::Filter;
use crate::token::{TOKEN_BYTES_MAX, Token};
use crate::tokenizer::Tokenizer;
use std::fmt;

/// Makes the words of texts, both of those that are indexed and of queries.
pub struct Analyzer {
    tokenizer: Tokenizer,
    filters: Vec<Filter>,
}

impl Analyzer {
    /// The analyzer that settings describe.
    ///
    /// # Errors
    /// An unknown name, or arguments that are not valid.
    pub fn new(tokenizer: &Component, filters: &[Component]) -> Result<Self, SettingError> {
        let tokenizer = Tokenizer::of(tokenizer)?;
        let filters = filters.iter().map(Filter::of).collect::<Result<_, _>>()?;
        Ok(Self { tokenizer, filters })
    }

    /// The words of a text in order. Words longer than [`TOKEN_BYTES_MAX`] are left out.
    #[must_use]
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let tokens = self.tokenizer.tokens(text);
        let mut tokens = self.filters.iter().fold(tokens, |tokens, filter| filter.apply(tokens));
        tokens.retain(|token| (1..=TOKEN_BYTES_MAX).contains(&token.text.len()));
        tokens
    }
}

impl fmt::Debug for Analyzer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokenizer, filters } = self;
        write!(f, "Analyzer({tokenizer:?}, {} filters)", filters.len())
    }
}
