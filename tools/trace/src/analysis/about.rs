//! What is known about a trace before any analysis: how much of it there is, and what is missing or doubtful.
//!
//! Each doubt is a sentence with its consequence. Nothing is repaired: lost events stay lost, clocks that
//! disagree are not aligned, and a trace without an event has no figures that need it.

use crate::event;
use crate::measure::window::Bounds;
use crate::{Buffer, CpuSet, Event, Faults, Record, Summary, Window};
use serde::Serialize;

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct About {
    /// Records.
    pub records: u64,
    /// CPUs of the machine: as the header says, or as many as wrote an event.
    pub cpus: u32,
    /// What was counted.
    pub window: Window,
    /// The source of that number.
    pub window_by: Bounds,
    /// Events that the kernel dropped.
    pub lost: u64,
    /// Places where the kernel dropped events and the trace does not say how many.
    #[serde(skip_serializing_if = "is_none")]
    pub lost_untold: u64,
    /// Buffers of a trace.dat, whose events are merged by time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub buffers: Vec<Buffer>,
    /// Records whose time has no unit.
    pub unitless: u64,
    /// Lines that could not be read.
    pub unparsed: Faults,
    /// Known events with a field that could not be read.
    pub undecoded: Faults,
    /// What is missing or doubtful, and what follows from it, in sentences.
    pub doubts: Vec<String>,
}

fn is_none(n: &u64) -> bool {
    *n == 0
}

/// Which events a trace has at all, inside its window or outside.
#[derive(Debug, Default)]
pub(crate) struct Present {
    idle: CpuSet,
    writers: CpuSet,
    /// The CPU of the last record: of seven records six are by the same CPU.
    writer: Option<u32>,
    switch: bool,
    wakeup: bool,
    callback: bool,
    invoke: bool,
    grace_period: bool,
    /// Events of RCU's are those of probes.
    probed: bool,
    flags: bool,
}

impl Present {
    #[inline]
    pub(crate) fn note(&mut self, record: &Record<'_>, event: &Event<'_>) {
        if self.writer.replace(record.cpu) != Some(record.cpu) {
            self.writers.insert(record.cpu);
        }
        self.flags |= !record.flags.0.is_empty();
        match *event {
            Event::IdleEntry { cpu, .. } | Event::IdleExit { cpu } => self.idle.insert(cpu),
            Event::Switch { .. } => self.switch = true,
            Event::Wakeup { .. } => self.wakeup = true,
            Event::GracePeriod { .. } => {
                self.grace_period = true;
                self.probed |= is_probed(record);
            }
            Event::Callback { .. } | Event::Kvfree { .. } => {
                self.callback = true;
                self.probed |= is_probed(record);
            }
            Event::Invoke { .. } | Event::InvokeKvfree { .. } | Event::InvokeBulk { .. } => {
                self.invoke = true;
            }
            _ => {}
        }
    }

    fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let missing = [
            (self.wakeup, "sched_wakeup", "no wake-up is known"),
            (
                self.grace_period,
                "rcu_grace_period",
                match self.probed {
                    true => "no grace period is known",
                    false => {
                        "no grace period is known (`quiescent record` records it, by probes on a kernel \
                         without CONFIG_RCU_TRACE)"
                    }
                },
            ),
            (
                self.callback,
                "rcu_callback",
                "who queued which callback, and its delay, is not known",
            ),
            (
                self.invoke,
                "rcu_invoke_callback",
                "no invocation of a callback is known",
            ),
        ];
        for (there, event, then) in missing {
            if !there {
                doubts.push(format!("no {event} event: {then}"));
            }
        }
        if self.probed {
            doubts.push(
                "RCU's events are those of probes on the kernel's functions: how a callback of an offloaded \
                 CPU was queued, and which CPUs a scan found, is not known, nor, on machines with more than \
                 one node of CPUs, who was waited for last"
                    .to_owned(),
            );
        }
        let without: Vec<u32> = self
            .writers
            .iter()
            .filter(|cpu| !self.idle.contains(*cpu))
            .collect();
        if !without.is_empty() {
            let then = match self.switch {
                true => {
                    "idle time is known from sched_switch to pid 0 there, and idle states are not known"
                }
                false => "idle is not known there (no sched_switch either)",
            };
            doubts.push(format!("no cpu_idle event of {}: {then}", cpus(&without)));
        }
        if !self.flags {
            doubts.push("no irq-info column: what happened in interrupts is not known".to_owned());
        }
        doubts
    }
}

/// It is the event of a probe.
fn is_probed(record: &Record<'_>) -> bool {
    event::probed(record.event, record.text).is_some()
}

/// What a trace has lost, and what of it could not be read, in sentences with their counts. Every command
/// that reads a trace says the same of it.
pub fn damage(summary: &Summary, undecoded: &Faults) -> Vec<String> {
    let mut doubts = Vec::new();
    if summary.lost > 0 {
        doubts.push(format!(
            "{} events were lost by the kernel's buffer: counts are too low, and what spans a gap may \
             be wrong",
            summary.lost
        ));
    }
    if summary.lost_untold > 0 {
        doubts.push(format!(
            "events were lost at {} places, and the trace does not say how many: counts are too low, \
             and what spans a gap may be wrong",
            summary.lost_untold
        ));
    }
    for (faults, what) in [
        (&summary.malformed, "lines could not be read"),
        (undecoded, "events had a field that could not be read"),
    ] {
        if let Some(first) = faults.first().first() {
            doubts.push(format!("{} {what}, first {first}", faults.count()));
        }
    }
    doubts
}

/// `CPU 3`, `CPUs 1, 2, 7`; the first eight.
fn cpus(cpus: &[u32]) -> String {
    let named: Vec<String> = cpus.iter().take(8).map(u32::to_string).collect();
    let more = match cpus.len() {
        0..=8 => String::new(),
        n => format!(" and {} more", n - 8),
    };
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}{more}", named.join(", "))
}

impl About {
    pub(crate) fn new(
        summary: &Summary,
        undecoded: Faults,
        window: Window,
        by: Bounds,
        present: &Present,
    ) -> Self {
        let mut doubts = damage(summary, &undecoded);
        if let Some(first) = summary.buffers.first()
            && summary.buffers.iter().any(|b| b.clock != first.clock)
        {
            doubts.push(
                "buffers with different clocks were merged by time: their order says nothing (record all \
                 with one clock)"
                    .to_owned(),
            );
        }
        for option in &summary.not_applied {
            doubts.push(format!(
                "the option {option} of this trace.dat is not applied: times are those that were recorded \
                 (`trace-cmd report -t FILE` applies it)"
            ));
        }
        if summary.unitless > 0 {
            doubts.push(format!(
                "{} records have a time without a unit (trace_clock counter, uptime or x86-tsc): no \
                 duration and no rate is known",
                summary.unitless
            ));
        }
        let silent = u64::from(summary.cpus()).saturating_sub(present.writers.len() as u64);
        if silent > 0 {
            doubts.push(format!(
                "{silent} of {} CPUs wrote no event: nothing is known about them, idle or not",
                summary.cpus()
            ));
        }
        doubts.extend(present.doubts());
        About {
            records: summary.records,
            cpus: summary.cpus(),
            window,
            window_by: by,
            lost: summary.lost,
            lost_untold: summary.lost_untold,
            buffers: summary.buffers.clone(),
            unitless: summary.unitless,
            unparsed: summary.malformed.clone(),
            undecoded,
            doubts,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
