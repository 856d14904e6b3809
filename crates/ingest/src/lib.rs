//! Edge lists from text and columns: parallel CSV parsing, decompression, Arrow and Parquet.
