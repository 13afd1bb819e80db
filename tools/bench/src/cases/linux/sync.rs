//! `bench sync`: what it costs to wait for a grace period.
//!
//! Cases, and the other threads of the process:
//!
//! * `sole thread`: none: a process of one thread
//! * `other asleep`: one thread (or `--threads`) that has read, and sleeps outside any section
//! * `reader looping`: one thread (or so many) that reads in a loop; only calls that found one *on a CPU*
//!   count: its heartbeat was less than 1 µs old when the call began
//!
//! Each subject and case has a process of its own in every round, because what `membarrier` costs depends on
//! the process: on how many threads it has and on what was registered when. The caller is registered with the
//! library where the library wants that; its first calls, which set things up, are not counted.
//!
//! A latency is one call, on the monotonic clock, the clock's own cost included (option `clock_ns`). Rows are
//! over the rounds: `latency_us` of the rounds' medians, `latency_us_p99` of their 99th percentiles. `fences`
//! is counted from outside ([`super::fence_count`]), in processes of their own.

use super::fence_count;
use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting::{self, Setting};
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::threads::{Helper, Steps};
use crate::measure::{clock, process};
use crate::subjects::{self, ReaderControl, Subject, Waiting};
use quiescent_report::Report;
use quiescent_report::rows::stats;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The measurement.
pub static SYNC: Bench = Bench {
    name: "sync",
    settings: &[
        setting::compare(),
        setting::rounds("60"),
        setting::threads("threads", "1"),
        setting::calls("1000"),
        // The longest a round may last: when the reader is never on a CPU, calls are missing.
        Setting::count("budget_ms", "100", 60_000).named(""),
        // The mean, the least and the most of a round, in place of the figures below.
        Setting::flag("extremes").named(""),
    ],
    body: Body::Asked(cells, patience, measure),
    describe: |_, report| report.option("clock_ns", clock::clock_pair_ns()),
    ratios: true,
    remarks,
    ..Bench::USUAL
};

/// The unit of the fence counts.
const FENCES_UNIT: &str = "fences/gp";
/// Calls of a process that counts fences.
const COUNTED: u64 = 100;
/// Calls that are not counted, in which a library sets itself up.
const FIRST: usize = 20;

/// The cases, in the order they are printed: a process of one thread; a second thread sleeps outside any
/// section; a second thread reads in a loop.
pub const CASES: [&str; 3] = ["sole thread", "other asleep", LOOPING];
/// The last of them.
pub const LOOPING: &str = "reader looping";

fn cells(given: &Given) -> Vec<Cell> {
    let mut subjects = subjects::selected(given.is("compare"));
    subjects.retain(|subject| subject.waiting.is_some());
    let cell = |case: &str, subject: &Subject, counts: bool| {
        let cell = Cell {
            once: counts,
            ..Cell::of(given, subject.name, case).with("count_fences", counts.into())
        };
        match counts {
            // Only a reader that is never on a CPU needs 5 seconds.
            true => cell.with("calls", COUNTED).with("budget_ms", 5_000),
            false => cell,
        }
    };
    let mut cells = Vec::new();
    for case in CASES {
        cells.extend(subjects.iter().map(|it| cell(case, it, false)));
        if !given.is("extremes") {
            cells.extend(subjects.iter().map(|it| cell(case, it, true)));
        }
    }
    cells
}

/// What no call could be measured of.
fn remarks(report: &Report) -> String {
    let [sole, _, looping] = CASES;
    let alone = report
        .rows
        .iter()
        .filter(|it| it.case == sole && it.metric == "latency_us");
    let missing = alone.filter(|it| report.find(&it.subject, looping, "latency_us").is_none());
    let remark = |subject: &str| {
        format!(
            "\n{subject}, {looping}: not measured; no call found what the case asks for (a reader on a CPU): \
             the machine is busy, try again or with more --rounds\n"
        )
    };
    missing.map(|it| remark(&it.subject)).collect()
}

fn patience(ask: &Ask) -> Duration {
    Duration::from_millis(ask.of("budget_ms") + 20 * ask.of("threads"))
}

fn measure(ask: &Ask) -> Said {
    let counts = ask.of("count_fences") != 0;
    // The filter is for threads that are started from now on, and for this one. Where the kernel refuses it,
    // there is no figure.
    if counts && fence_count::start().is_err() {
        return Ok(Vec::new());
    }
    let session = Session::start(ask)?;
    let (latencies, fences) = session.round(ask.of("calls"), ask.ms("budget_ms"))?;
    let mut figures = Figures::of(&*ask.case);
    if counts {
        let each = (!latencies.is_empty()).then(|| fences as f64 / latencies.len() as f64);
        figures.add("fences", FENCES_UNIT, each);
    } else if ask.of("extremes") != 0 {
        let [mean, min, max] = EXTREMES;
        figures.add(mean, "us", stats::mean(&latencies));
        figures.percentiles("us", &latencies, &[(min, 0.0), (max, 100.0)]);
    } else {
        let median = stats::summary(&latencies).map(|it| it.median);
        figures.add("latency_us", "us", median);
        figures.percentiles("us", &latencies, &[("latency_us_p99", 99.0)]);
    }
    Ok(figures.all)
}

/// The metrics of the mean, the least and the most latency.
pub const EXTREMES: [&str; 3] = ["latency_us_mean", "latency_us_min", "latency_us_max"];

/// The subject in its case, set up.
struct Session {
    subject: Subject,
    waiting: Waiting,
    looping: bool,
    others: Vec<Other>,
    stamps_per_us: u64,
}

impl Drop for Session {
    fn drop(&mut self) {
        (self.subject.detach)();
    }
}

/// A thread beside the caller: reads, then sleeps (*offline*, for libraries that want to know).
struct Other {
    /// What it shares with the caller while it reads.
    control: Arc<ReaderControl>,
    thread: Helper,
}

impl Session {
    /// Attaches this thread and makes the others, when the case has others.
    fn start(ask: &Ask) -> Result<Self, String> {
        let (subject, waiting) = subjects::that_waits(&ask.subject)?;
        let others = match CASES.iter().position(|case| *case == ask.case) {
            None => return Err(format!("no case `{}`", ask.case)),
            Some(0) => 0,
            Some(_) => ask.of("threads"),
        };
        (subject.attach)();
        let session = Session {
            subject,
            waiting,
            looping: ask.case == LOOPING,
            others: (0..others)
                .map(|_| Other::start(subject, waiting))
                .collect::<Result<_, _>>()?,
            stamps_per_us: clock::stamps_per_us(),
        };
        match process::threads().len() as u64 {
            there if there == 1 + others || cfg!(test) => Ok(session),
            there => Err(format!(
                "it has {there} threads where the case wants {}: some library started one",
                1 + others
            )),
        }
    }

    /// Latencies in us, and fences of all together; without the first calls.
    fn round(&self, calls: u64, budget: Duration) -> Result<(Vec<f64>, u64), String> {
        let readers: &[Other] = if self.looping { &self.others } else { &[] };
        for reader in readers {
            reader.control.stop.0.store(0, Relaxed);
            reader.thread.go(())?;
        }
        let deadline = Instant::now() + budget;
        let (mut latencies, mut fences) = (Vec::with_capacity(FIRST + calls as usize), 0);
        while latencies.len() < FIRST + calls as usize {
            let on_cpu = |reader: &Other| reader.on_cpu(self.stamps_per_us);
            if self.looping && !readers.iter().any(on_cpu) {
                if Instant::now() >= deadline {
                    break;
                }
                std::hint::spin_loop();
                continue;
            }
            if latencies.len() == FIRST {
                fences = fence_count::count();
            }
            let begin = Instant::now();
            (self.waiting.sync)();
            let end = Instant::now();
            latencies.push(end.duration_since(begin).as_nanos() as f64 / 1_000.0);
            if end >= deadline {
                break;
            }
        }
        for reader in readers {
            reader.control.stop.0.store(1, Relaxed);
        }
        readers.iter().try_for_each(|reader| reader.thread.wait())?;
        latencies.drain(..FIRST.min(latencies.len()));
        Ok((latencies, fence_count::count() - fences))
    }
}

impl Other {
    fn start(subject: Subject, waiting: Waiting) -> Result<Self, String> {
        let control = Arc::new(ReaderControl::default());
        let shared = control.clone();
        let (thread, ()) = Helper::start("other", move |steps: &Steps| {
            subject.register();
            (waiting.offline)();
            while steps.next(()).is_some() {
                (waiting.online)();
                (waiting.reader)(&shared);
                (waiting.offline)();
            }
            (waiting.online)();
            (subject.detach)();
        })?;
        Ok(Other { control, thread })
    }

    /// Whether the reader finished a section less than 1 µs ago.
    fn on_cpu(&self, stamps_per_us: u64) -> bool {
        let beat = self.control.heartbeat.0.load(Relaxed);
        // A beat later than our own stamp is as fresh as can be.
        clock::stamp().saturating_sub(beat) < stamps_per_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(subject: &str, case: &str, extremes: bool) -> Said {
        let given = SYNC
            .usual("true".into())
            .with("threads", 2)
            .with("calls", 3);
        let given = given
            .with("budget_ms", 5_000)
            .with("extremes", extremes.into());
        let cell = Cell::of(&given, "", case).with("count_fences", 0);
        let ask = Ask {
            subject: subject.into(),
            ..cell.ask
        };
        // In a thread of its own, so that `attach` meets a fresh one.
        std::thread::spawn(move || measure(&ask)).join().unwrap()
    }

    #[test]
    fn every_subject_waits_in_every_case() {
        for subject in subjects::all().iter().filter(|it| it.waiting.is_some()) {
            for case in CASES {
                for (extremes, count) in [(false, 2), (true, 3)] {
                    let figures = ask(subject.name, case, extremes).unwrap();
                    let all = figures.len() == count;
                    // On a busy machine no reader may have been on a CPU.
                    assert!(all || case == LOOPING && figures.is_empty());
                    assert!(figures.iter().all(|it| it.case == case));
                }
            }
        }
    }

    #[test]
    fn subjects_without_a_grace_period_are_refused() {
        let without = subjects::all()
            .into_iter()
            .filter(|it| it.waiting.is_none());
        for name in without.map(|it| it.name).chain(["no such library"]) {
            let why = ask(name, CASES[0], false).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn what_was_not_measured_is_said() {
        let report = crate::cases::fixture::report(&[("ck", "sole thread", "latency_us", 1.0)]);
        assert!(
            SYNC.text(&report)
                .contains("ck, reader looping: not measured")
        );
    }
}
