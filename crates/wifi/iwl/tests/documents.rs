//! The documents that are printed from tables say what the tables say.

use std::path::Path;

fn check(name: &str, printed: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../docs")
        .join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == printed,
        "docs/{name} differs from its table: run `UPDATE_DOCS=1 cargo test -p airlane-iwl --test documents`"
    );
}

#[test]
fn registers_md_is_what_the_tables_say() {
    check("registers.md", &airlane_iwl::registers::document());
}
