//! Encoding of keyspace definitions: the bytes that describe the contents of a keyspace. The engine
//! stores them with each keyspace, so the encoding is fixed.
//!
//! ```text
//! definition := version:u8  kind:u8  body
//! version    := 1 | 2 (a relation with dates, timestamps or durations) | 3 (a search index)
//!             | 4 (a graph with properties) | 5 (an index of near duplicates)
//!             | 6 (a vector index) | 7 (an index of a relation on paths into JSON)
//!             | 8 (a graph that is undirected or has parallel edges)
//!             | 9 (a unique index) | 10 (a relation or a graph with decimals)
//! kind 0     := a relation; body = n:varint key*  n:varint value*
//! key        := name:bytes type        (bytes: a length as a varint, then that many bytes)
//! value      := name:bytes type nullable:u8  merge:u8 (0 none 1 add int 2 add float 3 min 4 max)
//! type       := tag:u8 body            (see `put_type`)
//! kind 1..=4 := a graph's part: forward, reverse, ids, names; body = vertex:u8 weight:u8
//! kind 9     := the part nodes of a graph of version 4, 8 or 10
//! version 4, := kinds 1..=4 and 9; body = vertex:u8 weight:u8 options:u8  n:varint value*
//!   8, 10       (properties of edges)  n:varint value* (those of vertices, if options has bit 0)
//! options    := bit 0: a relation of vertices; in versions 8 and 10, bit 1: undirected, bit 2: a
//!               third key column of edges
//! kind 7     := a relation with defaults; body = that of kind 0, then default:bytes for each
//!               column, keys first: an expression of the query language, empty for none
//! kind 5, 6  := a part of blobs: rows, large; body = vertex:u8 (the keys' type)
//! kind 8     := a part of a search index; body = method:u8 (0 full text)
//!               part:u8 (0 postings, 1 terms)  n:varint key*  n:varint setting*
//! kind 10    := a part of an index of near duplicates; body = part:u8 (0 bands, 1 signatures)
//!               n:varint key*  n:varint setting*
//! kind 11    := a part of a vector index; body = part:u8 (0 links, 1 vertices)  n:varint key*
//!               n:varint setting*
//! kind 12    := an index on paths into JSON; body = that of kind 0, then path:bytes for each key,
//!               empty for a column of the relation
//! kind 13    := a unique index; body = that of kind 12, then n:varint, the number of its first
//!               columns in which no two rows are equal
//! path       := column:bytes  step*          (at least one step; the bytes end it)
//! step       := 0 name:bytes | 1 index:varint
//! setting    := name:bytes value:bytes       (an encoded value, see `model::encode_value`)
//! vertex     := 0 u64 | 1 i64 | 2 str
//! weight     := 0 none | 1 float | 2 int
//! ```

use crate::blobs_def::{BlobsDef, BlobsPart};
use crate::graph_def::{GraphDef, GraphPart, VertexType, WeightType};
use crate::json_path::JsonPath;
use crate::schema::{KeyColumn, Schema, ValueColumn};
use crate::search_def::{SearchDef, SearchMethod, SearchPart};
use base::{Merge, varint};
use model::{JsonStep, Type, VectorKind};
use store::{Error, ErrorKind, KeyspaceInfo, Result};

/// Format version.
const VERSION: u8 = 1;

/// Format version of relations with dates, timestamps or durations: programs that do not know these
/// types refuse it by its number.
const VERSION_TEMPORAL: u8 = 2;

/// Format version of search indexes: programs that do not know them refuse them by its number.
const VERSION_SEARCH: u8 = 3;

/// Kind of a part of a full-text index.
const SEARCH: u8 = 8;

/// Format version of graphs with properties: programs that do not know these refuse it by its
/// number. Directed graphs without them and without parallel edges keep the encoding of
/// [`VERSION`].
const VERSION_PROPERTIES: u8 = 4;

/// Format version of indexes of near duplicates: programs that do not know them refuse them by its
/// number.
const VERSION_NEAR: u8 = 5;

/// Kind of a part of an index of near duplicates.
const NEAR: u8 = 10;

/// Format version of vector indexes: programs that do not know them refuse them by its number.
const VERSION_VECTOR: u8 = 6;

/// Kind of a part of a vector index.
const VECTOR: u8 = 11;

/// Format version of indexes on paths: programs that do not know them refuse them by its number.
const VERSION_PATHS: u8 = 7;

/// Kind of an index on paths.
const WITH_PATHS: u8 = 12;

/// Format version of graphs that are undirected or have parallel edges: programs that do not know
/// them refuse them by its number, since they would find an edge from one of its ends only.
const VERSION_DIRECTIONS: u8 = 8;

/// Format version of unique indexes: programs that do not know them refuse them by its number,
/// because they would not keep them unique.
const VERSION_UNIQUE: u8 = 9;

/// Kind of a unique index.
const UNIQUE: u8 = 13;

/// Format version of relations and graphs with decimals: programs that do not know this type refuse
/// it by its number.
const VERSION_DECIMALS: u8 = 10;

/// The newest format version that this program reads.
const VERSION_MAX: u8 = VERSION_DECIMALS;

/// Bit of a graph's options: it has a relation of vertices.
const HAS_NODES: u8 = 1;

/// Bit of a graph's options: it is undirected.
const IS_UNDIRECTED: u8 = 2;

/// Bit of a graph's options: its edges have a third key column.
const IS_KEYED: u8 = 4;

/// Kind of a relation whose columns have defaults.
const WITH_DEFAULTS: u8 = 7;

/// The contents of a keyspace.
#[derive(Clone, Debug, PartialEq)]
pub enum Definition {
    /// A relation that a user created.
    Relation(Schema),
    /// One of the keyspaces of a graph.
    Graph(GraphDef, GraphPart),
    /// One of the keyspaces of a set of blobs.
    Blobs(BlobsDef, BlobsPart),
    /// One of the keyspaces of a search index.
    Search(SearchDef, SearchPart),
}

impl Definition {
    /// Encodes it as stored with the keyspace.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Relation(schema) => {
                let unique = schema.unique_columns();
                if unique > 0 || schema.keys.iter().any(|key| key.path.is_some()) {
                    let mut out = match unique {
                        0 => vec![VERSION_PATHS, WITH_PATHS],
                        _ => vec![VERSION_UNIQUE, UNIQUE],
                    };
                    put_schema(schema, &mut out);
                    schema.keys.iter().for_each(|key| put_path(key.path.as_ref(), &mut out));
                    if unique > 0 {
                        varint::put(&mut out, unique as u64);
                    }
                    return out;
                }
                let has_defaults = schema.defaults().any(|default| default.is_some());
                let version = relation_version(schema);
                let mut out = vec![version, if has_defaults { WITH_DEFAULTS } else { 0 }];
                put_schema(schema, &mut out);
                if has_defaults {
                    for default in schema.defaults() {
                        varint::put_bytes(&mut out, default.unwrap_or_default().as_bytes());
                    }
                }
                out
            }
            Self::Graph(def, part) => {
                let kind = match part {
                    GraphPart::Forward => 1,
                    GraphPart::Reverse => 2,
                    GraphPart::Ids => 3,
                    GraphPart::Names => 4,
                    GraphPart::Nodes => 9,
                };
                let weight = match def.weight {
                    WeightType::None => 0,
                    WeightType::Float => 1,
                    WeightType::Int => 2,
                };
                let vertex = vertex_number(def.vertex);
                let version = graph_version(def);
                if version == VERSION {
                    return vec![VERSION, kind, vertex, weight];
                }
                let mut options = if def.nodes.is_some() { HAS_NODES } else { 0 };
                if def.is_undirected {
                    options |= IS_UNDIRECTED;
                }
                if def.is_keyed {
                    options |= IS_KEYED;
                }
                let mut out = vec![version, kind, vertex, weight, options];
                put_values(&def.edges, &mut out);
                if let Some(nodes) = &def.nodes {
                    put_values(nodes, &mut out);
                }
                out
            }
            Self::Blobs(def, part) => {
                let kind = match part {
                    BlobsPart::Rows => 5,
                    BlobsPart::Large => 6,
                };
                vec![VERSION, kind, vertex_number(def.key)]
            }
            Self::Search(def, part) => encode_search(def, *part),
        }
    }

    /// Decodes the definition stored with a keyspace.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if the bytes are not a valid encoding, or do not fit the
    /// keyspace's name and shape.
    pub fn decode(info: &KeyspaceInfo) -> Result<Self> {
        let wrong = |what: &str| {
            Error::new(
                ErrorKind::Corruption,
                format!("the definition of keyspace {:?} {what}", info.name),
            )
        };
        let (&version, rest) = info.definition.split_first().ok_or_else(|| wrong("is empty"))?;
        if !(VERSION..=VERSION_MAX).contains(&version) {
            let what = format!("has version {version}, this program reads {VERSION_MAX}");
            return Err(wrong(&what));
        }
        if let Some((&kind @ (0 | WITH_DEFAULTS | WITH_PATHS | UNIQUE), body)) = rest.split_first()
        {
            let schema = take_schema(&info.name, body, kind);
            let schema = schema.ok_or_else(|| wrong("cannot be read"))?;
            schema.check().map_err(|_| wrong("describes no relation"))?;
            if schema.shape() != info.shape {
                return Err(wrong("does not fit its shape"));
            }
            return Ok(Self::Relation(schema));
        }
        if let Some((&kind @ (SEARCH | NEAR | VECTOR), body)) = rest.split_first() {
            let def = take_search(&info.name, kind, body);
            let (def, part) = def.ok_or_else(|| wrong("cannot be read"))?;
            let schema = def.part_schema(part);
            schema.check().map_err(|_| wrong("describes no search index"))?;
            if schema.shape() != info.shape {
                return Err(wrong("does not fit its shape"));
            }
            return Ok(Self::Search(def, part));
        }
        let vertex_type = |number| {
            vertex_of(number).ok_or_else(|| wrong(&format!("names unknown vertex type {number}")))
        };
        if let &[kind @ (5 | 6), key] = rest {
            let part = if kind == 5 { BlobsPart::Rows } else { BlobsPart::Large };
            let name = info.name.strip_suffix(part.suffix());
            let name = name.ok_or_else(|| wrong("does not fit its name"))?.to_owned();
            let def = BlobsDef { name, key: vertex_type(key)? };
            if def.shape(part) != info.shape {
                return Err(wrong("does not fit its shape"));
            }
            return Ok(Self::Blobs(def, part));
        }
        let (&[kind, vertex, weight], options) = match rest.split_first_chunk() {
            Some((first, options)) if has_options(version) => (first, options),
            Some((first, [])) => (first, &[][..]),
            _ => return Err(wrong("has the wrong length")),
        };
        let part = match kind {
            1 => GraphPart::Forward,
            2 => GraphPart::Reverse,
            3 => GraphPart::Ids,
            4 => GraphPart::Names,
            9 if has_options(version) => GraphPart::Nodes,
            _ => return Err(wrong(&format!("is of unknown kind {kind}"))),
        };
        let vertex = vertex_type(vertex)?;
        let weight = match weight {
            0 => WeightType::None,
            1 => WeightType::Float,
            2 => WeightType::Int,
            _ => return Err(wrong(&format!("names unknown weight type {weight}"))),
        };
        let name =
            info.name.strip_suffix(part.suffix()).ok_or_else(|| wrong("does not fit its name"))?;
        let mut def = GraphDef::new(name, vertex, weight);
        if has_options(version) {
            take_options(options, &mut def).ok_or_else(|| wrong("cannot be read"))?;
            def.check().map_err(|_| wrong("describes no graph"))?;
            if graph_version(&def) != version {
                return Err(wrong("has the version of another graph"));
            }
        }
        if !def.parts().contains(&part) || def.shape(part) != info.shape {
            return Err(wrong("does not fit its shape"));
        }
        Ok(Self::Graph(def, part))
    }
}

/// The oldest version that can describe a graph: each definition has one encoding.
fn graph_version(def: &GraphDef) -> u8 {
    match def {
        _ if has_decimals(def) => VERSION_DECIMALS,
        _ if def.is_special() => VERSION_DIRECTIONS,
        _ if def.has_properties() => VERSION_PROPERTIES,
        _ => VERSION,
    }
}

/// Whether a graph of this version has options and columns.
fn has_options(version: u8) -> bool {
    matches!(version, VERSION_PROPERTIES | VERSION_DIRECTIONS | VERSION_DECIMALS)
}

/// Decodes the options and the properties of a graph.
fn take_options(mut bytes: &[u8], def: &mut GraphDef) -> Option<()> {
    let bytes = &mut bytes;
    let options = take_byte(bytes)?;
    if options & !(HAS_NODES | IS_UNDIRECTED | IS_KEYED) != 0 {
        return None;
    }
    def.is_undirected = options & IS_UNDIRECTED != 0;
    def.is_keyed = options & IS_KEYED != 0;
    def.edges = take_values(bytes)?;
    def.nodes = match options & HAS_NODES {
        0 => None,
        _ => Some(take_values(bytes)?),
    };
    bytes.is_empty().then_some(())
}

fn vertex_number(of: VertexType) -> u8 {
    match of {
        VertexType::U64 => 0,
        VertexType::I64 => 1,
        VertexType::Str => 2,
    }
}

fn vertex_of(number: u8) -> Option<VertexType> {
    match number {
        0 => Some(VertexType::U64),
        1 => Some(VertexType::I64),
        2 => Some(VertexType::Str),
        _ => None,
    }
}

/// The oldest version whose programs know the types of all columns.
fn relation_version(schema: &Schema) -> u8 {
    let keys = schema.keys.iter().map(|column| &column.column_type);
    let values = schema.values.iter().map(|column| &column.column_type);
    keys.chain(values).map(type_version).max().unwrap_or(VERSION)
}

fn has_decimals(def: &GraphDef) -> bool {
    let mut columns = def.edges.iter().chain(def.nodes.iter().flatten());
    columns.any(|column| type_version(&column.column_type) == VERSION_DECIMALS)
}

/// The oldest version whose programs know a type in a relation.
fn type_version(of: &Type) -> u8 {
    match of {
        Type::List(inner, _) | Type::Nullable(inner) => type_version(inner),
        Type::Tuple(types) => types.iter().map(type_version).max().unwrap_or(VERSION),
        Type::Decimal => VERSION_DECIMALS,
        of if of.is_temporal() => VERSION_TEMPORAL,
        _ => VERSION,
    }
}

fn encode_search(def: &SearchDef, part: SearchPart) -> Vec<u8> {
    let part = u8::from(!part.is_main());
    let mut out = match def.method {
        SearchMethod::FullText => vec![VERSION_SEARCH, SEARCH, 0, part],
        SearchMethod::NearDuplicates => vec![VERSION_NEAR, NEAR, part],
        SearchMethod::Vector => vec![VERSION_VECTOR, VECTOR, part],
    };
    put_keys(&def.keys, &mut out);
    varint::put(&mut out, def.settings.len() as u64);
    let mut encoded = Vec::new();
    for (name, value) in &def.settings {
        varint::put_bytes(&mut out, name.as_bytes());
        encoded.clear();
        model::encode_value(value, &mut encoded);
        varint::put_bytes(&mut out, &encoded);
    }
    out
}

/// The definition of a part of a search index; `keyspace` is the name of the part's keyspace.
fn take_search(keyspace: &str, kind: u8, mut bytes: &[u8]) -> Option<(SearchDef, SearchPart)> {
    let bytes = &mut bytes;
    let method = match kind {
        NEAR => SearchMethod::NearDuplicates,
        VECTOR => SearchMethod::Vector,
        _ if take_byte(bytes)? == 0 => SearchMethod::FullText,
        _ => return None,
    };
    let part = *method.parts().get(usize::from(take_byte(bytes)?))?;
    let keys = take_keys(bytes)?;
    let mut settings = Vec::new();
    for _ in 0..varint::take(bytes)? {
        let name = take_text(bytes)?;
        let mut encoded = varint::take_bytes(bytes)?;
        let value = model::decode_value(&mut encoded).ok()?;
        if !encoded.is_empty() {
            return None;
        }
        settings.push((name, value));
    }
    if !bytes.is_empty() {
        return None;
    }
    let name = keyspace.strip_suffix(part.suffix())?.to_owned();
    Some((SearchDef { name, method, keys, settings }, part))
}

fn put_keys(keys: &[KeyColumn], out: &mut Vec<u8>) {
    varint::put(out, keys.len() as u64);
    for column in keys {
        varint::put_bytes(out, column.name.as_bytes());
        put_type(&column.column_type, out);
    }
}

fn take_keys(bytes: &mut &[u8]) -> Option<Vec<KeyColumn>> {
    let mut keys = Vec::new();
    for _ in 0..varint::take(bytes)? {
        let name = take_text(bytes)?;
        keys.push(KeyColumn::new(name, take_type(bytes, 0)?));
    }
    Some(keys)
}

fn put_schema(schema: &Schema, out: &mut Vec<u8>) {
    put_keys(&schema.keys, out);
    put_values(&schema.values, out);
}

fn put_values(values: &[ValueColumn], out: &mut Vec<u8>) {
    varint::put(out, values.len() as u64);
    for column in values {
        varint::put_bytes(out, column.name.as_bytes());
        put_type(&column.column_type, out);
        out.push(u8::from(column.nullable));
        out.push(match column.merge {
            None => 0,
            Some(Merge::AddInt) => 1,
            Some(Merge::AddFloat) => 2,
            Some(Merge::Min) => 3,
            Some(Merge::Max) => 4,
        });
    }
}

fn take_schema(name: &str, mut bytes: &[u8], kind: u8) -> Option<Schema> {
    let bytes = &mut bytes;
    let mut keys = take_keys(bytes)?;
    let mut values = take_values(bytes)?;
    if kind == WITH_DEFAULTS {
        let defaults = keys.iter_mut().map(|column| &mut column.default);
        for default in defaults.chain(values.iter_mut().map(|column| &mut column.default)) {
            let text = take_text(bytes)?;
            *default = (!text.is_empty()).then_some(text);
        }
    }
    if matches!(kind, WITH_PATHS | UNIQUE) {
        for column in &mut keys {
            column.path = match varint::take_bytes(bytes)? {
                [] => None,
                path => Some(take_path(path)?),
            };
        }
    }
    if kind == UNIQUE {
        let unique = usize::try_from(varint::take(bytes)?).ok()?;
        if unique == 0 {
            return None;
        }
        keys.get_mut(..unique)?.iter_mut().for_each(|column| column.is_unique = true);
    }
    bytes.is_empty().then(|| Schema { name: name.to_owned(), keys, values })
}

fn put_path(path: Option<&JsonPath>, out: &mut Vec<u8>) {
    let mut steps = Vec::new();
    if let Some(path) = path {
        varint::put_bytes(&mut steps, path.column.as_bytes());
        for step in &path.steps {
            match step {
                JsonStep::Name(name) => {
                    steps.push(0);
                    varint::put_bytes(&mut steps, name.as_bytes());
                }
                JsonStep::Index(index) => {
                    steps.push(1);
                    varint::put(&mut steps, *index);
                }
            }
        }
    }
    varint::put_bytes(out, &steps);
}

fn take_path(mut bytes: &[u8]) -> Option<JsonPath> {
    let bytes = &mut bytes;
    let column = take_text(bytes)?;
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        steps.push(match take_byte(bytes)? {
            0 => JsonStep::Name(take_text(bytes)?),
            1 => JsonStep::Index(varint::take(bytes)?),
            _ => return None,
        });
    }
    (!steps.is_empty()).then_some(JsonPath { column, steps })
}

fn take_values(bytes: &mut &[u8]) -> Option<Vec<ValueColumn>> {
    let mut values = Vec::new();
    for _ in 0..varint::take(bytes)? {
        values.push(ValueColumn {
            name: take_text(bytes)?,
            column_type: take_type(bytes, 0)?,
            nullable: match take_byte(bytes)? {
                0 => false,
                1 => true,
                _ => return None,
            },
            merge: match take_byte(bytes)? {
                0 => None,
                1 => Some(Merge::AddInt),
                2 => Some(Merge::AddFloat),
                3 => Some(Merge::Min),
                4 => Some(Merge::Max),
                _ => return None,
            },
            default: None,
        });
    }
    Some(values)
}

fn put_type(of: &Type, out: &mut Vec<u8>) {
    let tag = match of {
        Type::Any => 0,
        Type::Bool => 1,
        Type::Int => 2,
        Type::Id => 3,
        Type::Float => 4,
        Type::String => 5,
        Type::Bytes => 6,
        Type::Uuid => 7,
        Type::Json => 8,
        Type::Validity => 9,
        Type::List(_, None) => 10,
        Type::List(_, Some(_)) => 11,
        Type::Tuple(_) => 12,
        Type::Vector(VectorKind::F32, _) => 13,
        Type::Vector(VectorKind::F64, _) => 14,
        Type::Nullable(_) => 15,
        Type::Date => 16,
        Type::Timestamp => 17,
        Type::Duration => 18,
        Type::Decimal => 19,
    };
    out.push(tag);
    match of {
        Type::List(item, len) => {
            len.iter().for_each(|&len| varint::put(out, len));
            put_type(item, out);
        }
        Type::Tuple(types) => {
            varint::put(out, types.len() as u64);
            types.iter().for_each(|of| put_type(of, out));
        }
        Type::Vector(_, len) => varint::put(out, *len),
        Type::Nullable(inner) => put_type(inner, out),
        _ => {}
    }
}

fn take_type(bytes: &mut &[u8], depth: usize) -> Option<Type> {
    if depth > crate::schema::TYPE_DEPTH_MAX {
        return None;
    }
    let inner = |bytes: &mut &[u8]| take_type(bytes, depth + 1).map(Box::new);
    Some(match take_byte(bytes)? {
        0 => Type::Any,
        1 => Type::Bool,
        2 => Type::Int,
        3 => Type::Id,
        4 => Type::Float,
        5 => Type::String,
        6 => Type::Bytes,
        7 => Type::Uuid,
        8 => Type::Json,
        9 => Type::Validity,
        10 => Type::List(inner(bytes)?, None),
        11 => {
            let len = varint::take(bytes)?;
            Type::List(inner(bytes)?, Some(len))
        }
        12 => {
            let mut types = Vec::new();
            for _ in 0..varint::take(bytes)? {
                types.push(take_type(bytes, depth + 1)?);
            }
            Type::Tuple(types)
        }
        13 => Type::Vector(VectorKind::F32, varint::take(bytes)?),
        14 => Type::Vector(VectorKind::F64, varint::take(bytes)?),
        15 => Type::Nullable(inner(bytes)?),
        16 => Type::Date,
        17 => Type::Timestamp,
        18 => Type::Duration,
        19 => Type::Decimal,
        _ => return None,
    })
}

fn take_byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(byte)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    String::from_utf8(varint::take_bytes(bytes)?.to_vec()).ok()
}
