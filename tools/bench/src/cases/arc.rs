//! `bench arc`: references to one object that all threads share.
//!
//! | case | what |
//! |---|---|
//! | `pair 1t`, `2t` | each of so many threads clones a reference and drops the clone, again and again |
//! | `pair killed` | the same by one thread, after the object was killed |
//! | `kill` | from the drop of the owner, which has the only reference, to the destructor |
//!
//! CPU time is that of the process, with its loop.

use super::plan::{Bench, Body, Cell, Given, Heard};
use super::setting::{self, Setting};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::threads::{self, Member};
use quiescent_collections::RcuOwner;
use quiescent_report::OURS;
use quiescent_report::rows::Figure;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

/// The standard library's, beside ours.
const THEIRS: &str = "Arc";
const PAIR: &str = "pair";
const KILLED: &str = "pair killed";
const KILL: &str = "kill";

/// The measurement.
pub static ARC: Bench = Bench {
    name: "arc",
    settings: &[
        setting::compare(),
        setting::rounds("9"),
        Setting::counts("threads", "1,2", (1, 1024)),
        Setting::count("turns", "5000000", 1_000_000_000),
        Setting::count("kills", "200", 1_000_000),
    ],
    body: Body::Asked(cells, patience, measure),
    derived,
    ..Bench::USUAL
};

fn cells(given: &Given) -> Vec<Cell> {
    let mut cells = Vec::new();
    for subject in [OURS, THEIRS] {
        if subject == OURS || given.is("compare") {
            let threads = given.all("threads").iter();
            cells.extend(threads.map(|it| Cell::of(given, subject, PAIR).with("threads", *it)));
        }
    }
    cells.extend([KILLED, KILL].map(|case| Cell::of(given, OURS, case).with("threads", 1)));
    cells
}

/// A kill takes some milliseconds on a busy machine.
fn patience(ask: &Ask) -> Duration {
    Duration::from_micros(ask.of("turns")) + Duration::from_millis(20 * ask.of("kills"))
}

fn measure(ask: &Ask) -> Said {
    let owner = RcuOwner::new(0_u64);
    let first = owner.try_get().ok_or("it was killed by nothing")?;
    let case = format!("{PAIR} {}t", ask.of("threads"));
    match (&*ask.subject, &*ask.case) {
        (OURS, PAIR) => pairs(ask, &case, &first),
        (THEIRS, PAIR) => pairs(ask, &case, &Arc::new(0_u64)),
        (OURS, KILLED) => {
            owner.kill();
            quiescent::barrier();
            pairs(ask, KILLED, &first)
        }
        (OURS, KILL) => kills(ask.of("kills")),
        (subject, case) => Err(format!("nothing measures `{case}` of `{subject}`")),
    }
}

/// The library asks nothing of a thread.
struct Threads;

impl Member for Threads {}

/// Clones of a reference, each dropped, by all threads together.
fn pairs<R: Clone + Sync>(ask: &Ask, case: &str, reference: &R) -> Said {
    let (threads, turns) = (ask.of("threads"), ask.of("turns"));
    let each = turns.div_ceil(threads);
    let work = |_, ()| (0..each).for_each(|_| drop(black_box(reference.clone())));
    let ran = threads::run(&Threads, threads as usize, |_| (), work, || ())?;
    let mut figures = Figures::of(case);
    let ns = ran.cpu_ns as f64 / (each * threads) as f64;
    figures.add("cpu_ns", "ns/pair", ns);
    Ok(figures.all)
}

/// A value that says when it was dropped.
struct Stamp(Sender<Instant>);

impl Drop for Stamp {
    fn drop(&mut self) {
        // Nothing listens when the measurement has failed.
        let _ = self.0.send(Instant::now());
    }
}

fn kills(kills: u64) -> Said {
    let (send, receive) = channel();
    let mut times = Vec::new();
    for _ in 0..kills {
        let owner = RcuOwner::new(Stamp(send.clone()));
        let before = Instant::now();
        drop(owner);
        let dropped = receive.recv().map_err(|why| why.to_string())?;
        times.push(dropped.duration_since(before).as_nanos() as f64 / 1e3);
    }
    let mut figures = Figures::of(KILL);
    let wanted = [("latency_us", 50.0), ("latency_us_p99", 99.0)];
    figures.percentiles("us", &times, &wanted);
    Ok(figures.all)
}

/// Theirs over ours, in each case of a round.
fn derived(said: &[Heard]) -> Vec<(&'static str, Figure)> {
    let of = |subject: &'static str| {
        let figures = said.iter().filter(move |it| it.0 == subject);
        let figures = figures.flat_map(|it| &it.1);
        figures.filter(|it| it.metric == "cpu_ns")
    };
    let times = |ours: &Figure| {
        let theirs = of(THEIRS).find(|it| it.case == ours.case)?;
        let times = Figure::new(&ours.case, "times_arc", "times", theirs.value / ours.value);
        (ours.value > 0.0).then_some((OURS, times))
    };
    of(OURS).filter_map(times).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case_has_a_figure_and_ratios_are_of_the_same_round() {
        let given = ARC.usual("true".into()).with("compare", 1);
        let given = given
            .with("turns", 100)
            .with("kills", 3)
            .with_all("threads", vec![2, 3]);
        let said = cells(&given).into_iter().map(|cell| {
            let figures = measure(&cell.ask).expect("it is measured");
            assert!(figures.iter().all(|it| it.value > 0.0), "{figures:?}");
            (cell.subject, figures)
        });
        let said: Vec<Heard> = said.collect();
        let derived = derived(&said);
        let cases: Vec<_> = derived.iter().map(|it| (it.0, &*it.1.case)).collect();
        assert_eq!(cases, [(OURS, "pair 2t"), (OURS, "pair 3t")]);
        let latencies = said.iter().flat_map(|it| &it.1);
        let latencies = latencies.filter(|it| it.metric.starts_with("latency_us"));
        assert_eq!(latencies.count(), 2);
        let unknown = Cell::of(&given, "unknown", PAIR).with("threads", 1).ask;
        assert!(measure(&unknown).unwrap_err().contains("`unknown`"));
    }
}
