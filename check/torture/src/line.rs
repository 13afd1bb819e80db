//! The progress line of an interval: its counts. `metrics.txt` has the legend.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quiescent::statistics;

use crate::book::finding::Finding;
use crate::book::latency::Counts;
use crate::book::role::{ROLES, Role};
use crate::book::world::{AGES, World};
use crate::coverage;

/// The counters at one moment.
#[derive(Default)]
pub struct Line {
    elapsed: Duration,
    acts: [u64; ROLES],
    grace_periods: u64,
    sole: u64,
    done: u64,
    lazy: u64,
    held: u64,
    ages: [u64; AGES],
    latency: Counts,
    errors: u64,
}

impl Line {
    /// The counters now.
    pub fn new(world: &World) -> Line {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let statistics = statistics();
        let mut latency = Counts::default();
        for tally in &world.tallies {
            latency.add(&tally.latency.counts());
        }
        let age = |age: usize| world.tallies.iter().map(|it| get(&it.ages[age])).sum();
        Line {
            elapsed: world.start.elapsed(),
            acts: Role::ALL.map(|role| world.acts(role)),
            grace_periods: statistics.grace_periods,
            sole: statistics.grace_periods_sole,
            done: world.tallies.iter().map(|it| get(&it.done)).sum(),
            lazy: coverage::lazily(world),
            held: statistics.queued,
            ages: std::array::from_fn(age),
            latency,
            errors: Finding::ALL.into_iter().map(Finding::count).sum(),
        }
    }

    /// The counts since an earlier moment.
    pub fn since(&self, earlier: &Line) -> String {
        let role = |role: Role| self.acts[role as usize] - earlier.acts[role as usize];
        let mut text = format!(
            "{:>6.1} s  gp {} sole {}  done {} lazy {} held {}  ",
            self.elapsed.as_secs_f64(),
            self.grace_periods - earlier.grace_periods,
            self.sole - earlier.sole,
            self.done - earlier.done,
            self.lazy - earlier.lazy,
            self.held
        );
        for shown in Role::ALL {
            // Counters that the scenario does not use are left out.
            if self.acts[shown as usize] > 0 {
                let _ = write!(text, "{} {} ", shown.name(), role(shown));
            }
        }
        let ages: Vec<u64> = self
            .ages
            .iter()
            .zip(earlier.ages)
            .map(|(a, b)| a - b)
            .collect();
        let old: u64 = ages[2..].iter().sum();
        let _ = write!(text, " pipe {} {} {old}  ", ages[0], ages[1]);
        match (self.latency.at(500), self.latency.at(990)) {
            (Some(half), Some(most)) => {
                let _ = write!(
                    text,
                    "wait {} {} us  ",
                    half.div_ceil(1000),
                    most.div_ceil(1000)
                );
            }
            _ => text += "wait - - us  ",
        }
        let _ = write!(text, "err {}", self.errors);
        text
    }

    /// The counts since the start.
    pub fn text(&self) -> String {
        self.since(&Line::default())
    }
}
