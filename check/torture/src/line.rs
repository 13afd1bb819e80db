//! The progress line of an interval: its counts, in words. All counts are in the rows of the report.

use std::fmt::Write as _;
use std::time::Duration;

use quiescent::statistics;
use quiescent_report::text::number::{brief, short};

use crate::book::finding::Finding;
use crate::book::get;
use crate::book::latency::Counts;
use crate::book::role::{READERS, ROLES, Role};
use crate::book::world::World;

/// The counters at one moment.
#[derive(Default)]
pub struct Line {
    elapsed: Duration,
    acts: [u64; ROLES],
    grace_periods: u64,
    done: u64,
    held: u64,
    latency: Counts,
    errors: u64,
}

impl Line {
    /// The counters now.
    pub fn new(world: &World) -> Line {
        let statistics = statistics();
        let mut latency = Counts::default();
        for tally in &world.tallies {
            latency.add(&tally.latency.counts());
        }
        Line {
            elapsed: world.start.elapsed(),
            acts: Role::ALL.map(|role| world.acts(role)),
            grace_periods: statistics.grace_periods,
            done: world.tallies.iter().map(|it| get(&it.done)).sum(),
            held: statistics.queued,
            latency,
            errors: Finding::ALL.into_iter().map(Finding::count).sum(),
        }
    }

    /// The counts since an earlier moment, short enough for a line of a terminal.
    pub fn since(&self, earlier: &Line) -> String {
        let read = |line: &Line| READERS.map(|it| line.acts[it as usize]).iter().sum::<u64>();
        let disposals = self.done - earlier.done;
        let mut text = format!(
            "{:>5.1} s: {} sections, {} grace periods, {} disposals, {} held",
            self.elapsed.as_secs_f64(),
            brief(read(self) - read(earlier)),
            brief(self.grace_periods - earlier.grace_periods),
            brief(disposals),
            brief(self.held)
        );
        if self.errors > 0 {
            let _ = write!(text, ", {} FINDINGS", self.errors);
        }
        text
    }

    /// The counts since the start, and how long callers waited.
    pub fn text(&self) -> String {
        let text = self.since(&Line::default());
        let ms = |ns: u64| short(ns as f64 / 1e6);
        match (self.latency.at(500), self.latency.at(990)) {
            (Some(half), Some(most)) => {
                let (half, most) = (ms(half), ms(most));
                format!("{text}; waits: half {half} ms, 99 % {most} ms at most")
            }
            _ => text,
        }
    }
}
