//! `bench barrier`: how long it takes until everything that was queued is gone.
//!
//! A few threads are registered. Between two barriers each hands over its share of some blocks, or none, and
//! sleeps again; then the main thread calls the barrier, and the clock runs for that call. A case is a verb
//! and a number of blocks, such as `1000 by retire`, or `empty`. Only for libraries that have a barrier for
//! all threads. A process has the machine to itself.

use crate::deferral::{self, Deferring, RETIRE};
use crate::measure::once::{self, Ask, Question};
use crate::measure::threads;

use quiescent_report::rows::{Figure, samples, stats};
use quiescent_report::text::cases::{self, Column};
use quiescent_report::{Control, Error, Report};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::mpsc::channel;

use std::time::{Duration, Instant};

/// What is asked of a measuring process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BarrierAsk {
    /// Who.
    pub subject: String,
    /// How blocks are handed over.
    pub verb: String,
    /// Blocks before each barrier, of all threads together; 0 for none.
    pub objects: u64,
    /// Threads.
    pub threads: u64,
    /// Barriers.
    pub calls: u64,
}

impl BarrierAsk {
    /// The name in reports.
    pub fn case(&self) -> String {
        match self.objects {
            0 => EMPTY.into(),
            objects => format!("{objects} by {}", self.verb),
        }
    }
}

/// The case in which nothing is queued.
pub const EMPTY: &str = "empty";

impl Question for BarrierAsk {
    const KIND: &'static str = "barrier";

    fn name(&self) -> String {
        format!("{}, barrier, {}", self.subject, self.case())
    }

    fn patience(&self) -> Duration {
        Duration::from_micros(10 * self.objects * self.calls)
            + Duration::from_millis(100 * self.calls)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let barrier = subject
            .barrier
            .ok_or_else(|| format!("{} has no barrier for all threads", subject.name))?;
        let verb = subject.verb(&self.verb)?;
        let share = self.objects.div_ceil(self.threads.max(1));
        let (done, is_done) = channel();
        let mut threads = Vec::new();
        for _ in 0..self.threads {
            let (go, orders) = channel::<()>();
            let done = done.clone();
            let thread = threads::spawn("producer", move || {
                (subject.attach)();
                let _ = done.send(());
                while orders.recv().is_ok() {
                    if share > 0 {
                        (verb.many)(share);
                    }
                    let _ = done.send(());
                }
                (subject.finish)();
                (subject.detach)();
            })?;
            threads.push((go, thread));
        }
        drop(done);
        let all_ready = || -> Result<(), String> {
            let ready = threads
                .iter()
                .map(|_| is_done.recv().map_err(|_| threads::DIED));
            ready.collect::<Result<(), _>>().map_err(String::from)
        };
        all_ready()?;
        let mut took = Vec::new();
        // The first call is not measured: some libraries start their thread in it.
        for call in 0..=self.calls {
            for (go, _) in &threads {
                go.send(()).map_err(|_| threads::DIED)?;
            }
            all_ready()?;
            let begin = Instant::now();
            barrier();
            let us = begin.elapsed().as_nanos() as f64 / 1_000.0;
            if call > 0 {
                took.push(us);
            }
        }
        for (go, thread) in threads {
            drop(go);
            thread.join().map_err(|_| threads::DIED)?;
        }
        (subject.settle)();
        let case = self.case();
        let figure = |metric, percent| {
            let us = stats::percentile(&took, percent);
            us.map(|us| Figure::new(&case, metric, "us", us))
        };
        let figures = [
            ("latency_us", 50.0),
            ("latency_us_p99", 99.0),
            ("latency_us_max", 100.0),
        ];
        Ok(figures
            .into_iter()
            .filter_map(|(metric, percent)| figure(metric, percent))
            .collect())
    }
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct BarrierOptions {
    /// The program that can [`crate::measure::once::serve`]: this program itself.
    pub program: PathBuf,
    /// All subjects, not only quiescent's.
    pub compare: bool,
    /// Rounds.
    pub rounds: u64,
    /// Barriers a process.
    pub calls: u64,
    /// Blocks before each barrier.
    pub objects: u64,
    /// Threads that hand them over.
    pub threads: u64,
    /// Where the rotation of subjects starts.
    pub seed: u64,
}

impl BarrierOptions {
    /// The usual measurement, by `program`.
    pub fn new(program: PathBuf) -> Self {
        BarrierOptions {
            program,
            compare: false,
            rounds: 3,
            calls: 200,
            objects: 10_000,
            threads: 4,
            seed: 1,
        }
    }

    fn asks(&self, subject: &Deferring) -> Vec<BarrierAsk> {
        let ask = |verb: &str, objects| BarrierAsk {
            subject: subject.name.into(),
            verb: verb.into(),
            objects,
            threads: self.threads,
            calls: self.calls,
        };
        let massed = deferral::massed(&[*subject]).into_iter();
        let filled = massed.map(|(_, verb)| ask(verb.name, self.objects));
        std::iter::once(ask(RETIRE, 0)).chain(filled).collect()
    }
}

/// Measures and reports. When stopped, the report has what was measured until then.
///
/// # Errors
/// [`Error::Usage`] for counts of 0; [`Error::Failed`] when a measuring process cannot be started, dies or
/// hangs.
pub fn run(options: &BarrierOptions, control: Control<'_>) -> Result<Report, Error> {
    if [
        options.rounds,
        options.calls,
        options.objects,
        options.threads,
    ]
    .contains(&0)
    {
        let text = "counts of 0 measure nothing: give 1 or more of each, 100 calls or more";
        return Err(Error::Usage(text.into()));
    }
    let mut subjects = deferral::selected(options.compare);
    subjects.retain(|subject| subject.barrier.is_some());
    let asks_of = |subject: &Deferring| {
        let (name, asks) = (subject.name, options.asks(subject).into_iter());
        asks.map(move |ask| (name, ask))
    };
    let todo: Vec<(&'static str, BarrierAsk)> = subjects.iter().flat_map(asks_of).collect();
    let asks = todo
        .iter()
        .map(|(name, ask)| (*name, Ask::of(ask)))
        .collect();
    let rounds = (options.rounds, options.seed);
    let samples = once::sampled(&options.program, "bench barrier", asks, rounds, control)?;
    let mut report = Report::new("bench barrier", options.seed);
    report.option("compare", options.compare);
    report.option("rounds", options.rounds);
    report.option("calls", options.calls);
    report.option("objects", options.objects);
    report.option("threads", options.threads);
    report.option(
        "method",
        "a fresh process a subject, case and round, alone, order rotated; threads hand over their share and \
         sleep, then the main thread calls the barrier: the wall clock of that call",
    );
    deferral::note(&mut report, options.compare);
    let cases = todo.iter().map(|(_, ask)| ask.case());
    let names: Vec<&str> = subjects.iter().map(|it| it.name).collect();
    report.rows = samples.rows(&names, &samples::distinct(cases));
    Ok(report)
}

/// The report as text.
pub fn text(report: &Report) -> String {
    const COLUMNS: [Column; 3] = [
        Column("median", "latency_us"),
        Column("p99", "latency_us_p99"),
        Column("maximum", "latency_us_max"),
    ];
    let table = cases::of_metrics(report, |_| true, &COLUMNS);
    let threads = report
        .options
        .get("threads")
        .and_then(serde_json::Value::as_u64);
    format!(
        "Until everything queued is gone, us; blocks queued before each call, by {} threads: median \
         [min..max] of rounds\n\n{}",
        threads.unwrap_or(0),
        table.fitted()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_barrier_ends() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        let options = BarrierOptions {
            calls: 3,
            objects: 100,
            ..BarrierOptions::new("true".into())
        };
        for subject in deferral::all() {
            for ask in options.asks(&subject) {
                match subject.barrier {
                    Some(_) => assert_eq!(ask.measure().unwrap().len(), 3, "{}", subject.name),
                    None => assert!(ask.measure().unwrap_err().contains("no barrier")),
                }
            }
        }
    }
}
