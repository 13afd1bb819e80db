//! Values of options: each is checked when the command line is read, and refused with the accepted range.

use clap::builder::{OsStringValueParser, TypedValueParser};
use quiescent_bench::subjects::pool::MOST_THREADS;
use std::path::PathBuf;

pub(super) fn threads(text: &str) -> Result<usize, String> {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get());
    let advice = format!("give 1 to {MOST_THREADS} (this machine has {cpus} CPUs)");
    count(text, MOST_THREADS as u64, &advice).map(|count| count as usize)
}

/// A page's name, of any bytes but none.
pub(super) fn page_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| match name.is_empty() {
        true => Err(
            "no name: give a file or `-` for standard output, or leave the page out \
             (`reproduce --no-html`; other commands: no --html)",
        ),
        false => Ok(PathBuf::from(name)),
    })
}

/// The largest useful number of rounds: at the default size a round takes about a tenth of a second.
const MOST_ROUNDS: u64 = 100_000;

pub(super) fn rounds(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_ROUNDS}; 30 or more for figures worth quoting");
    count(text, MOST_ROUNDS, &advice)
}

/// More than an updater does at full speed.
const MOST_A_SECOND: u64 = 1_000_000_000;

pub(super) fn rate(text: &str) -> Result<u64, String> {
    let advice = format!("give updates a second from 1 to {MOST_A_SECOND}, with commas in between");
    count(text, MOST_A_SECOND, &advice)
}

/// As many latencies as a round can keep in memory cheaply.
const MOST_CALLS: u64 = 1_000_000;

pub(super) fn calls(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_CALLS}; the 99th percentile needs 100 or more");
    count(text, MOST_CALLS, &advice)
}

/// With more, a library that frees nothing would need more than 64 GiB.
const MOST_OBJECTS: u64 = 1_000_000_000;

pub(super) fn objects(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_OBJECTS}; 1000000 or more for figures worth quoting");
    count(text, MOST_OBJECTS, &advice)
}

/// The longest useful time to watch a single process.
const MOST_MS: u64 = 600_000;

pub(super) fn milliseconds(text: &str) -> Result<u64, String> {
    let advice = format!("give 1 to {MOST_MS}, in ms; 300 or more for figures worth quoting");
    count(text, MOST_MS, &advice)
}

pub(super) fn count(text: &str, most: u64, advice: &str) -> Result<u64, String> {
    match text.parse::<u128>() {
        Ok(0) => Err(format!("0 would measure nothing: {advice}")),
        Ok(count) if count <= u128::from(most) => Ok(count as u64),
        Ok(_) => Err(format!("too many: {advice}")),
        Err(_) => Err(format!("not a count: {advice}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_counts_come_with_a_remedy() {
        for text in [
            "0",
            "1000000000000",
            "-1",
            "many",
            "99999999999999999999999999999999999999999",
        ] {
            let error = threads(text).unwrap_err();
            assert!(error.contains("give 1 to 1024"), "{text}: {error}");
            assert!(rounds(text).unwrap_err().contains("give 1 to"), "{text}");
            assert!(calls(text).unwrap_err().contains("give 1 to"), "{text}");
            assert!(objects(text).unwrap_err().contains("give 1 to"), "{text}");
            let error = milliseconds(text).unwrap_err();
            assert!(error.contains("in ms"), "{text}: {error}");
        }
        assert_eq!(
            (threads("1024"), rounds("1"), calls("200")),
            (Ok(1024), Ok(1), Ok(200))
        );
    }
}
