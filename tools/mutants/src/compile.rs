//! Compiles a tree of mutants: leaves out those that do not compile, and builds the test programs.
//!
//! One error hides others (types are looked at before borrows), so this goes round until there is none. An error in
//! text that is there for one mutant's sake is that mutant's fault: it does not compile. Where no such text is named, the mutants
//! around the place are not wrapped but tried alone, since it is not known whose fault it is.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tree::Tree;

/// A test program.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    /// The package and the target.
    pub target: String,
    pub path: PathBuf,
    /// Where it is started.
    pub folder: PathBuf,
    /// Only these tests of it; all, if there is none.
    pub tests: Vec<String>,
}

/// `cargo` with these words, and no lint that stops it: a mutant may leave something unused.
fn cargo(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command
        .current_dir(root)
        .args(words)
        .args(["--message-format=json", "--quiet"]);
    command
        .env("RUSTFLAGS", "--cap-lints=allow")
        .env("RUSTC_BOOTSTRAP", "mutant");
    command.stdin(Stdio::null());
    command
}

/// What the compiler said, a message each, and what cargo said itself if it did not succeed.
fn messages(command: &mut Command) -> Result<(Vec<Value>, Option<String>), String> {
    let output = command.output().map_err(|e| format!("cargo: {e}"))?;
    let lines = output
        .stdout
        .split(|b| *b == b'\n')
        .filter(|line| !line.is_empty());
    let messages = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let failed =
        (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned());
    Ok((messages, failed))
}

/// Writes the tree and checks `words` (packages) until it compiles.
pub fn settle(tree: &mut Tree, words: &[&str]) -> Result<(), String> {
    for round in 1.. {
        tree.write()?;
        let (messages, failed) = messages(&mut cargo(&tree.root, &[&["check"], words].concat()))?;
        let Some(said) = failed else { return Ok(()) };
        let (mut guilty, mut unclear) = (BTreeSet::new(), BTreeSet::new());
        let mut unknown = String::new();
        for message in &messages {
            let message = &message["message"];
            if message["level"] != "error" {
                continue;
            }
            let (sure, perhaps) = blame(tree, message);
            if sure.is_empty() && perhaps.is_empty() {
                unknown += message["rendered"].as_str().unwrap_or_default();
            }
            guilty.extend(sure);
            unclear.extend(perhaps);
        }
        unclear = &unclear - &guilty;
        if guilty.is_empty() && unclear.is_empty() {
            return Err(format!(
                "the tree does not compile, for no mutant's sake:\n{unknown}{said}"
            ));
        }
        eprintln!(
            "round {round}: {} do not compile, {} are not clear",
            guilty.len(),
            unclear.len()
        );
        tree.unviable.extend(guilty);
        tree.rest.extend(unclear);
    }
    unreachable!()
}

/// Whose fault an error is, for certain and perhaps.
fn blame(tree: &Tree, message: &Value) -> (Vec<u32>, Vec<u32>) {
    let empty = Vec::new();
    let spans = message["spans"].as_array().unwrap_or(&empty);
    let places: Vec<_> = spans
        .iter()
        .filter_map(|s| Some((place(s)?, s["is_primary"] == true)))
        .collect();
    for primary in [true, false] {
        let named = places.iter().filter(|(_, p)| *p == primary);
        let sure: Vec<u32> = named
            .flat_map(|((file, range), _)| tree.claimed(file, range))
            .collect();
        if !sure.is_empty() {
            return (sure, Vec::new());
        }
    }
    let primary = places.iter().filter(|(_, primary)| *primary);
    (
        Vec::new(),
        primary
            .flat_map(|((file, range), _)| tree.around(file, range))
            .collect(),
    )
}

/// The file, from the root, and the bytes; of the outermost call, if macros are involved.
fn place(span: &Value) -> Option<(String, Range<usize>)> {
    if !span["expansion"].is_null() {
        return place(&span["expansion"]["span"]);
    }
    let mut file = PathBuf::new();
    for part in Path::new(span["file_name"].as_str()?).components() {
        match part {
            Component::ParentDir => drop(file.pop()),
            part => file.push(part),
        }
    }
    let byte = |name: &str| span[name].as_u64().map(|b| b as usize);
    Some((
        file.to_str()?.to_owned(),
        byte("byte_start")?..byte("byte_end")?,
    ))
}

/// Builds the test programs that `words` name.
pub fn programs(root: &Path, words: &[&str]) -> Result<Vec<Program>, String> {
    let (messages, failed) = messages(&mut cargo(root, &[&["test", "--no-run"], words].concat()))?;
    let mut found = Vec::new();
    for message in &messages {
        if failed.is_some() && message["message"]["level"] == "error" {
            eprintln!(
                "{}",
                message["message"]["rendered"].as_str().unwrap_or_default()
            );
        }
        let (Some(path), Some(name)) = (
            message["executable"].as_str(),
            message["target"]["name"].as_str(),
        ) else {
            continue;
        };
        let manifest = Path::new(message["manifest_path"].as_str().unwrap_or_default());
        let (Some(folder), true) = (manifest.parent(), message["profile"]["test"] == true) else {
            continue;
        };
        let package = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        found.push(Program {
            name: format!("{package}/{name}"),
            target: format!("{package}/{name}"),
            path: path.into(),
            folder: folder.to_owned(),
            tests: Vec::new(),
        });
    }
    match failed {
        None => Ok(found),
        Some(said) => Err(format!("the test programs do not compile:\n{said}")),
    }
}
