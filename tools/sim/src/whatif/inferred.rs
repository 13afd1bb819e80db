//! Facts about a trace's machine that follow from its events.
//!
//! | setting | read off | example (`data/traces`) |
//! |---|---|---|
//! | `jiffies_till_first_fqs`, `…next_fqs` | the jiffies that the thread waits | `classic-d-nocb-j8…`: 8, 8 |
//! | `early_qs` | the thread reports a CPU itself between start and first wait | `…-early`: init |
//!
//! "The thread" is the grace-period thread. Its wait is the jiffy in which its timer fires, less the one in
//! which it began to wait, less the wheel's own.
//!
//! The number of jiffies is the one that is seen most often, of [`FEW`] or more; waits of 63 jiffies and more
//! are rounded by the wheel and are ignored. **Not inferred**: whether CPUs execute at the same time (`smp`),
//! the idle loop (`idle_loop`), and everything else that [`settings`](crate::settings) has.

use std::collections::BTreeMap;

use quiescent_engine::EarlyQs;
use quiescent_trace::{Event, Record, Recorded, Role, role};

use crate::input::options::Options;

/// The least number of waits.
pub const FEW: u64 = 5;

/// Waits that the wheel does not round.
const FINE: u64 = 63;

/// What the trace tells; none of what it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inferred {
    /// Ticks before the first scan.
    pub first_fqs: Option<u64>,
    /// Ticks between later scans.
    pub next_fqs: Option<u64>,
    /// The early report.
    pub early_qs: Option<EarlyQs>,
}

impl Inferred {
    /// The same as settings.
    pub fn settings(&self) -> Vec<&'static str> {
        let all = [
            (self.first_fqs.is_some(), "jiffies_till_first_fqs"),
            (self.next_fqs.is_some(), "jiffies_till_next_fqs"),
            (self.early_qs.is_some(), "early_qs"),
        ];
        all.into_iter().filter(|it| it.0).map(|it| it.1).collect()
    }

    /// On top of `base`.
    pub fn on(&self, base: Options) -> Options {
        Options {
            first_fqs: self.first_fqs.or(base.first_fqs),
            next_fqs: self.next_fqs.or(base.next_fqs),
            early_qs: self.early_qs.unwrap_or(base.early_qs),
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

/// Collects while another consumer reads: feed it every record, then finish.
#[derive(Debug, Default)]
pub struct FollowTimer {
    waits_of_gp: u64,
    wait: Option<Wait>,
    /// Waits by the time at which they began and the jiffy in which they were over: `(since, jiffy, first)`.
    over: Vec<(u64, u64, bool)>,
    /// A timer that may be the thread's: its jiffy.
    timeout: Option<u64>,
    started: Option<bool>,
    grace_periods: u64,
    early: u64,
}

impl FollowTimer {
    /// The next record of the trace.
    pub fn feed(&mut self, record: &Record<'_>) {
        let Ok(event) = record.decode() else {
            return;
        };
        match event {
            Event::GracePeriod { what, .. } => self.edge(record, what),
            Event::Report { .. } if role(record.task) == Role::GracePeriods => {
                if let Some(early) = &mut self.started {
                    *early = true;
                }
            }
            Event::Timer {
                function: "process_timeout",
                jiffies,
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
                self.started = Some(false);
                self.waits_of_gp = 0;
            }
            "fqswait" => {
                self.waits_of_gp += 1;
                if let Some(early) = self.started.take() {
                    self.grace_periods += 1;
                    self.early += u64::from(early);
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
    pub fn finish(self, recorded: &Recorded) -> Inferred {
        let early =
            (self.grace_periods >= FEW).then(|| match self.early * 2 > self.grace_periods {
                true => EarlyQs::Init,
                false => EarlyQs::Off,
            });
        let of = |first: bool| {
            let jiffy = 1_000_000_000 / u64::from(recorded.hz.max(1));
            let zero = recorded.jiffies_at_zero?;
            let all = self.over.iter().filter(|it| it.2 == first);
            let waits = all
                .filter_map(|&(since, jiffies, _)| jiffies.checked_sub(zero + since / jiffy + 1));
            usual(waits)
        };
        Inferred {
            first_fqs: of(true),
            next_fqs: of(false),
            early_qs: early,
        }
    }
}

/// What is seen most often, if often enough.
fn usual(waits: impl Iterator<Item = u64>) -> Option<u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for wait in waits {
        *counts.entry(wait).or_default() += 1;
    }
    let (&wait, &count) = counts.iter().max_by_key(|it| *it.1)?;
    (count >= FEW && wait < FINE).then_some(wait)
}
