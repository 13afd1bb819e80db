//! What happened between two samples, as rates.

mod order;

pub use order::{Order, View};

use std::collections::HashMap;
use std::time::Duration;

use quiescent_live::telemetry::What;

use crate::sample::{Function, Holdout, Sample, Subject};

/// A callback function in an interval; `None`: the source does not have the figure, or nothing was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its domain.
    pub domain: String,
    /// Its kind.
    pub what: What,
    /// Times it was queued, a second.
    pub queued_per_s: Option<f64>,
    /// Times it was executed, a second.
    pub executed_per_s: f64,
    /// Queued and not executed at the end.
    pub held: Option<u64>,
    /// Their bytes.
    pub held_bytes: Option<u64>,
    /// Average delay of the executed ones, an upper bound, ms.
    pub delay_ms: Option<f64>,
    /// How many of those queued were queued lazily, per cent.
    pub lazy_pct: Option<f64>,
    /// Times it ended the laziness of others, a second.
    pub broke_per_s: Option<f64>,
}

/// Callbacks that are queued and not executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Their number.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
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
    /// Of what.
    pub subject: Subject,
    /// How long it is.
    pub length: Duration,
    /// Callback functions, in the order in which they were met.
    pub functions: Vec<Row>,
    /// Threads, those that were woken most often first.
    pub threads: Vec<ThreadRow>,
    /// Number of threads that are not listed.
    pub more_threads: usize,
    /// Counters: the name, the value at the end, and how much more it is a second.
    pub counters: Vec<(String, u64, f64)>,
    /// The holdouts at the end.
    pub holdouts: Vec<Holdout>,
}

impl Interval {
    /// What happened from `before` to `after`, of one source. What is new in `after` counts from zero.
    pub fn between(before: &Sample, after: &Sample) -> Interval {
        let length = after.at.saturating_duration_since(before.at);
        let seconds = length.as_secs_f64().max(1e-9);
        let rate = |before: u64, after: u64| after.saturating_sub(before) as f64 / seconds;
        let then = by(&before.functions, alike);
        let functions = after.functions.iter();
        let functions = functions.map(|now| row(then.get(&alike(now)).copied(), now, rate));
        let then = by(&before.threads, |it| it.id);
        let mut threads: Vec<ThreadRow> = after
            .threads
            .iter()
            .map(|now| {
                let then = then.get(&now.id);
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
        let then = by(&before.counters, |it| it.0.as_str());
        let counters = after.counters.iter().map(|(name, now)| {
            let then = then.get(name.as_str()).map_or(0, |it| it.1);
            (name.clone(), *now, rate(then, *now))
        });
        Interval {
            subject: after.subject,
            length,
            functions: functions.collect(),
            threads,
            more_threads: after.more_threads,
            counters: counters.collect(),
            holdouts: after.holdouts.clone(),
        }
    }

    /// The increase of a counter, a second; 0 if there is none of this name.
    pub fn rate(&self, name: &str) -> f64 {
        let found = self.counters.iter().find(|it| it.0 == name);
        found.map_or(0.0, |it| it.2)
    }

    /// Does the source count this?
    pub fn counts(&self, name: &str) -> bool {
        self.counters.iter().any(|it| it.0 == name)
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

    /// All that is held; `None` if the source has no figures by function.
    pub fn held(&self) -> Option<u64> {
        sum(self.functions.iter().filter_map(|it| it.held))
    }

    /// What the domain holds that the counters `budget_bytes` and `budget_callbacks` are about, the process's
    /// own, and what all others hold. Bytes are those that the budget counts, with what values own.
    pub fn held_beside_budget(&self) -> (Held, Held) {
        let own = self.subject.word();
        let mut both = [Held::default(); 2];
        for row in &self.functions {
            let sum = &mut both[usize::from(row.domain != own)];
            sum.count = sum.count.saturating_add(row.held.unwrap_or(0));
            sum.bytes = sum.bytes.saturating_add(row.held_bytes.unwrap_or(0));
        }
        (both[0], both[1])
    }

    /// The bytes of all that is held; none as in [`Interval::held`].
    pub fn held_bytes(&self) -> Option<u64> {
        sum(self.functions.iter().filter_map(|it| it.held_bytes))
    }
}

fn sum(values: impl Iterator<Item = u64>) -> Option<u64> {
    values.reduce(u64::saturating_add)
}

/// The key that identifies it in another sample.
fn by<'a, T, K: Eq + std::hash::Hash>(all: &'a [T], key: impl Fn(&'a T) -> K) -> HashMap<K, &'a T> {
    all.iter().map(|it| (key(it), it)).collect()
}

/// The key of a function.
fn alike(it: &Function) -> (&str, &str, What) {
    (&it.domain, &it.name, it.what)
}

fn row(then: Option<&Function>, now: &Function, rate: impl Fn(u64, u64) -> f64) -> Row {
    let both = |of: fn(&Function) -> Option<u64>| Some((then.and_then(of).unwrap_or(0), of(now)?));
    let per_s = |of| both(of).map(|(then, now)| rate(then, now));
    let more = |of| both(of).map(|(then, now)| now.saturating_sub(then) as f64);
    let share = |part: Option<f64>, of: Option<f64>| Some(part? / of.filter(|&of| of > 0.0)?);
    let (queued, executed) = (more(|it| it.queued), more(|it| Some(it.executed)));
    Row {
        name: now.name.clone(),
        domain: now.domain.clone(),
        what: now.what,
        queued_per_s: per_s(|it| it.queued),
        executed_per_s: per_s(|it| Some(it.executed)).unwrap_or(0.0),
        held: now.held(),
        held_bytes: now.held_bytes,
        delay_ms: share(more(|it| it.waited_ns), executed).map(|ns| ns / 1e6),
        lazy_pct: share(more(|it| it.lazily), queued).map(|part| 100.0 * part),
        broke_per_s: per_s(|it| it.broke),
    }
}
