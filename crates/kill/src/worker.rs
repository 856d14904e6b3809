//! Runs the numbered operations of one thread of a child, and reports the start and end of each.

use crate::message::Message;
use crate::outcome::Outcome;

/// The numbered operations of one thread.
pub(crate) trait Worker: Send {
    /// Opens what the worker writes, while the other stream runs.
    fn open(&mut self) -> Outcome<()>;

    /// The kind of the operation of this number, in a word.
    fn name(&self, number: u32) -> &'static str;

    /// Runs the operation of this number.
    fn perform(&mut self, number: u32) -> Outcome<()>;

    /// Runs the operations and reports each.
    fn run(&mut self, stream: usize, numbers: std::ops::Range<u32>) -> Result<(), Failure> {
        let failed =
            |number, operation| move |message| Failure { stream, number, operation, message };
        self.open().map_err(failed(numbers.start, "opening what is written before"))?;
        for number in numbers {
            Message::Begins { stream, number }.say().map_err(failed(number, "telling of"))?;
            self.perform(number).map_err(failed(number, self.name(number)))?;
            Message::Done { stream, number }.say().map_err(failed(number, "telling of"))?;
        }
        Ok(())
    }
}

/// An operation that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) stream: usize,
    pub(crate) number: u32,
    pub(crate) operation: &'static str,
    pub(crate) message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { stream, number, operation, message } = self;
        write!(f, "{operation} {number} of stream {stream}: {message}")
    }
}
