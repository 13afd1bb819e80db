//! A timeline for Perfetto (ui.perfetto.dev): what ran and who was idle on each CPU, grace periods, batches,
//! callbacks.
//!
//! | track | slices |
//! |---|---|
//! | CPUs / CPU n | the task that runs, from `sched_switch` to `sched_switch` |
//! | CPUs / CPU n idle | the idle state, from `cpu_idle` to `cpu_idle` |
//! | RCU / grace periods | from `start` to `end`, and in it each scan |
//! | RCU / expedited | from `start` to `end` |
//! | RCU / batches, invoker | from `rcu_batch_start` to `rcu_batch_end` |
//! | RCU / callbacks that wait | a number: queued in the window and not yet invoked |
//!
//! Packets are written as the trace is read; only the open slices are held. Slices that are open at the end
//! of the window are closed there. What began before the window is not shown. Perfetto does not know RCU's
//! events and drops them from ftrace text, so the tracks are made here. Filters select CPUs, and tasks that
//! run.

use super::batches::invoker_of;
use super::bounded::{Names, Waiting};
use super::findings::{Findings, Table, count};
use super::own::Own;
use super::proto::{Packets, Point};
use super::{Part, Seen};
use crate::{CpuSet, Error, Event, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Tracks by number: what they are below, and the fixed ones.
const CPUS: u64 = 1;
const RCU: u64 = 2;
const GRACE_PERIODS: u64 = 3;
const EXPEDITED: u64 = 4;
const CALLBACKS: u64 = 5;
/// Two a CPU from here on.
const FIRST_CPU: u64 = 1 << 10;
/// One an invoker.
const FIRST_INVOKER: u64 = 1 << 20;

/// The analysis.
pub(crate) struct Timeline {
    packets: Packets,
    /// Tracks that were described.
    described: BTreeSet<u64>,
    /// How many slices are open on a track.
    open: BTreeMap<u64, u32>,
    invokers: Names,
    waiting: Waiting<u64, ()>,
    idle_seen: CpuSet,
    slices: BTreeMap<&'static str, u64>,
    last: u64,
    failed: Option<io::Error>,
    unitless: bool,
}

impl Timeline {
    pub(crate) fn new(output: Box<dyn Write>) -> Self {
        Timeline {
            packets: Packets::new(output),
            described: BTreeSet::new(),
            open: BTreeMap::new(),
            invokers: Names::default(),
            waiting: Waiting::default(),
            idle_seen: CpuSet::default(),
            slices: BTreeMap::new(),
            last: 0,
            failed: None,
            unitless: false,
        }
    }
}

impl Part for Timeline {
    fn reset(&mut self) {
        // What was written before the first mark stays in the file: a timeline may show more than its window.
    }

    fn see(&mut self, seen: &Seen<'_>) {
        self.unitless |= seen.record.unit == Unit::None;
        if !seen.inside || self.unitless || self.failed.is_some() {
            return;
        }
        self.last = self.last.max(seen.record.time_ns);
        self.failed = self.draw(seen).err();
    }

    fn finish(mut self: Box<Self>, findings: &mut Findings, _: &Own) -> Result<(), Error> {
        if self.unitless {
            return Err(Error::Missing {
                name: "timeline".to_owned(),
                what: "clock with a unit",
                lines: 0,
                remedy: "record with trace_clock mono or boot: this clock gives no time",
            });
        }
        let closed = self.failed.take().map_or_else(|| self.close(), Err);
        closed.map_err(|source| Error::Output {
            source,
            remedy: "is there room, and is it a place for files?",
        })?;
        let mut table = Table::new("What the timeline has", "", &["tracks"]);
        for (what, n) in &self.slices {
            table.add(&[what], &[("slices", "slices", "count", count(*n))]);
        }
        findings.tables.push(table);
        let what = "packets written; open the file at https://ui.perfetto.dev";
        let note = format!("{} {what}", self.packets.written);
        findings.notes.push(note);
        findings.about_evicted("callbacks that waited", self.waiting.evicted);
        findings.about_names(self.invokers.refused);
        Ok(())
    }
}

impl Timeline {
    fn draw(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let record = seen.record;
        let now = record.time_ns;
        match *seen.event {
            Event::Switch { next, next_pid, .. } if seen.filter.cpu(record.cpu) => {
                let track = self.cpu(record.cpu, 0)?;
                self.end(now, track)?;
                if next_pid != 0 && seen.filter.thread(next, next_pid) {
                    self.begin(now, track, "tasks", &format!("{next}-{next_pid}"))?;
                }
                Ok(())
            }
            Event::IdleEntry { cpu, state } if seen.filter.cpu(cpu) => {
                self.idle_seen.insert(cpu);
                let track = self.cpu(cpu, 1)?;
                self.end(now, track)?;
                self.begin(now, track, "idle", &format!("state {state}"))
            }
            Event::IdleExit { cpu } if self.idle_seen.contains(cpu) => {
                let track = self.cpu(cpu, 1)?;
                self.end(now, track)
            }
            Event::GracePeriod { seq, what } => self.grace_period(now, seq, what),
            Event::Expedited { what, .. } => {
                self.described(EXPEDITED, RCU, "expedited", false)?;
                match what {
                    "start" => self.begin(now, EXPEDITED, "expedited", "expedited grace period"),
                    "end" => self.end(now, EXPEDITED),
                    _ => Ok(()),
                }
            }
            Event::BatchStart { .. } | Event::BatchEnd { .. } if seen.filter.cpu(record.cpu) => {
                let name = invoker_of(record);
                let track = FIRST_INVOKER + u64::from(self.invokers.number(&name));
                self.described(track, RCU, &format!("batches, {name}"), false)?;
                match *seen.event {
                    Event::BatchStart { callbacks } => {
                        self.end(now, track)?;
                        self.begin(now, track, "batches", &format!("{callbacks} ready"))
                    }
                    _ => self.end(now, track),
                }
            }
            Event::Callback { head, .. } | Event::Kvfree { head }
                if seen.filter.cpu(record.cpu) =>
            {
                self.waiting.insert(head, ());
                self.counter(now)
            }
            Event::Invoke { head, .. } | Event::InvokeKvfree { head } => {
                match self.waiting.remove(&head) {
                    Some(()) => self.counter(now),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn grace_period(&mut self, now: u64, seq: i64, what: &str) -> io::Result<()> {
        match what {
            "start" => {
                self.described(GRACE_PERIODS, RCU, "grace periods", false)?;
                self.end_all(now, GRACE_PERIODS)?;
                let name = format!("grace period {seq}");
                self.begin(now, GRACE_PERIODS, "grace periods", &name)
            }
            "fqsstart" if self.open.contains_key(&GRACE_PERIODS) => {
                self.begin(now, GRACE_PERIODS, "scans", "scan")
            }
            "fqsend" if self.open.get(&GRACE_PERIODS).is_some_and(|n| *n > 1) => {
                self.end(now, GRACE_PERIODS)
            }
            "end" => self.end_all(now, GRACE_PERIODS),
            _ => Ok(()),
        }
    }

    /// A track of a CPU, described before its first event.
    fn cpu(&mut self, cpu: u32, which: u64) -> io::Result<u64> {
        let track = FIRST_CPU + 2 * u64::from(cpu) + which;
        if !self.described.contains(&track) {
            let name = format!("CPU {cpu}{}", if which == 0 { "" } else { " idle" });
            self.described(track, CPUS, &name, false)?;
        }
        Ok(track)
    }

    fn described(&mut self, track: u64, parent: u64, name: &str, counter: bool) -> io::Result<()> {
        if !self.described.insert(track) {
            return Ok(());
        }
        if self.described.insert(parent) {
            let name = if parent == CPUS { "CPUs" } else { "RCU" };
            self.packets.track(parent, 0, name, false)?;
        }
        self.packets.track(track, parent, name, counter)
    }

    fn counter(&mut self, now: u64) -> io::Result<()> {
        self.described(CALLBACKS, RCU, "callbacks that wait", true)?;
        self.packets
            .event(now, CALLBACKS, Point::Counter(self.waiting.len() as u64))
    }

    fn begin(&mut self, now: u64, track: u64, what: &'static str, name: &str) -> io::Result<()> {
        *self.open.entry(track).or_insert(0) += 1;
        *self.slices.entry(what).or_insert(0) += 1;
        self.packets.event(now, track, Point::Begin(name))
    }

    /// Ends the innermost slice, if one is open.
    fn end(&mut self, now: u64, track: u64) -> io::Result<()> {
        let Some(open) = self.open.get_mut(&track) else {
            return Ok(());
        };
        *open -= 1;
        if *open == 0 {
            self.open.remove(&track);
        }
        self.packets.event(now, track, Point::End)
    }

    fn end_all(&mut self, now: u64, track: u64) -> io::Result<()> {
        while self.open.contains_key(&track) {
            self.end(now, track)?;
        }
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        let tracks: Vec<u64> = self.open.keys().copied().collect();
        for track in tracks {
            self.end_all(self.last, track)?;
        }
        self.packets.finish()
    }
}

#[cfg(test)]
mod tests;
