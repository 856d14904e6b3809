//! GraphML and GEXF: elements `node` and `edge`, and a weight as attribute or as inner data.

use std::collections::BTreeMap;
use std::io::BufRead;

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    pass::{Pass, UNDIRECTED},
    sink::Sink,
};
use crate::error::Error;

pub(super) struct Xml {
    reader: Reader<Box<dyn BufRead + Send>>,
    buffer: Vec<u8>,
    gexf: bool,
    /// GraphML's key of the weight, its default, and the key of the vertices' labels.
    weight_key: Option<String>,
    key_is_of_weight: bool,
    weight_default: Option<String>,
    label_key: Option<String>,
    /// The edge or node that is open, and the data in it.
    edge: Option<Edge>,
    node: Option<String>,
    data: Option<String>,
    text: String,
    depth: usize,
    undirected: bool,
    seen_root: bool,
}

struct Edge {
    source: String,
    target: String,
    weight: Option<String>,
}

impl Xml {
    pub(super) fn new(reader: Box<dyn BufRead + Send>, gexf: bool) -> Self {
        Self {
            reader: Reader::from_reader(reader),
            buffer: Vec::new(),
            gexf,
            weight_key: None,
            key_is_of_weight: false,
            weight_default: None,
            label_key: None,
            edge: None,
            node: None,
            data: None,
            text: String::new(),
            depth: 0,
            undirected: false,
            seen_root: false,
        }
    }

    fn wrong(&self, sink: &Sink, what: &str) -> Error {
        let place = format!("{what}, near byte {}", self.reader.buffer_position());
        sink.error(0, if self.gexf { "sound GEXF" } else { "sound GraphML" }, &place)
    }

    fn attributes(
        &self,
        sink: &Sink,
        element: &BytesStart<'_>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let mut all = BTreeMap::new();
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|error| self.wrong(sink, &error.to_string()))?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| self.wrong(sink, &error.to_string()))?;
            let name =
                String::from_utf8_lossy(attribute.key.local_name().as_ref().as_ref()).into_owned();
            all.insert(name, value.into_owned());
        }
        Ok(all)
    }

    fn open(&mut self, sink: &mut Sink, element: &BytesStart<'_>) -> Result<(), Error> {
        let name = String::from_utf8_lossy(element.local_name().as_ref().as_ref()).into_owned();
        let mut of = self.attributes(sink, element)?;
        match name.as_str() {
            "graphml" | "gexf" => self.seen_root = true,
            "graph" => {
                let directed = of.get("edgedefault").or(of.get("defaultedgetype"));
                let default = if self.gexf { "undirected" } else { "directed" };
                self.undirected = directed.map_or(default, String::as_str) == "undirected";
            }
            "key" => {
                self.key_is_of_weight = false;
                let for_edges = of.get("for").is_none_or(|of| of == "edge" || of == "all");
                match of.get("attr.name").or(of.get("name")).map(String::as_str) {
                    Some("weight") if for_edges => {
                        self.key_is_of_weight = true;
                        self.weight_key = of.remove("id");
                    }
                    Some("label" | "name") if !for_edges => {
                        self.label_key = of.remove("id");
                    }
                    _ => sink.note(if for_edges {
                        "attributes of edges other than the weight are left out"
                    } else {
                        "attributes of vertices are left out"
                    }),
                }
            }
            "node" => {
                let id = of.remove("id");
                let id = id.ok_or_else(|| self.wrong(sink, "a node without an id"))?;
                if let Some(label) = of.get("label").filter(|_| self.gexf) {
                    sink.label(&id, label);
                }
                self.node = Some(id);
            }
            "edge" => {
                let (Some(source), Some(target)) = (of.remove("source"), of.remove("target"))
                else {
                    return Err(self.wrong(sink, "an edge without source or target"));
                };
                let kind = of.get("type").or(of.get("directed")).map(String::as_str);
                if kind.map_or(self.undirected, |kind| kind == "undirected" || kind == "false") {
                    sink.note(UNDIRECTED);
                }
                let weight = if self.gexf { of.remove("weight") } else { None };
                self.edge = Some(Edge { source, target, weight });
            }
            "data" => self.data = of.remove("key"),
            "attvalue" => sink.note("attributes other than the weight are left out"),
            "hyperedge" => return Err(self.wrong(sink, "a hyperedge, which no graph can hold")),
            _ => {}
        }
        self.text.clear();
        Ok(())
    }

    fn close(&mut self, sink: &mut Sink, name: &str) -> Result<(), Error> {
        match name {
            "data" => {
                let key = self.data.take();
                let text = self.text.trim().to_owned();
                if key.is_some()
                    && key == self.weight_key
                    && let Some(edge) = &mut self.edge
                {
                    edge.weight = Some(text);
                } else if key.is_some()
                    && key == self.label_key
                    && let Some(id) = &self.node
                {
                    sink.label(id, &text);
                }
            }
            "default" if self.key_is_of_weight => {
                self.weight_default = Some(self.text.trim().to_owned());
            }
            "node" => self.node = None,
            "edge" => {
                if let Some(edge) = self.edge.take() {
                    let weight = edge.weight.as_deref().or(self.weight_default.as_deref());
                    sink.edge(0, &edge.source, &edge.target, weight)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Pass for Xml {
    fn step(&mut self, sink: &mut Sink) -> Result<bool, Error> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let event = match self.reader.read_event_into(&mut buffer) {
            Ok(event) => event.into_owned(),
            Err(quick_xml::Error::Io(error)) => {
                return Err(sink.io(std::io::Error::new(error.kind(), error.to_string())));
            }
            Err(error) => return Err(self.wrong(sink, &error.to_string())),
        };
        self.buffer = buffer;
        match event {
            Event::Start(element) => {
                self.depth += 1;
                self.open(sink, &element)?;
            }
            Event::Empty(element) => {
                self.open(sink, &element)?;
                let name =
                    String::from_utf8_lossy(element.local_name().as_ref().as_ref()).into_owned();
                self.close(sink, &name)?;
            }
            Event::End(element) => {
                self.depth = self.depth.saturating_sub(1);
                let name =
                    String::from_utf8_lossy(element.local_name().as_ref().as_ref()).into_owned();
                self.close(sink, &name)?;
            }
            Event::Text(text) => self.text.push_str(&text.xml10_content()),
            Event::CData(text) => self.text.push_str(&text.xml10_content()),
            Event::GeneralRef(name) => {
                let escaped = format!("&{};", name.xml10_content());
                match quick_xml::escape::unescape(&escaped) {
                    Ok(text) => self.text.push_str(&text),
                    Err(error) => return Err(self.wrong(sink, &error.to_string())),
                }
            }
            Event::Eof if self.depth > 0 || !self.seen_root => {
                return Err(self.wrong(sink, "the end of the file"));
            }
            Event::Eof => return Ok(false),
            _ => {}
        }
        Ok(true)
    }
}
