//! Types, values and their total order, and the order-keeping encodings into words and bytes.
