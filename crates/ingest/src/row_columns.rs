//! Finds the columns of edges and of vertices in tables whose other columns are properties.
//!
//! # Why a weight is not guessed here
//! `columns.rs` takes the only other numeric column as weight. Among properties that would turn any
//! of them into the weight, so only names count.

use crate::columns::{self, ColumnInfo};
use crate::error::InputError;
use crate::known_names;
use crate::options::{ColumnRef, EdgeOptions, WeightType};

/// Positions of an edge's columns, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeEnds {
    /// The source vertex.
    pub source: usize,
    /// The target vertex.
    pub target: usize,
    /// The weight, if the table has one.
    pub weight: Option<usize>,
}

/// Which names of columns are those of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightNames<'n> {
    /// `weight`, `weights`, `edge_weight` and `w`: what other columns are is not known.
    Plain,
    /// All known names, such as `cost` and `value`, but these names of properties.
    Except(&'n [String]),
}

/// Finds source, target and weight: those that the options name, else by well-known names, else the
/// first two columns that are no index.
///
/// # Errors
/// A named column does not exist, or is named twice; there are fewer than two columns; there is a
/// weight, and the graph has none.
pub fn edge_ends(
    file: &str,
    names: &[String],
    options: &EdgeOptions,
    weights: WeightNames<'_>,
) -> Result<EdgeEnds, InputError> {
    let infos = infos(names);
    columns::check_default_weight(file, options)?;
    let no_weights = || {
        InputError::whole(file, "no weight column", columns::describe(&infos))
            .hint(columns::NO_WEIGHTS)
    };
    if let Some(chosen) = &options.columns {
        let find = |column: &ColumnRef| columns::position(file, column, &infos);
        let (source, target) = (find(&chosen.source)?, find(&chosen.target)?);
        let weight = chosen.weight.as_ref().map(find).transpose()?;
        if source == target || weight.is_some_and(|w| w == source || w == target) {
            let expected = "different columns for source, target and weight";
            let found = format!("column {} twice", columns::describe_one(source, &infos));
            return Err(InputError::whole(file, expected, found));
        }
        return match (weight, options.weight) {
            (Some(_), WeightType::None) => Err(no_weights()),
            _ => Ok(EdgeEnds { source, target, weight }),
        };
    }
    let rest = (0..names.len()).filter(|&i| !known_names::is_index(&names[i]));
    let rest: Vec<usize> = rest.collect();
    let (source, target) = match (known_names::pair(names), &rest[..]) {
        (Some(pair), _) => pair,
        (None, [source, target, ..]) => (*source, *target),
        (None, _) => {
            let error = InputError::whole(file, "two columns or more", columns::describe(&infos));
            return Err(error.hint("an edge needs a source and a target; check the delimiter"));
        }
    };
    let is_weight = |name: &str| match weights {
        WeightNames::Plain => known_names::is_plain_weight(name),
        WeightNames::Except(properties) => !properties.contains(&property_name(name)),
    };
    let others = rest.into_iter().filter(|&i| i != source && i != target && is_weight(&names[i]));
    let ranked = others.filter_map(|i| Some((known_names::weight_rank(&names[i])?, i)));
    let weight = ranked.min().map(|(_, i)| i);
    match (weight, options.weight) {
        // Other names than that of a weight are columns that the graph does not have.
        (Some(i), WeightType::None) if !known_names::is_plain_weight(&names[i]) => {
            Ok(EdgeEnds { source, target, weight: None })
        }
        (Some(_), WeightType::None) => Err(no_weights()),
        (weight, _) => Ok(EdgeEnds { source, target, weight }),
    }
}

/// Finds the vertex in a table of vertices: the given column, else one with a well-known name
/// (`vertex`, `id`, `:ID`, `node`, …), else the first that is no index.
///
/// # Errors
/// The given column does not exist, or there is no column.
pub fn vertex_column(
    file: &str,
    names: &[String],
    given: Option<&ColumnRef>,
) -> Result<usize, InputError> {
    let infos = infos(names);
    if let Some(given) = given {
        return columns::position(file, given, &infos);
    }
    let first = || (0..names.len()).find(|&i| !known_names::is_index(&names[i]));
    known_names::vertex(names)
        .or_else(first)
        .ok_or_else(|| InputError::whole(file, "a column of vertices", columns::describe(&infos)))
}

/// The name of a property for the name of a column: without the type that Neo4j writes after a
/// colon (`since:int`), and with `_` in place of characters that scripts cannot write.
#[must_use]
pub fn property_name(column: &str) -> String {
    let column = column.trim();
    let name = match column.split_once(':') {
        Some(("", rest)) => rest,
        Some((name, _)) => name,
        None => column,
    };
    let plain = name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '_' });
    let plain: String = plain.collect();
    match plain.chars().next() {
        Some(first) if first.is_alphabetic() => plain,
        _ => format!("c_{plain}"),
    }
}

/// Whether a column is the index of the rows: pandas writes it without a name, or as
/// `__index_level_0__`.
#[must_use]
pub fn is_index_column(name: &str) -> bool {
    known_names::is_index(name)
}

fn infos(names: &[String]) -> Vec<ColumnInfo> {
    let info = |name: &String| ColumnInfo { name: Some(name.clone()), ..ColumnInfo::default() };
    names.iter().map(info).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        line.split(',').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(line: &str, weight: WeightType, want: (usize, usize, Option<usize>)) {
        let options = EdgeOptions { weight, ..EdgeOptions::default() };
        let found = edge_ends("f", &names(line), &options, WeightNames::Plain).unwrap();
        assert_eq!((found.source, found.target, found.weight), want, "{line}");
    }

    #[test]
    fn ends_are_found_by_name_or_place_and_weights_by_name() {
        check("since,dst,src", WeightType::None, (2, 1, None));
        check("who,whom,cost,since", WeightType::Float, (0, 1, None));
        check("src,dst,cost,weight", WeightType::Float, (0, 1, Some(3)));
        check(",a,b,since", WeightType::None, (1, 2, None));
        check(":START_ID,since:int,:END_ID", WeightType::None, (0, 2, None));
    }

    #[test]
    fn a_known_name_is_a_weight_unless_it_is_that_of_a_property() {
        let options = EdgeOptions { weight: WeightType::Float, ..EdgeOptions::default() };
        let found = |properties: &[String]| {
            let names = names("src,dst,cost,score");
            edge_ends("f", &names, &options, WeightNames::Except(properties)).unwrap().weight
        };
        assert_eq!(found(&[]), Some(2));
        assert_eq!(found(&["cost".to_owned()]), Some(3));
        assert_eq!(found(&["cost".to_owned(), "score".to_owned()]), None);
    }

    #[test]
    fn a_weight_for_a_graph_without_one_is_an_error() {
        let options = EdgeOptions::default();
        let found = edge_ends("f", &names("src,dst,weight"), &options, WeightNames::Plain);
        let error = found.unwrap_err().to_string();
        assert!(error.starts_with("f: expected no weight column"), "{error}");
    }

    #[test]
    fn a_vertex_is_found_by_name_or_first() {
        for (line, want) in
            [("label,Id", 1), ("personId:ID,name", 0), ("name,year", 0), (",name", 1), ("x,:ID", 1)]
        {
            assert_eq!(vertex_column("f", &names(line), None), Ok(want), "{line}");
        }
        let given = ColumnRef::Name("name".to_owned());
        assert_eq!(vertex_column("f", &names("id,name"), Some(&given)), Ok(1));
        assert!(vertex_column("f", &[], None).is_err());
    }

    #[test]
    fn names_of_properties_are_words() {
        for (name, want) in [
            (" since:int ", "since"),
            (":TYPE", "TYPE"),
            ("first name", "first_name"),
            ("2019", "c_2019"),
            ("größe", "größe"),
        ] {
            assert_eq!(property_name(name), want);
        }
    }
}
