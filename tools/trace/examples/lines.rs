//! Prints the lines that a trace is read as: of a `trace.dat`, the text that it stands for.
//!
//! `cargo run --release -p quiescent-trace --example lines -- FILE`. Exit codes: 0 all read, 1 not, 2 usage.

use std::io::{BufRead, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(name) = std::env::args().nth(1) else {
        eprintln!("usage: lines FILE");
        return ExitCode::from(2);
    };
    match copy(&name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::from(1)
        }
    }
}

fn copy(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut input = quiescent_trace::open(name)?.text();
    let mut out = std::io::stdout().lock();
    loop {
        let block = input.fill_buf()?;
        if block.is_empty() {
            return Ok(());
        }
        out.write_all(block)?;
        let used = block.len();
        input.consume(used);
    }
}
