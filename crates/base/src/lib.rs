//! Ids, checksums, varints, and columns of words and bytes: the vocabulary of every engine crate.
