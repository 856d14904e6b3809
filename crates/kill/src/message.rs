//! Messages from a child to the process that kills it.

use crate::outcome::Outcome;
use std::io::Write;

/// A report of a child: four bytes, so that one write is one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The database is open.
    Opened,
    /// The operation of this number starts.
    Begins { stream: usize, number: u32 },
    /// The operation has returned.
    Done { stream: usize, number: u32 },
    /// A forked child of this process has tried its misuse and ended.
    Forked,
}

impl Message {
    pub(crate) fn encode(self) -> [u8; 4] {
        let word = match self {
            Self::Opened => 3,
            Self::Forked => 2,
            Self::Begins { stream, number } => number << 3 | (stream as u32) << 2,
            Self::Done { stream, number } => number << 3 | (stream as u32) << 2 | 1,
        };
        word.to_le_bytes()
    }

    pub(crate) fn decode(bytes: [u8; 4]) -> Self {
        let word = u32::from_le_bytes(bytes);
        let (stream, number) = ((word >> 2 & 1) as usize, word >> 3);
        match word & 3 {
            3 => Self::Opened,
            2 => Self::Forked,
            1 => Self::Done { stream, number },
            _ => Self::Begins { stream, number },
        }
    }

    /// Writes the message to standard output.
    pub(crate) fn say(self) -> Outcome<()> {
        // One lock for write and flush: a child forked in between would inherit half a message in
        // the buffer.
        let mut out = std::io::stdout().lock();
        out.write_all(&self.encode()).map_err(|error| error.to_string())?;
        out.flush().map_err(|error| error.to_string())
    }
}
