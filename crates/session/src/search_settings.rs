//! Settings of search indexes: checked, and as they are stored.

use crate::catalog_view::columns_of;
use crate::search_storage::{BANDS, ROWS_IN_BAND};
use exec::error::{Error, Result};
use model::Value;
use relation::{Schema, SearchMethod};
use search::{Bands, BandsWanted};
use syntax::{Expr, Ident};

/// Settings of every index that has words of texts.
const TEXT_SETTINGS: [&str; 4] = ["extractor", "extract_filter", "tokenizer", "filters"];

/// Numbers that an index of near duplicates has besides, with their defaults, those of CozoDB.
const NEAR_SETTINGS: [(&str, Value); 5] = [
    ("n_perm", Value::Int(200)),
    ("n_gram", Value::Int(1)),
    ("target_threshold", Value::Float(0.9)),
    ("false_positive_weight", Value::Float(1.0)),
    ("false_negative_weight", Value::Float(1.0)),
];

/// The noun of an index of this method, with its article.
fn with_article(method: SearchMethod) -> String {
    match method {
        SearchMethod::FullText | SearchMethod::Vector => format!("a {}", method.noun()),
        SearchMethod::NearDuplicates => format!("an {}", method.noun()),
    }
}

fn names(method: SearchMethod) -> Vec<&'static str> {
    let numbers = NEAR_SETTINGS.iter().map(|(name, _)| *name);
    match method {
        SearchMethod::FullText => TEXT_SETTINGS.to_vec(),
        SearchMethod::NearDuplicates => TEXT_SETTINGS.into_iter().chain(numbers).collect(),
        // Those of vectors are in `vector_settings.rs`.
        SearchMethod::Vector => Vec::new(),
    }
}

/// The settings of an index as they are stored.
///
/// # Errors
/// One that is unknown, missing or not valid.
pub(crate) fn settings_of(
    method: SearchMethod,
    name: &Ident,
    settings: &[(Ident, Expr)],
    schema: &Schema,
) -> Result<Vec<(String, Value)>> {
    let known = names(method);
    let mut found: Vec<(String, Value)> = Vec::new();
    for (setting, value) in settings {
        if found.iter().any(|(known, _)| *known == setting.text) {
            return Err(Error::value(format!("`{setting}` is given twice"), setting.span));
        }
        let value = match setting.text.as_str() {
            "extractor" | "extract_filter" => {
                check_expression(value, schema)?;
                Value::Str(value.to_string())
            }
            "tokenizer" => component(value)?,
            "filters" => match value {
                Expr::List(filters, _) => {
                    Value::List(filters.iter().map(component).collect::<Result<_>>()?)
                }
                other => {
                    let hint = "write filters: [Lowercase, Stemmer('english')]";
                    return Err(Error::hinted("`filters` is a list", other.span(), hint));
                }
            },
            other if known.contains(&other) => constant(value)?,
            other => {
                let near = syntax::closest(other, known.iter().copied());
                let what = format!("{} has no setting `{other}`", with_article(method));
                return Err(match near {
                    Some(_) => Error::unknown(what, setting.span, near),
                    None => {
                        let hint = format!("there are {}", known.join(", "));
                        Error::hinted(what, setting.span, hint)
                    }
                });
            }
        };
        found.push((setting.text.clone(), value));
    }
    for (needed, example) in [("extractor", "a column, or an expression"), ("tokenizer", "Simple")]
    {
        if !found.iter().any(|(known, _)| known == needed) {
            let what = format!("index `{name}` lacks the setting `{needed}`");
            return Err(Error::hinted(what, name.span, format!("write {needed}: {example}")));
        }
    }
    if method == SearchMethod::NearDuplicates {
        add_bands(name, settings, &mut found)?;
    }
    Ok(found)
}

/// Adds the defaults of an index of near duplicates, and how many bands it has: that is computed
/// once, and not again where rounding might differ.
fn add_bands(
    name: &Ident,
    settings: &[(Ident, Expr)],
    found: &mut Vec<(String, Value)>,
) -> Result<()> {
    for (setting, default) in NEAR_SETTINGS {
        if !found.iter().any(|(known, _)| known == setting) {
            found.push((setting.to_owned(), default));
        }
    }
    let span = |setting: &str| {
        let given = settings.iter().find(|(known, _)| known.text == setting);
        given.map_or(name.span, |(_, value)| value.span())
    };
    let value = |setting: &str| found.iter().find(|(known, _)| known == setting).map(|(_, v)| v);
    let count = |setting: &str| match value(setting) {
        Some(Value::Int(int @ 1..)) => Ok(usize::try_from(*int).unwrap_or(usize::MAX)),
        other => {
            let shown = other.map(ToString::to_string).unwrap_or_default();
            let what = format!("`{setting}` is an integer from 1 on, not {shown}");
            Err(Error::value(what, span(setting)))
        }
    };
    let number = |setting: &str| match value(setting) {
        Some(Value::Int(int)) => Ok(*int as f64),
        Some(Value::Float(float)) => Ok(*float),
        other => {
            let shown = other.map(ToString::to_string).unwrap_or_default();
            Err(Error::value(format!("`{setting}` is a number, not {shown}"), span(setting)))
        }
    };
    count("n_gram")?;
    let wanted = BandsWanted {
        values_max: count("n_perm")?,
        threshold: number("target_threshold")?,
        false_positive_weight: number("false_positive_weight")?,
        false_negative_weight: number("false_negative_weight")?,
    };
    let bands = Bands::choose(wanted).map_err(|error| {
        let of_setting = NEAR_SETTINGS.iter().find(|(name, _)| error.what.contains(name));
        Error::hinted(error.what.clone(), span(of_setting.map_or("", |(name, _)| name)), error.hint)
    })?;
    found.push((BANDS.to_owned(), Value::Int(bands.bands() as i64)));
    found.push((ROWS_IN_BAND.to_owned(), Value::Int(bands.rows() as i64)));
    Ok(())
}

/// Checks an expression over the columns of a relation.
pub(crate) fn check_expression(expr: &Expr, schema: &Schema) -> Result<()> {
    let hint = "the index also reads rows to come";
    if expr.has_parameters() {
        return Err(Error::hinted("an index has no parameters", expr.span(), hint));
    }
    let names: Vec<String> = columns_of(schema).into_iter().map(|column| column.name).collect();
    let resolved = plan::resolve_over(expr, &names, &mut Vec::new());
    match is_deterministic(&resolved.map_err(|problem| vec![problem])?) {
        true => Ok(()),
        false => {
            // The value of a row that is removed is computed again.
            let what = "an index has no functions of time or chance";
            Err(Error::hinted(what, expr.span(), "what is indexed of a row must stay the same"))
        }
    }
}

fn is_deterministic(expr: &plan::Expr) -> bool {
    match expr {
        plan::Expr::Call(function, args, _) => {
            function.deterministic && args.iter().all(is_deterministic)
        }
        _ => true,
    }
}

/// A tokenizer or a filter: `Simple`, or `Stemmer('english')`. It becomes a list of its name and
/// its arguments.
fn component(expr: &Expr) -> Result<Value> {
    let (name, args) = match expr {
        Expr::Variable(name) => (name, &[][..]),
        Expr::Call { name, args, .. } => (name, args.as_slice()),
        other => {
            let what = "a tokenizer or a filter has a name";
            let hint = "write Simple, or Stemmer('english')";
            return Err(Error::hinted(what, other.span(), hint));
        }
    };
    let args = args.iter().map(constant).collect::<Result<Vec<Value>>>()?;
    let name = Value::Str(name.text.clone());
    Ok(Value::List(std::iter::once(name).chain(args).collect()))
}

fn constant(expr: &Expr) -> Result<Value> {
    match expr {
        Expr::Literal(value, _) => Ok(value.clone()),
        Expr::List(items, _) => Ok(Value::List(items.iter().map(constant).collect::<Result<_>>()?)),
        other => Err(Error::value("an argument is a constant", other.span())),
    }
}
