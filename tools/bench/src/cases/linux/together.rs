//! Something is due in several domains at the same time: how many fences that takes.
//!
//! In each domain another thread has read, so that its grace periods need a fence, and something is queued
//! lazily with a flush time of one second. Such times are rounded up to whole seconds of the clock, so all
//! are due at the same instant, and the worker looks. `fences` is what the kernel was asked for in the
//! process meanwhile, by a filter on the system call ([`super::fence_count`]; left out where the
//! kernel refuses filters). `fences_used` is what the domains say they needed, in all: one fence may serve
//! several.
//!
//! A counted fence is none. Here nothing needs it: the other thread sleeps, outside any section.

use super::{fence_count, resting};
use crate::measure::figures::{Figures, change};
use crate::measure::threads::{Helper, Steps};
use quiescent::Domain;
use quiescent::tuning::FlushTimes;
use quiescent_report::rows::Figure;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// When what is queued is due.
const FLUSH: Duration = Duration::from_secs(1);
/// After so long something is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// The name in reports.
pub fn case(domains: u64) -> String {
    format!("due together, {domains}")
}

/// Measures. Once a process.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn measure(domains: u64) -> Result<Vec<Figure>, String> {
    // The filter is for threads that are started from now on, and for this one.
    let counting = fence_count::start().is_ok();
    count(domains, counting)
}

fn count(domains: u64, counting: bool) -> Result<Vec<Figure>, String> {
    let all = resting::leaked(domains);
    let (other, ()) = Helper::start("other", move |steps: &Steps| {
        all.iter().for_each(|domain| drop(domain.read_lock()));
        steps.next(());
    })?;
    for domain in all {
        domain.set_flush_times(FlushTimes {
            lazy: FLUSH,
            ..domain.flush_times()
        });
    }
    let sum = |number| resting::sum(all, number);
    let counted = fence_count::count();
    let now = || {
        [
            sum(|it| it.fences),
            sum(|it| it.looks),
            sum(|it| it.grace_periods),
        ]
    };
    let before = now();
    wait_for_all(all)?;
    let [fences, looks, grace_periods] = change(now(), before);
    let mut figures = Figures::of(case(domains));
    figures.count("fences_used", "fences", fences);
    figures.count("looks", "looks", looks);
    figures.count("grace_periods", "grace_periods", grace_periods);
    if counting {
        figures.count("fences", "fences", fence_count::count() - counted);
    }
    other.end()?;
    Ok(figures.all)
}

/// Queues something in each, and waits until it has run.
fn wait_for_all(all: &'static [Domain]) -> Result<(), String> {
    let ran = Arc::new(AtomicU64::new(0));
    for domain in all {
        let ran = ran.clone();
        domain.defer_lazy(move || _ = ran.fetch_add(1, SeqCst));
    }
    let begin = Instant::now();
    while ran.load(SeqCst) < all.len() as u64 {
        if begin.elapsed() > PATIENCE {
            let (ran, all) = (ran.load(SeqCst), all.len());
            return Err(format!(
                "{ran} of {all} callbacks have run in {PATIENCE:?}: please report it"
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_domain_has_a_grace_period() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let figures = count(5, false).unwrap();
        let value = |metric: &str| figures.iter().find(|it| it.metric == metric).unwrap().value;
        assert!(value("grace_periods") >= 5.0 && value("looks") >= 5.0);
        assert!(figures.iter().all(|it| it.case == case(5)));
        assert_eq!(figures.len(), 3, "what is not counted is no figure");
    }
}
