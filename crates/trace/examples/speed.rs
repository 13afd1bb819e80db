//! How fast a trace is read, against `wc -l` on the same file, in turns: `speed FILE [ROUNDS]`, with `--release`.
//!
//! Prints the best of ROUNDS (5) of `wc -l`, of records alone, and of records with what they say: seconds on the clock, and
//! seconds of processor time, which also mean something on a machine that has other work. The ratios are of each.
//! Linux only: processor time is read from `/proc/self/stat`, in hundredths of a second.
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
    let mut best = [[f64::INFINITY; 2]; 3];
    for _ in 0..rounds {
        for (at, best) in best.iter_mut().enumerate() {
            let (start, used) = (Instant::now(), processor_seconds());
            let done = match at {
                0 => count(&name).map_err(|e| format!("{name}: {e}")),
                _ => read(&name, at == 2).map_err(|e| e.to_string()),
            };
            if let Err(e) = done {
                eprintln!("{e}");
                return ExitCode::from(1);
            }
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            best[1] = best[1].min(processor_seconds() - used);
        }
    }
    for (what, of) in ["wc -l", "records", "records, decoded"].iter().zip(best) {
        println!(
            "{what:16} {:6.2} s, {:.2} of wc's speed; processor {:6.2} s, {:.2}",
            of[0],
            best[0][0] / of[0],
            of[1],
            best[0][1] / of[1]
        );
    }
    ExitCode::SUCCESS
}

/// Of this process and of those that it has waited for.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after.split_whitespace().skip(11).take(4);
    ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn count(name: &str) -> std::io::Result<()> {
    let out = Command::new("wc").args(["-l", name]).output()?;
    match out.status.success() {
        true => Ok(()),
        false => Err(std::io::Error::other("`wc -l` failed; give a file")),
    }
}

/// Reads the whole file.
fn read(name: &str, decode: bool) -> Result<(), Error> {
    let mut reader = Reader::new(name, open(name)?);
    let mut known = 0u64;
    while let Some(record) = reader.next_record()? {
        known += u64::from(decode && !matches!(record.decode(), Ok(Event::Other)));
    }
    std::hint::black_box(known);
    Ok(())
}
