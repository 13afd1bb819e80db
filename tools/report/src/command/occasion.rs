//! What a report does not say about its run: when, how long, how it was asked for.

use std::time::{Duration, SystemTime};

/// What a report does not say about its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occasion {
    /// When it began.
    pub began: SystemTime,
    /// How long it took.
    pub elapsed: Duration,
    /// How it was asked for.
    pub command_line: String,
    /// The version of the program.
    pub version: String,
    /// Whether it was stopped before its end.
    pub stopped: bool,
}

impl Occasion {
    /// The command that does the same again: as it was asked for, with the seed if that was drawn.
    pub fn again(&self, seed: u64) -> String {
        let words = &self.command_line;
        match words.contains("--seed") {
            true => words.clone(),
            false => format!("{words} --seed {seed}"),
        }
    }
}
