//! Output files: no command replaces a file that is not its own, or its input, before it is asked to.

use crate::common::{nonsense, run};
use std::fs;

/// Each option that names an output file, with the command before it. IN is a file that the command reads.
const OPTIONS: [&[&str]; 9] = [
    &["trace", "IN", "timeline", "--output"],
    &["whatif", "IN", "--set", "rcu=lazy", "--html"],
    &["sim", "IN", "--trace"],
    &["torture", "--sim", "--seeds", "1", "--keep"],
    &["torture", "--sim", "--seeds", "1", "--html"],
    &["torture", "--duration", "1s", "--html"],
    &["record", "--output"],
    &["reproduce", "--quick", "--html"],
    &["bench", "read", "--html"],
];

#[test]
fn an_existing_file_needs_force_and_an_input_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    // Refused before a trace is read, so a workload serves as one.
    let read = fs::read_to_string("../../data/workloads/churn.toml").unwrap();
    let (input, other) = (place("input", &read), place("other", "mine"));
    for option in OPTIONS {
        let words = option
            .iter()
            .map(|&it| if it == "IN" { &input } else { it });
        let words: Vec<&str> = words.collect();
        nonsense(&[(&[&words[..], &[other.as_str()]].concat(), "--force")]);
        if option.contains(&"IN") {
            let onto_itself = [&words[..], &[input.as_str(), "--force"]].concat();
            nonsense(&[(&onto_itself, "this is the input")]);
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "mine", "{words:?}");
        assert_eq!(fs::read_to_string(&input).unwrap(), read, "{words:?}");
    }
    let entries = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 2, "nothing is left in the folder");
}

#[test]
fn a_file_is_replaced_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.txt");
    fs::write(&path, "mine").unwrap();
    let name = path.to_str().unwrap();
    let output = run(&["sim", "churn", "--seconds", "1", "--trace", name, "--force"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(fs::read_to_string(&path).unwrap().starts_with("# tracer"));
}
