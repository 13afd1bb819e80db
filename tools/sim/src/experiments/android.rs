//! `android-static-image` and `android-batches`: wake-ups by thread on a phone that shows a still image while
//! a daemon logs, and the batches of callbacks behind them.
//!
//! Published is a table of threads: wake-ups, and the least, longest and mean time between two. Its counts
//! times its means are 360 s for every thread, so the model runs for that time, and counts are compared with
//! counts. The daemons' wake-ups are the workload's input; those of RCU's threads are the model's.
//! `rcu_batch_start` prints all callbacks that a CPU owes, not those of the batch: so one load can have
//! batches of 1 to 10 callbacks and print 6 to 32.

use std::collections::BTreeMap;

use quiescent_kernel::event::{CallbackEvent, Event};
use serde::Deserialize;

use super::claims::Bound::{AtMost, Between};
use super::claims::{Named, Shown, shown};
use super::data::published;
use super::loads::{self, notes, run};
use super::{Basis, Judged, Line, Listing, Outcome, mean, median};
use crate::kernel::machine::Machine;
use crate::record::notes::What;
use crate::record::stats::Stats;

const NAME: &str = "android-static-image";
const BATCHES: &str = "android-batches";

/// The model's own bound for offloaded callbacks, as in the replays of traces.
const ALLOWED: f64 = 0.15;

/// Kinds of threads, by how their names begin. The daemon is two threads.
const WAKERS: [(&str, &str); 4] = [
    ("the daemon", "idd"),
    ("RCU", "rcu"),
    ("system", "system"),
    ("the rest", "other/"),
];

/// A published thread: its name, its number, wake-ups, and the least, longest and mean time between two in
/// microseconds.
type PublishedThread = (String, u32, f64, f64, f64, f64);

#[derive(Deserialize)]
struct StaticImage {
    threads: Vec<PublishedThread>,
}

#[derive(Deserialize)]
struct Batches {
    rows: Vec<Batch>,
    limit: f64,
}

/// When a batch began in seconds, on which CPU, of which thread, and what was owed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Batch(f64, u32, String, f64);

/// The model's table, with the published lines beside: those that were woken most first.
fn listing(case: &str, published: &[PublishedThread], stats: &Stats) -> Listing {
    let threads = stats.wakeups.iter().zip(&stats.intervals);
    let named = threads.filter(|((name, woken), _)| *woken > 0 && !name.starts_with("other/"));
    let line = |((name, woken), it): (&(String, u64), &crate::record::stats::Intervals)| {
        let us = |ns: u64| ns as f64 / 1e3;
        let average = us(it.total) / it.count as f64;
        let theirs = published.iter().find(|thread| thread.0 == *name);
        Line {
            name: name.clone(),
            published: theirs.map(|it| vec![it.2, it.3, it.4, it.5]),
            model: vec![*woken as f64, us(it.min), us(it.max), average],
        }
    };
    let mut lines: Vec<Line> = named.map(line).collect();
    let rest = stats.wakeups_of("other/") as f64;
    lines.push(Line {
        name: "other/* (eight)".into(),
        published: None,
        model: vec![rest, f64::NAN, f64::NAN, f64::NAN],
    });
    lines.sort_by(|a, b| b.model[0].total_cmp(&a.model[0]));
    Listing {
        case: case.into(),
        about: "thread",
        columns: vec![
            ("wakeups", "wake-ups"),
            ("interval_us_min", "us"),
            ("interval_us_max", "us"),
            ("interval_us_avg", "us"),
        ],
        lines,
    }
}

/// The place of RCU among the kinds of threads, by wake-ups.
fn rank(stats: &Stats) -> f64 {
    let own = stats.wakeups_of("rcu");
    let more = WAKERS.iter().filter(|it| stats.wakeups_of(it.1) > own);
    1.0 + more.count() as f64
}

/// Callbacks for each wake-up of the threads that invoke them.
fn each(stats: &Stats) -> f64 {
    let executed: u64 = stats.funcs.iter().map(|it| it.invoked).sum();
    executed as f64 / stats.wakeups_of("rcuop/") as f64
}

/// The wake-ups of RCU's busiest thread over those of the one among the others that was woken least.
fn busiest(stats: &Stats) -> f64 {
    let of = |rcu: bool| {
        let all = stats.wakeups.iter().filter(|it| it.1 > 0);
        all.filter(move |it| it.0.starts_with("rcu") == rcu)
            .map(|it| it.1 as f64)
    };
    of(true).fold(0.0, f64::max) / of(false).fold(f64::INFINITY, f64::min)
}

fn claims(offload: &Stats, lazy: &Stats, outcome: &mut Outcome) {
    let cases = ["rcu=offload", "rcu=lazy"].map(|it| format!("{NAME} {it}"));
    let callbacks: Named = ("callbacks_per_wakeup", "callbacks");
    let per_s = |it: &Stats| it.wakeups_of("rcu") as f64 / it.seconds();
    let rate: Named = ("rcu_wakeups_per_s", "1/s");
    shown! { outcome;
        &cases[0], ("rank_of_rcu", "place of four") => rank(offload),
            Between(2.0, 2.0) => "RCU's threads together are the second largest waker, after the daemon";
        &cases[0], callbacks => each(offload),
            Between(1.0, 10.0) => "a wake-up is for 1 to 10 callbacks";
        &cases[1], ("busiest_rcu_thread_ratio", "of the least woken other") => busiest(lazy),
            AtMost(1.0) => "lazy callbacks move every thread of RCU's to the bottom";
        &cases[0], rate => per_s(offload);
        &cases[1], rate => per_s(lazy);
        &cases[1], callbacks => each(lazy);
    }
}

/// The table, offloaded and lazy.
pub fn static_image(seed: u64) -> Outcome {
    let published: StaticImage = published(NAME);
    let seed = seed.to_string();
    let [offload, lazy] =
        ["offload", "lazy"].map(|rcu| run(NAME, &[("rcu", rcu), ("seed", &seed)]));
    let mut outcome = Outcome::default();
    claims(&offload, &lazy, &mut outcome);
    for threads in ["rcu_preempt", "rcuog/", "rcuop/"] {
        let theirs = published.threads.iter();
        let theirs = theirs.filter(|it| it.0.starts_with(threads));
        let whose = match threads.ends_with('/') {
            true => format!("threads {threads}*"),
            false => format!("thread {threads}"),
        };
        let case = format!("{NAME} rcu=offload, {whose}");
        let real = theirs.map(|it| it.2).sum();
        // HZ was chosen by this thread, and by no other.
        let basis = match threads {
            "rcu_preempt" => Basis::Fitted,
            _ => Basis::Assumed,
        };
        let by = Judged::published(NAME, ALLOWED, basis);
        let model = offload.wakeups_of(threads) as f64;
        outcome.compare(by, case, ("wakeups", "wake-ups"), [real, model]);
    }
    for (rcu, stats) in [("offload", &offload), ("lazy", &lazy)] {
        let case = format!("{NAME} rcu={rcu}");
        // What was published was published without laziness.
        let beside = match rcu {
            "offload" => &published.threads[..],
            _ => &[],
        };
        outcome.listings.push(listing(&case, beside, stats));
    }
    let gps = &offload.grace_periods;
    let once = gps.iter().filter(|gp| gp.scans <= 1).count();
    let n = gps.len().max(1) as f64;
    outcome.notes.extend([
        "wake-ups of `idd` and `idd@1.0.` are the workload's input, and so are their mean intervals; that a \
         wake-up is for 1 to 10 callbacks rests on the files assumed".into(),
        format!(
            "a grace period takes {:.1} ms on average: four ticks of waiting, or twice that, in {:.0} % of \
             them. The next one is asked for before it ends, since rcuog looks after it has begun; so each \
             CPU's callbacks wait for every second one, and rcu_preempt is woken {:.2} times a grace period",
            1e3 * offload.seconds() / n,
            100.0 * (1.0 - once as f64 / n),
            offload.wakeups_of("rcu_preempt") as f64 / n
        ),
        "which kernel was published is not known, nor its HZ. At HZ=250 a wait takes 8 ms, and all of RCU's \
         threads are woken half to three quarters as often as published"
            .into(),
    ]);
    notes(NAME, &mut outcome);
    outcome
}

/// The batches that threads began while the machine was traced, in the order of time, and their limits.
fn batches(machine: &Machine) -> Vec<(Batch, f64)> {
    let lines = machine.rcu.observed.notes.lines();
    let start = |(place, what): &(crate::record::notes::NotePlace, What)| match *what {
        What::Rcu(Event::Callbacks(CallbackEvent::BatchStart { n_cbs, limit, .. })) => {
            let name = &machine.tasks[place.task?].name;
            let at = place.at as f64 / 1e9;
            name.starts_with("rcuop/").then(|| {
                (
                    Batch(at, place.cpu, name.clone(), n_cbs as f64),
                    limit as f64,
                )
            })
        }
        _ => None,
    };
    lines.iter().filter_map(start).collect()
}

/// Times from a thread's batch to its next, in milliseconds.
fn spacings(all: &[Batch]) -> Vec<f64> {
    let mut last: BTreeMap<&str, f64> = BTreeMap::new();
    let mut found = Vec::new();
    for Batch(at, _, thread, _) in all {
        let before = last.insert(thread, *at);
        found.extend(before.map(|before| 1e3 * (at - before)));
    }
    found
}

/// The share of batches that their CPU itself invokes, in per cent.
fn on_own_cpu_pct(all: &[Batch]) -> f64 {
    let own = |it: &&Batch| it.2 == format!("rcuop/{}", it.1);
    100.0 * all.iter().filter(own).count() as f64 / all.len() as f64
}

/// The load of `android-static-image`, two seconds of it traced.
fn traced(seed: u64) -> Vec<(Batch, f64)> {
    let seed = seed.to_string();
    let mut plan = loads::plan(NAME, &[("seed", &seed)]);
    (plan.warm_up, plan.length) = (0, 2_000_000_000);
    let mut machine = plan.machine();
    machine.keep_trace();
    assert!(
        plan.run_on(&mut machine, || false),
        "no caller stops the plan"
    );
    // Not the first tenth of a second, in which lists fill.
    let mut all = batches(&machine);
    all.retain(|it| it.0.0 >= 0.1);
    all
}

/// How far apart a thread's batches are, and what its CPU owes then.
pub fn android_batches(seed: u64) -> Outcome {
    let published: Batches = published(BATCHES);
    let (model, limits): (Vec<Batch>, Vec<f64>) = traced(seed).into_iter().unzip();
    let owed = |all: &[Batch]| mean(all.iter().map(|it| it.3));
    let mut outcome = Outcome::default();
    let by = Judged::published(BATCHES, ALLOWED, Basis::Assumed);
    let mut compare =
        |case: &str, named, both| outcome.compare(by, format!("{BATCHES} {case}"), named, both);
    let apart = [&published.rows, &model].map(|it| median(spacings(it)));
    compare("a thread's", ("apart_ms_median", "ms"), apart);
    let owes = [&published.rows, &model].map(|it| owed(it));
    compare("at a start", ("owed_callbacks", "callbacks"), owes);
    let own = [&published.rows, &model].map(|it| on_own_cpu_pct(it));
    compare("a thread's", ("on_own_cpu_pct", "%"), own);
    let limit = [published.limit, median(limits)];
    compare("at a start", ("batch_limit", "callbacks"), limit);
    let ends = published.rows.iter().map(|it| it.3);
    let ends = ends.fold((f64::MAX, 0.0), |(least, most), it| {
        (f64::min(least, it), f64::max(most, it))
    });
    let inside = model.iter().filter(|it| (ends.0..=ends.1).contains(&it.3));
    let share = 100.0 * inside.count() as f64 / model.len() as f64;
    shown! { outcome; &format!("{BATCHES} at a start"), ("in_published_range_pct", "%") => share; }
    let row = |it: &Batch| format!("{:.6} [{:03}] {} {}", it.0, it.1, it.2, it.3);
    // As many rows as were published, from the middle.
    let rows = model.iter().skip(model.len() / 2).map(row);
    let rows: Vec<String> = rows.take(published.rows.len()).collect();
    outcome.notes.push(format!(
        "time, CPU, thread, callbacks owed, as published: {}",
        rows.join("; ")
    ));
    outcome.notes.push(
        "8 ms are two waits of 3 + 1 ticks at HZ=1000: a callback that comes while a grace period is \
         in flight waits for the end of the next".into(),
    );
    notes(NAME, &mut outcome);
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_threads_holds() {
        let outcome = static_image(1);
        let claims = outcome.shown.iter().filter_map(Shown::holds);
        assert_eq!(claims.collect::<Vec<_>>(), [true; 3], "{:?}", outcome.shown);
        let [offload, lazy] = &outcome.listings[..] else {
            panic!("two tables");
        };
        // Every published thread is one of the model's, and the daemons' wake-ups are what was put in.
        let theirs = offload.lines.iter().filter_map(|it| it.published.as_ref());
        assert_eq!(theirs.count(), 8);
        for name in ["idd", "idd@1.0."] {
            let it = offload.line(name);
            let ratio = it.model[0] / it.published.as_ref().unwrap()[0];
            assert!((0.98..1.02).contains(&ratio), "{it:?}");
        }
        assert_eq!(offload.lines[0].name, "idd");
        let last = lazy.lines.last().unwrap();
        assert!(last.name.starts_with("rcu"), "{last:?}");
    }

    #[test]
    fn batches_are_two_waits_apart() {
        for seed in [1, 9] {
            let outcome = android_batches(seed);
            for it in &outcome.comparisons {
                // Missed, with its reason in the data.
                let known = ["on_own_cpu_pct", "owed_callbacks"].contains(&it.metric);
                assert_eq!(it.holds(), Some(!known), "{it:?}");
            }
        }
    }

    #[test]
    fn the_published_trace_has_thirteen_batches_of_four_cpus() {
        let published: Batches = published(BATCHES);
        assert_eq!(published.rows.len(), 13);
        assert!(published.rows.is_sorted_by(|a, b| a.0 < b.0));
        assert!(published.rows.iter().all(|it| it.1 < 4));
        let own = on_own_cpu_pct(&published.rows);
        assert!((own - 100.0 * 10.0 / 13.0).abs() < 1e-9, "{own}");
    }

    #[test]
    fn spacings_are_each_threads_own() {
        let batch = |at, name: &str| Batch(at, 0, name.into(), 1.0);
        let all = [
            batch(1.0, "a"),
            batch(1.001, "b"),
            batch(1.008, "a"),
            batch(1.016, "a"),
        ];
        let found = spacings(&all);
        assert_eq!(
            found.iter().map(|it| it.round()).collect::<Vec<_>>(),
            [8.0, 8.0]
        );
    }
}
