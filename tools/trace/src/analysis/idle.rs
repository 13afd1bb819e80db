//! Idle CPUs: segments, states, and the ticks that hit them.
//!
//! **Segments.** A CPU is idle from a `cpu_idle` with a state to the next one without. Where a CPU writes no
//! `cpu_idle`, it is idle from a `sched_switch` to pid 0 to the first event with another pid; which of the
//! two was used is a column. A segment counts in lengths if it lies in the window, and with its part of the
//! window in `idle %`. What a CPU did before its first event is not known and is not idle. A tick that leaves
//! the CPU idle ends a segment and starts the next, as in the kernel's own counters.
//!
//! **Ticks.** A tick that hits a CPU in its idle loop (pid 0) is attributed to the first of these that is
//! traced before the end of the interrupt:
//!
//! | reason | seen |
//! |---|---|
//! | `callbacks` | callbacks wait on the CPU, which is not offloaded; named by the oldest |
//! | `timer` | a timer of the wheel expired. Named by its function |
//! | `RCU softirq` | RCU's soft interrupt ran |
//! | `after a task` | it is the first one since a task ran |
//! | `nothing seen` | |
//!
//! Filters select the CPU; the thread only in the table of `lost.rs`.

use super::bounded::{ByCpu, Names, Waiting};
use super::chains::RCU_SOFTIRQ;
use super::findings::Findings;
use super::lost::Lost;
use super::own::{Own, Tally};
use super::spread::{Room, Spread};
use super::{Part, Seen};
use crate::event::Move;
use crate::record::offloading::Offloading;
use crate::{Error, Event, Window};
use std::collections::BTreeMap;

mod table;

pub(crate) use table::share;

/// Why a tick was, and what is named.
type Reason = (&'static str, u32);

/// The most entries of [`Idle::owing`]; later ticks are decided by what is known at their time.
const OWING_MOST: usize = 1 << 12;

/// Idle states of all CPUs that have a row of their own: a kernel has ten a CPU at most.
const STATES_MOST: usize = 1 << 15;

/// The analysis.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    cpus: ByCpu<Cpu>,
    /// For the lengths of idle segments.
    room: Room,
    /// States of CPUs that have a row.
    states: usize,
    /// Idle entries into others.
    states_refused: u64,
    names: Names,
    /// Callbacks that wait: CPU, function.
    waiting: Waiting<u64, (u32, u32)>,
    offloading: Offloading,
    /// By reason and what is named.
    ticks: BTreeMap<Reason, Tally>,
    /// Ticks of CPUs with callbacks: the reason if the CPU is not offloaded, and if it is, which the rest of
    /// the trace may tell.
    owing: BTreeMap<(u32, [Reason; 2]), u64>,
    /// Stops of the tick that were refused, by what needs it.
    refused: BTreeMap<u32, Tally>,
    stopped: Tally,
    lost: Lost,
    /// A record lay in the window.
    entered: bool,
}

/// One CPU.
#[derive(Debug, Default)]
struct Cpu {
    by_event: Segments,
    by_switch: Segments,
    states: BTreeMap<u32, Segments>,
    ticks: u64,
    /// Callbacks that wait here, and the function of the oldest one as far as it is known.
    callbacks: u64,
    oldest: u32,
    /// A task ran since the last tick.
    busy: bool,
    tick: Option<Tick>,
}

/// A tick that hit the idle loop, while its interrupt lasts.
#[derive(Debug, Clone, Copy)]
struct Tick {
    inside: bool,
    callbacks: Option<u32>,
    timer: Option<u32>,
    softirq: bool,
    busy: bool,
}

/// Idle segments of one kind.
#[derive(Debug, Default)]
struct Segments {
    /// There was such an event at all.
    seen: bool,
    since: Option<(u64, bool)>,
    state: u32,
    entries: u64,
    idle_ns: u64,
    lengths: Spread,
    /// The segment that goes beyond the end of the window.
    tail: Option<u64>,
}

impl Segments {
    fn enter(&mut self, seen: &Seen<'_>, after: bool) {
        self.seen = true;
        if after {
            return;
        }
        self.entries += u64::from(seen.inside);
        self.since = Some((seen.record.time_ns, seen.inside));
    }

    /// Without `room` no percentile of the lengths will be asked for.
    fn leave(&mut self, seen: &Seen<'_>, after: bool, room: Option<&mut Room>) {
        self.seen = true;
        let Some((since, inside)) = self.since.take() else {
            return;
        };
        let now = seen.record.time_ns;
        if after {
            self.tail = self.tail.or(Some(since));
        } else if seen.inside {
            self.idle_ns += now.saturating_sub(since.max(seen.start));
            if inside {
                match room {
                    Some(room) => self.lengths.between(since, now, room),
                    None => self.lengths.span(since, now),
                }
            }
        }
    }

    fn reset(&mut self) {
        let kept = self.since.map(|(since, _)| (since, false));
        *self = Segments {
            seen: self.seen,
            since: kept,
            state: self.state,
            ..Segments::default()
        };
    }

    /// All idle time in the window, with what was open at its end.
    fn idle_ns(&self, window: Window) -> u64 {
        let open = self.tail.or(self.since.map(|(since, _)| since));
        let tail = open.map_or(0, |since| {
            window.end_ns.saturating_sub(since.max(window.start_ns))
        });
        self.idle_ns + tail
    }
}

impl Part for Idle {
    fn reset(&mut self) {
        for cpu in self.cpus.values_mut() {
            cpu.by_event.reset();
            cpu.by_switch.reset();
            cpu.states.values_mut().for_each(Segments::reset);
            cpu.ticks = 0;
            if let Some(tick) = &mut cpu.tick {
                tick.inside = false;
            }
        }
        self.room = Room::default();
        self.states_refused = 0;
        self.ticks.clear();
        self.owing.clear();
        self.refused.clear();
        self.stopped = Tally::default();
        self.lost.reset();
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let (record, event) = (seen.record, seen.event);
        self.entered |= seen.inside;
        // There may be a window in which nothing happens at all.
        let past = || seen.filter.to_ns.is_some_and(|to| record.time_ns > to);
        let after = !seen.inside && (self.entered || past());
        self.switches(seen, after);
        self.offloading.see(record, event);
        match event.moves() {
            Some(Move::Queued { head, function }) => self.queued(record.cpu, head, function),
            Some(Move::Invoked { head, .. }) => {
                if let Some((cpu, _)) = self.waiting.remove(&head) {
                    self.one_less(cpu);
                }
            }
            Some(Move::Bulk { .. }) | None => {}
        }
        match *event {
            Event::IdleEntry { cpu, state } => self.enter(seen, cpu, state, after),
            Event::IdleExit { cpu } => {
                self.settle(cpu);
                let cpu = self.cpus.row(cpu);
                let state = cpu.by_event.state;
                cpu.by_event.leave(seen, after, Some(&mut self.room));
                if let Some(of) = cpu.states.get_mut(&state) {
                    of.leave(seen, after, None);
                }
            }
            Event::Switch { .. } => self.settle(record.cpu),
            Event::Tick { .. } => self.tick(seen),
            Event::Timer { function, .. } => {
                let name = self.names.number(function);
                if let Some(tick) = self.cpus.row(record.cpu).tick.as_mut() {
                    tick.timer = tick.timer.or(Some(name));
                }
            }
            Event::Softirq { vec: RCU_SOFTIRQ } => {
                if let Some(tick) = self.cpus.row(record.cpu).tick.as_mut() {
                    tick.softirq = true;
                }
            }
            Event::TickStop {
                stopped,
                dependency,
            } if seen.inside && seen.filter.cpu(record.cpu) => {
                let of = match stopped {
                    true => &mut self.stopped,
                    false => {
                        let name = self.names.number(dependency);
                        self.refused.entry(name).or_default()
                    }
                };
                of.add(record.cpu);
            }
            _ => {}
        }
        if record.pid != 0 && !record.flags().interrupt() {
            self.cpus.row(record.cpu).busy = true;
        }
        self.lost.see(seen);
    }

    fn finish(mut self: Box<Self>, findings: &mut Findings, own: &Own) -> Result<(), Error> {
        let open: Vec<u32> = self.cpus.iter().map(|(cpu, _)| cpu).collect();
        open.into_iter().for_each(|cpu| self.settle(cpu));
        for ((cpu, reasons), n) in std::mem::take(&mut self.owing) {
            let reason = reasons[usize::from(self.offloading.is(cpu))];
            self.ticks.entry(reason).or_default().add_n(cpu, n);
        }
        let shown = self.cpus_table(findings, own);
        self.states_table(findings, own, &shown);
        self.ticks_table(findings, own);
        let by_event = shown
            .iter()
            .filter(|cpu| self.cpus.get(**cpu).is_some_and(|c| c.by_event.seen));
        self.lost.finish(findings, own, own.ns(by_event.copied()));
        findings.about_evicted("callbacks that waited", self.waiting.evicted);
        findings.about_names(self.names.refused);
        findings.about_cpus(self.cpus.refused);
        let what = "idle entries into states beyond the first";
        let where_not = "of all CPUs are not in the table of states";
        findings.say(
            self.states_refused,
            format_args!("{what} {STATES_MOST} {where_not}"),
        );
        let all = self.cpus.iter().map(|(_, cpu)| cpu.segments().0);
        findings.about_spreads("idle segments", all);
        Ok(())
    }
}

impl Cpu {
    /// The lengths that are shown, and the event that they come from.
    fn segments(&self) -> (&Spread, &Segments, &'static str) {
        match self.by_event.seen {
            true => (&self.by_event.lengths, &self.by_event, "cpu_idle"),
            false => (&self.by_switch.lengths, &self.by_switch, "sched_switch"),
        }
    }
}

impl Idle {
    fn enter(&mut self, seen: &Seen<'_>, cpu: u32, state: u32, after: bool) {
        self.settle(cpu);
        let cpu = self.cpus.row(cpu);
        cpu.by_event.enter(seen, after);
        let before = std::mem::replace(&mut cpu.by_event.state, state);
        // An exit that was lost: how long the CPU was in that state is not known.
        if let Some(of) = cpu.states.get_mut(&before).filter(|_| !after) {
            of.since = None;
        }
        if let Some(of) = cpu.states.get_mut(&state) {
            of.enter(seen, after);
        } else if self.states < STATES_MOST {
            self.states += 1;
            cpu.states.entry(state).or_default().enter(seen, after);
        } else {
            self.states_refused += u64::from(seen.inside);
        }
    }

    /// Idle by pid alone.
    fn switches(&mut self, seen: &Seen<'_>, after: bool) {
        let record = seen.record;
        let cpu = self.cpus.row(record.cpu);
        let leaves = match *seen.event {
            Event::Switch { next_pid: 0, .. } => {
                cpu.by_switch.enter(seen, after);
                false
            }
            Event::Switch { prev_pid: 0, .. } => true,
            _ => record.pid != 0 && cpu.by_switch.since.is_some(),
        };
        if leaves {
            // Where there is `cpu_idle`, the lengths that it tells are those that are shown.
            let room = (!cpu.by_event.seen).then_some(&mut self.room);
            cpu.by_switch.leave(seen, after, room);
        }
    }

    fn tick(&mut self, seen: &Seen<'_>) {
        let at = seen.record.cpu;
        self.settle(at);
        let cpu = self.cpus.row(at);
        if seen.record.pid == 0 {
            let inside = seen.inside && seen.filter.cpu(at);
            cpu.ticks += u64::from(inside);
            let callbacks = (cpu.callbacks > 0).then_some(cpu.oldest);
            cpu.tick = Some(Tick {
                inside,
                callbacks,
                timer: None,
                softirq: false,
                busy: cpu.busy,
            });
        }
        cpu.busy = false;
    }

    /// The interrupt is over: what was it for?
    fn settle(&mut self, cpu: u32) {
        let tick = self.cpus.get_mut(cpu).and_then(|cpu| cpu.tick.take());
        let Some(tick) = tick.filter(|tick| tick.inside) else {
            return;
        };
        let none = self.names.number("");
        let reason = match (tick.timer, tick.softirq, tick.busy) {
            (Some(function), ..) => ("timer", function),
            (_, true, _) => ("RCU softirq", none),
            (.., true) => ("after a task", none),
            _ => ("nothing seen", none),
        };
        let callbacks = tick.callbacks.map(|function| ("callbacks", function));
        match callbacks.filter(|_| self.owing.len() < OWING_MOST) {
            Some(callbacks) => *self.owing.entry((cpu, [callbacks, reason])).or_default() += 1,
            None => {
                let owes = callbacks.filter(|_| !self.offloading.is(cpu));
                let reason = owes.unwrap_or(reason);
                self.ticks.entry(reason).or_default().add(cpu);
            }
        }
    }

    fn queued(&mut self, at: u32, head: u64, function: &str) {
        let name = self.names.number(function);
        let gone = self.waiting.insert(head, (at, name));
        for (cpu, _) in [gone.replaced, gone.evicted].into_iter().flatten() {
            self.one_less(cpu);
        }
        let cpu = self.cpus.row(at);
        if cpu.callbacks == 0 {
            cpu.oldest = name;
        }
        cpu.callbacks += 1;
    }

    fn one_less(&mut self, cpu: u32) {
        let cpu = self.cpus.row(cpu);
        cpu.callbacks = cpu.callbacks.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests;
