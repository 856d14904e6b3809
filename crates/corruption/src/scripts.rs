//! Runs scripts on a damaged database: point lookups, joins, recursion, groups, algorithms, result
//! streams, blocks that ignore errors.
//!
//! # What must hold
//! Each script returns what it returns on undamaged files, or fails with an error of kind
//! `Corruption` that names the damaged file. It never reports an error in the query, and never
//! returns fewer rows.

use crate::damage::{Damage, Outcome, Subject, named};
use crate::specimen::options;
use env::Env;
use env::sync::Mutex;
use kv::Kv;
use session::{Engine, Parameters, QueryResult, Run};
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use store::{Error, ErrorKind, Store};

/// Memory limit of a script, in bytes.
const MEMORY_BYTES: u64 = 64 << 20;

/// The scripts, on the relations and graphs of the specimen. The keys of its relation `pages` are
/// not valid values, so no script reads them.
const SCRIPTS: [&str; 10] = [
    "?[a, b, n, least, last] := *counts[a, b, n, least, last]",
    "?[b, n] := *counts{a: 3, b, n}",
    "?[number, bytes] := *noise{number, bytes}",
    "?[a, c] := *plain{src: a, dst: b}, *plain{src: b, dst: c}",
    "r[b] := *plain{src: 6, dst: b} r[c] := r[b], *plain{src: b, dst: c} ?[count(b)] := r[b]",
    "?[a, sum(w)] := *weighted{src: a, weight: w}",
    "?[a, b] := *named{src: a, dst: b}",
    "?[node, group] <~ ConnectedComponents(*plain[])",
    "?[node, rank] <~ PageRank(*weighted[])",
    "%ignore_error { ?[a, b] := *counts{a, b}, not *plain{src: a} } as _left
     { ?[count(a)] := *_left[a, b] }",
];

impl Subject {
    /// Answers of the scripts on the undamaged files.
    ///
    /// # Errors
    /// None is expected.
    pub fn scripted(&self) -> store::Result<Vec<String>> {
        let env = self.image.whole().map_err(|error| Error::caused(ErrorKind::Io, error))?;
        let engine = self.engine(&env)?;
        SCRIPTS.iter().flat_map(|script| answers(&engine, script)).collect()
    }

    /// Damages a file, runs the scripts, and compares their answers with `want`, the result of
    /// [`Subject::scripted`].
    ///
    /// # Errors
    /// The promise that is broken.
    pub fn judge_scripts(
        &self,
        want: &[String],
        path: &Path,
        damage: Damage,
    ) -> Result<Outcome, String> {
        let bytes = damage.done_to(&self.image.files[path]);
        let env = self.image.with(path, bytes.as_deref()).map_err(|error| error.to_string())?;
        let asked = AssertUnwindSafe(|| self.ask(want, path, &env));
        catch_unwind(asked).map_err(|_| "a script panics".to_owned())?
    }

    fn ask(&self, want: &[String], path: &Path, env: &Arc<dyn Env>) -> Result<Outcome, String> {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let engine = match self.engine(env) {
            Ok(engine) => engine,
            Err(error) => return named(&error, file).map(|()| Outcome::RefusedAtOpening),
        };
        let mut outcome = Outcome::Right;
        let found = SCRIPTS.iter().flat_map(|script| {
            answers(&engine, script).into_iter().map(move |answer| (script, answer))
        });
        for ((script, found), want) in found.zip(want) {
            match found {
                Ok(answer) if answer == *want => {}
                Ok(answer) => return Err(format!("{script}\nanswers {answer}\nnot {want}")),
                Err(error) => {
                    named(&error, file).map_err(|what| format!("{script}\nends in {what}"))?;
                    outcome = Outcome::RefusedAtReading;
                }
            }
        }
        Ok(outcome)
    }

    fn engine(&self, env: &Arc<dyn Env>) -> store::Result<Engine> {
        let store: Arc<dyn Store> = Arc::new(Kv::open(Arc::clone(env), &self.folder, options())?);
        let engine = Engine::new(store, Arc::clone(env), MEMORY_BYTES);
        // So that these few rows are sampled for plans, too.
        engine.set_sampled_rows(1);
        Ok(engine)
    }
}

/// Answers of a script as a whole and as a stream.
fn answers(engine: &Engine, script: &str) -> [store::Result<String>; 2] {
    let parameters = Parameters::new();
    let run = engine.run(script, &parameters).map(|output| sorted(&[output]));
    let parts = Mutex::new(Vec::new());
    let take = |part: session::Part<'_>| {
        parts.lock().push(part.output);
        Ok(true)
    };
    let streamed = engine.stream(script, &Run::new(&parameters), &take);
    let streamed = streamed.map(|()| sorted(&parts.lock()));
    [run, streamed].map(|outcome| {
        outcome.map_err(|error| match error {
            session::Error::Store(error) => error,
            other => Error::new(ErrorKind::InvalidInput, other.render(script)),
        })
    })
}

/// The rows as sorted lines: parts of a stream have no order.
fn sorted(outputs: &[QueryResult]) -> String {
    let mut lines = Vec::new();
    for output in outputs {
        for row in 0..output.rows {
            let mut line = String::new();
            for value in output.row(row) {
                let _ = write!(line, "{value} ");
            }
            lines.push(line);
        }
    }
    lines.sort_unstable();
    lines.join("\n")
}
