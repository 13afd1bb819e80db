//! How fast a trace is read and looked at, against `wc -l` on the same file, in turns: `trace_speed FILE
//! [ROUNDS [WHAT]]`, with `--release`.
//!
//! Prints the best of ROUNDS (5) of `wc -l`, of records alone, of records with what they say, and of each
//! analysis of the whole file (marks do not count), with one thread and with two: seconds on the clock, and
//! seconds of processor time of all threads, which also mean something on a machine that has other work. The
//! ratios are of each. WHAT is one of them alone, by its name. Linux only: processor time is read from
//! `/proc/self/stat`, in hundredths of a second. Exit codes: 0 done, 1 it cannot be read, 2 usage.

use quiescent_trace::{Analysis, Error, Event, Filter, Kind, Reader, from_read};
use std::fs::File;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// What is timed.
#[derive(Clone, Copy)]
enum What {
    Count,
    Records,
    Decoded,
    Analysis(Kind),
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (Some(name), rounds) = (words.next(), words.next()) else {
        eprintln!("usage: trace_speed FILE [ROUNDS [WHAT]]");
        return ExitCode::from(2);
    };
    let rounds = rounds.and_then(|r| r.parse().ok()).unwrap_or(5);
    let only = words.next();
    let mut all = vec![(What::Count, 1)];
    for what in [What::Records, What::Decoded]
        .into_iter()
        .chain(Kind::ALL.map(What::Analysis))
    {
        if only.as_ref().is_none_or(|only| only == named(what)) {
            all.extend([(what, 1), (what, 2)]);
        }
    }
    let mut best = vec![[f64::INFINITY; 2]; all.len()];
    for _ in 0..rounds {
        for (&(what, threads), best) in all.iter().zip(&mut best) {
            let (start, used) = (Instant::now(), processor_seconds());
            let done = match what {
                What::Count => count(&name).map_err(|e| format!("{name}: {e}")),
                what => look(&name, what, threads).map_err(|e| e.to_string()),
            };
            if let Err(e) = done {
                eprintln!("{e}");
                return ExitCode::from(1);
            }
            best[0] = best[0].min(start.elapsed().as_secs_f64());
            best[1] = best[1].min(processor_seconds() - used);
        }
    }
    for (&(what, threads), of) in all.iter().zip(&best) {
        println!(
            "{:10} {threads} thread(s) {:6.2} s, {:.2} of wc's speed; processor {:6.2} s, {:.2}",
            named(what),
            of[0],
            best[0][0] / of[0],
            of[1],
            best[0][1] / of[1]
        );
    }
    ExitCode::SUCCESS
}

fn named(what: What) -> &'static str {
    match what {
        What::Count => "wc -l",
        What::Records => "records",
        What::Decoded => "decoded",
        What::Analysis(kind) => kind.name(),
    }
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
fn look(name: &str, what: What, threads: u32) -> Result<(), Error> {
    let file = File::open(name).map_err(|source| Error::Input {
        name: name.to_owned(),
        source,
        remedy: "give a file",
    })?;
    let input = from_read(name, file)?;
    let mut reader = match threads {
        1 => Reader::new(name, input),
        _ => Reader::ahead(name, input),
    };
    match what {
        What::Analysis(kind) => {
            let everything = Filter {
                from_ns: Some(0),
                ..Filter::default()
            };
            let mut analysis = Analysis::new(kind, everything);
            while let Some(record) = reader.next_record()? {
                analysis.feed(&record);
            }
            std::hint::black_box(analysis.finish(reader.summary())?);
        }
        what => {
            let mut known = 0u64;
            while let Some(record) = reader.next_record()? {
                let decode = matches!(what, What::Decoded);
                known += u64::from(decode && !matches!(record.decode(), Ok(Event::Other)));
            }
            std::hint::black_box(known);
        }
    }
    Ok(())
}
