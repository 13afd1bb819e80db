//! Programs that must not compile, in `refused`, and programs that must compile and run, in `accepted`.
//!
//! The first line of each says which rule of the type layer it tries to break, and the errors that the
//! compiler must report. Each is one file, so that no error hides another. `messages.txt` has what a user is
//! shown, for a program of each kind of error; `QUIESCENT_BLESS=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;

/// The compiler whose errors and messages are checked in: others use other words.
const RUSTC: &str = "rustc 1.95";

/// For which system the programs are built, if this test was built for another one than the compiler's.
const OTHER: Option<&str> = match cfg!(all(target_arch = "x86", target_os = "linux")) {
    true => Some("i686-unknown-linux-gnu"),
    false => None,
};

/// Where the programs are.
fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/types")
}

/// The programs of a folder, and the first line of each.
fn programs(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(here().join(folder)).expect("the folder is part of the project");
    let program = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a program");
        let name = path.file_stem().expect("a name").to_string_lossy();
        let first = text.lines().next().expect("a line").to_string();
        (name.into_owned(), first)
    };
    entries
        .map(|entry| program(entry.expect("an entry").path()))
        .collect()
}

/// Makes a package of the programs of a folder, and runs cargo there.
fn cargo(folder: &str, arguments: &[&str]) -> Output {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = fs::remove_dir_all(&place);
    let attributes = place.join("attributes/src");
    fs::create_dir_all(&attributes).expect("a folder for tests");
    let library = env!("CARGO_MANIFEST_DIR");
    let package = format!(
        "[workspace]\n[package]\nname = \"{folder}\"\nedition = \"2024\"\n[dependencies]\n\
         quiescent = {{ path = {library:?} }}\nattributes = {{ path = \"attributes\" }}\n"
    );
    let mut bins = String::new();
    for name in programs(folder).keys() {
        let path = here().join(folder).join(name).with_extension("rs");
        let _ = write!(bins, "[[bin]]\nname = {name:?}\npath = {path:?}\n");
    }
    let macros = "[package]\nname = \"attributes\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n";
    let write = |path: PathBuf, text: &str| fs::write(path, text).expect("the folder is new");
    write(place.join("Cargo.toml"), &(package + &bins));
    write(place.join("attributes/Cargo.toml"), macros);
    fs::copy(here().join("attributes.rs"), attributes.join("lib.rs")).expect("it is there");
    fs::copy(
        here().join("../../../../Cargo.lock"),
        place.join("Cargo.lock"),
    )
    .expect("as above");
    let mut cargo = Command::new(env!("CARGO"));
    if let Some(other) = OTHER {
        cargo.env("CARGO_BUILD_TARGET", other);
    }
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("types");
    cargo.args(arguments).args(["--offline", "--quiet"]);
    cargo.current_dir(&place).env("CARGO_TARGET_DIR", target);
    cargo.output().expect("cargo starts")
}

/// An error that the compiler reported: its code, or its text if it has none; and what a user is shown.
fn error(message: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let title = text(&message["message"]);
    let code = message["code"]["code"].as_str().map(String::from);
    let mut shown = match &code {
        Some(code) => format!("error[{code}]: {title}\n"),
        None => format!("error: {title}\n"),
    };
    for span in message["spans"].as_array().into_iter().flatten() {
        if span["is_primary"] == true && span["label"].is_string() {
            let _ = writeln!(shown, "    {}", text(&span["label"]));
        }
    }
    for child in message["children"].as_array().into_iter().flatten() {
        let _ = writeln!(
            shown,
            "    {}: {}",
            text(&child["level"]),
            text(&child["message"])
        );
    }
    (code.unwrap_or(title), shown)
}

/// The errors of each program.
fn errors(output: &Output) -> BTreeMap<String, Vec<(String, String)>> {
    let mut errors: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line: Value = serde_json::from_str(line).expect("cargo writes JSON");
        let message = &line["message"];
        let counts =
            message["level"] == "error" && !message["spans"].as_array().is_none_or(Vec::is_empty);
        if line["reason"] == "compiler-message" && counts {
            let name = line["target"]["name"].as_str().expect("a target");
            errors.entry(name.into()).or_default().push(error(message));
        }
    }
    errors
}

/// The errors that the first line of a program announces.
fn expected(first: &str) -> BTreeSet<String> {
    let codes = first
        .strip_prefix("//! [")
        .and_then(|rest| rest.split_once("] "));
    let (codes, _) = codes.expect("the first line has the errors, in brackets");
    codes.split(", ").map(String::from).collect()
}

fn version() -> String {
    let rustc = env::var("RUSTC").unwrap_or("rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let output = output.expect("the compiler of this test");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_would_break_a_rule_does_not_compile() {
    quiescent_core::needs!(native);
    quiescent_core::needs!(cfg!(not(windows)), "cargo beside its programs");
    let is_known = version().starts_with(RUSTC);
    let output = cargo(
        "refused",
        &["check", "--keep-going", "--message-format=json"],
    );
    let errors = errors(&output);
    let programs = programs("refused");
    let mut wrong = String::new();
    let (mut kinds, mut messages) = (BTreeSet::new(), String::new());
    for (name, first) in &programs {
        let found = errors.get(name).map_or(&[][..], Vec::as_slice);
        let codes: BTreeSet<_> = found.iter().map(|(code, _)| code.clone()).collect();
        if codes.is_empty() || is_known && codes != expected(first) {
            let _ = writeln!(wrong, "{name}: {codes:?}, and its first line is: {first}");
        }
        // A kind of error: its text without names.
        let Some((_, shown)) = found.first() else {
            continue;
        };
        let title = shown.lines().next().unwrap_or_default();
        let kind: Vec<_> = title.split('`').step_by(2).map(String::from).collect();
        if kinds.insert(kind) {
            let _ = writeln!(messages, "== {name}\n{shown}");
        }
    }
    let messages = messages.replace(env!("CARGO_MANIFEST_DIR"), "$DIR");
    assert!(
        wrong.is_empty(),
        "{wrong}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let path = here().join("messages.txt");
    if env::var_os("QUIESCENT_BLESS").is_some() {
        fs::write(&path, &messages).expect("the folder of this test");
    }
    if is_known {
        let known = fs::read_to_string(path).expect("it is part of the project");
        assert_eq!(known, messages, "what a user is shown has changed");
    }
}

#[test]
fn what_breaks_no_rule_compiles_and_runs() {
    quiescent_core::needs!(native);
    quiescent_core::needs!(cfg!(not(windows)), "cargo beside its programs");
    let output = cargo("accepted", &["build"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("types");
    let folder = folder.join(OTHER.unwrap_or_default()).join("debug");
    for name in programs("accepted").keys() {
        let program = folder.join(name);
        let output = Command::new(program).output().expect("it was built");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {text}");
    }
}
