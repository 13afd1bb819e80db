//! Stalls: naming the readers that have blocked a grace period for too long.
//!
//! The engine decides when, and how often (`quiescent_engine::stall`); the driver executes it. This file
//! makes the report and delivers it.
//!
//! # Context of the reporter
//! The reporter runs on the thread that drove, after it has left the driver role, with no lock held:
//! meanwhile another waiter of the same grace period drives. So a reporter may take long, and may take a lock
//! that *another* waiter holds. It runs as callbacks do: it may `retire`, `defer` and inspect anything; calls
//! that would wait are refused. The worker's reporter is watched like a callback: one that does not return
//! costs only the worker its role. While one reporter runs, further reports are dropped: a reporter that
//! hangs blocks one thread, and one that polls is not called recursively.
//!
//! # Order of reads
//! The blocking readers are read under the domain's lock, as numbers. Names and states are read from `/proc`
//! without any lock, while the caller still has the role: no other thread can end the grace period meanwhile,
//! so no number changes its meaning. A slot whose generation differs from the first scan belongs to a reader
//! that has left since: it is not named. That is checked after the names were read.

use std::time::Duration;

use quiescent_engine::stall::Stalled;

use crate::parts::numbers::Number;
use crate::parts::shell::News;
use crate::parts::stall::{StallReport, StalledReader};
use crate::parts::state::State;

/// The largest number of readers named in a report.
const MOST: usize = 64;

impl State {
    /// Sets the time after which stalls are reported, also for the grace period in flight; zero: never.
    pub fn set_stall_after(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let asleep = self.lock().engine.set_stall_ns(ns);
        // A driver that sleeps until another time wakes, and uses the new one.
        if asleep {
            self.rouse_driver(false);
        }
        self.call_worker_if_interested(); // its deadline changes too
    }

    /// The report of a stall; `None` if no reporter is set. The caller drives, and holds no lock.
    pub fn stall_report(&'static self, stalled: Stalled) -> Option<StallReport> {
        if !self.env().shell.is_heard() {
            return None;
        }
        let age = Duration::from_nanos(stalled.now_ns.saturating_sub(stalled.since_ns));
        let mut seen = [(0, 0); MOST];
        let (mut found, mut all) = (0, 0);
        let core = self.lock();
        for reader in core.engine.in_the_way() {
            if let Some(place) = seen.get_mut(all) {
                *place = reader;
                found += 1;
            }
            all += 1;
        }
        drop(core);
        let seen = seen[..found].iter();
        let readers = seen.flat_map(|&(cpu, stamp)| self.stalled_readers(cpu, stamp, age));
        let readers = readers.take(MOST).collect();
        let (queued, queued_bytes) = self.held();
        let before = match self.is_home() {
            true => 0,
            false => self.domain().settings().before.get(Number::GracePeriods),
        };
        Some(StallReport {
            domain: self.name(),
            grace_period: stalled.grace_period.wrapping_sub(before),
            report: stalled.nth,
            age,
            readers,
            more: all - found,
            queued,
            queued_bytes,
        })
    }

    /// The threads behind a reader that was seen with this stamp, if they are still in the same section.
    fn stalled_readers(&self, cpu: u32, stamp: u64, held_for: Duration) -> Vec<StalledReader> {
        let readers = self.readers();
        let location = (readers.words(cpu)).and_then(|words| words.reader.location());
        let named = readers.named(cpu, stamp, &self.env().threads.slots);
        let mut named: Vec<_> = (named.into_iter())
            .map(|holdout| StalledReader::new(holdout, held_for))
            .collect();
        if let Some(reader) = named.first_mut() {
            reader.location = location;
        }
        named
    }

    /// Delivers a report. Called with no lock held, and without the driver role.
    pub fn report_stall(&'static self, stall: Option<StallReport>) {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe
            .reported
            .fetch_add(1, crate::prim::Ordering::Relaxed);
        let Some(stall) = stall else { return };
        if !self.telling.begin() {
            return;
        }
        let (env, shell) = (self.env(), self.env().shell);
        let report = || shell.tell(News::Stalled(stall));
        if self.in_callback() {
            report(); // a polling callback: already marked and watched
        } else {
            env.marked(|| {
                shell.begin(|| "the reporter", None);
                report();
                shell.end();
                shell.rest();
            });
        }
        self.telling.end();
    }
}
