//! How fast a trace is read, against `wc -l` on the same file, in turns: `speed FILE [ROUNDS]`, with `--release`.
//!
//! Prints the best of ROUNDS (5) of each: `wc -l`, records alone, records with what they say, and the ratios.
//! Exit codes: 0 done, 1 it cannot be read, 2 usage.

use quiescent_trace::{Error, Event, Reader, open};
use std::process::{Command, ExitCode};
use std::time::Instant;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(name), rounds) = (words.next(), words.next()) else {
        eprintln!("usage: speed FILE [ROUNDS]");
        return ExitCode::from(2);
    };
    let rounds = rounds.and_then(|r| r.parse().ok()).unwrap_or(5);
    let mut best = [f64::INFINITY; 3];
    for _ in 0..rounds {
        let start = Instant::now();
        if !matches!(Command::new("wc").args(["-l", &name]).output(), Ok(out) if out.status.success())
        {
            eprintln!("{name}: `wc -l` failed; give a file");
            return ExitCode::from(1);
        }
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        for (at, decode) in [(1, false), (2, true)] {
            match read(&name, decode) {
                Ok(seconds) => best[at] = best[at].min(seconds),
                Err(e) => {
                    eprintln!("{e}");
                    return ExitCode::from(1);
                }
            }
        }
    }
    println!("wc -l            {:8.3} s", best[0]);
    for (at, what) in [(1, "records"), (2, "records, decoded")] {
        println!(
            "{what:16} {:8.3} s  {:.2} of wc's speed",
            best[at],
            best[0] / best[at]
        );
    }
    ExitCode::SUCCESS
}

/// Seconds for the whole file.
fn read(name: &str, decode: bool) -> Result<f64, Error> {
    let start = Instant::now();
    let mut reader = Reader::new(name, open(name)?);
    let mut known = 0u64;
    while let Some(record) = reader.next_record()? {
        known += u64::from(decode && !matches!(record.decode(), Ok(Event::Other)));
    }
    std::hint::black_box(known);
    Ok(start.elapsed().as_secs_f64())
}
