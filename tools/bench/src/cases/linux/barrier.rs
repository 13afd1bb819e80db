//! `bench barrier`: how long it takes until everything that was queued is gone.
//!
//! A few threads are registered. Between two barriers each hands over its share of some blocks, or none, and
//! sleeps again; then the main thread calls the barrier, and the clock runs for that call. A case is a verb
//! and a number of blocks, such as `1000 by retire`, or `empty`. Only for libraries that have a barrier for
//! all threads. A process has the machine to itself.

use crate::cases::plan::{Bench, Body, Cell, Given, Processes, Shown};
use crate::cases::setting;
use crate::deferral::{self, RETIRE};
use crate::measure::once::Question;
use crate::measure::threads::{Helper, Steps};
use quiescent_report::rows::{Figure, stats};
use quiescent_report::text::cases::Column;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The measurement.
pub static BARRIER: Bench = Bench {
    name: "barrier",
    about: "How long it takes until everything that was queued is gone",
    settings: &[
        setting::compare("Beside liburcu's rcu_barrier"),
        setting::rounds("3", "Rounds over all subjects and cases, a process each"),
        setting::calls("200", "Barriers a process"),
        setting::objects(
            "10000",
            "Blocks queued before each barrier, where it is not for empty queues",
        ),
        setting::threads("threads", "4", "Threads that queue them"),
    ],
    method: "a fresh process a subject, case and round, alone, order rotated; threads hand over their share \
             and sleep, then the main thread calls the barrier: the wall clock of that call",
    body: Body::Processes(Processes {
        cells,
        ..Processes::USUAL
    }),
    title: "Until everything queued is gone, us; blocks queued before each call, by {threads} threads: \
            median [min..max] of rounds",
    tables: &[Shown::Metrics(
        "The call",
        |_| true,
        &[
            Column("median", "latency_us"),
            Column("p99", "latency_us_p99"),
            Column("maximum", "latency_us_max"),
        ],
    )],
    ..Bench::USUAL
};

/// Each library with a barrier for all threads: nothing queued, and blocks by each verb.
fn cells(given: &Given) -> Vec<Cell> {
    let mut cells = Vec::new();
    for subject in deferral::selected(given.is("compare")) {
        if subject.barrier.is_none() {
            continue;
        }
        let massed = subject.verbs.iter().filter(|verb| verb.massed);
        let massed = massed.map(|verb| (verb.name, given.of("objects")));
        for (verb, objects) in std::iter::once((RETIRE, 0)).chain(massed) {
            let ask = BarrierAsk {
                subject: subject.name.into(),
                verb: verb.into(),
                objects,
                threads: given.of("threads"),
                calls: given.of("calls"),
            };
            cells.push(Cell::alone(subject.name, &ask));
        }
    }
    cells
}

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
            0 => "empty".into(),
            objects => format!("{objects} by {}", self.verb),
        }
    }
}

impl Question for BarrierAsk {
    const KIND: &'static str = "barrier";

    fn patience(&self) -> Duration {
        Duration::from_micros(10 * self.objects * self.calls)
            + Duration::from_millis(100 * self.calls)
    }

    fn measure(&self) -> Result<Vec<Figure>, String> {
        let subject = deferral::find(&self.subject)?;
        let barrier = subject
            .barrier
            .ok_or_else(|| format!("{} has no barrier for all threads", subject.name))?;
        // Without objects any verb will do: there may be none.
        let verb = (self.objects > 0)
            .then(|| subject.verb(&self.verb))
            .transpose()?;
        let share = self.objects.div_ceil(self.threads.max(1));
        let producer = |_| {
            let body = move |steps: &Steps| {
                (subject.attach)();
                while steps.next(()) {
                    if let Some(verb) = verb {
                        (verb.many)(share);
                    }
                }
                (subject.finish)();
                (subject.detach)();
            };
            Ok(Helper::start("producer", body)?.0)
        };
        let threads = (0..self.threads).map(producer);
        let threads: Vec<Helper> = threads.collect::<Result<_, String>>()?;
        let mut took = Vec::new();
        // The first call is not measured: some libraries start their thread in it.
        for call in 0..=self.calls {
            threads.iter().try_for_each(Helper::go)?;
            threads.iter().try_for_each(Helper::wait)?;
            let begin = Instant::now();
            barrier();
            let us = begin.elapsed().as_nanos() as f64 / 1_000.0;
            if call > 0 {
                took.push(us);
            }
        }
        threads.into_iter().try_for_each(Helper::end)?;
        (subject.settle)();
        let case = self.case();
        let percentiles = [
            ("latency_us", 50.0),
            ("latency_us_p99", 99.0),
            ("latency_us_max", 100.0),
        ];
        let figure = |(metric, percent)| {
            let us = stats::percentile(&took, percent)?;
            Some(Figure::new(&case, metric, "us", us))
        };
        Ok(percentiles.into_iter().filter_map(figure).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_barrier_ends() {
        let _alone = crate::measure::freed::ALONE.lock().unwrap();
        for subject in deferral::all() {
            for (verb, objects) in subject
                .verbs
                .iter()
                .map(|it| (it.name, 100))
                .chain([(RETIRE, 0)])
            {
                let ask = BarrierAsk {
                    subject: subject.name.into(),
                    verb: verb.into(),
                    objects,
                    threads: 4,
                    calls: 3,
                };
                match subject.barrier {
                    Some(_) => assert_eq!(ask.measure().unwrap().len(), 3, "{}", subject.name),
                    None => assert!(ask.measure().unwrap_err().contains("no barrier")),
                }
            }
        }
    }
}
