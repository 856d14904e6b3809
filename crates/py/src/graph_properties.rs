//! Properties of a graph: the arguments that declare them, and rows of edges and of vertices.
//! `graph_methods.rs` has the methods.

use crate::called::Called;
use crate::error::{OrRaise, invalid};
use crate::frames::frame;
use crate::graph::Graph;
use crate::relation::{Relation, rows_of_keys};
use crate::table::Table;
use crate::values::{object, value};
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use quipu::{
    Database, Frame, FrameError, GraphRelations, Properties, PropertyTypes, Type, WeightType,
};

/// The name of the property that is the weight.
const WEIGHT: &str = "weight";

/// The property columns that `nodes=` and `edges=` declare.
#[derive(Default)]
pub(crate) struct Declared {
    pub(crate) nodes: Option<Properties>,
    pub(crate) edges: Option<Properties>,
    /// The type of the property `weight` of edges.
    pub(crate) weight: Option<WeightType>,
}

impl Declared {
    /// Reads mappings from names of properties to types.
    pub(crate) fn of(
        database: &Database,
        nodes: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let read = |name, given: Option<&Bound<'_, PyAny>>| {
            given.filter(|given| !given.is_none()).map(|given| properties(database, name, given))
        };
        let nodes = read("nodes", nodes).transpose()?;
        let mut edges = read("edges", edges).transpose()?;
        let place = edges.iter().flatten().position(|(name, _)| name == WEIGHT);
        let weight = match (place, &mut edges) {
            (Some(place), Some(edges)) => match edges.remove(place).1 {
                Type::Float => Some(WeightType::Float),
                Type::Int => Some(WeightType::Int),
                other => {
                    let what = format!("a weight is a \"float\" or an \"int\", not {other}");
                    let hint = "give the property another name";
                    return Err(invalid(&format!("{what}\nhint: {hint}")));
                }
            },
            _ => None,
        };
        Ok(Self { nodes, edges, weight })
    }
}

/// The arguments `edge_properties=` and `node_properties=` of an import.
#[derive(Default)]
pub(crate) struct ImportedProperties {
    pub(crate) edges: Option<PropertyTypes>,
    pub(crate) nodes: PropertyTypes,
    pub(crate) weight: Option<WeightType>,
    pub(crate) is_given: bool,
}

impl ImportedProperties {
    /// Reads `True`, `False`, `None` or a mapping from names to types for each.
    pub(crate) fn of(
        database: &Database,
        edges: Option<&Bound<'_, PyAny>>,
        nodes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let flag =
            |given: Option<&Bound<'_, PyAny>>| given.and_then(|given| given.extract::<bool>().ok());
        let (edge_flag, node_flag) = (flag(edges), flag(nodes));
        let declared = Declared::of(
            database,
            nodes.filter(|_| node_flag.is_none()),
            edges.filter(|_| edge_flag.is_none()),
        )?;
        let edges = match (declared.edges, edge_flag) {
            (Some(given), _) => Some(PropertyTypes::Given(given)),
            (None, Some(true)) => Some(PropertyTypes::Found),
            (None, _) => None,
        };
        let nodes = match (declared.nodes, node_flag) {
            (Some(given), _) => PropertyTypes::Given(given),
            (None, Some(false)) => PropertyTypes::Given(Properties::new()),
            (None, _) => PropertyTypes::Found,
        };
        Ok(Self { is_given: edges.is_some(), edges, nodes, weight: declared.weight })
    }
}

fn properties(
    database: &Database,
    argument: &str,
    given: &Bound<'_, PyAny>,
) -> PyResult<Properties> {
    let text = |item: &Bound<'_, PyAny>| -> PyResult<String> {
        let text = item.cast::<PyString>().map_err(|_| {
            let what = format!("{argument} maps names to types, both texts");
            PyTypeError::new_err(format!("{what}\nhint: such as {{\"year\": \"int?\"}}"))
        })?;
        Ok(text.to_str()?.to_owned())
    };
    let given = match given.cast::<PyDict>() {
        Ok(dict) => dict.clone(),
        Err(_) => {
            let what = format!("{argument} is a dict of types by name, not a {}", given.get_type());
            return Err(PyTypeError::new_err(what));
        }
    };
    let mut all = Properties::new();
    for (name, of) in given {
        all.push((text(&name)?, database.type_of_text(&text(&of)?).or_raise()?));
    }
    Ok(all)
}

/// One of the relations of a graph.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    Edges,
    Nodes,
}

fn wrong(error: FrameError) -> PyErr {
    invalid(&error.to_string())
}

/// One row: a key of these columns, and properties by name.
fn row(
    key: &[(&str, &Bound<'_, PyAny>)],
    properties: Option<&Bound<'_, PyDict>>,
) -> PyResult<Frame> {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for &(name, given) in key {
        names.push(name.to_owned());
        values.push(value(given, Called::Column(name), 0)?);
    }
    for (name, given) in properties.into_iter().flatten() {
        let name: String = name.extract()?;
        values.push(value(&given, Called::Column(&name), 0)?);
        names.push(name);
    }
    Frame::of_rows(names, vec![values]).map_err(wrong)
}

impl Graph {
    /// The relation of its edges or its vertices, as the graph sees it.
    pub(crate) fn relation_of(&self, py: Python<'_>, of: Of) -> PyResult<Relation> {
        let relations = self.relations()?;
        let relation = py.detach(|| open(&relations, of));
        Ok(Relation::new(relation.or_raise()?))
    }

    /// Puts one row and keeps the properties of an existing one that are not given.
    pub(crate) fn merge_row(
        &self,
        py: Python<'_>,
        of: Of,
        key: &[(&str, &Bound<'_, PyAny>)],
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (relations, row) = (self.relations()?, row(key, properties)?);
        py.detach(|| match of {
            Of::Edges => relations.merge_edges(&row),
            Of::Nodes => relations.merge_nodes(&row),
        })
        .or_raise()
    }

    /// Puts the rows of a table.
    pub(crate) fn put_rows(
        &self,
        of: Of,
        data: &Bound<'_, PyAny>,
        keeps_others: bool,
    ) -> PyResult<()> {
        let (py, relations) = (data.py(), self.relations()?);
        let relation = py.detach(|| open(&relations, of)).or_raise()?;
        let names: Vec<String> =
            relation.columns().iter().map(|column| column.name.clone()).collect();
        let rows = frame(data, &names)?;
        py.detach(|| match (of, keeps_others) {
            (Of::Edges, false) => relations.upsert_edges(&rows),
            (Of::Edges, true) => relations.merge_edges(&rows),
            (Of::Nodes, false) => relations.upsert_nodes(&rows),
            (Of::Nodes, true) => relations.merge_nodes(&rows),
        })
        .or_raise()
    }

    /// The properties of one row by name; `None` if it does not exist.
    pub(crate) fn properties_of<'py>(
        &self,
        py: Python<'py>,
        of: Of,
        key: &[(&str, &Bound<'py, PyAny>)],
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let (relations, keys) = (self.relations()?, row(key, None)?);
        let found = py.detach(|| open(&relations, of)?.get_many(&keys));
        let (_, rows) = found.or_raise()?;
        if rows.is_empty() {
            return Ok(None);
        }
        let properties = PyDict::new(py);
        for (name, column) in rows.names().iter().zip(rows.columns()).skip(key.len()) {
            properties.set_item(name, object(py, &column.value(0))?)?;
        }
        Ok(Some(properties))
    }

    /// Puts edges with keys as rows of their relation.
    pub(crate) fn put_keyed(
        &self,
        us: &Bound<'_, PyAny>,
        vs: &Bound<'_, PyAny>,
        ws: Option<&Bound<'_, PyAny>>,
        keys: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if self.graph()?.def().is_keyed {
            let rows = PyDict::new(us.py());
            rows.set_item("src", us)?;
            rows.set_item("dst", vs)?;
            rows.set_item("key", keys)?;
            if let Some(ws) = ws {
                rows.set_item("weight", ws)?;
            }
            return self.put_rows(Of::Edges, &rows, false);
        }
        Err(self.no_keys()?)
    }

    fn no_keys(&self) -> PyResult<PyErr> {
        Ok(invalid(&format!("edges of graph {:?} have no keys", self.graph()?.name())))
    }

    /// The key columns of edges that are given, which must be those that edges have.
    pub(crate) fn key_columns<'a, 'py>(
        &self,
        [src, dst, key]: [(&'a str, Option<&'a Bound<'py, PyAny>>); 3],
    ) -> PyResult<Vec<(&'a str, &'a Bound<'py, PyAny>)>> {
        let graph = self.graph()?;
        if key.1.is_some() && !graph.def().is_keyed {
            return Err(self.no_keys()?);
        }
        let columns = [src, dst, key].into_iter();
        Ok(columns.filter_map(|(name, column)| Some((name, column?))).collect())
    }

    /// Whether each key exists, and a table of the rows that do.
    pub(crate) fn rows_of_keys<'py>(
        &self,
        py: Python<'py>,
        of: Of,
        keys: Vec<(&str, &Bound<'py, PyAny>)>,
    ) -> PyResult<(Bound<'py, PyArray1<bool>>, Table)> {
        let given = PyDict::new(py);
        for (name, column) in keys {
            given.set_item(name, column)?;
        }
        let relation = self.relation_of(py, of)?;
        rows_of_keys(relation.relation()?, &given)
    }
}

fn open(relations: &GraphRelations, of: Of) -> quipu::Result<quipu::Relation> {
    match of {
        Of::Edges => relations.edges(),
        Of::Nodes => relations.nodes(),
    }
}
