//! What is known about a trace before any analysis: how much of it there is, and what is missing or doubtful.
//!
//! Each doubt is a sentence with its consequence. Nothing is repaired: lost events stay lost, clocks that
//! disagree are not aligned, and a trace without an event has no figures that need it.

use super::own::{Own, Parts};
use super::{Filter, Kind, THREADS_MOST};
use crate::event;
use crate::measure::window::Bounds;
use crate::{Buffer, CpuSet, Event, Faults, Record, Summary, Window};
use serde::Serialize;
use std::collections::BTreeSet;

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
    pub(super) parts: Parts,
    switch: bool,
    wakeup: bool,
    waking: bool,
    callback: bool,
    invoke: bool,
    batch: bool,
    grace_period: bool,
    /// Events of RCU's are those of probes.
    probed: bool,
    flags: bool,
}

impl Present {
    #[inline(always)]
    pub(crate) fn note(&mut self, record: &Record<'_>, event: &Event<'_>) {
        self.parts.note(record);
        self.flags = self.flags || !record.flags().0.is_empty();
        match *event {
            Event::IdleEntry { cpu, .. } => {
                self.idle.insert(cpu);
                self.parts.ticks(cpu, false);
            }
            Event::IdleExit { cpu } => self.idle.insert(cpu),
            Event::Switch {
                prev_pid, next_pid, ..
            } => {
                self.switch = true;
                self.parts.switched([prev_pid, next_pid]);
                if next_pid == 0 {
                    self.parts.ticks(record.cpu, false);
                }
            }
            Event::Tick { .. } => self.parts.ticks(record.cpu, record.pid != 0),
            Event::TickStop { stopped: true, .. } => self.parts.ticks(record.cpu, false),
            Event::Wakeup { pid, target, .. } => {
                self.wakeup = true;
                self.parts.wakes(pid, target, false);
            }
            Event::Waking { pid, target, .. } => {
                self.waking = true;
                self.parts.wakes(pid, target, true);
            }
            Event::BatchStart { .. } => self.batch = true,
            Event::GracePeriod { .. } => {
                self.grace_period = true;
                self.probed = self.probed || is_probed(record);
            }
            Event::Callback { .. } | Event::Kvfree { .. } => {
                self.callback = true;
                self.probed = self.probed || is_probed(record);
            }
            Event::Invoke { .. } | Event::InvokeKvfree { .. } | Event::InvokeBulk { .. } => {
                self.invoke = true;
            }
            _ => {}
        }
    }

    /// What was selected and is not in the trace: CPUs, or a thread, of which it has these others.
    pub(super) fn lacks_selected(
        &self,
        filter: &Filter,
        others: Option<&BTreeSet<String>>,
    ) -> Option<String> {
        let writers = &self.parts.writers;
        if let Some(wanted) = &filter.cpus
            && !wanted
                .iter()
                .any(|cpu| writers.contains(cpu) || self.idle.contains(cpu))
        {
            let there: Vec<u32> = writers.iter().collect();
            let there = cpus(&there);
            return Some(format!("no such CPU in this trace; {there} wrote events"));
        }
        let others = others?;
        let some = others.iter().map(String::as_str).take(THREADS_MOST);
        let some = some.collect::<Vec<_>>().join(", ");
        let more = if others.len() > THREADS_MOST {
            ", …"
        } else {
            ""
        };
        let none = "no thread of this name or id in this trace; there are";
        Some(format!("{none} {some}{more}"))
    }

    /// What an analysis needs that is not in the trace.
    pub(super) fn lacks(&self, kind: Kind) -> Option<String> {
        let (there, event) = match kind {
            Kind::Summary | Kind::Wakeups => (self.wakeup || self.waking, "sched_wakeup"),
            Kind::Idle => (
                !self.idle.is_empty() || self.switch,
                "cpu_idle or sched_switch",
            ),
            Kind::Callbacks => (self.callback || self.invoke, "rcu_callback"),
            Kind::Batches => (self.batch, "rcu_batch_start"),
            Kind::Gps => (self.grace_period, "rcu_grace_period"),
            Kind::Waits => (self.switch, "sched_switch"),
        };
        let why = match event.starts_with("rcu") {
            true => {
                "the kernel lacks CONFIG_RCU_TRACE, or it was not recorded; `quiescent record` records it, \
                 by probes where the kernel lacks it"
            }
            false => "record it",
        };
        (!there).then(|| format!("no {event} event in this trace: {why}"))
    }

    /// Which analyses show something of this trace.
    pub(super) fn applies(&self) -> String {
        let kinds = Kind::ALL.into_iter().skip(1);
        let kinds = kinds.filter(|kind| self.lacks(*kind).is_none());
        let names: Vec<_> = kinds.map(Kind::name).chain(["timeline"]).collect();
        format!(
            "analyses of this trace, each by its name: {}",
            names.join(", ")
        )
    }

    fn doubts(&self, kind: Option<Kind>) -> Vec<String> {
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
            // The summary needs none of RCU's events.
            if !there && (kind != Some(Kind::Summary) || event == "sched_wakeup" && !self.waking) {
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
        let writers = self.parts.writers.iter();
        let without = writers.filter(|cpu| !self.idle.contains(*cpu));
        let (switches, not): (Vec<u32>, Vec<u32>) =
            without.partition(|cpu| self.parts.switches(*cpu));
        let then = [
            "idle time is known from sched_switch to pid 0 there, and idle states are not known",
            "idle is not known there (no sched_switch either)",
        ];
        let of = [switches, not].into_iter().zip(then);
        let of = of.filter(|(those, _)| !those.is_empty());
        doubts.extend(
            of.map(|(those, then)| format!("no cpu_idle event of {}: {then}", cpus(&those))),
        );
        if !self.flags {
            doubts.push("no irq-info column: what happened in interrupts is not known".to_owned());
        }
        doubts
    }
}

/// It is the event of a probe.
fn is_probed(record: &Record<'_>) -> bool {
    event::probed(record.event(), record.text()).is_some()
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

/// That CPUs cover different times, and how all of them are seen.
fn parts(own: &Own) -> Option<String> {
    if own.is_whole() {
        return None;
    }
    let named = first_eight(own.cut.iter().map(|(cpu, part)| {
        let [start, end] = [part.start_ns, part.end_ns].map(exact);
        format!("CPU {cpu} from {start} s to {end} s")
    }));
    let common = own.common();
    let seen = match common.start_ns < common.end_ns {
        true => format!(
            "all were recorded with --from {} --to {}",
            exact(common.start_ns),
            exact(common.end_ns)
        ),
        false => "there is no time at which all were recorded".to_owned(),
    };
    Some(format!(
        "CPUs cover different times ({named}): rates are over each CPU's own time; {seen}"
    ))
}

/// Seconds that `--from` and `--to` take as they are.
fn exact(ns: u64) -> String {
    let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    text.strip_suffix("000").unwrap_or(&text).to_owned()
}

/// `CPU 3`, `CPUs 1, 2, 7`; the first eight.
fn cpus(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let named = first_eight(cpus.iter().map(u32::to_string));
    format!("CPU{plural} {named}")
}

/// The first eight of these words, and how many there are beside.
fn first_eight(words: impl ExactSizeIterator<Item = String>) -> String {
    let more = match words.len() {
        0..=8 => String::new(),
        n => format!(" and {} more", n - 8),
    };
    words.take(8).collect::<Vec<_>>().join(", ") + &more
}

impl About {
    pub(crate) fn new(
        summary: &Summary,
        undecoded: Faults,
        (own, by): (&Own, Bounds),
        present: &Present,
        kind: Option<Kind>,
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
        let silent = u64::from(summary.cpus()).saturating_sub(present.parts.writers.len() as u64);
        if silent > 0 {
            doubts.push(format!(
                "{silent} of {} CPUs wrote no event: nothing is known about them, idle or not",
                summary.cpus()
            ));
        }
        if let Some(line) = summary.headers_at.1 {
            doubts.push(format!(
                "another trace begins at line {line}: what lies between the two was not recorded"
            ));
        }
        doubts.extend(parts(own));
        doubts.extend(present.doubts(kind));
        About {
            records: summary.records,
            cpus: summary.cpus(),
            window: own.window,
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
