//! Options of opening a store: durability, and one writing process or many.

/// How many processes may write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writers {
    /// This one, until it closes the store. Any number of others may read.
    #[default]
    One,
    /// Any number. A transaction also fails with a conflict if a keyspace that it wrote, or one
    /// that belongs to it, was changed, or if 10,000 commits are newer and rows were deleted.
    Many,
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct OrderedOptions {
    /// Who may write.
    pub writers: Writers,
    /// Writes are errors, and no other process is kept from writing.
    pub read_only: bool,
    /// Makes a store of an empty map; otherwise an empty map is an error.
    pub create: bool,
    /// Most bytes of the uncommitted writes of a transaction.
    pub transaction_bytes_max: u64,
}

impl Default for OrderedOptions {
    fn default() -> Self {
        Self {
            writers: Writers::One,
            read_only: false,
            create: true,
            transaction_bytes_max: 256 << 20,
        }
    }
}
