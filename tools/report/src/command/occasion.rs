//! The circumstances of a run that its report lacks: time, duration, request.

use std::time::{Duration, SystemTime};

/// The facts about a run that its report lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// The time of its start.
    pub began: SystemTime,
    /// Its duration.
    pub elapsed: Duration,
    /// The request.
    pub command_line: String,
    /// The version of the program.
    pub version: String,
    /// Was it stopped before its end?
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
