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

use super::child::PROCESS;
use crate::measure::threads;
use quiescent::{Cookie, Domain};
use quiescent_report::rows::Figure;
use quiescent_report::rows::stats;
use std::sync::mpsc::{Sender, channel};
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

/// Measures.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn measure(calls: u64) -> Result<Vec<Figure>, String> {
    let slow: &'static Domain = Box::leak(Box::default());
    let quick: &'static Domain = Box::leak(Box::default());
    let bystander = Bystander::start(quick)?;
    let mut found = [Found::default(), Found::default()];
    for phase in 0..2 * PHASES {
        let found = &mut found[phase as usize % 2];
        let stall = (phase % 2 == 1).then(|| Stall::begin(slow)).transpose()?;
        found.phase(quick, calls.div_ceil(PHASES));
        if let Some(stall) = stall {
            found.held_up += u64::from(stall.end()?);
        }
    }
    bystander.end();
    let mut figures = Vec::new();
    for (found, case) in found.iter().zip(CASES) {
        figures.extend(found.figures(case));
    }
    figures.extend(ratios(&found[0], &found[1]));
    Ok(figures)
}

/// What was found in one of the two cases.
#[derive(Default)]
struct Found {
    /// Of the domain, and of the process's: grace periods, and callbacks from the call to the run, in us.
    latencies: [Vec<f64>; 2],
    delays: [Vec<f64>; 2],
    sleeps: [u64; 2],
    wakeups: [u64; 2],
    grace_periods: u64,
    left: u64,
    held_up: u64,
}

impl Found {
    fn phase(&mut self, domain: &'static Domain, calls: u64) {
        let before = (domain.statistics(), quiescent::statistics());
        let [own, process] = &mut self.latencies;
        for _ in 0..calls {
            own.push(timed(|| domain.synchronize()));
            process.push(timed(quiescent::synchronize));
        }
        let [own, process] = &mut self.delays;
        for _ in 0..CALLBACKS {
            own.extend(delayed(|code| domain.defer_hurry(code)));
            process.extend(delayed(quiescent::defer_hurry));
        }
        domain.barrier();
        let after = (domain.statistics(), quiescent::statistics());
        self.sleeps[0] += after.0.sleeps - before.0.sleeps;
        self.sleeps[1] += after.1.sleeps - before.1.sleeps;
        self.wakeups[0] += after.0.reader_wakeups - before.0.reader_wakeups;
        self.wakeups[1] += after.1.reader_wakeups - before.1.reader_wakeups;
        self.grace_periods += after.0.grace_periods - before.0.grace_periods;
        self.left += after.0.queued + u64::from(after.0.busy);
    }

    fn figures(&self, case: &str) -> Vec<Figure> {
        let figure = |metric, unit, value: u64| Figure::new(case, metric, unit, value as f64);
        let mut figures = vec![
            figure("grace_periods", "grace_periods", self.grace_periods),
            figure("left", "blocks", self.left),
        ];
        if case == CASES[1] {
            figures.push(figure("held_up", "grace_periods", self.held_up));
        }
        for (whose, prefix) in ["", PROCESS].into_iter().enumerate() {
            let mut add = |metric: &str, unit, value: f64| {
                figures.push(Figure::new(case, &format!("{prefix}{metric}"), unit, value));
            };
            add("sleeps", "sleeps", self.sleeps[whose] as f64);
            add("reader_wakeups", "wake-ups", self.wakeups[whose] as f64);
            for (metric, values) in [
                ("latency_us", &self.latencies[whose]),
                ("delay_us", &self.delays[whose]),
            ] {
                if let Some(median) = stats::percentile(values, 50.0) {
                    add(metric, "us", median);
                }
            }
        }
        figures
    }
}

/// Times beside a stall over those without one.
fn ratios(without: &Found, with: &Found) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (metric, without, with) in [
        (
            "latency_us_ratio",
            &without.latencies[0],
            &with.latencies[0],
        ),
        ("delay_us_ratio", &without.delays[0], &with.delays[0]),
    ] {
        let medians = [without, with].map(|values| stats::percentile(values, 50.0));
        if let [Some(without), Some(with)] = medians
            && without > 0.0
        {
            figures.push(Figure::new(CASES[1], metric, "times", with / without));
        }
    }
    figures
}

fn timed(wait: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    wait();
    begin.elapsed().as_nanos() as f64 / 1_000.0
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

/// A thread that has read in the domain and in the process's, and sleeps: without it no grace period would
/// need a fence.
struct Bystander {
    over: Sender<()>,
    thread: JoinHandle<()>,
}

impl Bystander {
    fn start(domain: &'static Domain) -> Result<Bystander, String> {
        let (over, is_over) = channel();
        let (say, has_read) = channel();
        let thread = threads::spawn("bystander", move || {
            drop((domain.read_lock(), quiescent::read_lock()));
            // Errors mean that the main thread has given up.
            let _ = say.send(());
            let _ = is_over.recv();
        })?;
        has_read.recv().map_err(|_| threads::DIED)?;
        Ok(Bystander { over, thread })
    }

    fn end(self) {
        drop(self.over);
        // It has nothing left to do that could fail.
        let _ = self.thread.join();
    }
}

/// A stall: a reader that is inside, and a thread that waits for it.
struct Stall {
    domain: &'static Domain,
    /// A grace period that cannot end.
    cookie: Cookie<Domain>,
    over: Sender<()>,
    reader: JoinHandle<()>,
    waiter: JoinHandle<()>,
}

impl Stall {
    fn begin(domain: &'static Domain) -> Result<Stall, String> {
        let (over, is_over) = channel();
        let (say, inside) = channel();
        let sleeps = domain.statistics().sleeps;
        let reader = threads::spawn("stalled", move || {
            let guard = domain.read_lock();
            // Errors mean that the main thread has given up.
            let _ = say.send(());
            let _ = is_over.recv();
            drop(guard);
        })?;
        inside.recv().map_err(|_| threads::DIED)?;
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
            over,
            reader,
            waiter,
        })
    }

    /// Was the grace period held up until now?
    fn end(self) -> Result<bool, String> {
        let held_up = !self.cookie.is_done();
        drop(self.over);
        self.reader.join().map_err(|_| threads::DIED)?;
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
        let figures = measure(20).unwrap();
        let value = |case: &str, metric: &str| {
            let of_both = |it: &&Figure| it.case == case && it.metric == metric;
            let found = figures.iter().find(of_both);
            found.unwrap_or_else(|| panic!("no {case}, {metric}")).value
        };
        for case in CASES {
            assert_eq!((value(case, "sleeps"), value(case, "left")), (0.0, 0.0));
            assert_eq!(value(case, "reader_wakeups"), 0.0);
            assert!(value(case, "grace_periods") >= 20.0);
            assert!(value(case, "process:latency_us") > 0.0 && value(case, "delay_us") > 0.0);
        }
        assert_eq!(value(CASES[1], "held_up"), PHASES as f64);
        assert!(value(CASES[1], "latency_us_ratio") > 0.0);
    }
}
