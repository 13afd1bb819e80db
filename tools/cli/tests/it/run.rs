//! `run`: a program in the place of the command, with a folder of libraries before all others.

use crate::common::*;
use std::path::Path;
use std::process::Command;

/// A folder that looks like one with the libraries. (`ci/urcu-abi` runs programs with the real ones.)
fn folder(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("liburcu.so.8"), "").unwrap();
    folder
}

fn run(libs: &Path, words: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiescent"));
    command.arg("run").arg("--libs").arg(libs).arg("--");
    command
        .args(words)
        .env("LD_LIBRARY_PATH", "/others")
        .output()
        .unwrap()
}

#[test]
fn the_program_has_the_folder_before_all_others_and_its_own_exit_code() {
    let folder = folder("run-path");
    let done = run(
        &folder,
        &[
            "sh",
            "-c",
            "echo \"$LD_LIBRARY_PATH $1\"; exit 7",
            "-",
            "-x",
        ],
    );
    assert_eq!(done.status.code(), Some(7), "{done:?}");
    let wanted = format!("{}:/others -x\n", folder.canonicalize().unwrap().display());
    assert_eq!(text(&done.stdout), wanted);
}

#[test]
fn a_folder_without_libraries_and_a_program_that_is_none_are_errors_with_a_remedy() {
    let done = run(Path::new("/nowhere"), &["true"]);
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let said = text(&done.stderr);
    assert!(
        said.contains("/nowhere") && said.contains("lib/urcu-abi/build"),
        "{said}"
    );
    let done = run(&folder("run-none"), &["/no/such/program"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(text(&done.stderr).contains("/no/such/program"), "{done:?}");
}
