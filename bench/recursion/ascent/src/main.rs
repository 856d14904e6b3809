//! Runs one program of `bench/recursion` with ascent: `recursion-ascent PROGRAM FOLDER THREADS`.
//!
//! FOLDER has a file `NAME.txt` for each relation, with a row of two integers in each line. THREADS
//! 0 runs the serial form of the program, any other number the parallel form. Prints the number of
//! rows, and the seconds and processor seconds of the evaluation, as a line of JSON.

use ascent::{Dual, ascent, ascent_par, ascent_source};
use std::path::Path;
use std::time::Instant;

type Pairs = Vec<(u32, u32)>;

ascent_source! { closure:
    relation edge(u32, u32);
    relation path(u32, u32);
    path(x, y) <-- edge(x, y);
    path(x, z) <-- path(x, y), edge(y, z);
}

ascent_source! { generation:
    relation edge(u32, u32);
    relation same(u32, u32);
    same(x, y) <-- edge(p, x), edge(p, y), if x != y;
    same(x, y) <-- edge(a, x), same(a, b), edge(b, y);
}

ascent_source! { points_to:
    relation addr(u32, u32);
    relation assign(u32, u32);
    relation load(u32, u32);
    relation store(u32, u32);
    relation points(u32, u32);
    points(y, x) <-- addr(y, x);
    points(y, x) <-- assign(y, z), points(z, x);
    points(y, w) <-- load(y, x), points(x, z), points(z, w);
    points(z, w) <-- store(y, x), points(y, z), points(x, w);
}

ascent_source! { components:
    relation edge(u32, u32);
    lattice component(u32, Dual<u32>);
    component(x, Dual(*x)) <-- edge(x, _);
    component(y, c) <-- component(x, c), edge(x, y);
}

mod serial {
    use super::*;
    ascent! { pub struct Closure; include_source!(closure); }
    ascent! { pub struct Generation; include_source!(generation); }
    ascent! { pub struct PointsTo; include_source!(points_to); }
    ascent! { pub struct Components; include_source!(components); }
}

mod parallel {
    use super::*;
    ascent_par! { pub struct Closure; include_source!(closure); }
    ascent_par! { pub struct Generation; include_source!(generation); }
    ascent_par! { pub struct PointsTo; include_source!(points_to); }
    ascent_par! { pub struct Components; include_source!(components); }
}

macro_rules! measured {
    ($form:ident, $program:ident, $folder:expr, [$($input:ident),*], $output:ident) => {{
        let mut program = $form::$program::default();
        $(program.$input = read($folder, stringify!($input)).into_iter().collect();)*
        let (start, cpu) = (Instant::now(), cpu_seconds());
        program.run();
        let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        (program.$output.len(), seconds, cpu)
    }};
}

macro_rules! run {
    ($form:ident, $name:expr, $folder:expr) => {
        match $name {
            "closure" => measured!($form, Closure, $folder, [edge], path),
            "generation" => measured!($form, Generation, $folder, [edge], same),
            "points_to" => {
                measured!($form, PointsTo, $folder, [addr, assign, load, store], points)
            }
            "components" => measured!($form, Components, $folder, [edge], component),
            other => panic!("{other} is not a program"),
        }
    };
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, program, folder, threads] = &arguments[..] else {
        panic!("usage: recursion-ascent PROGRAM FOLDER THREADS");
    };
    let threads: usize = threads.parse().expect("a number of threads");
    let folder = Path::new(folder);
    let (rows, seconds, cpu) = match threads {
        0 => run!(serial, &program[..], folder),
        _ => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build_global().expect("threads start");
            run!(parallel, &program[..], folder)
        }
    };
    let found = serde_json::json!({ "rows": rows, "seconds": seconds, "cpu_seconds": cpu });
    println!("{found}");
}

/// Processor time of this process, in steps of a hundredth of a second; 0 where the system does not
/// tell.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the process, in parentheses, may have spaces. User and system time are the 12th
    // and 13th field after it.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn read(folder: &Path, relation: &str) -> Pairs {
    let file = folder.join(relation).with_extension("txt");
    let text = std::fs::read_to_string(file).expect("the file of a relation");
    let row = |line: &str| {
        let (a, b) = line.split_once(' ')?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    text.lines().map(|line| row(line).expect("a line is two integers")).collect()
}
