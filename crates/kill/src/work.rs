//! The kinds of data that children write, with the worker and the verifier of each.

use crate::arguments::Arguments;
use crate::database::tiny_options;
use crate::outcome::Outcome;
use crate::verifier::Verifier;
use crate::worker::Worker;
use crate::{blobs, counters, rows};
use quipu::{Database, Durability, Options};

/// The kind of data that children write, from `--work`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Graphs,
    Blobs,
    Counters,
    Rows,
}

impl Work {
    /// The value of `--work`; graphs if it is not given.
    pub(crate) fn of(arguments: &Arguments) -> Outcome<Self> {
        match arguments.text("work").unwrap_or("graphs") {
            "graphs" => Ok(Self::Graphs),
            "blobs" => Ok(Self::Blobs),
            "counters" => Ok(Self::Counters),
            "rows" => Ok(Self::Rows),
            work => Err(format!("no work {work:?}: there are graphs, blobs, counters and rows")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Graphs => "graphs",
            Self::Blobs => "blobs",
            Self::Counters => "counters",
            Self::Rows => "rows",
        }
    }

    /// The options of the database with this seed.
    pub(crate) fn options(self, seed: u64, durability: Durability) -> Options {
        match self {
            Self::Graphs => tiny_options(durability),
            Self::Blobs => blobs::options(seed, durability),
            Self::Counters => counters::options(durability),
            Self::Rows => rows::options(durability),
        }
    }

    /// The worker of a stream; `None` for graphs, which have their own.
    pub(crate) fn worker(self, db: &Database, seed: u64, stream: usize) -> Option<Box<dyn Worker>> {
        match self {
            Self::Graphs => None,
            Self::Blobs => Some(Box::new(blobs::Writer::new(db.clone(), seed, stream))),
            Self::Counters => Some(Box::new(counters::Writer::new(db.clone(), seed, stream))),
            Self::Rows => Some(Box::new(rows::Writer::new(db.clone(), seed, stream))),
        }
    }

    /// The verifier of a database with this seed. Graphs have none: `parent` verifies them.
    pub(crate) fn verifier(self, seed: u64) -> Outcome<Box<dyn Verifier>> {
        match self {
            Self::Graphs => Err("`parent` verifies graphs".to_owned()),
            Self::Blobs => Ok(Box::new(blobs::BlobsVerifier::new(seed))),
            Self::Counters => Ok(Box::new(counters::CountersVerifier::new(seed))),
            Self::Rows => Ok(Box::new(rows::RowsVerifier::new(seed))),
        }
    }
}
