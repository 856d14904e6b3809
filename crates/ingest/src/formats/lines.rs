//! Lines of a text, with their numbers.

use std::io::BufRead;

use super::sink::Sink;
use crate::error::Error;
use crate::splitter::RECORD_BYTES_MAX;

/// Reads a text line by line.
pub(super) struct Lines {
    reader: Box<dyn BufRead + Send>,
    line: Vec<u8>,
    /// The number of the last line, from 1.
    pub(super) number: u64,
}

impl Lines {
    pub(super) fn new(reader: Box<dyn BufRead + Send>) -> Self {
        Self { reader, line: Vec::new(), number: 0 }
    }

    /// The next line without its end; `None` after the last.
    pub(super) fn next(&mut self, sink: &Sink) -> Result<Option<&str>, Error> {
        self.line.clear();
        let mut limited = std::io::Read::take(&mut self.reader, RECORD_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut self.line).map_err(|error| sink.io(error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read == RECORD_BYTES_MAX {
            return Err(sink.error(self.number, "a line of at most 16 MiB", "a longer one"));
        }
        let line = std::str::from_utf8(&self.line);
        let line = line.map_err(|_| sink.error(self.number, "UTF-8 text", "other bytes"))?;
        Ok(Some(line.trim_start_matches('\u{feff}').trim_end_matches(['\n', '\r'])))
    }
}
