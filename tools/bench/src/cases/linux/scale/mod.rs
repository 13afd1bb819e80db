//! `bench scale`: what threads cost that are registered, and do nothing.
//!
//! A process a number of threads, subject and round. The caller is one of them; the others have read once and
//! sleep outside any section. In this order:
//!
//! * `register_cpu_ns`: thread CPU of a thread's first section (registration where the library wants it,
//!   included); mean. All threads at once: pages and tables that only some of them make are shared out
//! * `reader_bytes`: anonymous memory that the process has more, a thread, after all have registered and a
//!   grace period has ended (`/proc/self/smaps_rollup`, pages, before and after: with few threads it is all
//!   rounding). What a library keeps in thread-local storage was there before, and is not in it
//! * `latency_us`, `latency_us_p99`, `cpu_ns`: a grace period that the caller waits for: the clock on the
//!   wall; CPU of the whole process
//! * `scans`, `leaves`, `steps`, `fences`: our own counters, a grace period: scans over readers, groups of 64
//!   threads looked at in them, steps of the engine, process-wide fences
//! * `retirer_bytes`: memory that a thread adds which retires its first object, beyond that of a reader
//! * `exit_cpu_ns`: thread CPU from the library's `detach` to the end of the exit hooks, that of a thread
//!   without the library subtracted; mean. `exit_retired_cpu_ns`: of threads that have something queued
//!
//! Where the system refuses threads, the case says how many there were and why.

mod threads;

use self::threads::{Cost, Sleepers, Step, bare_exit_ns, of};
use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::{clock, process};
use crate::subjects::{self, Subject, Waiting};
use quiescent_report::rows::stats;
use quiescent_report::{OURS, Report};
use std::time::Duration;

/// The measurement.
pub static SCALE: Bench = Bench {
    name: "scale",
    settings: &[
        setting::compare(),
        // At most the slots of a domain, minus a few.
        Setting::counts("threads", "1,10,100,1000,5000", (1, 65_000)),
        setting::rounds("5"),
        setting::calls("200"),
    ],
    body: Body::Asked(cells, patience, measure),
    describe: |_, report| report.option("clock_ns", clock::clock_pair_ns()),
    remarks,
    ..Bench::USUAL
};

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = subjects::selected(given.is("compare"));
    subjects.retain(|subject| subject.waiting.is_some());
    let of_number = |threads: &u64| {
        let cell =
            |it: &Subject| Cell::of(given, it.name, case_name(*threads)).with("threads", *threads);
        subjects.iter().map(cell).collect::<Vec<_>>()
    };
    given.all("threads").iter().flat_map(of_number).collect()
}

/// Where the system refused threads.
fn remarks(report: &Report) -> String {
    let mut short: Vec<&str> = report.rows.iter().map(|row| row.case.as_str()).collect();
    short.retain(|case| case.contains("(reached "));
    short.dedup();
    let remark = |case: &str| {
        format!(
            "\n{case}: the system refused the others; raise the limit (ulimit -u, pids.max of the cgroup, \
             /proc/sys/kernel/threads-max, vm.max_map_count) or give fewer --threads\n"
        )
    };
    short.into_iter().map(remark).collect()
}

/// The name of the case with so many registered threads.
fn case_name(threads: u64) -> String {
    match threads {
        1 => "1 thread".into(),
        more => format!("{more} threads"),
    }
}

/// Bare threads whose end is measured for what is subtracted.
const BARE: usize = 32;

fn patience(ask: &Ask) -> Duration {
    Duration::from_millis(20 * ask.of("threads") + 50 * ask.of("calls"))
}

fn measure(ask: &Ask) -> Said {
    let (subject, waiting) = subjects::that_waits(&ask.subject)?;
    let ours = subject.name == OURS;
    let bare = bare_exit_ns(BARE);
    (subject.attach)();
    let others = ask.of("threads").saturating_sub(1) as usize;
    let mut sleepers = Sleepers::start(others, Some(subject), ours.then_some(retire));
    // What a first grace period sets up for one thread is not the others'.
    (waiting.sync)();
    let before = process::anonymous_bytes();
    sleepers.step(Step::Register);
    (waiting.sync)();
    let registered = process::anonymous_bytes();
    let reached = sleepers.reached();
    let mut figures = Figures::of(match &sleepers.refused {
        None => ask.case.clone(),
        Some(why) => format!("{} (reached {}: {why})", ask.case, 1 + reached),
    });
    figures.count("threads", "threads", 1 + reached as u64);
    grace_periods(&mut figures, waiting, ask.of("calls"));
    sleepers.step(Step::Retire);
    let retired = process::anonymous_bytes();
    sleepers.step(Step::End);
    // What so many threads added.
    let mut memory = |metric, after: Option<u64>, before, threads: usize| {
        let added = after.zip(before).filter(|_| threads > 0);
        let each =
            added.map(|(after, before)| after.saturating_sub(before) as f64 / threads as f64);
        figures.add(metric, "bytes/thread", each);
    };
    memory("reader_bytes", registered, before, reached);
    memory(
        "retirer_bytes",
        retired,
        registered,
        if ours { reached / 2 } else { 0 },
    );
    costs(&mut figures, sleepers.costs(), bare, ours);
    (subject.detach)();
    Ok(figures.all)
}

/// Something small, retired.
fn retire() {
    quiescent::RcuCell::new(0u64).store(1).retire();
}

/// Waits for so many, with all others asleep outside any section.
fn grace_periods(figures: &mut Figures, waiting: Waiting, calls: u64) {
    let counted = || waiting.counters.map(|counters| counters());
    let (before, cpu) = (counted(), clock::process_cpu_ns());
    let latencies: Vec<f64> = (0..calls).map(|_| clock::us(waiting.sync)).collect();
    let each = |total: u64| total as f64 / calls as f64;
    let cpu = each(clock::process_cpu_ns() - cpu);
    let after = counted();
    let wanted = [("latency_us", 50.0), ("latency_us_p99", 99.0)];
    figures.percentiles("us", &latencies, &wanted);
    figures.add("cpu_ns", "ns/gp", cpu);
    if let Some((after, before)) = after.zip(before) {
        let change = after.since(before);
        figures.add("scans", "scans/gp", each(change.scans));
        figures.add("leaves", "leaves/gp", each(change.leaves));
        figures.add("steps", "steps/gp", each(change.steps));
        figures.add("fences", "fences/gp", each(change.fences));
    }
}

/// What it cost a thread to register and to end; every second one has retired something.
fn costs(figures: &mut Figures, costs: &[Cost], bare_exit_ns: f64, ours: bool) {
    let mut mean =
        |metric, values: Vec<f64>| figures.add(metric, "ns/thread", stats::mean(&values));
    let registering = costs.iter().map(|cost| of(&cost.register_ns));
    mean("register_cpu_ns", registering.collect());
    let exit = |first| {
        let some = costs.iter().skip(first).step_by(2);
        some.map(|cost| (of(&cost.exit_ns) - bare_exit_ns).max(0.0))
            .collect()
    };
    mean("exit_cpu_ns", exit(0));
    if ours {
        mean("exit_retired_cpu_ns", exit(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quiescent_report::Row;

    fn ask(subject: &str, threads: u64) -> Said {
        let given = SCALE.usual("true".into()).with("calls", 3);
        let cell = Cell::of(&given, "", case_name(threads)).with("threads", threads);
        measure(&Ask {
            subject: subject.into(),
            ..cell.ask
        })
    }

    #[test]
    fn every_subject_that_waits_is_measured() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in subjects::all() {
            if subject.waiting.is_none() {
                assert!(ask(subject.name, 2).unwrap_err().contains("grace period"));
                continue;
            }
            for threads in [1, 5] {
                let figures = ask(subject.name, threads).unwrap();
                let value = |metric: &str| figures.iter().find(|f| f.metric == metric);
                let number = value("threads").map(|figure| figure.value);
                assert_eq!(number, Some(threads as f64), "{}", subject.name);
                assert!(value("latency_us").is_some() && value("cpu_ns").is_some());
                let beside = threads > 1;
                assert_eq!(value("register_cpu_ns").is_some(), beside);
                assert_eq!(value("exit_cpu_ns").is_some(), beside);
                let ours = subject.name == OURS;
                assert_eq!(value("leaves").is_some(), ours);
                assert_eq!(value("retirer_bytes").is_some(), ours && beside);
            }
        }
    }

    #[test]
    fn unknown_subjects_are_refused() {
        assert!(ask("nobody", 2).unwrap_err().contains("absent_peers"));
    }

    #[test]
    fn refused_threads_are_said() {
        let mut report = Report::new("bench scale", 1);
        for case in ["10 threads", "5000 threads (reached 17: no room)"] {
            let row = Row::single("quiescent", case, "latency_us", "us", 7.5);
            report.rows.extend(row);
        }
        let text = SCALE.figures(&report);
        assert!(
            text.contains("reached 17: no room): the system refused"),
            "{text}"
        );
        assert!(!text.contains("CPU ns"), "no table without rows: {text}");
        assert_eq!(
            (case_name(1), case_name(2)),
            ("1 thread".into(), "2 threads".into())
        );
    }
}
