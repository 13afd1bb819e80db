//! A machine that replays a recorded trace.
//!
//! Its input is what came from outside RCU: which callbacks were queued when and on which CPU, and where
//! RCU's threads ran (the scheduler's choice). It produces everything else itself: grace periods, scans,
//! wake-ups, ticks, delays.

use std::collections::BTreeMap;

use quiescent_kernel::CpuId;
use quiescent_trace::Recorded;

use super::feed::place;
use crate::input::options::Options;
use crate::input::work::{Arrivals, Churn};
use crate::kernel::machine::Machine;

/// Callbacks that are queued within this time on one CPU are one task's work, in nanoseconds.
const ONE_WORK: u64 = 60_000;

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
    place(&mut machine, recorded, None, 1);
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
