//! A machine that replays a recorded trace.
//!
//! Its input is what came from outside RCU: which callbacks were queued when and on which CPU, and where
//! RCU's threads ran (the scheduler's choice). It produces everything else itself: grace periods, scans,
//! wake-ups, ticks, delays.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;
use quiescent_trace::{Error, Figures, Measure, Reader, Recorded, Recorder, Source};

use crate::input::options::Options;
use crate::input::work::{Arrivals, Churn};
use crate::kernel::machine::Machine;

/// Callbacks that are queued within this time on one CPU are one task's work, in nanoseconds.
const ONE_WORK: u64 = 60_000;

/// In the trace a thread is seen on its CPU when it is woken there; the model may wake it a little earlier.
const AHEAD: u64 = 100_000;

/// Reads a trace once: what a machine is fed with, and what the kernel did. `name` is for errors.
///
/// # Errors
/// If it cannot be read to its end, or has no window.
pub fn read(name: &str, input: impl Source) -> Result<(Recorded, Figures), Error> {
    let mut reader = Reader::new(name, input);
    let mut recorder = Recorder::new(quiescent_trace::Options::default());
    let mut measure = Measure::new(None);
    while let Some(record) = reader.next_record()? {
        recorder.feed(&record);
        measure.feed(&record);
    }
    let summary = reader.summary();
    Ok((recorder.finish(summary)?, measure.finish(summary)?))
}

/// The options that the trace itself tells, on top of `base`.
pub fn options(recorded: &Recorded, base: Options) -> Options {
    Options {
        cpus: recorded.cpus,
        hz: recorded.hz,
        jiffies: recorded.jiffies_at_zero.unwrap_or(base.jiffies),
        ..base
    }
}

/// A machine with the trace's arrivals before it. Run it to the end of the trace's window.
pub fn machine(recorded: &Recorded, options: Options) -> Machine {
    let mut machine = Machine::new(options);
    for (name, places) in &recorded.placements {
        let mut places: Vec<(u64, CpuId)> = places
            .iter()
            .map(|place| (place.time_ns.saturating_sub(AHEAD), place.cpu))
            .collect();
        places.dedup_by_key(|place| place.1);
        machine.place(name, places);
    }
    let mut work: BTreeMap<CpuId, Vec<Arrivals>> = BTreeMap::new();
    for arrival in &recorded.arrivals {
        let call = (
            machine.func(&arrival.func),
            arrival.may_be_lazy(),
            !arrival.irqs_off,
        );
        let here = work.entry(arrival.cpu).or_default();
        match here.last_mut() {
            Some(last) if arrival.time_ns - last.at < ONE_WORK => last.calls.push(call),
            _ => here.push(Arrivals {
                at: arrival.time_ns,
                calls: vec![call],
            }),
        }
    }
    for (cpu, arrivals) in work {
        machine.spawn(&format!("recorded/{cpu}"), cpu, 0, Churn::new(arrivals));
    }
    machine.window(recorded.window.start_ns, recorded.window.end_ns);
    machine
}
