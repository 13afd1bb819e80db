//! Prints the public API that a rustdoc JSON file tells of, an item a line, sorted.
//!
//! Left out: implementations for all types (`From<T> for T` and the like), and those of the compiler's own
//! marker traits that are not stable. They say nothing of this library, and differ from one compiler to the
//! next. `Send`, `Sync`, `Unpin` and unwind safety stay: losing one of them breaks programs.

use std::io::Write;
use std::process::ExitCode;

/// Markers that are the compiler's business.
const UNSTABLE: [&str; 3] = [
    "core::marker::Freeze for ",
    "core::marker::StructuralPartialEq for ",
    "core::marker::UnsafeUnpin for ",
];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(path), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: public-api-listing RUSTDOC.json");
        return ExitCode::from(2);
    };
    let listing = public_api::Builder::from_rustdoc_json(&path)
        .omit_blanket_impls(true)
        .build();
    let api = match listing {
        Ok(api) => api,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    };
    let mut text = String::new();
    for item in api.items() {
        let line = item.to_string();
        let is_marker = |marker: &&str| line.contains(*marker);
        if !(line.starts_with("impl") && UNSTABLE.iter().any(is_marker)) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
