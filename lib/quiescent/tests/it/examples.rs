//! Runs the example programs as a user does. Each checks itself and ends with an error if it finds one; here
//! it must end well, and must have printed that it did something.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::common::until;
use quiescent_core::os::needs::command;

/// The program that cargo has built beside this test.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let profile = test
        .parent()
        .and_then(Path::parent)
        .expect("deps/ is in it");
    let program = profile.join("examples").join(name);
    let program = program.with_extension(std::env::consts::EXE_EXTENSION);
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name)
        .with_extension("rs");
    let time = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    assert!(
        time(&program) >= time(&source),
        "{} is missing, or older than its source: `cargo test -p quiescent` builds it, \
         or `cargo build -p quiescent --examples`",
        program.display()
    );
    program
}

/// Runs an example; the numbers in what it prints, line by line.
fn numbers(name: &str) -> Vec<Vec<u64>> {
    let mut child = command(&program(name))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    until(name, || child.try_wait().expect("our child").is_some());
    let output = child.wait_with_output().expect("our child");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {text}{errors}");
    let in_line = |line: &str| {
        let words = line.split(|c: char| !c.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect()
    };
    text.lines().map(in_line).collect()
}

#[test]
fn config_reload_shows_whole_configurations_only() {
    let lines = numbers("config_reload");
    // The refused file: its line, and the number of the setting there.
    assert_eq!(lines[0], [1, 0]);
    let [answered, mixtures] = lines[1][..] else {
        panic!("{lines:?}");
    };
    assert!(answered > 0);
    assert_eq!(mixtures, 0);
    assert_eq!(lines[2], [3, 1, 0]); // reloaded, refused, left
}

#[test]
fn signal_handler_reads_whole_configurations_only() {
    let lines = numbers("signal_handler");
    // What the handler saw, and what it is then.
    assert_eq!(lines[..3], [[1, 2], [2, 3], [3, 4]]);
    let [answered, mixtures] = lines[3][..] else {
        panic!("{lines:?}");
    };
    assert!(answered > 0);
    assert_eq!(mixtures, 0);
    assert_eq!(lines[4], [3, 0]); // dropped, left
}

#[test]
fn list_keeps_no_subscriber_that_has_gone() {
    let lines = numbers("list");
    let ([notified, subscribed], [gone, kept]) = (&lines[0][..], &lines[1][..]) else {
        panic!("{lines:?}");
    };
    assert!(notified >= subscribed && *subscribed > 0 && *gone > 0);
    assert_eq!(*kept, 0);
}

#[test]
fn lock_free_gives_each_value_out_once() {
    let lines = numbers("lock_free");
    let [pushed, left, freed] = lines[0][..] else {
        panic!("{lines:?}");
    };
    assert!(left > 0 && left < pushed);
    assert_eq!(freed, pushed);
}

#[test]
fn route_table_frees_every_old_table() {
    let lines = numbers("route_table");
    let ([lookups, batches], [freed, grace_periods, queued]) = (&lines[0][..], &lines[1][..])
    else {
        panic!("{lines:?}");
    };
    assert!(*lookups > 0 && *batches > 0);
    assert_eq!((freed, *queued), (batches, 0));
    assert!(*grace_periods > 0);
}

#[test]
fn sorted_list_frees_what_was_removed() {
    let lines = numbers("sorted_list");
    let ([walks, inserted, removed], [freed, left]) = (&lines[0][..], &lines[1][..]) else {
        panic!("{lines:?}");
    };
    assert!(*walks > 0 && *removed > 0);
    assert_eq!((freed, *left), (removed, inserted - removed));
}

#[test]
fn recycle_uses_its_buffers_again_and_tears_nothing() {
    let lines = numbers("recycle");
    let ([published, buffers, _skipped, grace_periods], [reads, torn]) =
        (&lines[0][..], &lines[1][..])
    else {
        panic!("{lines:?}");
    };
    assert!(*reads > 0 && *grace_periods > 0);
    assert!(published > buffers);
    assert_eq!(*torn, 0);
}

#[test]
fn srcu_async_drops_every_old_configuration_and_none_too_early() {
    let lines = numbers("srcu_async");
    let ([swaps, _ms], [reads, moved, bad]) = (&lines[0][..], &lines[1][..]) else {
        panic!("{lines:?}");
    };
    assert_eq!((*swaps, *bad), (10_000, 0));
    assert!(*reads > 0 && *moved > 0);
    let ([workers], [dropped, meanwhile, left]) = (&lines[2][..], &lines[3][..]) else {
        panic!("{lines:?}");
    };
    assert_eq!((*workers, dropped, *left), (3, swaps, 0));
    assert!(meanwhile <= dropped);
}

#[test]
fn domains_shows_a_report_that_holds_up_its_own_data_only() {
    let lines = numbers("domains");
    let ([tables, routing], [none, freed, held, refused, budget]) = (&lines[0][..], &lines[1][..])
    else {
        panic!("{lines:?}");
    };
    assert!(*tables > 0 && routing >= tables);
    assert_eq!((*none, *freed, *refused), (0, 0, held - budget));
    assert!(*held > *budget);
    let ([day, sum], [lookups, mixtures], [later, left]) =
        (&lines[2][..], &lines[3][..], &lines[4][..])
    else {
        panic!("{lines:?}");
    };
    assert_eq!((*day, *sum, *mixtures), (0, 0, 0));
    assert!(*lookups > 0);
    assert_eq!((later, *left), (held, 0));
}

/// Each file of `examples` is run by a test: here, or by `exit/objects.rs`, which loads the plug-in.
#[test]
fn every_example_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let tests = concat!(include_str!("examples.rs"), include_str!("exit/objects.rs"));
    let mut found = 0;
    for entry in folder.read_dir().expect("the folder of the examples") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        let run = [
            format!("numbers({name:?})"),
            format!("--example\", {name:?}"),
        ];
        assert!(
            run.iter().any(|it| tests.contains(it)),
            "no test runs the example {name}"
        );
        found += 1;
    }
    assert!(found > 0, "{}", folder.display());
}
