//! A word of a text with its bytes and its position.

/// Longest word that is indexed, in bytes. Longer ones are left out: they are keys of the index,
/// and nobody searches for them.
pub const TOKEN_BYTES_MAX: usize = 1024;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The word, as filters have changed it.
    pub text: String,
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// Where it ends in the text, in bytes.
    pub end: usize,
    /// Number of the word in the text, from 0. Words that a filter removes leave a gap.
    pub position: u32,
}
