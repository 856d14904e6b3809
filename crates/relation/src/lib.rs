//! Catalog and schemas over any store: typed columns to shapes and back.
