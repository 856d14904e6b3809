//! The modules of crates that name their floors import downward only. Crates above `testkit` have
//! this test among their own.

use std::path::Path;

#[test]
fn no_module_imports_upward() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = [
        "algo",
        "base",
        "cli",
        "corruption",
        "document",
        "engine-postgres",
        "engine-sqlite",
        "engine-tikv",
        "env",
        "function",
        "ingest",
        "kill",
        "kv",
        "lsm",
        "model",
        "plan",
        "py",
        "py-guard",
        "quipu",
        "relation",
        "search",
        "sim",
        "store",
        "syntax",
        "testkit",
        "views",
    ];
    for name in names {
        let problems = quipu_testkit::floor_problems(&crates.join(name).join("src"));
        assert_eq!(problems, Vec::<String>::new(), "{name}");
    }
}
