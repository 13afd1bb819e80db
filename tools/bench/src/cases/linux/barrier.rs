//! `bench barrier`: how long it takes until everything that was queued is gone.
//!
//! A few threads are registered. Between two barriers each hands over its share of some blocks, or none, and
//! sleeps again; then the main thread calls the barrier, and the clock runs for that call. A case is a verb
//! and a number of blocks, such as `1000 by retire`, or `empty`. Only for libraries that have a barrier for
//! all threads. A process has the machine to itself.

use crate::cases::plan::{Bench, Body, Cell, Given};
use crate::cases::setting;
use crate::deferral::{self, RETIRE};
use crate::measure::clock;
use crate::measure::figures::Figures;
use crate::measure::once::{Ask, Said};
use crate::measure::threads::{Helper, Steps};
use std::time::Duration;

/// The measurement.
pub static BARRIER: Bench = Bench {
    name: "barrier",
    settings: &[
        setting::compare(),
        setting::rounds("3"),
        setting::calls("200"),
        setting::objects("10000"),
        setting::threads("threads", "4"),
    ],
    body: Body::Asked(cells, patience, measure),
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
            let cell = Cell::of(given, subject.name, verb);
            cells.push(cell.with("objects", objects));
        }
    }
    cells
}

fn patience(ask: &Ask) -> Duration {
    let calls = ask.of("calls");
    Duration::from_micros(10 * ask.of("objects") * calls) + Duration::from_millis(100 * calls)
}

fn measure(ask: &Ask) -> Said {
    let (objects, threads) = (ask.of("objects"), ask.of("threads"));
    let subject = deferral::find(&ask.subject)?;
    let barrier = subject
        .barrier
        .ok_or_else(|| format!("{} has no barrier for all threads", subject.name))?;
    // Without objects any verb will do: there may be none.
    let verb = (objects > 0).then(|| subject.verb(&ask.case)).transpose()?;
    let share = objects.div_ceil(threads.max(1));
    let producer = |_| {
        let body = move |steps: &Steps| {
            (subject.attach)();
            while steps.next(()).is_some() {
                if let Some(verb) = verb {
                    (verb.many)(share);
                }
            }
            (subject.finish)();
            (subject.detach)();
        };
        Ok(Helper::start("producer", body)?.0)
    };
    let threads = (0..threads).map(producer);
    let threads: Vec<Helper> = threads.collect::<Result<_, String>>()?;
    let mut took = Vec::new();
    // The first call is not measured: some libraries start their thread in it.
    for call in 0..=ask.of("calls") {
        threads.iter().try_for_each(|it| it.go(()))?;
        threads.iter().try_for_each(Helper::wait)?;
        let us = clock::us(barrier);
        if call > 0 {
            took.push(us);
        }
    }
    threads.into_iter().try_for_each(Helper::end)?;
    (subject.settle)();
    let mut figures = Figures::of(match objects {
        0 => "empty".into(),
        objects => format!("{objects} by {}", ask.case),
    });
    let wanted = [
        ("latency_us", 50.0),
        ("latency_us_p99", 99.0),
        ("latency_us_max", 100.0),
    ];
    figures.percentiles("us", &took, &wanted);
    Ok(figures.all)
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
                let given = BARRIER.usual("true".into()).with("calls", 3);
                let ask = Cell::of(&given, subject.name, verb)
                    .with("objects", objects)
                    .ask;
                match subject.barrier {
                    Some(_) => assert_eq!(measure(&ask).unwrap().len(), 3, "{}", subject.name),
                    None => assert!(measure(&ask).unwrap_err().contains("no barrier")),
                }
            }
        }
    }
}
