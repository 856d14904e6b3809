//! `Graph`: the graph view. `graph_methods.rs` has the methods.

use crate::error::{OrRaise, check_process};
use env::Own;
use py_guard::documented;
use pyo3::prelude::*;

/// A graph, read and written through the database or a transaction.
#[documented]
#[pyclass(module = "quipu", frozen, weakref)]
pub(crate) struct Graph {
    pub(crate) graph: Own<quipu::Graph>,
    pub(crate) database: quipu::Database,
    /// The transaction that it is in.
    transaction: Own<Option<quipu::Tx>>,
}

impl Graph {
    pub(crate) fn new(graph: quipu::Graph, database: quipu::Database) -> Self {
        Self { graph: Own::new(graph), database, transaction: Own::new(None) }
    }

    pub(crate) fn in_transaction(
        graph: quipu::Graph,
        database: quipu::Database,
        transaction: quipu::Tx,
    ) -> Self {
        let transaction = Own::new(Some(transaction));
        Self { transaction, ..Self::new(graph, database) }
    }

    /// The relations of its edges and vertices.
    pub(crate) fn relations(&self) -> PyResult<quipu::GraphRelations> {
        let name = self.graph()?.name();
        match check_process(&self.transaction)? {
            Some(transaction) => transaction.graph_relations(name),
            None => self.database.graph_relations(name),
        }
        .or_raise()
    }

    /// The transaction that it is in.
    pub(crate) fn transaction(&self) -> PyResult<Option<&quipu::Tx>> {
        Ok(check_process(&self.transaction)?.as_ref())
    }

    pub(crate) fn graph(&self) -> PyResult<&quipu::Graph> {
        check_process(&self.graph)
    }
}
