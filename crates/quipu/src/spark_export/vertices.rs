//! The vertices of an export with their properties, one after the other.
//!
//! # Why there are three ways to join properties
//! Rows of the graph's own properties come in the order of its vertices, whatever that order is.
//! Rows of another relation come in the order of numbers and of strings, which is that of the
//! vertices, except for a graph of strings: its order is that of first appearance. There the rows
//! are looked up by key.

use super::{GoOn, STEP_ROWS, for_each_frame, invalid};
use crate::relation::{Relation, RowScan};
use crate::typed_frame::as_type;
use model::{Frame, Series, Type, Value, Values};
use session::ColumnOf;
use std::sync::Arc;
use store::{Error, ErrorKind, Result, Snapshot};
use views::graph::{Graph, VertexColumn, VertexList, VertexScan};

/// The ids of vertices, distinct.
pub(super) enum Ids {
    /// Those of a graph, in its order.
    Graph(Box<Graph>, VertexScan),
    /// Those of a relation's edges, ascending.
    Known(std::vec::IntoIter<Value>),
}

impl Ids {
    /// The vertices of a graph at a snapshot.
    pub(super) fn of_graph(graph: Graph) -> Result<Self> {
        let scan = graph.scan_vertices()?;
        Ok(Self::Graph(Box::new(graph), scan))
    }

    /// The ends of a relation's edges, held in memory up to `bytes_max`.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if they need more.
    pub(super) fn of_relation(
        edges: &Relation,
        snapshot: &Arc<dyn Snapshot>,
        (of, bytes_max): (&Type, u64),
        go_on: GoOn<'_>,
    ) -> Result<Self> {
        let mut ends = Ends { bytes_max, ..Ends::default() };
        for_each_frame(edges, snapshot, go_on, |frame| {
            frame.columns()[..2].iter().try_for_each(|column| {
                let column = as_type(column.clone(), of);
                (0..column.len()).try_for_each(|row| ends.push(column.value(row)))
            })
        })?;
        ends.settle();
        Ok(Self::Known(ends.all.into_iter()))
    }

    /// Up to `ids_max` ids; none at the end.
    fn next(&mut self, of: &Type, ids_max: usize) -> Result<Series> {
        match self {
            Self::Graph(graph, scan) => {
                let mut words = Vec::new();
                scan.next_vertices(ids_max, &mut words)?;
                Ok(match graph.to_vertices(&words)? {
                    VertexColumn::U64(ids) => Values::Id(ids).into(),
                    VertexColumn::I64(ids) => Values::Int(ids).into(),
                    VertexColumn::Str(names) => Values::Str(names).into(),
                })
            }
            Self::Known(ids) => {
                let mut series = Series::of_type(of);
                ids.take(ids_max).for_each(|id| series.push(id));
                Ok(series)
            }
        }
    }
}

/// Collects distinct ends of edges.
#[derive(Default)]
struct Ends {
    /// The first `sorted` are ascending and distinct.
    all: Vec<Value>,
    sorted: usize,
    /// Bytes of strings.
    text_bytes: u64,
    bytes_max: u64,
}

impl Ends {
    fn push(&mut self, end: Value) -> Result<()> {
        // Edges of one source follow each other.
        if self.all.last() == Some(&end) && self.all.len() > self.sorted {
            return Ok(());
        }
        if end == Value::Null {
            return Err(invalid("an edge has no source or no target: vertices are never null"));
        }
        self.text_bytes += if let Value::Str(text) = &end { text.len() as u64 } else { 0 };
        self.all.push(end);
        if self.all.len() < 2 * self.sorted.max(1 << 16) && self.bytes() < self.bytes_max {
            return Ok(());
        }
        self.settle();
        // Half must be free, or every end would be sorted anew.
        if self.bytes() < self.bytes_max / 2 {
            return Ok(());
        }
        let what = format!("the vertices of a relation exceed {} bytes of memory", self.bytes_max);
        let hint = "a larger memory limit allows more; a graph is exported without such a limit";
        Err(Error::new(ErrorKind::Limit, format!("{what}\nhint: {hint}")))
    }

    fn bytes(&self) -> u64 {
        (self.all.len() * size_of::<Value>()) as u64 + self.text_bytes
    }

    fn settle(&mut self) {
        self.all.sort_unstable();
        self.all.dedup();
        self.sorted = self.all.len();
        let text = |end: &Value| if let Value::Str(text) = end { text.len() as u64 } else { 0 };
        self.text_bytes = self.all.iter().map(text).sum();
    }
}

/// The vertices with their properties.
pub(super) struct Vertices {
    ids: Ids,
    names: Vec<String>,
    types: Vec<Type>,
    properties: Properties,
    /// Ids that were read, and how many of them were passed on.
    read: Series,
    at: usize,
    is_at_end: bool,
}

/// The rows of properties.
enum Properties {
    None,
    InOrder(Box<Rows>),
    ByKey(Box<Keyed>),
}

/// Rows in the order of the vertices.
struct Rows {
    scan: RowScan,
    /// Whether each row is of a vertex, in the order of the vertices.
    is_own: bool,
    frame: Option<Frame>,
    at: usize,
}

/// Rows in another order than the vertices.
struct Keyed {
    relation: Relation,
    snapshot: Arc<dyn Snapshot>,
    graph: Graph,
    /// The rows once more, for vertices that they alone have. From when the graph has no more.
    rest: Option<RowScan>,
}

impl Vertices {
    /// `properties` are the graph's own if `is_own`. The columns are those of the files.
    pub(super) fn new(
        ids: Ids,
        properties: Option<Relation>,
        is_own: bool,
        columns: &[ColumnOf],
        snapshot: &Arc<dyn Snapshot>,
    ) -> Result<Self> {
        let types: Vec<Type> = columns.iter().map(|column| column.column_type.clone()).collect();
        let properties = match (properties, &ids) {
            (None, _) => Properties::None,
            (Some(relation), Ids::Graph(graph, _)) if !is_own && types[0] == Type::String => {
                let (snapshot, graph) = (Arc::clone(snapshot), Graph::clone(graph));
                Properties::ByKey(Box::new(Keyed { relation, snapshot, graph, rest: None }))
            }
            (Some(relation), _) => {
                let scan = relation.scan_at(snapshot)?;
                Properties::InOrder(Box::new(Rows { scan, is_own, frame: None, at: 0 }))
            }
        };
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let read = Series::of_type(&types[0]);
        Ok(Self { ids, names, types, properties, read, at: 0, is_at_end: false })
    }

    /// Some vertices; `None` at the end.
    pub(super) fn next_rows(&mut self, rows_max: usize, go_on: GoOn<'_>) -> Result<Option<Frame>> {
        let columns = match &mut self.properties {
            Properties::None => vec![self.ids.next(&self.types[0], rows_max)?],
            Properties::InOrder(_) => self.merged(rows_max)?,
            Properties::ByKey(keyed) => {
                let ids = self.ids.next(&self.types[0], rows_max)?;
                match ids.is_empty() {
                    false => keyed.of_vertices(ids)?,
                    true => keyed.others(rows_max, go_on)?,
                }
            }
        };
        let columns = columns.into_iter().zip(&self.types);
        let columns: Vec<_> = columns.map(|(series, of)| as_type(series, of)).collect();
        let is_over = columns.first().is_none_or(Series::is_empty);
        let frame = Frame::new(self.names.clone(), columns);
        let frame = frame.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
        Ok((!is_over).then_some(frame))
    }

    /// Merges vertices and rows in one order.
    fn merged(&mut self, rows_max: usize) -> Result<Vec<Series>> {
        let mut columns: Vec<Series> = self.types.iter().map(Series::of_type).collect();
        while columns[0].len() < rows_max {
            let id = self.next_id()?;
            let Properties::InOrder(rows) = &mut self.properties else { break };
            let key = rows.next_key(&self.types[0])?;
            let (takes_id, takes_row) = match (&id, &key) {
                (None, None) => break,
                (Some(_), None) => (true, false),
                (Some(id), Some(key)) if id == key => (true, true),
                (Some(_), Some(_)) if rows.is_own => (true, false),
                (Some(id), Some(key)) if id < key => (true, false),
                (None, Some(key)) if rows.is_own => {
                    let what = format!("the graph has properties of {key}, which is no vertex");
                    return Err(Error::new(ErrorKind::Corruption, what));
                }
                (_, Some(_)) => (false, true),
            };
            self.at += usize::from(takes_id);
            match takes_row {
                true => rows.take(&mut columns[1..]),
                false => columns[1..].iter_mut().for_each(|column| column.push(Value::Null)),
            }
            let id = if takes_id { id } else { key };
            columns[0].push(id.unwrap_or(Value::Null));
        }
        Ok(columns)
    }

    fn next_id(&mut self) -> Result<Option<Value>> {
        if self.at == self.read.len() && !self.is_at_end {
            self.read = self.ids.next(&self.types[0], STEP_ROWS)?;
            self.is_at_end = self.read.is_empty();
            self.at = 0;
        }
        Ok((self.at < self.read.len()).then(|| self.read.value(self.at)))
    }
}

impl Rows {
    /// The key of the next row, as a vertex.
    fn next_key(&mut self, of: &Type) -> Result<Option<Value>> {
        if self.frame.as_ref().is_none_or(|frame| frame.len() == self.at) {
            self.frame = self.scan.next_rows(STEP_ROWS)?;
            self.at = 0;
        }
        let Some(frame) = &self.frame else { return Ok(None) };
        let key = frame.columns()[0].value(self.at);
        match (of, &key) {
            (Type::Id, Value::Int(0..) | Value::Id(_)) | (Type::Int, Value::Int(_)) => {}
            (Type::String, Value::Str(_)) => {}
            _ => return Err(invalid(format!("{key} is no vertex of type {of}"))),
        }
        Ok(Some(key))
    }

    /// Appends the properties of the next row.
    fn take(&mut self, properties: &mut [Series]) {
        let Some(frame) = &self.frame else { return };
        for (property, column) in properties.iter_mut().zip(&frame.columns()[1..]) {
            property.push(column.value(self.at));
        }
        self.at += 1;
    }
}

impl Keyed {
    /// The vertices with the properties of those that have some.
    fn of_vertices(&self, ids: Series) -> Result<Vec<Series>> {
        let key = self.relation.columns()[0].name.clone();
        let keys = Frame::new(vec![key], vec![ids.clone()]);
        let keys = keys.map_err(|error| Error::caused(ErrorKind::InvalidInput, error))?;
        let (is_there, found) = self.relation.get_many_at(&self.snapshot, &keys)?;
        let columns = self.relation.columns()[1..].iter().zip(&found.columns()[1..]);
        let spread = |(column, found): (&ColumnOf, &Series)| {
            let (mut series, mut next) = (Series::of_type(&column.column_type), 0);
            for &is_there in &is_there {
                series.push(if is_there { found.value(next) } else { Value::Null });
                next += usize::from(is_there);
            }
            series
        };
        let properties: Vec<Series> = columns.map(spread).collect();
        Ok([ids].into_iter().chain(properties).collect())
    }

    /// Rows whose keys are no vertices of the graph.
    fn others(&mut self, rows_max: usize, go_on: GoOn<'_>) -> Result<Vec<Series>> {
        let rest = match &mut self.rest {
            Some(rest) => rest,
            rest => rest.insert(self.relation.scan_at(&self.snapshot)?),
        };
        while let Some(frame) = rest.next_rows(rows_max)? {
            go_on()?;
            let mut words = Vec::new();
            let keys = as_type(frame.columns()[0].clone(), &Type::String);
            let Values::Str(names) = &keys.values else { break };
            let texts: Vec<&str> = (0..names.len())
                .map(|row| str::from_utf8(names.get(row)).unwrap_or_default())
                .collect();
            self.graph.to_words(VertexList::Str(&texts), &mut words)?;
            let mut others = Vec::new();
            for (row, &word) in words.iter().enumerate() {
                if !self.graph.has_vertex(word)? {
                    others.push(row as u32);
                }
            }
            if !others.is_empty() {
                return Ok(frame.columns().iter().map(|column| column.gather(&others)).collect());
            }
        }
        Ok(self.relation.columns().iter().map(|c| Series::of_type(&c.column_type)).collect())
    }
}
