//! Prints what every analysis finds in each trace, as JSON lines: `findings FILE...`. Two builds can be
//! compared by it.
//!
//! A line has the file, the analysis and its findings. Exit codes: 0 done, 1 a file cannot be read, 2 usage.

use quiescent_trace::{Analysis, Error, Filter, Kind, Reader, open};
use std::process::ExitCode;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        eprintln!("usage: findings FILE...");
        return ExitCode::from(2);
    }
    for name in names {
        if let Err(e) = print(&name) {
            eprintln!("{e}");
            return ExitCode::from(1);
        }
    }
    ExitCode::SUCCESS
}

fn print(name: &str) -> Result<(), Error> {
    let mut reader = Reader::new(name, open(name)?);
    let mut analyses = Kind::ALL.map(|kind| (kind, Analysis::new(kind, Filter::default())));
    while let Some(record) = reader.next_record()? {
        analyses
            .iter_mut()
            .for_each(|(_, analysis)| analysis.feed(&record));
    }
    for (kind, analysis) in analyses {
        let found = analysis.finish(reader.summary())?;
        let found = serde_json::to_string(&found).unwrap_or_default();
        println!("{name} {} {found}", kind.name());
    }
    Ok(())
}
