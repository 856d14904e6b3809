//! The documents of a file, whose bytes come in parts.

use super::{Format, messagepack};
use crate::error::DocumentError;

/// Finds the documents in bytes that come in parts of any size.
///
/// Holds the bytes of one document that is not yet complete, besides the last part.
#[derive(Debug)]
pub struct Splitter {
    format: Format,
    bytes: Vec<u8>,
    /// Where the next document begins in `bytes`.
    begin: usize,
    /// Bytes from `begin` on that are known to hold no whole document.
    tried: usize,
    /// Whether no more bytes follow.
    is_ended: bool,
}

impl Splitter {
    /// For a file of this format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, bytes: Vec::new(), begin: 0, tried: 0, is_ended: false }
    }

    /// The next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Says that all bytes of the file were pushed.
    pub const fn end(&mut self) {
        self.is_ended = true;
    }

    /// The bytes of the next document; `None` if there is none, or more bytes are needed. Lines
    /// come without their end, empty ones too.
    ///
    /// # Errors
    /// The bytes are not of the format, or end within a document. What follows cannot be found
    /// then.
    pub fn next_document(&mut self) -> Result<Option<&[u8]>, DocumentError> {
        let rest = &self.bytes[self.begin..];
        if rest.is_empty() {
            return Ok(None);
        }
        let length = match self.format {
            Format::Json => {
                let end = rest.iter().skip(self.tried).position(|&byte| byte == b'\n');
                let last = self.is_ended.then_some(rest.len());
                end.map(|end| self.tried + end).or(last)
            }
            #[cfg(feature = "bson")]
            Format::Bson => super::bson::first_len(rest)?,
            // A document that is not complete is read again from its beginning: not before the
            // bytes have doubled, so that the work stays in proportion.
            Format::MessagePack if rest.len() < 2 * self.tried && !self.is_ended => {
                return Ok(None);
            }
            Format::MessagePack => messagepack::first_len(rest)?,
        };
        match length {
            Some(length) => {
                let begin = self.begin;
                // Without the end of the line, which the last one may lack.
                let end_bytes = usize::from(self.format == Format::Json);
                self.begin = (begin + length + end_bytes).min(self.bytes.len());
                self.tried = 0;
                Ok(Some(&self.bytes[begin..begin + length]))
            }
            None if self.is_ended => Err(DocumentError::new("the file ends within a document")),
            None => {
                self.tried = rest.len();
                Ok(None)
            }
        }
    }
}
