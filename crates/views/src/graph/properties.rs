//! Properties: value columns of edges besides the weight, and the relation of vertices.
//!
//! Their values are written and read as rows of relations, by scripts or by relation handles. This
//! module has the checks and deletes of properties for the calls of a graph (`write.rs`).

use super::Graph;
use base::{Batch, Column, KeyRef, Keys, Kind, Projection};
use relation::{GraphPart, ValueColumn, invalid};
use store::{Kinds, Read, Result, TableWrites, WriteBatch};

impl Graph {
    /// Whether edges have properties besides the weight.
    pub(crate) fn has_properties(&self) -> bool {
        !self.core.def.edges.is_empty()
    }

    /// Refuses edges without values for properties that cannot be null.
    ///
    /// # Errors
    /// [`store::ErrorKind::InvalidInput`] with the name of the property.
    pub(crate) fn refuse_required_properties(&self) -> Result<()> {
        let is_required = |column: &&ValueColumn| !column.nullable;
        let Some(column) = self.core.def.edges.iter().find(is_required) else { return Ok(()) };
        let (name, of) = (&column.name, &column.column_type);
        Err(invalid(format!(
            "edges of graph {:?} need a value for their property {name:?} of type {of}\n\
             hint: write whole rows into its relation, or let the property be null",
            self.name()
        )))
    }

    /// Removes the properties of `v`.
    pub(super) fn remove_node(&self, v: u64) -> Result<()> {
        let Some(keyspace) = self.core.nodes else { return Ok(()) };
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Nodes));
        if let Keys::Words(words) = &mut rows.keys {
            words[0].push(v);
        }
        rows.values.iter_mut().for_each(Column::push_null);
        rows.rows = 1;
        let kinds = Kinds::Uniform(Kind::Delete);
        let table = TableWrites { keyspace, kinds, rows, delete_ranges: Vec::new() };
        self.apply(&WriteBatch { tables: vec![table] })
    }

    /// Whether there is a row for `v` among the properties of vertices.
    pub(super) fn has_node(&self, read: &dyn Read, v: u64) -> Result<bool> {
        let Some(nodes) = self.core.nodes else { return Ok(false) };
        let mut rows = Batch::new(&self.core.def.shape(GraphPart::Nodes));
        read.get(nodes, KeyRef::Words(&[v]), Projection::COUNT, &mut rows)
    }

    /// Number of vertices with a row of properties; 0 for a graph without such rows.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn number_of_nodes_stored(&self) -> Result<u64> {
        let Some(nodes) = self.core.nodes else { return Ok(0) };
        self.read(|read| read.count(nodes))
    }
}

/// Makes a column `rows` long, with nulls.
pub(crate) fn fill_nulls(column: &mut Column, rows: usize) {
    for _ in column.len()..rows {
        column.push_null();
    }
}
