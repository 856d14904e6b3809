//! Limits on the files that scripts may read.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // the files are the test's own
#![allow(clippy::unwrap_used)]

use quipu::{Database, ErrorKind, Files, Options, Parameters, RunOptions, Value};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

/// A folder `in` with a file, a link to outside and a link to inside, and a file next to the
/// folder.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    let inside = home.path().join("in");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("a"), "inside").unwrap();
    fs::write(home.path().join("secret"), "outside").unwrap();
    symlink("../secret", inside.join("escape")).unwrap();
    symlink("a", inside.join("link")).unwrap();
    home
}

/// Reads a file by a script; returns its text, or the kind of the error.
fn read(db: &Database, path: &Path, files: Option<&Files>) -> Result<String, ErrorKind> {
    let url = Value::Str(format!("file://{}", path.display()));
    let parameters = Parameters::from([("url".to_owned(), url)]);
    let script = "?[a] <~ CsvReader(url: $url, types: ['String'], has_headers: false)";
    let options = RunOptions { files, ..RunOptions::default() };
    match db.run_with(script, &parameters, &options) {
        Ok(answer) => Ok(answer.row(0).first().map(ToString::to_string).unwrap_or_default()),
        Err(error) => Err(error.kind()),
    }
}

#[test]
fn a_file_is_read_where_database_and_run_both_allow_it() {
    let home = home();
    let inside = home.path().join("in");
    let below = Files::Below(inside.clone());
    let all = Files::Below(home.path().to_owned());
    let refused = Err(ErrorKind::InvalidInput);
    let (secret, escape) = (home.path().join("secret"), inside.join("escape"));
    let (plain, link) = (inside.join("a"), inside.join("link"));
    let sound = |text: &str| Ok(format!("{text:?}"));
    for (database, run, plain_is_read, secret_is_read) in [
        (Files::Any, None, true, true),
        (Files::Any, Some(&Files::Any), true, true),
        (Files::Any, Some(&below), true, false),
        (Files::Any, Some(&Files::None), false, false),
        (below.clone(), None, true, false),
        (below.clone(), Some(&Files::Any), true, false),
        (below.clone(), Some(&all), true, false),
        (all.clone(), Some(&below), true, false),
        (all.clone(), None, true, true),
        (Files::None, None, false, false),
        (Files::None, Some(&Files::Any), false, false),
        (Files::None, Some(&all), false, false),
    ] {
        let what = format!("{database:?} and {run:?}");
        let options = Options { files: database, threads: 1, ..Options::default() };
        let db = Database::in_memory(options).unwrap();
        for path in [&plain, &link] {
            let want = if plain_is_read { sound("inside") } else { refused.clone() };
            assert_eq!(read(&db, path, run), want, "{what}: {}", path.display());
        }
        for path in [&secret, &escape, &inside.join("../secret")] {
            let want = if secret_is_read { sound("outside") } else { refused.clone() };
            assert_eq!(read(&db, path, run), want, "{what}: {}", path.display());
        }
    }
}
