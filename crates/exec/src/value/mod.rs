//! Values of queries: one word each, and what is done with columns of them.

pub(crate) mod cell;
pub(crate) mod columns;
pub(crate) mod list_items;
pub(crate) mod sort;
pub(crate) mod validity;
