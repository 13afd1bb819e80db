//! The circumstances of a run that its report lacks: time, duration, request.

use std::time::{Duration, SystemTime};

/// What a report does not say about its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// The request.
    pub command_line: String,
    /// The version of the program.
    pub version: String,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Occasion {
    /// The command that repeats the run: the request, with the seed if it was random.
    pub fn again(&self, seed: u64) -> String {
        let words = &self.command_line;
        match words.contains("--seed") {
            true => words.clone(),
            false => format!("{words} --seed {seed}"),
        }
    }
}
