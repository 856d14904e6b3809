//! Options of new tables: block sizes, filters, compression.

/// Options for writing a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Rows in a block, at most.
    pub block_rows_max: usize,
    /// Bytes of values in a block, at most (a single row may exceed it).
    pub block_bytes_max: usize,
    /// Most bytes of strings in a block (a single row may exceed it). Less than the bytes of all
    /// values, because a lookup of one long value reads its whole block.
    pub block_string_bytes_max: usize,
    /// Most bytes of values in a block with separated strings (a single row may exceed it). A
    /// lookup of one value reads the block's header and that value alone.
    pub apart_bytes_max: usize,
    /// Strings that compression does not shrink are separated if they have this many bytes per row
    /// of the block.
    pub apart_value_bytes_min: u64,
    /// Bits a key in filters; 0 writes none.
    pub filter_bits: u8,
    /// Compress heaps of byte strings with LZ4 where it saves at least an eighth.
    pub compress: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            block_rows_max: 4096,
            block_bytes_max: 32 << 10,
            block_string_bytes_max: 8 << 10,
            apart_bytes_max: 64 << 10,
            apart_value_bytes_min: 512,
            filter_bits: 10,
            compress: true,
        }
    }
}
