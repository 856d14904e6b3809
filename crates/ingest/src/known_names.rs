//! Names of columns that people use for edges, and names that say that a column is something else.
//!
//! Names are compared without case, spaces and punctuation, and without the type that Neo4j writes
//! after a colon: `From Node`, `from_node` and `fromNode:int` are one name.

/// Pairs of names for source and target, in order of preference.
const PAIRS: [(&str, &str); 43] = [
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("startid", "endid"),
    ("first", "second"),
    ("u", "v"),
    ("source", "destination"),
    ("src", "dest"),
    ("src", "target"),
    ("fromid", "toid"),
    ("sourceid", "targetid"),
    ("srcid", "dstid"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("sourcenode", "targetnode"),
    ("startnode", "endnode"),
    ("nodefrom", "nodeto"),
    ("node1", "node2"),
    ("nodea", "nodeb"),
    ("id1", "id2"),
    ("ida", "idb"),
    ("userid1", "userid2"),
    ("user1", "user2"),
    ("person1", "person2"),
    ("person1id", "person2id"),
    ("vertex1", "vertex2"),
    ("v1", "v2"),
    ("n1", "n2"),
    ("row", "col"),
    ("head", "tail"),
    ("start", "end"),
    ("tail", "head"),
    ("subject", "object"),
    ("follower", "followee"),
    ("followerid", "followeeid"),
    ("follower", "followed"),
    ("citing", "cited"),
    ("citingid", "citedid"),
    ("caller", "callee"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("origin", "destination"),
    ("parent", "child"),
];

/// Names of weights, in order of preference.
const WEIGHTS: [&str; 26] = [
    "weight",
    "weights",
    "edgeweight",
    "w",
    "value",
    "val",
    "count",
    "cnt",
    "n",
    "cost",
    "distance",
    "dist",
    "length",
    "len",
    "capacity",
    "strength",
    "similarity",
    "score",
    "rating",
    "amount",
    "quantity",
    "frequency",
    "freq",
    "probability",
    "prob",
    "confidence",
];

/// Names of the column of a table of vertices that holds the vertex, in order of preference.
const VERTICES: [&str; 6] = ["vertex", "id", "node", "vertexid", "nodeid", "key"];

/// The first names of [`WEIGHTS`], which mean nothing but a weight.
const PLAIN_WEIGHTS: usize = 4;

const TIMES: [&str; 14] = [
    "time",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "created",
    "createdat",
    "updatedat",
    "when",
    "year",
    "month",
    "day",
    "unixtime",
    "epoch",
];

const LABELS: [&str; 12] = [
    "type",
    "label",
    "labels",
    "rel",
    "relation",
    "relationship",
    "predicate",
    "kind",
    "name",
    "title",
    "category",
    "edgetype",
];

/// The role of a column, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Weight,
    /// An identifier of the row.
    Id,
    Time,
    /// A type or a name of the edge.
    Label,
    Unknown,
}

/// The name without case, punctuation and type.
fn normal(name: &str) -> String {
    let name = name.trim();
    // Neo4j writes `:START_ID(Person)` and `since:int`.
    let name = name.split('(').next().unwrap_or_default();
    let name = match name.split_once(':') {
        Some(("", kind)) => kind,
        Some((name, _)) => name,
        None => name,
    };
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Positions of source and target, when both have well-known names of one pair.
pub(crate) fn pair(names: &[impl AsRef<str>]) -> Option<(usize, usize)> {
    let names: Vec<_> = names.iter().map(|name| normal(name.as_ref())).collect();
    let find = |wanted: &str| names.iter().position(|name| name == wanted);
    PAIRS.iter().find_map(|(source, target)| Some((find(source)?, find(target)?)))
}

/// The position of a vertex among the columns of a table of vertices.
pub(crate) fn vertex(names: &[impl AsRef<str>]) -> Option<usize> {
    let names: Vec<_> = names.iter().map(|name| normal(name.as_ref())).collect();
    VERTICES.iter().find_map(|wanted| names.iter().position(|name| name == wanted))
}

/// Whether a name means a weight and cannot well be that of another property.
pub(crate) fn is_plain_weight(name: &str) -> bool {
    weight_rank(name).is_some_and(|rank| rank < PLAIN_WEIGHTS)
}

/// Whether these are the columns of a table of vertices, as Gephi and Neo4j write one with each
/// table of edges.
pub(crate) fn are_of_vertices(names: &[impl AsRef<str>]) -> bool {
    let is_id = |name: &str| {
        let name = name.split('(').next().unwrap_or_default().trim();
        name.ends_with(":ID")
    };
    let has = |wanted: &str| names.iter().any(|name| normal(name.as_ref()) == wanted);
    pair(names).is_none()
        && (names.iter().any(|name| is_id(name.as_ref())) || (has("id") && has("label")))
}

/// Whether a name is that of an index of rows: pandas writes no name, or these.
pub(crate) fn is_index(name: &str) -> bool {
    let name = name.trim();
    let level = name.strip_prefix("__index_level_").and_then(|rest| rest.strip_suffix("__"));
    name.is_empty()
        || name == "index"
        || name.starts_with("Unnamed: ")
        || level.is_some_and(|level| level.bytes().all(|b| b.is_ascii_digit()))
}

/// The position among known names of weights.
pub(crate) fn weight_rank(name: &str) -> Option<usize> {
    let name = normal(name);
    WEIGHTS.iter().position(|&known| known == name)
}

pub(crate) fn role(name: &str) -> Role {
    let short = normal(name);
    let short = short.as_str();
    let trimmed = name.trim().to_ascii_lowercase();
    if WEIGHTS.contains(&short) {
        Role::Weight
    } else if is_index(name)
        || short == "id"
        || short == "uuid"
        || short == "edgeid"
        || short == "rowid"
        || trimmed.ends_with("_id")
    {
        Role::Id
    } else if TIMES.contains(&short) || trimmed.ends_with("_at") || trimmed.ends_with("_time") {
        Role::Time
    } else if LABELS.contains(&short) {
        Role::Label
    } else {
        Role::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_case_punctuation_and_type() {
        for names in [
            ["Source", "Target"],
            ["From Node Id", "To Node Id"],
            [":START_ID(Person)", ":END_ID(Person)"],
            ["node_1", "node_2"],
            ["follower", "followee"],
            ["src_id:int", "dst_id:int"],
        ] {
            assert_eq!(pair(&names), Some((0, 1)), "{names:?}");
        }
        assert_eq!(pair(&["id", "target", "source"]), Some((2, 1)));
        assert_eq!(pair(&["alice", "bob"]), None);
    }

    #[test]
    fn names_say_what_is_no_weight() {
        for (name, want) in [
            ("Weight", Role::Weight),
            ("weight:float", Role::Weight),
            ("id", Role::Id),
            ("order_id", Role::Id),
            ("__index_level_0__", Role::Id),
            ("Unnamed: 0", Role::Id),
            ("timestamp", Role::Time),
            ("created_at", Role::Time),
            (":TYPE", Role::Label),
            ("trips", Role::Unknown),
        ] {
            assert_eq!(role(name), want, "{name}");
        }
    }
}
