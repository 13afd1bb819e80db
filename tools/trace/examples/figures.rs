//! Prints the figures of a trace as JSON: `cargo run --release -p quiescent-trace --example figures --
//! FILE|-`.
//!
//! What could not be read goes to standard error, with line numbers. Exit codes: 0 all read, 1 something was
//! not, 2 usage.

use quiescent_trace::{Error, Figures, Reader, Summary, measure, open};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        eprintln!("usage: figures FILE (ftrace text, plain or .xz; `-` is standard input)");
        return ExitCode::from(2);
    };
    match figures(&name) {
        Ok((figures, summary)) => {
            println!(
                "{}",
                serde_json::to_string_pretty(&figures).expect("is JSON")
            );
            for fault in [&summary.malformed, &figures.undecoded] {
                fault.first().iter().for_each(|f| eprintln!("{name}: {f}"));
            }
            eprintln!(
                "{name}: {} lines, {} records, {} malformed, {} lost",
                summary.lines,
                summary.records,
                summary.malformed.count(),
                summary.lost
            );
            ExitCode::from(u8::from(summary.malformed.count() > 0))
        }
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(1)
        }
    }
}

fn figures(name: &str) -> Result<(Figures, Summary), Error> {
    let mut reader = Reader::new(name, open(name)?);
    let figures = measure(&mut reader, None)?;
    Ok((figures, reader.summary().clone()))
}
