//! The results of a run, as a table and in the form that every command shares (schema `quiescent/1`).

use std::fmt::Write as _;
use std::time::Duration;

use quiescent::statistics;
use quiescent::stats::Statistics;
use quiescent_report::{Report as Shared, Row};

use crate::book::finding::{self, Finding};
use crate::book::get;
use crate::book::kept;
use crate::book::kind::Kind;
use crate::book::latency::Counts;
use crate::book::options::Options;
use crate::book::role::Role;
use crate::book::world::{AGES, World};
use crate::coverage;

/// Takes a row: case, metric, unit, value.
type Put<'a> = &'a mut dyn FnMut(&str, &str, &str, f64);

/// The counts of one kind of disposal.
#[derive(Clone, Debug)]
pub struct KindRow {
    /// The kind.
    pub kind: Kind,
    /// How often an entry was queued, or waited for, in this way, by a thread or by a callback.
    pub queued: u64,
    /// How often such an entry was completed.
    pub done: u64,
    /// How often readers saw each age at the end of a section; the last is "or more".
    pub ages: [u64; AGES],
    /// The waiting times of callers.
    pub latency: Counts,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The options.
    pub options: Options,
    /// The duration.
    pub elapsed: Duration,
    /// Was it ended early?
    pub stopped: bool,
    /// The findings and their counts. Empty if nothing was found.
    pub findings: Vec<(Finding, u64)>,
    /// Details of them.
    pub notes: String,
    /// The counts by kind.
    pub kinds: Vec<KindRow>,
    /// All other counts, by name.
    pub counts: Vec<(&'static str, u64)>,
    /// The library's own counters.
    pub statistics: Statistics,
    /// The progress line of the whole run.
    pub line: String,
    /// The last events, if something was found.
    pub events: Vec<String>,
}

/// The number of events that a report shows.
pub(crate) const EVENTS: usize = 40;

/// All counts but those of the kinds, by name. Roles that the run does not have are left out.
fn counts(world: &World) -> Vec<(&'static str, u64)> {
    let roles = Role::ALL.into_iter().map(|role| match role {
        Role::Signal => ("signal handler", role),
        Role::Churn => ("short-lived thread", role),
        _ => (role.name(), role),
    });
    let there = roles.filter(|(_, role)| world.options.cast.of(*role) > 0);
    let mut counts: Vec<_> = there.map(|(name, role)| (name, world.acts(role))).collect();
    counts.extend([
        ("lazily", coverage::lazily(world)),
        ("callback", get(&world.glances)),
        ("pause", get(&world.pauses)),
        ("stall report", get(&world.stalls)),
        ("planned panic", get(&world.panics[0])),
        ("no free entry", get(&world.full)),
    ]);
    let spans = ["spans 0", "spans 1", "spans 2", "spans 3 or more"];
    counts.extend(spans.into_iter().zip(world.spans.iter().map(get)));
    counts
}

impl KindRow {
    fn rows(&self, row: Put<'_>) {
        let name = self.kind.name();
        let left = self.queued.saturating_sub(self.done);
        let old: u64 = self.ages[2..].iter().sum();
        row(name, "ops", "disposals", self.done as f64);
        row(name, "backlog", "disposals", left as f64);
        for (metric, seen) in [
            ("age_0", self.ages[0]),
            ("age_1", self.ages[1]),
            ("age_2_up", old),
        ] {
            row(name, metric, "sections", seen as f64);
        }
        for (metric, thousandths) in [
            ("latency_us_p50", 500),
            ("latency_us_p99", 990),
            ("latency_us_max", 1000),
        ] {
            if let Some(ns) = self.latency.at(thousandths) {
                row(name, metric, "us", ns as f64 / 1000.0);
            }
        }
    }
}

impl Report {
    pub(crate) fn new(
        world: &World,
        elapsed: Duration,
        stopped: bool,
        notes: String,
        line: String,
    ) -> Report {
        let findings = Finding::ALL.into_iter().map(|found| (found, found.count()));
        let kinds = Kind::ALL.into_iter().zip(&world.tallies);
        Report {
            options: world.options.clone(),
            elapsed,
            stopped,
            findings: findings.filter(|(_, count)| *count > 0).collect(),
            notes,
            kinds: kinds
                .map(|(kind, tally)| KindRow {
                    kind,
                    queued: get(&tally.queued),
                    done: get(&tally.done),
                    ages: std::array::from_fn(|age| get(&tally.ages[age])),
                    latency: tally.latency.counts(),
                })
                .collect(),
            counts: counts(world),
            line,
            events: match finding::any() {
                true => kept::last(world.rings(), EVENTS),
                false => Vec::new(),
            },
            statistics: statistics(),
        }
    }

    /// Did the run find nothing?
    pub fn is_good(&self) -> bool {
        self.findings.is_empty()
    }

    /// The counts in one line, and what was found.
    pub fn text(&self) -> String {
        let (name, seed, line) = (&self.options.name, self.options.seed, &self.line);
        let mut text = format!("{name}, seed {seed}: {line}\n{:?}\n", self.statistics);
        if self.stopped {
            text += "stopped early\n";
        }
        text += &self.notes;
        for (found, _) in &self.findings {
            let _ = writeln!(text, "FOUND {}", found.line());
        }
        if self.is_good() {
            text += "nothing found\n";
        } else {
            text += "\nthe last events, until the first finding:\n";
            for event in &self.events {
                let _ = writeln!(text, "  {event}");
            }
            let _ = writeln!(text, "\nagain: --seed {seed}");
        }
        text
    }

    /// The form that every command shares.
    pub fn shared(&self) -> Shared {
        let mut shared = Shared::new("torture", self.options.seed);
        shared.option("scenario", self.options.name.as_str());
        shared.option("seconds", self.options.duration.as_secs_f64());
        shared.option("elapsed", self.elapsed.as_secs_f64());
        for role in Role::ALL {
            let count = self.options.cast.of(role);
            shared.option(&format!("{}_threads", role.name()), count);
        }
        shared.option("stall", self.options.patience.as_secs());
        shared.option("quarantine", self.options.quarantine);
        shared.option("slots", self.options.library.max_threads);
        shared.option("fence", self.statistics.fence_mode.to_string());
        shared.option("panics", self.options.panics);
        shared.option("stopped", self.stopped);
        shared.option("line", self.line.as_str());
        shared.option("events", self.events.clone());
        let found = self.findings.iter().map(|(found, _)| found.line());
        shared.option("findings", found.collect::<Vec<_>>());
        shared.option("notes", self.notes.as_str());
        self.rows(&mut |case, metric, unit, value| {
            let row = Row::single("quiescent", case, metric, unit, value);
            shared.rows.extend(row);
        });
        shared
    }

    fn rows(&self, row: Put<'_>) {
        let errors: u64 = self.findings.iter().map(|(_, count)| count).sum();
        row("all", "errors", "findings", errors as f64);
        for (found, count) in &self.findings {
            row(found.text(), "errors", "findings", *count as f64);
        }
        for kind in &self.kinds {
            kind.rows(row);
        }
        for (name, count) in &self.counts {
            let metric = match *name {
                "reader" | "signal handler" | "callback" => "reads",
                "spans 0" | "spans 1" | "spans 2" | "spans 3 or more" => "sections",
                _ => "ops",
            };
            row(name, metric, "times", *count as f64);
        }
        let statistics = &self.statistics;
        for (metric, count) in [
            ("grace_periods", statistics.grace_periods),
            ("scans", statistics.scans),
            ("fences", statistics.fences_gp + statistics.fences_flag),
            ("grace_periods_sole", statistics.grace_periods_sole),
        ] {
            row("all", metric, "times", count as f64);
        }
        let mut latency = Counts::default();
        self.kinds.iter().for_each(|it| latency.add(&it.latency));
        for (low, count) in latency.powers() {
            let case = format!("waited {} us and more", low as f64 / 1000.0);
            row(&case, "histogram", "grace periods", count as f64);
        }
    }
}
