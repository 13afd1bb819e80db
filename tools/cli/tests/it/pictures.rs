//! The first screens of commands whose output is the same on every machine: pictures in `docs/pictures`.
//!
//! `QUIESCENT_BLESS=1 cargo test pictures` draws them again after an intended change.

use crate::common::{quiescent, text};
use crate::doctor::machine;
use quiescent_report::html::terminal::Screen;
use std::path::Path;

/// The picture of what a command prints, and its file.
fn check(name: &str, arguments: &str, about: &str, folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = quiescent()
        .current_dir(folder)
        .args(arguments.split(' '))
        .output();
    let output = output.expect("the command");
    let printed = text(&output.stdout);
    assert!(printed.lines().count() > 5, "{output:?}");
    let picture = Screen::printed(arguments, about, &printed);
    let file = root.join(format!("docs/pictures/{name}.svg"));
    let again = std::env::var_os("QUIESCENT_BLESS").is_some();
    picture
        .compare(&file, again)
        .unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn the_documents_have_what_sim_shows() {
    let arguments = "sim laptop-idle --set callbacks_per_s=200 --compare rcu=offload,lazy --seeds 3 \
                     --seconds 20";
    let about =
        "What lazy callbacks save on a simulated laptop: watts, latency, wake-ups, package states";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    check("sim", arguments, about, &root);
}

#[test]
fn the_documents_have_what_trace_waits_shows() {
    // Its first part: the settings change at 2.1211 s.
    let arguments = "trace data/traces/s-sync-classic-8.txt.xz waits --limit 5 --remedies --from 1.6214 \
                     --to 2.1211";
    let about = "Who waited in synchronize_rcu, how long, for which CPU, and what each setting would change";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    check("trace-waits", arguments, about, &root);
}

#[test]
fn the_documents_have_what_doctor_shows() {
    let copied = machine(false);
    std::os::unix::fs::symlink(copied.path(), copied.path().join("copied")).unwrap();
    let about = "Settings that were requested and have no effect, each with its remedy";
    check("doctor", "doctor --root copied", about, copied.path());
}
