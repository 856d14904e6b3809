//! A relation with an index of each kind, and searches by them that plain rows can answer, too.

/// The columns of the relation.
pub const COLUMNS: &str = "{k: Int => text: String?, v: <F32; 2>?, more: Json?, once: Int?}";

/// The columns of a row that searches read.
#[derive(Clone, Copy, Debug)]
pub struct IndexedRow<'r> {
    /// Words, separated by spaces.
    pub text: Option<&'r str>,
    /// Whether it has a vector.
    pub has_vector: bool,
    /// The field `city` of `more`.
    pub city: Option<i64>,
    /// A number that no other row has.
    pub once: Option<i64>,
}

/// An index and a search by it.
#[derive(Clone, Copy, Debug)]
pub struct IndexCase {
    /// Its name, without the relation's.
    pub name: &'static str,
    create: &'static str,
    drop: &'static str,
    search: &'static str,
    /// Whether the search finds a row.
    pub finds: fn(&IndexedRow<'_>) -> bool,
}

impl IndexCase {
    /// The script that creates the index of a relation.
    #[must_use]
    pub fn create_on(&self, relation: &str) -> String {
        self.create.replace(RELATION, relation)
    }

    /// The script that drops it.
    #[must_use]
    pub fn drop_on(&self, relation: &str) -> String {
        self.drop.replace(RELATION, relation)
    }

    /// The script that returns the keys of the rows that the search finds, of at most 100 rows.
    #[must_use]
    pub fn search_on(&self, relation: &str) -> String {
        format!("?[k] := {}", self.search.replace(RELATION, relation))
    }
}

/// Replaced by the name of the relation.
const RELATION: &str = "RELATION";

fn words<'r>(row: &IndexedRow<'r>) -> Vec<&'r str> {
    row.text.unwrap_or_default().split_whitespace().collect()
}

/// An index of each kind.
pub const INDEXES: [IndexCase; 6] = [
    IndexCase {
        name: "text",
        create: "::index create RELATION:text {text}",
        drop: "::index drop RELATION:text",
        search: "*RELATION{k, text: 'b c'}",
        finds: |row| row.text == Some("b c"),
    },
    IndexCase {
        name: "city",
        create: "::index create RELATION:city {more->'city'}",
        drop: "::index drop RELATION:city",
        search: "*RELATION{k, more}, more->'city' == 1",
        finds: |row| row.city == Some(1),
    },
    IndexCase {
        name: "once",
        create: "::index create RELATION:once {once} unique",
        drop: "::index drop RELATION:once",
        search: "*RELATION{k, once}, !is_null(once), once >= 0",
        finds: |row| row.once.is_some(),
    },
    IndexCase {
        name: "words",
        create: "::fts create RELATION:words {extractor: text, tokenizer: Simple, filters: [Lowercase]}",
        drop: "::fts drop RELATION:words",
        search: "~RELATION:words{k | query: 'b', k: 100}",
        finds: |row| words(row).contains(&"b"),
    },
    IndexCase {
        name: "like",
        create: "::lsh create RELATION:like {extractor: text, tokenizer: Simple, target_threshold: 0.5}",
        drop: "::lsh drop RELATION:like",
        search: "~RELATION:like{k | query: 'a b c', k: 100, bind_similarity: s, filter: s == 1}",
        finds: |row| words(row).len() == 3,
    },
    IndexCase {
        name: "near",
        create: "::hnsw create RELATION:near {dim: 2, fields: [v], m: 4, ef_construction: 20}",
        drop: "::hnsw drop RELATION:near",
        search: "~RELATION:near{k | query: vec([1, 1]), k: 100, ef: 200}",
        finds: |row| row.has_vector,
    },
];
