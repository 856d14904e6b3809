//! Search indexes as their definitions describe them.

use crate::vector_index::{part_path, unreadable, vector_index};
use exec::storage::band_index::BandIndex;
use exec::storage::search_index::SearchIndex;
use exec::storage::text_index::TextIndex;
use model::Value;
use relation::{Schema, SearchDef, SearchMethod, SearchPart};
use search::{Analyzer, Bands, Component};
use std::sync::Arc;

/// The parts of an index that searches read; `schema` and `main` are the
/// relation's.
///
/// # Errors
/// A definition that cannot be read.
pub(crate) fn search_storage(
    def: &SearchDef,
    ids: &[base::KeyspaceId],
    schema: &Schema,
    main: base::KeyspaceId,
) -> store::Result<SearchIndex> {
    let path = |part: SearchPart| part_path(def, ids, part);
    let analyzer = || analyzer_of(def).map_err(|why| unreadable(def, &why));
    Ok(match def.method {
        SearchMethod::FullText => SearchIndex::Text(Arc::new(TextIndex {
            postings: path(SearchPart::Postings)?,
            terms: path(SearchPart::Terms)?,
            analyzer: analyzer()?,
            extractor: expression(def, "extractor", schema)?
                .ok_or_else(|| unreadable(def, "no extractor"))?,
        })),
        SearchMethod::NearDuplicates => {
            let division = Bands::new(count(def, BANDS)?, count(def, ROWS_IN_BAND)?);
            SearchIndex::Bands(Arc::new(BandIndex {
                bands: path(SearchPart::Bands)?,
                signatures: path(SearchPart::Signatures)?,
                analyzer: analyzer()?,
                n_gram: count(def, "n_gram")?,
                division: division.ok_or_else(|| unreadable(def, "too many bands"))?,
            }))
        }
        SearchMethod::Vector => {
            SearchIndex::Vector(Arc::new(vector_index(def, ids, schema, main)?))
        }
    })
}

/// Settings of an index of near duplicates that are computed when it is created.
pub(crate) const BANDS: &str = "n_bands";
pub(crate) const ROWS_IN_BAND: &str = "n_rows_in_band";

/// A setting that is a number from 1 on.
fn count(def: &SearchDef, name: &str) -> store::Result<usize> {
    match def.setting(name) {
        Some(Value::Int(int @ 1..)) => Ok(usize::try_from(*int).unwrap_or(usize::MAX)),
        _ => Err(unreadable(def, &format!("no number `{name}`"))),
    }
}

/// A setting that is an expression over the relation's columns.
///
/// # Errors
/// A definition that cannot be read.
pub(crate) fn expression(
    def: &SearchDef,
    name: &str,
    schema: &Schema,
) -> store::Result<Option<plan::Expr>> {
    let Some(Value::Str(text)) = def.setting(name) else { return Ok(None) };
    let parsed = crate::nesting::parse_expression(text).map_err(|problems| {
        let why = problems.first().map_or("", |problem| problem.message.as_str());
        unreadable(def, why)
    })?;
    let names: Vec<String> = schema.names().cloned().collect();
    let resolved = plan::resolve_over(&parsed, &names, &mut Vec::new());
    resolved.map(Some).map_err(|problem| unreadable(def, &problem.message))
}

/// The analyzer that the settings of an index describe.
///
/// # Errors
/// The error in the settings, in words.
pub(crate) fn analyzer_of(def: &SearchDef) -> std::result::Result<Analyzer, String> {
    let component = |value: &Value| match value {
        Value::List(items) => match items.split_first() {
            Some((Value::Str(name), args)) => Ok(Component::new(name, args.to_vec())),
            _ => Err("a component without a name".to_owned()),
        },
        _ => Err("a component that is not a list".to_owned()),
    };
    let tokenizer = component(def.setting("tokenizer").ok_or("no tokenizer")?)?;
    let filters = match def.setting("filters") {
        Some(Value::List(filters)) => {
            filters.iter().map(component).collect::<std::result::Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    Analyzer::new(&tokenizer, &filters).map_err(|error| error.to_string())
}
