//! Domains that were used, and have nothing to do: their memory, and what the library's threads do.
//!
//! Each was read in by one thread (or, every second one, by two), waited for, and had something retired in it
//! that is gone. Either one after the other, or all at the same time: then as many engines were needed at
//! once, and those are kept for later.
//!
//! Memory is what the kernel counts page by page: anonymous pages of the whole process that are resident,
//! after less before. The first look is after one domain has been used in the same way, so that what a
//! process with domains has anyway (the worker and its stack, one engine, the allocator's own) is not in it;
//! what the allocator keeps of what was freed is. Huge pages are off: one of them would be twice the target.

use crate::deferral::rest::{self, CALM};
use crate::measure::figures::Figures;
use crate::measure::process;
use crate::measure::threads::{Helper, Steps};
use quiescent::stats::DomainStatistics;
use quiescent::{Domain, RcuCell};
use quiescent_report::rows::Figure;
use std::time::Duration;

/// The name in reports.
pub fn case(domains: u64, at_once: bool) -> String {
    let how = if at_once { ", used at once" } else { "" };
    format!("{domains} at rest{how}")
}

/// Measures.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn measure(domains: u64, at_once: bool, rest: Duration) -> Result<Vec<Figure>, String> {
    no_huge_pages();
    let all = leaked(domains);
    let first: &'static Domain = Box::leak(Box::default());
    // Reads in one domain at its start, in every second one of the others at its step, and stays, asleep.
    let (second, ()) = Helper::start("second", move |steps: &Steps| {
        drop(first.read_lock());
        while steps.next(()).is_some() {
            let others = all.iter().step_by(2);
            others.for_each(|domain| drop(domain.read_lock()));
        }
    })?;
    use_all(std::slice::from_ref(first), at_once);
    let _ = process::anonymous_bytes(); // so that its own buffer is there
    std::thread::sleep(CALM);
    let before = process::anonymous_bytes();
    second.go(())?;
    second.wait()?;
    use_all(all, at_once);
    std::thread::sleep(CALM);
    let memory = process::anonymous_bytes().zip(before);
    let mut figures = Figures::of(case(domains, at_once));
    watch(&mut figures, all, rest);
    let memory = memory.map(|(after, before)| after.saturating_sub(before) as f64);
    figures.add("memory_bytes", "bytes", memory);
    let each = memory.map(|bytes| bytes / domains as f64);
    figures.add("bytes_a_domain", "bytes/domain", each);
    second.end()?;
    Ok(figures.all)
}

/// So many domains. They stay: nothing drops them before the end of this process.
pub fn leaked(domains: u64) -> &'static [Domain] {
    (0..domains)
        .map(|_| Domain::new())
        .collect::<Vec<_>>()
        .leak()
}

/// What they have counted, in all.
pub fn sum(all: &[Domain], number: fn(&DomainStatistics) -> u64) -> u64 {
    all.iter().map(|domain| number(&domain.statistics())).sum()
}

/// A figure is to be what was touched, to the page.
fn no_huge_pages() {
    // SAFETY: plain numbers; a kernel that does not know it refuses, and then there are none, or figures are
    // larger.
    unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
}

/// Reads, waits, and has something retired and gone, in each; everything in one before the next, or each step
/// in all of them.
fn use_all(domains: &'static [Domain], at_once: bool) {
    let size = if at_once { domains.len() } else { 1 };
    for some in domains.chunks(size.max(1)) {
        for domain in some {
            let cell = RcuCell::new_in([0_u64; 8], domain);
            assert_eq!(domain.read(|guard| cell.load(guard)[0]), 0);
            domain.synchronize();
            drop(cell.store([1; 8])); // retired; so is the new one, with the cell
        }
        some.iter().for_each(Domain::barrier);
    }
}

/// What happens from now on, in so long.
fn watch(figures: &mut Figures, all: &[Domain], rest: Duration) {
    let sum = |number| sum(all, number);
    let (looks, scans) = (sum(|it| it.looks), quiescent::statistics().scans);
    // The second reader is no thread of the library.
    rest::quiet(figures, rest, 1);
    figures.count("looks", "looks", sum(|it| it.looks) - looks);
    let scans = quiescent::statistics().scans.saturating_sub(scans);
    figures.count("process_scans", "scans", scans);
    figures.count("not_at_rest", "domains", sum(|it| u64::from(!it.at_rest)));
    figures.count("queued", "blocks", sum(|it| it.queued));
    figures.count("grace_periods", "grace_periods", sum(|it| it.grace_periods));
    figures.count("readers", "readers", sum(|it| u64::from(it.readers)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_used_and_come_to_rest() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for at_once in [false, true] {
            let figures = measure(9, at_once, Duration::from_millis(1)).unwrap();
            let value = |metric: &str| {
                let found = figures.iter().find(|figure| figure.metric == metric);
                found.unwrap_or_else(|| panic!("no {metric}")).value
            };
            assert_eq!((value("not_at_rest"), value("queued")), (0.0, 0.0));
            assert!(value("grace_periods") >= 9.0);
            assert_eq!(value("readers"), 9.0 + 5.0, "every second one has two");
            assert!(figures.iter().all(|it| it.case == case(9, at_once)));
        }
    }
}
