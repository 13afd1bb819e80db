//! A measuring process of `bench retire`: one subject, one case, once.

use super::RetireCase;
use crate::deferral::pace::Pace;
use crate::deferral::rest;
use crate::deferral::swap::Content;
use crate::deferral::{self, Blocks, Deferring};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::{clock, freed, process, threads};
use hdrhistogram::Histogram;
use quiescent_report::OURS;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Blocks made ahead at a time where not all are: they stay in the second-level cache.
const BATCH: u64 = 4096;
/// Most objects made ahead in `enqueue`, all of which are held at once.
const MOST_AHEAD: u64 = 4_000_000;
/// Objects retired before a rest.
const BEFORE_REST: u64 = 100_000;

pub(super) fn patience(ask: &Ask) -> Duration {
    Duration::from_micros(10 * ask.of("objects")) + ask.ms("rest_ms")
}

pub(super) fn measure(ask: &Ask) -> Said {
    let subject = deferral::find(&ask.subject)?;
    let objects = ask.of("objects").max(1);
    let case = RetireCase::ALL
        .into_iter()
        .find(|case| case.key() == ask.case);
    let case = case.filter(|case| case.is_for(&subject));
    let case = case.ok_or_else(|| format!("{} is not measured in `{}`", subject.name, ask.case))?;
    let absent = || format!("{} has no such loop", subject.name);
    let mut figures = Figures::of(case.name());
    let all = &mut figures;
    match case {
        RetireCase::Push => push(all, subject, objects)?,
        RetireCase::Latency => latency(all, subject, objects)?,
        RetireCase::Enqueue(producers) => enqueue(all, subject, objects, producers)?,
        RetireCase::AllIn(producers) => all_in(all, subject, &subject.all_in, objects, producers)?,
        RetireCase::Empty(producers) => all_in(all, subject, &|_| (), 0, producers)?,
        RetireCase::Drop => all_in(
            all,
            subject,
            &subject.owning.ok_or_else(absent)?,
            objects,
            1,
        )?,
        RetireCase::Call => all_in(all, subject, &subject.call.ok_or_else(absent)?, objects, 1)?,
        RetireCase::Swap(content) => {
            let beside = subject.beside(content).ok_or_else(absent)?;
            let swap = |n| (beside.update)(&mut Pace::count(n));
            all_in(all, subject, &swap, objects, 1)?;
        }
        RetireCase::Section(place, content, producers) => {
            let beside = subject.beside(content).ok_or_else(absent)?;
            let retire = beside.retire_in(place).ok_or_else(absent)?;
            section(all, subject, &retire, content, objects, producers)?;
        }
        RetireCase::AtRest => {
            let before = objects.min(BEFORE_REST);
            return rest::watch(subject, before, ask.ms("rest_ms"), &case.name());
        }
    }
    Ok(figures.all)
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

fn push(figures: &mut Figures, subject: Deferring, objects: u64) -> Result<(), String> {
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
    figures.add("cpu_ns", "ns/call", of_call(retiring));
    let all = of_call(ran.cpu_ns.saturating_sub(making));
    figures.add("process_cpu_ns", "ns/call", all);
    Ok(())
}

fn latency(figures: &mut Figures, subject: Deferring, objects: u64) -> Result<(), String> {
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
    let stamps_per_ns = clock::stamps_per_us() as f64 / 1e3;
    let wanted = [
        ("latency_ns_p50", 0.5),
        ("latency_ns_p99.9", 0.999),
        ("latency_ns_max", 1.0),
    ];
    figures.quantiles(("ns", stamps_per_ns), &stamps, wanted);
    Ok(())
}

fn enqueue(
    figures: &mut Figures,
    subject: Deferring,
    objects: u64,
    producers: u64,
) -> Result<(), String> {
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
    figures.add("cpu_ns", "ns/call", of_call);
    Ok(())
}

fn all_in(
    figures: &mut Figures,
    subject: Deferring,
    make_and_retire: &(dyn Fn(u64) + Sync),
    objects: u64,
    producers: u64,
) -> Result<(), String> {
    let start_rss = process::peak_rss_bytes();
    let counted = rest::counters(&subject);
    let share = objects.div_ceil(producers);
    let work = |_, ()| make_and_retire(share);
    let ran = threads::run(&subject, producers as usize, |_| (), work, || ())?;
    let objects = share * producers;
    if objects > 0 {
        figures.add("cpu_ns", "ns/object", ran.cpu_ns as f64 / objects as f64);
        figures.add("ops_per_s", "objects/s", ran.per_second(objects));
        let counted = rest::counters(&subject).zip(counted);
        let counted = counted.map(|(now, before)| now.since(before));
        let counted = counted.filter(|it| it.grace_periods > 0);
        let issued = counted.map(|it| it.fences_issued as f64 / it.grace_periods as f64);
        figures.add("fences_issued_per_gp", "fences/gp", issued);
    }
    figures.peak_since(start_rss);
    Ok(())
}

/// Objects between two looks at what is queued; batches are not a divisor of it.
const LOOK: u64 = 4093;
/// How often this library reported something.
static REPORTS: AtomicU64 = AtomicU64::new(0);

/// [`all_in`], and what was queued meanwhile: by this library's count, or by those that destructors make.
fn section(
    figures: &mut Figures,
    subject: Deferring,
    retire: &(dyn Fn(u64) + Sync),
    content: Content,
    objects: u64,
    producers: u64,
) -> Result<(), String> {
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
    all_in(figures, subject, &watched, objects, producers)?;
    if ours || content == Content::Dropped {
        figures.count("backlog", "objects", most.into_inner());
    }
    if ours {
        let names = ["over_budget", "worker_passes", "reports"];
        figures.counted(names, counted(), before);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::plan::Cell;
    use crate::cases::retire::RETIRE;

    #[test]
    fn every_subject_in_every_case() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in [deferral::all(), vec![deferral::malloc_free()]].concat() {
            for case in RetireCase::ALL {
                let given = RETIRE.usual("true".into()).with("rest_ms", 1);
                let cell = Cell::of(&given, subject.name, case.key());
                let figures = measure(&cell.with("objects", case.objects(100)).ask);
                if !case.is_for(&subject) {
                    assert!(figures.unwrap_err().contains("not measured"));
                    continue;
                }
                let figures = figures.unwrap();
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
        let given = RETIRE.usual("true".into());
        let ask = Cell::of(&given, "no such library", "push").ask;
        assert!(measure(&ask).unwrap_err().contains("no such library"));
    }
}
