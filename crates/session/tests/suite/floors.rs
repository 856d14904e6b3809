//! The modules of the crate import downward only (see the floors in `lib.rs`).

use std::path::Path;

#[test]
fn no_module_imports_upward() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(testkit::floor_problems(&src), Vec::<String>::new());
}
