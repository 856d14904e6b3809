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
}

impl Splitter {
    /// For a file of this format.
    #[must_use]
    pub const fn new(format: Format) -> Self {
        Self { format, bytes: Vec::new(), begin: 0, tried: 0 }
    }

    /// The next bytes of the file.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes of the next document; `None` if it is not complete. Lines come without their end,
    /// empty ones too.
    ///
    /// # Errors
    /// The bytes are not of the format. What follows cannot be found then.
    pub fn next_document(&mut self) -> Result<Option<&[u8]>, DocumentError> {
        let rest = &self.bytes[self.begin..];
        let (length, end_bytes) = match self.format {
            Format::Json => {
                let end = rest.iter().skip(self.tried).position(|&byte| byte == b'\n');
                (end.map(|end| self.tried + end), 1)
            }
            #[cfg(feature = "bson")]
            Format::Bson => (super::bson::first_len(rest)?, 0),
            // A document that is not complete is read again from its beginning: not before the
            // bytes have doubled, so that the work stays in proportion.
            Format::MessagePack if rest.is_empty() || rest.len() < 2 * self.tried => {
                return Ok(None);
            }
            Format::MessagePack => (messagepack::first_len(rest)?, 0),
        };
        let Some(length) = length else {
            self.tried = rest.len();
            return Ok(None);
        };
        let begin = self.begin;
        self.begin += length + end_bytes;
        self.tried = 0;
        Ok(Some(&self.bytes[begin..begin + length]))
    }

    /// The next document once all bytes of the file were pushed, also one without an end of its
    /// line; `None` after the last.
    ///
    /// # Errors
    /// The file ends within a document.
    pub fn finish(&mut self) -> Result<Option<&[u8]>, DocumentError> {
        let rest = &self.bytes[self.begin..];
        let length = match self.format {
            _ if rest.is_empty() => return Ok(None),
            Format::Json => Some(rest.len()),
            #[cfg(feature = "bson")]
            Format::Bson => None,
            // The rest may hold whole documents that waited for more bytes.
            Format::MessagePack => messagepack::first_len(rest)?,
        };
        let Some(length) = length else {
            return Err(DocumentError::new("the file ends within a document"));
        };
        let begin = self.begin;
        self.begin += length;
        Ok(Some(&self.bytes[begin..begin + length]))
    }
}
