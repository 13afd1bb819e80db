//! A reader that stays in a section of one domain, and what another domain notices of it.
//!
//! In the one domain, a reader is inside, a thread waits for it (its driver sleeps), and a callback is
//! queued, so that the worker has that domain to look after, too. In the other one, and in the process's, the
//! calling thread waits for grace periods and has callbacks run meanwhile, beside a thread that has read
//! there and sleeps. Phases with and without the stall take turns in one process.
//!
//! What counts is counted: a driver of the other domain that sleeps for a reader (`sleeps`), or is woken by
//! one (`reader_wakeups`), and what has not ended when the phase has (`left`: callbacks, and grace periods).
//! `held_up` is how many of the stalled domain's own grace periods had not ended then, of as many phases:
//! without them there was no stall. Times are for information.

use crate::measure::clock;
use crate::measure::figures::{Figures, change};
use crate::measure::threads::{self, Helper, Steps};
use crate::peers::DOMAIN;
use quiescent::{Cookie, Domain};
use quiescent_report::OURS;
use quiescent_report::rows::{Figure, stats};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The names in reports.
pub const CASES: [&str; 2] = ["nobody stalled", "reader stalled"];
/// Phases of each.
const PHASES: u64 = 5;
/// Callbacks a phase.
const CALLBACKS: u64 = 10;
/// After so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// Grace periods in each of the two cases.
pub const CALLS: u64 = 1_000;
/// What they may take.
pub const MOST: Duration = Duration::from_millis(50 * CALLS);
/// The case of the question.
pub const ASKED: &str = "beside a stall";
/// Whose grace periods and callbacks are looked at, while a reader stays in another domain.
pub const SUBJECTS: [&str; 2] = [OURS, DOMAIN];

/// Measures: of the process's own domain, or of one of the program.
pub fn measure(subject: &str, calls: u64) -> Result<Vec<Figure>, String> {
    let slow: &'static Domain = Box::leak(Box::default());
    let quick: &'static Domain = Box::leak(Box::default());
    // A thread that has read in the domain and in the process's, and sleeps: without it no grace period would
    // need a fence.
    let (bystander, ()) = Helper::start("bystander", move |steps: &Steps| {
        drop((quick.read_lock(), quiescent::read_lock()));
        steps.next(());
    })?;
    let quick = (subject == DOMAIN).then_some(quick);
    let mut found = [Found::default(), Found::default()];
    for phase in 0..2 * PHASES {
        let found = &mut found[phase as usize % 2];
        let stall = (phase % 2 == 1).then(|| Stall::begin(slow)).transpose()?;
        found.phase(quick, calls.div_ceil(PHASES));
        if let Some(stall) = stall {
            found.held_up += u64::from(stall.end()?);
        }
    }
    bystander.end()?;
    let mut figures = Vec::new();
    for (found, case) in found.iter().zip(CASES) {
        figures.extend(found.figures(case, quick.is_some()));
    }
    if quick.is_some() {
        figures.extend(ratios(&found[0], &found[1]));
    }
    Ok(figures)
}

/// What was found in one of the two cases.
#[derive(Default)]
struct Found {
    /// Grace periods, and callbacks from the call to the run, in us.
    latencies: Vec<f64>,
    delays: Vec<f64>,
    /// Of [`counted`].
    counted: [u64; 4],
    held_up: u64,
}

/// What a domain, or the process's, counts: sleeps of drivers, wake-ups by readers, grace periods, what is
/// left.
fn counted(domain: Option<&Domain>) -> [u64; 4] {
    match domain.map(Domain::statistics) {
        Some(now) => [
            now.sleeps,
            now.reader_wakeups,
            now.grace_periods,
            now.queued + u64::from(now.busy),
        ],
        None => {
            let now = quiescent::statistics();
            [now.sleeps, now.reader_wakeups, now.grace_periods, 0]
        }
    }
}

impl Found {
    fn phase(&mut self, domain: Option<&'static Domain>, calls: u64) {
        let before = counted(domain);
        let wait = || domain.map_or_else(quiescent::synchronize, Domain::synchronize);
        self.latencies.extend((0..calls).map(|_| clock::us(wait)));
        for _ in 0..CALLBACKS {
            self.delays.extend(delayed(|code| match domain {
                Some(domain) => domain.defer_hurry(code),
                None => quiescent::defer_hurry(code),
            }));
        }
        domain.map_or_else(quiescent::barrier, Domain::barrier);
        let change = change(counted(domain), before);
        for (sum, change) in self.counted.iter_mut().zip(change) {
            *sum += change;
        }
    }

    fn figures(&self, case: &str, of_domain: bool) -> Vec<Figure> {
        let mut figures = Figures::of(case);
        let [sleeps, wakeups, grace_periods, left] = self.counted;
        figures.count("sleeps", "sleeps", sleeps);
        figures.count("reader_wakeups", "wake-ups", wakeups);
        if of_domain {
            figures.count("grace_periods", "grace_periods", grace_periods);
            figures.count("left", "blocks", left);
            if case == CASES[1] {
                figures.count("held_up", "grace_periods", self.held_up);
            }
        }
        figures.percentiles("us", &self.latencies, &[("latency_us", 50.0)]);
        figures.percentiles("us", &self.delays, &[("delay_us", 50.0)]);
        figures.all
    }
}

/// Times beside a stall over those without one.
fn ratios(without: &Found, with: &Found) -> Vec<Figure> {
    let mut figures = Figures::of(CASES[1]);
    for (metric, without, with) in [
        ("latency_us_ratio", &without.latencies, &with.latencies),
        ("delay_us_ratio", &without.delays, &with.delays),
    ] {
        let median = |values| stats::percentile(values, 50.0);
        let ratio = median(with).zip(median(without).filter(|without| *without > 0.0));
        figures.add(metric, "times", ratio.map(|(with, without)| with / without));
    }
    figures.all
}

/// From handing over a closure until it runs; `None` if it does not.
fn delayed(hand_over: impl FnOnce(Box<dyn FnOnce() + Send>)) -> Option<f64> {
    let (ran, run) = channel();
    let begin = Instant::now();
    // The one who listens may have given up.
    hand_over(Box::new(move || _ = ran.send(Instant::now())));
    let at = run.recv_timeout(PATIENCE).ok()?;
    Some(at.duration_since(begin).as_nanos() as f64 / 1_000.0)
}

/// A stall: a reader that is inside, and a thread that waits for it.
struct Stall {
    domain: &'static Domain,
    /// A grace period that cannot end.
    cookie: Cookie<Domain>,
    reader: Helper,
    waiter: JoinHandle<()>,
}

impl Stall {
    fn begin(domain: &'static Domain) -> Result<Stall, String> {
        let sleeps = domain.statistics().sleeps;
        let (reader, ()) = Helper::start("stalled", move |steps: &Steps| {
            let guard = domain.read_lock();
            steps.next(());
            drop(guard);
        })?;
        let cookie = domain.start_grace_period();
        domain.defer(|| ());
        let waiter = threads::spawn("waiter", || domain.synchronize())?;
        let begin = Instant::now();
        while domain.statistics().sleeps == sleeps {
            if begin.elapsed() > PATIENCE {
                return Err(
                    "no waiter sleeps while the reader is stalled: please report it".into(),
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Stall {
            domain,
            cookie,
            reader,
            waiter,
        })
    }

    /// Was the grace period held up until now?
    fn end(self) -> Result<bool, String> {
        let held_up = !self.cookie.is_done();
        self.reader.end()?;
        self.waiter.join().map_err(|_| threads::DIED)?;
        self.domain.barrier();
        Ok(held_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_domain_of_the_stalled_reader_is_held_up() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let figures = measure(DOMAIN, 20).unwrap();
        let value = |case: &str, metric: &str| {
            let of_both = |it: &&Figure| it.case == case && it.metric == metric;
            let found = figures.iter().find(of_both);
            found.unwrap_or_else(|| panic!("no {case}, {metric}")).value
        };
        for case in CASES {
            assert_eq!((value(case, "sleeps"), value(case, "left")), (0.0, 0.0));
            assert_eq!(value(case, "reader_wakeups"), 0.0);
            assert!(value(case, "grace_periods") >= 20.0 && value(case, "delay_us") > 0.0);
        }
        assert!(
            measure(OURS, 20)
                .unwrap()
                .iter()
                .all(|it| it.metric != "left")
        );
        assert_eq!(value(CASES[1], "held_up"), PHASES as f64);
        assert!(value(CASES[1], "latency_us_ratio") > 0.0);
    }
}
