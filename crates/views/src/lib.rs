//! Graph, counters, blobs and documents: each a way to see relations.
