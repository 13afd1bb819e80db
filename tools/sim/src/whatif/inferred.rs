//! Facts about a trace's machine that follow from its events.
//!
//! | setting | read off | example (`data/traces`) |
//! |---|---|---|
//! | `jiffies_till_first_fqs`, `…next_fqs` | the jiffies that the thread waits | `classic-d-nocb-j8…`: 8, 8 |
//! | `early_qs` | the thread reports a CPU itself between start and first wait | `…-early`: init |
//! | `smp` | how many ticks of a jiffy are at once (below) | `classic-b-nocb…`: less than 1/20, serial |
//! | `clock_early_ppm` | which of two CPUs begins a tick (`early`), where they execute one at a time | |
//! | `rcu_normal_wake_from_gp` | waits with or without a callback of their own | `s-sync-classic-8`: 0 |
//! | `idle_loop` | ticks of CPUs whose task has just gone to sleep (`retained`) | `b-nocb…`: retain |
//!
//! "The thread" is the grace-period thread. Its wait is the jiffy in which its timer fires, less the one in
//! which it began to wait, less the wheel's own.
//!
//! The number of jiffies is the one that is seen most often, of [`FEW`] or more; waits of 63 jiffies and more
//! are rounded by the wheel and are ignored.
//!
//! **Do CPUs execute at the same time?** CPUs that do take a jiffy's ticks at the same instant, and the
//! records of their soft interrupts alternate. Where one CPU executes at a time, a tick begins some
//! microseconds after the one before, and a CPU lets others execute before its soft interrupts, but not in
//! them. Of [`MANY`] pairs of ticks of different CPUs within [`NEAR`] it is `parallel` where a tenth or more
//! are within [`AT_ONCE`], or soft interrupts alternate [`MANY`] times, and `serial` where less than a
//! twentieth are and soft interrupts do not alternate; between, and with fewer pairs, it is unknown.
//!
//! **Changes.** A setting is taken to change within the trace where [`MANY`] times in a row one value is
//! seen, and as often another one: `early_qs`, the two waits and `rcu_normal_wake_from_gp`, which a running
//! kernel lets be changed. It changes shortly before the first grace period or wait with the new value.
//!
//! **Not inferred**: everything else that [`settings`](crate::settings) has.

mod early;
mod retained;
mod stretches;

use std::collections::BTreeMap;

use quiescent_kernel::EarlyQs;
use quiescent_trace::{Event, Record, Recorded, Role, role};

use super::doings::{Awaited, Doings};
use crate::input::options::{IdleLoop, Options, Smp};
use early::Early;
use retained::Retained;
use stretches::Stretches;

/// The least number of waits.
pub const FEW: u64 = 5;

/// Pairs of ticks, alternations, or idle times that tell something.
const MANY: u64 = 20;

/// Ticks of different CPUs are of one jiffy within this time, in nanoseconds.
const NEAR: u64 = 100_000;

/// Ticks at the same instant, in nanoseconds: the resolution of the text.
const AT_ONCE: u64 = 1_000;

/// An interrupt lasts so long at most, in nanoseconds.
const ONE_INTERRUPT: u64 = 30_000;

/// Waits that the wheel does not round.
const FINE: u64 = 63;

/// What the trace tells; none of what it does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// Ticks before the first scan.
    pub first_fqs: Option<u64>,
    /// Ticks between later scans.
    pub next_fqs: Option<u64>,
    /// The early report.
    pub early_qs: Option<EarlyQs>,
    /// Whether CPUs execute at the same time.
    pub smp: Option<Smp>,
    /// How early clocks go off.
    pub clock_early_ppm: Option<i64>,
    /// When an idle CPU's tick stops.
    pub idle_loop: Option<IdleLoop>,
    /// Who wakes those that wait for a grace period: the grace-period thread, or a callback.
    pub wake_from_gp: Option<bool>,
    /// Those that change, see [`Options::later`].
    pub later: Vec<(u64, &'static str, String)>,
}

impl Inferred {
    /// The same as settings.
    pub fn settings(&self) -> Vec<&'static str> {
        let all = [
            (self.first_fqs.is_some(), "jiffies_till_first_fqs"),
            (self.next_fqs.is_some(), "jiffies_till_next_fqs"),
            (self.early_qs.is_some(), "early_qs"),
            (self.smp.is_some(), "smp"),
            (self.clock_early_ppm.is_some(), "clock_early_ppm"),
            (self.idle_loop.is_some(), "idle_loop"),
            (self.wake_from_gp.is_some(), "rcu_normal_wake_from_gp"),
        ];
        all.into_iter().filter(|it| it.0).map(|it| it.1).collect()
    }

    /// On top of `base`.
    pub fn on(&self, base: Options) -> Options {
        Options {
            first_fqs: self.first_fqs.or(base.first_fqs),
            next_fqs: self.next_fqs.or(base.next_fqs),
            early_qs: self.early_qs.unwrap_or(base.early_qs),
            smp: self.smp.unwrap_or(base.smp),
            clock_early_ppm: self.clock_early_ppm.unwrap_or(base.clock_early_ppm),
            idle_loop: self.idle_loop.unwrap_or(base.idle_loop),
            wake_from_gp: self.wake_from_gp.unwrap_or(base.wake_from_gp),
            later: self.later.clone(),
            ..base
        }
    }
}

/// A wait of the grace-period thread.
#[derive(Clone, Copy, Debug)]
struct Wait {
    since: u64,
    first: bool,
}

/// Whether CPUs execute at the same time, by ticks and interrupts.
#[derive(Debug, Default)]
struct Overlaps {
    /// The last tick: its CPU and time.
    tick: Option<(u32, u64)>,
    /// Pairs of ticks at one instant, and within a jiffy.
    at_once: u64,
    near: u64,
    /// The two records before: CPU, time, in a soft interrupt.
    before: [(u32, u64, bool); 2],
    alternate: u64,
}

impl Overlaps {
    fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        let now = (record.cpu, record.time_ns, record.flags().softirq());
        let [first, second] = self.before;
        let same = first.0 == now.0 && second.0 != now.0 && first.2 && now.2;
        self.alternate += u64::from(same && now.1.saturating_sub(first.1) < ONE_INTERRUPT);
        self.before = [second, now];
        if let Event::Tick { .. } = event {
            let last = self.tick.replace((now.0, now.1));
            let Some((_, at)) = last.filter(|it| it.0 != now.0) else {
                return;
            };
            let apart = now.1.saturating_sub(at);
            self.near += u64::from(apart <= NEAR);
            self.at_once += u64::from(apart <= AT_ONCE);
        }
    }

    fn smp(&self) -> Option<Smp> {
        let some = self.near >= MANY;
        if self.alternate >= MANY || (some && self.at_once * 10 >= self.near) {
            return Some(Smp::Parallel);
        }
        let serial = self.alternate < FEW && self.at_once * 20 < self.near;
        (some && serial).then_some(Smp::Serial)
    }
}

/// Collects while the trace is read.
#[derive(Debug, Default)]
pub struct FollowTimer {
    waits_of_gp: u64,
    wait: Option<Wait>,
    /// Waits by the time at which they began and the jiffy in which they were over: `(since, jiffy, first)`.
    over: Vec<(u64, u64, bool)>,
    /// A timer that may be the thread's: its jiffy.
    timeout: Option<u64>,
    started: Option<(u64, bool)>,
    grace_periods: u64,
    early: u64,
    /// Whether it is early, by grace period.
    earlies: Stretches<bool>,
    /// The trace has reports.
    reports: bool,
    overlaps: Overlaps,
    clocks: Early,
    retained: Retained,
}

impl FollowTimer {
    /// The next record of the trace, and its event.
    pub fn see(&mut self, record: &Record<'_>, event: &Event<'_>) {
        self.overlaps.see(record, event);
        self.clocks.see(record, event);
        self.retained.see(record, event);
        match *event {
            Event::GracePeriod { what, .. } => self.edge(record, what),
            Event::Report { .. } => {
                self.reports = true;
                let own = role(record.task()) == Role::GracePeriods;
                self.started = self.started.map(|(at, early)| (at, early || own));
            }
            Event::Timer {
                function: "process_timeout",
                jiffies,
                ..
            } => self.timeout = Some(jiffies),
            Event::Wakeup { task, .. } if role(task) == Role::GracePeriods => {
                if let (Some(wait), Some(jiffy)) = (self.wait.take(), self.timeout.take()) {
                    self.over.push((wait.since, jiffy, wait.first));
                }
            }
            _ => {}
        }
    }

    fn edge(&mut self, record: &Record<'_>, what: &str) {
        match what {
            "start" => {
                self.started = Some((record.time_ns, false));
                self.waits_of_gp = 0;
            }
            "fqswait" => {
                self.waits_of_gp += 1;
                if let Some((at, early)) = self.started.take() {
                    self.grace_periods += 1;
                    self.early += u64::from(early);
                    self.earlies.add(at, early);
                }
                self.timeout = None;
                self.wait = Some(Wait {
                    since: record.time_ns,
                    first: self.waits_of_gp == 1,
                });
            }
            _ => {}
        }
    }

    /// What the trace tells.
    pub fn finish(self, recorded: &Recorded, doings: &Doings) -> Inferred {
        let waits = doings.waits.iter();
        let waits = waits.filter(|it| it.what == Awaited::GracePeriod).count() as u64;
        let wake_from_gp = match doings.awakening {
            0 if waits >= FEW && !recorded.arrivals.is_empty() => Some(true),
            0..FEW => None,
            FEW.. => Some(false),
        };
        let tells = self.reports && self.grace_periods >= FEW;
        let mut later = Vec::new();
        let word = |early| if early { "init" } else { "off" }.to_owned();
        let early = first(&mut later, "early_qs", self.earlies.changes(word));
        let early = early.unwrap_or(self.early * 2 > self.grace_periods);
        let mut of = |is_first: bool, key| {
            let jiffy = 1_000_000_000 / u64::from(recorded.hz.max(1));
            let zero = recorded.jiffies_at_zero?;
            let all = self.over.iter().filter(|it| it.2 == is_first);
            let waits = all.filter_map(|&(since, jiffies, _)| {
                let wait = jiffies.checked_sub(zero + since / jiffy + 1)?;
                (wait < FINE).then_some((since, wait))
            });
            let mut stretches = Stretches::default();
            waits.clone().for_each(|it| stretches.add(it.0, it.1));
            let changes = stretches.changes(|it| it.to_string());
            first(&mut later, key, changes).or_else(|| usual(waits.map(|it| it.1)))
        };
        let first_fqs = of(true, "jiffies_till_first_fqs");
        let next_fqs = of(false, "jiffies_till_next_fqs");
        let wakes = wakes(recorded, doings).changes(|it| u8::from(it).to_string());
        let wake_from_gp = first(&mut later, "rcu_normal_wake_from_gp", wakes).or(wake_from_gp);
        later.sort_unstable();
        Inferred {
            first_fqs,
            next_fqs,
            early_qs: tells.then_some(if early { EarlyQs::Init } else { EarlyQs::Off }),
            later,
            clock_early_ppm: match self.overlaps.smp() {
                Some(Smp::Serial) => self.clocks.finish(recorded.hz),
                _ => None,
            },
            smp: self.overlaps.smp(),
            idle_loop: self.retained.finish(recorded),
            wake_from_gp,
        }
    }
}

/// Those that change, see [`Options::later`].
type Later = Vec<(u64, &'static str, String)>;

/// The first value of a setting that changes; the changes are noted.
fn first<T>(
    later: &mut Later,
    key: &'static str,
    changes: Option<(T, Vec<(u64, String)>)>,
) -> Option<T> {
    let (first, then) = changes?;
    later.extend(then.into_iter().map(|(at, value)| (at, key, value)));
    Some(first)
}

/// What is seen most often, if often enough.
fn usual(waits: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for wait in waits {
        *counts.entry(wait).or_default() += 1;
    }
    let (&wait, &count) = counts.iter().max_by_key(|it| *it.1)?;
    (count >= FEW).then_some(wait)
}

/// Whether the grace-period thread wakes who waits, by wait: there is no callback of one meanwhile.
fn wakes(recorded: &Recorded, doings: &Doings) -> Stretches<bool> {
    let callbacks = recorded.arrivals.iter();
    let callbacks = callbacks.filter(|it| &*it.func == "wakeme_after_rcu");
    let callbacks: Vec<u64> = callbacks.map(|it| it.time_ns).collect();
    let mut stretches = Stretches::default();
    for wait in &doings.waits {
        let next = callbacks.partition_point(|it| *it < wait.from);
        let has_one = callbacks.get(next).is_some_and(|it| *it <= wait.until);
        if wait.what == Awaited::GracePeriod {
            stretches.add(wait.from, !has_one);
        }
    }
    stretches
}
