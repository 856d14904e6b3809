//! The native module behind the Python package quipudb.
