//! The example programs check themselves, and each has a test that is its `main`: cargo runs it if the
//! manifest says so.

use std::path::Path;

#[test]
fn the_manifest_names_every_example_as_a_test() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = include_str!("../../Cargo.toml");
    let mut found = 0;
    for entry in here.join("examples").read_dir().expect("the examples") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let entry = format!("[[example]]\nname = {name:?}\ntest = true\n");
        assert!(manifest.contains(&entry), "{name} is not run as a test");
        let text = std::fs::read_to_string(&path).expect("a file");
        assert!(text.contains("super::main()"), "{name} has no test");
        found += 1;
    }
    assert!(found > 0);
}
