//! `run`: a program that is linked to liburcu, with the libraries of `lib/urcu-abi` in their place. The
//! program takes the place of this one, so its exit code, signals and output are its own.

use crate::arguments::linux::run::Run;
use crate::commands::this_program;
use quiescent_report::Error;
use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the loader looks first.
const PATH: &str = "LD_LIBRARY_PATH";
/// One of the libraries, by which their folder is known.
const LIBRARY: &str = "liburcu.so.8";

/// Runs the command; returns only if the program cannot be started.
pub fn run(options: &Run) -> Result<u8, Error> {
    let places = match &options.libs {
        Some(folder) => vec![folder.clone()],
        None => beside(&this_program()?),
    };
    let found = places.iter().find(|it| it.join(LIBRARY).is_file());
    let folder = found.and_then(|folder| folder.canonicalize().ok());
    let folder = folder.ok_or_else(|| {
        let places: Vec<_> = places.iter().map(|it| it.display().to_string()).collect();
        let places = places.join(", ");
        Error::Usage(format!(
            "run: there is no {LIBRARY} in {places}; build it with lib/urcu-abi/build and name its folder: \
             --libs FOLDER"
        ))
    })?;
    let (program, arguments) = (&options.words[0], &options.words[1..]);
    let why = Command::new(program)
        .args(arguments)
        .env(PATH, first(&folder, env::var_os(PATH)))
        .exec();
    let remedy = "give the name of a program that can be executed";
    Err(Error::failed(
        format!("run {}", program.display()),
        why,
        remedy,
    ))
}

/// Where the libraries may be beside the program.
fn beside(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent().unwrap_or(Path::new("."));
    ["urcu", "../urcu", "../lib/quiescent"]
        .map(|it| folder.join(it))
        .to_vec()
}

/// A path with this folder before the others.
fn first(folder: &Path, others: Option<OsString>) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = others.filter(|it| !it.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}
