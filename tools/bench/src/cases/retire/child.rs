//! A measuring process of `bench retire`: one subject, one case, once.

use super::RetireCase;
use crate::deferral::pace::Pace;
use crate::deferral::rest;
use crate::deferral::swap::Content;
use crate::deferral::{self, Blocks, Deferring};
use crate::measure::once::Question;
use crate::measure::{clock, freed, process, threads};
use hdrhistogram::Histogram;
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetireAsk {
    /// Who.
    pub subject: String,
    /// What.
    pub case: RetireCase,
    /// Objects, of all producers together.
    pub objects: u64,
    /// How long a process at rest is watched.
    pub rest_ms: u64,
}

/// Blocks made ahead at a time where not all are: they stay in the second-level cache.
const BATCH: u64 = 4096;
/// Most objects made ahead in `enqueue`, all of which are held at once.
const MOST_AHEAD: u64 = 4_000_000;
/// Objects retired before a rest.
const BEFORE_REST: u64 = 100_000;

impl Question for RetireAsk {
    const KIND: &'static str = "retire";

    fn patience(&self) -> Duration {
        Duration::from_micros(10 * self.objects) + Duration::from_millis(self.rest_ms)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let objects = self.objects.max(1);
        if !self.case.is_for(&subject) {
            let case = self.case.name();
            return Err(format!("{} is not measured in `{case}`", subject.name));
        }
        let absent = || format!("{} has no such loop", subject.name);
        match self.case {
            RetireCase::Push => push(subject, objects),
            RetireCase::Latency => latency(subject, objects),
            RetireCase::Enqueue(producers) => enqueue(subject, objects, producers),
            RetireCase::AllIn(producers) => {
                all_in(subject, &subject.all_in, self.case, objects, producers)
            }
            RetireCase::Empty(producers) => all_in(subject, &|_| (), self.case, 0, producers),
            RetireCase::Drop => {
                let owning = subject.owning.ok_or_else(absent)?;
                all_in(subject, &owning, self.case, objects, 1)
            }
            RetireCase::Call => {
                let call = subject.call.ok_or_else(absent)?;
                all_in(subject, &call, self.case, objects, 1)
            }
            RetireCase::Swap(content) => {
                let beside = subject.beside(content).ok_or_else(absent)?;
                let swap = |n| (beside.update)(&mut Pace::count(n));
                all_in(subject, &swap, self.case, objects, 1)
            }
            RetireCase::Section(place, content, producers) => {
                let beside = subject.beside(content).ok_or_else(absent)?;
                let retire = beside.retire_in(place).ok_or_else(absent)?;
                section(subject, &retire, (self.case, content), objects, producers)
            }
            RetireCase::AtRest => {
                let before = objects.min(BEFORE_REST);
                let (case, rest) = (self.case.name(), Duration::from_millis(self.rest_ms));
                rest::watch(subject, before, rest, &case)
            }
        }
    }
}

/// Room for one batch, and how many batches make `objects`. One batch is retired already, so that the first
/// steps of library and allocator are not measured.
fn warm(subject: Deferring, objects: u64) -> (Blocks, u64) {
    let batch = BATCH.min(objects);
    let mut blocks = Blocks::room(subject, batch as usize);
    blocks.make();
    blocks.retire();
    (blocks, objects / batch)
}

fn push(subject: Deferring, objects: u64) -> Result<Vec<Figure>, String> {
    let work = |_, (mut blocks, batches): (Blocks, u64)| {
        let (mut making, mut retiring) = (0, 0);
        for _ in 0..batches {
            let begin = clock::thread_cpu_ns();
            blocks.make();
            let made = clock::thread_cpu_ns();
            blocks.retire();
            retiring += clock::thread_cpu_ns() - made;
            making += made - begin;
        }
        (making, retiring, batches * BATCH.min(objects))
    };
    let ran = threads::run(&subject, 1, |_| warm(subject, objects), work, || ())?;
    let (making, retiring, calls) = ran.results[0];
    let of_call = |ns: u64| ns as f64 / calls as f64;
    let case = RetireCase::Push.name();
    let all = of_call(ran.cpu_ns.saturating_sub(making));
    Ok(vec![
        Figure::new(&case, "cpu_ns", "ns/call", of_call(retiring)),
        Figure::new(&case, "process_cpu_ns", "ns/call", all),
    ])
}

fn latency(subject: Deferring, objects: u64) -> Result<Vec<Figure>, String> {
    let work = |_, (mut blocks, batches): (Blocks, u64)| -> Result<_, String> {
        let mut stamps = Histogram::<u64>::new(3).map_err(|why| why.to_string())?;
        let mut took = Vec::new();
        for _ in 0..batches {
            blocks.make();
            blocks.stamped(&mut took);
            for &stamp in &took {
                stamps.record(stamp).map_err(|why| why.to_string())?;
            }
        }
        Ok(stamps)
    };
    let mut ran = threads::run(&subject, 1, |_| warm(subject, objects), work, || ())?;
    let stamps: Histogram<u64> = ran.results.remove(0)?;
    let stamps_per_us = clock::stamps_per_us() as f64;
    let case = RetireCase::Push.name();
    let figure = |metric: &str, stamps: u64| {
        let ns = stamps as f64 * 1_000.0 / stamps_per_us;
        Figure::new(&case, metric, "ns", ns)
    };
    Ok(vec![
        figure("latency_ns_p50", stamps.value_at_quantile(0.5)),
        figure("latency_ns_p99.9", stamps.value_at_quantile(0.999)),
        figure("latency_ns_max", stamps.max()),
    ])
}

fn enqueue(subject: Deferring, objects: u64, producers: u64) -> Result<Vec<Figure>, String> {
    let share = objects.min(MOST_AHEAD).div_ceil(producers);
    let ahead = |_| {
        let mut blocks = Blocks::room(subject, share as usize);
        blocks.make();
        blocks
    };
    let work = |_, mut blocks: Blocks| {
        let begin = clock::thread_cpu_ns();
        blocks.retire();
        clock::thread_cpu_ns() - begin
    };
    let ran = threads::run(&subject, producers as usize, ahead, work, || ())?;
    let ns: u64 = ran.results.iter().sum();
    let of_call = ns as f64 / (share * producers) as f64;
    let case = RetireCase::Enqueue(producers).name();
    Ok(vec![Figure::new(&case, "cpu_ns", "ns/call", of_call)])
}

fn all_in(
    subject: Deferring,
    make_and_retire: &(dyn Fn(u64) + Sync),
    case: RetireCase,
    objects: u64,
    producers: u64,
) -> Result<Vec<Figure>, String> {
    let start_rss = process::peak_rss_bytes();
    let counted = rest::counters(&subject);
    let share = objects.div_ceil(producers);
    let work = |_, ()| make_and_retire(share);
    let ran = threads::run(&subject, producers as usize, |_| (), work, || ())?;
    let peak_rss = process::peak_rss_bytes();
    let name = case.name();
    let objects = (share * producers) as f64;
    let mut figures = Vec::new();
    if objects > 0.0 {
        let per_second = objects * 1e9 / ran.wall_ns.max(1) as f64;
        let cpu_ns = ran.cpu_ns as f64 / objects;
        figures.push(Figure::new(&name, "cpu_ns", "ns/object", cpu_ns));
        figures.push(Figure::new(&name, "ops_per_s", "objects/s", per_second));
        let counted = rest::counters(&subject).zip(counted);
        let counted = counted.map(|(now, before)| now.since(before));
        figures.extend(counted.filter(|it| it.grace_periods > 0).map(|it| {
            let issued = it.fences_issued as f64 / it.grace_periods as f64;
            Figure::new(&name, "fences_issued_per_gp", "fences/gp", issued)
        }));
    }
    for (metric, bytes) in [("peak_rss_bytes", peak_rss), ("start_rss_bytes", start_rss)] {
        figures.extend(bytes.map(|bytes| Figure::new(&name, metric, "bytes", bytes as f64)));
    }
    Ok(figures)
}

/// Objects between two looks at what is queued; batches are not a divisor of it.
const LOOK: u64 = 4093;
/// How often this library reported something.
static REPORTS: AtomicU64 = AtomicU64::new(0);

/// [`all_in`], and what was queued meanwhile: by this library's count, or by those that destructors make.
fn section(
    subject: Deferring,
    retire: &(dyn Fn(u64) + Sync),
    (case, content): (RetireCase, Content),
    objects: u64,
    producers: u64,
) -> Result<Vec<Figure>, String> {
    let ours = subject.name == OURS;
    let (freed_before, made, most) = (freed::count(), AtomicU64::new(0), AtomicU64::new(0));
    let watched = |mut left: u64| {
        while left > 0 {
            let now = left.min(LOOK);
            retire(now);
            left -= now;
            let made = made.fetch_add(now, Relaxed) + now;
            let queued = match ours {
                true => quiescent::statistics().queued,
                false => made.saturating_sub(freed::count() - freed_before),
            };
            most.fetch_max(queued, Relaxed);
        }
    };
    quiescent::report::on_report(|_| _ = REPORTS.fetch_add(1, Relaxed));
    let counted = || {
        let now = quiescent::statistics();
        let reports = REPORTS.load(Relaxed);
        [now.over_budget, now.worker_passes, reports]
    };
    let before = counted();
    let mut figures = all_in(subject, &watched, case, objects, producers)?;
    let figure = |metric, unit, value: u64| Figure::new(&case.name(), metric, unit, value as f64);
    if ours || content == Content::Dropped {
        figures.push(figure("backlog", "objects", most.into_inner()));
    }
    if ours {
        let change = counted().into_iter().zip(before);
        let names = ["over_budget", "worker_passes", "reports"].into_iter();
        figures.extend(
            names
                .zip(change)
                .map(|(name, (now, before))| figure(name, name, now - before)),
        );
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_in_every_case() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in [deferral::all(), vec![deferral::malloc_free()]].concat() {
            for case in RetireCase::ALL {
                let ask = RetireAsk {
                    subject: subject.name.into(),
                    case,
                    objects: case.objects(100),
                    rest_ms: 1,
                };
                if !case.is_for(&subject) {
                    assert!(ask.measure().unwrap_err().contains("not measured"));
                    continue;
                }
                let figures = ask.measure().unwrap();
                assert!(figures.iter().all(|figure| figure.value.is_finite()));
                assert!(
                    figures
                        .iter()
                        .all(|figure| case == RetireCase::Latency || figure.case == case.name()),
                    "{}",
                    case.name()
                );
            }
        }
    }

    #[test]
    fn unknown_subjects_are_refused() {
        let ask = RetireAsk {
            subject: "no such library".into(),
            case: RetireCase::Push,
            objects: 1,
            rest_ms: 0,
        };
        assert!(ask.measure().unwrap_err().contains("no such library"));
    }
}
