//! What happened between two samples, as rates.

use std::time::Duration;

use quiescent::telemetry::What;

use crate::kernel;
use crate::sample::{Function, Holdout, Sample};

/// A callback function, in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: String,
    /// What kind of thing it is.
    pub what: What,
    /// Times it was queued, a second; no number where a source does not know it.
    pub queued_per_s: f64,
    /// Times it was executed, a second.
    pub executed_per_s: f64,
    /// Queued and not executed at the end.
    pub held: u64,
    /// Their bytes.
    pub held_bytes: u64,
    /// How long those executed had waited on average, at most, ms; none if none was.
    pub delay_ms: Option<f64>,
    /// How many of those queued were queued lazily, per cent; none if none was.
    pub lazy_pct: Option<f64>,
    /// Times it broke the laziness of others, a second; no number where a source does not know it.
    pub broke_per_s: f64,
}

/// A thread, in an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadRow {
    /// The kernel's number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Times it was woken up, a second.
    pub wakeups_per_s: f64,
    /// Of a processor, per cent.
    pub cpu_pct: f64,
}

/// What happened between two samples.
#[derive(Clone, Debug)]
pub struct Interval {
    /// How long it is.
    pub length: Duration,
    /// Callback functions, in the order in which they were met.
    pub functions: Vec<Row>,
    /// Threads, those that were woken most often first.
    pub threads: Vec<ThreadRow>,
    /// Threads there are beside these.
    pub more_threads: usize,
    /// Counters: the name, the value at the end, and how much more it is a second.
    pub counters: Vec<(String, u64, f64)>,
    /// Who is in the way at the end.
    pub holdouts: Vec<Holdout>,
}

impl Interval {
    /// What happened from `before` to `after`, of one source. What is new in `after` had counted nothing before.
    pub fn between(before: &Sample, after: &Sample) -> Interval {
        let length = after.at.saturating_duration_since(before.at);
        let seconds = length.as_secs_f64().max(1e-9);
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        let functions = after.functions.iter().map(|now| {
            let then = before.functions.iter().find(|it| it.is_alike(now));
            row(then, now, rate)
        });
        let mut threads: Vec<ThreadRow> = after
            .threads
            .iter()
            .map(|now| {
                let then = before.threads.iter().find(|it| it.id == now.id);
                let (sleeps, cpu_ns) = then.map_or((0, 0), |it| (it.sleeps, it.cpu_ns));
                ThreadRow {
                    id: now.id,
                    name: now.name.clone(),
                    wakeups_per_s: rate(sleeps, now.sleeps),
                    cpu_pct: rate(cpu_ns, now.cpu_ns) / 1e7,
                }
            })
            .collect();
        threads.sort_by(|a, b| b.wakeups_per_s.total_cmp(&a.wakeups_per_s));
        let counters = after
            .counters
            .iter()
            .map(|(name, now)| (name.clone(), *now, rate(before.counter(name), *now)));
        Interval {
            length,
            functions: kernel::known(after, functions.collect()),
            threads,
            more_threads: after.more_threads,
            counters: counters.collect(),
            holdouts: after.holdouts.clone(),
        }
    }

    /// How much more a counter is, a second; 0 if there is none of this name.
    pub fn rate(&self, name: &str) -> f64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0.0, |it| it.2)
    }

    /// Does the source count this?
    pub fn counts(&self, name: &str) -> bool {
        self.counters.iter().any(|it| it.0 == name)
    }

    /// Is it of a kernel, and not of a program?
    pub fn is_of_kernel(&self) -> bool {
        self.counters.iter().any(|it| it.0 == kernel::SOFTIRQS)
    }

    /// A counter at the end.
    pub fn counter(&self, name: &str) -> u64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0, |it| it.1)
    }

    /// Process-wide fences for grace periods, a second.
    pub fn fences_per_s(&self) -> f64 {
        self.rate("fences_gp") + self.rate("fences_flag")
    }

    /// Counters that are counted by cause (`worker_wakeups`, `flushes`): each cause, a second.
    pub fn causes(&self, of: &str) -> impl Iterator<Item = (&str, f64)> {
        self.counters.iter().filter_map(move |(name, _, rate)| {
            let cause = name.strip_prefix(of)?.strip_prefix('.')?;
            Some((cause, *rate))
        })
    }

    /// All that is held, and its bytes.
    pub fn held(&self) -> (u64, u64) {
        let sum = |of: fn(&Row) -> u64| self.functions.iter().map(of).fold(0, u64::saturating_add);
        (sum(|it| it.held), sum(|it| it.held_bytes))
    }
}

fn row(then: Option<&Function>, now: &Function, rate: impl Fn(u64, u64) -> f64) -> Row {
    let before = |of: fn(&Function) -> u64| then.map_or(0, of);
    let more = |of: fn(&Function) -> u64| of(now).saturating_sub(before(of));
    let per_s = |of: fn(&Function) -> u64| rate(before(of), of(now));
    let (queued, executed) = (more(|it| it.queued), more(|it| it.executed));
    let waited_ms = more(|it| it.waited_ns) as f64 / 1e6;
    Row {
        name: now.name.clone(),
        domain: now.domain.clone(),
        what: now.what,
        queued_per_s: per_s(|it| it.queued),
        executed_per_s: per_s(|it| it.executed),
        held: now.held(),
        held_bytes: now.held().saturating_mul(now.bytes_each),
        delay_ms: (executed > 0).then(|| waited_ms / executed as f64),
        lazy_pct: (queued > 0).then(|| 100.0 * more(|it| it.lazily) as f64 / queued as f64),
        broke_per_s: per_s(|it| it.broke),
    }
}
