//! One log-structured merge tree without a log: memtable, tables, versions, compaction.
