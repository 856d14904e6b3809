//! The modules import downward only.

use std::path::Path;

#[test]
fn no_module_imports_upward() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(testkit::floor_problems(&source), Vec::<String>::new());
}
