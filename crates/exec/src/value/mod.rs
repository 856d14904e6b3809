//! Values of queries: one word each, and operations on columns of them.

pub mod cell;
pub mod columns;
pub mod list_items;
pub mod sort;
pub mod validity;
