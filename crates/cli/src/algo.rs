//! `quipu algo`: runs an algorithm on a graph, and prints or stores its result.

use crate::args::{Algo, ProjectedWeight};
use crate::failure::Failure;
use crate::output::{note, plural, print};
use crate::{interrupt, parameters};
use quipu::{
    ALGORITHMS, Database, ExportFormat, Found, Options, Parallel, ProjectOptions, RunOptions,
    WeightType, WeightUse,
};
use std::fmt::Write;
use std::io;

pub(crate) fn run(arguments: &Algo) -> Result<(), Failure> {
    let (Some(db), Some(name)) = (&arguments.db, &arguments.graph) else { return list(arguments) };
    let algorithm = quipu::find_algorithm(&arguments.algorithm)?;
    let given = parameters::values(&arguments.parameters);
    let format = arguments.out.as_deref().map(|path| {
        let format = ExportFormat::of(path);
        format.map(|format| (path, format)).ok_or_else(|| {
            let hint = ".csv, .tsv, .txt, .parquet and .arrow are known";
            let what = format!("the ending of {} says no format", path.display());
            Failure::Request(format!("{what}\nhint: {hint}"))
        })
    });
    let format = format.transpose()?;
    let database = Database::open(
        db,
        Options {
            read_only: arguments.relation.is_none(),
            create: false,
            memory_limit_bytes: arguments.memory_limit,
            ..Options::default()
        },
    )?;
    interrupt::watch();
    let go_on = || interrupt::go_on();
    let graph = database.require_graph(name)?;
    let options = project_options(arguments, algorithm.weights, graph.def().weight);
    let run = database.analytics_run().with_go_on(Some(&go_on));
    let run_options = RunOptions { go_on: Some(&go_on), ..RunOptions::default() };
    let projection = match &arguments.condition {
        None => database.project(&graph, &options, &run)?,
        Some(condition) => {
            let none = quipu::Parameters::new();
            database.project_where(&graph, condition, &none, &options, &run_options)?
        }
    };
    let result = database.run_algorithm(&projection, algorithm.name, &given, &run)?;
    if let Some(relation) = &arguments.relation {
        database.write_result(&result, relation, &run_options)?;
        database.close()?;
        note(&format!("{} to the relation {relation}", algorithm.name));
        return Ok(());
    }
    if let Some((path, format)) = format {
        quipu::write_output(path, &go_on, |file| -> Result<(), Failure> {
            Ok(quipu::export_result(&result, file, format, &go_on)?)
        })?;
        let vertices = plural(projection.vertices() as u64, "vertex", "vertices");
        note(&format!("{} of {vertices} to {}", algorithm.name, path.display()));
        return Ok(());
    }
    if let Found::Scalar(value) = &result.found {
        return print(&format!("{value}\n"));
    }
    let printed =
        quipu::export_result(&result, &mut io::stdout(), ExportFormat::Text(b','), &go_on);
    printed.map_err(|error| match error.cause::<io::Error>() {
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => error.into(),
    })
}

fn project_options(
    arguments: &Algo,
    use_of_weights: WeightUse,
    stored: WeightType,
) -> ProjectOptions {
    let is_weighted = match arguments.weight {
        ProjectedWeight::None => false,
        ProjectedWeight::Weight => true,
        ProjectedWeight::Auto => use_of_weights == WeightUse::IfThere && stored != WeightType::None,
    };
    ProjectOptions {
        is_weighted,
        is_undirected: arguments.undirected,
        parallel: if arguments.undirected { Parallel::First } else { Parallel::Keep },
        property: None,
    }
}

/// Prints all algorithms, or one with its parameters.
fn list(arguments: &Algo) -> Result<(), Failure> {
    if arguments.algorithm == "list" {
        let mut text = String::new();
        for algorithm in ALGORITHMS {
            let _ = writeln!(text, "{:<30} {}", algorithm.name, algorithm.about);
        }
        return print(&text);
    }
    let algorithm = quipu::find_algorithm(&arguments.algorithm)?;
    let mut text = format!("{}: {}\n", algorithm.name, algorithm.about);
    for parameter in algorithm.parameters {
        let name = format!("{}={}", parameter.name, parameter.default);
        let _ = writeln!(text, "  {name:<28} {}", parameter.about);
    }
    print(&text)
}
