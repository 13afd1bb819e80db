//! Stalls: naming the readers that a grace period has waited for too long.
//!
//! When, and how often, is the engine's decision (`quiescent_engine::stall`); whoever drives carries it
//! out. This file makes the report and delivers it.
//!
//! # Where the reporter runs
//! On the thread that drove, after it has left the driver role, with no lock held: whoever waits for the
//! same grace period drives on meanwhile. So a reporter may take its time, and a lock that some *other*
//! waiter holds. It runs as callbacks do: it may `retire`, `defer` and look at everything, and is refused
//! what would wait. The worker's reporter is watched like a callback: one that does not return costs the
//! worker its role, and nobody else anything. While one is out, further reports are not given: a reporter
//! that hangs keeps one thread, and one that polls is not called again from within itself.
//!
//! # What is read when
//! Who is in the way is asked under the domain's lock, as numbers. Names and states are read from `/proc`
//! without any lock, while the caller still has the role: nobody else can end the grace period
//! meanwhile, so no number changes its meaning. A slot whose generation is not the one that the first
//! look saw belongs to a reader that has left since: it is not named.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use quiescent_engine::stall::{Stalled, THREADS_NS};

use crate::inner::defer::run;
use crate::inner::domain::numbers::Number;
use crate::inner::domain::state::State;
use crate::inner::gp::readers::ReaderSet;
use crate::inner::prim::{self, Ordering};
use crate::inner::reader::record::Seat;
use crate::inner::reader::threads::CROWD;
use crate::inner::reader::word::{generation, nesting};
use crate::report::{self, Report};
use crate::statistics::Holdout;

mod json;
mod proc;

/// Readers that are named in a report, at most.
const MOST: usize = 64;

/// After this time a stall is reported, in nanoseconds.
pub(crate) const DEFAULT_NS: u64 = if cfg!(debug_assertions) {
    1_000_000_000
} else {
    THREADS_NS
};

/// A grace period whose readers have been in the way for this long is reported, unless
/// [`Options::stall_after`](crate::Options) or [`set_stall_after`] says otherwise: 21 s, and 1 s in a build
/// with debug assertions.
pub const STALL_AFTER: Duration = Duration::from_nanos(DEFAULT_NS);

/// A grace period that has waited for too long, and for whom.
///
/// [`Display`](fmt::Display) tells it in words, a line for each reader; [`to_json`](StallReport::to_json) for
/// programs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StallReport {
    /// The domain's name, if it has one ([`Domain::set_name`](crate::Domain::set_name)).
    pub domain: Option<&'static str>,
    /// The grace period: so many had ended before it, and one
    /// ([`Statistics::grace_periods`](crate::stats::Statistics), or those of the domain in question).
    pub grace_period: u64,
    /// Reports about this grace period so far, this one included.
    pub report: u32,
    /// It has waited for at least this long.
    pub age: Duration,
    /// Who is in the way, at most 64 of them. Empty if all have left while the report was made.
    pub readers: Vec<StalledReader>,
    /// How many others are in the way.
    pub more: usize,
    /// Callbacks and objects that wait, for this grace period or a later one.
    pub queued: u64,
    /// Their bytes, as in [`Statistics::queued_bytes`](crate::stats::Statistics).
    pub queued_bytes: u64,
}

/// A reader that holds a grace period up.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StalledReader {
    /// The thread, and how many sections it has open.
    pub holdout: Holdout,
    /// What the kernel says that the thread does: `R` runs, `S` sleeps, `D` waits for a device, `T` or `t` is
    /// stopped (by a debugger, say). None if it cannot be read, as of a thread that has ended.
    pub state: Option<char>,
    /// Where in the kernel it waits, if it does and the kernel tells.
    pub wait_channel: Option<String>,
    /// It has been in its section for at least this long: since it was first seen there. (The time is that of
    /// a clock that moves every few milliseconds.)
    pub held_for: Duration,
    /// Where its section was opened. Always `None` without the feature `locations`.
    pub location: Option<&'static Location<'static>>,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(domain) = self.domain {
            write!(f, "domain {domain}: ")?;
        }
        write!(
            f,
            "grace period {} has waited for {} (report {}); {} queued behind it, {} bytes",
            self.grace_period,
            Seconds(self.age),
            self.report,
            self.queued,
            self.queued_bytes
        )?;
        if self.readers.is_empty() {
            f.write_str("; who was in the way has left meanwhile")?;
        }
        for reader in &self.readers {
            write!(f, "\n  {reader}")?;
        }
        if self.more > 0 {
            write!(f, "\n  and {} others", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for StalledReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.holdout)?;
        if let Some(state) = self.state {
            write!(f, ", state {state}")?;
        }
        if let Some(channel) = &self.wait_channel {
            write!(f, " in {channel}")?;
        }
        let held = Seconds(self.held_for);
        write!(f, ", in its section for at least {held}")?;
        if let Some(location) = self.location {
            write!(f, ", opened at {location}")?;
        }
        Ok(())
    }
}

impl StalledReader {
    fn new(holdout: Holdout, held_for: Duration) -> StalledReader {
        StalledReader {
            state: proc::state(holdout.thread_id),
            wait_channel: proc::wait_channel(holdout.thread_id),
            holdout,
            held_for,
            location: None,
        }
    }
}

/// A time, in seconds with a thousandth.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        write!(f, "{}.{:03} s", ms / 1000, ms % 1000)
    }
}

/// Reports stalls after this time from now on, also of the grace period in flight; zero: not at all.
///
/// The first report of a grace period comes when its readers have been in the way for this time, the next
/// when three times as long (and a little) has gone by since, and so on. Only somebody who waits or polls,
/// or the worker that has something to reclaim, notices: nobody looks on account of stalls alone. Not
/// inherited across `exec`, of course; the child of a fork keeps it.
///
/// ```
/// use std::time::Duration;
///
/// quiescent::report::set_stall_after(Duration::from_secs(5));
/// # quiescent::report::set_stall_after(quiescent::report::STALL_AFTER);
/// ```
pub fn set_stall_after(time: Duration) {
    set_time(prim::domain(), time);
}

/// The same for a domain.
pub(crate) fn set_time(state: &State, time: Duration) {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let asleep = state.lock().set_stall_ns(ns);
    // A driver that sleeps until another time looks again, and learns the new one.
    if asleep {
        state.rouse_driver(false);
    }
    state.tell_worker(); // it, too, looks at another time now
}

impl State {
    /// What there is to say about a stall; nothing if no reporter is set. The caller drives, and has no lock.
    pub(crate) fn stall_report(&'static self, stalled: Stalled) -> Option<StallReport> {
        if !report::is_heard() {
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

    /// The threads behind a reader that was seen with this stamp, as far as they still are in the same section.
    fn stalled_readers(&self, cpu: u32, stamp: u64, held_for: Duration) -> Vec<StalledReader> {
        let (readers, threads) = (self.readers(), &self.env().slots);
        let seat = match readers {
            ReaderSet::Threads(slots) => slots.slot(cpu).map(|slot| &slot.seat),
            ReaderSet::Spots(spots) => spots.of_cpu(cpu).map(|spot| &spot.seat),
            ReaderSet::Counted(_) => None,
        };
        let seat = seat.filter(|_| cpu >= CROWD.count_ones());
        let same = |seat: &Seat| {
            let word = seat.reader.word.load(Ordering::Acquire);
            nesting(word) != 0 && generation(word) == stamp
        };
        if seat.is_some_and(|seat| !same(seat)) {
            return Vec::new();
        }
        let location = seat.and_then(|seat| seat.reader.location());
        let named = readers.named(cpu, threads).into_iter();
        let mut named: Vec<_> = named
            .map(|holdout| StalledReader::new(holdout, held_for))
            .collect();
        if let (Some(reader), Some(seat)) = (named.first_mut(), seat) {
            reader.location = location.filter(|_| same(seat));
        }
        named
    }

    /// Delivers a report. With no lock held, and without the driver role.
    pub(crate) fn tell_stall(&'static self, stall: Option<StallReport>) {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe.told.fetch_add(1, Ordering::Relaxed);
        let Some(stall) = stall else { return };
        if !self.telling.begin() {
            return;
        }
        let report = || report::report(Report::Stalled(stall));
        if run::in_callback() {
            report(); // it polls, and is marked and watched already
        } else {
            let watch = &self.env().watch;
            run::marked(|| {
                watch.begin(self.env(), || "the reporter");
                report();
                watch.end();
                watch.rest();
            });
        }
        self.telling.end();
    }
}
